//! The main content of pages: which text it is, and its Markdown.

use porthole_page::{Extractor, MainContent};
use porthole_types::Headers;
use proptest::prelude::*;

use crate::hostile::config;
use crate::url;

pub(crate) fn main_content(html: &str) -> MainContent {
    let headers: Headers = [("content-type", "text/html; charset=utf-8")].into_iter().collect();
    Extractor::default().main_content(&url(), &headers, html.as_bytes())
}

const MENU: &str = "<nav class=navbar><ul><li><a href=/>Home</a><li><a href=/shop>Shop</a><li><a href=/about>About us</a>\
    <li><a href=/contact>Contact</a></ul></nav>";

const ARTICLE: &str = "<h1>Keeping bees</h1>\
    <p>A beekeeper keeps honey bees in hives, and looks after the queen, the workers and the drones of every colony \
    throughout the year, above all before the swarming season in May.</p>\
    <p>In summer the frames full of honey are taken out of the hive, the wax caps are cut off and the honey is spun out \
    of the combs, strained and filled into jars.</p>\
    <p>Before the winter the colonies are fed with sugar and treated against the varroa mite, because weak colonies do \
    not survive the frost.</p>";

const REST: &str = "<aside class='sidebar related'><h3>Related</h3><ul><li><a href=/1>How to smoke a hive</a><li>\
    <a href=/2>Honey cake</a></ul></aside><footer class=site-footer><p>Copyright 2026 Bees Ltd. All rights reserved. \
    <a href=/privacy>Privacy</a> <a href=/terms>Terms</a></p></footer>";

#[test]
fn menus_and_footers_are_left_out() {
    let main = main_content(&format!(
        "<title>Bees</title><body>{MENU}<main><article class=post>{ARTICLE}</article></main>{REST}"
    ));
    let lines: Vec<&str> = main.text.lines().collect();
    assert_eq!(main.title, "Bees");
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_eq!(lines[0], "Keeping bees");
    assert!(lines[3].ends_with("do not survive the frost."));
    assert!(main.markdown.starts_with("# Keeping bees\n\nA beekeeper keeps"), "{}", main.markdown);
}

#[test]
fn text_for_browsers_without_scripts_counts_only_where_it_is_the_page() {
    let notice = "<noscript>Please enable JavaScript in your browser to see this page.</noscript>";
    let page = main_content(&format!("<main>{ARTICLE}</main>{notice}"));
    assert!(!page.text.contains("JavaScript"), "{}", page.text);
    let page = main_content(&format!("<div id=app></div><noscript><main>{ARTICLE}</main></noscript>"));
    assert!(page.text.contains("A beekeeper keeps"), "{}", page.text);
}

#[test]
fn markdown_of_elements() {
    check(&[
        ("<h2>Of <i>bees</i></h2><p>one<p>two", "## Of *bees*\n\none\n\ntwo"),
        ("<p>a <b> bold </b>word, <em>x</em><strong>y</strong>", "a **bold** word, *x***y**"),
        ("<p><b><strong>once</strong></b><i></i> <b> </b>x", "**once** x"),
        (
            "<p>see <a href=b.html>the <b>b</b> page</a>.",
            "see [the **b** page](http://example.com/dir/b.html).",
        ),
        ("<p>call <code>f(x)</code> or <code>`y`</code>", "call `f(x)` or `` `y` ``"),
        ("<p>one<br>two", "one\\\ntwo"),
        ("<h3>one<br>two</h3>", "### one two"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul><p>e", "- a\n- b\n    - c\n- d\n\ne"),
        ("<ol><li>a<p>more</p><li>b<ol><li>c</ol><li>d</ol>", "1. a\n\n    more\n2. b\n    1. c\n3. d"),
        ("<blockquote><p>a<p>b</blockquote>c", "> a\n\n> b\n\nc"),
        ("<pre><span>fn</span> f() {\n    <b>g</b>()\n}\n</pre>", "```\nfn f() {\n    g()\n}\n```"),
        ("<pre><i>a</i>\n<i>b</i></pre>", "```\na\nb\n```"),
        ("<pre>a ``` b</pre>", "````\na ``` b\n````"),
        ("<ul><li><pre>x\ny</pre></ul>", "- ```\n    x\n    y\n    ```"),
        (
            "<table><tr><th>a<th>b<tr><td>1<td><code>x|y</code></table>",
            "| a | b |\n| --- | --- |\n| 1 | `x\\|y` |",
        ),
        ("<table><tr><td><p>a</p><p>b</p><td>c</table>", "a\n\nb\n\nc"),
        ("<a href=x><h2>head</h2><p>text</p></a>", "## head\n\ntext"),
        ("<b><p>a</b>b</p>", "ab"),
    ]);
}

#[test]
fn what_a_page_says_stays_text() {
    check(&[
        ("<p>&lt;script&gt;alert(1)&lt;/script&gt;", "\\<script\\>alert(1)\\</script\\>"),
        (
            "<p>*a* _b_ `c` [d](e) ~f~ &amp;lt; |g|",
            "\\*a\\* \\_b\\_ \\`c\\` \\[d\\](e) \\~f\\~ \\&lt; \\|g\\|",
        ),
        (
            "<p># a<p>- b<p>1. c<p>12) d<p>+ e<p>== f",
            "\\# a\n\n\\- b\n\n1\\. c\n\n12\\) d\n\n\\+ e\n\n\\== f",
        ),
        ("<p>a<br>- b", "a\\\n\\- b"),
        ("<p><a href='javascript:alert(1)'>x</a> <a href='data:text/html,y'>y</a>", "x y"),
        ("<p><a href='/a) [b](c'>x</a>", "[x](http://example.com/a%29%20[b]%28c)"),
        ("<p><a href='#top'>up</a>", "up"),
        ("<p>Look!<a href=p.png>x</a>", "Look\\![x](http://example.com/dir/p.png)"),
        // A repair has closed the section, and what follows is not inside the heading.
        ("<b><div><section></b><h2>a</h2><p>b<p>c", "## a\n\nb\n\nc"),
        ("<p>a\u{1b}[31m\u{9b}b\u{202e}c", "a\\[31mbc"),
        ("<pre>a\u{1b}]0;x</pre>", "```\na]0;x\n```"),
        ("<svg><text>a</text></svg><p>b<style>c</style><textarea>d</textarea>", "b"),
    ]);
}

#[test]
fn plain_text_is_its_own_main_content() {
    let headers: Headers = [("content-type", "text/plain")].into_iter().collect();
    let main = Extractor::default().main_content(&url(), &headers, b"a *b*\nc");
    assert_eq!((main.text.as_str(), main.markdown.as_str()), ("a *b* c", "a \\*b\\* c"));
}

fn check(cases: &[(&str, &str)]) {
    for (html, expected) in cases {
        assert_eq!(main_content(html).markdown, *expected, "for {html}");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_html_passes_through(
        html in "(<(p|b|i|a href=x|ul|li|td|tr|table|h2|br|/p|/b|/a|/ul|/table|blockquote)>|&lt;|&gt;|&amp;|[\\\\*_ab -]|&#92;){0,80}"
    ) {
        let markdown = main_content(&html).markdown;
        for (at, _) in markdown.match_indices(['<', '&']) {
            let escapes = markdown[..at].bytes().rev().take_while(|&byte| byte == b'\\').count();
            prop_assert!(escapes % 2 == 1, "{} from {}", markdown, html);
        }
    }
}
