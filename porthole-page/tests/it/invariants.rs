//! Invariants of every page, for any bytes: shared by the tests and the fuzz target.

use porthole_page::{ExtractLimits, Link, LinkKind, Page, PageFormat};

/// The last character and the empty leaves of links may exceed the limit.
const MOST_PDF_TEXT: usize = (4 << 20) + 100_000;

/// Panics if a page that was read from this many bytes violates an invariant.
pub(crate) fn hold(page: &Page, bytes: usize) {
    check_text(page, bytes);
    check_leaves(page, bytes);
    check_terms(page);
    assert!(page.links.len() <= ExtractLimits::default().links);
    assert!(page.links.is_sorted_by_key(|link| link.first_leaf), "links are out of order");
    page.links.iter().for_each(|link| check_link(page, link));
}

fn check_text(page: &Page, bytes: usize) {
    let leaves = (0..page.leaf_count()).map(|number| page.leaf(number).expect("a leaf has its number").text);
    let with_text: Vec<&str> = leaves.filter(|text| !text.is_empty()).collect();
    assert_eq!(page.text, with_text.join(" "), "the text is not that of the leaves");
    for text in with_text.into_iter().chain([page.title.as_str()]) {
        assert!(is_folded(text), "white space in {text:?}");
    }
    // A byte gives at most U+FFFD and the space before its leaf; compressed text has a separate limit.
    let most = if page.format == PageFormat::Pdf { MOST_PDF_TEXT } else { 4 * bytes };
    assert!(page.text.len() <= most, "{} bytes of text from {bytes}", page.text.len());
}

fn check_leaves(page: &Page, bytes: usize) {
    let most = if page.format == PageFormat::Pdf { MOST_PDF_TEXT } else { bytes.max(1) };
    assert!(page.leaf_count() <= most, "{} leaves from {bytes} bytes", page.leaf_count());
    for number in 0..page.leaf_count() {
        let leaf = page.leaf(number).expect("a leaf has its number");
        assert!(leaf.shared <= leaf.depth, "leaf {number}: {leaf:?}");
    }
    assert_eq!(page.leaf(page.leaf_count()), None);
    assert!(page.format != PageFormat::Other || page.leaf_count() == 0);
}

fn check_terms(page: &Page) {
    let of_leaves: Vec<_> =
        (0..page.leaf_count()).flat_map(|number| page.leaf_terms(number)).copied().collect();
    assert!(page.terms().ends_with(&of_leaves), "the leaves have other terms than the page");
    let counts = page.term_counts();
    assert!(counts.is_sorted_by(|(a, _), (b, _)| a < b));
    assert_eq!(counts.iter().map(|&(_, count)| count as usize).sum::<usize>(), page.judged_terms().len());
    assert!(page.judged_terms().len() <= page.terms().len());
}

fn check_link(page: &Page, link: &Link) {
    let (first, last) = (link.first_leaf as usize, link.last_leaf as usize);
    assert!(first <= last && last < page.leaf_count(), "{link:?} of {} leaves", page.leaf_count());
    // Only its ends are checked, because a link may be as long as the page.
    let anchor = page.anchor_text(link);
    assert!(!anchor.starts_with(is_space) && !anchor.ends_with(is_space), "white space around an anchor");
    for (offset, leaf) in page.around(link, 2).take(6) {
        assert!((-2..=2).contains(&offset) && leaf < page.leaf_count(), "leaf {leaf} is at {offset}");
        assert_eq!(offset == 0, (first..=last).contains(&leaf), "leaf {leaf} is at {offset}");
    }
    assert_eq!(page.tag_path(link).names().last(), Some(tag_of(link.kind)));
}

fn tag_of(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::Anchor => "a",
        LinkKind::Area => "area",
        LinkKind::Frame => "frame",
        LinkKind::Iframe => "iframe",
        LinkKind::Next | LinkKind::Prev | LinkKind::Canonical => "link",
    }
}

fn is_folded(text: &str) -> bool {
    !text.starts_with(is_space)
        && !text.ends_with(is_space)
        && !text.contains("  ")
        && !text.contains(odd_space)
}

fn is_space(c: char) -> bool {
    c.is_ascii_whitespace()
}

fn odd_space(c: char) -> bool {
    is_space(c) && c != ' '
}
