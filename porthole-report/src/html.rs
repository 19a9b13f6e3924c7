//! Reports as one self-contained HTML file, for dark and light screens, print and phones.

use std::fmt::Write;

use crate::svg::{self, Chart};

/// A report.
#[derive(Clone, Debug, Default)]
pub struct HtmlReport {
    /// Title of the report.
    pub title: String,
    /// Introduction, as HTML.
    pub lead: String,
    /// Sections in order.
    pub sections: Vec<Section>,
}

/// A section of a report.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Identifier in links and file names.
    pub id: String,
    /// Title of the section.
    pub title: String,
    /// Source or reading hint, in small print next to the title.
    pub note: String,
    /// Paragraphs of text.
    pub words: Vec<String>,
    /// Charts, side by side if there is room.
    pub charts: Vec<Chart>,
    /// Existing drawings, as SVG.
    pub drawings: Vec<String>,
    /// Numbers behind the charts.
    pub table: HtmlTable,
    /// Whether the table is the main content, rather than the data of a chart.
    pub table_first: bool,
}

/// A table of text cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HtmlTable {
    /// Column heads.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl HtmlTable {
    /// A table without rows.
    pub fn new(head: &[&str]) -> Self {
        HtmlTable { head: head.iter().map(|&cell| cell.to_owned()).collect(), rows: Vec::new() }
    }

    /// The table as comma-separated values.
    pub fn to_csv(&self) -> String {
        let cell = |cell: &String| match cell.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell.clone(),
        };
        let line = |row: &Vec<String>| row.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
        std::iter::once(&self.head).chain(&self.rows).map(line).collect()
    }

    fn to_html(&self) -> String {
        let mut html = "<div class=scroll><table><thead><tr>".to_owned();
        html.extend(self.head.iter().map(|cell| format!("<th>{}", escaped(cell))));
        html.push_str("<tbody>\n");
        for row in &self.rows {
            html.push_str("<tr>");
            for (number, cell) in row.iter().enumerate() {
                let class = if is_number(cell) { " class=n" } else { "" };
                // On phones, rows are lists of heads and values.
                let head = self.head.get(number).filter(|head| !head.is_empty());
                let head = head.map(|head| format!(" data-h=\"{}\"", escaped(head))).unwrap_or_default();
                let _ = write!(html, "<td{class}{head}>{}", linked(cell));
            }
            html.push('\n');
        }
        html.push_str("</table></div>\n");
        html
    }
}

impl HtmlReport {
    /// The complete HTML file.
    pub fn to_html(&self) -> String {
        let title = escaped(&self.title);
        let mut html = format!(
            "<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n\
             <meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
             <meta name=color-scheme content=\"light dark\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
             <body><main>\n<h1>{title}</h1>\n{}\n",
            self.lead
        );
        if self.sections.len() > 3 {
            html.push_str("<nav><ol>");
            for section in &self.sections {
                let _ = write!(html, "<li><a href=\"#{}\">{}</a>", section.id, escaped(&section.title));
            }
            html.push_str("</ol></nav>\n");
        }
        self.sections.iter().for_each(|section| html += &section.to_html());
        html.push_str("</main></body></html>\n");
        html
    }
}

impl Section {
    fn to_html(&self) -> String {
        let Section { id, title, note, words, charts, drawings, table, table_first } = self;
        let mut html = format!("<section id=\"{id}\">\n<h2>{}", escaped(title));
        if !note.is_empty() {
            let _ = write!(html, " <small>{}</small>", escaped(note));
        }
        html.push_str("</h2>\n");
        html.extend(words.iter().map(|words| format!("<p>{}</p>\n", linked(words))));
        if !charts.is_empty() {
            html.push_str("<div class=charts>\n");
            charts.iter().for_each(|chart| html += &drawn(chart));
            html.push_str("</div>\n");
        }
        html.extend(drawings.iter().map(|svg| format!("<div class=scroll>{svg}</div>\n")));
        match (table.rows.is_empty(), table_first) {
            (true, _) => {}
            (_, true) => html += &table.to_html(),
            _ => {
                let _ = writeln!(
                    html,
                    "<details><summary>the {} rows behind it</summary>{}</details>",
                    table.rows.len(),
                    table.to_html()
                );
            }
        }
        html.push_str("</section>\n");
        html
    }
}

fn drawn(chart: &Chart) -> String {
    let mut html =
        format!("<figure><figcaption>{}</figcaption>\n{}", escaped(&chart.title), svg::inline(chart));
    let names = chart.names();
    if names.len() > 1 {
        html.push_str("<ul class=legend>");
        for (at, name) in names.iter().enumerate() {
            let _ = write!(html, "<li>{}{}", svg::key(at), escaped(name));
        }
        html.push_str("</ul>");
    }
    html + "</figure>\n"
}

/// Text with HTML special characters escaped.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Text as HTML, with a link if the whole text is an http or https URL.
fn linked(text: &str) -> String {
    let is_url = (text.starts_with("http://") || text.starts_with("https://")) && !text.contains(' ');
    let text = escaped(text);
    if is_url { format!("<a href=\"{text}\" rel=\"noreferrer\">{text}</a>") } else { text }
}

fn is_number(cell: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || "+-\u{2212}.,%\u{2026} ".contains(c);
    cell.chars().any(|c| c.is_ascii_digit()) && cell.chars().all(is_part)
}

