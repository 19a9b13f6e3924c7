//! Splits text into words: runs of letters and digits, in lower case, most of them as fixed-size keys. Scripts without
//! spaces between words give overlapping pieces instead: pairs of Chinese characters and of hiragana, three letters of
//! Thai and its like; katakana spells foreign words, which end where it ends.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use wide::{bytemuck, i8x16};

use crate::steps;

/// Words of up to this many bytes are fixed-size keys.
pub(crate) const LONGEST: usize = 24;

/// Runs of more characters are data, not words, and are dropped.
const DATA: usize = 64;

/// A word of 2 to 24 bytes in lower case, zero-padded; or where the spelling of a longer one is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackedWord(pub(crate) [u64; 3]);

impl Hash for PackedWord {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.mixed());
    }
}

impl PackedWord {
    /// The word of these lower-case bytes; truncated if it is too long.
    pub(crate) fn of(bytes: &[u8]) -> PackedWord {
        let mut filled = [0u8; LONGEST];
        let length = bytes.len().min(LONGEST);
        filled[..length].copy_from_slice(&bytes[..length]);
        let part = |k: usize| u64::from_le_bytes(filled[8 * k..8 * k + 8].try_into().expect("eight bytes"));
        PackedWord([part(0), part(1), part(2)])
    }

    /// The word's bytes, and their number.
    pub(crate) fn bytes(self) -> ([u8; LONGEST], usize) {
        let mut out = [0u8; LONGEST];
        for (chunk, part) in out.chunks_exact_mut(8).zip(self.0) {
            chunk.copy_from_slice(&part.to_le_bytes());
        }
        (out, self.len())
    }

    /// Number of bytes.
    pub(crate) fn len(self) -> usize {
        // Only the last used part may have zeros, and only at its end.
        let [a, b, c] = self.0;
        LONGEST - (a.leading_zeros() + b.leading_zeros() + c.leading_zeros()) as usize / 8
    }

    /// The key of a word that is too long, by the range of its spelling.
    fn long(range: Range<usize>) -> PackedWord {
        PackedWord([LONG, range.start as u64, range.end as u64])
    }

    /// Whether it is insignificant in any language: a single character (but a Chinese one is a word), or a number of more
    /// than four digits (prices, ids, telephones; years are significant).
    pub(crate) fn is_insignificant(self) -> bool {
        if self.is_plain() {
            return self.len() < 2;
        }
        let (bytes, length) = self.bytes();
        let goes_on = |byte: &&u8| **byte & 0xc0 == 0x80;
        let characters = length - bytes[..length].iter().filter(goes_on).count();
        let is_short = characters < 2 && !is_chinese(&bytes[..length]);
        is_short || length > 4 && bytes[..length].iter().all(u8::is_ascii_digit)
    }

    /// Whether it has only ASCII letters.
    pub(crate) fn is_plain(self) -> bool {
        // Among letters, digits and non-ASCII bytes, only letters have bit 6 and not bit 7.
        let odd = |part: u64| (part & repeated(0x80)) | (part & !(part >> 2)) & repeated(0x10);
        self.0.into_iter().fold(0, |all, part| all | odd(part)) == 0
    }

    /// A hash of the word.
    #[inline(always)]
    pub(crate) fn mixed(self) -> u64 {
        let [a, b, c] = self.0;
        mixed(a ^ b.rotate_left(23) ^ c.rotate_left(47))
    }

    /// Its bytes as a number, if there are at most eight and all are ASCII.
    #[inline(always)]
    pub(crate) fn short(self) -> Option<u64> {
        let [first, rest @ ..] = self.0;
        (rest == [0; 2] && first & repeated(0x80) == 0).then_some(first)
    }

    /// `length` ASCII letters and digits at the start of `bytes`.
    #[inline(always)]
    fn ascii(bytes: &[u8; LONGEST], length: usize) -> PackedWord {
        const LOWER: u64 = repeated(0x20);
        let [a, b, c] = &USED[length.min(LONGEST)];
        let part = |k: usize| u64::from_le_bytes(bytes[8 * k..8 * k + 8].try_into().expect("eight bytes"));
        // Setting bit 5 lowers letters and leaves digits unchanged.
        PackedWord([(part(0) | LOWER) & a, (part(1) | LOWER) & b, (part(2) | LOWER) & c])
    }
}

