//! Encodings in embedded fonts: Type 1 programs as written by TeX, and the compact format (CFF) that other programs
//! convert them to.

use super::glyphs::{self, GlyphTable};
use super::object::{ObjectReader, PdfObject};

/// Number of bytes at the start of a font that are searched for the encoding.
const HEAD: usize = 64 << 10;

/// Reads `dup 65 /A put` in the clear text part of a Type 1 font into the table; returns whether there was any.
pub(super) fn type1(program: &[u8], table: &mut GlyphTable) -> bool {
    let head = &program[..program.len().min(HEAD)];
    let head = &head[..memchr::memmem::find(head, b"eexec").unwrap_or(head.len())];
    let mut reader = ObjectReader::new(head, memchr::memmem::find(head, b"/Encoding").unwrap_or(head.len()));
    let mut code = None;
    let mut any = false;
    while let Some(object) = reader.next() {
        match object {
            PdfObject::Number(number) => code = Some(number),
            PdfObject::Name(name) => {
                if let (Some(code @ 0.0..256.0), Some(character)) = (code.take(), glyphs::character(&name)) {
                    table[code as usize] = character;
                    any = true;
                }
            }
            PdfObject::Word(b"def" | b"readonly") if any => break,
            _ => {}
        }
    }
    any
}

/// Reads the encoding of a CFF font into the table; returns whether there was any.
pub(super) fn compact(program: &[u8], table: &mut GlyphTable) -> bool {
    let Some(font) = Compact::read(program) else { return false };
    font.encode(table).is_some()
}

struct Compact<'a> {
    bytes: &'a [u8],
    strings: CffIndex<'a>,
    glyphs: usize,
    charset: usize,
    encoding: usize,
}

impl<'a> Compact<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let names = CffIndex::read(bytes, usize::from(*bytes.get(2)?))?;
        let dictionaries = CffIndex::read(bytes, names.end)?;
        let strings = CffIndex::read(bytes, dictionaries.end)?;
        let mut font = Compact { bytes, strings, glyphs: 0, charset: 0, encoding: 0 };
        each_entry(dictionaries.get(0)?, |operator, operand| match operator {
            15 => font.charset = operand,
            16 => font.encoding = operand,
            17 => font.glyphs = CffIndex::read(bytes, operand).map_or(0, |index| index.count),
            _ => {}
        });
        Some(font)
    }

    fn encode(&self, table: &mut GlyphTable) -> Option<()> {
        // 0 and 1 are predefined encodings; 0 is in the table already.
        if self.encoding < 2 {
            return None;
        }
        let characters = self.characters()?;
        let mut rest = self.bytes.get(self.encoding..)?.iter().copied();
        let (format, count) = (rest.next()?, rest.next()?);
        let mut glyph = 1;
        for _ in 0..count {
            let code = usize::from(rest.next()?);
            let more = if format & 0x7f == 1 { usize::from(rest.next()?) } else { 0 };
            for code in (code..=code + more).take_while(|&code| code < 256) {
                if let Some(&character) = characters.get(glyph).filter(|&&character| character != '\0') {
                    table[code] = character;
                }
                glyph += 1;
            }
        }
        Some(())
    }

    /// Character of each glyph; NUL if unknown. Codes only reach the first 256.
    fn characters(&self) -> Option<Vec<char>> {
        let most = self.glyphs.min(257);
        let mut characters = vec!['\0'];
        if self.charset < 3 {
            characters.extend((1..most).map(|glyph| self.character(glyph)));
            return Some(characters);
        }
        let format = *self.bytes.get(self.charset)?;
        let mut at = self.charset + 1;
        while characters.len() < most {
            let first = number(self.bytes.get(at..at + 2)?);
            at += 2;
            let length = match format {
                1 => 1,
                2 => 2,
                _ => 0,
            };
            let more = number(self.bytes.get(at..at + length)?);
            at += length;
            let left = most - characters.len();
            characters.extend((first..=first + more).take(left).map(|name| self.character(name)));
        }
        Some(characters)
    }

    /// Character by name number; the first names are predefined.
    fn character(&self, name: usize) -> char {
        const KNOWN: usize = 391;
        match name {
            0..KNOWN => FIRST_NAMES.chars().nth(name).unwrap_or('\0'),
            name => self.strings.get(name - KNOWN).and_then(glyphs::character).unwrap_or('\0'),
        }
    }
}

