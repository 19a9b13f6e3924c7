//! The crawl as one of several workers: the strategy also sees the pages that others fetch, and URLs wait while others have
//! better ones.

use std::time::Duration;

use porthole_page::Page;
use porthole_strategy::{PriorityMerge, SourcePage, state};
use porthole_types::{CanonicalUrl, Judgment, PageResult, SiteId, TopicId, UrlId, Work};
use serde::{Deserialize, Serialize};

use super::Writer;
use crate::engine::crawl::CrawlError;
use crate::engine::messages::ToNetwork;
use crate::engine::worth::{SavedWorth, Worth};
use crate::result::Scorer;

/// Versions of the forms of what workers show each other: results, and what a strategy has learnt.
const FORM: u32 = 1;
const MEMORY_FORM: u32 = 1_002;

/// Compression that takes little time.
const LEVEL: i32 = 1;

/// What is shown is at most this long.
const MOST_BYTES: usize = 32 << 20;

/// What a strategy has learnt is shown if it is at most this long.
const MOST_MEMORY: usize = 512 << 20;

/// How long a worker that begins asks the others for what they have learnt.
const LONGEST_QUESTION: Duration = Duration::from_secs(3);

/// A URL waits for better ones of others at most this long after the last one was taken.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The maximum of pages that are reserved at once is this, or two for each fetch at a time if that is more.
const LEAST_RESERVED: u64 = 64;

/// The pages that all workers together may fetch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedBudget {
    pub(crate) whole: u64,
    /// Whether none is left to reserve.
    pub(crate) is_spent: bool,
}

/// What a worker shows the others of a result.
#[derive(Serialize, Deserialize)]
struct ShownResult<'a> {
    url: &'a str,
    depth: u32,
    /// The page's value for its links, and its best topic; `None` if the URL led to no page.
    judgment: Option<(f64, u16)>,
    /// The priority that the URL had and the relevance it led to, unless it was a start URL or a revisit.
    worth: Option<(f64, f64)>,
    /// The packed page.
    page: &'a [u8],
}

impl ShownResult<'_> {
    fn pack(&self) -> Option<Vec<u8>> {
        pack(&state::save(FORM, self), MOST_BYTES)
    }
}

/// What a strategy has learnt, for a worker that has just begun.
#[derive(Serialize, Deserialize)]
struct ShownMemory<'a> {
    /// The strategy's name.
    strategy: &'a str,
    /// About how many results it has seen.
    seen: u64,
    worth: SavedWorth,
    memory: &'a [u8],
}

impl ShownMemory<'_> {
    fn pack(&self) -> Option<Vec<u8>> {
        pack(&state::save(MEMORY_FORM, self), MOST_MEMORY)
    }
}

/// Bytes with their length, compressed; `None` if they are too long.
fn pack(bytes: &[u8], most: usize) -> Option<Vec<u8>> {
    let length = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= most)?;
    Some([&length.to_le_bytes(), &*zstd::bulk::compress(bytes, LEVEL).ok()?].concat())
}

/// What was packed; `None` if it is damaged.
fn unpack(shown: &[u8]) -> Option<Vec<u8>> {
    let (length, compressed) = shown.split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    zstd::bulk::decompress(compressed, length.min(MOST_MEMORY)).ok()
}

/// What the strategy is shown, and what it is told with that.
struct Learner<'a> {
    scorer: &'a mut Scorer,
    worth: &'a mut Worth,
    /// About how many results the strategy has seen.
    seen: &'a mut u64,
    /// Whether the strategy's priorities replace those that the URLs have.
    replaces: bool,
}

