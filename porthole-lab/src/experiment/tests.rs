//! Experiments on a web of a hundred pages with known labels.

mod ranks;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use porthole_topic::{ClassifierShape, Taxonomy};
use porthole_types::{CanonicalUrl, Headers, UrlId};
use porthole_warc::{RecordFormat, WarcResponse, WarcWriter};

use super::facts::{CitedTopic, CitedTopics, TopicFacts, WebLinks};
use super::labelled::{self, LabelledWeb, share};
use super::target::CrawlTarget;
use super::{
    CrawlSummary, Experiment, ExperimentWeb, FetchLabel, Fields, Folder, PreparedExperiment, Results, Trace,
};

const PAGES: u32 = 100;

fn url(page: u32) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://h{}.test/{page}", page % 8)).unwrap()
}

/// Even pages are about music and link to the next two even ones first; odd ones are about stones and link mostly to
/// stones. Every page can be reached from every other.
fn make(folder: &Path) {
    let mut writer = WarcWriter::new(Vec::new(), RecordFormat::Gzip, 1);
    let headers: Headers = [("Content-Type", "text/html")].into_iter().collect();
    let mut labels = String::new();
    for page in 0..PAGES {
        let words = ["violin orchestra melody concert", "granite basalt crystal quarry"][page as usize % 2];
        let steps: &[u32] = if page % 2 == 0 { &[2, 4, 1] } else { &[2, 4, 8, 16, 32, 1] };
        let links = steps.iter().map(|step| format!("<a href={}>on</a> ", url((page + step) % PAGES)));
        let html = format!("<title>{page}</title><p>{}</p>{}", words.repeat(5), links.collect::<String>());
        let target = url(page).to_string();
        writer.response(&WarcResponse::new(&target, &headers, html.as_bytes())).unwrap();
        labels += &format!("{target}\t{}\n", ["/Arts/Music", "/Earth/Stones"][page as usize % 2]);
    }
    fs::write(folder.join("web.warc.gz"), writer.into_inner()).unwrap();
    fs::write(folder.join("labels.tsv"), labels).unwrap();
}

const TEXT: &str = "web = \"web.warc.gz\"\nlabels = \"labels.tsv\"\ntopics = [\"/Arts/Music\"]\n\
    strategies = [\"breadth\", \"soft\", \"random\"]\nsamples = 2\nstart = 2\ntrain = 0.3\nseed = 3\nat = [5, 20]\n";

fn experiment(folder: &Path, changes: &[(&str, &str)]) -> Result<Experiment, String> {
    let text = changes.iter().fold(TEXT.to_owned(), |text, (from, to)| text.replace(from, to));
    let file = folder.join("experiment.toml");
    fs::write(&file, text).unwrap();
    let fields = Fields::read(&file).map_err(|error| error.to_string())?;
    fields.check("experiment.toml").map_err(|error| error.to_string())
}

fn lab(changes: &[(&str, &str)]) -> PreparedExperiment {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    PreparedExperiment::new(experiment(folder.path(), changes).unwrap()).unwrap()
}

fn outcomes(lab: &PreparedExperiment) -> Vec<CrawlSummary> {
    lab.run(None, 2, &|_| {}).unwrap()
}

fn traces(lab: &PreparedExperiment, experiment: &Experiment) -> Vec<Trace> {
    experiment.plans().iter().map(|plan| lab.trace(plan).unwrap()).collect()
}

fn is_trained_on(page: u32) -> bool {
    share(&url(page), 3) < 0.3
}

#[test]
fn crawls_in_simulated_time_are_deterministic_and_bounded_by_delays() {
    let pace = |idle: &str| {
        format!("at = [5, 20]\npace = {{ workers = 8, delay = 2, latency = \"web\", idle = \"{idle}\" }}")
    };
    let run = |pace: &str| outcomes(&lab(&[("at = [5, 20]", pace), ("samples = 2", "samples = 1")]));
    let timeless = |outcomes: &[CrawlSummary]| -> Vec<CrawlSummary> {
        outcomes.iter().map(|outcome| CrawlSummary { cpu_ms: 0.0, ..outcome.clone() }).collect()
    };
    let (wait, fill) = (run(&pace("wait")), run(&pace("fill")));
    assert_eq!(timeless(&wait), timeless(&run(&pace("wait"))));
    for outcome in wait.iter().chain(&fill) {
        // Eight hosts with a pause of two seconds give at most four pages a second.
        assert!(outcome.seconds >= 20.0 / 4.0, "{outcome:?}");
        let times: Vec<f64> = outcome.seconds_to.values().copied().chain([outcome.seconds]).collect();
        assert!(outcome.seconds_to.contains_key(&1) && times.is_sorted(), "{outcome:?}");
    }
}

