//! Golden tables: small pages with their leaves and links, numbered by hand after A 2.2.1.
//!
//! A row `0 3/0 text` is leaf 0 with three elements around it, none of which it shares with a previous leaf. A row
//! `anchor x 1..3 html>body>a text` is a link to `x` with the leaves 1 to 3.

use crate::{extract, url};
use porthole_page::Page;

fn check(html: &str, expected: &[&str]) {
    let page = extract(html);
    let leaves = (0..page.leaf_count()).map(|number| leaf_row(&page, number));
    let links = page.links.iter().map(|link| link_row(&page, link));
    assert_eq!(leaves.chain(links).collect::<Vec<_>>(), expected, "for {html}");
}

fn leaf_row(page: &Page, number: usize) -> String {
    let leaf = page.leaf(number).unwrap();
    format!("{number} {}/{} {}", leaf.depth, leaf.shared, leaf.text).trim_end_matches(' ').to_owned()
}

fn link_row(page: &Page, link: &porthole_page::Link) -> String {
    let folder = url().join(".").unwrap();
    let target = link.target.as_str().trim_start_matches(folder.as_str());
    let (kind, path) = (link.kind.name(), page.tag_path(link));
    let row =
        format!("{kind} {target} {}..{} {path} {}", link.first_leaf, link.last_leaf, page.anchor_text(link));
    row.trim_end_matches(' ').to_owned()
}

#[test]
fn text_nodes_are_leaves() {
    check("", &[]);
    check("text", &["0 2/0 text"]);
    check("<p>one<p>two", &["0 3/0 one", "1 3/2 two"]);
    check("<p>a <b>b</b> c", &["0 3/0 a", "1 4/3 b", "2 3/3 c"]);
    check("<div><div>a</div></div><div>b</div>", &["0 4/0 a", "1 3/2 b"]);
}

#[test]
fn white_space_and_comments_are_no_leaves() {
    check(" \n <p> \t </p>\n", &["0 2/0"]);
    check("<p> <!-- c --> </p><p>a<!-- c -->b <?php ?> c</p>", &["0 2/0", "1 3/2 ab c"]);
    check("<p>a\n\n   b&#32;&#10;c</p>\r\n<p>\n&nbsp;</p>", &["0 3/0 a b c", "1 3/2 \u{a0}"]);
    check("<b>a</b> <b>b</b>", &["0 3/0 a", "1 3/2 b"]);
    check("<pre>\n a\n  b</pre>", &["0 3/0 a b"]);
}

#[test]
fn elements_without_content_are_leaves() {
    check("a<br>b<hr>c", &["0 2/0 a", "1 2/2", "2 2/2 b", "3 2/2", "4 2/2 c"]);
    check("<p></p><div><span></span></div>", &["0 2/0", "1 3/2"]);
    check("<form><input name=q><input type=hidden></form>", &["0 3/0", "1 3/3"]);
    check("<p>a<img alt=x src=i>", &["0 3/0 a", "1 3/3"]);
}