/// First part of the key of a long word: no bytes of a text.
const LONG: u64 = u64::MAX;

/// Whether these bytes start with a Chinese character of the basic plane.
fn is_chinese(bytes: &[u8]) -> bool {
    // U+3400 to U+9FFF.
    matches!(bytes, [0xe3, 0x90..=0xbf, ..] | [0xe4..=0xe9, ..])
}

/// Mixes a number; the high bits differ for most different numbers.
#[inline(always)]
pub(crate) fn mixed(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// By length of a short word, the bits that it uses; none for longer ones.
static USED_SHORT: [u64; 10] = {
    let mut used = [0; 10];
    let mut length = 1;
    while length <= 8 {
        used[length] = u64::MAX >> (64 - 8 * length);
        length += 1;
    }
    used
};

/// By length of a word, the bits that it uses in its three parts.
static USED: [[u64; 3]; LONGEST + 1] = {
    let mut used = [[0u64; 3]; LONGEST + 1];
    let mut length = 0;
    while length <= LONGEST {
        let mut byte = 0;
        while byte < length {
            used[length][byte / 8] |= 0xff << (8 * (byte % 8));
            byte += 1;
        }
        length += 1;
    }
    used
};

/// The words of a text, as positions in it: cheap to find, and only built when read.
#[derive(Default)]
pub(crate) struct Words {
    spans: Vec<Span>,
    /// Words with non-ASCII characters and long ones, in lower case.
    wide: Vec<PackedWord>,
    /// Spellings of the long words.
    long: String,
}

/// Start and length of a word; or, with the top bit set, the index of a wide word.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    length: u32,
}

const WIDE: u32 = 1 << 31;

/// Maximum capacity, in words, that is kept from page to page.
const MOST_KEPT: usize = 1 << 16;

impl Words {
    /// Finds the words of a text, replacing those found before.
    pub(crate) fn find(&mut self, text: &str) {
        self.spans.clear();
        self.wide.clear();
        self.long.clear();
        let bytes = text.as_bytes();
        // Start of the run that continues from the last chunk, and whether it has a wide character.
        let mut open: Option<(usize, bool)> = None;
        for base in (0..bytes.len()).step_by(64) {
            let ByteMasks { letters, wide } = ByteMasks::of(&bytes[base..]);
            // Bits where a run of letters starts or ends.
            let mut edges = letters ^ (letters << 1 | u64::from(open.is_some()));
            let mut left = edges.count_ones();
            let mut next_edge = || {
                let at = base + edges.trailing_zeros() as usize;
                edges &= edges - 1;
                at
            };
            if let Some((start, was_wide)) = open {
                if left == 0 {
                    open = Some((start, was_wide || wide != 0));
                    continue;
                }
                let end = next_edge();
                left -= 1;
                self.run(text, start, end, was_wide || any_within(wide, 0, end - base));
            }
            for _ in 0..left / 2 {
                let (start, end) = (next_edge(), next_edge());
                self.run(text, start, end, wide != 0 && any_within(wide, start - base, end - base));
            }
            open = (left % 2 == 1).then(|| {
                let start = next_edge();
                (start, any_within(wide, start - base, 64))
            });
        }
        if let Some((start, wide)) = open {
            self.run(text, start, bytes.len(), wide);
        }
    }

    #[inline(always)]
    fn run(&mut self, text: &str, start: usize, end: usize, wide: bool) {
        if wide {
            self.wide_run(text, start, end);
        } else if end - start <= LONGEST {
            self.spans.push(Span { start: start as u32, length: (end - start) as u32 });
        } else if end - start <= DATA {
            self.long_run(&text[start..end], start);
        }
    }

    /// Adds a run of ASCII letters and digits that is too long for a key.
    #[cold]
    fn long_run(&mut self, run: &str, start: usize) {
        let word = packed_or_long(&run.to_ascii_lowercase(), &mut self.long);
        self.push_wide(start, word);
    }

    fn push_wide(&mut self, start: usize, word: PackedWord) {
        self.spans.push(Span { start: start as u32, length: WIDE | self.wide.len() as u32 });
        self.wide.push(word);
    }

    /// Adds the words of a run with non-ASCII characters, some of which may belong to no word.
    fn wide_run(&mut self, text: &str, start: usize, end: usize) {
        steps::add(end - start);
        let mut long = std::mem::take(&mut self.long);
        wide_words(&text[start..end], |word| {
            let word = packed_or_long(word, &mut long);
            self.push_wide(start, word);
        });
        self.long = long;
    }

