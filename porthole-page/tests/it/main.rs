//! The extractor against golden tables, an html5ever tree, and hostile input.

mod corpora;
mod facts;
mod hostile;
mod invariants;
mod leaves;
mod main_content;
mod main_text;
mod oracle;
mod pdf;
mod pdf_encrypted;
mod pdf_hostile;
mod soup;

use std::cell::RefCell;

use oracle::Facts;
use porthole_page::{Extractor, Page};
use porthole_types::{CanonicalUrl, Headers};

fn url() -> CanonicalUrl {
    CanonicalUrl::parse("http://example.com/dir/page.html").unwrap()
}

fn extract(html: &str) -> Page {
    extract_with(&[("content-type", "text/html; charset=utf-8")], html.as_bytes())
}

fn extract_with(headers: &[(&str, &str)], body: &[u8]) -> Page {
    thread_local! {
        static EXTRACTOR: RefCell<Extractor> = RefCell::default();
    }
    let headers: Headers = headers.iter().copied().collect();
    EXTRACTOR.with_borrow_mut(|extractor| extractor.extract(&url(), &headers, body))
}

#[test]
fn tag_soup_is_read_as_the_tree_is() {
    for html in [
        "",
        "plain",
        "<p>a<p>b",
        "<p></p><p>",
        "<ul><li>a<li>b<ul><li>c</ul><li>d</ul>",
        "<b><p>text</b>more</p>",
        "<b><p></b>more</p>",
        "<p><b>x</p>\n<p>y",
        "<b><i><p>1</b>2</i>3</p>4",
        "<a href=1>one<a href=2>two</a>three",
        "<a href=1><p>in</a>out</p>",
        "<a href=1><div><b>in</a>out</b></div>",
        "<table><tr><td>1<td>2<tr><th>3</table>x",
        "<table>foster<tr><td>1</table>",
        "<table><a href=1>x</a><tr><td>1</td></tr></table>",
        "<p>x<table><td>y</table>z",
        "<!DOCTYPE html><p>x<table><td>y</table>z",
        "<table><caption>c<tr><td>x</table>",
        "<table><col><colgroup><col></colgroup><tbody><tr><td></table>",
        "<select><option>a<option>b</select>",
        "<dl><dt>a<dd>b<dt>c</dl>",
        "<h1>a<h2>b</h3>c",
        "</p></br></div>x",
        "<form><form>a</form>b</form>c",
        "<frameset><frame src=a><frame src=b><noframes>x</noframes></frameset>",
        "<p><b></b><frameset><frame src=a></frameset>",
        "<head><title>t &amp; u</title><base href=/b/><link rel=next href=n></head><a href=x>y</a>",
        "<noscript><a href=1>x</a></noscript>",
        "<head><noscript><link rel=next href=a></noscript></head>x",
        "<svg><path/><text>t</text><title>u</title></svg>x<math><mi>y</mi></math>",
        "<svg><p>out",
        "<xmp><b>x</b></xmp><plaintext><i>y",
        "<textarea>a</textarea><iframe src=q>b</iframe>",
        "x<!-- c -->y<?pi?>z",
        "<button>a<button>b</button>c",
        "<nobr>a<nobr>b</nobr>",
        "<b><b><b><b><b>x</p>y</b>",
        "<font size=1><font size=1><font size=1><font size=1><p>x</p></font>y",
        "<object><b>a</object>b",
        "<center><table><tr><td><center>x</table>y</center>",
        "<template><p>x</p></template>y",
        "<ruby>a<rt>b<rp>c</ruby>",
        "<img src=a><br><hr><input type=hidden>",
        "<body><p>a</body></html>b<p>c",
        "&copy; &notit; &#65; &#x42 <a href='?a=1&copy=2&amp;b'>l</a>",
        "<div><span>a</div>b</span>",
        "<li>a</li><dd>b",
        "<table><tr><td><table><tr><td>a</table></table>",
        "<table><thead><tr><th>a</thead><tfoot><tr><td>b</tfoot></table>",
        "<table><form><tr><td>x</form></table>",
        "<table><input type=hidden><input type=text></table>",
        "<a href=x><p></a>w",
        "<a href=x>&nbsp;y</a>",
        "<a href=x><div><area href=m><a href=x>",
        "<form><math><option></form><input>",
        "<math><html lang=en>",
    ] {
        // The depth of a leaf moved by a repair is not known.
        let (ours, tree) =
            soup::without_depths((Facts::of_page(&extract(html)), Facts::of_tree(&url(), html)));
        assert_eq!(ours, tree, "for {html}");
    }
}
