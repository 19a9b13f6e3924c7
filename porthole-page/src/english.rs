//! A stemmer for English: Snowball's "english" (Porter 2) for words of ASCII letters, which are almost all words.
//! The rules and their order are those of <https://snowballstem.org/algorithms/english/stemmer.html>.
//!
//! The stems are those of `frostem`, at a fraction of the cost: the vowels of a word are one bit mask, and its end
//! is one number that is compared with suffixes (figures: docs/decisions/crates-or-our-own.md).

use wide::i8x16;

use crate::words::{LONGEST, PackedWord, vector};

/// The stem of a word of ASCII letters in lower case: its letters, and their number.
pub(crate) fn stem(word: PackedWord) -> ([u8; LONGEST], usize) {
    let (letters, length) = word.bytes();
    if length < 3 {
        return (letters, length);
    }
    if let Some(stem) = exception(word) {
        return PackedWord::of(stem.as_bytes()).bytes();
    }
    let mut stem = Stem::new(letters, length);
    stem.drop_plural();
    stem.drop_past_or_participle();
    stem.turn_y_to_i();
    SUFFIXES.iter().for_each(|rules| stem.apply(rules));
    stem.drop_e_or_l();
    (stem.letters[FRONT..].try_into().expect("the longest word"), stem.length)
}

/// Words that the rules would stem wrongly. They have at most eight letters, so the first part of a key contains
/// the whole word.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("andes", "andes"),
    ("atlas", "atlas"),
    ("bias", "bias"),
    ("cosmos", "cosmos"),
    ("early", "earli"),
    ("gently", "gentl"),
    ("howe", "howe"),
    ("idly", "idl"),
    ("news", "news"),
    ("only", "onli"),
    ("singly", "singl"),
    ("skies", "sky"),
    ("skis", "ski"),
    ("sky", "sky"),
    ("ugly", "ugli"),
];

/// The exceptions with their stems in a perfect hash table: one lookup decides.
static EXCEPTION_SLOTS: [(u64, &str); 64] = {
    let mut slots = [(0, ""); 64];
    let mut at = 0;
    while at < EXCEPTIONS.len() {
        let (word, stem) = EXCEPTIONS[at];
        let first_part = Letters::of(word).packed.swap_bytes() >> (64 - 8 * word.len());
        let slot = exception_slot(first_part);
        assert!(slots[slot].0 == 0, "two exceptions in one slot");
        slots[slot] = (first_part, stem);
        at += 1;
    }
    slots
};

/// The factor was chosen so that no two exceptions collide.
const fn exception_slot(first_part: u64) -> usize {
    (first_part.wrapping_mul(0xec48_ca03_6b70_0e61) >> 58) as usize
}

fn exception(word: PackedWord) -> Option<&'static str> {
    let (exception, stem) = EXCEPTION_SLOTS[exception_slot(word.0[0])];
    (word.0 == [exception, 0, 0]).then_some(stem)
}

/// Prefixes of words whose first region does not follow the rule.
const FAMILIES: [Letters; 9] = [
    Letters::of("arsen"),
    Letters::of("commun"),
    Letters::of("emerg"),
    Letters::of("gener"),
    Letters::of("inter"),
    Letters::of("later"),
    Letters::of("organ"),
    Letters::of("past"),
    Letters::of("univers"),
];

/// Replacement of a suffix.
struct StemRule {
    suffix: Letters,
    with: &'static str,
    /// Whether the suffix must be in the second region, not only in the first.
    in_second: bool,
    /// The letters of which one must precede the suffix.
    preceded_by: u32,
}

impl StemRule {
    const fn new(suffix: &'static str, with: &'static str) -> StemRule {
        StemRule { suffix: Letters::of(suffix), with, in_second: false, preceded_by: u32::MAX }
    }

    /// A suffix that is removed if it is in the second region.
    const fn last(suffix: &'static str) -> StemRule {
        StemRule { in_second: true, ..StemRule::new(suffix, "") }
    }

    const fn preceded_by(self, letters: &str) -> StemRule {
        StemRule { preceded_by: set(letters), ..self }
    }
}

