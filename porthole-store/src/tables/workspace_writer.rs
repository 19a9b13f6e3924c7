//! Writes beside a crawl: short transactions that alternate with those of the store.

use std::path::Path;

use crate::sql::{Connection, Optional, params};
use porthole_types::{CanonicalUrl, Event, Timestamp, TopicRow};

use super::write::{insert_events, write_scores, write_settings};
use super::{DatabaseLocation, TableReader, TableStore, commands, kept, statistics, topics};
use crate::about::{Feedback, FeedbackKind};
use crate::{
    CommandAnswer, CommandRow, DistilledScores, DocumentRow, Error, KeptQuery, NodeRow, Result, StatRow,
    StoreReader, StoredModel, TopicChange, WorkspaceWriter,
};

/// A database, open for writes beside a crawl. It keeps nothing in memory, and blocks a crawl only for the
/// duration of a write.
#[derive(Debug)]
pub struct TableWriter {
    location: DatabaseLocation,
    db: Connection,
}

impl TableWriter {
    /// Opens an existing SQLite database, whether or not a crawl runs on it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        TableWriter::open_at(&path.as_ref().into())
    }

    /// Opens a database, whether or not a crawl runs on it.
    pub fn open_at(location: &DatabaseLocation) -> Result<Self> {
        Ok(TableWriter { location: location.clone(), db: location.workspace_writer()? })
    }
}

/// Access to the database, common to both writers.
trait Tables: Send {
    fn location(&self) -> &DatabaseLocation;
    fn db(&self) -> &Connection;

    /// Called after scores were written.
    fn scored(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Tables for TableWriter {
    fn location(&self) -> &DatabaseLocation {
        &self.location
    }

    fn db(&self) -> &Connection {
        &self.db
    }
}

impl Tables for TableStore {
    fn location(&self) -> &DatabaseLocation {
        &self.location
    }

    fn db(&self) -> &Connection {
        &self.db
    }

    fn scored(&mut self) -> Result<()> {
        self.follow_scores()
    }
}

impl<T: Tables> WorkspaceWriter for T {
    fn set_scores(&mut self, scores: &DistilledScores<'_>) -> Result<()> {
        write_scores(self.db(), scores)?;
        self.scored()
    }

    fn setting(&self, name: &str) -> Result<Option<String>> {
        read_setting(self.db(), name)
    }

    fn set_settings(&mut self, settings: &[(&str, &str)]) -> Result<()> {
        let tx = self.db().write_transaction()?;
        write_settings(&tx, settings)?;
        tx.commit()
    }

    fn append(&mut self, events: &[Event]) -> Result<()> {
        let tx = self.db().write_transaction()?;
        insert_events(&tx, events)?;
        tx.commit()
    }

    fn topics(&self) -> Result<Vec<TopicRow>> {
        topics::read_topics(self.db())
    }

    fn change_topics(&mut self, change: &TopicChange<'_>) -> Result<()> {
        topics::change(self.db(), change)
    }

    fn set_model(&mut self, name: &str, model: &StoredModel) -> Result<()> {
        topics::write_model(self.db(), name, model)
    }

    fn set_statistics(&mut self, nodes: &[NodeRow], stats: &mut dyn Iterator<Item = StatRow>) -> Result<()> {
        statistics::write(self.db(), nodes, stats)
    }

    fn set_documents(&mut self, documents: &mut dyn Iterator<Item = DocumentRow>) -> Result<()> {
        statistics::write_documents(self.db(), documents)
    }

    fn add_feedback(&mut self, feedback: &[Feedback]) -> Result<()> {
        let tx = self.db().write_transaction()?;
        let sql = "insert into feedback(oid, url, kind, useful, at) values (?1, ?2, ?3, ?4, ?5)";
        let mut insert = tx.prepare(sql)?;
        for word in feedback {
            let oid = oid(word).map(|url| url.id().0.cast_signed());
            insert.send(params![oid, word.name, word.kind.name(), word.useful, word.at.0])?;
        }
        drop(insert);
        tx.commit()
    }

    fn set_disabled(&mut self, hosts: &[&str], disabled: bool) -> Result<()> {
        let tx = self.db().write_transaction()?;
        let mut update = tx.prepare("update site set disabled = ?2 where host = ?1")?;
        for host in hosts {
            if update.execute(params![host, disabled])? == 0 {
                return Err(Error::UnknownSite((*host).to_owned()));
            }
        }
        drop(update);
        tx.commit()
    }

    fn append_command(&mut self, what: &str, parameters: &str, at: Timestamp) -> Result<u64> {
        commands::append(self.db(), what, parameters, at)
    }

    fn open_commands(&self) -> Result<Vec<CommandRow>> {
        commands::open(self.db())
    }

    fn commands_after(&self, id: u64) -> Result<Vec<CommandRow>> {
        commands::after(self.db(), id)
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
        Box::new(TableReader::at(self.location().clone()))
    }
}

/// The value of a setting.
pub(super) fn read_setting(db: &Connection, name: &str) -> Result<Option<String>> {
    let mut read = db.prepare("select value from setting where name = ?1")?;
    read.query_row([name], |row| row.get(0)).optional()
}

/// The URL of the feedback; `None` for a site.
fn oid(word: &Feedback) -> Option<CanonicalUrl> {
    if word.kind == FeedbackKind::Site { None } else { CanonicalUrl::parse(&word.name).ok() }
}
