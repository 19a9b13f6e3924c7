//! Planted drops, noise, and the ends of alarms.

use porthole_types::{Failure, SiteId, TopicId, UrlId};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;

/// A crawl that fetches a page every `page_ms` milliseconds.
struct Script {
    alarms: Alarms,
    random: Xoshiro256PlusPlus,
    at: Timestamp,
    page_ms: i64,
    pages: usize,
    /// Notices with the number of pages before them.
    notices: Vec<(usize, AlarmNotice)>,
}

impl Script {
    fn new(seed: u64, page_ms: i64) -> Self {
        Script {
            alarms: Alarms::new(AlarmSettings::default()),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            at: Timestamp(1_000_000),
            page_ms,
            pages: 0,
            notices: Vec::new(),
        }
    }

    fn fetch(&mut self, outcome: Outcome, status: u16, relevance: Option<f64>) {
        self.at = self.at.after(Duration::from_millis(self.page_ms.unsigned_abs()));
        let judgment = relevance.map(|relevance| Judgment { relevance, best: TopicId(7) });
        let result = PageResult { outcome, status, judgment, ..result(self.at) };
        self.alarms.fetched(&result, 0);
        self.alarms.passed(self.at, CrawlState::default());
        self.pages += 1;
        let pages = self.pages;
        self.notices.extend(self.alarms.take_notices().into_iter().map(|notice| (pages, notice)));
    }

    /// Pages that are relevant (R 1 or 0) with the probability that belongs to their number.
    fn pages(&mut self, pages: usize, mean: impl Fn(f64) -> f64) -> &mut Self {
        for page in 0..pages {
            let uniform = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let relevance = f64::from(u8::from(uniform < mean(page as f64 / pages as f64)));
            self.fetch(Outcome::Fetched, 200, Some(relevance));
        }
        self
    }

    fn failures(&mut self, fetches: usize, kind: FailureKind, status: u16) -> &mut Self {
        for _ in 0..fetches {
            let failure = Failure::new(kind, "planted");
            self.fetch(Outcome::Retry { failure, not_before: self.at }, status, None);
        }
        self
    }

    fn idle(&mut self, minutes: u64) -> &mut Self {
        for _ in 0..60 * minutes {
            self.at = self.at.after(Duration::from_secs(1));
            self.alarms.passed(self.at, CrawlState { resting: 3, ..CrawlState::default() });
        }
        let pages = self.pages;
        self.notices.extend(self.alarms.take_notices().into_iter().map(|notice| (pages, notice)));
        self
    }

    /// Kinds of the notices, with whether they begin.
    fn kinds(&self) -> Vec<(AlarmKind, bool)> {
        self.notices.iter().map(|(_, notice)| (notice.kind, notice.begins)).collect()
    }
}

fn result(at: Timestamp) -> PageResult {
    PageResult {
        seq: 0,
        oid: UrlId(1),
        sid: SiteId(1),
        at,
        status: 0,
        outcome: Outcome::Fetched,
        judgment: None,
        title: String::new(),
        language: String::new(),
        bytes: 0,
        simhash: 0,
        terms: Vec::new(),
        copy_of: None,
        span: None,
        validators: None,
        next_visit: None,
        links: Vec::new(),
    }
}

#[test]
fn noise_raises_no_alarm() {
    for seed in 1..=50 {
        for mean in [0.1, 0.5, 0.9] {
            let mut script = Script::new(seed, 300);
            script.pages(10_000, |_| mean);
            assert_eq!(script.kinds(), [], "seed {seed}, mean {mean}: {:?}", script.notices);
        }
    }
}

#[test]
fn a_slow_decline_raises_no_alarm() {
    for seed in 1..=50 {
        for (from, to) in [(0.9, 0.5), (0.6, 0.3), (0.4, 0.15)] {
            let mut script = Script::new(seed, 300);
            script.pages(10_000, |share| from + (to - from) * share);
            assert_eq!(script.kinds(), [], "seed {seed}, {from} to {to}: {:?}", script.notices);
        }
    }
}

/// Whole sites are good or bad: runs of pages with the same relevance.
#[test]
fn bursts_raise_no_alarm() {
    let mut alarms = 0;
    for seed in 1..=50 {
        let mut script = Script::new(seed, 300);
        for _ in 0..500 {
            let is_good = script.random.next_u64() % 10 < 4;
            script.pages(20, |_| if is_good { 0.9 } else { 0.05 });
        }
        alarms += script.notices.len();
    }
    // Beginnings and ends, in half a million pages.
    assert!(alarms <= 4, "{alarms}");
}

#[test]
fn a_planted_drop_of_relevance_is_noticed_and_its_recovery_too() {
    for seed in 1..=50 {
        for (from, to, within) in [(0.9, 0.1, 200), (0.5, 0.05, 220), (0.5, 0.1, 300), (0.3, 0.02, 350)] {
            let mut script = Script::new(seed, 300);
            script.pages(1_500, |_| from).pages(600, |_| to);
            let (pages, notice) = &script.notices[0];
            assert_eq!((notice.kind, notice.begins), (AlarmKind::Relevance, true), "{notice:?}");
            assert!((1_500..=1_500 + within).contains(pages), "seed {seed}, {from} to {to}: {pages}");
            script.pages(400, |_| from);
            assert_eq!(
                script.kinds()[..2],
                [(AlarmKind::Relevance, true), (AlarmKind::Relevance, false)],
                "seed {seed}: {:?}",
                script.notices
            );
            assert!(script.alarms.active().next().is_none());
        }
    }
}

