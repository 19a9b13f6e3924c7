//! Random sequences of tags and text, compared with an html5ever tree.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::oracle::Facts;
use crate::{extract, invariants, url};

/// Pieces for which everything has to be equal, in any order. Excluded is what makes the tree move existing nodes:
/// misplaced content in a table, formatting that is still open when a block ends, a form that ends before its content.
/// Also excluded are SVG and MathML that stay open (html5ever lets end tags reach through their integration points) and
/// NUL characters, which the standard handles inconsistently.
const TAME: &str = "word| |two words|\n|&amp;|&eacute;|&copy|&#65;|&nbsp;|&|< |a < b|<!-- c -->|<!doctype html>|\
    </>|<?pi?>|<p>|</p>|<div>|</div>|<center>|</center>|<blockquote>|</blockquote>|<pre>|</pre>|<ul>|</ul>|<li>|\
    </li>|<dl>|<dt>|<dd>|</dl>|<h1>|</h1>|<h2>|</h2>|<span>|</span>|<zoo>|</zoo>|<ruby>|<rt>|</ruby>|<label>|\
    </label>|<br>|</br>|<hr>|<img src=i>|<input>|<area href=m>|<iframe src=f>x</iframe>|\
    <script>if (a<b) c</script>|<style>p{}</style>|<textarea><p></textarea>|<xmp><b></xmp>|<title>t</title>|\
    <link rel=next href=n>|<meta name=m content=c>|<template><p>t</template>|<noscript>|</noscript>|<head>|\
    <body>|</body>|</html>|<noframes>n</noframes>|<button>|</button>|<select>|</select>|<option>|<optgroup>|\
    <object>|</object>|<svg/>|<svg><path/><g><![CDATA[c]]></g></svg>|<math><mi>x</mi></math>|\
    <svg><desc>e</desc><foreignObject><p>f</p></foreignObject></svg>|<a href=x>link</a>|\
    <a href=x><img src=i> text <i></i></a>|<b>bold</b>|<font size=1><i>f</i></font>|<form>q<input></form>|\
    <table><tr><td>1</td><td></td></tr><tr><td>2</table>|\
    <table><caption>c</caption><thead><tr><th>h</thead><tbody><tr><td><p>3</table>";

/// Formatting that may be open anywhere: leaves and links are equal to the tree's, but not their depths.
const FORMATTING: &str = "<b>|</b>|<i>|</i>|<em>|</em>|<font size=1>|<font size=2>|</font>|<nobr>|</nobr>|\
    <u a=1 b=2>|</u>|</head>";

/// Pieces without any guarantee.
const WILD: &str = "<a href=x>|<a href='y' title=t rel=nofollow>|</a>|<a name=n>|<a href=\"x|<a href=x\"y>|\
    <p a=1 a=2 b>|<table>|</table>|<tr>|</tr>|<td>|</td>|<th>|<caption>|</caption>|<tbody>|</tbody>|<thead>|\
    <tfoot>|<col>|<colgroup>|</colgroup>|<form>|</form>|<input type=hidden>|<textarea>|<script>|</script>|<title>|\
    <frameset>|<frame src=f>|</frameset>|<plaintext>|<template>|</template>|<svg>|</svg>|<foreignObject>|<desc>|\
    <math>|</math>|<mi>|</mi>|<mtext>|<annotation-xml>|<base href=/b/>|<!--|-->|&#0;|&#x110000;|<html lang=en>|\
    <marquee>|</marquee>|<image>|<dialog>|<h1|</p|=|\"|>|\0";

pub(crate) fn wild() -> impl Strategy<Value = String> {
    soup([TAME, FORMATTING, WILD])
}

fn soup<const N: usize>(vocabularies: [&'static str; N]) -> impl Strategy<Value = String> {
    let words: Vec<&str> = vocabularies.into_iter().flat_map(|words| words.split('|')).collect();
    prop::collection::vec(select(words), 0..40).prop_map(|words| words.concat())
}

/// Properties by the extractor and by the tree.
fn both(html: &str) -> (Facts, Facts) {
    let page = extract(html);
    invariants::hold(&page, html.len());
    (Facts::of_page(&page), Facts::of_tree(&url(), html))
}

pub(crate) fn without_depths((ours, tree): (Facts, Facts)) -> (Facts, Facts) {
    (Facts { depths: Vec::new(), ..ours }, Facts { depths: Vec::new(), ..tree })
}

proptest! {
    #![proptest_config(crate::hostile::config())]

    #[test]
    fn tame_soup_is_read_as_the_tree_is(html in soup([TAME])) {
        let (ours, tree) = both(&html);
        prop_assert_eq!(ours, tree);
    }

    #[test]
    fn open_formatting_moves_no_leaf(html in soup([TAME, FORMATTING])) {
        let (ours, tree) = without_depths(both(&html));
        prop_assert_eq!(ours, tree);
    }
}

#[test]
fn wild_soup_is_mostly_read_as_the_tree_is() {
    const SOUPS: usize = 2000;
    let mut runner = TestRunner::new(crate::hostile::config());
    let is_same = |soup: String| {
        let (ours, tree) = without_depths(both(&soup));
        ours == tree
    };
    let same = (0..SOUPS).filter(|_| is_same(wild().new_tree(&mut runner).unwrap().current())).count();
    println!("{same} of {SOUPS} wild soups are read as the tree is");
    assert!(same * 100 >= SOUPS * 85, "only {same} of {SOUPS}");
}