const STYLE: &str = "
:root { --ink:#1c2430; --soft:#5a6675; --line:#d5dbe3; --paper:#fff; --shade:#f4f6f9; --link:#0b5cad;
  --s0:#d55e00; --s1:#0072b2; --s2:#009e73; --s3:#b3538c; --s4:#7a7a7a; --s5:#222; --s6:#56a5d8; --s7:#b58900; }
@media (prefers-color-scheme: dark) { :root { --ink:#e4e8ee; --soft:#a0abba; --line:#3a4452; --paper:#14181f;
  --shade:#1d232c; --link:#7db8f2; --s0:#ff8a3d; --s1:#58b0ea; --s2:#3fd0a5; --s3:#e693c4; --s4:#b0b0b0; --s5:#fff;
  --s6:#a8d8f5; --s7:#e8c252; } }
* { box-sizing:border-box } html { -webkit-text-size-adjust:100% }
body { margin:0; background:var(--paper); color:var(--ink); font:16px/1.5 system-ui,sans-serif }
main { max-width:68rem; margin:0 auto; padding:1.5rem 1.25rem 4rem }
h1 { font-size:1.7rem; line-height:1.2; margin:.5rem 0 1rem } h2 { font-size:1.2rem; line-height:1.3; margin:0 0 .5rem }
h2 small { color:var(--soft); font-weight:normal; font-size:.85rem; white-space:nowrap }
a { color:var(--link); overflow-wrap:anywhere } p { max-width:48rem; margin:.4rem 0 }
nav ol { columns:2; column-gap:2rem; padding-left:1.4rem; font-size:.95rem }
section { border-top:1px solid var(--line); padding-top:1.2rem; margin-top:1.8rem; break-inside:avoid }
.charts { display:flex; flex-wrap:wrap; gap:1rem 1.5rem; margin:.8rem 0 }
figure { margin:0; flex:1 1 26rem; min-width:0; max-width:40rem; break-inside:avoid }
figcaption { font-size:.9rem; font-weight:600 } svg.chart { width:100%; height:auto; display:block }
svg text { fill:var(--ink); font-family:system-ui,sans-serif }
.legend { list-style:none; margin:.2rem 0 0; padding:0; display:flex; flex-wrap:wrap; gap:.1rem .9rem; font-size:.85rem }
.legend svg { width:1.8em; height:.8em; margin-right:.3em; vertical-align:middle }
details { margin:.5rem 0 } summary { cursor:pointer; color:var(--soft); font-size:.9rem }
.scroll { overflow-x:auto } table { border-collapse:collapse; font-size:.87rem; margin:.5rem 0 }
th,td { text-align:left; padding:.2rem .8rem .2rem 0; border-bottom:1px solid var(--line); vertical-align:top }
td.n { text-align:right; font-variant-numeric:tabular-nums; white-space:nowrap } th { color:var(--soft); font-weight:600 }
code { background:var(--shade); padding:.1em .3em; border-radius:3px; overflow-wrap:anywhere }
@media (max-width:40rem) { main { padding:1rem .9rem 3rem } figure { flex-basis:100% } nav ol { columns:1 }
  svg.chart text { font-size:17px } body { overflow-wrap:anywhere } h2 small { white-space:normal }
  table,tbody,tr { display:block } thead { display:none } tr { border-bottom:1px solid var(--line); padding:.4rem 0 }
  td,td.n { display:block; border:0; padding:.05rem 0 .05rem 7.5rem; text-indent:-7.5rem; text-align:left; white-space:normal }
  td::before { content:attr(data-h); display:inline-block; width:7.5rem; text-indent:0; color:var(--soft) } }
@media print { :root { --paper:#fff; --ink:#000 } body { font-size:11pt } nav { display:none }
  figure { flex-basis:45% } details:not([open]) { display:none } a { color:inherit } }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_complete_and_escapes_markup() {
        let mut table = HtmlTable::new(&["page", "score"]);
        table.rows.push(vec!["http://a.test/?x=\"&y".into(), "0.5".into()]);
        table.rows.push(vec!["javascript:alert(1), <b>".into(), "a \"word\"".into()]);
        assert_eq!(
            table.to_csv(),
            "page,score\n\"http://a.test/?x=\"\"&y\",0.5\n\"javascript:alert(1), <b>\",\"a \"\"word\"\"\"\n"
        );
        let section = Section { id: "one".into(), title: "1 < 2".into(), table, ..Section::default() };
        let html = HtmlReport { title: "<script>".into(), sections: vec![section], ..HtmlReport::default() }
            .to_html();
        assert!(html.contains("<a href=\"http://a.test/?x=&quot;&amp;y\""), "{html}");
        assert!(
            html.contains("<td class=n data-h=\"score\">0.5") && html.contains("<h2>1 &lt; 2</h2>"),
            "{html}"
        );
        assert!(
            !html.contains("<script>") && !html.contains("href=\"javascript") && !html.contains("src="),
            "{html}"
        );
    }

    #[test]
    fn on_a_phone_rows_are_lists_and_words_are_broken() {
        let (_, narrow) = STYLE.split_once("@media (max-width:40rem)").unwrap();
        let narrow = &narrow[..narrow.find("@media").unwrap()];
        for rule in ["overflow-wrap:anywhere", "tr { display:block }", "content:attr(data-h)"] {
            assert!(narrow.contains(rule), "{rule}");
        }
    }
}
