//! PDFs: hand-written ones with one feature each, and files made by other programs.

use std::io::Write;

use porthole_page::{ExtractLimits, Extractor, Page, PageFormat};
use porthole_types::Headers;

use crate::{extract_with, invariants, url};

/// A PDF being written: a catalog, a page that shows object 4 in font `F`, and additions.
pub(crate) struct Pdf {
    bytes: Vec<u8>,
}

impl Pdf {
    /// An empty PDF.
    pub(crate) fn empty() -> Pdf {
        Pdf { bytes: b"%PDF-1.4\n".to_vec() }
    }

    /// One page with this content, in Helvetica.
    fn with_content(content: &str) -> Pdf {
        Pdf::with_font("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>", content)
    }

    fn with_font(font: &str, content: &str) -> Pdf {
        Pdf::one_page("").stream(4, "", content.as_bytes()).object(5, font)
    }

    /// Objects 1 to 3, with additions to the page.
    pub(crate) fn one_page(more: &str) -> Pdf {
        Pdf::empty()
            .object(1, "<</Type/Catalog/Pages 2 0 R>>")
            .object(2, "<</Type/Pages/Kids[3 0 R]/Count 1/Resources<</Font<</F 5 0 R>>>>>>")
            .object(3, &format!("<</Type/Page/Parent 2 0 R/Contents 4 0 R{more}>>"))
    }

    pub(crate) fn object(mut self, number: u32, body: &str) -> Pdf {
        self.bytes.extend(format!("{number} 0 obj\n{body}\nendobj\n").into_bytes());
        self
    }

    pub(crate) fn stream(mut self, number: u32, dictionary: &str, data: &[u8]) -> Pdf {
        let head = format!("{number} 0 obj\n<<{dictionary}/Length {}>>stream\n", data.len());
        self.bytes.extend(head.into_bytes());
        self.bytes.extend(data);
        self.bytes.extend(b"\nendstream\nendobj\n");
        self
    }

    pub(crate) fn deflated(self, number: u32, dictionary: &str, data: &[u8]) -> Pdf {
        self.stream(number, &format!("{dictionary}/Filter/FlateDecode"), &deflated(data))
    }

    pub(crate) fn trailer(mut self, entries: &str) -> Vec<u8> {
        self.bytes.extend(format!("trailer\n<<{entries}>>\n%%EOF\n").into_bytes());
        self.bytes
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.trailer("/Root 1 0 R")
    }
}

pub(crate) fn deflated(data: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(data).unwrap();
    packer.finish().unwrap()
}

pub(crate) fn read(bytes: &[u8]) -> Page {
    let page = extract_with(&[("content-type", "application/pdf")], bytes);
    invariants::hold(&page, bytes.len());
    page
}

pub(crate) fn leaves(page: &Page) -> Vec<&str> {
    (0..page.leaf_count()).map(|number| page.leaf(number).unwrap().text).collect()
}

fn check(pdf: Pdf, expected: &[&str]) {
    let bytes = pdf.finish();
    assert_eq!(leaves(&read(&bytes)), expected, "for {}", String::from_utf8_lossy(&bytes));
}

#[test]
fn operators_put_words_and_lines_together() {
    for (content, expected) in [
        ("BT /F 12 Tf 72 700 Td (Snowy owl) Tj ET", &["Snowy owl"][..]),
        ("BT /F 12 Tf 72 700 Td [(Sno)20(wy)-300(owl)] TJ ET", &["Snowy owl"]),
        ("BT /F 12 Tf 72 700 Td (infor-) Tj 0 -14 Td (mation) Tj ET", &["information"]),
        (
            "BT /F 12 Tf 14 TL 72 700 Td (one) Tj T* (two) Tj (three) ' 0 0 (four) \" ET",
            &["one two three four"],
        ),
        ("BT /F 12 Tf 72 700 Td (one) Tj 0 -14 TD (two) Tj T* (three) Tj ET", &["one two three"]),
        ("BT /F 12 Tf 72 700 Td (one) Tj 0 -60 Td (two) Tj ET", &["one", "two"]),
        ("BT /F 18 Tf 72 700 Td (Head) Tj /F 10 Tf 0 -15 Td (body) Tj ET", &["Head", "body"]),
        ("BT /F 12 Tf 72 700 Td (left) Tj 200 0 Td (right) Tj ET", &["left", "right"]),
        ("BT /F 12 Tf 72 700 Td (H) Tj 8.7 0 Td (ead) Tj ET", &["Head"]),
        ("BT /F 1 Tf 12 0 0 12 72 700 Tm (up) Tj 12 0 0 12 72 686 Tm (down) Tj ET", &["up down"]),
        ("q 2 0 0 2 0 0 cm BT /F 6 Tf 36 350 Td (in) Tj ET Q BT /F 12 Tf 72 686 Td (out) Tj ET", &["in out"]),
        ("BT /F 12 Tf 2.6 Tc 72 700 Td (ye) Tj 0 Tc 15 0 Td (s) Tj ET", &["y es"]),
        ("BT /F 12 Tf 72 700 Td (\\251 \\(x\\) <1>) Tj <206f776c> Tj ET", &["\u{a9} (x) <1> owl"]),
        ("BI /W 1 /H 1 ID \x01(x) Tj EIx EI BT /F 9 Tf (after) Tj ET", &["after"]),
        ("BT (no font) Tj /G 9 Tf (no such font) Tj ET", &[]),
        ("/F 12 Tf (outside) Tj", &["outside"]),
        ("BT /F 12 Tf (cut", &[]),
        ("BT /F 12 Tf (shown) Tj [(cut", &["shown"]),
        ("", &[]),
    ] {
        check(Pdf::with_content(content), expected);
    }
}

