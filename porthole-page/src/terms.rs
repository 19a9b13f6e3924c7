//! Words to terms: the language is found, stop words fall out, the rest is stemmed and hashed.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::OnceLock;

use frostem::{Algorithm, Stemmer};
use porthole_types::TermId;

use crate::english;
use crate::words::{Word, Words, mixed};

/// Version of the rules from text to [`TermId`]. A model is only good for pages read with its version.
pub const TERM_VERSION: u32 = 1;

/// The languages that have stop words and a stemmer here.
const LANGUAGES: &[(&str, Algorithm)] = &[
    ("en", Algorithm::English),
    ("da", Algorithm::Danish),
    ("de", Algorithm::German),
    ("es", Algorithm::Spanish),
    ("fi", Algorithm::Finnish),
    ("fr", Algorithm::French),
    ("hu", Algorithm::Hungarian),
    ("it", Algorithm::Italian),
    ("nl", Algorithm::Dutch),
    ("no", Algorithm::Norwegian),
    ("pt", Algorithm::Portuguese),
    ("ro", Algorithm::Romanian),
    ("ru", Algorithm::Russian),
    ("sv", Algorithm::Swedish),
    ("tr", Algorithm::Turkish),
];

/// Words that vote on the language of a text.
const VOTERS: usize = 128;

/// Bytes that the statistical detector looks at.
const SAMPLE: usize = 1024;

/// Entries of the cache of terms, for words of up to eight bytes and for longer ones: the words that make up most of any
/// text, in reach of the processor's own caches. To stem another one costs less than to wait for memory.
const SHORT: usize = 16_384;
const LONG: usize = 8_192;

/// Words that are looked up together.
const STRETCH: usize = 64;

/// Turns words into terms. Holds a cache of stems, so one is kept for many pages; what it gives does not
/// depend on what it gave before.
pub(crate) struct Terms {
    short: Box<[Short; SHORT]>,
    long: Box<[Cached; LONG]>,
    stemmers: Vec<Option<Stemmer>>,
    /// The language of the last page, as a first guess for the next: only speed depends on it.
    guess: Language,
}

/// A text with its words and its language.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) text: &'a str,
    pub(crate) words: &'a Words,
    pub(crate) language: Language,
}

/// What is known of a word in a language. Aligned so that no entry lies across two cache lines.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Cached {
    word: Word,
    /// One more than the language's number; 0 is an empty entry.
    language: u16,
    known: Known,
}

/// The same of an ASCII word of up to eight bytes: four entries a cache line.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Short {
    /// The word, with the language in bits that ASCII leaves free; 0 is an empty entry.
    key: u64,
    known: Known,
}

/// What a word says.
#[derive(Clone, Copy)]
struct Known {
    term: TermId,
    /// The languages that it is a stop word in; `NOTHING` if it says nothing in any.
    stops: u16,
}

/// What is known of no word.
const NONE: Known = Known { term: TermId(0), stops: 0 };

/// The bit of a word that says nothing in any language.
const NOTHING: u16 = 1 << 15;

/// A language by its number in `LANGUAGES`, or none of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Language(u16);

impl Language {
    /// No stop words, no stems.
    pub(crate) const UNKNOWN: Language = Language(LANGUAGES.len() as u16);

    /// The language of an ISO 639-1 code; if it is none of ours, without stop words and stems.
    pub(crate) fn of_code(code: &str) -> Language {
        Language::of(code).unwrap_or(Language::UNKNOWN)
    }

    /// The language of an ISO 639-1 code or a tag such as `en-GB`.
    fn of(tag: &str) -> Option<Language> {
        let code = tag.split(['-', '_']).next().unwrap_or(tag).trim();
        let index = LANGUAGES.iter().position(|(known, _)| known.eq_ignore_ascii_case(code))?;
        Some(Language(index as u16))
    }
}

impl Default for Terms {
    fn default() -> Self {
        Terms::new()
    }
}

impl Terms {
    pub(crate) fn new() -> Self {
        let stemmers = LANGUAGES.iter().map(|_| None).collect();
        Terms {
            short: vec![Short { key: 0, known: NONE }; SHORT]
                .try_into()
                .ok()
                .expect("as many as there should be"),
            long: vec![Cached { word: Word([0; 3]), language: 0, known: NONE }; LONG]
                .try_into()
                .ok()
                .expect("as many as there should be"),
            stemmers,
            guess: Language(0),
        }
    }

