//! What is written beside a crawl: topics, examples, models, feedback, settings.

use porthole_types::{Event, Timestamp, TopicRow};

use crate::about::Feedback;
use crate::statistics::{Document, NodeRow, StatRow};
use crate::topics::{ExampleChange, Model, NewExample, TermWord, TopicChange};
use crate::{Result, Scores, StoreReader};

/// Something that a running crawl was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRow {
    /// Its number.
    pub id: u64,
    /// When it was given.
    pub at: Timestamp,
    /// What it is about: a word.
    pub what: String,
    /// What goes with the word.
    pub parameters: String,
    /// What the crawl answered, if it has.
    pub answer: Option<CommandAnswer>,
}

/// What a crawl answered to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandAnswer {
    /// When.
    pub at: Timestamp,
    /// Whether it could not be done.
    pub failed: bool,
    /// What was done, or why not, in words.
    pub outcome: String,
}

/// The writes that are not the frontier's: what people and training change about a workspace. Each is one short
/// transaction, so that any number of desks may be open beside the one [`Store`] of a running crawl.
pub trait WorkspaceWriter: Send {
    /// The value of a setting.
    fn setting(&self, name: &str) -> Result<Option<String>>;

    /// Writes settings, all or none.
    fn set_settings(&mut self, settings: &[(&str, &str)]) -> Result<()>;

    /// Writes a setting.
    fn set_setting(&mut self, name: &str, value: &str) -> Result<()> {
        self.set_settings(&[(name, value)])
    }

    /// Writes events behind those that are there.
    fn append(&mut self, events: &[Event]) -> Result<()>;

    /// The tree of topics, by id; there is always the root.
    fn topics(&self) -> Result<Vec<TopicRow>> {
        self.reader().topics()
    }

    /// Writes what changed about topics and their examples, all of it or nothing.
    fn change_topics(&mut self, change: &TopicChange<'_>) -> Result<()>;

    /// Puts a tree in place of the one that is there. Refused if a topic would vanish that has examples:
    /// [`change_topics`](WorkspaceWriter::change_topics) can move or remove them in the same commit.
    fn set_topics(&mut self, topics: &[TopicRow]) -> Result<()> {
        self.change_topics(&TopicChange { topics: Some(topics), ..TopicChange::default() })
    }

    /// Adds examples, all or none. One with the URL of another of its topic takes that one's place and id.
    fn add_examples(&mut self, examples: &[NewExample]) -> Result<()> {
        self.change_topics(&TopicChange { added: examples, ..TopicChange::default() })
    }

    /// Moves and removes examples, all or none, in this order.
    fn change_examples(&mut self, changes: &[ExampleChange]) -> Result<()> {
        self.change_topics(&TopicChange { examples: changes, ..TopicChange::default() })
    }

    /// Adds readable words for terms; for a stem that has one, the new word counts.
    fn add_terms(&mut self, terms: &[TermWord]) -> Result<()> {
        self.change_topics(&TopicChange { terms, ..TopicChange::default() })
    }

    /// Writes the scores of a distillation in place of the last one's.
    fn set_scores(&mut self, scores: &Scores<'_>) -> Result<()>;

    /// Keeps a model under a name, in place of the one that is there.
    fn set_model(&mut self, name: &str, model: &Model) -> Result<()>;

    /// Writes what was learnt about the tree in place of what is there: TAXONOMY, STAT and BLOB.
    fn set_statistics(&mut self, nodes: &[NodeRow], stats: &mut dyn Iterator<Item = StatRow>) -> Result<()>;

    /// Fills DOCUMENT with documents in place of those that are there.
    fn set_documents(&mut self, documents: &mut dyn Iterator<Item = Document>) -> Result<()>;

    /// Writes what people say of what was found; the last word on a name of a kind counts.
    fn add_feedback(&mut self, feedback: &[Feedback]) -> Result<()>;

    /// Disables sites, or enables them again, all or none (W 4.2). A host that is not known is refused by
    /// name.
    fn set_disabled(&mut self, hosts: &[&str], disabled: bool) -> Result<()>;

    /// Tells a crawl that runs on the database something; the command's id. [`StoreReader::command`] has the answer.
    fn append_command(&mut self, what: &str, parameters: &str, at: Timestamp) -> Result<u64>;

    /// The commands that wait for an answer, oldest first.
    fn open_commands(&self) -> Result<Vec<CommandRow>>;

    /// Answers a command.
    fn answer_command(&mut self, id: u64, answer: &CommandAnswer) -> Result<()>;

    /// A handle for reading while this one writes, also from other threads.
    fn reader(&self) -> Box<dyn StoreReader>;
}