/// The rules of a step by the last letter of their suffix. Of suffixes with the same ending, the longest comes
/// first.
type Rules = [&'static [StemRule]; 32];

/// Steps 2, 3 and 4.
static SUFFIXES: [Rules; 3] = [
    {
        let mut rules = NO_RULES;
        rules[at('i')] = &[
            StemRule::new("lessli", "less"),
            StemRule::new("biliti", "ble"),
            StemRule::new("fulli", "ful"),
            StemRule::new("ousli", "ous"),
            StemRule::new("entli", "ent"),
            StemRule::new("aliti", "al"),
            StemRule::new("iviti", "ive"),
            StemRule::new("abli", "able"),
            StemRule::new("alli", "al"),
            StemRule::new("anci", "ance"),
            StemRule::new("enci", "ence"),
            StemRule::new("bli", "ble"),
            StemRule::new("ogi", "og").preceded_by("l"),
            StemRule::new("li", "").preceded_by("cdeghkmnrt"),
        ];
        rules[at('l')] = &[StemRule::new("ational", "ate"), StemRule::new("tional", "tion")];
        rules[at('m')] = &[StemRule::new("alism", "al")];
        rules[at('n')] = &[StemRule::new("ization", "ize"), StemRule::new("ation", "ate")];
        rules[at('r')] = &[StemRule::new("izer", "ize"), StemRule::new("ator", "ate")];
        rules[at('s')] = &[
            StemRule::new("iveness", "ive"),
            StemRule::new("fulness", "ful"),
            StemRule::new("ousness", "ous"),
        ];
        rules[at('t')] = &[StemRule::new("ogist", "og")];
        rules
    },
    {
        let mut rules = NO_RULES;
        rules[at('e')] =
            &[StemRule::new("icate", "ic"), StemRule::last("ative"), StemRule::new("alize", "al")];
        rules[at('i')] = &[StemRule::new("iciti", "ic")];
        rules[at('l')] = &[
            StemRule::new("ational", "ate"),
            StemRule::new("tional", "tion"),
            StemRule::new("ical", "ic"),
            StemRule::new("ful", ""),
        ];
        rules[at('s')] = &[StemRule::new("ness", "")];
        rules
    },
    {
        let mut rules = NO_RULES;
        rules[at('c')] = &[StemRule::last("ic")];
        rules[at('e')] = &[
            StemRule::last("ance"),
            StemRule::last("ence"),
            StemRule::last("able"),
            StemRule::last("ible"),
            StemRule::last("ate"),
            StemRule::last("ive"),
            StemRule::last("ize"),
        ];
        rules[at('i')] = &[StemRule::last("iti")];
        rules[at('l')] = &[StemRule::last("al")];
        rules[at('m')] = &[StemRule::last("ism")];
        rules[at('n')] = &[StemRule::last("ion").preceded_by("st")];
        rules[at('r')] = &[StemRule::last("er")];
        rules[at('s')] = &[StemRule::last("ous")];
        rules[at('t')] =
            &[StemRule::last("ement"), StemRule::last("ment"), StemRule::last("ent"), StemRule::last("ant")];
        rules
    },
];

const NO_RULES: Rules = [&[]; 32];

const fn at(letter: char) -> usize {
    (letter as u8 & 31) as usize
}

/// Zero bytes before a word, so that its last eight bytes can always be read.
const FRONT: usize = 8;

/// A word while it is stemmed.
struct Stem {
    letters: [u8; FRONT + LONGEST],
    length: usize,
    /// Bit mask of vowels; bits beyond the length are undefined.
    vowels: u32,
    /// Starts of the regions that suffixes must be in.
    first: usize,
    second: usize,
}

impl Stem {
    fn new(word: [u8; LONGEST], length: usize) -> Stem {
        let mut letters = [0; FRONT + LONGEST];
        letters[FRONT..].copy_from_slice(&word);
        let vowels = vowels(&word);
        // A region starts after the first consonant that follows a vowel, from the start of the region before it.
        let region = |from: usize| {
            let consonants = !vowels & (vowels & u32::MAX << from) << 1;
            (consonants.trailing_zeros() as usize + 1).min(length)
        };
        let front = u64::from_be_bytes(*word.first_chunk().expect("eight of many"));
        let family = FAMILIES.iter().find(|family| front >> (64 - 8 * family.length) == family.packed);
        let first = family.map_or_else(|| region(0), |family| family.length);
        Stem { letters, length, vowels, first, second: region(first) }
    }

    /// Step 1a.
    fn drop_plural(&mut self) {
        if self.ends("sses") {
            self.shorten(2);
        } else if self.ends("ied") || self.ends("ies") {
            self.shorten(if self.length > 4 { 2 } else { 1 });
        } else if self.last() == b's'
            && !self.ends("ss")
            && !self.ends("us")
            && self.has_vowel(self.length - 2)
        {
            self.shorten(1);
        }
    }

    /// Step 1b.
    fn drop_past_or_participle(&mut self) {
        if !matches!(self.last(), b'd' | b'g' | b'y') {
            return;
        }
        if let Some(start) = self.start_of("eed").or_else(|| self.start_of("eedly")) {
            if start >= self.first && !matches!(self.up_to(start), b"succ" | b"proc" | b"exc") {
                self.replace(start, "ee");
            }
            return;
        }
        let past = self.start_of("ed").or_else(|| self.start_of("edly")).or_else(|| self.start_of("ingly"));
        let Some(start) = past.or_else(|| self.start_of("ing")) else { return };
        if past.is_none() {
            match self.up_to(start) {
                [_, b'y'] if !self.is_vowel(0) => return self.replace(1, "ie"),
                b"even" | b"cann" | b"inn" | b"earr" | b"herr" | b"out" => return,
                _ => {}
            }
        }
        if self.has_vowel(start) {
            self.length = start;
            self.mend();
        }
    }

    /// After `ed` or `ing` was removed: adds a missing `e`, or removes a doubled letter.
    fn mend(&mut self) {
        const DOUBLE: u32 = set("bdfgmnprt");
        let [before, last] = [self.letter(2), self.last()];
        if self.ends("at") || self.ends("bl") || self.ends("iz") {
            self.replace(self.length, "e");
        } else if before == last && is_in(DOUBLE, last) {
            if !(self.length == 3 && matches!(self.letter(3), b'a' | b'e' | b'o')) {
                self.shorten(1);
            }
        } else if self.length == self.first && self.is_short(self.length) {
            self.replace(self.length, "e");
        }
    }

    /// Step 1c.
    fn turn_y_to_i(&mut self) {
        if self.last() == b'y' && self.length > 2 && !self.is_vowel(self.length - 2) {
            self.replace(self.length - 1, "i");
        }
    }

    /// Applies the first rule whose suffix the word has, if it is in the required region.
    #[inline(always)]
    fn apply(&mut self, rules: &Rules) {
        let rules = rules[usize::from(self.last() & 31)];
        let Some(rule) = rules.iter().find(|rule| self.ends_with(rule.suffix)) else { return };
        let start = self.length - rule.suffix.length;
        let region = if rule.in_second { self.second } else { self.first };
        if start >= region && is_in(rule.preceded_by, self.letter(rule.suffix.length + 1)) {
            self.replace(start, rule.with);
        }
    }

    /// Step 5.
    fn drop_e_or_l(&mut self) {
        let start = self.length - 1;
        let is_dropped = match self.last() {
            b'e' => start >= self.second || start >= self.first && !self.is_short(start),
            b'l' => start >= self.second && self.letter(2) == b'l',
            _ => false,
        };
        self.length -= usize::from(is_dropped);
    }

    /// Whether a short syllable ends here.
    fn is_short(&self, end: usize) -> bool {
        const VOWEL_BETWEEN_CONSONANTS: u32 = 0b010;
        match end {
            0 | 1 => false,
            2 => self.vowels & 0b11 == 0b01,
            _ => {
                let letters = self.up_to(end);
                self.vowels >> (end - 3) & 0b111 == VOWEL_BETWEEN_CONSONANTS
                    && !matches!(letters[end - 1], b'w' | b'x' | b'y')
                    || letters.ends_with(b"past")
            }
        }
    }

    fn is_vowel(&self, at: usize) -> bool {
        self.vowels >> at & 1 != 0
    }

    fn has_vowel(&self, end: usize) -> bool {
        self.vowels & !(u32::MAX << end) != 0
    }

    fn up_to(&self, end: usize) -> &[u8] {
        &self.letters[FRONT..FRONT + end]
    }

    fn last(&self) -> u8 {
        self.letter(1)
    }

    /// A letter counted from the end, where the last is 1; 0 before the first letter.
    fn letter(&self, from_end: usize) -> u8 {
        self.letters[FRONT + self.length - from_end]
    }

    fn start_of(&self, suffix: &str) -> Option<usize> {
        self.ends(suffix).then(|| self.length - suffix.len())
    }

    #[inline(always)]
    fn ends(&self, suffix: &str) -> bool {
        self.ends_with(Letters::of(suffix))
    }

    #[inline(always)]
    fn ends_with(&self, suffix: Letters) -> bool {
        let tail = self.letters[self.length..].first_chunk().expect("eight zeros precede the word");
        u64::from_be_bytes(*tail) & suffix.mask == suffix.packed
    }

    fn shorten(&mut self, by: usize) {
        self.length -= by;
    }

    /// Replaces all letters from a position on.
    fn replace(&mut self, start: usize, with: &str) {
        self.length = start + with.len();
        self.letters[FRONT + start..FRONT + self.length].copy_from_slice(with.as_bytes());
        let changed = !(u32::MAX << with.len()) << start;
        let vowels = with.bytes().rev().fold(0, |all, letter| all << 1 | u32::from(is_in(VOWELS, letter)));
        self.vowels = self.vowels & !changed | vowels << start;
    }
}

const VOWELS: u32 = set("aeiou");

/// Bit mask of vowels. A `y` is a vowel unless it is the first letter or follows a vowel.
fn vowels(letters: &[u8; LONGEST]) -> u32 {
    let head = vector(letters.first_chunk().expect("16 of 24 letters"));
    let tail = vector(letters.last_chunk().expect("16 of 24 letters"));
    let are = |letter: u8| {
        let letter = i8x16::splat(letter.cast_signed());
        (head.simd_eq(letter), tail.simd_eq(letter))
    };
    let bits = |(head, tail): (i8x16, i8x16)| head.to_bitmask() | tail.to_bitmask() << (LONGEST - 16);
    let either = |a: (i8x16, i8x16), b: (i8x16, i8x16)| (a.0 | b.0, a.1 | b.1);
    let mut vowels = bits([b'e', b'i', b'o', b'u'].map(are).into_iter().fold(are(b'a'), either));
    let mut ys = bits(are(b'y')) & !1;
    while ys != 0 {
        let y = ys & ys.wrapping_neg();
        vowels |= if vowels & y >> 1 == 0 { y } else { 0 };
        ys ^= y;
    }
    vowels
}

/// A set of letters as a bit mask.
const fn set(letters: &str) -> u32 {
    let (mut set, mut at) = (0, 0);
    while at < letters.len() {
        set |= 1 << (letters.as_bytes()[at] & 31);
        at += 1;
    }
    set
}

fn is_in(set: u32, letter: u8) -> bool {
    set >> (letter & 31) & 1 != 0
}

/// Up to eight letters as a number, the last in the lowest byte, and the mask of the used bits.
#[derive(Clone, Copy)]
struct Letters {
    packed: u64,
    mask: u64,
    length: usize,
}

impl Letters {
    #[inline(always)]
    const fn of(letters: &str) -> Letters {
        let mut all = Letters { packed: 0, mask: 0, length: 0 };
        while all.length < letters.len() {
            all.packed = all.packed << 8 | letters.as_bytes()[all.length] as u64;
            all.mask = all.mask << 8 | 0xff;
            all.length += 1;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs::File;
    use std::path::{Path, PathBuf};

    use frostem::{Algorithm, Stemmer};
    use porthole_warc::WarcReader;
    use proptest::prelude::*;

    use super::*;

    fn stemmed(word: &str) -> String {
        let (letters, length) = stem(PackedWord::of(word.as_bytes()));
        String::from_utf8(letters[..length].to_vec()).unwrap()
    }

    fn check(stemmer: &Stemmer, word: &str) {
        assert_eq!(stemmed(word), stemmer.stem(word), "for {word}");
    }

    /// Every suffix and special word of the rules, and endings that look like them.
    const ENDINGS: &[&str] = &[
        "", "s", "ss", "us", "sses", "ies", "ied", "ed", "eed", "ing", "edly", "eedly", "ingly", "ying",
        "bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt", "ll", "at", "bl", "iz", "y", "ly", "li", "ogi",
        "logi", "anci", "ancy", "enci", "ency", "bli", "abli", "ably", "alli", "ally", "fulli", "fully",
        "lessli", "lessly", "ousli", "ously", "entli", "ently", "aliti", "ality", "biliti", "bility",
        "iviti", "ivity", "tional", "ational", "alism", "ation", "ization", "izer", "ator", "iveness",
        "fulness", "ousness", "ogist", "icate", "ative", "alize", "iciti", "icity", "ical", "ful", "ness",
        "ic", "ance", "ence", "able", "ible", "ate", "ive", "ize", "iti", "ity", "al", "ism", "ion", "sion",
        "tion", "er", "ous", "ant", "ent", "ment", "ement", "e", "le", "past", "w", "x", "ee",
    ];

    const STARTS: &[&str] = &[
        "andes", "atlas", "bias", "cosmos", "early", "gently", "howe", "idly", "news", "only", "singly",
        "skies", "skis", "sky", "ugly", "arsen", "commun", "emerg", "gener", "inter", "later", "organ",
        "past", "univers", "succ", "proc", "exc", "even", "cann", "inn", "earr", "herr", "out", "d", "y",
        "yy", "a", "e", "ab", "ya", "syzyg", "", "hop", "hopp", "add", "egg", "off", "ebb", "bed", "fly",
        "say", "tie", "relat", "condit", "electr", "form", "control", "adjust", "repast", "pastpast",
        "trabajo", "quiz",
    ];

    #[test]
    fn every_ending_on_every_start() {
        let stemmer = Stemmer::new(Algorithm::English);
        for start in STARTS {
            for ending in ENDINGS {
                for last in ENDINGS {
                    let word = format!("{start}{ending}{last}");
                    check(&stemmer, &word[..word.len().min(LONGEST)]);
                }
            }
        }
    }

    #[test]
    fn every_short_word() {
        const LETTERS: &[u8] = b"aeoiybdglnprstuwx";
        let stemmer = Stemmer::new(Algorithm::English);
        for length in 1..=4 {
            for number in 0..LETTERS.len().pow(length) {
                let letter = |at| char::from(LETTERS[number / LETTERS.len().pow(at) % LETTERS.len()]);
                check(&stemmer, &(0..length).map(letter).collect::<String>());
            }
        }
    }

    /// Every word of every fortieth page of the corpora, including markup. Skipped without the corpora.
    #[test]
    fn every_word_of_real_pages() {
        let folder = std::env::var_os("CORPORA").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora"),
            PathBuf::from,
        );
        let stemmer = Stemmer::new(Algorithm::English);
        for name in ["schools", "webkb"] {
            let Ok(file) = File::open(folder.join(format!("{name}.warc.gz"))) else { continue };
            let mut words = HashSet::new();
            for record in WarcReader::new(file).step_by(40) {
                let text = String::from_utf8_lossy(&record.unwrap().block).to_ascii_lowercase();
                let runs = text.split(|c: char| !c.is_ascii_lowercase());
                words.extend(runs.map(|word| word[..word.len().min(LONGEST)].to_owned()));
            }
            println!("{name}: {} words", words.len());
            words.iter().for_each(|word| check(&stemmer, word));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn random_words_with_endings(
            start in "[a-z]{0,6}|[aeiouy]{0,2}[b-dy]{0,2}[aeiouy]{0,2}[tnslp]{0,2}",
            endings in proptest::collection::vec(proptest::sample::select(ENDINGS), 0..4),
        ) {
            let word = start + &endings.concat();
            let word = &word[..word.len().min(LONGEST)];
            prop_assert_eq!(stemmed(word), Stemmer::new(Algorithm::English).stem(word));
        }
    }
}
