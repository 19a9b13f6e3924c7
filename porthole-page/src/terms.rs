//! Words to terms: the language is found, stop words fall out, the rest is stemmed and hashed.

use std::collections::HashMap;
use std::sync::OnceLock;

use frostem::{Algorithm, Stemmer};
use porthole_types::TermId;

use crate::words::{Word, each_word};

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
const VOTERS: u32 = 256;

/// Entries of the cache of stems: a page's vocabulary fits, and all of it into the second-level cache.
const CACHE: usize = 8192;

/// Turns text into terms. Holds a cache of stems, so one is kept for many pages; what it gives does not
/// depend on what it gave before.
pub(crate) struct Terms {
    cache: Vec<Cached>,
    stemmers: Vec<Option<Stemmer>>,
}

#[derive(Clone, Copy)]
struct Cached {
    word: Word,
    term: u32,
    /// One more than the language's number; 0 is an empty entry.
    language: u16,
    stop: bool,
}

/// A language by its number in `LANGUAGES`, or none of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Language(u16);

impl Language {
    /// No stop words, no stems.
    pub(crate) const UNKNOWN: Language = Language(LANGUAGES.len() as u16);

    /// The language of an ISO 639-1 code or a tag such as `en-GB`.
    fn of(tag: &str) -> Option<Language> {
        let code = tag.split(['-', '_']).next().unwrap_or(tag).trim();
        let index = LANGUAGES.iter().position(|(known, _)| known.eq_ignore_ascii_case(code))?;
        Some(Language(index as u16))
    }
}

impl Terms {
    pub(crate) fn new() -> Self {
        let empty = Cached { word: Word([0; 3]), term: 0, language: 0, stop: false };
        Terms { cache: vec![empty; CACHE], stemmers: LANGUAGES.iter().map(|_| None).collect() }
    }

    /// Appends the terms of `text[start..end]`, which is followed by padding.
    pub(crate) fn append(
        &mut self,
        text: &str,
        start: usize,
        end: usize,
        language: Language,
        out: &mut Vec<TermId>,
    ) {
        each_word(text, start, end, |word| {
            out.extend(self.term(word, language));
            true
        });
    }

    /// The term of a word; nothing for a stop word.
    #[inline]
    fn term(&mut self, word: Word, language: Language) -> Option<TermId> {
        let [a, b, c] = word.0;
        let mixed = (a ^ b.rotate_left(23) ^ c.rotate_left(47) ^ u64::from(language.0))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = (mixed >> (64 - CACHE.trailing_zeros())) as usize;
        let cached = self.cache[slot];
        let entry = if cached.word == word && cached.language == language.0 + 1 {
            cached
        } else {
            let new = self.look_up(word, language);
            self.cache[slot] = new;
            new
        };
        (!entry.stop).then_some(TermId(entry.term))
    }

    #[cold]
    fn look_up(&mut self, word: Word, language: Language) -> Cached {
        let stop = stop_words().get(&word).is_some_and(|mask| mask & language.mask() != 0);
        let (bytes, length) = word.bytes();
        let term = match std::str::from_utf8(&bytes[..length]) {
            Ok(text) if !stop => self.stem(text, language),
            _ => TermId::of(&bytes[..length]),
        };
        Cached { word, term: term.0, language: language.0 + 1, stop }
    }

    fn stem(&mut self, word: &str, language: Language) -> TermId {
        let Some(slot) = self.stemmers.get_mut(language.0 as usize) else {
            return TermId::of(word.as_bytes());
        };
        let stemmer = slot.get_or_insert_with(|| Stemmer::new(LANGUAGES[language.0 as usize].1));
        TermId::of(stemmer.stem(word).as_bytes())
    }
}

impl Language {
    fn mask(self) -> u32 {
        1 << self.0
    }
}

