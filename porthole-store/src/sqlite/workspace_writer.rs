//! Writes beside a crawl: short transactions that alternate with those of the store.

use std::path::{Path, PathBuf};

use porthole_types::{CanonicalUrl, Event, Timestamp, TopicRow};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::write::{insert_events, write_scores, write_settings};
use super::{SqliteReader, SqliteStore, commands, kept, open, statistics, topics};
use crate::about::{Feedback, FeedbackKind};
use crate::{
    CommandAnswer, CommandRow, DistilledScores, DocumentRow, Error, KeptQuery, NodeRow, Result, StatRow,
    StoreReader, StoredModel, TopicChange, WorkspaceWriter,
};

/// A SQLite database, open for writes beside a crawl. It keeps nothing in memory, and blocks a crawl only for the
/// duration of a write.
#[derive(Debug)]
pub struct SqliteWorkspaceWriter {
    path: PathBuf,
    db: Connection,
}

impl SqliteWorkspaceWriter {
    /// Opens an existing database, whether or not a crawl runs on it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let db = open::workspace_writer(&path)?;
        Ok(SqliteWorkspaceWriter { path, db })
    }
}

/// Access to the database, common to both writers.
trait Tables: Send {
    fn path(&self) -> &Path;
    fn db(&self) -> &Connection;
    fn db_mut(&mut self) -> &mut Connection;

    /// Called after scores were written.
    fn scored(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Tables for SqliteWorkspaceWriter {
    fn path(&self) -> &Path {
        &self.path
    }

    fn db(&self) -> &Connection {
        &self.db
    }

    fn db_mut(&mut self) -> &mut Connection {
        &mut self.db
    }
}

impl Tables for SqliteStore {
    fn path(&self) -> &Path {
        &self.path
    }

    fn db(&self) -> &Connection {
        &self.db
    }

    fn db_mut(&mut self) -> &mut Connection {
        &mut self.db
    }

    fn scored(&mut self) -> Result<()> {
        self.follow_scores()
    }
}

impl<T: Tables> WorkspaceWriter for T {
    fn set_scores(&mut self, scores: &DistilledScores<'_>) -> Result<()> {
        write_scores(self.db_mut(), scores)?;
        self.scored()
    }

    fn setting(&self, name: &str) -> Result<Option<String>> {
        read_setting(self.db(), name)
    }

    fn set_settings(&mut self, settings: &[(&str, &str)]) -> Result<()> {
        let tx = self.db_mut().transaction_with_behavior(TransactionBehavior::Immediate)?;
        write_settings(&tx, settings)?;
        Ok(tx.commit()?)
    }

    fn append(&mut self, events: &[Event]) -> Result<()> {
        let tx = self.db_mut().transaction_with_behavior(TransactionBehavior::Immediate)?;
        insert_events(&tx, events)?;
        Ok(tx.commit()?)
    }

    fn topics(&self) -> Result<Vec<TopicRow>> {
        topics::read_topics(self.db())
    }

    fn change_topics(&mut self, change: &TopicChange<'_>) -> Result<()> {
        topics::change(self.db_mut(), change)
    }

    fn set_model(&mut self, name: &str, model: &StoredModel) -> Result<()> {
        topics::write_model(self.db(), name, model)
    }

    fn set_statistics(&mut self, nodes: &[NodeRow], stats: &mut dyn Iterator<Item = StatRow>) -> Result<()> {
        statistics::write(self.db_mut(), nodes, stats)
    }

    fn set_documents(&mut self, documents: &mut dyn Iterator<Item = DocumentRow>) -> Result<()> {
        statistics::write_documents(self.db_mut(), documents)
    }

    fn add_feedback(&mut self, feedback: &[Feedback]) -> Result<()> {
        let tx = self.db_mut().transaction_with_behavior(TransactionBehavior::Immediate)?;
        let sql = "insert into feedback(oid, url, kind, useful, at) values (?1, ?2, ?3, ?4, ?5)";
        let mut insert = tx.prepare_cached(sql)?;
        for word in feedback {
            let oid = oid(word).map(|url| url.id().0.cast_signed());
            insert.execute(params![oid, word.name, word.kind.name(), word.useful, word.at.0])?;
        }
        drop(insert);
        Ok(tx.commit()?)
    }

    fn set_disabled(&mut self, hosts: &[&str], disabled: bool) -> Result<()> {
        let tx = self.db_mut().transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut update = tx.prepare_cached("update site set disabled = ?2 where host = ?1")?;
        for host in hosts {
            if update.execute(params![host, disabled])? == 0 {
                return Err(Error::UnknownSite((*host).to_owned()));
            }
        }
        drop(update);
        Ok(tx.commit()?)
    }

    fn append_command(&mut self, what: &str, parameters: &str, at: Timestamp) -> Result<u64> {
        commands::append(self.db(), what, parameters, at)
    }

    fn open_commands(&self) -> Result<Vec<CommandRow>> {
        commands::open(self.db())
    }

    fn answer_command(&mut self, id: u64, answer: &CommandAnswer) -> Result<()> {
        commands::answer(self.db(), id, answer)
    }

    fn keep_query(&mut self, query: &KeptQuery) -> Result<()> {
        kept::keep(self.db(), query)
    }

    fn drop_query(&mut self, name: &str) -> Result<bool> {
        kept::drop(self.db(), name)
    }

    fn reader(&self) -> Box<dyn StoreReader> {
        Box::new(SqliteReader::at(self.path().to_owned()))
    }
}

/// The value of a setting.
pub(super) fn read_setting(db: &Connection, name: &str) -> Result<Option<String>> {
    let mut read = db.prepare_cached("select value from setting where name = ?1")?;
    Ok(read.query_row([name], |row| row.get(0)).optional()?)
}

/// The URL of the feedback; `None` for a site.
fn oid(word: &Feedback) -> Option<CanonicalUrl> {
    if word.kind == FeedbackKind::Site { None } else { CanonicalUrl::parse(&word.name).ok() }
}