    /// Appends the terms of a text without its stop words, and for each of the places `ends` in the text the
    /// number of terms up to there.
    pub(crate) fn append(
        &mut self,
        text: Text<'_>,
        mut ends: impl Iterator<Item = usize>,
        terms: &mut Vec<TermId>,
        term_ends: &mut Vec<u32>,
    ) {
        let dropped = text.language.mask() | NOTHING;
        let mut used = terms.len();
        terms.resize(used + text.words.len(), TermId(0));
        let mut end = ends.next();
        self.look_up_all(text.words.len(), text, |base, known| {
            let (room, mut count, mut kept) = (&mut terms[used..][..known.len()], 0, 0u64);
            for (index, known) in known.iter().enumerate() {
                let is_kept = known.stops & dropped == 0;
                room[count] = known.term;
                count += usize::from(is_kept);
                kept |= u64::from(is_kept) << index;
            }
            let mut before = 0;
            while let Some(place) = end {
                before += text.words.starting_before(place, base + before..base + known.len());
                if before == known.len() {
                    break;
                }
                term_ends.push(used as u32 + (kept & !(u64::MAX << before)).count_ones());
                end = ends.next();
            }
            used += count;
        });
        // What comes behind all of the places is not wanted.
        used = if end.is_none() { term_ends.last().map_or(0, |end| *end as usize) } else { used };
        term_ends.extend(end.into_iter().chain(ends).map(|_| used as u32));
        terms.truncate(used);
    }

    /// Tells what is known of the first `count` words of a text, up to 64 at a time, with the number of the first of them: first
    /// the short ones that the cache answers, without a branch on it; then the others.
    #[inline(always)]
    fn look_up_all(&mut self, count: usize, text: Text<'_>, mut tell: impl FnMut(usize, &[Known])) {
        let Text { text, words, language } = text;
        let mut keys = [0; STRETCH];
        let mut known = [NONE; STRETCH];
        for base in (0..count).step_by(STRETCH) {
            let stretch = STRETCH.min(count - base);
            self.touch(words, text, base, language, &mut keys[..stretch]);
            let mut missing = self.look(&keys[..stretch], &mut known);
            while missing != 0 {
                let index = missing.trailing_zeros() as usize;
                known[index] = self.entry(words.get(text, base + index), language);
                missing &= missing - 1;
            }
            tell(base, &known[..stretch]);
        }
    }

    /// The keys of the words from a place on. Entries are touched before they are looked at: with so little else to do, many
    /// of them are on their way from memory at once.
    #[inline(never)]
    fn touch(&self, words: &Words, text: &str, from: usize, language: Language, keys: &mut [u64]) {
        let mark = language.mark();
        let mut touched = 0;
        for (key, word) in keys.iter_mut().zip(words.short(text, from)) {
            *key = word | mark;
            touched ^= self.short[slot::<SHORT>(mixed(*key))].known.stops;
        }
        black_box(touched);
    }

    /// What is known of the words with these keys; a bit for each that is not in the cache.
    #[inline(never)]
    fn look(&self, keys: &[u64], known: &mut [Known; STRETCH]) -> u64 {
        let mut missing = 0;
        for (index, (known, &key)) in known.iter_mut().zip(keys).enumerate() {
            let cached = &self.short[slot::<SHORT>(mixed(key))];
            *known = cached.known;
            missing |= u64::from(cached.key != key) << index;
        }
        missing
    }

    /// What is known of a word.
    #[inline]
    fn entry(&mut self, word: Word, language: Language) -> Known {
        if let Some(short) = word.short() {
            let key = short | language.mark();
            let slot = slot::<SHORT>(mixed(key));
            if self.short[slot].key != key {
                self.short[slot] = Short { key, known: self.look_up(word, language) };
            }
            return self.short[slot].known;
        }
        let slot = slot::<LONG>(word.mixed());
        if !self.long[slot].is(word, language) {
            self.long[slot] = Cached { word, language: language.0 + 1, known: self.look_up(word, language) };
        }
        self.long[slot].known
    }

    #[inline(never)]
    fn look_up(&mut self, word: Word, language: Language) -> Known {
        let stops = stop_words().get(word);
        let stops = stops | if word.says_nothing() { NOTHING } else { 0 };
        let is_term = stops & (language.mask() | NOTHING) == 0;
        let term = if is_term { self.term(word, language) } else { TermId(0) };
        Known { term, stops }
    }

    fn term(&mut self, word: Word, language: Language) -> TermId {
        self.with_stem(word, language, TermId::of)
    }

