//! Characters of simple fonts' codes and of glyph names.

use std::sync::LazyLock;

use encoding_rs::{MACINTOSH, WINDOWS_1252};

use crate::pdf::names::{ACCENTED, NAMED};

/// Characters of 256 codes; NUL if there is none.
pub(super) type GlyphTable = [char; 256];

/// The table of a named encoding.
pub(super) fn table_named(name: &[u8]) -> Option<GlyphTable> {
    Some(match name {
        b"WinAnsiEncoding" => *WINDOWS,
        b"MacRomanEncoding" => *MACINTOSH_TABLE,
        b"StandardEncoding" => *STANDARD,
        _ => return None,
    })
}

/// The default table of a font, which depends on its name.
pub(super) fn table_of_font(name: &[u8]) -> GlyphTable {
    let has = |part: &[u8]| memchr::memmem::find(name, part).is_some();
    match () {
        () if has(b"Dingbats") || has(b"Wingdings") || has(b"Webdings") => ['\u{2022}'; 256],
        () if has(b"Symbol") => *SYMBOL,
        () => *STANDARD,
    }
}

/// Some programs show the white space of their sources.
const SPACES: [usize; 3] = [9, 10, 13];

static WINDOWS: LazyLock<GlyphTable> = LazyLock::new(|| {
    let mut table = table_of(WINDOWS_1252);
    // Codes without a character are bullets, and a soft hyphen is a hyphen.
    for code in [0x7f, 0x81, 0x8d, 0x8f, 0x90, 0x9d] {
        table[code] = '\u{2022}';
    }
    table[0xad] = '-';
    SPACES.into_iter().for_each(|code| table[code] = ' ');
    table
});

static MACINTOSH_TABLE: LazyLock<GlyphTable> = LazyLock::new(|| table_of(MACINTOSH));

fn table_of(encoding: &'static encoding_rs::Encoding) -> GlyphTable {
    std::array::from_fn(|code| {
        let byte = [code as u8];
        let (text, _) = encoding.decode_without_bom_handling(&byte);
        text.chars().next().filter(|character| !character.is_control()).unwrap_or('\0')
    })
}

/// Adobe's StandardEncoding: ASCII with curly quotes, and its own upper half.
static STANDARD: LazyLock<GlyphTable> = LazyLock::new(|| {
    let mut table = ['\0'; 256];
    (b' '..=b'~').for_each(|code| table[usize::from(code)] = char::from(code));
    (table[0x27], table[0x60]) = ('\u{2019}', '\u{2018}');
    SPACES.into_iter().for_each(|code| table[code] = ' ');
    let upper = [
        (0xa1, "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ"),
        (0xb1, "–†‡·"),
        (0xb6, "¶•‚„”»…‰"),
        (0xbf, "¿"),
        (0xc1, "`´ˆ˜¯˘˙¨"),
        (0xca, "˚¸"),
        (0xcd, "˝˛ˇ—"),
        (0xe1, "Æ"),
        (0xe3, "ª"),
        (0xe8, "ŁØŒº"),
        (0xf1, "æ"),
        (0xf5, "ı"),
        (0xf8, "łøœß"),
    ];
    fill(&mut table, &upper);
    table
});

/// The letters of the font Symbol; its other glyphs are not parts of words.
static SYMBOL: LazyLock<GlyphTable> = LazyLock::new(|| {
    let mut table = *STANDARD;
    fill(&mut table, &[(0x41, "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ"), (0x61, "αβχδεφγηιϕκλμνοπθρστυϖωξψζ")]);
    table
});

fn fill(table: &mut GlyphTable, runs: &[(usize, &str)]) {
    for (start, characters) in runs {
        for (place, character) in table[*start..].iter_mut().zip(characters.chars()) {
            *place = character;
        }
    }
}

/// Character of a glyph name.
pub(super) fn character(name: &[u8]) -> Option<char> {
    let name = std::str::from_utf8(name).ok()?;
    // `a.swash` is an `a`.
    let name = match name.find('.') {
        Some(dot @ 1..) => &name[..dot],
        _ => name,
    };
    let mut letters = name.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        return letter.is_ascii_alphabetic().then_some(letter);
    }
    let known = |named: &[(&str, char)]| {
        named.binary_search_by(|(known, _)| known.cmp(&name)).ok().map(|index| named[index].1)
    };
    known(&NAMES).or_else(|| numbered(name))
}

/// `uni20AC`, `u1F989`.
fn numbered(name: &str) -> Option<char> {
    let digits =
        name.strip_prefix("uni").and_then(|digits| digits.get(..4)).or_else(|| name.strip_prefix('u'))?;
    if !(4..=6).contains(&digits.len()) {
        return None;
    }
    char::from_u32(u32::from_str_radix(digits, 16).ok()?)
}