impl Learner<'_> {
    /// Shows a result of another worker to the strategy. Returns the new priorities of URLs. What cannot be read is left
    /// out: it only matters to the order.
    fn learn(&mut self, shown: &[u8]) -> Vec<(UrlId, f64)> {
        let Some(bytes) = unpack(shown) else { return Vec::new() };
        if let Ok(shown) = state::restore::<ShownMemory<'_>>(MEMORY_FORM, &bytes) {
            self.take_over(shown);
            return Vec::new();
        }
        let Ok(shown) = state::restore::<ShownResult<'_>>(FORM, &bytes) else { return Vec::new() };
        *self.seen += 1;
        let Ok(url) = CanonicalUrl::parse(shown.url) else { return Vec::new() };
        if let Some((priority, relevance)) = shown.worth {
            self.worth.add(priority, relevance);
        }
        let strategy = &mut self.scorer.strategy;
        let Some((relevance, best)) = shown.judgment else {
            strategy.settled(&url);
            return Vec::new();
        };
        let Some(page) = Page::unpack(shown.page) else { return Vec::new() };
        let judgment = Judgment { relevance, best: TopicId(best) };
        let on_topic = self.scorer.is_on_topic(judgment);
        let source = SourcePage { url: &url, page: &page, judgment, on_topic, depth: shown.depth };
        let strategy = &mut self.scorer.strategy;
        strategy.arrived(&source);
        if page.robots.nofollow {
            return Vec::new();
        }
        let mut priorities = Vec::new();
        for link in &page.links {
            let priority = strategy.priority(&source, link);
            priorities
                .extend(priority.filter(|_| self.replaces).map(|priority| (link.target.id(), priority)));
        }
        priorities
    }
}

impl Learner<'_> {
    /// Takes over what the strategy of another worker has learnt, if it is the same strategy and has seen more.
    fn take_over(&mut self, shown: ShownMemory<'_>) {
        let strategy = &mut self.scorer.strategy;
        if shown.strategy == strategy.name()
            && shown.seen > *self.seen
            && strategy.restore(shown.memory).is_ok()
        {
            *self.seen = shown.seen;
            *self.worth = Worth::restore(shown.worth);
        }
    }
}

