//! The tables of topics, examples, words and models.

use std::collections::{BTreeMap, BTreeSet};

use crate::sql::{Connection, Optional, Row, Transaction, Value, params};
use porthole_types::{Mark, TermId, Timestamp, TopicId, TopicRow, pack_terms, unpack_terms};

use crate::topics::{
    Collision, ExampleChange, ExampleId, ExampleState, NewExample, StoredExample, StoredModel, TermCounts,
    TermWord, TopicChange,
};
use crate::{Error, Result};

/// Writes a change in one transaction.
pub(super) fn change(db: &Connection, change: &TopicChange<'_>) -> Result<()> {
    let tx = db.write_transaction()?;
    let before = read_topics(&tx)?;
    if let Some(topics) = change.topics {
        write_topics(&tx, &before, topics)?;
    }
    change_examples(&tx, change.examples)?;
    insert_examples(&tx, change.added)?;
    if change.topics.is_some() {
        refuse_lost_examples(&tx, &before)?;
    }
    insert_terms(&tx, change.terms)?;
    tx.commit()?;
    Ok(())
}

/// The topic tree, by id.
pub(crate) fn read_topics(db: &Connection) -> Result<Vec<TopicRow>> {
    let mut read = db.prepare("select kcid, pcid, name, mark from taxonomy order by kcid")?;
    let mut rows = read.query(())?;
    let mut topics = Vec::new();
    while let Some(row) = rows.next()? {
        let mark: String = row.get(3)?;
        topics.push(TopicRow {
            id: TopicId(row.get(0)?),
            parent: row.get::<Option<u16>>(1)?.map_or(TopicId::ROOT, TopicId),
            name: row.get(2)?,
            mark: Mark::of_name(&mark)
                .ok_or_else(|| Error::Damaged(format!("taxonomy has the unknown mark {mark}")))?,
        });
    }
    Ok(topics)
}

/// The examples of a topic, or all.
pub(super) fn read_examples(db: &Connection, topic: Option<TopicId>) -> Result<Vec<StoredExample>> {
    let one = if topic.is_some() { "where kcid = ?1" } else { "" };
    let mut read = db.prepare(&format!("select {EXAMPLE} from example {one} order by id"))?;
    let mut rows =
        read.query(&topic.map(|topic| Value::Integer(topic.0.into())).into_iter().collect::<Vec<_>>()[..])?;
    let mut examples = Vec::new();
    while let Some(row) = rows.next()? {
        examples.push(example(&row)?);
    }
    Ok(examples)
}

/// Visits all examples with their terms.
pub(super) fn visit_examples(
    db: &Connection,
    visit: &mut dyn FnMut(&StoredExample, &TermCounts),
) -> Result<()> {
    let mut read = db.prepare(&format!("select {EXAMPLE}, terms from example order by id"))?;
    let mut rows = read.query(())?;
    let mut terms = Vec::new();
    while let Some(row) = rows.next()? {
        let example = example(&row)?;
        let packed = row.blob(8)?.and_then(|bytes| unpack_terms(bytes, &mut terms));
        packed
            .ok_or_else(|| Error::Damaged(format!("the terms of example {} cannot be read", example.id)))?;
        visit(&example, &terms);
    }
    Ok(())
}

/// A word for each term.
pub(super) fn read_words(db: &Connection, terms: &[TermId]) -> Result<Vec<Option<String>>> {
    let mut read = db.prepare("select word from term where tid = ?1 order by stem")?;
    let mut word = |term: &TermId| -> Result<Option<String>> {
        let words = read.query_map([term.0], |row| row.get::<String>(0))?;
        Ok((!words.is_empty()).then(|| words.join("/")))
    };
    terms.iter().map(&mut word).collect()
}

/// The terms that stand for several stems.
pub(super) fn read_collisions(db: &Connection) -> Result<Vec<Collision>> {
    let sql = "select tid, stem from term \
               where tid in (select tid from term group by tid having count(*) > 1) order by tid, stem";
    let mut read = db.prepare(sql)?;
    let mut rows = read.query(())?;
    let mut collisions: Vec<Collision> = Vec::new();
    while let Some(row) = rows.next()? {
        let (term, stem) = (TermId(row.get(0)?), row.get(1)?);
        match collisions.last_mut().filter(|last| last.term == term) {
            Some(last) => last.stems.push(stem),
            None => collisions.push(Collision { term, stems: vec![stem] }),
        }
    }
    Ok(collisions)
}

/// A model by name.
/// When a model was made.
pub(super) fn read_model_time(db: &Connection, name: &str) -> Result<Option<Timestamp>> {
    let mut read = db.prepare("select made from model where name = ?1")?;
    read.query_row([name], |row| row.get(0).map(Timestamp)).optional()
}

