//! The I/O figures of the classifier, V Fig. 8 (a) to (c): SingleProbe over STAT and over BLOB, and BulkProbe, on
//! statistics larger than the page cache, compared with the native critic.

mod figures;
mod measure;
mod model;
mod rows;

pub use figures::{
    BenchSize, CacheSweepPoint, ClassifierFigures, ClassifierVariant, DocumentCost, FigureTable, LineFit,
    OutputPoint,
};
pub use measure::ClassifierBench;
pub use model::SyntheticModel;
pub use rows::table_rows;

use porthole_store::DatabaseLocation;
use porthole_topic::{Critic, Taxonomy, TaxonomyError};

/// Setup of the benchmark.
#[derive(Clone, Copy, Debug)]
pub struct ClassifierSetup {
    /// Topics of the synthetic taxonomy.
    pub nodes: u16,
    /// Documents that are judged together.
    pub documents: u32,
    /// Terms of the synthetic language.
    pub vocabulary: u32,
    /// Seed of the synthetic statistics and documents.
    pub seed: u64,
}

/// Errors of the benchmark.
#[derive(Debug, thiserror::Error)]
pub enum ClassifierBenchError {
    /// The temporary database could not be created.
    #[error("cannot create the temporary database: {0}")]
    Scratch(#[from] std::io::Error),
    /// The synthetic topics are not a valid tree.
    #[error(transparent)]
    Topics(#[from] TaxonomyError),
    /// A database error.
    #[error(transparent)]
    Store(#[from] porthole_store::Error),
}

impl ClassifierSetup {
    /// The default setup.
    pub const USUAL: ClassifierSetup =
        ClassifierSetup { nodes: 2_000, documents: 400, vocabulary: 100_000, seed: 1 };

    /// Runs all measurements, in an empty database or, without one, in a temporary file. `step` is called with a
    /// description of each step.
    ///
    /// # Errors
    /// If the database cannot be written or read.
    pub fn run(
        self,
        database: Option<DatabaseLocation>,
        step: &mut dyn FnMut(&str),
    ) -> Result<ClassifierFigures, ClassifierBenchError> {
        let folder = tempfile::tempdir()?;
        let database =
            database.unwrap_or_else(|| DatabaseLocation::File(folder.path().join("classifier.db")));
        let model = SyntheticModel::new(usize::from(self.nodes), self.vocabulary, self.seed);
        let tree = Taxonomy::from_rows(model.topics())?;
        let mut critic = Critic::new(model.model(), &tree).uncalibrated();
        let documents = model.documents(self.documents as usize);
        step("filling the tables");
        let mut bench = ClassifierBench::new(database, model.topics(), &mut critic, &documents)?;
        Ok(bench.run(&mut |what| step(&format!("measuring {what}")))?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use porthole_types::{Mark, TopicId};

    use super::*;

    #[test]
    fn a_synthetic_model_is_valid_and_deterministic() {
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
        let setup = ClassifierSetup { nodes: 100, documents: 16, vocabulary: 2_000, seed: 1 };
        let figures = setup.run(None, &mut |_| ()).unwrap();
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
