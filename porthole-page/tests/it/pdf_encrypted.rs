//! Encrypted PDFs, made by qpdf (`scripts/make-pdf-fixtures.py`): those with an empty user password are read.

use std::fs;
use std::path::Path;

use porthole_page::{Page, PageFormat};
use proptest::prelude::*;

use crate::hostile::config;
use crate::pdf::{Pdf, leaves, read};
use crate::pdf_hostile;

const LEAVES: &[&str] = &["The snowy owl hunts by day.", "See its nests."];

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pdf/encrypted");
    fs::read(folder.join(format!("{name}.pdf"))).unwrap()
}

fn assert_locked(page: &Page, what: &str) {
    assert!(page.encrypted && page.format == PageFormat::Pdf, "{what} is locked");
    assert_eq!((page.leaf_count(), page.terms().len(), page.title.as_str()), (0, 0, ""), "for {what}");
    assert!(page.links.is_empty() && !page.bad_bytes, "for {what}");
}

#[test]
fn files_without_a_password_are_read() {
    for (name, title) in [
        ("rc4-40", "Owls of the north"),
        ("rc4-128", "Owls of the north"),
        ("rc4-128-filter", "Owls of the north"),
        ("aes-128", "Owls of the north"),
        ("aes-128-objects", "Owls of the north"),
        ("aes-128-plain-metadata", "Owls in metadata"),
        ("aes-256-r5", "Owls of the north"),
        ("aes-256", "Owls of the north"),
        ("aes-256-objects", "Owls of the north"),
        ("aes-256-plain-metadata", "Owls in metadata"),
    ] {
        let page = read(&fixture(name));
        assert!(!page.encrypted && !page.bad_bytes, "for {name}");
        assert_eq!((leaves(&page).as_slice(), page.title.as_str()), (LEAVES, title), "for {name}");
        assert_eq!(page.language, "en", "for {name}");
        let targets: Vec<_> = page.links.iter().map(|link| link.target.as_str()).collect();
        assert_eq!(targets, ["http://owl.example/nests"], "for {name}");
    }
}

#[test]
fn files_with_a_password_are_locked() {
    for name in ["locked-rc4-128", "locked-aes-128", "locked-aes-256"] {
        assert_locked(&read(&fixture(name)), name);
    }
    let handler = Pdf::one_page("").stream(4, "", b"(x) Tj").object(8, "<</Filter/Adobe.PubSec/V 4/R 4>>");
    assert_locked(&read(&handler.trailer("/Root 1 0 R/Encrypt 8 0 R")), "another handler");
}

/// With a key from the file, or without; the text is never that of encrypted bytes.
#[test]
fn truncated_files_give_their_text_or_are_locked() {
    for name in ["rc4-128", "aes-128-objects", "aes-256"] {
        let bytes = fixture(name);
        let table = bytes.windows(9).rposition(|part| part == b"startxref").unwrap();
        for cut in 0..bytes.len() {
            let page = read(&bytes[..cut]);
            // A link without text has an empty leaf.
            let texts: Vec<_> = leaves(&page).into_iter().filter(|text| !text.is_empty()).collect();
            assert!(LEAVES.starts_with(&texts), "{texts:?} for {name} cut at {cut}");
            assert!(cut < table || texts == LEAVES, "for {name} cut at {cut}");
        }
    }
    let bytes = fixture("aes-128");
    let trailer = bytes.windows(7).rposition(|part| part == b"trailer").unwrap();
    assert_locked(&read(&bytes[..trailer]), "a file cut before its id");
    let bytes = fixture("aes-256");
    let trailer = bytes.windows(7).rposition(|part| part == b"trailer").unwrap();
    assert_eq!(leaves(&read(&bytes[..trailer])), LEAVES);
}

/// The entries of the fixture's encryption dictionary that belong to its password, and its trailer's id.
fn password_entries(name: &str) -> (String, String) {
    let bytes = fixture(name);
    let text = String::from_utf8_lossy(&bytes);
    let between = |start: &str, end: char| {
        let (_, rest) = text.split_once(start).unwrap();
        format!("{start}{}{end}", rest.split_once(end).unwrap().0)
    };
    let password = format!("{}{}/P -4", between("/O <", '>'), between("/U <", '>'));
    (password, between("/ID [", ']'))
}

