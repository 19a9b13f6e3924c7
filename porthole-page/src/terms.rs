//! Conversion of words to terms: stop words, stemming, hashing.

use std::collections::HashMap;
use std::hint::black_box;
use std::ops::Range;
use std::sync::OnceLock;

use frostem::Stemmer;
use porthole_types::TermId;

use crate::english;
use crate::language::{ENGLISH, LANGUAGES, Language, STEMMED, StopWordVotes, detect};
use crate::words::{LONGEST, PackedWord, Words, mixed};

/// Version of the rules from text to [`TermId`]. A model is only valid for pages read with its version.
pub const TERM_VERSION: u32 = 2;

/// Number of words that are used to detect the language.
const VOTERS: usize = 128;

/// Entries of the term caches, for words of up to eight bytes and for longer ones: the most frequent words, small
/// enough for the processor's caches. Stemming another word is cheaper than a memory access.
const SHORT: usize = 16_384;
const LONG: usize = 8_192;

/// Number of words that are looked up together.
const STRETCH: usize = 64;

/// Converts words to terms. Holds a cache of stems, so it is reused for many pages; its results do not depend on
/// earlier calls.
pub(crate) struct TermReader {
    short: Box<[Short; SHORT]>,
    long: Box<[Cached; LONG]>,
    stemmers: Vec<Option<Stemmer>>,
    /// Language of the last page, as a guess for the next; affects only speed.
    guess: Language,
}

/// A text with its words and its language.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    pub(crate) text: &'a str,
    pub(crate) words: &'a Words,
    pub(crate) language: Language,
}

/// A cache entry: a word in a language. Aligned so that no entry spans two cache lines.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Cached {
    word: PackedWord,
    /// The language's number plus 1; 0 is an empty entry.
    language: u16,
    known: CachedWord,
}

/// A cache entry for an ASCII word of up to eight bytes: four entries a cache line.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Short {
    /// The word, with the language in bits that ASCII leaves free; 0 is an empty entry.
    key: u64,
    known: CachedWord,
}

/// The cached result of a word.
#[derive(Clone, Copy)]
struct CachedWord {
    term: TermId,
    /// Bit set of the languages in which it is a stop word; `NOTHING` if it is insignificant in all.
    stops: u32,
}

/// Result of an empty entry.
const NONE: CachedWord = CachedWord { term: TermId(0), stops: 0 };

/// The bit of a word that is insignificant in all languages.
const NOTHING: u32 = 1 << 31;

impl Default for TermReader {
    fn default() -> Self {
        TermReader::new()
    }
}

impl TermReader {
    pub(crate) fn new() -> Self {
        let stemmers = LANGUAGES.iter().map(|_| None).collect();
        TermReader {
            short: vec![Short { key: 0, known: NONE }; SHORT]
                .try_into()
                .ok()
                .expect("as many as there should be"),
            long: vec![Cached { word: PackedWord([0; 3]), language: 0, known: NONE }; LONG]
                .try_into()
                .ok()
                .expect("as many as there should be"),
            stemmers,
            guess: Language(0),
        }
    }