    #[inline(always)]
    fn with_stem<T>(&mut self, word: Word, language: Language, then: impl FnOnce(&[u8]) -> T) -> T {
        if language == ENGLISH && word.is_plain() {
            let (stem, length) = english::stem(word);
            return then(&stem[..length]);
        }
        let (bytes, length) = word.bytes();
        let text = std::str::from_utf8(&bytes[..length]).unwrap_or("");
        match self.stemmers.get_mut(language.0 as usize) {
            // A word with a digit in it is its own stem.
            Some(slot) if !text.bytes().any(|b| b.is_ascii_digit()) => {
                let stemmer = slot.get_or_insert_with(|| Stemmer::new(LANGUAGES[language.0 as usize].1));
                then(stemmer.stem(text).as_bytes())
            }
            _ => then(text.as_bytes()),
        }
    }

    /// Every word of a text that is a term, with its term and its stem.
    pub(crate) fn spelled(
        &mut self,
        text: &str,
        words: &Words,
        language: &str,
    ) -> Vec<(TermId, String, String)> {
        let language = Language::of_code(language);
        let dropped = language.mask() | NOTHING;
        let is_term = |(_, entry): &(Word, Known)| entry.stops & dropped == 0;
        let known = words.iter(text).map(|word| (word, self.look_up(word, language))).collect::<Vec<_>>();
        let spell = |(word, entry): (Word, Known)| {
            let (bytes, length) = word.bytes();
            let stem = self.with_stem(word, language, |stem| String::from_utf8_lossy(stem).into_owned());
            (entry.term, String::from_utf8_lossy(&bytes[..length]).into_owned(), stem)
        };
        known.into_iter().filter(is_term).map(spell).collect()
    }

    /// The language of a text, and its code: by the stop words that occur, else by what the page says,
    /// else by a statistical detector.
    pub(crate) fn language(
        &mut self,
        words: &Words,
        text: &str,
        declared: Option<&str>,
    ) -> (Language, &'static str) {
        let found = self.find_language(words, text, declared);
        self.guess = found.0;
        found
    }

    fn find_language(
        &mut self,
        words: &Words,
        text: &str,
        declared: Option<&str>,
    ) -> (Language, &'static str) {
        let voters = words.len().min(VOTERS) as u16;
        let votes = self.votes(words, text);
        let best = (0..LANGUAGES.len()).max_by_key(|&i| (votes[i], std::cmp::Reverse(i))).unwrap_or(0);
        let second = (0..LANGUAGES.len()).filter(|&i| i != best).map(|i| votes[i]).max().unwrap_or(0);
        // Every sixteenth word, and clearly more than any other language would claim.
        if votes[best] >= 4 && votes[best] * 16 >= voters && votes[best] * 4 >= second * 5 {
            return (Language(best as u16), LANGUAGES[best].0);
        }
        let declared = declared.and_then(Language::of);
        // What the page says is believed if its words do not speak against it.
        if let Some(language) =
            declared.filter(|l| votes[l.0 as usize] * 5 >= votes[best] * 4 && votes[best] > 0)
        {
            return (language, LANGUAGES[language.0 as usize].0);
        }
        let sample = &text[..text.floor_char_boundary(SAMPLE)];
        let detected = whatlang::detect(sample).filter(whatlang::Info::is_reliable).map(|info| info.lang());
        if let Some(code) = detected.and_then(two_letters) {
            return (Language::of(code).unwrap_or(Language::UNKNOWN), code);
        }
        match declared {
            Some(language) => (language, LANGUAGES[language.0 as usize].0),
            None => (Language::UNKNOWN, ""),
        }
    }

    /// How many of the first words are stop words of each language.
    fn votes(&mut self, words: &Words, text: &str) -> [u16; LANGUAGES.len()] {
        let voters = words.len().min(VOTERS);
        let mut votes = [0; LANGUAGES.len()];
        self.look_up_all(voters, Text { text, words, language: self.guess }, |_, known| {
            for Known { stops, .. } in known {
                // All languages, whether it is a stop word in them or not: that can be done at once.
                votes.iter_mut().enumerate().for_each(|(language, votes)| *votes += stops >> language & 1);
            }
        });
        votes
    }
}

/// Where the entry of a word with this mixed number is, if it has one.
#[inline(always)]
fn slot<const ENTRIES: usize>(mixed: u64) -> usize {
    (mixed >> (64 - ENTRIES.trailing_zeros())) as usize
}

