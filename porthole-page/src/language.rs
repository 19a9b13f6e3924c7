//! Detects the language of a text: by its stop words if they are distinctive, else by a statistical detector, by
//! the page's declaration, and finally by its stop words again.

use frostem::Algorithm;
use whatlang::Lang;

/// The languages with a stemmer. Most have stop words too.
pub(crate) const LANGUAGES: &[(&str, Algorithm)] = &[
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
    ("ar", Algorithm::Arabic),
    ("ca", Algorithm::Catalan),
    ("cs", Algorithm::Czech),
    ("el", Algorithm::Greek),
    ("et", Algorithm::Estonian),
    ("fa", Algorithm::Persian),
    ("hi", Algorithm::Hindi),
    ("hy", Algorithm::Armenian),
    ("id", Algorithm::Indonesian),
    ("lt", Algorithm::Lithuanian),
    ("ne", Algorithm::Nepali),
    ("pl", Algorithm::Polish),
    ("sr", Algorithm::Serbian),
    ("ta", Algorithm::Tamil),
    ("uk", Algorithm::Ukrainian),
];

/// Number of languages with a stemmer.
pub(crate) const STEMMED: usize = LANGUAGES.len();

/// Languages that cannot be confused with another by their stop words. The others have relatives: Russian has
/// Ukrainian, Bulgarian and Serbian, Danish has Norwegian, Spanish has Catalan, Dutch has Afrikaans, and Finnish
/// has Estonian.
const DISTINCT: &[&str] = &["en", "de", "fr", "hu", "it"];

/// Number of bytes passed to the statistical detector.
const SAMPLE: usize = 1024;

/// A language by its number in `LANGUAGES`, or unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Language(pub(crate) u16);

pub(crate) const ENGLISH: Language = Language(0);

impl Language {
    /// Unknown, or without a stemmer: no stop words, no stemming.
    pub(crate) const UNKNOWN: Language = Language(STEMMED as u16);

    /// The language of an ISO 639-1 code; unknown if it has no stemmer.
    pub(crate) fn of_code(code: &str) -> Language {
        let index = LANGUAGES.iter().position(|(known, _)| *known == code);
        index.map_or(Language::UNKNOWN, |index| Language(index as u16))
    }

    /// Its number plus 1 in the bits of a word's first bytes that ASCII leaves free.
    pub(crate) fn mark(self) -> u64 {
        (0..8).map(|bit| u64::from((self.0 + 1) >> bit & 1) << (8 * bit + 7)).sum()
    }

    /// Its bit in a set of languages; 0 if unknown.
    pub(crate) fn mask(self) -> u32 {
        if self == Language::UNKNOWN { 0 } else { 1 << self.0 }
    }
}

/// Number of stop words of each language among the first words of a text.
pub(crate) struct StopWordVotes {
    pub(crate) votes: [u16; STEMMED],
    /// Number of words that were counted.
    pub(crate) words: u16,
}

impl StopWordVotes {
    /// The language with the most votes, and whether they are enough: at least every sixteenth word, and clearly more
    /// than for any other language.
    fn best(&self) -> (usize, bool) {
        let votes = &self.votes;
        let best = (0..STEMMED).max_by_key(|&i| (votes[i], std::cmp::Reverse(i))).unwrap_or(0);
        let second = (0..STEMMED).filter(|&i| i != best).map(|i| votes[i]).max().unwrap_or(0);
        let is_clear = votes[best] >= 4 && votes[best] * 16 >= self.words && votes[best] * 4 >= second * 5;
        (best, is_clear)
    }

    /// Whether the stop words are consistent with this language.
    fn allow(&self, code: &str) -> bool {
        let Language(number) = Language::of_code(code);
        let most = self.votes.iter().max().copied().unwrap_or(0);
        self.votes.get(number as usize).is_some_and(|&votes| most > 0 && votes * 5 >= most * 4)
    }
}

/// The code of a text's language, given what its page declares; empty if unknown.
pub(crate) fn detect(votes: &StopWordVotes, text: &str, declared: Option<&str>) -> &'static str {
    let (best, is_clear) = votes.best();
    let voted = LANGUAGES[best].0;
    let is_distinct = |code: &&str| DISTINCT.contains(code);
    if is_clear && is_distinct(&voted) {
        return voted;
    }
    let declared = declared.and_then(code_of_tag);
    if let Some(code) = declared.filter(|code| is_distinct(code) && votes.allow(code)) {
        return code;
    }
    let guess = whatlang::detect(&text[..text.floor_char_boundary(SAMPLE)]);
    let reliable = guess.as_ref().filter(|guess| guess.is_reliable());
    if let Some(code) = reliable.and_then(|guess| two_letters(guess.lang())) {
        return code;
    }
    // A declared language that is not written in the detected script comes from a template.
    let fits = |code: &&str| guess.as_ref().is_none_or(|guess| is_written_in(code, guess.script()));
    declared.filter(fits).or_else(|| is_clear.then_some(voted)).unwrap_or("")
}

/// The ISO 639-1 code and the English name of a language that [`Page::language`](crate::Page::language) can have.
pub fn language_name(code: &str) -> Option<(&'static str, &'static str)> {
    let (three, two) = CODES.iter().find(|(_, two)| *two == code)?;
    Some((two, Lang::from_code(*three)?.eng_name()))
}

/// The ISO 639-1 code of a language tag such as `en-GB`, if the language is known.
fn code_of_tag(tag: &str) -> Option<&'static str> {
    let code = tag.split(['-', '_']).next().unwrap_or(tag).trim().to_ascii_lowercase();
    let code = match code.as_str() {
        // Bokmål and Nynorsk, and obsolete codes.
        "nb" | "nn" => "no",
        "iw" => "he",
        "in" => "id",
        code => code,
    };
    CODES.iter().map(|(_, two)| *two).find(|two| *two == code)
}

fn is_written_in(code: &str, script: whatlang::Script) -> bool {
    let lang = CODES.iter().find(|(_, two)| *two == code).and_then(|(three, _)| Lang::from_code(*three));
    lang.is_none_or(|lang| script.langs().contains(&lang))
}

fn two_letters(lang: Lang) -> Option<&'static str> {
    CODES.iter().find(|(three, _)| *three == lang.code()).map(|(_, two)| *two)
}

/// ISO 639-1 codes of the detector's languages.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_as_they_are_written() {
        for (tag, code) in [
            ("en-GB", Some("en")),
            ("UK", Some("uk")),
            ("zh_Hans", Some("zh")),
            ("nb-NO", Some("no")),
            ("iw", Some("he")),
            (" sr ", Some("sr")),
            ("tlh", None),
            ("", None),
        ] {
            assert_eq!(code_of_tag(tag), code, "{tag}");
        }
        assert_eq!(language_name("uk"), Some(("uk", "Ukrainian")));
        assert_eq!(language_name("tlh"), None);
        // Every code has a name, and every language with a stemmer has a code.
        assert!(CODES.iter().all(|(_, two)| language_name(two).is_some()));
        assert!(LANGUAGES.iter().all(|(code, _)| language_name(code).is_some()));
    }
}