#[test]
fn a_topic_that_dries_up_slowly_is_an_alarm_with_the_right_words() {
    for seed in 1..=50 {
        let mut script = Script::new(seed, 300);
        script.pages(12_000, |share| 0.6 * (1.0 - share).powi(2));
        let (pages, notice) = &script.notices[0];
        assert!(*pages > 5_000, "{pages}");
        assert!(notice.text.contains("most of the topic that links lead to seems to be found"), "{notice:?}");
        assert!(notice.text.contains("porthole set start URL"));
    }
}

#[test]
fn fewer_relevant_pages_a_minute_are_an_alarm_if_relevance_stays() {
    for seed in 1..=20 {
        let mut script = Script::new(seed, 300);
        script.pages(3_000, |_| 0.5);
        // Ten times slower: 10 relevant pages a minute instead of 100.
        script.page_ms = 3_000;
        script.pages(100, |_| 0.5);
        assert_eq!(script.kinds(), [(AlarmKind::Acquisition, true)], "seed {seed}: {:?}", script.notices);
        let (pages, notice) = &script.notices[0];
        assert!(*pages <= 3_040, "within two minutes: {pages}");
        assert!(notice.text.contains("relevant pages a minute fell from"), "{notice:?}");
        script.page_ms = 300;
        script.pages(1_000, |_| 0.5);
        assert_eq!(script.kinds().last(), Some(&(AlarmKind::Acquisition, false)), "{:?}", script.notices);
    }
}

#[test]
fn a_crawl_that_stands_still_is_an_alarm_unless_it_is_paused() {
    let mut script = Script::new(1, 1_000);
    script.pages(600, |_| 0.5).idle(3);
    assert_eq!(script.kinds(), [(AlarmKind::Acquisition, true)]);
    assert!(script.notices[0].1.text.contains("3 rest"), "{:?}", script.notices);
    let mut script = Script::new(1, 1_000);
    script.pages(600, |_| 0.5);
    let halted = CrawlState { is_halted: true, ..CrawlState::default() };
    for _ in 0..3_600 {
        script.at = script.at.after(Duration::from_secs(1));
        script.alarms.passed(script.at, halted);
    }
    script.pages(600, |_| 0.5);
    assert_eq!(script.kinds(), []);
}

#[test]
fn when_everything_fails_an_alarm_says_so_once() {
    let mut script = Script::new(1, 300);
    script.pages(200, |_| 0.5).failures(50, FailureKind::Timeout, 0);
    assert_eq!(script.kinds(), [(AlarmKind::Failures, true)]);
    let (pages, notice) = &script.notices[0];
    assert_eq!(*pages, 240);
    assert!(notice.text.starts_with("40 of the last 50 fetches failed (timeout 40); "), "{notice:?}");
    script.pages(50, |_| 0.5);
    assert_eq!(script.kinds(), [(AlarmKind::Failures, true), (AlarmKind::Failures, false)]);
    // Missing pages and a third of failures are usual.
    let mut script = Script::new(2, 300);
    script.pages(200, |_| 0.5).failures(300, FailureKind::Status, 404);
    for _ in 0..1_000 {
        script.failures(1, FailureKind::Status, 500).pages(2, |_| 0.5);
    }
    assert_eq!(script.kinds(), []);
}

#[test]
fn a_full_disk_is_foreseen() {
    const GB: u64 = 1_000_000_000;
    let mut alarms = Alarms::new(AlarmSettings::default());
    let mut measure = |free: u64, used: u64, seconds: i64, pages: u64, pages_left: Option<u64>| {
        let state = CrawlState { pages, pages_left, ..CrawlState::default() };
        alarms.measured_disk(DiskSpace { free, total: 100 * GB, used }, Timestamp(seconds * 1_000), state);
        let notices = alarms.take_notices();
        notices.first().map(|notice| (notice.begins, notice.text.clone()))
    };
    assert_eq!(measure(50 * GB, GB, 0, 0, None), None);
    // 1 GB in 100 s: an hour needs 36 GB.
    assert_eq!(measure(49 * GB, 2 * GB, 100, 1_000, None), None);
    let (begins, text) = measure(20 * GB, 3 * GB, 200, 2_000, None).unwrap();
    assert!(begins && text.contains("full in 33 minutes"), "{text}");
    assert_eq!(measure(19 * GB, 3 * GB, 210, 2_100, None), None);
    assert!(!measure(60 * GB, 3 * GB, 220, 2_200, None).unwrap().0);
    // A million bytes a page: the rest of the limit needs 90 GB.
    let (begins, text) = measure(60 * GB, 3 * GB, 230, 2_200, Some(99_000)).unwrap();
    assert!(begins && text.contains("the rest of the page limit needs about 90.0 GB"), "{text}");
    let mut alarms = Alarms::new(AlarmSettings::default());
    let space = DiskSpace { free: 2 * GB, total: 100 * GB, used: GB };
    alarms.measured_disk(space, Timestamp(0), CrawlState::default());
    assert!(alarms.take_notices()[0].text.starts_with("2.0 GB are free of 100.0 GB: less than 3%"));
}

#[test]
fn a_command_and_the_end_of_the_run_end_alarms() {
    let mut script = Script::new(1, 300);
    script.pages(1_500, |_| 0.8).pages(400, |_| 0.02);
    script.alarms.restart(script.at);
    let ended = script.alarms.take_notices();
    assert!(!ended[0].begins && ended[0].text.starts_with("a command has changed the crawl"), "{ended:?}");
    // What was before is not compared with what comes.
    script.pages(1_500, |_| 0.02);
    assert_eq!(script.kinds(), [(AlarmKind::Relevance, true)]);
    let mut script = Script::new(1, 300);
    script.failures(50, FailureKind::Connect, 0);
    script.alarms.finish(script.at);
    assert!(script.alarms.active().next().is_none() && !script.alarms.take_notices()[0].begins);
}