impl Cached {
    #[inline]
    fn is(&self, word: Word, language: Language) -> bool {
        let ([a, b, c], [x, y, z]) = (self.word.0, word.0);
        // In one expression without branches, and number by number: compared as one block, the word would
        // take a detour through memory.
        (a ^ x) | (b ^ y) | (c ^ z) | u64::from(self.language ^ (language.0 + 1)) == 0
    }
}

impl Language {
    /// Its number, which is never 0, in the bits of a word's first bytes that ASCII leaves free.
    fn mark(self) -> u64 {
        (0..8).map(|bit| u64::from((self.0 + 1) >> bit & 1) << (8 * bit + 7)).sum()
    }

    /// Its bit in a set of languages; none for a language that is not known.
    fn mask(self) -> u16 {
        if self == Language::UNKNOWN { 0 } else { 1 << self.0 }
    }
}

const ENGLISH: Language = Language(0);

/// Every stop word with the set of languages that it is one in.
struct StopWords {
    languages: HashMap<Word, u16, foldhash::fast::FixedState>,
    /// A bit for each word by its `mixed` number, and hardly any for others. Most words are no stop words, and are
    /// known as such from these few lines of memory.
    hints: [u64; HINTS / 64],
}

const HINTS: usize = 1 << 15;

impl StopWords {
    fn add(&mut self, word: Word, language: usize) {
        *self.languages.entry(word).or_insert(0) |= 1 << language;
        let (at, bit) = StopWords::hint(word);
        self.hints[at] |= bit;
    }

    /// The languages that a word is a stop word in.
    fn get(&self, word: Word) -> u16 {
        let (at, bit) = StopWords::hint(word);
        if self.hints[at] & bit == 0 { 0 } else { self.languages.get(&word).copied().unwrap_or(0) }
    }

    fn hint(word: Word) -> (usize, u64) {
        let hint = (word.mixed() >> (64 - HINTS.trailing_zeros())) as usize;
        (hint / 64, 1 << (hint % 64))
    }
}

fn stop_words() -> &'static StopWords {
    static STOP_WORDS: OnceLock<StopWords> = OnceLock::new();
    STOP_WORDS.get_or_init(|| {
        let mut stop_words = StopWords { languages: HashMap::default(), hints: [0; HINTS / 64] };
        for (index, (code, _)) in LANGUAGES.iter().enumerate() {
            for word in stop_words::lookup(code).unwrap_or(&[]) {
                // Lists have "don't"; our words end at the apostrophe.
                for part in word.split(|c: char| !c.is_alphanumeric()).filter(|part| part.len() > 1) {
                    stop_words.add(Word::of(part.to_lowercase().as_bytes()), index);
                }
            }
        }
        stop_words
    })
}

/// ISO 639-1 for the detector's languages.
fn two_letters(lang: whatlang::Lang) -> Option<&'static str> {
    const CODES: &[(&str, &str)] = &[
        ("afr", "af"),
        ("aka", "ak"),
        ("amh", "am"),
        ("ara", "ar"),
        ("aze", "az"),
        ("bel", "be"),
        ("ben", "bn"),
        ("bul", "bg"),
        ("cat", "ca"),
        ("ces", "cs"),
        ("cmn", "zh"),
        ("cym", "cy"),
        ("dan", "da"),
        ("deu", "de"),
        ("ell", "el"),
        ("eng", "en"),
        ("epo", "eo"),
        ("est", "et"),
        ("fin", "fi"),
        ("fra", "fr"),
        ("guj", "gu"),
        ("heb", "he"),
        ("hin", "hi"),
        ("hrv", "hr"),
        ("hun", "hu"),
        ("hye", "hy"),
        ("ind", "id"),
        ("ita", "it"),
        ("jav", "jv"),
        ("jpn", "ja"),
        ("kan", "kn"),
        ("kat", "ka"),
        ("khm", "km"),
        ("kor", "ko"),
        ("lat", "la"),
        ("lav", "lv"),
        ("lit", "lt"),
        ("mal", "ml"),
        ("mar", "mr"),
        ("mkd", "mk"),
        ("mya", "my"),
        ("nep", "ne"),
        ("nld", "nl"),
        ("nob", "no"),
        ("ori", "or"),
        ("pan", "pa"),
        ("pes", "fa"),
        ("pol", "pl"),
        ("por", "pt"),
        ("ron", "ro"),
        ("rus", "ru"),
        ("sin", "si"),
        ("slk", "sk"),
        ("slv", "sl"),
        ("sna", "sn"),
        ("spa", "es"),
        ("srp", "sr"),
        ("swe", "sv"),
        ("tam", "ta"),
        ("tel", "te"),
        ("tgl", "tl"),
        ("tha", "th"),
        ("tuk", "tk"),
        ("tur", "tr"),
        ("ukr", "uk"),
        ("urd", "ur"),
        ("uzb", "uz"),
        ("vie", "vi"),
        ("yid", "yi"),
        ("zul", "zu"),
    ];
    CODES.iter().find(|(three, _)| *three == lang.code()).map(|(_, two)| *two)
}

