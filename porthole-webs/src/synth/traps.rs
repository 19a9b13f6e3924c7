//! Traps: an endless calendar in both directions, and a list whose filters can be combined endlessly.

use super::draw::{Draw, For};
use super::pen::{Style, TagWriter};
use super::plan::WebPlan;
use super::sites::SyntheticPage;
use super::text::TextStyle;
use super::urls::push_number;

const FILTERS: [(&str, &[&str]); 4] = [
    ("sort", &["name", "date", "price"]),
    ("colour", &["red", "green", "blue"]),
    ("size", &["s", "m", "l"]),
    ("view", &["grid", "rows"]),
];

impl WebPlan {
    /// A month of a site's calendar.
    pub(crate) fn calendar(&self, site: u32, month: u32) -> Vec<u8> {
        let mut html = self.trap_page(site, "Calendar", u64::from(month));
        for (label, to) in [
            ("Previous month", month.checked_sub(1)),
            ("Next month", month.checked_add(1)),
            ("Next year", month.checked_add(12)),
        ] {
            if let Some(to) = to {
                html.open_with("a", "href", |out| push_month(out, to));
                html.raw(label);
                html.close("a");
                html.raw("\n");
            }
        }
        end(html)
    }

    /// A site's list with the filters of a query: every page has links with one more filter.
    pub(crate) fn list(&self, site: u32, query: &str) -> Vec<u8> {
        let mut html = self.trap_page(site, "Items", query.len() as u64);
        for (name, values) in FILTERS {
            for value in values {
                html.open_with("a", "href", |out| {
                    out.extend_from_slice(b"/list?");
                    if !query.is_empty() {
                        out.extend_from_slice(query.replace('&', "&amp;").as_bytes());
                        out.extend_from_slice(b"&amp;");
                    }
                    out.extend_from_slice(format!("{name}={value}").as_bytes());
                });
                html.raw(value);
                html.close("a");
                html.raw(" ");
            }
        }
        end(html)
    }

    fn trap_page(&self, site: u32, title: &str, number: u64) -> TagWriter {
        let home = self.sites.origin(SyntheticPage { site, local: 0 });
        let mut html = TagWriter::new(Style::of(self, home.site), 2_000);
        html.raw(&format!("<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>\n"));
        html.raw("<a href=/>Home</a>\n");
        html.open("h1");
        html.raw(title);
        html.close("h1");
        let voice = TextStyle::of(self, home, self.role(home));
        let mut draw = Draw::new(self.params.seed, For::Traps, number << 32 | u64::from(site));
        html.open("p");
        for _ in 0..4 {
            voice.sentence(&mut html.out, draw.bits());
        }
        html.end("p");
        html
    }
}

fn end(mut html: TagWriter) -> Vec<u8> {
    html.raw("</body></html>\n");
    html.out
}

fn push_month(out: &mut Vec<u8>, month: u32) {
    out.extend_from_slice(b"/calendar/");
    push_number(out, month / 12);
    out.push(b'/');
    if month % 12 < 9 {
        out.push(b'0');
    }
    push_number(out, month % 12 + 1);
}
