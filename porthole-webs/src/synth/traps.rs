//! Pages without end: a calendar that goes on for ever in both directions, and a list whose filters can be
//! combined for ever.

use super::draw::{Draw, For};
use super::pen::{Pen, Style};
use super::plan::Plan;
use super::sites::Page;
use super::text::Voice;
use super::urls::push_number;

const FILTERS: [(&str, &[&str]); 4] = [
    ("sort", &["name", "date", "price"]),
    ("colour", &["red", "green", "blue"]),
    ("size", &["s", "m", "l"]),
    ("view", &["grid", "rows"]),
];

impl Plan {
    /// A month of a site's calendar.
    pub(crate) fn calendar(&self, site: u32, month: u32) -> Vec<u8> {
        let mut pen = self.trap_page(site, "Calendar", u64::from(month));
        for (label, to) in [
            ("Previous month", month.checked_sub(1)),
            ("Next month", month.checked_add(1)),
            ("Next year", month.checked_add(12)),
        ] {
            if let Some(to) = to {
                pen.open_with("a", "href", |out| push_month(out, to));
                pen.raw(label);
                pen.close("a");
                pen.raw("\n");
            }
        }
        end(pen)
    }

    /// A site's list under the filters of a query: every page has links with one filter more.
    pub(crate) fn list(&self, site: u32, query: &str) -> Vec<u8> {
        let mut pen = self.trap_page(site, "Items", query.len() as u64);
        for (name, values) in FILTERS {
            for value in values {
                pen.open_with("a", "href", |out| {
                    out.extend_from_slice(b"/list?");
                    if !query.is_empty() {
                        out.extend_from_slice(query.replace('&', "&amp;").as_bytes());
                        out.extend_from_slice(b"&amp;");
                    }
                    out.extend_from_slice(format!("{name}={value}").as_bytes());
                });
                pen.raw(value);
                pen.close("a");
                pen.raw(" ");
            }
        }
        end(pen)
    }

    fn trap_page(&self, site: u32, title: &str, number: u64) -> Pen {
        let home = self.sites.origin(Page { site, local: 0 });
        let mut pen = Pen::new(Style::of(self, home.site), 2_000);
        pen.raw(&format!("<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>\n"));
        pen.raw("<a href=/>Home</a>\n");
        pen.open("h1");
        pen.raw(title);
        pen.close("h1");
        let voice = Voice::of(self, home, self.role(home));
        let mut draw = Draw::new(self.params.seed, For::Traps, number << 32 | u64::from(site));
        pen.open("p");
        for _ in 0..4 {
            voice.sentence(&mut pen.out, draw.bits());
        }
        pen.end("p");
        pen
    }
}

fn end(mut pen: Pen) -> Vec<u8> {
    pen.raw("</body></html>\n");
    pen.out
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
