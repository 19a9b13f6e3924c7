//! Text to words: runs of letters and digits, in lower case, as fixed-size keys. Scripts that put no
//! spaces between words give overlapping pairs of characters instead.

/// Words are cut to this many bytes; what is longer tells no more.
pub(crate) const LONGEST: usize = 24;

/// Runs longer than this are no words but data, and are left out.
const DATA: usize = 64;

/// A word of 2 to 24 bytes in lower case, filled up with zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Word(pub(crate) [u64; 3]);

impl Word {
    /// The word spelt by these bytes, which are in lower case already; cut if it is too long.
    pub(crate) fn of(bytes: &[u8]) -> Word {
        let mut filled = [0u8; LONGEST];
        let length = bytes.len().min(LONGEST);
        filled[..length].copy_from_slice(&bytes[..length]);
        let part = |k: usize| u64::from_le_bytes(filled[8 * k..8 * k + 8].try_into().expect("eight bytes"));
        Word([part(0), part(1), part(2)])
    }

    /// The word's bytes, and how many of them there are.
    pub(crate) fn bytes(self) -> ([u8; LONGEST], usize) {
        let mut out = [0u8; LONGEST];
        for (chunk, part) in out.chunks_exact_mut(8).zip(self.0) {
            chunk.copy_from_slice(&part.to_le_bytes());
        }
        let length = out.iter().position(|&b| b == 0).unwrap_or(LONGEST);
        (out, length)
    }

    /// `length` ASCII letters and digits at the start of `bytes`.
    #[inline(always)]
    fn ascii(bytes: &[u8; LONGEST], length: usize) -> Word {
        const LOWER: u64 = repeated(0x20);
        let [a, b, c] = &USED[length.min(LONGEST)];
        let part = |k: usize| u64::from_le_bytes(bytes[8 * k..8 * k + 8].try_into().expect("eight bytes"));
        // Setting bit 5 lowers letters and leaves digits alone.
        Word([(part(0) | LOWER) & a, (part(1) | LOWER) & b, (part(2) | LOWER) & c])
    }
}

/// For each length of a word, the bits of its three parts that it uses.
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

/// Calls `found` with each word of a text and the place where it starts.
pub(crate) fn each_word(text: &str, mut found: impl FnMut(usize, Word)) {
    let bytes = text.as_bytes();
    // Where the word that is being read starts; `NO_WORD` between words.
    let mut start = NO_WORD;
    let mut wide_until = 0;
    for base in (0..bytes.len()).step_by(64) {
        let Masks { letters, wide } = Masks::of(&bytes[base..]);
        // Bits where a run of letters starts or ends: each is visited once, without a look at the bytes.
        let carry = u64::from(start != NO_WORD);
        let mut edges = letters ^ (letters << 1 | carry);
        while edges != 0 {
            let at = base + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            if start == NO_WORD {
                start = at;
                continue;
            }
            let first = std::mem::replace(&mut start, NO_WORD);
            let touched = wide_until > first || wide != 0 && wide_within(wide, base, first, at);
            run(text, first, at, touched, &mut found);
        }
        if wide != 0 && start != NO_WORD && wide_within(wide, base, start, base + 64) {
            wide_until = base + 64;
        }
    }
    if start != NO_WORD {
        run(text, start, bytes.len(), true, &mut found);
    }
}

const NO_WORD: usize = usize::MAX;

/// Whether a character beyond ASCII stands in this part of a stretch of 64 bytes.
#[inline(always)]
fn wide_within(wide: u64, base: usize, first: usize, end: usize) -> bool {
    let from = first.saturating_sub(base) as u32;
    let below_end = u64::MAX.checked_shr(64 - (end - base).min(64) as u32).unwrap_or(0);
    wide & below_end & u64::MAX.checked_shl(from).unwrap_or(0) != 0
}

/// A run of letters, digits and characters beyond ASCII.
#[inline(always)]
fn run(text: &str, first: usize, end: usize, wide: bool, found: &mut impl FnMut(usize, Word)) {
    let bytes = text.as_bytes();
    if wide {
        return wide_words(text, first, end, found);
    }
    let length = end - first;
    if !(2..=DATA).contains(&length) || is_long_number(&bytes[first..end]) {
        return;
    }
    match bytes.get(first..first + LONGEST) {
        Some(window) => found(first, Word::ascii(window.try_into().expect("a whole window"), length)),
        // Too near the text's end to read a whole window.
        None => found(first, Word::of(bytes[first..end].to_ascii_lowercase().as_slice())),
    }
}

/// What 64 bytes are, a bit a byte.
struct Masks {
    /// Letters, digits, and bytes of characters beyond ASCII.
    letters: u64,
    /// Bytes of characters beyond ASCII.
    wide: u64,
}

