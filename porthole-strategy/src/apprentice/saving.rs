//! Saved state of the apprentice.

use std::collections::{HashMap, VecDeque};

use porthole_types::UrlId;
use serde::{Deserialize, Serialize};

use super::Apprentice;
use super::context::{Outcomes, PageContext};
use super::learner::{self, ApprenticeLearner};
use super::lessons::Lessons;
use super::memory::{AwaitedUrl, LinkMemory};
use super::reach::Reach;
use super::settings::LearnerKind;
use crate::StateError;
use crate::state::{self, Sorted};

const FORM: u32 = 0x6170_0002;

/// Largest offset in any saved state.
const FARTHEST_SAVED: u32 = 64;

/// First part of the state: code of the encoding, code of the learner, and the learner's state.
type Learnt<L> = (u32, u32, L);

/// Second part of the state.
#[derive(Deserialize)]
struct Rest {
    pages: u64,
    next_training: u64,
    differences: Vec<u64>,
    changed: Vec<(UrlId, f64)>,
    memory: Kept,
    reach: Option<Reach>,
}

/// Saved fields of a [`LinkMemory`].
#[derive(Deserialize)]
struct Kept {
    first: u32,
    contexts: VecDeque<PageContext>,
    waiting: HashMap<UrlId, AwaitedUrl, foldhash::fast::FixedState>,
    outcomes: Outcomes,
}

impl Apprentice {
    pub(super) fn saved(&self) -> Vec<u8> {
        let learnt: Learnt<_> = (self.settings.encoding.code(), self.kind(), self.learner.state());
        // In the order of `Rest`.
        let counted = (self.pages, self.next_training, &self.differences[..], &self.changed);
        state::pack(FORM, (learnt, counted, state_of(&self.memory), &self.reach))
    }

    pub(super) fn restore_from(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let ((encoding, kind, learner), rest): (Learnt<_>, Rest) = state::unpack(FORM, bytes)?;
        let is_chosen = self.settings.is_reach_chosen;
        // If the offset is chosen by cross-validation, use the saved choice.
        let d_max = if is_chosen { encoding >> 8 } else { self.settings.encoding.d_max };
        let expected = self.settings.encoding.with_d_max(d_max);
        state::check(encoding == expected.code() && kind == self.kind() && d_max <= FARTHEST_SAVED)?;
        state::check(is_chosen || rest.reach.is_none())?;
        self.settings.encoding = expected;
        self.learner.restore(learner)?;
        self.differences = rest.differences.try_into().map_err(|_| StateError::Damaged)?;
        self.memory = restored(rest.memory, LinkMemory::new(self.settings.remembered))?;
        (self.pages, self.next_training) = (rest.pages, rest.next_training);
        (self.changed, self.reach) = (rest.changed, rest.reach);
        self.trained();
        Ok(())
    }

    /// Code of the learner, and whether the maximum offset is chosen by cross-validation.
    fn kind(&self) -> u32 {
        self.settings.learner as u32 | u32::from(self.settings.is_reach_chosen) << 8
    }
}

/// The lessons in an apprentice's saved state.
pub(super) fn lessons(bytes: &[u8]) -> Result<Option<Lessons>, StateError> {
    let ((encoding, kind, learnt), _): (Learnt<learner::State>, _) = state::unpack_start(FORM, bytes)?;
    if kind & 0xff != LearnerKind::Bayes as u32 {
        return Ok(None);
    }
    let mut learner = ApprenticeLearner::new(LearnerKind::Bayes, 0);
    learner.restore(learnt)?;
    Ok(learner.lessons().map(|counts| Lessons::new(encoding, counts)))
}

fn state_of(memory: &LinkMemory) -> impl Serialize + '_ {
    // In the order of `Kept`.
    (memory.first, &memory.contexts, Sorted(&memory.waiting), Sorted(&memory.outcomes))
}

fn restored(kept: Kept, mut memory: LinkMemory) -> Result<LinkMemory, StateError> {
    let Kept { first, contexts, waiting, outcomes } = kept;
    state::check(u32::try_from(contexts.len()).is_ok_and(|contexts| first.checked_add(contexts).is_some()))?;
    state::check(contexts.iter().all(PageContext::is_whole))?;
    (memory.first, memory.contexts) = (first, contexts);
    (memory.waiting, memory.outcomes) = (waiting, outcomes);
    memory.count_links();
    state::check(is_whole(&memory))?;
    Ok(memory)
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
