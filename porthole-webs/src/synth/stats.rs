//! Statistics of a synthetic web, measured on its links: the radius rules, the planted facts, and counts of everything.

use serde::{Serialize, Serializer};

use super::SyntheticWeb;
use super::draw::For;
use super::plan::count;
use super::robots::RobotsVariant;
use super::tally::WebTally;
use super::truth::Health;

/// Statistics. Links are those of every page at the epoch, or when it appears, if that is later; bytes are measured on
/// a sample.
#[derive(Clone, Debug, Serialize)]
pub struct SynthStats {
    /// Number of pages of all kinds, including those that appear later.
    pub pages: u64,
    /// Hosts.
    pub hosts: u64,
    /// Leaf topics.
    pub topics: u64,
    /// Links of all pages.
    pub links: u64,
    /// Pages by kind.
    #[serde(serialize_with = "as_map")]
    pub kinds: Vec<(&'static str, u64)>,
    /// Hosts by health, and those with traps, closed or broken robots.txt.
    #[serde(serialize_with = "as_map")]
    pub host_kinds: Vec<(&'static str, u64)>,
    /// Bytes of a page, the mean of `bytes_sample` pages.
    pub mean_bytes: u64,
    /// Number of pages in that sample.
    pub bytes_sample: u64,
    /// Share of the links in content that stay on the topic.
    pub same_topic: f64,
    /// Share of the links in content that go to a sibling topic.
    pub sibling_topic: f64,
    /// Share of the links in content that go to any other page.
    pub elsewhere: f64,
    /// Share of the links in content that are dead.
    pub dead_links: f64,
    /// Share of the links in content that are redirects.
    pub redirects: f64,
    /// P(target about T | source about T), all links, all topics together (radius-1 rule).
    pub radius1: f64,
    /// P(target about T | source not about T).
    pub radius1_base: f64,
    /// P(page has another link to T | it has a link to T) (radius-2 rule).
    pub radius2: f64,
    /// P(page has a link to T).
    pub radius2_base: f64,
    /// P(a second link of a page has the topic of a first), both drawn at random.
    pub co_citation: f64,
    /// P(two links of the web have one topic), both drawn at random.
    pub co_citation_base: f64,
    /// Measurements of the planted facts.
    pub planted: Vec<Planted>,
    /// Statistics by leaf topic.
    pub by_topic: Vec<TopicStats>,
}

/// A planted fact.
#[derive(Clone, Debug, Serialize)]
pub struct Planted {
    /// Description with the topics.
    pub fact: String,
    /// Measurements by name.
    #[serde(serialize_with = "as_map")]
    pub measured: Vec<(&'static str, f64)>,
}

/// Statistics of one topic.
#[derive(Clone, Debug, Serialize)]
pub struct TopicStats {
    /// Its path.
    pub path: String,
    /// Pages about it.
    pub pages: u64,
    /// P(target about it | source about it).
    pub radius1: f64,
    /// P(target about it | source not about it).
    pub radius1_base: f64,
}

/// Number of pages whose bytes are measured.
const BYTES_SAMPLE: u32 = 400;

impl SyntheticWeb {
    /// Counts the links of every page. Takes a few seconds a million pages, and little memory.
    pub fn stats(&self) -> SynthStats {
        let plan = &self.plan;
        let mut tally = WebTally::new(plan.atlas.leaves());
        let mut links = Vec::new();
        for page in self.all() {
            plan.links(page, plan.version(page, plan.epoch()), &mut links);
            tally.add(plan, page, &links);
        }
        self.figures(&tally)
    }

    fn figures(&self, tally: &WebTally) -> SynthStats {
        let leaves = self.plan.atlas.leaves();
        let (all, co, cited) = (tally.topical(), &tally.co, &tally.cited);
        let within: u64 = (0..leaves).map(|leaf| tally.between(leaf, leaf)).sum();
        let bytes_sample = BYTES_SAMPLE.min(self.params().pages);
        let squares: f64 =
            (0..leaves).map(|leaf| ratio(tally.to(leaf), all)).map(|share| share * share).sum();
        SynthStats {
            pages: tally.pages,
            hosts: u64::from(count(&self.plan.sites.table)),
            topics: u64::from(leaves),
            links: tally.links,
            kinds: kinds(tally),
            host_kinds: self.host_kinds(),
            mean_bytes: self.mean_bytes(bytes_sample),
            bytes_sample: u64::from(bytes_sample),
            same_topic: ratio(cited.same, cited.all),
            sibling_topic: ratio(cited.sibling, cited.all),
            elsewhere: ratio(cited.elsewhere, cited.all),
            dead_links: ratio(cited.dead, cited.all),
            redirects: ratio(cited.redirects, cited.all),
            radius1: ratio(within, all),
            radius1_base: ratio(all - within, all * u64::from(leaves - 1)),
            radius2: ratio(co.twice, co.once),
            radius2_base: ratio(co.once, tally.pages * u64::from(leaves)),
            co_citation: ratio(co.alike, co.pairs),
            co_citation_base: squares,
            planted: self.planted(tally),
            by_topic: (0..leaves).map(|leaf| self.topic_stats(tally, leaf)).collect(),
        }
    }

    fn topic_stats(&self, tally: &WebTally, leaf: u8) -> TopicStats {
        let (own, to) = (tally.between(leaf, leaf), tally.to(leaf));
        TopicStats {
            path: self.plan.atlas.path(Some(leaf)).to_owned(),
            pages: tally.topic_pages[usize::from(leaf)],
            radius1: ratio(own, tally.from(leaf)),
            radius1_base: ratio(to - own, tally.topical() - tally.from(leaf)),
        }
    }

    fn planted(&self, tally: &WebTally) -> Vec<Planted> {
        let atlas = &self.plan.atlas;
        let path = |leaf| atlas.path(Some(leaf));
        let share = |from, to| ratio(tally.between(from, to), tally.from(from));
        let (citing, cited) = atlas.citing;
        let (one, other) = atlas.commingled;
        let at_large = ratio(tally.to(cited), tally.topical());
        let remote: Vec<&str> = atlas.remote.iter().map(|&leaf| path(leaf)).collect();
        vec![
            Planted {
                fact: format!("{} cites {}", path(citing), path(cited)),
                measured: vec![
                    ("share of its links", share(citing, cited)),
                    ("share of all links", at_large),
                    ("lift", share(citing, cited) / at_large),
                ],
            },
            Planted {
                fact: format!("{} and {} are commingled", path(one), path(other)),
                measured: vec![
                    ("links within the first", share(one, one)),
                    ("first to second", share(one, other)),
                    ("links within the second", share(other, other)),
                    ("second to first", share(other, one)),
                ],
            },
            Planted {
                fact: format!("remote communities of {}", remote.join(", ")),
                measured: vec![
                    ("communities", f64::from(count(&self.plan.sites.islands))),
                    ("pages on the way to one", f64::from(self.params().chain_length)),
                    ("share of all pages", ratio(tally.kinds.remote, tally.pages)),
                    ("other links into them", whole(tally.island_leaks)),
                ],
            },
            Planted {
                fact: "link farms".to_owned(),
                measured: vec![
                    ("share of all pages", ratio(tally.kinds.spam, tally.pages)),
                    ("links into them from outside", whole(tally.into_spam)),
                ],
            },
        ]
    }

    fn host_kinds(&self) -> Vec<(&'static str, u64)> {
        let sites = || 0..count(&self.plan.sites.table);
        let health = |health| sites().filter(|&site| self.plan.health(site) == health).count() as u64;
        let rules = |rules| sites().filter(|&site| self.plan.rules(site) == rules).count() as u64;
        vec![
            ("sound", health(Health::Sound)),
            ("slow", health(Health::Slow)),
            ("flaky", health(Health::Flaky)),
            ("stalling", health(Health::Stalling)),
            ("refusing", health(Health::Refusing)),
            ("with traps", sites().filter(|&site| self.plan.has_traps(site)).count() as u64),
            ("without robots.txt", rules(RobotsVariant::Missing)),
            ("closed by robots.txt", rules(RobotsVariant::Closed)),
            ("with broken robots.txt", rules(RobotsVariant::Broken)),
        ]
    }

    fn mean_bytes(&self, sample: u32) -> u64 {
        let mut draw = self.plan.draw_site(For::Sample, 0);
        let total: usize = (0..sample)
            .map(|_| self.plan.sites.page(draw.below(self.params().pages)))
            .map(|page| self.plan.html(page, self.plan.version(page, self.plan.epoch())).len())
            .sum();
        total as u64 / u64::from(sample)
    }
}

impl SynthStats {
    /// Statistics as table rows: name and value.
    pub fn rows(&self) -> Vec<(String, String)> {
        let against = |one: f64, other: f64| format!("{one:.3} against {other:.3}");
        let mut rows = vec![
            ("pages".to_owned(), self.pages.to_string()),
            ("hosts".to_owned(), self.hosts.to_string()),
            ("leaf topics".to_owned(), self.topics.to_string()),
            ("links".to_owned(), format!("{} ({:.1} a page)", self.links, ratio(self.links, self.pages))),
            (format!("bytes a page (sample of {})", self.bytes_sample), self.mean_bytes.to_string()),
            ("links in content: same topic".to_owned(), percent(self.same_topic)),
            ("links in content: sibling topic".to_owned(), percent(self.sibling_topic)),
            ("links in content: elsewhere".to_owned(), percent(self.elsewhere)),
            ("links in content: dead".to_owned(), percent(self.dead_links)),
            ("links in content: redirects (also counted above)".to_owned(), percent(self.redirects)),
            (
                "radius-1: P(target on T | source on T) against not".to_owned(),
                against(self.radius1, self.radius1_base),
            ),
            (
                "radius-2: P(another link to T | one) against P(one)".to_owned(),
                against(self.radius2, self.radius2_base),
            ),
            (
                "co-citation: two links of a page on one topic against of the web".to_owned(),
                against(self.co_citation, self.co_citation_base),
            ),
        ];
        rows.extend(self.kinds.iter().map(|(kind, n)| (format!("pages: {kind}"), n.to_string())));
        rows.extend(self.host_kinds.iter().map(|(kind, n)| (format!("hosts: {kind}"), n.to_string())));
        for planted in &self.planted {
            let line = |(name, value): &(&str, f64)| (format!("{}: {name}", planted.fact), short(*value));
            rows.extend(planted.measured.iter().map(line));
        }
        rows
    }
}

fn kinds(tally: &WebTally) -> Vec<(&'static str, u64)> {
    let kinds = &tally.kinds;
    vec![
        ("content", kinds.content),
        ("home", kinds.homes),
        ("hub", kinds.hubs),
        ("mirror", kinds.mirrors),
        ("near copy", kinds.near_copies),
        ("spam", kinds.spam),
        ("chain", kinds.chain),
        ("in remote communities (also counted above)", kinds.remote),
        ("appearing later (also counted above)", kinds.growing),
    ]
}

/// Serializes named values as a JSON object, in their order.
fn as_map<T: Serialize, S: Serializer>(list: &[(&'static str, T)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(list.iter().map(|(name, value)| (name, value)))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn short(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.4}") }
}

#[allow(clippy::cast_precision_loss)]
fn whole(n: u64) -> f64 {
    n as f64
}

fn ratio(part: u64, all: u64) -> f64 {
    whole(part) / whole(all.max(1))
}