/// A page in plain text and an encryption dictionary with these entries.
fn plain(filters: &str, stream: &str, data: &[u8]) -> Page {
    let (password, id) = password_entries("aes-128");
    let encryption = format!("<</Filter/Standard/V 4/R 4/Length 128{password}{filters}>>");
    let pdf = Pdf::one_page("")
        .stream(4, stream, data)
        .object(5, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
        .object(7, "<</Title(Owls)>>")
        .object(8, &encryption);
    read(&pdf.trailer(&format!("/Root 1 0 R/Info 7 0 R/Encrypt 8 0 R{id}")))
}

#[test]
fn identity_filters_leave_strings_and_streams() {
    const AES: &str = "/CF<</StdCF<</CFM/AESV2/Length 16>>/Odd<</CFM/None>>>>";
    let show = b"BT /F 12 Tf (owl) Tj ET";
    let own = "/Filter[/Crypt]/DecodeParms[<</Name/Identity>>]";
    for (filters, stream, expected) in [
        ("/StmF/Identity/StrF/Identity", "", (&["owl"][..], "Owls")),
        ("", "", (&["owl"], "Owls")),
        ("/StmF/StdCF/StrF/Identity", "", (&[], "Owls")),
        ("/StmF/Identity/StrF/StdCF", "", (&["owl"], "")),
        ("/StmF/StdCF/StrF/StdCF", own, (&["owl"], "")),
        ("/StmF/StdCF/StrF/Identity", "/Filter/Crypt", (&["owl"], "Owls")),
        ("/StmF/Identity/StrF/Identity", "/Filter/Crypt/DecodeParms<</Name/StdCF>>", (&[], "Owls")),
    ] {
        let page = plain(&format!("{AES}{filters}"), stream, show);
        let found = (leaves(&page), page.title.as_str());
        assert_eq!((found.0.as_slice(), found.1), expected, "for {filters} {stream}");
        assert!(!page.encrypted);
    }
    for unknown in ["/StmF/Odd", "/StrF/Odd", "/StmF/Missing"] {
        assert_locked(&plain(&format!("{AES}{unknown}"), "", show), unknown);
    }
}

#[test]
fn lengths_of_keys_may_be_wrong() {
    for name in ["rc4-128", "rc4-40", "aes-128"] {
        let bytes = String::from_utf8_lossy(&fixture(name)).into_owned();
        assert!(bytes.contains("/Standard /Length "));
        for length in [
            "/Nothing 9",
            "/Length 16",
            "/Length -8",
            "/Length 99999999999999999999",
            "/Length 999999",
            "/Length (x)",
        ] {
            let mut changed = fixture(name);
            let at = changed.windows(18).position(|part| part == b"/Standard /Length ").unwrap() + 10;
            let end = at + changed[at..].windows(2).position(|part| part == b"/O").unwrap();
            changed.splice(at..end, length.bytes().chain(*b" "));
            assert_eq!(leaves(&read(&changed)), LEAVES, "for {name} with {length}");
        }
    }
}

/// Missing, short or wrong entries lock a file.
#[test]
fn bad_encryption_dictionaries_lock_a_file() {
    let user = "<".to_owned() + &"ab".repeat(48) + ">";
    for entries in [
        String::new(),
        "/V 1".to_owned(),
        "/V 1/R 2".to_owned(),
        "/V 2/R 3/O()/U()/P 0".to_owned(),
        "/V 2/R 3/O(short)/U(short)/P -1/Length 128".to_owned(),
        "/V 3/R 3/O(short)/U(short)".to_owned(),
        "/V 99999999999/R 2".to_owned(),
        "/V -1/R -1".to_owned(),
        "/V 4/R 4/CF[1 2]/StmF/StdCF".to_owned(),
        "/V 4/R 4/CF<</StdCF 8 0 R>>/StmF/StdCF/StrF/StdCF".to_owned(),
        "/V 4/R 4/CF 8 0 R/StmF 8 0 R".to_owned(),
        "/V 5/R 5".to_owned(),
        "/V 5/R 6/U()/UE()".to_owned(),
        format!("/V 5/R 6/U{user}/UE(short)"),
        format!("/V 5/R 5/U{user}/UE(short)"),
        format!("/V 5/R 7/U{user}/UE{user}"),
        "/V 8 0 R/R 8 0 R".to_owned(),
    ] {
        let pdf = Pdf::one_page("").stream(4, "", b"/F 9 Tf (x) Tj").object(5, pdf_hostile::FONT);
        let pdf = pdf.object(8, &format!("<</Filter/Standard{entries}>>"));
        assert_locked(&read(&pdf.trailer("/Root 1 0 R/Encrypt 8 0 R")), &entries);
    }
    let rootless = Pdf::one_page("").stream(4, "", b"/F 9 Tf (x) Tj").object(5, pdf_hostile::FONT);
    assert_locked(&read(&rootless.trailer("/Encrypt 8 0 R")), "a trailer without a root");
    for entry in ["8 0 R", "3 0 R", "(x)", "[8 0 R]", "true"] {
        let pdf = Pdf::one_page("").stream(4, "", b"/F 9 Tf (x) Tj").object(5, pdf_hostile::FONT);
        assert_locked(&read(&pdf.trailer(&format!("/Root 1 0 R/Encrypt {entry}"))), entry);
    }
}

/// Every string costs the set-up of a cipher.
#[test]
fn decryption_is_limited() {
    let (password, id) = password_entries("rc4-128");
    let encryption = format!("<</Filter/Standard/V 2/R 3/Length 128{password}>>");
    for (what, strings) in [("short strings", "(x)".repeat(100_000)), ("a long string", "x".repeat(2 << 20))]
    {
        let mut pdf = Pdf::one_page(&format!("/Annots[{strings}]")).object(8, &encryption);
        for number in 10..200 {
            pdf = pdf.object(number, &format!("<</Type/Page/Annots 3 0 R/Title[({strings})]>>"));
        }
        let kids: String = (10..200).map(|number| format!("{number} 0 R ")).collect();
        let pdf = pdf.object(2, &format!("<</Kids[{kids}]>>"));
        pdf_hostile::check(what, &pdf.trailer(&format!("/Root 1 0 R/Encrypt 8 0 R{id}")));
    }
    let mut again = Pdf::one_page("").object(8, &encryption).stream(4, "", &vec![b'x'; 1 << 20]);
    again = again.object(6, &format!("[{}]", "4 0 R ".repeat(10_000))).object(3, "<</Contents 6 0 R>>");
    pdf_hostile::check("a stream again and again", &again.trailer(&format!("/Root 1 0 R/Encrypt 8 0 R{id}")));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_change_leaves_an_encrypted_pdf(at in 0usize..2000, byte in any::<u8>(), length in 0usize..40) {
        for name in ["rc4-40", "aes-128-objects", "aes-256-r5"] {
            let mut bytes = fixture(name);
            let at = at.min(bytes.len());
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, [byte]);
            read(&bytes);
        }
    }
}