/// Characters of the first 229 predefined names of CFF.
const FIRST_NAMES: &str = "\0 !\"#$%&’()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_‘abcdefghijklmnopqrstuvwxyz{|}~\
    ¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ–†‡·¶•‚„”»…‰¿`´ˆ˜¯˘˙¨˚¸˝˛ˇ—ÆªŁØŒºæıłøœß\
    ¹¬µ™Ð½±Þ¼÷¦°þ¾²®−ð×³©ÁÂÄÀÅÃÇÉÊËÈÍÎÏÌÑÓÔÖÒÕŠÚÛÜÙÝŸŽáâäàåãçéêëèíîïìñóôöòõšúûüùýÿž";

/// A CFF INDEX: an array of byte strings.
struct CffIndex<'a> {
    bytes: &'a [u8],
    count: usize,
    size: usize,
    offsets: usize,
    end: usize,
}

impl<'a> CffIndex<'a> {
    fn read(bytes: &'a [u8], at: usize) -> Option<Self> {
        let count = number(bytes.get(at..at + 2)?);
        if count == 0 {
            return Some(CffIndex { bytes, count, size: 0, offsets: at, end: at + 2 });
        }
        let size = usize::from(*bytes.get(at + 2)?);
        let mut index = CffIndex { bytes, count, size, offsets: at + 3, end: 0 };
        index.end = index.place(count)?;
        Some(index)
    }

    /// Start of an element.
    fn place(&self, piece: usize) -> Option<usize> {
        let at = self.offsets + piece * self.size;
        let base = self.offsets + (self.count + 1) * self.size;
        (base + number(self.bytes.get(at..at + self.size.clamp(1, 4))?)).checked_sub(1)
    }

    fn get(&self, piece: usize) -> Option<&'a [u8]> {
        if piece >= self.count {
            return None;
        }
        self.bytes.get(self.place(piece)?..self.place(piece + 1)?)
    }
}

/// Calls `found` with the operators of a dictionary and the last operand of each.
fn each_entry(dictionary: &[u8], mut found: impl FnMut(u8, usize)) {
    let mut operand = 0;
    let mut left = dictionary;
    while let [first, rest @ ..] = left {
        left = rest;
        let mut take = |length: usize| {
            let (taken, rest) = left.split_at(left.len().min(length));
            left = rest;
            number(taken)
        };
        match first {
            // Two-byte operators are not needed.
            12 => _ = take(1),
            0..=21 => found(*first, operand),
            28 => operand = take(2),
            29 => operand = take(4),
            30 => {
                let end = left.iter().position(|byte| byte & 15 == 15).unwrap_or(left.len());
                left = &left[(end + 1).min(left.len())..];
            }
            32..=246 => operand = usize::from(*first).saturating_sub(139),
            247..=250 => operand = usize::from(first - 247) * 256 + take(1) + 108,
            251..=254 => _ = take(1),
            _ => {}
        }
    }
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, &byte| number << 8 | usize::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type1_fonts_say_what_their_codes_are() {
        let program =
            b"%!PS-AdobeFont-1.0: CMR10\n/FontName /CMR10 def\n/Encoding 256 array\n0 1 255 {1 index exch \
            /.notdef put} for\ndup 12 /fi put\ndup 65 /A put\nreadonly def\ncurrentfile eexec dup 66 /B put";
        let mut table = ['\0'; 256];
        assert!(type1(program, &mut table));
        assert_eq!((table[12], table[65], table[66]), ('\u{fb01}', 'A', '\0'));
        assert!(!type1(b"/Encoding StandardEncoding def", &mut table));
    }

    #[test]
    fn compact_fonts_say_what_their_codes_are() {
        let mut font = vec![1, 0, 4, 1];
        font.extend([0, 1, 1, 1, 2, b'F']);
        // Charset at 40, encoding at 50, glyphs at 60.
        font.extend([0, 1, 1, 1, 7, 139 + 40, 15, 139 + 50, 16, 139 + 60, 17]);
        font.extend([0, 1, 1, 1, 6]);
        font.extend(b"alpha");
        font.resize(40, 0);
        // Glyph 1 is the letter with name 34, glyph 2 the first of the font's own names.
        font.extend([0, 0, 34, 1, 135]);
        font.resize(50, 0);
        font.extend([0, 2, 7, 9]);
        font.resize(60, 0);
        font.extend([0, 3, 1, 1, 1, 1, 1]);
        let mut table = ['\0'; 256];
        assert!(compact(&font, &mut table));
        assert_eq!((table[7], table[9]), ('A', 'α'));
        for length in 0..font.len() {
            compact(&font[..length], &mut table);
        }
        assert_eq!(FIRST_NAMES.chars().count(), 229);
    }
}
