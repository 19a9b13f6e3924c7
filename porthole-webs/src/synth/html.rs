//! Pages as HTML. Text, links and layout are drawn from separate random streams, so that a near copy can use the first
//! two of another page.

use porthole_types::Timestamp;

use super::draw::{Draw, For, mix};
use super::http_date;
use super::link::{LinkTarget, SyntheticLink};
use super::pen::{NavigationBar, Style, TagWriter};
use super::plan::{Role, WebPlan, count};
use super::sites::SyntheticPage;
use super::text::TextStyle;
use super::time::Version;

/// Approximate bytes of a page besides sentences and links, of one sentence, and of one link.
const FRAME_BYTES: u32 = 900;
const SENTENCE_BYTES: u32 = 77;
const LINK_BYTES: u32 = 105;

impl WebPlan {
    /// The bytes of a page.
    pub(crate) fn html(&self, page: SyntheticPage, version: Version) -> Vec<u8> {
        let page = self.sites.origin(page);
        let mut links = Vec::with_capacity(160);
        self.links(page, version, &mut links);
        let mut sheet = HtmlPageWriter::new(self, page, version);
        sheet.head();
        let bar = links.iter().take_while(|link| link.nav).count();
        sheet.navigation(&links[..bar]);
        sheet.body(&links[bar..]);
        sheet.footer();
        sheet.pen.out
    }
}

struct HtmlPageWriter<'a> {
    plan: &'a WebPlan,
    page: SyntheticPage,
    role: Role,
    /// The page whose text is used: the page itself, unless it is a near copy.
    source: SyntheticPage,
    voice: TextStyle<'a>,
    version: Version,
    text: u64,
    sentences: u64,
    layout: Draw,
    pen: TagWriter,
}

impl<'a> HtmlPageWriter<'a> {
    fn new(plan: &'a WebPlan, page: SyntheticPage, version: Version) -> Self {
        let role = plan.role(page);
        let source = if let Role::NearCopy(source) = role { source } else { page };
        HtmlPageWriter {
            role,
            source,
            voice: TextStyle::of(plan, source, role),
            version,
            text: mix(plan.draw(For::Text, source).bits()),
            sentences: 0,
            layout: plan.draw(For::Layout, source),
            pen: TagWriter::new(Style::of(plan, page.site), plan.params.page_bytes as usize * 2),
            plan,
            page,
        }
    }

    fn head(&mut self) {
        if self.pen.style.doctype {
            self.pen.raw("<!DOCTYPE html>\n");
        }
        for name in ["html", "head"] {
            self.pen.open(name);
        }
        if self.pen.style.latin1 {
            self.pen.raw("<meta http-equiv=Content-Type content=\"text/html; charset=iso-8859-1\">");
        } else {
            self.pen.raw("<meta charset=\"utf-8\">");
        }
        self.pen.raw("\n");
        self.pen.open("title");
        self.plan.push_title(&mut self.pen.out, self.source);
        self.pen.close("title");
        if self.layout.below(2) == 0 {
            self.pen.raw("\n<meta name=\"description\" content=\"");
            self.sentence();
            self.pen.raw("\">");
        }
        if self.pen.style.clutter {
            self.pen.raw("\n<style>body { margin: 0 } li > a { color: #036 }</style>");
            self.pen.raw("\n<script>if (1 < 2 && document.links) { var s = \"<a href='/no'>\"; }</script>");
        }
        self.pen.close("head");
        self.pen.raw("\n");
        self.pen.open("body");
        self.pen.raw("\n");
    }

    fn navigation(&mut self, links: &[SyntheticLink]) {
        let (outer, inner) = match self.pen.style.bar {
            NavigationBar::List => ("ul", "li"),
            NavigationBar::Table => ("table", "td"),
            NavigationBar::Plain => ("div", ""),
        };
        self.pen.open_with(outer, "class", |out| out.extend_from_slice(b"nav"));
        for link in links {
            if inner.is_empty() {
                self.link(link);
                self.pen.raw(" | ");
            } else {
                self.pen.open(inner);
                self.link(link);
                self.pen.end(inner);
            }
        }
        self.pen.close(outer);
        self.pen.raw("\n");
    }

    fn body(&mut self, links: &[SyntheticLink]) {
        self.pen.open("h1");
        self.plan.push_title(&mut self.pen.out, self.source);
        self.pen.close("h1");
        self.pen.raw("\n");
        match self.role {
            Role::Home | Role::Hub => self.listing(links),
            _ => self.article(links),
        }
    }

    /// Paragraphs, lists and tables, with the links spread over them.
    fn article(&mut self, mut links: &[SyntheticLink]) {
        let size = self.plan.params.page_bytes * (50 + self.layout.below(101)) / 100;
        let taken = FRAME_BYTES + LINK_BYTES * self.plan.params.links;
        let mut left = (size.saturating_sub(taken) / SENTENCE_BYTES).max(8);
        while left > 0 {
            let n = (2 + self.layout.below(5)).min(left);
            let share = (count(links) * n).div_ceil(left).min(count(links)) as usize;
            let (now, later) = links.split_at(share);
            // Surplus links go into a list.
            let (now, beside) = now.split_at(now.len().min(n as usize));
            links = later;
            left -= n;
            match self.layout.below(16) {
                0 => self.table(now, n),
                1 | 2 => self.list(now, n),
                3 => self.quote(now, n),
                4..7 => {
                    self.heading();
                    self.paragraph(now, n);
                }
                _ => self.paragraph(now, n),
            }
            if !beside.is_empty() {
                self.items(beside);
            }
        }
    }