impl Writer<'_> {
    /// Takes part in the work of several workers: offers of sites that another one is to have are recalled, and the strategy
    /// learns from the pages of the others.
    pub(crate) fn share_sites(&mut self) -> Result<(), CrawlError> {
        if self.store.worker().is_none() {
            return Ok(());
        }
        let mut busy: Vec<SiteId> = self.run.held.iter().chain(self.run.taken_of.keys()).copied().collect();
        busy.sort_unstable_by_key(|site| site.0);
        busy.dedup();
        self.announce();
        let replaces = self.run.discipline.merge == PriorityMerge::Latest;
        let Writer { store, scorer, run, starts, memory, .. } = self;
        let (worth, seen) = (&mut run.worth, &mut memory.seen);
        let mut learner = scorer.as_mut().map(|scorer| Learner { scorer, worth, seen, replaces });
        let mut learn = |shown: &[u8]| {
            let mut priorities = learner.as_mut().map_or_else(Vec::new, |learner| learner.learn(shown));
            priorities.retain(|(oid, _)| !starts.contains(oid));
            priorities
        };
        let leaving = store.share(&busy, &mut learn)?;
        for site in leaving {
            for oid in self.run.offers.of(site) {
                self.send(ToNetwork::Recall(site, oid));
            }
        }
        self.answer_others()
    }

    /// Asks the other workers, if there are some, for what they have learnt: pages that were fetched before cannot be shown
    /// any more.
    pub(super) fn ask_others(&mut self) -> Result<(), CrawlError> {
        if self.scorer.is_some() && self.store.has_others() {
            self.run.asks_since = Some(self.clock.monotonic());
            self.store.ask_for_memory(true)?;
        }
        Ok(())
    }

    /// Sends what the strategy has learnt to workers that have asked for it. Asks no longer itself after a while.
    fn answer_others(&mut self) -> Result<(), CrawlError> {
        let now = self.clock.monotonic();
        if self.run.asks_since.is_some_and(|since| now.saturating_sub(since) >= LONGEST_QUESTION) {
            self.run.asks_since = None;
            self.store.ask_for_memory(false)?;
        }
        let asking = self.store.memory_asked_by();
        if asking.is_empty() {
            return Ok(());
        }
        let memory = self.packed_memory();
        for worker in asking {
            self.store.send_memory(worker, memory.as_deref())?;
        }
        Ok(())
    }

    /// What the strategy has learnt; `None` if it has seen nothing.
    fn packed_memory(&self) -> Option<Vec<u8>> {
        let (scorer, seen) = (self.scorer.as_ref()?, self.memory.seen);
        let memory = scorer.strategy.save().filter(|_| seen > 0)?;
        let (strategy, worth) = (scorer.strategy.name(), self.run.worth.save());
        ShownMemory { strategy, seen, worth, memory: &memory }.pack()
    }

    /// Makes the limit of pages that of all workers, if there can be several.
    pub(super) fn share_budget(&mut self) -> Result<(), CrawlError> {
        let whole = self.run.limits.pages;
        if self.store.worker().is_some() && whole < u64::MAX {
            self.run.shared_budget = Some(SharedBudget { whole, is_spent: false });
            self.run.limits.pages = 0;
        }
        self.reserve_pages()
    }

    /// Sets another number of pages that may be fetched.
    pub(crate) fn set_budget(&mut self, pages: u64) -> Result<(), CrawlError> {
        if self.store.worker().is_some() {
            // What is reserved stays so: what was fetched without a limit counts as well.
            let reserved = self.run.shared_budget.map_or(self.run.pages, |_| self.run.limits.pages);
            self.run.limits.pages = reserved;
            self.run.shared_budget = Some(SharedBudget { whole: pages, is_spent: false });
            self.reserve_pages()?;
        } else {
            self.run.limits.pages = pages;
        }
        self.send_limits();
        Ok(())
    }

    /// Reserves more of the pages that all workers may fetch, before those that are reserved are used up.
    pub(super) fn reserve_pages(&mut self) -> Result<(), CrawlError> {
        let run = &self.run;
        let Some(budget) = run.shared_budget.filter(|budget| !budget.is_spent) else { return Ok(()) };
        let workers = run.limits.workers as u64;
        // Pages, and fetches that may become some.
        let used = run.started_fetches.saturating_sub(run.no_pages).max(run.pages);
        if run.limits.pages.saturating_sub(used) >= (workers / 4).max(1) {
            return Ok(());
        }
        let most = (2 * workers).max(LEAST_RESERVED);
        let reserved = self.store.reserve_pages(budget.whole, most)?;
        self.run.limits.pages += reserved;
        self.run.shared_budget = Some(SharedBudget { is_spent: reserved == 0, ..budget });
        self.send_limits();
        Ok(())
    }

    /// Follows what others have told, if the next URL depends on it. With few requests at a time it does; with many, what
    /// [`share_sites`](Writer::share_sites) does ten times a second is enough.
    pub(super) fn follow_others(&mut self) -> Result<(), CrawlError> {
        if !self.run.is_polite && self.run.wanted > 0 && self.store.has_news() {
            self.share_sites()
        } else {
            Ok(())
        }
    }

    /// Whether the next URL depends on what other workers tell: URLs wait, or there are none. The others may wait until this
    /// worker has read their letters.
    pub(crate) fn awaits_others(&self) -> bool {
        let run = &self.run;
        run.held_back_since.is_some() || !run.is_polite && run.wanted > 0 && self.store.has_others()
    }

    /// Says how many URLs this worker takes at a time.
    fn announce(&mut self) {
        let workers = self.run.limits.workers;
        let takes = !self.run.is_paused && !self.is_closing();
        // As many as are requested ahead.
        let slots = if workers == 1 { 1 } else { 2 * workers };
        self.store.announce(if takes { slots } else { 0 });
    }

    /// How many of `wanted` URLs may be taken now, because other workers do not have enough better ones. One may be taken
    /// after a while in any case.
    pub(super) fn in_turn(&mut self, wanted: usize) -> usize {
        let now = self.clock.monotonic();
        let mut allowed = self.store.in_turn(wanted);
        let since = *self.run.held_back_since.get_or_insert(now);
        if allowed == 0 && now.saturating_sub(since) >= LONGEST_WAIT {
            allowed = 1;
        }
        if allowed > 0 {
            self.run.held_back_since = None;
        }
        allowed
    }

    /// What the others are shown of a page that is about to be scored.
    pub(super) fn show_page(
        &self,
        work: &Work,
        page: &Page,
        judgment: Judgment,
        worth: Option<(f64, f64)>,
    ) -> Option<Vec<u8>> {
        let page = self.store.shows_pages().then(|| page.pack())?;
        let judgment = Some((judgment.relevance, judgment.best.0));
        ShownResult { url: work.url.as_str(), depth: work.depth, judgment, worth, page: &page }.pack()
    }

    /// What the others are shown of a result that the strategy is not to wait for any more.
    pub(super) fn show_settled(&self, work: &Work, result: &PageResult) -> Option<Vec<u8>> {
        let counts = work.depth > 0 && work.copy.is_none() && result.status != 0;
        let worth = counts.then_some((work.priority, 0.0));
        let shown =
            ShownResult { url: work.url.as_str(), depth: work.depth, judgment: None, worth, page: &[] };
        if self.store.shows_pages() { shown.pack() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use porthole_page::Extractor;
    use porthole_strategy::{Part, StateError, Strategy};
    use porthole_types::Headers;

    use super::*;

    /// Records what it is shown.
    #[derive(Default)]
    struct Recorder(Vec<String>);

    impl Strategy for Recorder {
        fn name(&self) -> &str {
            "recorder"
        }

        fn arrived(&mut self, source: &SourcePage<'_>) {
            let terms = source.page.terms().len();
            self.0.push(format!("{} {} {} {terms}", source.url, source.judgment.relevance, source.depth));
        }

        fn settled(&mut self, url: &CanonicalUrl) {
            self.0.push(format!("{url} settled"));
        }

        fn priority(&mut self, _: &SourcePage<'_>, link: &porthole_page::Link) -> Option<f64> {
            (link.first_leaf > 0).then_some(0.25)
        }

        fn explain(&mut self, _: &SourcePage<'_>, _: &porthole_page::Link) -> Vec<Part> {
            Vec::new()
        }

        fn save(&self) -> Option<Vec<u8>> {
            Some(self.0.join("\n").into_bytes())
        }

        fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
            self.0 = String::from_utf8_lossy(saved).lines().map(str::to_owned).collect();
            Ok(())
        }
    }

    #[test]
    fn a_strategy_sees_the_results_of_others() {
        let html = b"<title>owls</title><p>snowy owls<p><a href=/b>barn owls</a>";
        let url = CanonicalUrl::parse("http://a.test/a").unwrap();
        let page = Extractor::default().extract(&url, &Headers::new(), html);
        let judgment = Some((0.75, 0));
        let shown = ShownResult {
            url: url.as_str(),
            depth: 2,
            judgment,
            worth: Some((0.5, 0.75)),
            page: &page.pack(),
        };
        let gone =
            ShownResult { url: "http://a.test/gone", depth: 1, judgment: None, worth: None, page: &[] };
        let (shown, gone) = (shown.pack().unwrap(), gone.pack().unwrap());
        let mut scorer = Scorer { strategy: Box::new(Recorder::default()), marks: Vec::new() };
        let (mut worth, mut seen) = (Worth::default(), 0);
        for replaces in [true, false] {
            let mut learner = Learner { scorer: &mut scorer, worth: &mut worth, seen: &mut seen, replaces };
            let target = page.links[0].target.id();
            assert_eq!(learner.learn(&shown), if replaces { vec![(target, 0.25)] } else { vec![] });
            assert_eq!(learner.learn(&gone), []);
            // Of another version, or damaged.
            assert_eq!(learner.learn(&shown[..shown.len() - 1]), []);
            assert_eq!(learner.learn(b"x"), []);
        }
        let recorded = String::from_utf8(scorer.strategy.save().unwrap()).unwrap();
        let terms = page.terms().len();
        let once = format!("http://a.test/a 0.75 2 {terms}\nhttp://a.test/gone settled");
        assert_eq!(recorded, format!("{once}\n{once}"));
        assert!(worth.of(0.6) > 0.5, "the link of another worker led to a page of 0.75");
        assert_eq!(seen, 4);
    }

    #[test]
    fn a_strategy_takes_over_what_another_one_has_learnt() {
        let mut worth = Worth::default();
        worth.add(0.9, 0.125);
        let shown = |strategy, seen, memory| {
            ShownMemory { strategy, seen, worth: worth.save(), memory }.pack().unwrap()
        };
        let mut scorer = Scorer { strategy: Box::new(Recorder::default()), marks: Vec::new() };
        let (mut own, mut seen) = (Worth::default(), 3);
        let mut learn = |shown: &[u8]| {
            let mut learner =
                Learner { scorer: &mut scorer, worth: &mut own, seen: &mut seen, replaces: true };
            assert_eq!(learner.learn(shown), []);
            (String::from_utf8(scorer.strategy.save().unwrap()).unwrap(), seen, own.of(0.9))
        };
        // Of another strategy, or of one that has not seen more.
        for refused in [shown("another", 9, b"b"), shown("recorder", 3, b"b")] {
            assert_eq!(learn(&refused), (String::new(), 3, Worth::default().of(0.9)));
        }
        assert_eq!(learn(&shown("recorder", 9, b"a\nb")), ("a\nb".to_owned(), 9, worth.of(0.9)));
    }
}