    /// The spelling of a word that is too long for its key.
    pub(crate) fn long(&self, word: PackedWord) -> Option<&str> {
        let [mark, start, end] = word.0;
        (mark == LONG).then(|| &self.long[start as usize..end as usize])
    }

    /// Number of words.
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Index of the first word that starts at or after a position.
    pub(crate) fn first_from(&self, place: usize) -> usize {
        self.spans.partition_point(|span| (span.start as usize) < place)
    }

    /// Number of words in a range that start before a position.
    pub(crate) fn starting_before(&self, place: usize, words: Range<usize>) -> usize {
        let count = self.spans[words].iter().take_while(|span| (span.start as usize) < place).count();
        steps::add(1 + count);
        count
    }

    /// The words, built from the text that they were found in.
    #[inline(always)]
    pub(crate) fn iter<'a>(&'a self, text: &'a str) -> impl Iterator<Item = PackedWord> + 'a {
        self.spans.iter().map(|&span| self.spelt(text.as_bytes(), span))
    }

    /// The words from an index on, each as a number ([`PackedWord::short`]). 0 stands for long words, wide words, and
    /// the text's last word.
    #[inline(always)]
    pub(crate) fn short<'a>(&'a self, text: &'a str, from: usize) -> impl Iterator<Item = u64> + 'a {
        let text = text.as_bytes();
        self.spans[from..].iter().map(move |&Span { start, length }| {
            let start = start as usize;
            match text.get(start..start + 8) {
                // A wide word has a length far beyond the maximum.
                Some(window) => {
                    let bytes = u64::from_le_bytes(*window.first_chunk().expect("eight bytes"));
                    (bytes | repeated(0x20)) & USED_SHORT[length.min(9) as usize]
                }
                None => 0,
            }
        })
    }

    /// A word of the text that the words were found in.
    pub(crate) fn get(&self, text: &str, index: usize) -> PackedWord {
        self.spelt(text.as_bytes(), self.spans[index])
    }

    #[inline(always)]
    fn spelt(&self, text: &[u8], Span { start, length }: Span) -> PackedWord {
        if length & WIDE != 0 {
            return self.wide[(length ^ WIDE) as usize];
        }
        let (start, length) = (start as usize, length as usize);
        match text.get(start..start + LONGEST) {
            Some(window) => PackedWord::ascii(window.first_chunk().expect("a whole window"), length),
            // Too close to the text's end to read a whole window.
            None => PackedWord::of(text[start..start + length].to_ascii_lowercase().as_slice()),
        }
    }

    /// Frees memory that only a page with very many words needs.
    pub(crate) fn shrink(&mut self) {
        self.spans.shrink_to(MOST_KEPT);
        self.wide.shrink_to(MOST_KEPT);
        self.long.shrink_to(MOST_KEPT);
    }
}

/// Whether a bit is set in a range.
#[inline(always)]
fn any_within(mask: u64, from: usize, to: usize) -> bool {
    let below = u64::MAX.checked_shr(64 - to as u32).unwrap_or(0);
    mask & below & (u64::MAX << from) != 0
}

/// Classes of 64 bytes, one bit a byte.
struct ByteMasks {
    /// Letters, digits, and bytes of non-ASCII characters.
    letters: u64,
    /// Bytes of non-ASCII characters.
    wide: u64,
}

impl ByteMasks {
    #[inline(always)]
    fn of(bytes: &[u8]) -> ByteMasks {
        let mut filled = [0u8; 64];
        let window: &[u8; 64] = match bytes.first_chunk() {
            Some(window) => window,
            None => {
                filled[..bytes.len()].copy_from_slice(bytes);
                &filled
            }
        };
        let mut masks = ByteMasks { letters: 0, wide: 0 };
        for (index, sixteen) in window.as_chunks::<16>().0.iter().enumerate() {
            let bytes = vector(sixteen);
            let lower = bytes | i8x16::splat(0x20);
            let plain = between(lower, b'a', b'z') | between(bytes, b'0', b'9');
            masks.letters |= u64::from((plain | bytes).to_bitmask()) << (16 * index);
            masks.wide |= u64::from(bytes.to_bitmask()) << (16 * index);
        }
        masks
    }
}

