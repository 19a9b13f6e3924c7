//! A pretrained taxonomy: a tree with the counts of its examples and the choices made on them, without the examples. A
//! user's own topics and examples are trained together with it.

use std::collections::BTreeMap;

use porthole_types::{Mark, TermId, TopicId, TopicRow};

use crate::bytes::{FormatError, SectionReader, SectionWriter};
use crate::calibration::Calibration;
use crate::naive_bayes::{TOPICAL, TermCounting, Tuning};
use crate::statistics::{Statistics, TermSeen, TopicStatistics};
use crate::taxonomy::Taxonomy;
use crate::train::Tunings;

/// A tree and everything that training needs to know about its examples.
#[derive(Clone, Debug, PartialEq)]
pub struct Pretrained {
    /// Origin of the counts and their licence.
    pub source: String,
    /// The topics.
    pub tree: Taxonomy,
    /// The counts of their examples.
    pub statistics: Statistics,
    /// Hyperparameters chosen at the nodes.
    pub tunings: Tunings,
    /// A readable word for every term.
    pub words: BTreeMap<TermId, String>,
}

const WHAT: &str = "taxonomy";
const MAGIC: &[u8; 8] = b"PHTAXON\n";
const VERSION: u32 = 1;

/// A static, because a constant is copied into every crate that uses it.
static GENERAL: &[u8] = include_bytes!("../assets/general.taxonomy");

impl Pretrained {
    /// The general taxonomy that comes with the program (W 2.1), which provides negative examples and candidate topics
    /// from the start. Made by `porthole lab general`.
    pub fn general() -> Result<Pretrained, FormatError> {
        Pretrained::from_bytes(Pretrained::general_bytes())
    }

    /// The same as bytes, because compressing it again is slow.
    pub fn general_bytes() -> &'static [u8] {
        GENERAL
    }

    /// Whether these bytes are the general taxonomy of another version of the program, which made other terms.
    pub fn is_former_general(bytes: &[u8]) -> bool {
        let source = |bytes: &[u8]| {
            let bytes = crate::bytes::decompressed(WHAT, MAGIC, bytes)?;
            let (mut from, term_version) = SectionReader::new(WHAT, MAGIC, VERSION..=VERSION, &bytes)?;
            Ok::<_, FormatError>((from.text()?, term_version))
        };
        match (source(bytes), source(Pretrained::general_bytes())) {
            (Ok((old, version)), Ok((new, current))) => old == new && version != current,
            _ => false,
        }
    }

    /// Removes terms that occur in fewer documents: most of them are names and misspellings.
    pub fn without_rare(mut self, fewest: u32) -> Pretrained {
        let mut documents: BTreeMap<TermId, u32> = BTreeMap::new();
        for (_, topic) in self.statistics.topics() {
            topic.terms().for_each(|(term, seen)| *documents.entry(term).or_default() += seen.documents);
        }
        let is_kept = |term: &TermId| documents.get(term).is_some_and(|&count| count >= fewest);
        self.statistics.retain(is_kept);
        self.words.retain(|term, _| is_kept(term));
        self
    }

    /// Serializes and compresses.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = SectionWriter::new(MAGIC, VERSION, porthole_page::TERM_VERSION);
        to.text(&self.source);
        let rows = self.tree.rows();
        to.varint(rows.len() as u64);
        for row in &rows {
            to.varint(row.id.0.into());
            to.varint(row.parent.0.into());
            to.text(&row.name);
        }
        let terms = self.terms();
        to.varint(terms.len() as u64);
        let mut last = 0;
        for &term in &terms {
            to.varint(u64::from(term.0) - last);
            last = term.0.into();
            to.text(self.words.get(&term).map_or("", String::as_str));
        }
        to.varint(self.statistics.topics().count() as u64);
        for (id, topic) in self.statistics.topics() {
            write_topic(&mut to, id, topic, &terms);
        }
        to.varint(self.tunings.len() as u64);
        for (&node, tuning) in &self.tunings {
            write_tuning(&mut to, node, tuning);
        }
        // Older files end here: without good topics nothing is added.
        if self.tree.good().next().is_some() {
            to.varint(self.tree.good().count() as u64);
            self.tree.good().for_each(|good| to.varint(good.0.into()));
        }
        to.finish_compressed()
    }

    /// Deserializes; rejects another version or damaged data.
    pub fn from_bytes(bytes: &[u8]) -> Result<Pretrained, FormatError> {
        let bytes = &crate::bytes::decompressed(WHAT, MAGIC, bytes)?;
        let (mut from, term_version) = SectionReader::new(WHAT, MAGIC, VERSION..=VERSION, bytes)?;
        let expected = porthole_page::TERM_VERSION;
        if term_version != expected {
            return Err(FormatError::Terms { what: WHAT, found: term_version, expected });
        }
        let source = from.text()?;
        let rows = (0..from.varint()?).map(|_| row(&mut from)).collect::<Result<Vec<_>, _>>()?;
        let mut tree = Taxonomy::from_rows(&rows).map_err(|_| from.damaged())?;
        let (mut terms, mut words, mut last) = (Vec::new(), BTreeMap::new(), 0);
        for _ in 0..from.varint()? {
            last += from.varint()?;
            let term = TermId(u32::try_from(last).map_err(|_| from.damaged())?);
            let word = from.text()?;
            if !word.is_empty() {
                words.insert(term, word);
            }
            terms.push(term);
        }
        let mut statistics = Statistics::default();
        for _ in 0..from.varint()? {
            let (id, topic) = read_topic(&mut from, &terms)?;
            statistics.insert(id, topic);
        }
        let tunings = (0..from.varint()?).map(|_| read_tuning(&mut from)).collect::<Result<_, _>>()?;
        if !from.is_over() {
            for _ in 0..from.varint()? {
                let good = topic_id(&mut from)?;
                tree.mark(good).map_err(|_| from.damaged())?;
            }
        }
        from.finish()?;
        Ok(Pretrained { source, tree, statistics, tunings, words })
    }

    /// All terms, in order.
    fn terms(&self) -> Vec<TermId> {
        let mut terms: Vec<TermId> =
            self.statistics.topics().flat_map(|(_, topic)| topic.terms().map(|(term, _)| term)).collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }
}

