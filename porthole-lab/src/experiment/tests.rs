//! Experiments on a web of forty pages whose truth is known.

use std::fs;
use std::path::Path;

use porthole_types::{CanonicalUrl, Headers};
use porthole_warc::{Answer, Form, WarcWriter};

use super::labelled::share;
use super::{Experiment, Outcome, run};

const PAGES: u32 = 40;

fn url(page: u32) -> CanonicalUrl {
    CanonicalUrl::parse(&format!("http://h{}.test/{page}", page % 4)).unwrap()
}

/// Even pages are about music and link to the next two even ones first; odd ones are about stones. All can be
/// reached from each.
fn make(folder: &Path) {
    let mut writer = WarcWriter::new(Vec::new(), Form::Gzip, 1);
    let headers: Headers = [("Content-Type", "text/html")].into_iter().collect();
    let mut labels = String::new();
    for page in 0..PAGES {
        let words = ["violin orchestra melody concert", "granite basalt crystal quarry"][page as usize % 2];
        let links = [2, 4, 1].map(|step| format!("<a href={}>on</a> ", url((page + step) % PAGES)));
        let html = format!("<title>{page}</title><p>{}</p>{}", words.repeat(5), links.concat());
        let target = url(page).to_string();
        writer.response(&Answer::new(&target, &headers, html.as_bytes())).unwrap();
        labels += &format!("{target}\t{}\n", ["/Arts/Music", "/Earth/Stones"][page as usize % 2]);
    }
    fs::write(folder.join("web.warc.gz"), writer.into_inner()).unwrap();
    fs::write(folder.join("labels.tsv"), labels).unwrap();
}

fn experiment(folder: &Path, change: &str, to: &str) -> Result<Experiment, String> {
    let text = "web = \"web.warc.gz\"\nlabels = \"labels.tsv\"\ntopics = [\"/Arts/Music\"]\n\
                strategies = [\"breadth\", \"soft\", \"random\"]\nsamples = 2\nstart = 2\ntrain = 0.3\nseed = 3\n\
                at = [5, 1000]\n";
    fs::write(folder.join("experiment.toml"), text.replace(change, to)).unwrap();
    Experiment::read(&folder.join("experiment.toml")).map_err(|error| error.to_string())
}

fn outcomes(experiment: &Experiment) -> Result<Vec<Outcome>, String> {
    run(experiment, &|_| {}).map_err(|error| error.to_string())
}

#[test]
fn what_is_trained_on_or_started_from_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let experiment = experiment(folder.path(), "", "").unwrap();
    let found = outcomes(&experiment).unwrap();
    let names: Vec<_> = found.iter().map(|outcome| (outcome.strategy.as_str(), outcome.sample)).collect();
    assert_eq!(
        names,
        [("breadth", 0), ("breadth", 1), ("soft", 0), ("soft", 1), ("random", 0), ("random", 1)]
    );
    let trained = |page: &u32| share(&url(*page), 3) < 0.3;
    let counted = PAGES as usize - (0..PAGES).filter(trained).count() - 2;
    let wanted = (0..PAGES).step_by(2).filter(|page| !trained(page)).count() - 2;
    for outcome in &found {
        assert_eq!((outcome.fetched as usize, outcome.stop), (counted, "exhausted"));
        // All of it was found in the end, and the harvest is over what was asked for.
        assert_eq!(outcome.recall[&1000], 1.0);
        assert!((outcome.harvest[&1000] - wanted as f64 / 1000.0).abs() < 1e-12);
        let (found, share) = (outcome.recall[&5] * wanted as f64, outcome.harvest[&5] * 5.0);
        assert!((found - share).abs() < 1e-9 && share <= 5.0);
    }
    let at_five = |strategy: &str| {
        let own = found.iter().filter(|outcome| outcome.strategy == strategy);
        own.map(|outcome| outcome.harvest[&5]).sum::<f64>()
    };
    assert!(at_five("soft") > at_five("random"), "{found:?}");
    let again = outcomes(&experiment).unwrap();
    let facts = |outcomes: &[Outcome]| {
        outcomes.iter().map(|o| (o.harvest.clone(), o.recall.clone())).collect::<Vec<_>>()
    };
    assert_eq!(facts(&found), facts(&again));
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let refused = |change: &str, to: &str, words: &str| {
        let message =
            experiment(folder.path(), change, to).and_then(|experiment| outcomes(&experiment)).unwrap_err();
        assert!(message.contains(words), "{message:?} does not say {words:?}");
    };
    refused("\"soft\"", "\"psychic\"", "there is no strategy \"psychic\"; there are soft");
    refused("/Arts/Music", "/Arts/Opera", "no topic /Arts/Opera");
    refused("start = 2", "start = 30", "30 are needed to start from");
    refused("train = 0.3", "train = 2.0", "train = 2 is no share");
    refused("samples = 2", "samples = 0", "samples asks for nothing");
    refused("web.warc.gz", "none.warc.gz", "none.warc.gz");
    refused("labels.tsv", "none.tsv", "none.tsv");
    refused("seed = 3", "seed = 3\nspeed = 9", "speed");
}