pub(super) fn read_model(db: &Connection, name: &str) -> Result<Option<StoredModel>> {
    // In one transaction, so that it is not replaced between two of its parts.
    let _together = db.read_transaction()?;
    let mut read = db.prepare("select bytes, made from model where name = ?1")?;
    let mut part = |name: &str| {
        let part = |row: &Row<'_>| Ok(StoredModel { bytes: row.get(0)?, made: Timestamp(row.get(1)?) });
        read.query_row([name], part).optional()
    };
    let Some(mut model) = part(name)? else { return Ok(None) };
    for number in 1.. {
        let Some(next) = part(&part_name(name, number))? else { break };
        model.bytes.extend(next.bytes);
    }
    Ok(Some(model))
}

/// Maximum size of a row of `model` in bytes: SQLite copies the values it is given.
const PART: usize = 1 << 20;

/// The name of a part of a model after the first, which has the model's name.
fn part_name(name: &str, number: usize) -> String {
    format!("{name}#{number}")
}

/// Writes a model, replacing the one of the same name, in parts if it is large.
pub(super) fn write_model(db: &Connection, name: &str, model: &StoredModel) -> Result<()> {
    let tx = db.write_transaction()?;
    // `$` sorts after `#`.
    tx.execute("delete from model where name = ?1 or name > ?1 || '#' and name < ?1 || '$'", [name])?;
    let mut insert = tx.prepare("insert into model(name, bytes, made) values (?1, ?2, ?3)")?;
    let first = model.bytes.len().min(PART);
    insert.execute(params![name, &model.bytes[..first], model.made.0])?;
    for (number, part) in (1..).zip(model.bytes[first..].chunks(PART)) {
        insert.execute(params![part_name(name, number), part, model.made.0])?;
    }
    drop(insert);
    tx.commit()
}

/// The columns that [`example`] reads.
const EXAMPLE: &str = "id, kcid, url, title, source, language, state, detail";

fn example(row: &Row<'_>) -> Result<StoredExample> {
    let (id, state) = (ExampleId(row.get::<i64>(0)?.cast_unsigned()), row.get::<String>(6)?);
    Ok(StoredExample {
        id,
        topic: TopicId(row.get(1)?),
        url: row.get(2)?,
        title: row.get(3)?,
        source: row.get(4)?,
        language: row.get(5)?,
        state: ExampleState::of(&state, row.get(7)?)
            .ok_or_else(|| Error::Damaged(format!("example {id} has the unknown state {state}")))?,
    })
}

fn write_topics(tx: &Transaction<'_>, before: &[TopicRow], topics: &[TopicRow]) -> Result<()> {
    let kept = checked(topics)?;
    let mut remove = tx.prepare("delete from taxonomy where kcid = ?1")?;
    for gone in before.iter().filter(|row| !kept.contains(&row.id)) {
        remove.execute([gone.id.0])?;
    }
    let mut write = tx.prepare(
        "insert into taxonomy(kcid, pcid, name, mark) values (?1, ?2, ?3, ?4) \
         on conflict (kcid) do update set pcid = excluded.pcid, name = excluded.name, mark = excluded.mark",
    )?;
    for row in topics {
        let parent = (row.id != TopicId::ROOT).then_some(row.parent.0);
        write.execute(params![row.id.0, parent, row.name, row.mark.name()])?;
    }
    tx.execute(
        "with recursive paths(kcid, path) as (
             select kcid, substr(name, 1, 0) from taxonomy where pcid is null
             union all
             select taxonomy.kcid, paths.path || '/' || taxonomy.name
             from taxonomy join paths on taxonomy.pcid = paths.kcid
         )
         update taxonomy set path = case paths.path when '' then '/' else paths.path end
         from paths where paths.kcid = taxonomy.kcid",
        (),
    )?;
    forget_statistics(tx, &families(before), &families(topics))
}

/// The ids of a tree, if every topic occurs once and below an existing one.
fn checked(topics: &[TopicRow]) -> Result<BTreeSet<TopicId>> {
    // The root exists whether or not it is listed.
    let mut ids = BTreeSet::from([TopicId::ROOT]);
    for row in topics.iter().filter(|row| row.id != TopicId::ROOT) {
        if !ids.insert(row.id) {
            return Err(Error::NoTree(format!("{:?} occurs twice", row.name)));
        }
    }
    match topics.iter().find(|row| !ids.contains(&row.parent)) {
        Some(row) => {
            Err(Error::NoTree(format!("{:?} is below {}, which is missing", row.name, row.parent.0)))
        }
        None => Ok(ids),
    }
}

/// Every inner node with its children.
fn families(topics: &[TopicRow]) -> BTreeMap<TopicId, BTreeSet<TopicId>> {
    let mut families = BTreeMap::<_, BTreeSet<_>>::new();
    for row in topics.iter().filter(|row| row.id != TopicId::ROOT) {
        families.entry(row.parent).or_default().insert(row.id);
    }
    families
}