#[test]
fn a_strategy_can_override_the_pace() {
    let pace = "at = [5, 20]\npace = { workers = 8, delay = 2, latency = 1, idle = \"wait\" }";
    let strategies = "strategies = [\"soft\", \"soft|8|wait\", \"soft|1\", \"soft|1|fill\", \"soft|off\"]";
    let changes = [("at = [5, 20]", pace), ("strategies = [\"breadth\", \"soft\", \"random\"]", strategies)];
    let found = outcomes(&lab(&changes));
    let of =
        |name: &str| found.iter().find(|outcome| outcome.strategy == name && outcome.sample == 0).unwrap();
    assert_eq!(
        (of("soft").seconds, &of("soft").harvest),
        (of("soft|8|wait").seconds, &of("soft|8|wait").harvest)
    );
    assert!(of("soft|1").seconds > of("soft").seconds, "fewer workers take longer");
    assert!(!of("soft|off").is_timed() && of("soft|off").seconds_to.is_empty());
    let replayed = outcomes(&lab(&[]));
    let soft = replayed.iter().find(|outcome| outcome.strategy == "soft" && outcome.sample == 0).unwrap();
    assert_eq!(of("soft|off").harvest, soft.harvest);
}

#[test]
fn training_and_start_pages_do_not_count() {
    let lab = lab(&[("[5, 20]", "[5, 20, 1000]")]);
    let found = outcomes(&lab);
    let names: Vec<_> = found.iter().map(|outcome| (outcome.strategy.as_str(), outcome.sample)).collect();
    assert_eq!(
        names,
        [("breadth", 0), ("breadth", 1), ("soft", 0), ("soft", 1), ("random", 0), ("random", 1)]
    );
    let counted = PAGES as usize - (0..PAGES).filter(|page| is_trained_on(*page)).count() - 2;
    let wanted = (0..PAGES).step_by(2).filter(|page| !is_trained_on(*page)).count() - 2;
    for outcome in &found {
        assert_eq!((outcome.fetched as usize, outcome.stop.as_str()), (counted, "exhausted"));
        // All pages were found eventually, and the harvest is relative to the number of fetches asked for.
        assert_eq!(outcome.recall[&1000], 1.0);
        assert!((outcome.harvest[&1000] - wanted as f64 / 1000.0).abs() < 1e-6);
        let (found, share) = (outcome.recall[&5] * wanted as f64, outcome.harvest[&5] * 5.0);
        assert!((found - share).abs() < 1e-3 && share <= 5.0);
    }
    let at_twenty = |strategy: &str| {
        let own = found.iter().filter(|outcome| outcome.strategy == strategy);
        own.map(|outcome| outcome.harvest[&20]).sum::<f64>()
    };
    assert!(at_twenty("soft") > at_twenty("random"), "{found:?}");
}

#[test]
fn a_trace_labels_every_fetch() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let experiment = experiment(folder.path(), &[]).unwrap();
    let lab = PreparedExperiment::new(experiment.clone()).unwrap();
    let traces = traces(&lab, &experiment);
    let starts = |trace: &Trace| {
        let own = trace.steps.iter().filter(|step| step.label == FetchLabel::Start);
        own.map(|step| step.url.clone()).collect::<HashSet<_>>()
    };
    let (even, odd) = (starts(&traces[0]), starts(&traces[1]));
    assert_eq!((even.len(), odd.len()), (2, 2));
    assert!(even.is_disjoint(&odd), "two samples have a start in common");
    for trace in &traces {
        for step in &trace.steps {
            let page: u32 = step.url.rsplit('/').next().unwrap().parse().unwrap();
            let expected = match (starts(trace).contains(&step.url), is_trained_on(page), page % 2) {
                (true, is_trained_on, parity) => {
                    assert!(!is_trained_on && parity == 0, "a start is of the topic and not trained on");
                    FetchLabel::Start
                }
                (_, true, _) => FetchLabel::Trained,
                (_, _, 0) => FetchLabel::About,
                _ => FetchLabel::Other,
            };
            assert_eq!(step.label, expected, "{}", step.url);
            // The pages of the independent critic are the upper end of those that the guiding critic is not trained on.
            let is_of_independent = share(&url(page), 3) >= 0.7;
            assert_eq!(step.independent.is_none(), is_of_independent, "{}", step.url);
            assert_eq!(step.host, format!("h{}.test", page % 8));
        }
        let mut deepest = 0;
        for step in &trace.steps {
            assert_eq!(step.depth == 0, step.label == FetchLabel::Start, "{step:?}");
            assert!(step.depth <= deepest + 1, "{step:?}");
            deepest = deepest.max(step.depth);
        }
        assert_eq!(trace.outcome.fetched, 20);
        assert_eq!(Trace::parse(&trace.to_text().unwrap()).unwrap().outcome, trace.outcome);
    }
}

