//! Binary format of a model.

use porthole_types::{TermId, TopicId};

use super::{ClassModel, CriticModel, DecisionHead, ModelKind, TermEntry, places, slots};
use crate::bytes::{FormatError, SectionReader, SectionWriter};
use crate::calibration::Calibration;
use crate::naive_bayes::TermCounting;
use crate::problem::ClassifierShape;

const WHAT: &str = "model";
const MAGIC: &[u8; 8] = b"PHMODEL\n";

/// Increased whenever the bytes or their meaning change.
const VERSION: u32 = 2;

/// Version of a model without confirmations, which earlier programs can read.
const WITHOUT_CONFIRMATIONS: u32 = 1;

impl CriticModel {
    /// Serializes the model.
    pub fn to_bytes(&self) -> Vec<u8> {
        let has_confirmations = self.tree_heads < self.heads.len();
        let version = if has_confirmations { VERSION } else { WITHOUT_CONFIRMATIONS };
        let mut to = SectionWriter::new(MAGIC, version, self.term_version);
        to.u32(position(&ModelKind::ALL, self.kind));
        to.u32(position(&ClassifierShape::ALL, self.shape));
        to.u32(self.heads.len() as u32);
        for head in &self.heads {
            for number in [head.node.0.into(), head.first_class, head.class_count, head.features] {
                to.u32(number);
            }
            to.u32(position(&TermCounting::ALL, head.counting));
            for number in [head.calibration.saturation, head.calibration.power, head.smoothing] {
                to.f64(number);
            }
        }
        to.u32(self.classes.len() as u32);
        for class in &self.classes {
            to.u32(class.topic.0.into());
            to.u32(class.documents);
            to.f64(class.logprior);
            to.f64(class.logdenom);
        }
        to.array(self.terms.iter().map(|term| term.0.to_le_bytes()));
        to.array(self.entry_starts.iter().map(|start| start.to_le_bytes()));
        to.array(self.entries.iter().map(|entry| entry.decision.to_le_bytes()));
        to.array(self.entries.iter().map(|entry| entry.scale.to_le_bytes()));
        to.array(self.entries.iter().map(|entry| entry.first_posting.to_le_bytes()));
        to.array(self.posting_classes.iter().map(|class| class.to_le_bytes()));
        to.array(self.posting_gains.iter().map(|gain| gain.to_le_bytes()));
        to.finish()
    }

    /// Deserializes a model; rejects another version, damaged or inconsistent data.
    pub fn from_bytes(bytes: &[u8]) -> Result<CriticModel, FormatError> {
        let (mut from, term_version) =
            SectionReader::new(WHAT, MAGIC, WITHOUT_CONFIRMATIONS..=VERSION, bytes)?;
        let expected = porthole_page::TERM_VERSION;
        if term_version != expected {
            return Err(FormatError::Terms { what: WHAT, found: term_version, expected });
        }
        let kind = pick(&ModelKind::ALL, &mut from)?;
        let shape = pick(&ClassifierShape::ALL, &mut from)?;
        let heads = (0..from.u32()?).map(|_| head(&mut from)).collect::<Result<Vec<_>, _>>()?;
        let classes = (0..from.u32()?).map(|_| class(&mut from)).collect::<Result<Vec<_>, _>>()?;
        let terms = from.array(|bytes| TermId(u32::from_le_bytes(bytes)))?;
        let entry_starts = from.array(u32::from_le_bytes)?;
        let decisions = from.array(u32::from_le_bytes)?;
        let scales = from.array(f32::from_le_bytes)?;
        let first_postings = from.array(u32::from_le_bytes)?;
        if decisions.len() != scales.len() || decisions.len() != first_postings.len() {
            return Err(from.damaged());
        }
        let entries = decisions.into_iter().zip(scales).zip(first_postings);
        let entries: Vec<TermEntry> = entries
            .map(|((decision, scale), first_posting)| TermEntry { decision, scale, first_posting })
            .collect();
        let posting_classes = from.array(u16::from_le_bytes)?;
        let posting_gains = from.array(f32::from_le_bytes)?;
        from.finish()?;
        let slots = slots(&terms);
        let places = places(&entry_starts, &entries);
        let mut model = CriticModel {
            kind,
            shape,
            term_version,
            heads,
            classes,
            next: Vec::new(),
            terms,
            entry_starts,
            entries,
            posting_classes,
            posting_gains,
            slots,
            places,
            tree_heads: 0,
            confirmed: Vec::new(),
        };
        model.link_decisions();
        if model.is_consistent() { Ok(model) } else { Err(FormatError::Damaged(WHAT)) }
    }