/// Deletes the statistics of nodes whose children have changed, since they compare the children.
fn forget_statistics(
    tx: &Transaction<'_>,
    before: &BTreeMap<TopicId, BTreeSet<TopicId>>,
    after: &BTreeMap<TopicId, BTreeSet<TopicId>>,
) -> Result<()> {
    let parents: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for parent in parents.into_iter().filter(|parent| before.get(parent) != after.get(parent)) {
        tx.prepare("delete from stat where pcid = ?1")?.execute([parent.0])?;
        tx.prepare("delete from blob where pcid = ?1")?.execute([parent.0])?;
        tx.prepare("update taxonomy set logprior = null, logdenom = null where pcid = ?1")?
            .execute([parent.0])?;
    }
    Ok(())
}

fn change_examples(tx: &Transaction<'_>, changes: &[ExampleChange]) -> Result<()> {
    for change in changes {
        match *change {
            ExampleChange::Move(id, to) => {
                known(tx, to)?;
                let id_of = id.0.cast_signed();
                // It takes the place of one with its URL.
                let same = "delete from example where kcid = ?2 and id <> ?1 \
                            and url = (select url from example where id = ?1)";
                tx.prepare(same)?.execute(params![id_of, to.0])?;
                let sql = "update example set kcid = ?2 where id = ?1";
                found(id, tx.prepare(sql)?.execute(params![id_of, to.0])?)?;
            }
            ExampleChange::Remove(id) => {
                let sql = "delete from example where id = ?1";
                found(id, tx.prepare(sql)?.execute([id.0.cast_signed()])?)?;
            }
            ExampleChange::MoveAll(from, to) => {
                known(tx, to)?;
                if from != to {
                    let same = "delete from example where kcid = ?2 \
                                and url in (select url from example where kcid = ?1)";
                    tx.prepare(same)?.execute([from.0, to.0])?;
                    let sql = "update example set kcid = ?2 where kcid = ?1";
                    tx.prepare(sql)?.execute([from.0, to.0])?;
                }
            }
            ExampleChange::RemoveAll(from) => {
                tx.prepare("delete from example where kcid = ?1")?.execute([from.0])?;
            }
        }
    }
    Ok(())
}

fn found(id: ExampleId, rows: usize) -> Result<()> {
    if rows == 0 { Err(Error::UnknownExample(id)) } else { Ok(()) }
}

/// Checks that a topic exists.
fn known(tx: &Transaction<'_>, topic: TopicId) -> Result<()> {
    let there = tx.prepare("select 1 from taxonomy where kcid = ?1")?.exists([topic.0])?;
    if there { Ok(()) } else { Err(Error::UnknownTopic(topic)) }
}

fn insert_examples(tx: &Transaction<'_>, examples: &[NewExample]) -> Result<()> {
    let mut insert = tx.prepare(
        "insert into example(kcid, url, title, source, language, state, detail, terms) \
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
         on conflict (kcid, url) do update set title = excluded.title, source = excluded.source, \
         language = excluded.language, state = excluded.state, detail = excluded.detail, \
         terms = excluded.terms",
    )?;
    for example in examples {
        known(tx, example.topic)?;
        insert.execute(params![
            example.topic.0,
            example.url,
            example.title,
            example.source,
            example.language,
            example.state.name(),
            example.state.detail(),
            pack_terms(&example.terms),
        ])?;
    }
    Ok(())
}

/// Checks that no example loses its topic.
fn refuse_lost_examples(tx: &Transaction<'_>, before: &[TopicRow]) -> Result<()> {
    let mut count = tx.prepare(
        "select count(*) from example where kcid = ?1 and not exists (select 1 from taxonomy where kcid = ?1)",
    )?;
    for row in before {
        let examples: u32 = count.query_row([row.id.0], |row| row.get(0))?;
        if examples > 0 {
            return Err(Error::TopicInUse { topic: path(before, row), examples });
        }
    }
    Ok(())
}

/// The path of a topic.
fn path(topics: &[TopicRow], row: &TopicRow) -> String {
    let (mut path, mut at) = (String::new(), row);
    // Bounded, since a damaged table may contain a cycle.
    for _ in 0..topics.len() {
        if at.id == TopicId::ROOT {
            break;
        }
        path = format!("/{}{path}", at.name);
        match topics.iter().find(|above| above.id == at.parent) {
            Some(above) => at = above,
            None => break,
        }
    }
    path
}

fn insert_terms(tx: &Transaction<'_>, terms: &[TermWord]) -> Result<()> {
    let mut insert = tx.prepare(
        "insert into term(tid, stem, word) values (?1, ?2, ?3) \
         on conflict (tid, stem) do update set word = excluded.word where term.word <> excluded.word",
    )?;
    // Hashes are spread over the table; in ascending order every page is touched once.
    let mut sorted: Vec<_> = terms.iter().map(|term| (TermId::of(term.stem.as_bytes()), term)).collect();
    sorted.sort_by_key(|&(tid, _)| tid);
    for (tid, term) in sorted {
        insert.send(params![tid.0, term.stem, term.word])?;
    }
    Ok(())
}
