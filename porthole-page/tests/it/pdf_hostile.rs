//! Hostile PDFs: their cost is bounded by the limits, and they never crash the reader.

use porthole_page::{ExtractLimits, Extractor, steps};
use porthole_types::Headers;
use proptest::prelude::*;
use proptest::sample::select;

use crate::hostile::config;
use crate::pdf::{Pdf, deflated, read};
use crate::{invariants, url};

/// Step limit of the tests: a sixteenth of the default.
const STEPS: usize = 4 << 20;

/// Maximum number of actual steps for each step charged and each byte of the file: nearly twice that of the worst
/// file.
const MOST: usize = 4;

pub(crate) fn check(what: &str, bytes: &[u8]) {
    let headers: Headers = [("content-type", "application/pdf")].into_iter().collect();
    let limits = ExtractLimits { pdf_steps: STEPS, ..ExtractLimits::default() };
    steps::take();
    let page = Extractor::new(limits).extract(&url(), &headers, bytes);
    let taken = steps::take() as usize;
    invariants::hold(&page, bytes.len());
    assert_eq!(taken > 0, cfg!(debug_assertions), "steps are counted");
    assert!(taken <= MOST * (STEPS + bytes.len()), "{what} takes {taken} steps");
}

pub(crate) const FONT: &str = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";

#[test]
fn decompression_bombs_are_limited() {
    let bomb = deflated(&vec![b' '; 64 << 20]);
    check("a bomb as content", &Pdf::one_page("").stream(4, "/Filter/FlateDecode", &bomb).finish());
    let twice = deflated(&bomb);
    let packed_twice = "/Filter[/FlateDecode/FlateDecode]";
    check("a bomb in a bomb", &Pdf::one_page("").stream(4, packed_twice, &twice).finish());
    let contents = "4 0 R ".repeat(50_000);
    let again = Pdf::one_page("").object(6, &format!("[{contents}]")).stream(4, "/Filter/FlateDecode", &bomb);
    check("a bomb again and again", &again.object(3, "<</Contents 6 0 R>>").finish());
    let mut streams = Pdf::one_page("");
    for number in 10..60 {
        streams = streams.stream(number, "/Type/ObjStm/N 1/First 5/Filter/FlateDecode", &bomb);
    }
    check("bombs as streams of objects", &streams.finish());
    let text = deflated(format!("BT /F 12 Tf {}", "(owl owl owl owl) Tj ".repeat(1 << 20)).as_bytes());
    check(
        "text without end",
        &Pdf::one_page("").stream(4, "/Filter/FlateDecode", &text).object(5, FONT).finish(),
    );
    let runs = [129u8, b'('].repeat(1 << 20);
    check("runs without end", &Pdf::one_page("").stream(4, "/Filter/RL", &runs).finish());
    let filters = format!("/Filter[{}]", "/FlateDecode ".repeat(100_000));
    check("filters without end", &Pdf::one_page("").stream(4, &filters, b"x").finish());
}

#[test]
fn cyclic_page_trees_are_walked_once() {
    let show = b"BT /F 9 Tf (x) Tj ET";
    let cycle = Pdf::one_page("/Kids[2 0 R 3 0 R]/Parent 3 0 R").stream(4, "", show).finish();
    check("a cycle", &cycle);
    let parents =
        Pdf::empty().object(3, "<</Type/Page/Parent 3 0 R/Contents 4 0 R>>").stream(4, "", show).finish();
    check("a page that is its own parent", &parents);
    let mut deep = Pdf::empty().object(1, "<</Type/Catalog/Pages 10 0 R>>");
    for number in 10..50_000 {
        deep = deep.object(number, &format!("<</Kids[{} 0 R]>>", number + 1));
    }
    check("a deep tree", &deep.finish());
    let kids = "3 0 R ".repeat(300_000);
    check("a wide tree", &Pdf::one_page("").object(2, &format!("<</Kids[{kids}]>>")).finish());
    // Each page inherits all resources, which are outside of the pages.
    let fonts: String = (0..20_000).map(|number| format!("/F{number} 5 0 R")).collect();
    let mut pages = Pdf::empty()
        .object(1, "<</Type/Catalog/Pages 2 0 R>>")
        .stream(4, "", b"/F1 9 Tf (x) Tj")
        .object(5, FONT);
    let kids: String = (10..20_000).map(|number| format!("{number} 0 R ")).collect();
    pages = pages.object(2, &format!("<</Kids[{kids}]/Resources<</Font<<{fonts}>>>>>>"));
    for number in 10..20_000 {
        pages = pages.object(number, "<</Contents 4 0 R>>");
    }
    check("many pages with many fonts", &pages.finish());
}

#[test]
fn recursive_forms_end() {
    let resources = "/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R/Y 7 0 R>>>>";
    let draw = "BT /F 9 Tf (x) Tj ET ".to_owned() + &"/X Do /Y Do ".repeat(200);
    let form = format!("/Subtype/Form{resources}");
    let pdf = Pdf::one_page(resources)
        .stream(4, "", draw.as_bytes())
        .object(5, FONT)
        .stream(6, &form, draw.as_bytes())
        .stream(7, &form, draw.as_bytes());
    check("drawings that draw themselves", &pdf.finish());
    let states = Pdf::one_page("").stream(4, "", "q ".repeat(1 << 20).as_bytes()).finish();
    check("states without end", &states);
}