#[test]
fn oracles_are_upper_bounds_and_random_is_a_lower_one() {
    let lab = lab(&[(r#""breadth", "soft", "random""#, r#""random", "soft", "oracle", "look-ahead""#)]);
    let found = outcomes(&lab);
    let at = |strategy: &str| {
        let own: Vec<&CrawlSummary> = found.iter().filter(|outcome| outcome.strategy == strategy).collect();
        own.iter().map(|outcome| outcome.harvest[&20]).sum::<f64>() / own.len() as f64
    };
    // Every even page links to two more.
    assert_eq!((at("oracle"), at("look-ahead")), (1.0, 1.0));
    assert!(at("random") < 0.9 && at("random") < at("soft"), "{found:?}");
}

#[test]
fn the_recall_crawler_ends_at_the_loss_of_its_baseline() {
    let strategies = r#"strategies = ["breadth", "soft@breadth", "hard@random", "random"]"#;
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let change = (r#"strategies = ["breadth", "soft", "random"]"#, strategies);
    let experiment = experiment(folder.path(), &[change]).unwrap();
    let traces = traces(&PreparedExperiment::new(experiment.clone()).unwrap(), &experiment);
    let of = |strategy: &str, sample| {
        let is_it = |trace: &&Trace| trace.outcome.strategy == strategy && trace.outcome.sample == sample;
        traces.iter().find(is_it).unwrap()
    };
    for sample in 0..2 {
        for (recall, baseline) in [("soft@breadth", "breadth"), ("hard@random", "random")] {
            let (recall, baseline) = (of(recall, sample), of(baseline, sample));
            let urls =
                |trace: &Trace| trace.steps.iter().map(|step| step.url.clone()).collect::<HashSet<_>>();
            assert_eq!(urls(recall), urls(baseline));
            let loss = |trace: &Trace| 1.0 - trace.outcome.relevance[&20];
            assert!((loss(recall) - loss(baseline)).abs() < 1e-12);
            assert_eq!(recall.outcome.harvest[&20], baseline.outcome.harvest[&20]);
        }
        assert!(of("soft@breadth", sample).outcome.area >= of("breadth", sample).outcome.area);
    }
}

#[test]
fn results_do_not_depend_on_threads_or_interruptions() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let experiment = experiment(folder.path(), &[]).unwrap();
    let lab = PreparedExperiment::new(experiment.clone()).unwrap();
    let [one, two] = [1, 2].map(|threads| {
        let path = folder.path().join(threads.to_string());
        let out = Folder::open(&path, &experiment).unwrap();
        lab.run(Some(&out), threads, &|_| {}).unwrap();
        path
    });
    let without_times = |path: &Path| {
        let text = fs::read_to_string(path.join("results.jsonl")).unwrap();
        let line = |line: &str| {
            let (before, after) = line.split_once("\"cpu_ms\":").unwrap();
            format!("{before}{}", after.split_once(',').unwrap().1)
        };
        text.lines().map(line).collect::<Vec<_>>()
    };
    let expected = without_times(&one);
    assert_eq!((expected.len(), &without_times(&two)), (6, &expected));
    let body = |path: &Path| {
        let mut all: Vec<_> =
            fs::read_dir(path.join("traces")).unwrap().map(|entry| entry.unwrap().path()).collect();
        all.sort();
        let text = |path| fs::read_to_string(path).unwrap().split_once('\n').unwrap().1.to_owned();
        all.into_iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(body(&one), body(&two));
    // Interrupted: some crawls are complete, one was being written, and there are no results.
    fs::remove_file(two.join("results.jsonl")).unwrap();
    let mut all: Vec<_> =
        fs::read_dir(two.join("traces")).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    fs::rename(&all[0], all[0].with_extension("part")).unwrap();
    fs::remove_file(&all[3]).unwrap();
    let kept = fs::read_to_string(&all[1]).unwrap();
    let out = Folder::open(&two, &experiment).unwrap();
    lab.run(Some(&out), 2, &|_| {}).unwrap();
    assert_eq!(without_times(&two), expected);
    // The times are unchanged: the crawl was not repeated.
    assert_eq!(fs::read_to_string(&all[1]).unwrap(), kept);
    let results = Results::read(&two).unwrap();
    assert_eq!((results.outcomes.len(), results.facts.pages), (6, 100));
    assert_eq!(results.trace("/Arts/Music", "soft", 1).unwrap().outcome, results.outcomes[3]);
    let other = Experiment { seed: 4, ..experiment.clone() };
    let refused = Folder::open(&two, &other).err().unwrap().to_string();
    assert!(refused.contains("with a different seed"), "{refused}");
    assert!(Folder::open(&two, &Experiment { samples: 9, ..experiment }).is_ok());
}

#[test]
fn a_synthetic_web_has_labels() {
    let folder = tempfile::tempdir().unwrap();
    let text = "topics = [\"/Recreation/Cycling\"]\nstrategies = [\"soft\", \"random\", \"oracle\"]\nsamples = 1\n\
                train = 0.1\nat = [50]\n[web]\npages = 600\npage_bytes = 2000\nseed = 5\n";
    let file = folder.path().join("quick.toml");
    fs::write(&file, text).unwrap();
    let experiment = Fields::read(&file).unwrap().check("quick.toml").unwrap();
    let lab = PreparedExperiment::new(experiment).unwrap();
    let found = outcomes(&lab);
    let harvest: Vec<f64> = found.iter().map(|outcome| outcome.harvest[&50]).collect();
    assert!(harvest[0] > harvest[1] && harvest[2] > harvest[1] && harvest[2] > 0.1, "{harvest:?}");
    let facts = &lab.facts().topics["/Recreation/Cycling"];
    // Planted in the web: the radius-1 and radius-2 rules.
    assert!(facts.cited_by_own > 2.0 * facts.cited_by_others, "{facts:?}");
    assert!(facts.links_again > 1.5 * facts.links_once, "{facts:?}");
}

#[test]
fn hand_computed_radius_rules() {
    let id = |page: u32| url(page).id();
    // 0, 2, 4 are about the topic. 0 -> 2, 4, 1; 1 -> 3, 2; 2 -> 1; 3 -> 4, 0; 4 -> nothing.
    let links: [(u32, &[u32]); 5] = [(0, &[2, 4, 1]), (1, &[3, 2]), (2, &[1]), (3, &[4, 0]), (4, &[])];
    let links: BTreeMap<UrlId, Vec<UrlId>> =
        links.into_iter().map(|(page, to)| (id(page), to.iter().map(|to| id(*to)).collect())).collect();
    let topic = [0, 2, 4].map(id).into_iter().collect();
    let mut facts = TopicFacts::of(&WebLinks::all(&links), &topic);
    // Of the weight that leaves the three pages, 4/9 is at 1, 1/9 each at 2 and 4, which has no links; then 1/9 is at
    // 1, and 2/9 each at 2 and 3.
    let walks = std::mem::take(&mut facts.walks);
    assert_eq!(walks.len(), 4);
    assert!((walks[0] - 2.0 / 6.0).abs() < 1e-12 && (walks[1] - 2.0 / 5.0).abs() < 1e-12, "{walks:?}");
    let expected = TopicFacts {
        depth: 0,
        pages: 3,
        base_rate: 0.6,
        cited_by_own: 2.0 / 4.0,
        cited_by_others: 3.0 / 4.0,
        links_once: 3.0 / 5.0,
        links_again: 2.0 / 3.0,
        walks: Vec::new(),
        beside: None,
    };
    assert_eq!(facts, expected);
}

#[test]
fn hand_computed_cited_topics() {
    let id = |page: u32| url(page).id();
    // Page 0 is about cycling; 25 pages about first aid and 25 about cars. It cites all of the first and none of the
    // second, page 1 cites all cars and five of the first.
    let aid: Vec<UrlId> = (10..35).map(id).collect();
    let cars: Vec<UrlId> = (40..65).map(id).collect();
    let other: Vec<UrlId> = cars.iter().chain(&aid[..5]).copied().collect();
    let links: BTreeMap<UrlId, Vec<UrlId>> = [(id(0), aid.clone()), (id(1), other)].into_iter().collect();
    let of_page = |page: &UrlId| {
        let path = if aid.contains(page) { "/Health/Aid" } else { "/Sports/Cars" };
        vec![path.to_owned()]
    };
    let links = WebLinks::all(&links);
    let cited = CitedTopics::of(&links, of_page);
    let beside = |topic: &str| CitedTopic::of(&links, &cited, topic, &[id(0)].into_iter().collect());
    // All of its 25 links lead there, and 30 of all 55 links.
    let found = beside("/Sports/Cycling").unwrap();
    assert_eq!((found.topic.as_str(), found.links), ("/Health/Aid", 25));
    assert!((found.times - 55.0 / 30.0).abs() < 1e-12);
    assert_eq!(beside("/Health/Cycling"), None);
}

#[test]
fn invalid_experiments_are_rejected_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let refused = |from: &str, to: &str, words: &str| {
        let made = experiment(folder.path(), &[(from, to)]);
        let message = made.and_then(|experiment| match PreparedExperiment::new(experiment) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        });
        let message = message.unwrap_err();
        assert!(message.contains(words), "{message:?} does not say {words:?}");
    };
    refused("\"soft\"", "\"psychic\"", "there is no strategy \"psychic\"; there are");
    refused("\"soft\"", "\"soft:many\"", "\"many\" is not a number of start pages");
    refused("\"soft\"", "\"soft:3\"", "soft:3 starts from 3 pages, and start is 2");
    refused("\"soft\"", "\"soft@psychic\"", "there is no strategy \"psychic\"");
    refused("\"soft\"", "\"breadth\"", "strategies has breadth twice");
    refused("/Arts/Music", "/Arts/Opera", "no topic /Arts/Opera in");
    refused("/Arts/Music", "/Music", "there is /Arts/Music");
    refused("start = 2", "start = 30", "60 are needed to start from");
    refused("train = 0.3", "train = 2.0", "train = 2 is not a share");
    refused(
        "seed = 3",
        "seed = 3\nshape = \"round\"",
        "shape = round is unknown: one of tree, flat, two-class",
    );
    refused("samples = 2", "samples = 0", "samples must not be empty or 0");
    refused(
        "seed = 3",
        "seed = 3\nstudies = [\"stars\"]",
        "there is no study \"stars\"; there are classifier",
    );
    refused("web.warc.gz", "none.warc.gz", "none.warc.gz");
    refused("labels.tsv", "none.tsv", "none.tsv");
    refused("labels = \"labels.tsv\"\n", "", "labels is missing: set it in the file, or with --labels");
    refused("seed = 3", "seed = 3\nspeed = 9", "speed");
    refused("web = \"web.warc.gz\"\nlabels = \"labels.tsv\"\n", "web = { pagges = 5 }\n", "pagges");
    refused("web = \"web.warc.gz\"\nlabels = \"labels.tsv\"\n", "web = { pages = 5 }\n", "pages is 5");
}

#[test]
fn the_shape_of_the_critic_is_configurable() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let free = |from: u32| url((from..).step_by(2).find(|&page| !is_trained_on(page)).unwrap()).id();
    for shape in ClassifierShape::ALL {
        let field = format!("seed = 3\nshape = \"{}\"", shape.name());
        let experiment = experiment(folder.path(), &[("seed = 3", &field)]).unwrap();
        let web = LabelledWeb::open(&experiment).unwrap();
        // One two-class critic for each topic.
        for (topic, good, other) in [("/Arts/Music", 0, 1), ("/Earth/Stones", 1, 0)] {
            let target = CrawlTarget::new(&experiment, &web, topic).unwrap();
            assert_eq!(web.guide(&target.tree).shape(), shape);
            let relevance = |from| target.relevance(free(from)).unwrap();
            assert!(relevance(good) > 0.9 && relevance(other) < 0.1, "{topic}, {}", shape.name());
        }
    }
}

#[test]
fn the_general_taxonomy_is_rejected_on_its_training_web() {
    let general = porthole_topic::Pretrained::general().unwrap();
    let web = ExperimentWeb::Recorded { pages: "web.warc.gz".into(), labels: "labels.tsv".into() };
    let mut tree = Taxonomy::new();
    tree.add_path("/Arts/Music").unwrap();
    // On a web with other topics it is accepted.
    assert!(labelled::general(&tree, &web).is_ok());
    for id in general.tree.ids().skip(1) {
        tree.add_path(&general.tree.path(id)).unwrap();
    }
    let refused = labelled::general(&tree, &web).err().unwrap().to_string();
    assert!(refused.contains("labels.tsv is a web that the general taxonomy was trained on"), "{refused}");
}

#[test]
fn a_name_has_parameters_a_half_and_a_teacher() {
    let name = "apprentice:d=3,train=9+odd:1@soft~soft+even";
    let read: super::plan::StrategyName = name.parse().unwrap();
    assert_eq!(
        (read.name.as_str(), read.starts, read.to_string()),
        ("apprentice:d=3,train=9", Some(1), name.into())
    );
    assert!("soft~breadth".parse::<super::plan::StrategyName>().unwrap_err().contains("only an apprentice"));
    assert!(
        "soft:many".parse::<super::plan::StrategyName>().unwrap_err().contains("not a number of start pages")
    );
    for name in ["soft|8", "soft|fill", "apprentice~soft|8|wait", "soft|off"] {
        assert_eq!(name.parse::<super::plan::StrategyName>().unwrap().to_string(), name);
    }
    assert!("soft|0".parse::<super::plan::StrategyName>().unwrap_err().contains("is not a pace"));
}

#[test]
fn lists_of_strategies_with_parameters_are_parsed() {
    let listed = |text: &str| super::listed(&text.split(',').map(str::to_owned).collect::<Vec<_>>());
    let names =
        "soft,apprentice:train=5,again=2,best-1:buffer=9,apprentice:d=1,train=9+odd:4@soft~soft,soft:4,hard";
    let apart = [
        "soft",
        "apprentice:train=5,again=2",
        "best-1:buffer=9",
        "apprentice:d=1,train=9+odd:4@soft~soft",
        "soft:4",
        "hard",
    ];
    assert_eq!(listed(names).unwrap(), apart);
    assert!(listed("again=2,soft").unwrap_err().contains("write NAME:again=2"));
    assert!(listed("apprentice,again=2").unwrap_err().contains("write apprentice:again=2"));
}

#[test]
fn an_apprentice_learns_on_one_half_of_the_hosts_and_crawls_the_other() {
    let strategies = "[\"soft+odd\", \"apprentice:d=0,train=0+odd~breadth+even\"]";
    let changes = [("[\"breadth\", \"soft\", \"random\"]", strategies), ("start = 2", "start = 1")];
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let experiment = experiment(folder.path(), &changes).unwrap();
    let lab = PreparedExperiment::new(experiment.clone()).unwrap();
    for trace in traces(&lab, &experiment) {
        assert!(!trace.steps.is_empty());
        let half = super::plan::Half::Odd;
        let is_odd = |url: &String| half.has(&CanonicalUrl::parse(url).unwrap());
        assert!(trace.steps.iter().all(|step| is_odd(&step.url)), "{:?}", trace.outcome.strategy);
    }
}

#[test]
fn the_apprentice_study_measures_reach_and_offsets() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let experiment = experiment(folder.path(), &[("[5, 20]", "[1000]")]).unwrap();
    let lab = PreparedExperiment::new(experiment.clone()).unwrap();
    let plan = experiment.plans().into_iter().find(|plan| plan.strategy == "soft").unwrap();
    let learnt = lab.apprenticeship(&plan, 2).unwrap();
    // Every page except the trained ones: even ones have three links, odd ones six.
    assert_eq!((learnt.pages, learnt.instances), (100, 450));
    let reach: Vec<u32> = learnt.reach.iter().map(|at| at.d_max).collect();
    let offsets: Vec<i32> = learnt.offsets.iter().map(|at| at.offset).collect();
    assert_eq!((reach, offsets), (vec![0, 1, 2], vec![-2, -1, 0, 1, 2]));
    assert!(learnt.reach.iter().all(|at| at.average > 0.5), "{:?}", learnt.reach);
}

#[test]
fn an_online_apprentice_reaches_every_page() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let strategies = "[\"apprentice:train=5,again=1\"]";
    let changes = [("[\"breadth\", \"soft\", \"random\"]", strategies), ("[5, 20]", "[1000]")];
    let experiment = experiment(folder.path(), &changes).unwrap();
    let lab = PreparedExperiment::new(experiment.clone()).unwrap();
    for trace in traces(&lab, &experiment) {
        assert_eq!(trace.steps.len(), PAGES as usize);
    }
}
