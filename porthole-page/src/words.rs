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
        const LOWER: u64 = 0x2020_2020_2020_2020;
        let part = |k: usize| {
            let whole = u64::from_le_bytes(bytes[8 * k..8 * k + 8].try_into().expect("eight bytes"));
            let used = length.saturating_sub(8 * k).min(8) as u32;
            // Setting bit 5 lowers letters and leaves digits alone.
            (whole | LOWER) & u64::MAX.checked_shr(64 - 8 * used).unwrap_or(0)
        };
        Word([part(0), part(1), part(2)])
    }
}

/// Appends the words of `text[start..end]`.
pub(crate) fn append_words(text: &str, start: usize, end: usize, out: &mut Vec<Word>) {
    let bytes = text.as_bytes();
    let mut at = start;
    while at < end {
        if CLASS[bytes[at] as usize] == GAP {
            at += 1;
            continue;
        }
        let first = at;
        while at < end && CLASS[bytes[at] as usize] == PLAIN {
            at += 1;
        }
        if at < end && CLASS[bytes[at] as usize] == WIDE {
            at = wide_words(text, first, end, out);
            continue;
        }
        if (2..=DATA).contains(&(at - first)) && !is_long_number(&bytes[first..at]) {
            out.push(match bytes.get(first..first + LONGEST) {
                Some(window) => Word::ascii(window.try_into().expect("a whole window"), at - first),
                // Too near the text's end to read a whole window.
                None => Word::of(bytes[first..at].to_ascii_lowercase().as_slice()),
            });
        }
    }
}

/// Numbers of more than four digits (prices, ids, telephones) say nothing of a topic; years do.
#[inline]
fn is_long_number(word: &[u8]) -> bool {
    word.len() > 4 && word[0].is_ascii_digit() && word.iter().all(u8::is_ascii_digit)
}

/// Appends the words from a place on where one has a character beyond ASCII, up to its end. Gives the place
/// behind it.
fn wide_words(text: &str, first: usize, end: usize, out: &mut Vec<Word>) -> usize {
    let mut word = String::new();
    let mut previous: Option<char> = None;
    let mut at = first;
    for c in text[first..end].chars().take_while(|&c| is_word_char(c)) {
        at += c.len_utf8();
        if is_unspaced(c) {
            // What stood before is a word of its own; then each pair of characters is one.
            finish(&mut word, out);
            if let Some(previous) = previous {
                out.push(Word::of(String::from_iter([previous, c]).as_bytes()));
            }
            previous = Some(c);
        } else {
            previous = None;
            word.extend(c.to_lowercase());
            if word.len() > DATA {
                word.replace_range(.., OVERLONG);
            }
        }
    }
    finish(&mut word, out);
    // A character that belongs to no word is stepped over.
    if at == first { first + text[first..].chars().next().map_or(1, char::len_utf8) } else { at }
}

fn finish(word: &mut String, out: &mut Vec<Word>) {
    if word.chars().nth(1).is_some() && !word.starts_with(OVERLONG) {
        out.push(Word::of(&word.as_bytes()[..word.floor_char_boundary(LONGEST)]));
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

const GAP: u8 = 0;
const PLAIN: u8 = 1;
const WIDE: u8 = 2;

static CLASS: [u8; 256] = {
    let mut class = [GAP; 256];
    let mut b = 0;
    while b < 256 {
        if (b as u8).is_ascii_alphanumeric() {
            class[b] = PLAIN;
        } else if b >= 0x80 {
            class[b] = WIDE;
        }
        b += 1;
    }
    class
};

#[cfg(test)]
pub(crate) fn words_of(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    append_words(text, 0, text.len(), &mut words);
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
        assert!(words(&"x".repeat(65)).is_empty());
        assert!(words(&"\u{e9}".repeat(65)).is_empty());
    }
}
