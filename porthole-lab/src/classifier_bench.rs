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

use porthole_topic::{Critic, Taxonomy, TaxonomyError};

/// What is measured on.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Topics of the made-up taxonomy.
    pub nodes: u16,
    /// Documents that are judged together.
    pub documents: u32,
    /// Terms of the made-up language.
    pub vocabulary: u32,
    /// Seed of the made-up statistics and documents.
    pub seed: u64,
}

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// There is no room for the database.
    #[error("no room for the database: {0}")]
    Scratch(#[from] std::io::Error),
    /// The made-up topics are no tree.
    #[error(transparent)]
    Topics(#[from] TaxonomyError),
    /// The database refused.
    #[error(transparent)]
    Store(#[from] porthole_store::Error),
}

impl Setup {
    /// What is measured on if nothing else is said.
    pub const USUAL: Setup = Setup { nodes: 2_000, documents: 400, vocabulary: 100_000, seed: 1 };

    /// Measures everything, in a database of its own. `step` hears what is done next.
    ///
    /// # Errors
    /// If the database cannot be written or read.
    pub fn run(self, step: &mut dyn FnMut(&str)) -> Result<Figures, BenchError> {
        let folder = tempfile::tempdir()?;
        let model = SyntheticModel::new(usize::from(self.nodes), self.vocabulary, self.seed);
        let tree = Taxonomy::from_rows(model.topics())?;
        let mut critic = Critic::new(model.model(), &tree).uncalibrated();
        let documents = model.documents(self.documents as usize);
        step("filling the tables");
        let mut bench = Bench::new(folder.path(), model.topics(), &mut critic, &documents)?;
        Ok(bench.run(&mut |what| step(&format!("measuring {what}")))?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

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
        let setup = Setup { nodes: 100, documents: 16, vocabulary: 2_000, seed: 1 };
        let figures = setup.run(&mut |_| ()).unwrap();
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