fn row(from: &mut SectionReader<'_>) -> Result<TopicRow, FormatError> {
    let (id, parent) = (topic_id(from)?, topic_id(from)?);
    Ok(TopicRow { id, parent, name: from.text()?, mark: Mark::Null })
}

fn topic_id(from: &mut SectionReader<'_>) -> Result<TopicId, FormatError> {
    u16::try_from(from.varint()?).map(TopicId).map_err(|_| from.damaged())
}

/// Term numbers are delta-coded; a count of 1 in one document, the most frequent case, takes two bytes.
fn write_topic(to: &mut SectionWriter, id: TopicId, topic: &TopicStatistics, terms: &[TermId]) {
    let mut seen: Vec<(u64, TermSeen)> = topic
        .terms()
        .map(|(term, seen)| (terms.partition_point(|known| *known < term) as u64, seen))
        .collect();
    seen.sort_unstable_by_key(|(number, _)| *number);
    to.varint(id.0.into());
    to.varint(topic.documents.into());
    to.varint(seen.len() as u64);
    let mut last = 0;
    for (number, TermSeen { count, documents, share }) in seen {
        to.varint(number - last);
        to.varint(documents.into());
        to.varint(u64::from(count.saturating_sub(documents)));
        to.varint(share >> SHARE_BITS);
        last = number;
    }
}

/// Shares are stored to a quarter of a millionth of a document.
const SHARE_BITS: u32 = 2;

fn read_topic(
    from: &mut SectionReader<'_>,
    terms: &[TermId],
) -> Result<(TopicId, TopicStatistics), FormatError> {
    let id = topic_id(from)?;
    let documents = number(from)?;
    let mut topic = TopicStatistics { documents, ..TopicStatistics::default() };
    let mut at = 0;
    for _ in 0..from.varint()? {
        at += from.varint()?;
        let term = *usize::try_from(at).ok().and_then(|at| terms.get(at)).ok_or(from.damaged())?;
        let documents = number(from)?;
        let count = number(from)?.checked_add(documents).ok_or(from.damaged())?;
        let share = from.varint()?.checked_shl(SHARE_BITS).ok_or(from.damaged())?;
        topic.terms.insert(term, TermSeen { count, documents, share });
    }
    Ok((id, topic))
}

fn number(from: &mut SectionReader<'_>) -> Result<u32, FormatError> {
    u32::try_from(from.varint()?).map_err(|_| from.damaged())
}

fn write_tuning(to: &mut SectionWriter, node: TopicId, tuning: &Tuning) {
    to.varint(node.0.into());
    let counting = TermCounting::ALL.iter().position(|counting| *counting == tuning.counting);
    to.varint(counting.unwrap_or(0) as u64);
    // All terms are written as 0, because `usize` differs between platforms.
    to.varint(if tuning.features == usize::MAX { 0 } else { tuning.features as u64 });
    for number in [tuning.smoothing, tuning.calibration.saturation, tuning.calibration.power] {
        to.f64(number);
    }
}

fn read_tuning(from: &mut SectionReader<'_>) -> Result<(TopicId, Tuning), FormatError> {
    let node = topic_id(from)?;
    let counting = usize::try_from(from.varint()?).ok().and_then(|at| TermCounting::ALL.get(at).copied());
    let counting = counting.ok_or(from.damaged())?;
    let features = match from.varint()? {
        0 => usize::MAX,
        features => usize::try_from(features).map_err(|_| from.damaged())?,
    };
    let smoothing = from.f64()?;
    let calibration = Calibration { saturation: from.f64()?, power: from.f64()? };
    Ok((node, Tuning { counting, smoothing, features, calibration, topical: TOPICAL }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_shared_with_the_tree() {
        let mut tree = Taxonomy::new();
        let topic = tree.add_path("/Recreation/Cycling").unwrap();
        let (statistics, tunings) = (Statistics::default(), Tunings::default());
        let mut made =
            Pretrained { source: "test".into(), tree, statistics, tunings, words: BTreeMap::new() };
        assert_eq!(Pretrained::from_bytes(&made.to_bytes()).unwrap(), made);
        made.tree.mark(topic).unwrap();
        let read = Pretrained::from_bytes(&made.to_bytes()).unwrap();
        assert_eq!((read.tree.good().collect::<Vec<_>>(), &read), (vec![topic], &made));
    }

    #[test]
    fn a_former_general_taxonomy_is_recognised_by_source_and_term_version() {
        let current = porthole_page::TERM_VERSION;
        let general = Pretrained::general().unwrap().source;
        let made = |source: &str, term_version: u32| {
            let mut to = SectionWriter::new(MAGIC, VERSION, term_version);
            to.text(source);
            to.finish_compressed()
        };
        assert!(Pretrained::is_former_general(&made(&general, current - 1)));
        assert!(!Pretrained::is_former_general(&made(&general, current)));
        assert!(!Pretrained::is_former_general(&made("my own", current - 1)));
        assert!(!Pretrained::is_former_general(b"no taxonomy"));
        assert!(!Pretrained::is_former_general(Pretrained::general_bytes()));
    }
}