#[test]
fn leaves_know_their_element() {
    let tags = |html: &str| {
        let page = extract(html);
        (0..page.leaf_count()).map(|number| page.leaf(number).unwrap().tag).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(tags("text<p>a <b>b</b><br>c"), "body p b br p");
    assert_eq!(tags("<ul><li><a href=x>a</a><li><img src=i><a href=y></a></ul>"), "a img a");
    assert_eq!(tags("<table><tr><td>a<td></table></p></br>"), "td td p br");
    assert_eq!(tags("<made-up>a</made-up><template>b</template><script>c</script>"), "? template script");
    // Moved before the table; the element is the original one.
    assert_eq!(tags("<table>a<tr><td>b"), "table td");
}

#[test]
fn invisible_elements_are_one_empty_leaf() {
    check(
        "<p><script>a<b></script><style>c</style><textarea>d</textarea><template><p>e</template>f",
        &["0 3/0", "1 3/3", "2 3/3", "3 3/3", "4 3/3 f"],
    );
    check("<title>t</title><meta name=a><p>b", &["0 2/0", "1 2/2", "2 3/1 b"]);
    check("<p>a</p><noscript><p>b</p></noscript><noembed>c</noembed>", &["0 3/0 a", "1 4/2 b", "2 2/2"]);
}

#[test]
fn lists_and_tables_are_row_major() {
    check(
        "<ul><li>a<li><a href=x>b</a><ul><li>c</ul><li></ul>d",
        &["0 4/0 a", "1 5/3 b", "2 6/4 c", "3 3/3", "4 2/2 d", "anchor x 1..1 html>body>ul>li>a b"],
    );
    check(
        "<table><tr><td>1</td><td>2</td></tr><tr><td></td><td><a href=x>4</a></td></tr></table>",
        &["0 6/0 1", "1 6/5 2", "2 5/4", "3 7/5 4", "anchor x 3..3 html>body>table>tbody>tr>td>a 4"],
    );
    check(
        "<table><caption>c</caption><thead><tr><th>h<tbody><tr><td><table><tr><td>i</table></table>",
        &["0 4/0 c", "1 6/3 h", "2 10/3 i"],
    );
    check("<dl><dt>a<dd>b<dt></dl>", &["0 4/0 a", "1 4/3 b", "2 3/3"]);
    check("<select><option>a<option>b</select>", &["0 4/0 a", "1 4/3 b"]);
}

#[test]
fn a_link_has_the_leaves_inside_it() {
    check(
        "<p>The <a href=owl>snowy <b>white</b> owl</a> lives.",
        &[
            "0 3/0 The",
            "1 4/3 snowy",
            "2 5/4 white",
            "3 4/4 owl",
            "4 3/3 lives.",
            "anchor owl 1..3 html>body>p>a snowy white owl",
        ],
    );
    check(
        "<a href=a><img src=i></a><a href=b></a><a name=c>c</a>",
        &["0 3/0", "1 2/2", "2 3/2 c", "anchor a 0..0 html>body>a", "anchor b 1..1 html>body>a"],
    );
    check(
        "<a href=x><img> text <i></i></a>",
        &["0 3/0", "1 3/3 text", "2 3/3", "anchor x 0..2 html>body>a text"],
    );
    check(
        "<a href=x><h2>a</h2><p>b</p></a>c",
        &["0 4/0 a", "1 4/3 b", "2 2/2 c", "anchor x 0..1 html>body>a a b"],
    );
}

#[test]
fn anchors_do_not_nest() {
    check(
        "<a href=1>one<a href=2>two</a>three",
        &[
            "0 3/0 one",
            "1 3/2 two",
            "2 2/2 three",
            "anchor 1 0..0 html>body>a one",
            "anchor 2 1..1 html>body>a two",
        ],
    );
    check(
        "<p><a href=1>one<p>two",
        &["0 4/0 one", "1 4/2 two", "anchor 1 0..0 html>body>p>a one", "anchor 1 1..1 html>body>p>a two"],
    );
}

#[test]
fn other_elements_with_links() {
    check(
        "<frameset><frame src=a><frame src=b><noframes>c</noframes></frameset>",
        &["0 2/0", "1 2/2", "2 2/2", "frame a 0..0 html>frameset>frame", "frame b 1..1 html>frameset>frame"],
    );
    check(
        "<p><area href=x><area href=y></p><iframe src=z>no</iframe>",
        &[
            "0 3/0",
            "1 3/3",
            "2 2/2",
            "area x 0..0 html>body>p>area",
            "area y 1..1 html>body>p>area",
            "iframe z 2..2 html>body>iframe",
        ],
    );
    check(
        "<head><link rel=next href=2><link rel='up PREV' href=0><link rel=canonical href=c><link rel=icon href=i>",
        &[
            "0 2/0",
            "1 2/2",
            "2 2/2",
            "3 2/2",
            "next 2 0..0 html>head>link",
            "prev 0 1..1 html>head>link",
            "canonical c 2..2 html>head>link",
        ],
    );
}

#[test]
fn a_path_names_the_innermost_elements() {
    for (html, path) in [
        ("<zoo><a href=x>y".to_owned(), "html>body>?>a".to_owned()),
        ("<svg><g><foreignObject><a href=x>y".to_owned(), "html>body>svg>?>foreignobject>a".to_owned()),
        ("<div>".repeat(30) + "<a href=x>y", "div>".repeat(23) + "a"),
    ] {
        let page = extract(&html);
        assert_eq!(page.tag_path(&page.links[0]).to_string(), path, "for {html}");
    }
}

#[test]
fn offsets_count_leaves_from_the_link() {
    let page = extract("<p>a<p>b<p><a href=x>c<i>d</i></a><p>e<br><p>g");
    for (reach, expected) in [
        (0, "0c 0d"),
        (1, "-1b 0c 0d 1e"),
        (2, "-2a -1b 0c 0d 1e 2"),
        (3, "-2a -1b 0c 0d 1e 2 3g"),
        (u32::MAX, "-2a -1b 0c 0d 1e 2 3g"),
    ] {
        let around = page.around(&page.links[0], reach);
        let around: Vec<_> =
            around.map(|(offset, leaf)| format!("{offset}{}", page.leaf(leaf).unwrap().text)).collect();
        assert_eq!(around.join(" "), expected, "within {reach}");
    }
}