/// `a65`: TeX names the glyphs of its bitmap fonts by their codes, which are ASCII with ligatures, quotes and dashes
/// among the controls.
pub(super) fn numbered_by_tex(name: &[u8], code: usize) -> Option<char> {
    let digits = name.strip_prefix(b"a")?;
    let number: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
    if number != code {
        return None;
    }
    Some(match code {
        11 | 27 => 'ﬀ',
        12 | 28 => 'ﬁ',
        13 | 29 => 'ﬂ',
        14 | 30 => 'ﬃ',
        15 | 31 => 'ﬄ',
        16 => '“',
        17 => '”',
        21 => '–',
        22 => '—',
        0x21..0x7f | 0xc0..0x100 => char::from(code as u8),
        _ => return None,
    })
}

/// All names, sorted.
static NAMES: LazyLock<Vec<(&'static str, char)>> = LazyLock::new(|| {
    let mut names = Vec::with_capacity(800);
    for line in NAMED.iter().chain(ACCENTED) {
        let mut words = line.split(' ');
        while let (Some(name), Some(character)) = (words.next(), words.next()) {
            names.extend(character.chars().next().map(|character| (name, character)));
        }
    }
    names.sort_unstable();
    names.dedup_by_key(|(name, _)| *name);
    names
});

/// Decodes text outside of pages that is not Unicode (PDFDocEncoding): Latin 1, with additions in its gaps.
pub(super) fn document_text(bytes: &[u8]) -> String {
    if let Some(bytes) = bytes.strip_prefix(b"\xfe\xff") {
        return encoding_rs::UTF_16BE.decode_without_bom_handling(bytes).0.into_owned();
    }
    if let Some(bytes) = bytes.strip_prefix(b"\xff\xfe") {
        return encoding_rs::UTF_16LE.decode_without_bom_handling(bytes).0.into_owned();
    }
    if let Some(bytes) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let upper: Vec<char> = "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž\u{fffd}€".chars().collect();
    let lower: Vec<char> = "˘ˇˆ˙˝˛˚˜".chars().collect();
    let character = |byte: u8| match byte {
        0x18..=0x1f => lower[usize::from(byte - 0x18)],
        0x80..=0xa0 => upper[usize::from(byte - 0x80)],
        byte => char::from(byte),
    };
    bytes.iter().map(|&byte| character(byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glyphs_are_known_by_their_names() {
        for (name, expected) in [
            ("a", Some('a')),
            ("Adieresis", Some('Ä')),
            ("zcaron", Some('ž')),
            ("quoteright", Some('\u{2019}')),
            ("fi", Some('\u{fb01}')),
            ("a.swash", Some('a')),
            ("eacute.sc", Some('é')),
            ("alpha", Some('α')),
            ("afii10017", Some('А')),
            ("uni20AC", Some('€')),
            ("u1F989", Some('\u{1f989}')),
            ("five", Some('5')),
            ("five.oldstyle", Some('5')),
            (".notdef", None),
            ("g37", None),
            ("", None),
            ("uniD800", None),
        ] {
            assert_eq!(character(name.as_bytes()), expected, "for {name}");
        }
        assert_eq!(numbered_by_tex(b"a65", 65), Some('A'));
        assert_eq!(
            (numbered_by_tex(b"a65", 66), numbered_by_tex(b"a", 0), numbered_by_tex(b"b65", 65)),
            (None, None, None)
        );
        assert!(NAMES.len() > 350, "{} names", NAMES.len());
    }

    #[test]
    fn tables_have_their_characters() {
        for (name, code, expected) in [
            ("WinAnsiEncoding", 0x93, '\u{201c}'),
            ("WinAnsiEncoding", 0xe9, 'é'),
            ("MacRomanEncoding", 0x8e, 'é'),
            ("StandardEncoding", 0xae, 'ﬁ'),
            ("StandardEncoding", 0xfb, 'ß'),
            ("StandardEncoding", 0xd0, '—'),
            ("StandardEncoding", 0xe9, 'Ø'),
            ("StandardEncoding", 0x05, '\0'),
        ] {
            assert_eq!(table_named(name.as_bytes()).unwrap()[code], expected, "for {name} {code:x}");
        }
        assert_eq!(table_of_font(b"ABCDEF+Symbol")[0x70], 'π');
    }

    #[test]
    fn titles_are_in_one_of_three_encodings() {
        for (bytes, expected) in [
            (&b"\xfe\xff\0h\0\xe9"[..], "hé"),
            (b"\xef\xbb\xbfh\xc3\xa9", "hé"),
            (b"h\xe9 \x83\x9e\xa0", "hé …ž€"),
            (b"\xfe\xff\0", "\u{fffd}"),
        ] {
            assert_eq!(document_text(bytes), expected);
        }
    }
}
