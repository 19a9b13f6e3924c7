//! Saved state of the apprentice.

use porthole_types::{TermId, UrlId};

use super::Apprentice;
use super::context::{LinkPosition, PageContext};
use super::counts::DIFFERENCES;
use super::learner::ApprenticeLearner;
use super::lessons::Lessons;
use super::memory::{AwaitedUrl, LinkMemory};
use super::reach::Reach;
use super::settings::LearnerKind;
use crate::{Saved, Saver, StateError};

const FORM: u32 = 0x6170_0001;

/// Largest offset in any saved state.
const FARTHEST_SAVED: u32 = 64;

impl Apprentice {
    pub(super) fn saved(&self) -> Vec<u8> {
        let mut saver = Saver::new(FORM);
        saver.u32(self.settings.encoding.code());
        saver.u32(self.settings.learner as u32 | u32::from(self.settings.is_reach_chosen) << 8);
        self.learner.save(&mut saver);
        saver.u64(self.pages);
        saver.u64(self.next_training);
        self.differences.iter().for_each(|number| saver.u64(*number));
        saver.length(self.changed.len());
        for (url, worth) in &self.changed {
            saver.url(*url);
            saver.f64(*worth);
        }
        save_memory(&self.memory, &mut saver);
        if self.settings.is_reach_chosen {
            saver.u32(u32::from(self.reach.is_some()));
            self.reach.iter().for_each(|reach| reach.save(&mut saver));
        }
        saver.finish()
    }

    pub(super) fn restore_from(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let mut saved = Saved::new(bytes, FORM)?;
        let (encoding, kind) = (saved.u32()?, saved.u32()?);
        let is_chosen = self.settings.is_reach_chosen;
        // If the offset is chosen by cross-validation, use the saved choice.
        let d_max = if is_chosen { encoding >> 8 } else { self.settings.encoding.d_max };
        let expected = self.settings.encoding.with_d_max(d_max);
        if encoding != expected.code()
            || kind != self.settings.learner as u32 | u32::from(is_chosen) << 8
            || d_max > FARTHEST_SAVED
        {
            return Err(StateError);
        }
        self.settings.encoding = expected;
        self.learner.restore(&mut saved)?;
        self.pages = saved.u64()?;
        self.next_training = saved.u64()?;
        for place in 0..DIFFERENCES {
            self.differences[place] = saved.u64()?;
        }
        let changed = saved.length(16)?;
        self.changed = (0..changed).map(|_| Ok((saved.url()?, saved.f64()?))).collect::<Result<_, _>>()?;
        self.memory = restore_memory(&mut saved, LinkMemory::new(self.settings.remembered))?;
        if is_chosen {
            let is_open = saved.u32()? == 1;
            self.reach = is_open.then(|| Reach::restore(&mut saved)).transpose()?;
        }
        self.trained();
        saved.finish()
    }
}

/// The lessons in an apprentice's saved state.
pub(super) fn lessons(bytes: &[u8]) -> Result<Option<Lessons>, StateError> {
    let mut saved = Saved::new(bytes, FORM)?;
    let (encoding, kind) = (saved.u32()?, saved.u32()?);
    if kind & 0xff != LearnerKind::Bayes as u32 {
        return Ok(None);
    }
    let mut learner = ApprenticeLearner::new(LearnerKind::Bayes, 0);
    learner.restore(&mut saved)?;
    Ok(learner.lessons().map(|counts| Lessons::new(encoding, counts)))
}

fn save_memory(memory: &LinkMemory, saver: &mut Saver) {
    saver.u32(memory.first);
    saver.length(memory.contexts.len());
    memory.contexts.iter().for_each(|context| save_context(context, saver));
    let mut waiting: Vec<(&UrlId, &AwaitedUrl)> = memory.waiting.iter().collect();
    waiting.sort_unstable_by_key(|(url, _)| **url);
    saver.length(waiting.len());
    for (url, AwaitedUrl { newest, said }) in waiting {
        saver.url(*url);
        saver.u32(newest.0);
        saver.u32(newest.1);
        saver.f64(*said);
    }
    let mut outcomes: Vec<(&UrlId, &f32)> = memory.outcomes.iter().collect();
    outcomes.sort_unstable_by_key(|(url, _)| **url);
    saver.length(outcomes.len());
    for (url, relevance) in outcomes {
        saver.url(*url);
        saver.f32(*relevance);
    }
}

