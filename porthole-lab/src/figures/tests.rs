//! A report of a small experiment: every figure exists, and its text agrees with the numbers.

use std::fs;

use super::{ClaimVerdict, Figure, cited, figures, write};
use crate::experiment::{Fields, Folder, PreparedExperiment, Results};
use porthole_report::svg::Marks;

const TEXT: &str = "topics = [\"/Recreation/Cycling\", \"/Home/Gardening\"]\nstrategies = [\"random\", \"breadth\", \
    \"soft\", \"soft:1\", \"soft+hubs\", \"soft@breadth\", \"oracle\", \"best-1\", \
    \"best-256\", \"best-16\", \"best-adaptive\", \"best-1+neighbours\", \"best-256+neighbours\", \"fifo-256+neighbours\", \
    \"apprentice:train=20\", \"apprentice~soft\", \"apprentice@soft~soft\", \"foresight\"]\nsamples = 2\nstart = 2\ntrain = 0.1\nat = [30, 60]\n\
    studies = [\"ranks\", \"apprentice\", \"learners\", \"mixing\", \"hypertext\"]\n[web]\npages = 600\npage_bytes = 2000\n";

#[test]
fn a_report_has_every_figure() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("small.toml");
    fs::write(&file, TEXT).unwrap();
    let experiment = Fields::read(&file).unwrap().check("small.toml").unwrap();
    let out = folder.path().join("out");
    let kept = Folder::open(&out, &experiment).unwrap();
    let lab = PreparedExperiment::new(experiment).unwrap();
    lab.run(Some(&kept), 2, &|_| {}).unwrap();
    lab.study(&kept, &mut |_| ()).unwrap();
    let (_, all) = figures(Results::read(&out).unwrap()).unwrap();
    let ids: Vec<&str> = all.iter().map(|figure| figure.id).collect();
    assert_eq!(
        ids,
        [
            "compared",
            "distance",
            "harvest",
            "relevance",
            "loss",
            "histogram",
            "url-overlap",
            "server-overlap",
            "coverage",
            "smaller-starts",
            "authorities",
            "purity",
            "distances",
            "hubs",
            "radius",
            "mixing",
            "hypertext",
            "sociology",
            "specificity",
            "servers",
            "exploration-coverage",
            "exploration-top",
            "exploration-sizes",
            "exploration-ranks",
            "neighbours-coverage",
            "neighbours-ranks",
            "blind-exploration",
            "examples",
            "exploration-open",
            "exploration-topics",
            "recall-crawler",
            "difficulty",
            "apprentice-reach",
            "apprentice-window",
            "apprentice-information",
            "apprentice-tags",
            "apprentice-features",
            "apprentice-learners",
            "apprentice-training",
            "apprentice-overlap",
            "apprentice-online",
            "apprentice-queue",
            "cost",
            "database-classifier",
            "database-distiller"
        ]
    );
    let of = |id: &str| all.iter().find(|figure| figure.id == id).unwrap();
    // They are planted in the web.
    assert_eq!(of("radius").verdict, ClaimVerdict::Confirmed);
    // Whether the claim holds is chance on a web this small; that it was tested is not.
    assert_ne!(of("recall-crawler").verdict, ClaimVerdict::NotTestable, "{}", of("recall-crawler").here);
    // Two of soft's start from one page, and the table has both sizes.
    assert_eq!(of("smaller-starts").table.rows.len(), 2);
    assert_eq!(of("compared").table.rows.len(), 15);
    // There are no bounds but the oracle.
    assert!(!of("compared").here.contains("bounds are ."), "{}", of("compared").here);
    assert_eq!(
        of("distance").table.rows.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(),
        ["soft", "foresight", "oracle"]
    );
    assert_eq!(of("distance").table.rows[2].last().map(String::as_str), Some("100.0%"));
    the_apprentices_figures_are_of_their_crawls(&all);
    // Twelve strategies are in the table; eight of them are drawn, including those that others are compared with.
    assert_eq!(of("harvest").table.head.len(), 1 + 12);
    let Marks::Points(drawn) = &of("harvest").charts[0].marks else { panic!("no lines") };
    let drawn: Vec<&str> = drawn.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(drawn, ["random", "breadth", "soft", "soft+hubs", "oracle", "best-1", "best-256", "best-16"]);
    // The results of a study are in the report.
    assert!(of("database-distiller").here.contains("not measured yet"));
    let variant =
        |name: &str, finding: f64| format!("{{\"name\":\"{name}\",\"reading\":1.0,\"finding\":{finding}}}");
    let (walk, join) = (variant("edge walk in the database", 90.0), variant("joins in the database", 30.0));
    let left = format!("{{\"pages\":5,\"links\":9,\"variants\":[{walk},{join}]}}");
    fs::write(out.join("distiller.json"), left).unwrap();
    let cost = |micros: u32, misses: u32| format!("{{\"micros\":{micros},\"misses\":{misses}}}");
    let (single, bulk) = (cost(500, 1000), cost(100, 10));
    let left = format!(
        "{{\"variants\":[{{\"name\":\"SingleProbe (BLOB)\",\"cost\":{single}}},{{\"name\":\"BulkProbe\",\"cost\":{bulk}}}],\
         \"sweep\":[{{\"cache\":0.1,\"single\":{single},\"bulk\":{bulk}}}],\"fit\":{{\"r2\":0.99}}}}"
    );
    fs::write(out.join("classifier.json"), left).unwrap();
    let (_, all) = figures(Results::read(&out).unwrap()).unwrap();
    let of = |id: &str| all.iter().find(|figure| figure.id == id).unwrap();
    assert_eq!(
        of("database-distiller").verdict,
        ClaimVerdict::Confirmed,
        "{}",
        of("database-distiller").here
    );
    // Five times as fast is not ten times; a hundred times fewer misses are more than ten times fewer.
    assert_eq!(
        of("database-classifier").verdict.words(),
        "a tenth of the time: not confirmed; a tenth of the page misses: confirmed; linear in the output: confirmed"
    );
    assert_eq!(of("database-classifier").table.rows.len(), 4);
    let report = fs::read_to_string(write(Results::read(&out).unwrap()).unwrap()).unwrap();
    for figure in &all {
        assert!(report.contains(&format!("<section id=\"{}\">", figure.id)), "{}", figure.id);
        let csv = fs::read_to_string(out.join(format!("figures/{}.csv", figure.id))).unwrap();
        assert_eq!(csv.lines().count(), figure.table.rows.len() + 1);
    }
    assert!(!report.contains("NaN") && !report.contains("inf,"), "a number is none");
    assert!(!report.contains("src=") && !report.contains("<script"), "it needs nothing else");
}

