//! The I/O figures of the classifier, V Fig. 8 (a) to (c): SingleProbe over STAT and over BLOB and BulkProbe,
//! on statistics larger than the page cache that they are given.

mod figures;
mod measure;
mod model;

pub use figures::{Cost, FigureTable, Figures, Fit, OutputPoint, Size, SweepPoint, Variant};
pub use measure::{Bench, NativeCritic};
pub use model::SyntheticModel;

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use porthole_types::{Mark, TopicId};

    use super::*;

    #[test]
    fn a_synthetic_model_is_a_model_and_always_the_same() {
        let model = SyntheticModel::new(100, 2_000, 7);
        assert_eq!((model.topics().len(), model.nodes().len()), (100, 99));
        let parents: BTreeMap<_, _> = model.topics().iter().map(|row| (row.id, row.parent)).collect();
        let mut priors = BTreeMap::<TopicId, f64>::new();
        for node in model.nodes() {
            *priors.entry(parents[&node.topic]).or_default() += node.logprior.exp();
        }
        assert!(priors.values().all(|sum| (sum - 1.0).abs() < 1e-9), "{priors:?}");
        let stats: Vec<_> = model.stats().collect();
        assert!(stats.iter().all(|row| parents[&row.topic] == row.parent && row.logtheta < 0.0));
        let keys: HashSet<_> = stats.iter().map(|row| (row.topic, row.term)).collect();
        assert_eq!(keys.len(), stats.len());
        let good = model.topics().iter().filter(|row| row.mark == Mark::Good).count();
        assert_eq!(good, 12);
        let again = SyntheticModel::new(100, 2_000, 7);
        assert!(again.stats().eq(stats) && again.documents(5) == model.documents(5));
        assert_ne!(SyntheticModel::new(100, 2_000, 8).documents(5), model.documents(5));
    }

    #[test]
    fn a_small_bench_has_all_figures_and_the_variants_agree() {
        let folder = tempfile::tempdir().unwrap();
        let model = SyntheticModel::new(100, 2_000, 1);
        let documents = model.documents(16);
        let bench = Bench::new(folder.path(), model.topics(), model.nodes(), &mut model.stats(), &documents);
        let mut judged = 0;
        let mut native = |terms: &[_]| judged += terms.len();
        let figures = bench.unwrap().run(Some(&mut native), &mut |_| ()).unwrap();
        assert!(judged > 16, "the native critic was not asked");
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
