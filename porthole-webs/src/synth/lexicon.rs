//! Word distributions: each list of words becomes a table from which a word is drawn with one lookup.

use super::topics::LeafTopic;
use super::vocabulary::{COMMON_WORDS, FUNCTION_WORDS, SPAM_WORDS, SYLLABLES, TREE};

/// All distributions.
pub(crate) struct WordDistributions {
    pub(crate) function: WordTable,
    pub(crate) common: WordTable,
    pub(crate) spam: WordTable,
    leaves: Vec<WordTable>,
    /// By leaf, the index of the words that its branch shares.
    shared: Vec<usize>,
    branches: Vec<WordTable>,
}

/// A Zipf-like distribution over a list of words.
pub(crate) struct WordTable {
    words: Vec<PaddedWord>,
    /// Rank of the word in each slot.
    slots: Vec<u16>,
    /// Right shift that reduces 32 random bits to a slot number.
    shift: u32,
}

/// A word padded to a fixed size, so that it is copied without a call: copying words is most of the cost of writing
/// text.
#[derive(Clone, Copy)]
pub(crate) struct PaddedWord {
    bytes: [u8; LONGEST],
    len: u8,
}

const LONGEST: usize = 16;

impl WordDistributions {
    /// The distributions of the vocabulary.
    pub(crate) fn new() -> Self {
        let leaves = TREE.iter().flat_map(|branch| branch.leaves).map(|(_, words)| WordTable::new(words));
        let shared = TREE.iter().enumerate().flat_map(|(i, branch)| branch.leaves.iter().map(move |_| i));
        WordDistributions {
            function: WordTable::new(FUNCTION_WORDS),
            common: WordTable::new(COMMON_WORDS),
            spam: WordTable::new(SPAM_WORDS),
            leaves: leaves.collect(),
            shared: shared.collect(),
            branches: TREE.iter().map(|branch| WordTable::new(branch.words)).collect(),
        }
    }

    /// The words of a leaf.
    #[inline]
    pub(crate) fn leaf(&self, leaf: LeafTopic) -> &WordTable {
        &self.leaves[usize::from(leaf)]
    }

    /// The words that a leaf shares with its siblings.
    #[inline]
    pub(crate) fn branch(&self, leaf: LeafTopic) -> &WordTable {
        &self.branches[self.shared[usize::from(leaf)]]
    }
}

impl WordTable {
    fn new(list: &str) -> Self {
        let words: Vec<PaddedWord> = list.split_ascii_whitespace().map(PaddedWord::new).collect();
        // Large enough for the rarest word to have a slot, small enough for the cache.
        let bits = if words.len() > 100 { 12 } else { 10 };
        let weights = || (0..words.len() as u64).map(|rank| 1_000_000 / (rank + 3));
        let total: u64 = weights().sum();
        let mut slots = Vec::with_capacity(1 << bits);
        let mut sum = 0;
        for (rank, weight) in (0u16..).zip(weights()) {
            sum += weight;
            let end = usize::try_from((sum << bits) / total).expect("as many as slots");
            slots.resize(end, rank);
        }
        WordTable { words, slots, shift: 32 - bits }
    }

    /// The word of 32 random bits.
    #[inline]
    pub(crate) fn word(&self, bits: u32) -> PaddedWord {
        self.words[usize::from(self.slots[(bits >> self.shift) as usize])]
    }
}

impl PaddedWord {
    fn new(text: &str) -> Self {
        let mut bytes = [b' '; LONGEST];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        PaddedWord { bytes, len: u8::try_from(text.len()).expect("a short word") }
    }

    /// Writes the word.
    #[inline]
    pub(crate) fn push(self, out: &mut Vec<u8>) {
        let end = out.len() + usize::from(self.len);
        out.extend_from_slice(&self.bytes);
        out.truncate(end);
    }

    /// Writes the word with a capital.
    #[inline]
    pub(crate) fn push_capital(self, out: &mut Vec<u8>) {
        let start = out.len();
        self.push(out);
        out[start].make_ascii_uppercase();
    }
}

/// Writes an invented name: a rare word that a few pages share.
pub(crate) fn push_name(out: &mut Vec<u8>, key: u32) {
    let start = out.len();
    for i in 0..2 + key % 2 {
        out.extend_from_slice(SYLLABLES[(key >> (5 + 5 * i)) as usize % SYLLABLES.len()].as_bytes());
    }
    out[start].make_ascii_uppercase();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_plain_and_can_be_drawn() {
        let lexicon = WordDistributions::new();
        let tables = lexicon.leaves.iter().chain(&lexicon.branches);
        for table in tables.chain([&lexicon.function, &lexicon.common, &lexicon.spam]) {
            assert_eq!(table.slots.len(), 1 << (32 - table.shift));
            for (rank, word) in table.words.iter().enumerate() {
                let text = &word.bytes[..usize::from(word.len)];
                // Words are used in host names and paths, too.
                assert!(text.iter().all(u8::is_ascii_lowercase), "{}", String::from_utf8_lossy(text));
                assert!(table.slots.contains(&u16::try_from(rank).unwrap()), "rank {rank} is never drawn");
            }
        }
    }

    #[test]
    fn every_leaf_has_enough_words() {
        for branch in TREE {
            for (name, words) in branch.leaves {
                assert!(words.split_ascii_whitespace().count() >= 28, "{name}");
            }
        }
    }
}
