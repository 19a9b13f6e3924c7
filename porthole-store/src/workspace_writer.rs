//! Writes beside a crawl: topics, examples, models, feedback, settings.

use porthole_types::{Event, Timestamp, TopicRow};

use crate::about::Feedback;
use crate::statistics::{DocumentRow, NodeRow, StatRow};
use crate::topics::{ExampleChange, NewExample, StoredModel, TermWord, TopicChange};
use crate::{DistilledScores, KeptQuery, Result, StoreReader};

/// A command to a running crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRow {
    /// Its number.
    pub id: u64,
    /// When it was given.
    pub at: Timestamp,
    /// Name of the command.
    pub what: String,
    /// Its parameters.
    pub parameters: String,
    /// The crawl's answer, if there is one.
    pub answer: Option<CommandAnswer>,
}

/// The answer of a crawl to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandAnswer {
    /// When it was answered.
    pub at: Timestamp,
    /// Whether the command failed.
    pub failed: bool,
    /// What was done, or why it failed, as text.
    pub outcome: String,
}

/// Writes that do not touch the frontier: what users and training change in a workspace. Each is one short transaction,
/// so that any number of writers may be open beside the one [`Store`](crate::Store) of a running crawl.
pub trait WorkspaceWriter: Send {
    /// The value of a setting.
    fn setting(&self, name: &str) -> Result<Option<String>>;

    /// Writes settings in one transaction.
    fn set_settings(&mut self, settings: &[(&str, &str)]) -> Result<()>;

    /// Writes a setting.
    fn set_setting(&mut self, name: &str, value: &str) -> Result<()> {
        self.set_settings(&[(name, value)])
    }

    /// Appends events.
    fn append(&mut self, events: &[Event]) -> Result<()>;

    /// The topic tree, by id; it always has the root.
    fn topics(&self) -> Result<Vec<TopicRow>> {
        self.reader().topics()
    }

    /// Writes a change of topics and examples in one transaction.
    fn change_topics(&mut self, change: &TopicChange<'_>) -> Result<()>;

    /// Replaces the tree. Fails if a removed topic has examples: [`change_topics`](WorkspaceWriter::change_topics) can
    /// move or remove them in the same transaction.
    fn set_topics(&mut self, topics: &[TopicRow]) -> Result<()> {
        self.change_topics(&TopicChange { topics: Some(topics), ..TopicChange::default() })
    }

    /// Adds examples in one transaction. One with the URL of another of its topic replaces it and keeps its id.
    fn add_examples(&mut self, examples: &[NewExample]) -> Result<()> {
        self.change_topics(&TopicChange { added: examples, ..TopicChange::default() })
    }

    /// Moves and removes examples, in this order and in one transaction.
    fn change_examples(&mut self, changes: &[ExampleChange]) -> Result<()> {
        self.change_topics(&TopicChange { examples: changes, ..TopicChange::default() })
    }

    /// Adds readable words for terms, replacing those of the same stem.
    fn add_terms(&mut self, terms: &[TermWord]) -> Result<()> {
        self.change_topics(&TopicChange { terms, ..TopicChange::default() })
    }

    /// Replaces the scores by those of a new distillation.
    fn set_scores(&mut self, scores: &DistilledScores<'_>) -> Result<()>;

    /// Stores a model, replacing the one of the same name.
    fn set_model(&mut self, name: &str, model: &StoredModel) -> Result<()>;

    /// Replaces the statistics in TAXONOMY, STAT and BLOB.
    fn set_statistics(&mut self, nodes: &[NodeRow], stats: &mut dyn Iterator<Item = StatRow>) -> Result<()>;

    /// Replaces the documents in DOCUMENT.
    fn set_documents(&mut self, documents: &mut dyn Iterator<Item = DocumentRow>) -> Result<()>;

    /// Stores feedback; the latest for a name and kind is in force.
    fn add_feedback(&mut self, feedback: &[Feedback]) -> Result<()>;

    /// Disables or enables sites in one transaction (W 4.2). An unknown host is an error.
    fn set_disabled(&mut self, hosts: &[&str], disabled: bool) -> Result<()>;

    /// Sends a command to the crawl that runs on the database and returns its id. [`StoreReader::command`] reads the
    /// answer.
    fn append_command(&mut self, what: &str, parameters: &str, at: Timestamp) -> Result<u64>;

    /// The unanswered commands, oldest first.
    fn open_commands(&self) -> Result<Vec<CommandRow>>;

    /// The commands with ids above this one, answered or not.
    fn commands_after(&self, id: u64) -> Result<Vec<CommandRow>>;

    /// Answers a command.
    fn answer_command(&mut self, id: u64, answer: &CommandAnswer) -> Result<()>;

    /// Keeps a query with the workspace, replacing the one of the same name.
    fn keep_query(&mut self, query: &KeptQuery) -> Result<()>;

    /// Drops a kept query. Returns whether there was one of this name.
    fn drop_query(&mut self, name: &str) -> Result<bool>;

    /// A handle for reading while this one writes, also from other threads.
    fn reader(&self) -> Box<dyn StoreReader>;
}