/// The conclusions of the figures of A follow from their numbers.
fn the_apprentices_figures_are_of_their_crawls(all: &[Figure]) {
    let rows = |id: &str| -> Vec<Vec<f64>> {
        let rows = &all.iter().find(|figure| figure.id == id).unwrap().table.rows;
        rows.iter().map(|row| row.iter().filter_map(|cell| cell.parse().ok()).collect()).collect()
    };
    // Good and bad sum to all pages, and so do the tenths.
    for row in rows("difficulty") {
        assert!(
            (row[0] + row[1] - 1.0).abs() < 1e-3 && (row[2..].iter().sum::<f64>() - 1.0).abs() < 1e-2,
            "{row:?}"
        );
    }
    for row in rows("apprentice-overlap") {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-3, "{row:?}");
    }
    // Up to the training, an apprentice equals soft focus.
    let around = rows("apprentice-online");
    assert!(around[0][0] < 0.0 && around.iter().any(|row| row[0] > 0.0), "{around:?}");
    for row in around.iter().filter(|row| row[1] <= 0.0) {
        assert_eq!(row[2], row[4], "{row:?}");
    }
    // From 0 to 8, and from -8 to 8.
    assert_eq!((rows("apprentice-reach").len(), rows("apprentice-tags").len()), (9, 17));
    assert_eq!((rows("apprentice-window").len(), rows("apprentice-information").len()), (9, 17));
    assert_eq!(rows("apprentice-features").len(), 7);
    // Naive Bayes needs one pass, each of the others has twenty.
    assert_eq!(rows("apprentice-learners").len(), 1 + 2 * 20);
    // Four sizes of crawls from scratch, two costs of more links, and the critic twice. More pages have more links
    // between them.
    let training = rows("apprentice-training");
    assert_eq!(training.len(), 4 + 2 + 2);
    assert!(
        training[..4].windows(2).all(|two| two[0][0] < two[1][0] && two[0][1] <= two[1][1]),
        "{training:?}"
    );
    let [last, tenth, far] = [&training[3], &training[4], &training[5]];
    assert!(tenth[1] < last[1] / 5.0 && far[2] > last[2], "{training:?}");
    let share = |column: usize| rows("apprentice-queue").iter().map(|row| row[column]).sum::<f64>();
    assert!((share(2) - 1.0).abs() < 1e-2 && (share(3) - 1.0).abs() < 1e-2);
    // Two recall crawlers.
    let recall = &all.iter().find(|figure| figure.id == "recall-crawler").unwrap();
    assert_eq!(recall.charts.len(), 2, "{}", recall.here);
}

#[test]
fn reports_cite_papers_in_full() {
    assert_eq!(
        cited("W Figs. 3, 4; V Fig. 5"),
        "Chakrabarti et al. 1999, WWW8, Figs. 3, 4; Chakrabarti et al. 1999, VLDB, Fig. 5"
    );
    assert_eq!(cited("P 5.1"), "Pant et al. 2002, section 5.1");
    assert_eq!(cited(""), "");
}

#[test]
fn crawls_in_simulated_time_are_drawn_against_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("paced.toml");
    let text = "topics = [\"/Recreation/Cycling\"]\nstrategies = [\"soft\", \"soft|off\"]\nsamples = 1\nstart = 2\n\
        train = 0.1\nat = [30, 60]\npace = { workers = 8, delay = 2, latency = 0.1 }\n[web]\npages = 600\npage_bytes = 2000\n";
    fs::write(&file, text).unwrap();
    let experiment = Fields::read(&file).unwrap().check("paced.toml").unwrap();
    let out = folder.path().join("out");
    let kept = Folder::open(&out, &experiment).unwrap();
    PreparedExperiment::new(experiment).unwrap().run(Some(&kept), 1, &|_| {}).unwrap();
    let (_, all) = figures(Results::read(&out).unwrap()).unwrap();
    let figure = all.iter().find(|figure| figure.id == "time").unwrap();
    assert_eq!(figure.table.head, ["pages about the topic", "soft"], "time does not pass without a pace");
    let seconds: Vec<f64> = figure.table.rows.iter().map(|row| row[1].parse().unwrap()).collect();
    assert!(seconds.is_sorted() && seconds[0] >= 2.0, "robots.txt comes first: {seconds:?}");
}