#[test]
fn fonts_say_what_their_codes_are() {
    let show = |string: &str| format!("BT /F 12 Tf 72 700 Td {string} Tj ET");
    for (font, string, expected) in [
        ("/Subtype/TrueType/Encoding/WinAnsiEncoding", "(caf\\351)", "caf\u{e9}"),
        ("/Subtype/TrueType/Encoding/MacRomanEncoding", "(caf\\216)", "caf\u{e9}"),
        ("/Subtype/Type1/BaseFont/Times-Roman", "(\\256nd)", "find"),
        ("/Subtype/Type1/Encoding<</Differences[1/o/w/l 65/Eacute]>>", "<01020341>", "owl\u{c9}"),
        ("/Subtype/Type3/FontMatrix[1 0 0 1 0 0]/Encoding<</Differences[12/a12 110/a110]>>", "<0c6e>", "fin"),
        ("/Subtype/Type1/BaseFont/Symbol", "(abg)", "\u{3b1}\u{3b2}\u{3b3}"),
        ("/Subtype/Type0/Encoding/UniGB-UCS2-H", "<5317004f>", "\u{5317}O"),
        ("/Subtype/Type0/Encoding/90ms-RKSJ-H", "<93fa967b>", "\u{65e5}\u{672c}"),
        ("/Subtype/Type0/Encoding/Identity-H", "<00010002>", ""),
        ("/Subtype/Type0/Encoding/Identity-H/ToUnicode 6 0 R", "<0001000200030004>", "owls"),
        ("/Subtype/Type1/ToUnicode 6 0 R", "<0102>", "ow"),
        ("", "(plain)", "plain"),
    ] {
        let map = b"begincmap 2 beginbfchar <01> <006f> <02> <0077> endbfchar 1 beginbfrange <03> <04> [<006c> <0073>] endbfrange";
        let pdf = Pdf::with_font(&format!("<</Type/Font{font}>>"), &show(string)).deflated(6, "", map);
        let page = read(&pdf.finish());
        assert_eq!(page.text, expected, "for {font}");
        assert_eq!(page.bad_bytes, expected.is_empty(), "for {font}");
    }
}

