//! Hostile input: arbitrary bytes, tag soup, and pages made to be slow or large.

use porthole_page::steps;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed};

use crate::main_content::main_content;
use crate::{extract, extract_with, invariants, soup};

/// The same inputs in every run; `PROPTEST_CASES` increases their number.
pub(crate) fn config() -> Config {
    Config { failure_persistence: None, rng_seed: RngSeed::Fixed(2002), ..Config::default() }
}

const CONTENT_TYPES: &[&str] = &[
    "text/html",
    "text/html; charset=utf-8",
    "text/html; charset=iso-2022-jp",
    "text/plain",
    "",
    "image/png",
];

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_a_page(
        content_type in select(CONTENT_TYPES),
        bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        invariants::hold(&extract_with(&[("content-type", content_type)], &bytes), bytes.len());
    }

    #[test]
    fn any_text_is_a_page(html in "([ \t\r\n<>/='\"&;#!?a-zA-Z0-9-]|\\PC){0,300}") {
        invariants::hold(&extract(&html), html.len());
    }

    #[test]
    fn any_soup_is_a_page(html in soup::wild()) {
        invariants::hold(&extract(&html), html.len());
        main_content(&html);
    }
}

/// Size of an attack in bytes; it is also generated at half the size.
const SIZE: usize = 1 << 16;

/// Maximum number of steps for each byte of a page: twice that of the worst attack.
const MOST: u64 = 400;

/// Checks pages made of parts. Each part is repeated until it fills its share; `#` is replaced by its number.
fn check(attacks: &[&[&str]]) {
    for parts in attacks {
        check_one(parts);
    }
}

fn check_one(parts: &[&str]) {
    let (few, many) = (attack(parts, SIZE / 2), attack(parts, SIZE));
    check_steps(parts, steps_of(&few), steps_of(&many));
    let main_content_steps = |html: &str| {
        main_content(html);
        steps::take()
    };
    check_steps(parts, main_content_steps(&few), main_content_steps(&many));
}

fn check_steps(parts: &[&str], few: u64, many: u64) {
    // Twice the size: 2 if linear, 4 if quadratic.
    assert!(many * 10 <= few * 22, "{parts:?} takes {few} steps, and {many} at twice the size");
    assert!(many <= MOST * SIZE as u64, "{parts:?} takes {many} steps");
}

fn attack(parts: &[&str], size: usize) -> String {
    let mut html = String::with_capacity(size + 64);
    for (index, part) in parts.iter().enumerate() {
        let end = size * (index + 1) / parts.len();
        for number in 0.. {
            if html.len() >= end {
                break;
            }
            html.push_str(&part.replace('#', &number.to_string()));
        }
    }
    html
}

/// Reads a page, checks the invariants, and returns the number of steps. Always 0 in a release build.
fn steps_of(html: &str) -> u64 {
    steps::take();
    let page = extract(html);
    let steps = steps::take();
    assert_eq!(steps > 0, cfg!(debug_assertions), "steps are counted");
    invariants::hold(&page, html.len());
    steps
}

#[test]
fn elements_after_a_repair_do_not_nest_in_each_other() {
    let steps = |count: usize| {
        steps::take();
        main_content(&format!("<b><div><section></b>{}", "<p>x".repeat(count)));
        steps::take()
    };
    check_steps(&["<b><div><section></b>", "<p>x"], steps(SIZE / 8), steps(SIZE / 4));
}

#[test]
fn any_element_may_be_nested() {
    const ELEMENTS: &str = "a b font nobr p div span center ul ol li dl dt dd h1 form button select option optgroup \
        object applet table caption colgroup tbody thead tr td th svg math mi foreignObject desc ruby rt rtc \
        frameset noscript template pre title textarea script style xmp iframe plaintext zoo html head body";
    for name in ELEMENTS.split_ascii_whitespace() {
        let (start, end) = (format!("<{name}>"), format!("</{name}>"));
        check_one(&[&start]);
        check_one(&[&start, &end]);
        check_one(&[&start, "x<p>", &end]);
    }
}