/// Sixteen bytes as a vector. As signed numbers, non-ASCII bytes are below all others.
#[inline(always)]
pub(crate) fn vector(bytes: &[u8; 16]) -> i8x16 {
    // A cast is one load; a bytewise conversion is not always optimised to one.
    bytemuck::cast(*bytes)
}

#[inline(always)]
fn between(bytes: i8x16, first: u8, last: u8) -> i8x16 {
    let (below, above) = (first.cast_signed() - 1, last.cast_signed() + 1);
    bytes.simd_gt(i8x16::splat(below)) & i8x16::splat(above).simd_gt(bytes)
}

const fn repeated(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The key of a word; the spelling of a long one goes to `long`.
fn packed_or_long(word: &str, long: &mut String) -> PackedWord {
    if word.len() <= LONGEST {
        return PackedWord::of(word.as_bytes());
    }
    let start = long.len();
    long.push_str(word);
    PackedWord::long(start..long.len())
}

/// Calls `found` with the words of a run of letters, some non-ASCII.
fn wide_words(run: &str, mut found: impl FnMut(&str)) {
    let mut word = String::with_capacity(DATA);
    // The script of the word, and the number of its characters so far.
    let (mut script, mut count) = (WordScript::None, 0);
    for c in run.chars() {
        let next = WordScript::of(c);
        if next != script {
            finish(&mut word, script, count, &mut found);
            (script, count) = (next, 0);
        }
        count += 1;
        match script {
            WordScript::None => {}
            _ if script.piece().is_none() && count > DATA => {}
            // Most letters around a wide one are ASCII.
            WordScript::Spaced if c.is_ascii() => word.push(c.to_ascii_lowercase()),
            WordScript::Spaced => word.extend(c.to_lowercase()),
            _ => word.push(c),
        }
        if script.piece().is_some_and(|piece| count >= piece) {
            found(&word);
            word.remove(0);
        }
    }
    finish(&mut word, script, count, &mut found);
}

/// Ends a run of `count` characters of one script.
fn finish(word: &mut String, script: WordScript, count: usize, found: &mut impl FnMut(&str)) {
    // The last of several pieces was already reported, unless the run is shorter than a piece.
    let is_left = script.piece().map_or(count <= DATA, |piece| count < piece);
    if !word.is_empty() && is_left {
        found(word);
    }
    word.clear();
}

/// Writing systems, by how words are separated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordScript {
    /// No part of a word.
    None,
    /// With spaces between words.
    Spaced,
    Chinese,
    Hiragana,
    Katakana,
    /// Thai, Lao, Khmer, Burmese.
    Thai,
}

impl WordScript {
    fn of(c: char) -> WordScript {
        match c {
            // Most frequent first.
            '\0'..='\u{dff}' => WordScript::spaced(c),
            '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' if is_word_char(c) => {
                WordScript::Thai
            }
            '\u{3041}'..='\u{309f}' => WordScript::Hiragana,
            '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' => WordScript::Katakana,
            '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{323af}' => WordScript::Chinese,
            _ => WordScript::spaced(c),
        }
    }

    fn spaced(c: char) -> WordScript {
        if is_word_char(c) { WordScript::Spaced } else { WordScript::None }
    }

    /// Number of characters of a piece, if the script has no spaces between words.
    fn piece(self) -> Option<usize> {
        match self {
            WordScript::None | WordScript::Spaced | WordScript::Katakana => None,
            WordScript::Chinese | WordScript::Hiragana => Some(2),
            WordScript::Thai => Some(3),
        }
    }
}

fn is_word_char(c: char) -> bool {
    match c {
        // Most frequent first: ASCII, Latin-1 signs, typographic quotes and dashes.
        '\0'..='\x7f' => c.is_ascii_alphanumeric(),
        '\u{80}'..='\u{a9}' | '\u{2000}'..='\u{206f}' => false,
        _ => c.is_alphanumeric() || is_mark(c),
    }
}

