//! Kept queries.

use crate::sql::{Connection, params};
use porthole_types::Timestamp;

use crate::{KeptQuery, Result};

pub(super) fn keep(db: &Connection, query: &KeptQuery) -> Result<()> {
    let pairs = query.parameters.iter().map(|(name, value)| format!("{name}={value}"));
    db.execute(
        "insert into kept_query(name, question, parameters, topics, at) values (?1, ?2, ?3, ?4, ?5) \
         on conflict(name) do update set question = excluded.question, parameters = excluded.parameters, \
         topics = excluded.topics, at = excluded.at",
        params![
            query.name,
            query.question,
            pairs.collect::<Vec<_>>().join("\n"),
            query.topics.join("\n"),
            query.at.0,
        ],
    )?;
    Ok(())
}

pub(super) fn drop(db: &Connection, name: &str) -> Result<bool> {
    Ok(db.execute("delete from kept_query where name = ?1", [name])? > 0)
}

pub(super) fn read(db: &Connection) -> Result<Vec<KeptQuery>> {
    let mut read =
        db.prepare("select name, question, parameters, topics, at from kept_query order by name")?;
    let found = read.query_map((), |row| {
        let (parameters, topics): (String, String) = (row.get(2)?, row.get(3)?);
        let pair = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(KeptQuery {
            name: row.get(0)?,
            question: row.get(1)?,
            parameters: parameters.lines().filter_map(pair).collect(),
            topics: topics.lines().map(str::to_owned).collect(),
            at: Timestamp(row.get(4)?),
        })
    })?;
    Ok(found)
}