    fn paragraph(&mut self, links: &[SyntheticLink], n: u32) {
        self.pen.open("p");
        let mut links = links.iter();
        for i in 0..n {
            if i % 2 == 0 {
                links.by_ref().take(1).for_each(|link| self.linked_sentence(link));
            }
            self.sentence();
        }
        links.for_each(|link| self.linked_sentence(link));
        self.pen.end("p");
    }

    fn list(&mut self, links: &[SyntheticLink], n: u32) {
        self.paragraph(&[], n);
        self.items(links);
    }

    fn table(&mut self, links: &[SyntheticLink], n: u32) {
        self.paragraph(&[], n);
        self.pen.open_with("table", "border", |out| out.push(b'1'));
        for link in links {
            self.pen.open("tr");
            self.pen.open("td");
            self.link(link);
            self.pen.end("td");
            self.pen.open("td");
            self.remark(link, 3);
            self.pen.end("td");
            self.pen.end("tr");
        }
        self.pen.close("table");
        self.pen.raw("\n");
    }

    fn quote(&mut self, links: &[SyntheticLink], n: u32) {
        self.pen.open("blockquote");
        self.paragraph(links, n);
        self.pen.close("blockquote");
        self.pen.open_with("img", "src", |out| out.extend_from_slice(b"/images/picture.gif"));
        self.pen.open("hr");
        self.pen.raw("\n");
    }

    /// A hub or a home page: an introduction, then lists under headings.
    fn listing(&mut self, links: &[SyntheticLink]) {
        let n = 3 + self.layout.below(4);
        self.paragraph(&[], n);
        for group in links.chunks(15) {
            self.heading();
            self.items(group);
        }
    }

    fn heading(&mut self) {
        self.pen.open("h2");
        let key = self.next_key();
        self.voice.phrase(&mut self.pen.out, key, 3, self.plan.leaf(self.source));
        self.pen.close("h2");
        self.pen.raw("\n");
    }

    fn items(&mut self, links: &[SyntheticLink]) {
        self.pen.open("ul");
        self.pen.raw("\n");
        for link in links {
            self.item(link);
        }
        self.pen.close("ul");
        self.pen.raw("\n");
    }

    fn item(&mut self, link: &SyntheticLink) {
        self.pen.open("li");
        self.link(link);
        if link.key >> 20 & 1 == 0 {
            self.pen.raw(" - ");
            self.remark(link, 5);
        }
        self.pen.end("li");
    }

    fn sentence(&mut self) {
        let key = self.next_key();
        self.voice.sentence(&mut self.pen.out, key);
    }

    /// A sentence with a link in its middle.
    fn linked_sentence(&mut self, link: &SyntheticLink) {
        self.pen.raw(["See ", "Also, ", "The ", "At "][(link.key >> 24 & 3) as usize]);
        self.remark(link, 2);
        self.pen.raw(" ");
        self.link(link);
        self.pen.raw(" ");
        self.remark(link, 3);
        self.pen.raw(". ");
    }

    /// A few words next to a link, about its target or the page's own topic.
    fn remark(&mut self, link: &SyntheticLink, n: u32) {
        let key = mix(link.key ^ u64::from(n));
        let telling = Draw::of(!link.key).chance(self.plan.rates.context_tells);
        let about = if telling { link.target.page() } else { None };
        let leaf = about.map_or(self.plan.leaf(self.source), |page| self.plan.leaf(page));
        self.voice.phrase(&mut self.pen.out, key, n, leaf);
    }

    fn link(&mut self, link: &SyntheticLink) {
        let (plan, page) = (self.plan, self.page);
        self.pen.open_with("a", "href", |out| plan.push_href(out, page, link));
        match link.target {
            LinkTarget::Page(to) if to.local == 0 && link.nav => self.pen.raw("Home"),
            LinkTarget::Page(to) | LinkTarget::Moved { to, .. } | LinkTarget::Loop(to) => {
                plan.push_anchor(&mut self.pen.out, to, link.key);
            }
            LinkTarget::Gone(page) => {
                plan.push_anchor(&mut self.pen.out, SyntheticPage { local: 0, ..page }, link.key);
            }
            LinkTarget::NoHost(_) => self.pen.raw("an old friend's page"),
            LinkTarget::Calendar { .. } => self.pen.raw("Calendar"),
            LinkTarget::List { .. } => self.pen.raw("All items"),
        }
        self.pen.close("a");
    }

    fn footer(&mut self) {
        self.pen.raw("<div class=footer>Copyright ");
        self.pen.accent('\u{a9}');
        self.pen.raw("&nbsp;");
        let date = http_date(Timestamp(self.version.at));
        self.pen.raw(date.get(12..16).unwrap_or_default());
        self.pen.raw(". Last updated ");
        self.pen.raw(&date);
        self.pen.raw(". <a href=\"mailto:webmaster@");
        self.plan.push_host(&mut self.pen.out, self.page.site);
        self.pen.raw("\">Contact</a></div>\n");
        if self.pen.style.doctype {
            self.pen.close("body");
            self.pen.close("html");
            self.pen.raw("\n");
        }
    }

    /// Key of the next sentence: that of the source, unless the copy or version changes it.
    fn next_key(&mut self) -> u64 {
        self.sentences += 1;
        let key = mix(self.text ^ self.sentences);
        if self.source != self.page {
            let edited = mix(key ^ u64::from(self.plan.sites.index(self.page)));
            return if Draw::of(edited).chance(self.plan.rates.edits) { edited } else { key };
        }
        let renewed = mix(key ^ u64::from(self.version.number) << 32);
        if self.version.number > 0 && renewed.is_multiple_of(10) { renewed } else { key }
    }
}