impl Masks {
    #[inline(always)]
    fn of(bytes: &[u8]) -> Masks {
        let mut filled = [0u8; 64];
        let window: &[u8; 64] = match bytes.first_chunk() {
            Some(window) => window,
            None => {
                filled[..bytes.len()].copy_from_slice(bytes);
                &filled
            }
        };
        let mut masks = Masks { letters: 0, wide: 0 };
        for (index, eight) in window.chunks_exact(8).enumerate() {
            let eight = u64::from_le_bytes(eight.try_into().expect("eight bytes"));
            masks.letters |= top_bits(letters_in(eight) | eight) << (8 * index);
            masks.wide |= top_bits(eight) << (8 * index);
        }
        masks
    }
}

const fn repeated(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Sets the top bit of each of eight bytes that is an ASCII letter or digit. Adding 0x80 - c to a byte
/// below 0x80 sets its top bit if it is c or more, and never carries into the next.
#[inline(always)]
fn letters_in(eight: u64) -> u64 {
    let low = eight & repeated(0x7f);
    let lower = low | repeated(0x20);
    let letter = (lower + repeated(0x80 - b'a')) & !(lower + repeated(0x80 - b'{'));
    let digit = (low + repeated(0x80 - b'0')) & !(low + repeated(0x80 - b':'));
    letter | digit
}

/// The top bits of eight bytes, gathered into one.
#[inline(always)]
fn top_bits(eight: u64) -> u64 {
    ((eight >> 7) & repeated(1)).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Numbers of more than four digits (prices, ids, telephones) say nothing of a topic; years do.
#[inline]
fn is_long_number(word: &[u8]) -> bool {
    word.len() > 4 && word[0].is_ascii_digit() && word.iter().all(u8::is_ascii_digit)
}

/// The words of a run that has characters beyond ASCII, some of which may belong to no word.
fn wide_words(text: &str, first: usize, end: usize, found: &mut impl FnMut(usize, Word)) {
    let mut word = String::new();
    let mut previous: Option<char> = None;
    for c in text[first..end].chars() {
        if !is_word_char(c) || is_unspaced(c) {
            finish(&mut word, first, found);
        }
        if is_unspaced(c) {
            if let Some(previous) = previous {
                found(first, Word::of(String::from_iter([previous, c]).as_bytes()));
            }
            previous = Some(c);
            continue;
        }
        previous = None;
        if is_word_char(c) {
            word.extend(c.to_lowercase());
            if word.len() > DATA {
                word.replace_range(.., OVERLONG);
            }
        }
    }
    finish(&mut word, first, found);
}

fn finish(word: &mut String, at: usize, found: &mut impl FnMut(usize, Word)) {
    let is_word = word.chars().nth(1).is_some() && !word.starts_with(OVERLONG);
    if is_word && !is_long_number(word.as_bytes()) {
        found(at, Word::of(&word.as_bytes()[..word.floor_char_boundary(LONGEST)]));
    }
    word.clear();
}

/// Stands for a run that is too long to be a word; never part of one, since it is no letter.
const OVERLONG: &str = "\u{1}";

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c)
}

/// Marks that belong to the letter before them.
fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{900}'..='\u{963}' | '\u{966}'..='\u{dff}'
        | '\u{e31}'..='\u{e4e}' | '\u{eb1}'..='\u{ece}' | '\u{102b}'..='\u{103e}' | '\u{17b4}'..='\u{17d3}')
}

/// Scripts that put no spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
pub(crate) fn words_of(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    each_word(text, |_, word| words.push(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let spelt = |word: &Word| {
            let (bytes, length) = word.bytes();
            String::from_utf8(bytes[..length].to_vec()).unwrap()
        };
        words_of(text).iter().map(spelt).collect()
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
            ("abcdefghijklmnopqrstuvwxyz", vec!["abcdefghijklmnopqrstuvwx"]),
            (
                "\u{928}\u{92e}\u{938}\u{94d}\u{924}\u{947} x",
                vec!["\u{928}\u{92e}\u{938}\u{94d}\u{924}\u{947}"],
            ),
        ] {
            assert_eq!(words(text), expected, "for {text}");
        }
        // Wherever it stands among the stretches of 64 bytes, a word is the same.
        for gap in 0..130 {
            let text = format!("{}Word na\u{ef}ve {} end", " ".repeat(gap), "-".repeat(gap));
            assert_eq!(words(&text), ["word", "na\u{ef}ve", "end"], "after {gap}");
        }
        assert!(words(&"x".repeat(65)).is_empty());
        assert!(words(&"\u{e9}".repeat(65)).is_empty());
    }
}