/// The language of a text, and its code: by the stop words that occur, else by what the page says, else by
/// a statistical detector. `text[..end]` is followed by padding.
pub(crate) fn language_of(text: &str, end: usize, declared: Option<&str>) -> (Language, &'static str) {
    let (votes, voters) = votes(text, end);
    let best = (0..LANGUAGES.len()).max_by_key(|&i| (votes[i], std::cmp::Reverse(i))).unwrap_or(0);
    let second = (0..LANGUAGES.len()).filter(|&i| i != best).map(|i| votes[i]).max().unwrap_or(0);
    // Every eighth word, and clearly more than any other language would claim.
    if voters >= 16 && votes[best] * 8 >= voters && votes[best] * 4 >= second * 5 {
        return (Language(best as u16), LANGUAGES[best].0);
    }
    let sample = &text[..text.floor_char_boundary(end.min(1024))];
    let detected = whatlang::detect(sample).filter(|info| info.is_reliable()).map(|info| info.lang());
    if let Some(code) = detected.and_then(two_letters) {
        return (Language::of(code).unwrap_or(Language::UNKNOWN), code);
    }
    match declared.and_then(Language::of) {
        Some(language) => (language, LANGUAGES[language.0 as usize].0),
        None => (Language::UNKNOWN, ""),
    }
}

/// How many of the first words are stop words of each language, and how many words that were.
fn votes(text: &str, end: usize) -> ([u32; LANGUAGES.len()], u32) {
    let mut votes = [0; LANGUAGES.len()];
    let mut voters = 0;
    let stop_words = stop_words();
    each_word(text, 0, end, |word| {
        voters += 1;
        let mut mask = stop_words.get(&word).copied().unwrap_or(0);
        while mask != 0 {
            votes[mask.trailing_zeros() as usize] += 1;
            mask &= mask - 1;
        }
        voters < VOTERS
    });
    (votes, voters)
}

/// Every stop word with the set of languages that it is one in.
fn stop_words() -> &'static HashMap<Word, u32> {
    static STOP_WORDS: OnceLock<HashMap<Word, u32>> = OnceLock::new();
    STOP_WORDS.get_or_init(|| {
        let mut map = HashMap::new();
        for (index, (code, _)) in LANGUAGES.iter().enumerate() {
            for word in stop_words::lookup(code).unwrap_or(&[]) {
                // Lists have "don't"; our words end at the apostrophe.
                for part in word.split(|c: char| !c.is_alphanumeric()).filter(|part| part.len() > 1) {
                    *map.entry(Word::of(part.to_lowercase().as_bytes())).or_insert(0) |= 1 << index;
                }
            }
        }
        map
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
    use crate::words::PADDING;

    fn padded(text: &str) -> String {
        format!("{text}{}", "\0".repeat(PADDING))
    }

    fn terms(text: &str, code: &str) -> Vec<TermId> {
        let mut out = Vec::new();
        let language = Language::of(code).unwrap_or(Language::UNKNOWN);
        Terms::new().append(&padded(text), 0, text.len(), language, &mut out);
        out
    }

    #[test]
    fn words_are_stemmed_and_stop_words_fall_out() {
        let ids = |stems: &[&str]| stems.iter().map(|s| TermId::of(s.as_bytes())).collect::<Vec<_>>();
        assert_eq!(terms("The bicycles are running, don't they?", "en"), ids(&["bicycl", "run"]));
        assert_eq!(terms("Die Fahrr\u{e4}der laufen", "de"), ids(&["fahrrad", "lauf"]));
        assert_eq!(terms("the bicycles", ""), ids(&["the", "bicycles"]));
    }

    #[test]
    fn the_cache_changes_nothing() {
        let mut shared = Terms::new();
        // Far more words than the cache has entries, twice over, in two languages.
        let text: String = (0..20_000).map(|i| format!("word{} ", (i * 7919) % 12_000)).collect();
        let text = padded(&text);
        let end = text.len() - PADDING;
        for code in ["en", "fr", "en"] {
            let language = Language::of(code).unwrap();
            let (mut warm, mut cold) = (Vec::new(), Vec::new());
            shared.append(&text, 0, end, language, &mut warm);
            Terms::new().append(&text, 0, end, language, &mut cold);
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
            assert_eq!(language_of(&padded(text), text.len(), declared).1, code, "for {text}");
        }
    }
}