/// Combining marks, which belong to the letter before them.
fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{900}'..='\u{963}' | '\u{966}'..='\u{dff}'
        | '\u{e31}'..='\u{e4e}' | '\u{eb1}'..='\u{ece}' | '\u{102b}'..='\u{103e}' | '\u{17b4}'..='\u{17d3}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Words::default();
        words.find(text);
        let spelt = |word: PackedWord| {
            let (bytes, length) = word.bytes();
            let short = || String::from_utf8(bytes[..length].to_vec()).unwrap();
            words.long(word).map_or_else(short, str::to_owned)
        };
        let is_word = |word: &PackedWord| words.long(*word).is_some() || !word.is_insignificant();
        words.iter(text).filter(is_word).map(spelt).collect()
    }

    #[test]
    fn byte_classes_do_not_depend_on_the_position() {
        for byte in 0..=255u8 {
            for place in 0..64 {
                let mut bytes = [b'-'; 64];
                bytes[place] = byte;
                let ByteMasks { letters, wide } = ByteMasks::of(&bytes);
                let bit = |is: bool| u64::from(is) << place;
                let expected = (bit(byte.is_ascii_alphanumeric() || byte >= 0x80), bit(byte >= 0x80));
                assert_eq!((letters, wide), expected, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn words_of_many_kinds() {
        for (text, expected) in [
            ("The quick, brown FOX!", vec!["the", "quick", "brown", "fox"]),
            ("a b cd I", vec!["cd"]),
            ("don't re-use x_y", vec!["don", "re", "use"]),
            ("in 1999 call 5551234 or B52", vec!["in", "1999", "call", "or", "b52"]),
            ("Caf\u{c9} cr\u{e8}me", vec!["caf\u{e9}", "cr\u{e8}me"]),
            ("\u{201c}quoted\u{201d} \u{2014} dash", vec!["quoted", "dash"]),
            ("na\u{ef}ve\u{2019}s", vec!["na\u{ef}ve"]),
            ("\u{6771}\u{4eac}\u{90fd}", vec!["\u{6771}\u{4eac}", "\u{4eac}\u{90fd}"]),
            ("ab\u{6771}\u{4eac}cd", vec!["ab", "\u{6771}\u{4eac}", "cd"]),
            ("Abcdefghijklmnopqrstuvwxyz", vec!["abcdefghijklmnopqrstuvwxyz"]),
            // Words of Russian, Greek and Hindi, which take two or three bytes a letter.
            (
                "\u{41f}\u{440}\u{43e}\u{442}\u{438}\u{432}\u{43e}\u{43f}\u{43e}\u{441}\u{442}\u{430}\u{432}\u{43b}\u{435}\u{43d}\u{438}\u{435}",
                vec![
                    "\u{43f}\u{440}\u{43e}\u{442}\u{438}\u{432}\u{43e}\u{43f}\u{43e}\u{441}\u{442}\u{430}\u{432}\u{43b}\u{435}\u{43d}\u{438}\u{435}",
                ],
            ),
            // A single Chinese character is a word, a single hiragana is not; katakana words are not split.
            (
                "\u{8702}\u{306f}\u{30df}\u{30c4}\u{30d0}\u{30c1}",
                vec!["\u{8702}", "\u{30df}\u{30c4}\u{30d0}\u{30c1}"],
            ),
            ("\u{307f}\u{3064}\u{3070}", vec!["\u{307f}\u{3064}", "\u{3064}\u{3070}"]),
            // Thai: overlapping pieces of three letters and marks.
            (
                "\u{e1c}\u{e36}\u{e49}\u{e07} \u{e19}\u{e49}",
                vec!["\u{e1c}\u{e36}\u{e49}", "\u{e36}\u{e49}\u{e07}", "\u{e19}\u{e49}"],
            ),
            (
                "\u{928}\u{92e}\u{938}\u{94d}\u{924}\u{947} x",
                vec!["\u{928}\u{92e}\u{938}\u{94d}\u{924}\u{947}"],
            ),
        ] {
            assert_eq!(words(text), expected, "for {text}");
        }
        // A word is the same at any position relative to the chunks of 64 bytes.
        for gap in 0..130 {
            let text = format!("{}Word na\u{ef}ve {} end", " ".repeat(gap), "-".repeat(gap));
            assert_eq!(words(&text), ["word", "na\u{ef}ve", "end"], "after {gap}");
        }
        for letter in ["x", "\u{e9}", "\u{430}", "\u{92e}"] {
            assert_eq!(words(&letter.repeat(64)), [letter.repeat(64)]);
            assert!(words(&letter.repeat(65)).is_empty());
        }
    }
}