#[test]
fn objects_without_end_are_not_read() {
    for (what, part) in [
        ("objects", "1 0 obj "),
        ("open texts", "1 0 obj ("),
        ("open arrays", "1 0 obj["),
        ("open dictionaries", "1 0 obj<</A"),
        ("trailers", "trailer("),
        ("trailers with dictionaries", "trailer<</Root 1 0 R/A("),
        ("streams of objects", "1 0 obj<</Type/ObjStm/First 9/N 9>>stream\n"),
        ("tables", "1 0 obj<</Type/XRef/Root 1 0 R("),
        ("pages", "1 0 obj<</Type/Page/Contents 1 0 R>>stream\n"),
        ("nested arrays", "["),
        ("nested dictionaries", "<</A"),
        ("numbers", "1 "),
        ("comments", "%"),
    ] {
        let mut bytes = b"%PDF-1.4 1 0 obj ".to_vec();
        while bytes.len() < 2 << 20 {
            bytes.extend(part.as_bytes());
        }
        check(what, &bytes);
    }
}

#[test]
fn content_without_end_is_not_drawn() {
    for (what, part) in [
        ("fonts", "/F 1 Tf "),
        ("pictures", "BI ID "),
        ("operands", "1 "),
        ("open arrays", "["),
        ("open texts", "("),
        ("letters", "BT /F 9 Tf (x) Tj ET 9 9 Td "),
        ("lines", "/F 9 Tf (x) ' 0 -99 Td "),
    ] {
        // A quarter of the steps decompresses it, the others draw.
        let content = part.repeat(STEPS / 4 / part.len());
        let links = "<</Rect[0 0 900 900]/A<</URI(x)>>>><</Rect[9 9 9 9]/A<</URI(y)>>>>".repeat(2000);
        let pdf =
            Pdf::one_page(&format!("/Annots[{links}]")).deflated(4, "", content.as_bytes()).object(5, FONT);
        check(what, &pdf.finish());
    }
}

#[test]
fn bad_fonts_cost_little() {
    let show = b"BT /F 9 Tf <0000ffff41> Tj ET";
    let ranges = "<0000> <ffff> <0041> ".repeat(300_000);
    for (what, map) in [
        ("ranges", format!("beginbfrange {ranges} endbfrange")),
        (
            "a range with a list",
            format!("beginbfrange <0000> <ffff> [{}] endbfrange", "<0041>".repeat(300_000)),
        ),
        ("a long text", format!("beginbfchar <00> <{}> endbfchar", "0041".repeat(300_000))),
        ("a range of everything", "beginbfrange <00000000> <ffffffff> <0041> endbfrange".to_owned()),
    ] {
        let pdf = Pdf::one_page("")
            .stream(4, "", show)
            .object(5, "<</Subtype/Type0/Encoding/Identity-H/ToUnicode 6 0 R>>")
            .deflated(6, "", map.as_bytes());
        check(what, &pdf.finish());
    }
    for font in [
        "<</Subtype/Type1/FirstChar 4294967295/Widths[1 2 3]>>",
        "<</Subtype/Type1/FirstChar -9/Widths[1e9 -2 3]/FontMatrix[0 0 0 0 0 0]>>",
        "<</Subtype/Type0/DescendantFonts[<</W[4294967295[1 2 3]-1 99999999999 7]>>]>>",
        "<</Subtype/Type0/DescendantFonts 5 0 R/Encoding 5 0 R/ToUnicode 5 0 R>>",
        "<</Subtype/Type1/Encoding<</Differences[255/a/b/c 99999999/d -1/e]>>>>",
    ] {
        check(font, &Pdf::one_page("").stream(4, "", show).object(5, font).finish());
    }
}

/// Fragments of PDFs, so that random combinations are partly valid.
const PIECES: &[&str] = &[
    "1 0 obj",
    "2 0 obj",
    "3 0 obj",
    "4 0 obj",
    "endobj",
    "stream\n",
    "\nendstream",
    "<<",
    ">>",
    "[",
    "]",
    "1 0 R",
    "2 0 R",
    "3 0 R",
    "4 0 R",
    "/Type",
    "/Catalog",
    "/Pages",
    "/Page",
    "/Kids",
    "/Contents",
    "/Resources",
    "/Font",
    "/F",
    "/XObject",
    "/Subtype/Form",
    "/Subtype/Type0",
    "/Subtype/Type3",
    "/ToUnicode",
    "/Encoding",
    "/Differences",
    "/Widths",
    "/FirstChar",
    "/W",
    "/DescendantFonts",
    "/ObjStm",
    "/First",
    "/N",
    "/Length",
    "/Filter",
    "/AHx",
    "/LZW",
    "/RL",
    "/A85",
    "/DecodeParms",
    "/Predictor",
    "/Columns",
    "/Annots",
    "/A",
    "/URI",
    "/Rect",
    "(owl)",
    "<6f776c>",
    "BT",
    "ET",
    "Tf",
    "Tj",
    "TJ",
    "Td",
    "Tm",
    "Do",
    "cm",
    "q",
    "Q",
    "BI",
    "ID",
    "EI",
    "beginbfchar",
    "endbfchar",
    "beginbfrange",
    "endbfrange",
    "0",
    "1",
    "-1",
    "12",
    "700",
    "1e9",
    "99999999999",
    "trailer",
    "/Root",
    "/Info",
    "/Title",
    "/Encrypt",
];

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_a_pdf(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&bytes);
    }

    #[test]
    fn any_pieces_are_a_pdf(pieces in prop::collection::vec(select(PIECES), 0..200)) {
        read(pieces.join(" ").as_bytes());
    }

    #[test]
    fn any_change_leaves_a_pdf(at in 0usize..2000, byte in any::<u8>(), length in 0usize..40) {
        let mut bytes = include_bytes!("../fixtures/pdf/object-streams.pdf").to_vec();
        let at = at.min(bytes.len());
        let end = (at + length).min(bytes.len());
        bytes.splice(at..end, [byte]);
        read(&bytes);
    }
}
