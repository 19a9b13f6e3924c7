//! The I/O figures of the classifier, V Fig. 8 (a) to (c): SingleProbe over STAT and over BLOB and BulkProbe,
//! on statistics larger than the page cache that they are given, with the native critic beside them.

mod figures;
mod measure;
mod model;
mod rows;

pub use figures::{Cost, FigureTable, Figures, Fit, OutputPoint, Size, SweepPoint, Variant};
pub use measure::Bench;
pub use model::SyntheticModel;
pub use rows::table_rows;

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use porthole_topic::{Critic, Taxonomy};
    use porthole_types::{Mark, TopicId};

    use super::*;

    #[test]
    fn a_synthetic_model_is_a_model_and_always_the_same() {
        let model = SyntheticModel::new(100, 2_000, 7);
        let (nodes, stats) = table_rows(&model.model());
        assert_eq!((model.topics().len(), nodes.len()), (100, 99));
        let parents: BTreeMap<_, _> = model.topics().iter().map(|row| (row.id, row.parent)).collect();
        let mut priors = BTreeMap::<TopicId, f64>::new();
        for node in &nodes {
            *priors.entry(parents[&node.topic]).or_default() += node.logprior.exp();
        }
        assert!(priors.values().all(|sum| (sum - 1.0).abs() < 1e-9), "{priors:?}");
        assert!(stats.iter().all(|row| parents[&row.topic] == row.parent && row.logtheta < 0.0));
        let keys: HashSet<_> = stats.iter().map(|row| (row.topic, row.term)).collect();
        assert_eq!(keys.len(), stats.len());
        let good = model.topics().iter().filter(|row| row.mark == Mark::Good).count();
        assert_eq!(good, 12);
        let again = SyntheticModel::new(100, 2_000, 7);
        assert!(again.model() == model.model() && again.documents(5) == model.documents(5));
        assert_ne!(SyntheticModel::new(100, 2_000, 8).documents(5), model.documents(5));
    }

    #[test]
    fn a_small_bench_has_all_figures_and_the_variants_agree() {
        let folder = tempfile::tempdir().unwrap();
        let model = SyntheticModel::new(100, 2_000, 1);
        let documents = model.documents(16);
        let tree = Taxonomy::from_rows(model.topics()).unwrap();
        let mut critic = Critic::new(model.model(), &tree).uncalibrated();
        let mut bench = Bench::new(folder.path(), model.topics(), &mut critic, &documents).unwrap();
        let figures = bench.run(&mut |_| ()).unwrap();
        assert!(figures.disagreement < 1e-9, "{}", figures.disagreement);
        let names: Vec<_> = figures.variants.iter().map(|variant| variant.name).collect();
        assert_eq!(names, ["SingleProbe (STAT)", "SingleProbe (BLOB)", "BulkProbe", "native critic"]);
        assert!(figures.sweep.len() == 8 && figures.output.len() == 24);
        assert!(figures.tables().iter().all(|table| table.rows[0].len() == table.head.len()));
        let svg = figures.svg();
        for word in ["(a) ", "(b) ", "(c) ", "BulkProbe", "page misses a document"] {
            assert!(svg.contains(word), "{word}");
        }
    }
}