#[cfg(test)]
mod tests {
    use super::*;
    fn found(text: &str) -> Words {
        let mut words = Words::default();
        words.find(text);
        words
    }

    fn terms_with(terms: &mut Terms, text: &str, code: &str) -> Vec<TermId> {
        let words = found(text);
        let language = Language::of(code).unwrap_or(Language::UNKNOWN);
        let mut out = Vec::new();
        terms.append(
            Text { text, words: &words, language },
            [text.len()].into_iter(),
            &mut out,
            &mut Vec::new(),
        );
        out
    }

    fn terms(text: &str, code: &str) -> Vec<TermId> {
        terms_with(&mut Terms::new(), text, code)
    }

    #[test]
    fn places_in_the_text_become_numbers_of_terms() {
        let text = "the bicycles are running on the road";
        let (mut terms, mut ends) = (Vec::new(), Vec::new());
        let places = [0, 12, 24, text.len()].into_iter();
        Terms::new().append(
            Text { text, words: &found(text), language: ENGLISH },
            places,
            &mut terms,
            &mut ends,
        );
        assert_eq!((terms.len(), ends), (3, vec![0, 1, 2, 3]));
    }

    #[test]
    fn words_are_stemmed_and_stop_words_fall_out() {
        let ids = |stems: &[&str]| stems.iter().map(|s| TermId::of(s.as_bytes())).collect::<Vec<_>>();
        assert_eq!(terms("The bicycles are running, don't they?", "en"), ids(&["bicycl", "run"]));
        assert_eq!(terms("Die Fahrr\u{e4}der laufen", "de"), ids(&["fahrrad", "lauf"]));
        assert_eq!(terms("the bicycles", ""), ids(&["the", "bicycles"]));
        assert_eq!(terms("I saw 1999 a b52 5551234", "en"), ids(&["saw", "1999", "b52"]));
    }

    /// A number in letters.
    fn spelt(mut number: u32) -> String {
        let mut word = String::new();
        while number > 0 || word.len() < 2 {
            word.push(char::from(b'a' + (number % 26) as u8));
            number /= 26;
        }
        word
    }

    #[test]
    fn the_cache_changes_nothing() {
        let mut shared = Terms::new();
        // Far more words than the cache has entries, twice over, in two languages.
        let text: String = (0..400_000u32).map(|i| format!("{} ", spelt((i % 200_000) * 7))).collect();
        for code in ["en", "fr", "en"] {
            let warm = terms_with(&mut shared, &text, code);
            let cold = terms(&text, code);
            assert!(warm == cold);
        }
    }

    #[test]
    fn languages_are_told_apart() {
        for (text, declared, code) in [
            (
                "The bicycle was invented in the nineteenth century and has been used by many people since then, for work and for pleasure",
                None,
                "en",
            ),
            (
                "Das Fahrrad wurde im neunzehnten Jahrhundert erfunden und wird seitdem von vielen Menschen f\u{fc}r die Arbeit benutzt",
                Some("en"),
                "de",
            ),
            (
                "Le v\u{e9}lo a \u{e9}t\u{e9} invent\u{e9} au dix-neuvi\u{e8}me si\u{e8}cle et il est utilis\u{e9} par beaucoup de gens dans le monde pour leur travail",
                None,
                "fr",
            ),
            (
                "\u{6771}\u{4eac}\u{306f}\u{65e5}\u{672c}\u{306e}\u{9996}\u{90fd}\u{3067}\u{3042}\u{308a}\u{3001}\u{4e16}\u{754c}\u{6700}\u{5927}\u{306e}\u{90fd}\u{5e02}\u{306e}\u{4e00}\u{3064}\u{3067}\u{3059}",
                None,
                "ja",
            ),
            ("xyzzy plugh", Some("en-GB"), "en"),
            ("", None, ""),
        ] {
            assert_eq!(Terms::new().language(&found(text), text, declared).1, code, "for {text}");
        }
    }
}