    /// Whether all indices are in range.
    fn is_consistent(&self) -> bool {
        let (Some(last), Some(end)) = (self.entries.last(), self.entry_starts.last()) else { return false };
        let postings = self.posting_classes.len();
        let mut next_class = 0;
        let heads_follow = self.heads.iter().all(|head| {
            let follows = head.first_class == next_class && head.class_count > 0;
            next_class = next_class.saturating_add(head.class_count);
            follows
        });
        // Parents come before children, so that every descent ends.
        let goes_down = self.heads.iter().enumerate().all(|(number, head)| {
            let next =
                self.next.get(head.first_class as usize..(head.first_class + head.class_count) as usize);
            next.is_some_and(|next| next.iter().all(|&next| next as usize > number))
        });
        let classes_fit = |(entry, next): (&TermEntry, &TermEntry)| {
            let head = self.heads.get(entry.decision as usize);
            let range = entry.first_posting as usize..next.first_posting as usize;
            let classes = self.posting_classes.get(range);
            head.zip(classes).is_some_and(|(head, classes)| {
                classes.iter().all(|&class| u32::from(class) < head.class_count)
            })
        };
        let confirms = |head: &DecisionHead| head.class_count == 2 && head.is_confirmation(&self.classes);
        heads_follow
            && self.heads[self.tree_heads..].iter().all(confirms)
            && next_class as usize == self.classes.len()
            && goes_down
            && self.posting_gains.len() == postings
            && self.entry_starts.len() == self.terms.len() + 1
            && *end as usize + 1 == self.entries.len()
            && last.first_posting as usize == postings
            && self.terms.is_sorted_by(|a, b| a < b)
            && self.entry_starts.is_sorted_by(|a, b| a < b)
            && self.entries.iter().zip(&self.entries[1..]).all(classes_fit)
    }
}

fn head(from: &mut SectionReader<'_>) -> Result<DecisionHead, FormatError> {
    let node = topic(from)?;
    let (first_class, class_count, features) = (from.u32()?, from.u32()?, from.u32()?);
    let counting = pick(&TermCounting::ALL, from)?;
    let calibration = Calibration { saturation: from.f64()?, power: from.f64()? };
    Ok(DecisionHead {
        node,
        first_class,
        class_count,
        features,
        counting,
        calibration,
        smoothing: from.f64()?,
    })
}

fn class(from: &mut SectionReader<'_>) -> Result<ClassModel, FormatError> {
    let topic = topic(from)?;
    let documents = from.u32()?;
    Ok(ClassModel { topic, documents, logprior: from.f64()?, logdenom: from.f64()? })
}

fn topic(from: &mut SectionReader<'_>) -> Result<TopicId, FormatError> {
    u16::try_from(from.u32()?).map(TopicId).map_err(|_| from.damaged())
}

fn position<T: PartialEq + Copy>(all: &[T], one: T) -> u32 {
    all.iter().position(|&other| other == one).unwrap_or(0) as u32
}

fn pick<T: Copy>(all: &[T], from: &mut SectionReader<'_>) -> Result<T, FormatError> {
    let number = from.u32()? as usize;
    all.get(number).copied().ok_or_else(|| from.damaged())
}