    /// Appends the terms of a text without its stop words, and for each of the positions `ends` in the text the number
    /// of terms up to there.
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
        self.look_up_all(0..text.words.len(), text, |base, known| {
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
        // Terms after the last position are dropped.
        used = if end.is_none() { term_ends.last().map_or(0, |end| *end as usize) } else { used };
        term_ends.extend(end.into_iter().chain(ends).map(|_| used as u32));
        terms.truncate(used);
    }

    /// Calls `tell` with the results of a range of the words of a text, up to 64 at a time, with the index of the first
    /// of them. Short words are answered by the cache first, without branches, then the others.
    #[inline(always)]
    fn look_up_all(
        &mut self,
        range: Range<usize>,
        text: Text<'_>,
        mut tell: impl FnMut(usize, &[CachedWord]),
    ) {
        let Text { text, words, language } = text;
        let mut keys = [0; STRETCH];
        let mut known = [NONE; STRETCH];
        for base in range.clone().step_by(STRETCH) {
            let stretch = STRETCH.min(range.end - base);
            self.touch(words, text, base, language, &mut keys[..stretch]);
            let mut missing = self.look(&keys[..stretch], &mut known);
            while missing != 0 {
                let index = missing.trailing_zeros() as usize;
                let word = words.get(text, base + index);
                known[index] = match words.long(word) {
                    Some(long) => self.look_up_long(long, language),
                    None => self.entry(word, language),
                };
                missing &= missing - 1;
            }
            tell(base, &known[..stretch]);
        }
    }

    /// The cache keys of the words from an index on. The entries are read ahead, so that the memory accesses overlap.
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

    /// The cached results of these keys; a bit for each miss.
    #[inline(never)]
    fn look(&self, keys: &[u64], known: &mut [CachedWord; STRETCH]) -> u64 {
        let mut missing = 0;
        for (index, (known, &key)) in known.iter_mut().zip(keys).enumerate() {
            let cached = &self.short[slot::<SHORT>(mixed(key))];
            *known = cached.known;
            missing |= u64::from(cached.key != key) << index;
        }
        missing
    }

    /// Looks up a word.
    #[inline]
    fn entry(&mut self, word: PackedWord, language: Language) -> CachedWord {
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
    fn look_up(&mut self, word: PackedWord, language: Language) -> CachedWord {
        let stops = stop_words().get(word);
        let stops = stops | if word.is_insignificant() { NOTHING } else { 0 };
        let is_term = stops & (language.mask() | NOTHING) == 0;
        let term = if is_term { self.term(word, language) } else { TermId(0) };
        CachedWord { term, stops }
    }

    /// As `look_up`, for a word that has no key; too rare to be kept.
    #[cold]
    fn look_up_long(&mut self, word: &str, language: Language) -> CachedWord {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let stops = if is_number { NOTHING } else { 0 };
        CachedWord { term: self.with_stem_of(word, language, TermId::of), stops }
    }

    fn term(&mut self, word: PackedWord, language: Language) -> TermId {
        self.with_stem(word, language, TermId::of)
    }

    #[inline(always)]
    fn with_stem<T>(&mut self, word: PackedWord, language: Language, then: impl FnOnce(&[u8]) -> T) -> T {
        if language == ENGLISH && word.is_plain() {
            let (stem, length) = english::stem(word);
            return then(&stem[..length]);
        }
        let (bytes, length) = word.bytes();
        self.with_stem_of(std::str::from_utf8(&bytes[..length]).unwrap_or(""), language, then)
    }

    fn with_stem_of<T>(&mut self, text: &str, language: Language, then: impl FnOnce(&[u8]) -> T) -> T {
        match self.stemmers.get_mut(language.0 as usize) {
            // A word with a digit is not stemmed.
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
        let mut spelled = Vec::new();
        for word in words.iter(text) {
            let (bytes, length) = word.bytes();
            let (known, spelling) = match words.long(word) {
                Some(long) => (self.look_up_long(long, language), long),
                None => (self.look_up(word, language), std::str::from_utf8(&bytes[..length]).unwrap_or("")),
            };
            if known.stops & dropped == 0 {
                let owned = |stem: &[u8]| String::from_utf8_lossy(stem).into_owned();
                let stem = match words.long(word) {
                    Some(long) => self.with_stem_of(long, language, owned),
                    None => self.with_stem(word, language, owned),
                };
                spelled.push((known.term, spelling.to_owned(), stem));
            }
        }
        spelled
    }

    /// Language of a text and its code, by the words from a position on.
    pub(crate) fn language(
        &mut self,
        words: &Words,
        text: &str,
        from: usize,
        declared: Option<&str>,
    ) -> (Language, &'static str) {
        let votes = self.votes(words, text, words.first_from(from));
        let code = detect(&votes, &text[from..], declared);
        let language = Language::of_code(code);
        self.guess = language;
        (language, code)
    }

    fn votes(&mut self, words: &Words, text: &str, first: usize) -> StopWordVotes {
        let voters = first..words.len().min(first + VOTERS);
        let number = voters.len() as u16;
        let mut votes = [0; STEMMED];
        self.look_up_all(voters, Text { text, words, language: self.guess }, |_, known| {
            for CachedWord { stops, .. } in known {
                // Unconditionally for all languages, so that the loop can be vectorised.
                let is_stop = |language: usize| (stops >> language & 1) as u16;
                votes.iter_mut().enumerate().for_each(|(language, votes)| *votes += is_stop(language));
            }
        });
        StopWordVotes { votes, words: number }
    }
}

/// Slot of a word with this hash, if it is cacheable.
#[inline(always)]
fn slot<const ENTRIES: usize>(mixed: u64) -> usize {
    (mixed >> (64 - ENTRIES.trailing_zeros())) as usize
}

impl Cached {
    #[inline]
    fn is(&self, word: PackedWord, language: Language) -> bool {
        let ([a, b, c], [x, y, z]) = (self.word.0, word.0);
        // One expression without branches, compared number by number: a block comparison would go through memory.
        (a ^ x) | (b ^ y) | (c ^ z) | u64::from(self.language ^ (language.0 + 1)) == 0
    }
}

/// All stop words with the languages in which they are stop words.
struct StopWords {
    languages: HashMap<PackedWord, u32, foldhash::fast::FixedState>,
    /// A Bloom filter by `mixed` number. Most words are not stop words, which is known from these few cache lines.
    hints: [u64; HINTS / 64],
}

const HINTS: usize = 1 << 15;

impl StopWords {
    fn add(&mut self, word: PackedWord, language: usize) {
        *self.languages.entry(word).or_insert(0) |= 1 << language;
        let (at, bit) = StopWords::hint(word);
        self.hints[at] |= bit;
    }

    /// Bit set of the languages in which a word is a stop word.
    fn get(&self, word: PackedWord) -> u32 {
        let (at, bit) = StopWords::hint(word);
        if self.hints[at] & bit == 0 { 0 } else { self.languages.get(&word).copied().unwrap_or(0) }
    }

    fn hint(word: PackedWord) -> (usize, u64) {
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
                // Lists have "don't"; words end at the apostrophe here.
                for part in word
                    .split(|c: char| !c.is_alphanumeric())
                    .filter(|part| (2..=LONGEST).contains(&part.len()))
                {
                    stop_words.add(PackedWord::of(part.to_lowercase().as_bytes()), index);
                }
            }
        }
        stop_words
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    fn found(text: &str) -> Words {
        let mut words = Words::default();
        words.find(text);
        words
    }

    fn terms_with(terms: &mut TermReader, text: &str, code: &str) -> Vec<TermId> {
        let words = found(text);
        let language = Language::of_code(code);
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
        terms_with(&mut TermReader::new(), text, code)
    }

    #[test]
    fn text_positions_become_term_counts() {
        let text = "the bicycles are running on the road";
        let (mut terms, mut ends) = (Vec::new(), Vec::new());
        let places = [0, 12, 24, text.len()].into_iter();
        TermReader::new().append(
            Text { text, words: &found(text), language: ENGLISH },
            places,
            &mut terms,
            &mut ends,
        );
        assert_eq!((terms.len(), ends), (3, vec![0, 1, 2, 3]));
    }

    #[test]
    fn words_are_stemmed_and_stop_words_removed() {
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
        let mut shared = TermReader::new();
        // Far more words than cache entries, twice over, in two languages.
        let text: String = (0..400_000u32).map(|i| format!("{} ", spelt((i % 200_000) * 7))).collect();
        for code in ["en", "fr", "en"] {
            let warm = terms_with(&mut shared, &text, code);
            let cold = terms(&text, code);
            assert!(warm == cold);
        }
    }

    #[test]
    fn languages_are_detected() {
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
            assert_eq!(TermReader::new().language(&found(text), text, 0, declared).1, code, "for {text}");
        }
    }

    /// The first article of the Universal Declaration of Human Rights, in languages that are alike.
    const ARTICLES: &str = include_str!("../tests/fixtures/languages.tsv");

    #[test]
    fn similar_languages_are_distinguished() {
        for line in ARTICLES.lines() {
            let (code, text) = line.split_once('\t').unwrap();
            // The declaration is ignored: many pages falsely declare English.
            for declared in [None, Some("en"), Some("ru"), Some("es")] {
                let (_, found) = TermReader::new().language(&found(text), text, 0, declared);
                assert_eq!(found, code, "with {declared:?}: {text}");
            }
        }
    }

    #[test]
    fn the_declared_language_is_used_for_short_texts() {
        let honey = "\u{43c}\u{435}\u{434}";
        for (text, declared, code) in [
            (honey, "uk-UA", "uk"),
            (honey, "mk", "mk"),
            ("mel", "ca", "ca"),
            // Not written in this script.
            (honey, "en", ""),
        ] {
            assert_eq!(TermReader::new().language(&found(text), text, 0, Some(declared)).1, code, "{text}");
        }
    }

    #[test]
    fn long_words_are_stemmed_whole() {
        let ids = |stems: &[&str]| stems.iter().map(|s| TermId::of(s.as_bytes())).collect::<Vec<_>>();
        // "\u{43f}\u{440}\u{43e}\u{442}\u{438}\u{432}\u{43e}\u{43f}\u{43e}\u{441}\u{442}\u{430}\u{432}\u{43b}\u{435}\u{43d}\u{438}\u{435}", contrast, and its genitive.
        let stem = "\u{43f}\u{440}\u{43e}\u{442}\u{438}\u{432}\u{43e}\u{43f}\u{43e}\u{441}\u{442}\u{430}\u{432}\u{43b}\u{435}\u{43d}";
        for ending in ["\u{438}\u{435}", "\u{438}\u{44f}"] {
            assert_eq!(terms(&format!("{stem}{ending}"), "ru"), ids(&[stem]));
        }
        let compound = "Donaudampfschifffahrtsgesellschaften";
        assert_eq!(terms(compound, "de"), ids(&["donaudampfschifffahrtsgesellschaft"]));
        assert_eq!(terms(&"1".repeat(30), "de"), []);
        let (words, mut reader) = (found(compound), TermReader::new());
        let spelled = reader.spelled(compound, &words, "de");
        let (word, stem) = ("donaudampfschifffahrtsgesellschaften", "donaudampfschifffahrtsgesellschaft");
        assert_eq!(spelled, [(TermId::of(stem.as_bytes()), word.to_owned(), stem.to_owned())]);
    }
}
