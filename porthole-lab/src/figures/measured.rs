//! What was measured beside the experiment (V Fig. 8): benchmarks leave their drawings in the same folder.

use std::fs;

use super::Figure;
use super::evidence::Evidence;

/// V Fig. 8.
pub(super) fn in_the_database(evidence: &Evidence) -> Option<Figure> {
    let folder = evidence.results.folder();
    let drawing = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let drawings: Vec<String> = ["classifier.svg", "distiller.svg"].into_iter().filter_map(drawing).collect();
    let folder = folder.display();
    let here = match drawings.is_empty() {
        true => format!(
            "not measured yet. porthole lab bench classifier --out {folder} and porthole lab bench distiller --out {folder} \
             leave their figures here."
        ),
        false => "as drawn; the numbers are in classifier.json and distiller.json.".to_owned(),
    };
    Some(Figure {
        id: "database",
        title: "Classifier and distiller inside the database",
        paper: "V Fig. 8",
        there: "bulk probes are ten times as fast as single ones, and joins three times as fast as a walk along the links",
        here,
        drawings,
        ..Figure::default()
    })
}