#[test]
fn streams_of_all_packings_are_read() {
    let content = b"BT /F 12 Tf 72 700 Td (Snowy owl) Tj ET";
    let hex: String = content.iter().map(|byte| format!("{byte:02x}")).collect();
    let font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";
    let page = || Pdf::one_page("").object(5, font);
    check(page().deflated(4, "", content), &["Snowy owl"]);
    check(page().stream(4, "/Filter/ASCIIHexDecode", hex.as_bytes()), &["Snowy owl"]);
    check(
        page().stream(4, "/Filter[/AHx/FlateDecode]", hex_of(&deflated(content)).as_bytes()),
        &["Snowy owl"],
    );
    let rows: Vec<u8> = content.chunks(13).flat_map(|row| [&[0], row].concat()).collect();
    check(page().deflated(4, "/DecodeParms<</Predictor 15/Columns 13>>", &rows), &["Snowy owl"]);
    let (head, tail) = content.split_at(22);
    check(page().deflated(6, "", head).deflated(7, "", tail).object(4, "[6 0 R 7 0 R]"), &["Snowy owl"]);
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn drawings_in_drawings_are_read() {
    let pdf = Pdf::one_page("/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R/P 7 0 R>>>>")
        .stream(4, "", b"BT /F 12 Tf 72 700 Td (before) Tj ET /X Do /P Do /X Do")
        .object(5, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
        .stream(6, "/Subtype/Form/Matrix[1 0 0 1 0 300]", b"BT /F 12 Tf 72 200 Td (inside) Tj ET")
        .stream(7, "/Subtype/Image", b"BT /F 12 Tf (picture) Tj ET");
    check(pdf, &["before", "inside", "inside"]);
}

#[test]
fn pages_come_in_the_order_of_their_tree() {
    let page = |content: u32| format!("<</Type/Page/Contents {content} 0 R>>");
    let show = |text: &str| format!("BT /F 12 Tf 72 700 Td ({text}) Tj ET").into_bytes();
    let pdf = || {
        Pdf::empty()
            .object(8, &page(18))
            .object(7, &page(17))
            .object(6, &page(16))
            .object(5, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
            .stream(16, "", &show("first"))
            .stream(17, "", &show("second"))
            .stream(18, "", &show("third"))
            .object(3, "<</Type/Pages/Kids[7 0 R 8 0 R 2 0 R]/Parent 2 0 R>>")
            .object(1, "<</Type/Catalog/Pages 2 0 R>>")
    };
    let tree = "<</Type/Pages/Kids[6 0 R 3 0 R 6 0 R]/Count 999999999/Resources<</Font<</F 5 0 R>>>>>>";
    let page = read(&pdf().object(2, tree).finish());
    assert_eq!(leaves(&page), ["first", "second", "third"]);
    let places: Vec<_> =
        (0..3).map(|number| page.leaf(number).unwrap()).map(|leaf| (leaf.depth, leaf.shared)).collect();
    assert_eq!(places, [(1, 0); 3], "each on a page of its own");
    // Without the trailer, and without the root of the tree, which has the font.
    assert_eq!(leaves(&read(&pdf().object(2, tree).trailer(""))), ["first", "second", "third"]);
    assert_eq!(leaves(&read(&pdf().finish())), [""; 0]);
}

#[test]
fn objects_in_streams_are_read() {
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]>>",
        "<</Type/Page/Contents 4 0 R/Resources<</Font<</F<</Type/Font>>>>>>>>",
    ];
    let mut offset = 0;
    let mut head = String::new();
    for (index, object) in objects.iter().enumerate() {
        head += &format!("{} {offset} ", index + 1);
        offset += object.len() + 1;
    }
    let bytes = Pdf::empty()
        .deflated(4, "", b"BT /F 12 Tf 72 700 Td (packed) Tj ET")
        .deflated(
            9,
            &format!("/Type/ObjStm/N 3/First {}", head.len()),
            (head.clone() + &objects.join(" ")).as_bytes(),
        )
        .deflated(10, "/Type/XRef/Size 11/W[1 2 1]/Root 1 0 R", b"not looked at");
    assert_eq!(leaves(&read(&bytes.bytes)), ["packed"]);
}

#[test]
fn titles_languages_and_bases() {
    let pdf = || Pdf::one_page("").object(9, "<</Title(Owls \\222\\n of the north)>>");
    assert_eq!(read(&pdf().trailer("/Root 1 0 R/Info 9 0 R")).title, "Owls \u{2122} of the north");
    let metadata = b"<rdf:RDF><dc:title><rdf:Alt><rdf:li xml:lang='x-default'>Owls &amp; others</rdf:li></rdf:Alt></dc:title>";
    let pdf = Pdf::empty()
        .object(
            1,
            "<</Type/Catalog/Pages 2 0 R/Metadata 8 0 R/Lang(sv-SE)/URI<</Base(http://owl.example/a/)>>>>",
        )
        .object(2, "<</Kids[3 0 R]>>")
        .object(3, "<</Annots[<</Rect[0 0 1 1]/A<</URI(b)>>>>]/Contents 4 0 R/Resources<</Font<</F<<>>>>>>>>")
        .stream(4, "", b"/F 9 Tf 100 100 Td (Ugglor) Tj")
        .stream(8, "/Subtype/XML", metadata);
    let page = read(&pdf.finish());
    assert_eq!((page.title.as_str(), page.language), ("Owls & others", "sv"));
    assert_eq!(page.links[0].target.as_str(), "http://owl.example/a/b");
    assert_eq!(read(&Pdf::one_page("").finish()).title, "");
}

#[test]
fn links_have_the_text_in_their_rectangles() {
    let link =
        |rectangle: &str, uri: &str| format!("<</Subtype/Link/Rect[{rectangle}]/A<</S/URI/URI({uri})>>>>");
    let links = [
        link("95 695 150 712", "/owl"),
        link("0 0 9 9", "/picture"),
        link("72 681 99 694", "http://other.example/#part"),
        link("72 667 99 680", "http://other.example/#part"),
        link("0 0 1 1", "mailto:owl@owl.example"),
        "<</Subtype/Link/Rect[72 695 90 712]/Dest[3 0 R/Fit]>>".to_owned(),
    ];
    let content =
        "BT /F 12 Tf 72 700 Td (The snowy owl lives) Tj 0 -14 Td (in the) Tj 0 -14 Td (north) Tj ET";
    let pdf = Pdf::one_page(&format!("/Annots[{}]", links.concat()))
        .stream(4, "", content.as_bytes())
        .object(5, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>");
    let page = read(&pdf.finish());
    let found: Vec<_> =
        page.links.iter().map(|link| (link.target.as_str(), page.anchor_text(link))).collect();
    assert_eq!(
        found,
        [
            ("http://example.com/owl", "snowy owl"),
            ("http://other.example/", "in the north"),
            ("http://example.com/picture", ""),
        ]
    );
    assert_eq!(leaves(&page), ["The", "snowy owl", "lives", "in the north", "", ""]);
    assert_eq!(page.links_refused, 1);
    assert_eq!(page.tag_path(&page.links[0]).to_string(), "a");
    assert_eq!(page.links[0].depth, 1);
}

#[test]
fn limits_truncate_and_are_reported() {
    let words = "(owl ) Tj ".repeat(1000);
    let bytes = Pdf::with_content(&format!("BT /F 12 Tf 72 700 Td {words} ET")).finish();
    let whole = ExtractLimits::default();
    for (limits, expected) in [
        (whole, (3999..=3999, false)),
        (ExtractLimits { pdf_text: 100, ..whole }, (100..=103, true)),
        (ExtractLimits { pdf_steps: 16_000, ..whole }, (1..=2000, true)),
        (ExtractLimits { pdf_objects: 3, ..whole }, (0..=0, true)),
        (ExtractLimits { bytes: 4000, ..whole }, (1000..=2000, false)),
    ] {
        let headers: Headers = [("content-type", "application/pdf")].into_iter().collect();
        let page = Extractor::new(limits).extract(&url(), &headers, &bytes);
        let (lengths, is_cut) = expected;
        assert_eq!(page.cuts.pdf, is_cut, "for {limits:?}");
        assert!(lengths.contains(&page.text.len()), "{} for {limits:?}", page.text.len());
    }
}

/// A file made by other programs, and a truncated copy.
#[test]
fn files_of_other_programs() {
    const LEAVES: &[&str] = &[
        "The snowy owl",
        "The snowy owl is a large white owl of the Arctic. It hunts lemmings by day, and it nests on the",
        "bare ground,",
        "where it can see what is coming. See",
        "more about its nests and its young.",
        "bird",
        "weight snowy owl 2 kg",
        "Na\u{ef}ve caf\u{e9}s \u{2013} \u{201c}quoted\u{201d} words, f\u{fc}nf Eulen.",
    ];
    for bytes in [
        &include_bytes!("../fixtures/pdf/reportlab.pdf")[..],
        include_bytes!("../fixtures/pdf/object-streams.pdf"),
    ] {
        let page = read(bytes);
        assert_eq!(leaves(&page), LEAVES);
        assert_eq!(
            (page.format, page.title.as_str(), page.language),
            (PageFormat::Pdf, "Owls of the north", "en")
        );
        let targets: Vec<_> = page.links.iter().map(|link| link.target.as_str()).collect();
        assert_eq!(targets, ["http://owl.example/ground", "http://example.com/dir/nests.html"]);
        assert!(page.simhash != 0 && page.terms().len() > 20);
        for cut in 0..bytes.len() {
            let page = read(&bytes[..cut]);
            assert!(leaves(&page).len() <= LEAVES.len());
        }
    }
    let russian = read(include_bytes!("../fixtures/pdf/fpdf2.pdf"));
    assert_eq!(leaves(&russian), ["Белая сова живёт на севере и охотится днём. Смотри", "совы."]);
    assert_eq!((russian.title.as_str(), russian.language), ("Совы", "ru"));
}

#[test]
fn a_truncated_file_has_the_text_before_its_end() {
    let page = |number: u32| format!("<</Type/Page/Parent 2 0 R/Contents {} 0 R>>", number + 1);
    let mut pdf = Pdf::empty()
        .object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .object(5, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>");
    let kids: String = (0..10).map(|index| format!("{} 0 R ", 10 + 2 * index)).collect();
    pdf = pdf.object(2, &format!("<</Type/Pages/Kids[{kids}]/Resources<</Font<</F 5 0 R>>>>>>"));
    for index in 0..10 {
        let number = 10 + 2 * index;
        let content = format!("BT /F 12 Tf 72 700 Td (page{index} in the file) Tj ET");
        pdf = pdf.object(number, &page(number)).deflated(number + 1, "", content.as_bytes());
    }
    let bytes = pdf.finish();
    let half = read(&bytes[..bytes.len() / 2]);
    assert!(leaves(&half).starts_with(&["page0 in the file", "page1 in the file"]), "{:?}", leaves(&half));
    assert_eq!(leaves(&read(&bytes)).len(), 10);
}