#[test]
fn repairs_of_formatting_take_linear_time() {
    check(&[
        &["<b a=#><p>"],
        &["<b a=#><p>", "</b>"],
        &["<b a=#><i b=#><div>", "</i></b>"],
        &["<b a=#><div>", "x</b>"],
        &["<font a=#>", "<p>x"],
        &["<nobr><p>", "</nobr>"],
        &["<object><b>", "</object>"],
        &["<applet><b a=#>", "</b>"],
        &["<object>", "</b>"],
        &["<a href=#>"],
        &["<a href=x><p>"],
        &["<p><a href=x>", "<p>y"],
        &["<a href=#><div>", "</a>"],
        &["<a href=x><p></a>"],
        &["<a href=x><p></a></p>"],
        &["<a href=x><div>", "<a>"],
        &["<object><a href=#>", "<p>x"],
    ]);
}

#[test]
fn unmatched_end_tags_take_linear_time() {
    check(&[
        &["<div>", "</p>"],
        &["<div>", "</span>"],
        &["<span>", "</div>"],
        &["<zoo>", "</zop>"],
        &["<zoo>", "<p></zoo>"],
        &["<ul><li>", "<li>"],
        &["<dl><dd>", "</dt>"],
        &["<p>", "<dd>"],
        &["<span>", "<li>"],
        &["<select><option>", "<input>"],
        &["<h1>", "</h2>"],
        &["<svg>", "</p>"],
        &["<svg><g>", "</q>"],
        &["<math><mi>", "</mo>"],
        &["</br>"],
        &["</p>"],
        &["</body>x"],
        &["</html><p>"],
    ]);
}

#[test]
fn repairs_of_tables_take_linear_time() {
    check(&[
        &["<table>x"],
        &["<table><tr><td>", "x"],
        &["<table><tr>x"],
        &["<table><tr><b a=#>x"],
        &["<table><tr><td>", "</table>x"],
        &["<table>", "<a href=#>x</a>"],
        &["<table><b>", "<tr>x"],
        &["<table><caption>"],
        &["<table><colgroup><col>"],
        &["<p>", "<frameset>"],
        &["<frameset>", "<frame src=#>"],
    ]);
}

#[test]
fn broken_tokens_take_linear_time() {
    check(&[
        &["<"],
        &["< "],
        &["<a"],
        &["</"],
        &["<?"],
        &["<!--"],
        &["<!-- -- "],
        &["<!-->"],
        &["<!--", ">"],
        &["<!doctype "],
        &["<svg>", "<![CDATA[x"],
        &["<script>", "</scrip"],
        &["<script><!--"],
        &["<script><!--", "<script>"],
        &["<xmp>", "</xm"],
        &["<p a=\""],
        &["<p a='x"],
        &["<p a=", "b='"],
        &["<p ", "a=# "],
        &["<p ", "/"],
        &["<p ", "="],
        &["<p a=1 b=2>"],
    ]);
}

#[test]
fn odd_text_takes_linear_time() {
    check(&[
        &["&"],
        &["&amp"],
        &["&#"],
        &["&#x1"],
        &["&#", "9"],
        &["&CounterClockwiseContourIntegra"],
        &["<a href='", "&amp", "'>"],
        &["<title>", "&lt;"],
        &[" "],
        &["\0"],
        &["\u{a0}"],
        &["a "],
        &["word"],
        &["word# "],
        &["<b>a</b> "],
        &["\u{e9}"],
        &["\u{4e2d}"],
        &["\u{301}"],
        &["a\u{ad}"],
        &["\u{1f989}"],
        &["<meta charset=x"],
        &["<meta name=robots content=noindex>"],
        &["<link rel=next href=#>"],
        &["<base href=#>"],
        &["<html lang=#>"],
    ]);
}

#[test]
fn copies_of_a_link_cost_little() {
    // The end of each paragraph ends the anchor, and the next one opens a copy of it.
    let paragraphs = "<p>x".repeat(10_000);
    let html = format!("<p><a href='/{}'>{paragraphs}", "&lt;".repeat(4_000));
    assert!(steps_of(&html) < 20 * html.len() as u64, "a long reference is resolved for each copy");
    let page = extract(&format!("<p><a href=x title='{}'>{paragraphs}", "y".repeat(20_000)));
    let kept: usize = page.links.iter().map(|link| link.title.as_deref().map_or(0, str::len)).sum();
    assert!(kept <= page.links.len() << 10, "{kept} bytes of titles");
}