fn restore_memory(saved: &mut Saved<'_>, mut memory: LinkMemory) -> Result<LinkMemory, StateError> {
    memory.first = saved.u32()?;
    for _ in 0..saved.length(48)? {
        memory.contexts.push_back(restore_context(saved)?);
    }
    for _ in 0..saved.length(24)? {
        let url = saved.url()?;
        let waiting = AwaitedUrl { newest: (saved.u32()?, saved.u32()?), said: saved.f64()? };
        memory.waiting.insert(url, waiting);
    }
    for _ in 0..saved.length(12)? {
        memory.outcomes.insert(saved.url()?, saved.f32()?);
    }
    memory.count_links();
    if is_whole(&memory) { Ok(memory) } else { Err(StateError) }
}

/// Whether the chain of links to every waiting URL is complete and strictly ordered, so that it ends.
fn is_whole(memory: &LinkMemory) -> bool {
    memory.waiting.iter().all(|(url, waiting)| {
        let (mut next, mut bound) = (Some(waiting.newest), (u32::MAX, u32::MAX));
        while let Some(place) = next.filter(|(context, _)| *context >= memory.first) {
            let context = memory.contexts.get((place.0 - memory.first) as usize);
            match context.and_then(|context| context.links.get(place.1 as usize)) {
                Some(link) if link.target == *url && place < bound => (next, bound) = (link.before, place),
                _ => return false,
            }
        }
        true
    })
}

/// Stored instead of the previous link if there is none.
const NONE: u32 = u32::MAX;

fn save_context(context: &PageContext, saver: &mut Saver) {
    let (terms, ends, depths, neighbours) = context.parts();
    saver.url(context.source);
    saver.f32(context.relevance);
    saver.u32(context.open);
    saver.length(terms.len());
    terms.iter().for_each(|term| saver.u32(term.0));
    saver.length(ends.len());
    ends.iter().for_each(|end| saver.u32(*end));
    saver.length(depths.len());
    depths.iter().for_each(|(depth, shared)| saver.u32(u32::from(*depth) << 16 | u32::from(*shared)));
    saver.length(neighbours.len());
    for (first, last, target) in neighbours {
        saver.u32(*first);
        saver.u32(*last);
        saver.url(*target);
    }
    saver.length(context.page_features.len());
    for (feature, weight) in &context.page_features {
        saver.u32(*feature);
        saver.u32(u32::from(*weight));
    }
    saver.length(context.links.len());
    for link in &context.links {
        let (before_sheet, before_link) = link.before.unwrap_or((NONE, NONE));
        saver.url(link.target);
        [link.first, link.last, u32::from(link.depth), before_sheet, before_link]
            .iter()
            .for_each(|number| saver.u32(*number));
    }
}

fn restore_context(saved: &mut Saved<'_>) -> Result<PageContext, StateError> {
    let (source, relevance, open) = (saved.url()?, saved.f32()?, saved.u32()?);
    let count = saved.length(4)?;
    let terms = (0..count).map(|_| saved.u32().map(TermId)).collect::<Result<Vec<_>, _>>()?;
    let count = saved.length(4)?;
    let ends = (0..count).map(|_| saved.u32()).collect::<Result<Vec<_>, _>>()?;
    if !ends.is_sorted() || ends.last().is_some_and(|end| *end as usize > terms.len()) {
        return Err(StateError);
    }
    let count = saved.length(4)?;
    let depth = |saved: &mut Saved<'_>| saved.u32().map(|both| ((both >> 16) as u16, both as u16));
    let depths = (0..count).map(|_| depth(saved)).collect::<Result<Vec<_>, _>>()?;
    let count = saved.length(16)?;
    let neighbours = (0..count)
        .map(|_| Ok((saved.u32()?, saved.u32()?, saved.url()?)))
        .collect::<Result<Vec<_>, StateError>>()?;
    let mut context = PageContext::of_parts(source, relevance, (terms, ends), depths, neighbours);
    for _ in 0..saved.length(8)? {
        context.page_features.push((saved.u32()?, saved.u32()? as u16));
    }
    for _ in 0..saved.length(28)? {
        context.links.push(restore_link(saved)?);
    }
    context.open = open;
    if open as usize <= context.links.len() { Ok(context) } else { Err(StateError) }
}

fn restore_link(saved: &mut Saved<'_>) -> Result<LinkPosition, StateError> {
    let (target, first, last) = (saved.url()?, saved.u32()?, saved.u32()?);
    let depth = saved.u32()? as u16;
    let before = (saved.u32()?, saved.u32()?);
    Ok(LinkPosition { target, first, last, depth, before: (before.0 != NONE).then_some(before) })
}
