//! Classifier and distiller inside the database (V Fig. 8), from the studies of the experiment.

use std::fs;

use serde::Deserialize;

use super::evidence::TracedResults;
use super::{ClaimVerdict, Figure};
use porthole_report::html::HtmlTable;

/// Results of the classifier study.
#[derive(Deserialize)]
struct Classifier {
    variants: Vec<MeasuredVariant>,
    sweep: Vec<MeasuredSweepPoint>,
    fit: MeasuredFit,
}

#[derive(Deserialize)]
struct MeasuredVariant {
    name: String,
    cost: MeasuredCost,
}

#[derive(Clone, Copy, Deserialize)]
struct MeasuredCost {
    micros: f64,
    misses: Option<f64>,
}

#[derive(Deserialize)]
struct MeasuredSweepPoint {
    cache: f64,
    single: MeasuredCost,
    bulk: MeasuredCost,
}

#[derive(Deserialize)]
struct MeasuredFit {
    r2: f64,
}

/// Results of the distiller study.
#[derive(Deserialize)]
struct MeasuredDistiller {
    pages: usize,
    links: usize,
    variants: Vec<MeasuredDistillerVariant>,
}

#[derive(Deserialize)]
struct MeasuredDistillerVariant {
    name: String,
    reading: f64,
    finding: f64,
}

/// The drawing of a study, if it was run.
fn drawing(evidence: &TracedResults, study: &str) -> Vec<String> {
    fs::read_to_string(evidence.results.folder().join(format!("{study}.svg"))).into_iter().collect()
}

fn not_made(evidence: &TracedResults, study: &str) -> String {
    let folder = evidence.results.folder().display();
    format!("not measured yet: --studies {study}, or porthole lab bench {study} --out {folder}.")
}

/// V Fig. 8 a to c.
pub(super) fn classifier(evidence: &TracedResults) -> Option<Figure> {
    let found: Option<Classifier> = evidence.results.study("classifier").ok().flatten();
    let figure = Figure {
        id: "database-classifier",
        title: "The classifier inside the database",
        paper: "V Fig. 8 a to c",
        there: "the bulk formulation takes over an order of magnitude less time than single probes, does so with a small \
                cache already, and is roughly linear in the size of its output",
        drawings: drawing(evidence, "classifier"),
        ..Figure::default()
    };
    let Some(Classifier { variants, sweep, fit }) = found else {
        return Some(Figure { here: not_made(evidence, "classifier"), ..figure });
    };
    let of = |name: &str| variants.iter().find(|variant| variant.name == name).map(|variant| variant.cost);
    let (single, bulk) = (of("SingleProbe (BLOB)")?, of("BulkProbe")?);
    let misses =
        |cost: MeasuredCost| cost.misses.map_or_else(|| "?".to_owned(), |misses| format!("{misses:.0}"));
    let mut table = HtmlTable::new(&["", "microseconds a document", "page misses a document"]);
    let row = |name: String, cost: MeasuredCost| vec![name, format!("{:.1}", cost.micros), misses(cost)];
    table.rows.extend(variants.iter().map(|variant| row(variant.name.clone(), variant.cost)));
    for MeasuredSweepPoint { cache, single, bulk } in &sweep {
        let at = format!("cache of {:.0}% of STAT", 100.0 * cache);
        table.rows.push(row(format!("SingleProbe (BLOB), {at}"), *single));
        table.rows.push(row(format!("BulkProbe, {at}"), *bulk));
    }
    let times = single.micros / bulk.micros.max(1e-9);
    let fewer = single.misses.zip(bulk.misses).is_some_and(|(single, bulk)| single >= 10.0 * bulk);
    Some(Figure {
        here: format!(
            "at a cache of 5% of STAT a document costs SingleProbe {:.2} ms and {} page misses, BulkProbe {:.2} ms and {}: \
             {:.1} times the time of SingleProbe, on a machine whose memory holds the file, so that a miss costs no disk; a line \
             through BulkProbe's times over its output explains {:.2} of their variance.",
            single.micros / 1e3,
            misses(single),
            bulk.micros / 1e3,
            misses(bulk),
            times.recip(),
            fit.r2
        ),
        verdict: ClaimVerdict::of_parts(&[
            ("a tenth of the time", times >= 10.0),
            ("a tenth of the page misses", fewer),
            ("linear in the output", fit.r2 > 0.9),
        ]),
        table,
        ..figure
    })
}

/// V Fig. 8 d.
pub(super) fn distiller(evidence: &TracedResults) -> Option<Figure> {
    let found: Option<MeasuredDistiller> = evidence.results.study("distiller").ok().flatten();
    let figure = Figure {
        id: "database-distiller",
        title: "The distiller inside the database",
        paper: "V Fig. 8 d",
        there: "distillation by joins is three times as fast as a walk along the links",
        drawings: drawing(evidence, "distiller"),
        ..Figure::default()
    };
    let Some(MeasuredDistiller { pages, links, variants }) = found else {
        return Some(Figure { here: not_made(evidence, "distiller"), ..figure });
    };
    let finding = |name: &str| variants.iter().find(|variant| variant.name == name).map(|of| of.finding);
    let (walk, join) = (finding("edge walk in the database")?, finding("joins in the database")?);
    let mut table = HtmlTable::new(&["variant", "reading, ms", "finding scores, ms"]);
    let row = |of: &MeasuredDistillerVariant| {
        vec![of.name.clone(), format!("{:.1}", of.reading), format!("{:.1}", of.finding)]
    };
    table.rows.extend(variants.iter().map(row));
    let times = walk / join.max(1e-9);
    Some(Figure {
        here: format!(
            "on {pages} pages and {links} links joins take {join:.0} ms and the walk {walk:.0} ms, {times:.1} times as long, \
             once links are weighed."
        ),
        verdict: ClaimVerdict::of(times >= 2.0),
        table,
        ..figure
    })
}
