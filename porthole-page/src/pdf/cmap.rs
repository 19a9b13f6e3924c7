//! ToUnicode maps: the text of a font's codes.

use super::file::Budget;
use super::object::{ObjectReader, PdfObject};

/// Maximum number of entries of a map, which has at most 65536 codes, and of operands of a section, which should have
/// 300.
const MOST_ENTRIES: usize = 1 << 16;
const MOST_OPERANDS: usize = 1 << 16;

/// Maximum number of characters of a code.
const LONGEST: usize = 8;

/// A map from codes to text.
#[derive(Debug, Default)]
pub(super) struct CMap {
    /// Sorted by the first code.
    entries: Vec<CMapEntry>,
    /// Bytes of its longest code, if declared.
    pub(super) code_length: Option<usize>,
}

#[derive(Debug)]
struct CMapEntry {
    first: u32,
    last: u32,
    meaning: Meaning,
}

#[derive(Debug)]
enum Meaning {
    /// Character of the first code; the following codes stand for the following characters.
    Character(u32),
    Text(Box<str>),
}

impl CMap {
    /// Parses a map. Never fails.
    pub(super) fn read(bytes: &[u8], budget: &Budget) -> CMap {
        let mut map = CMap::default();
        let mut operands: Vec<PdfObject<'_>> = Vec::new();
        let mut reader = ObjectReader::new(bytes, 0);
        while let Some(object) = reader.next() {
            match object {
                PdfObject::Word(b"endbfchar") => operands.chunks_exact(2).for_each(|pair| {
                    map.add(&pair[0], &pair[0], &pair[1]);
                }),
                PdfObject::Word(b"endbfrange") => operands.chunks_exact(3).for_each(|range| {
                    map.add(&range[0], &range[1], &range[2]);
                }),
                PdfObject::Word(b"endcodespacerange") => {
                    map.code_length = operands.iter().filter_map(PdfObject::text).map(<[u8]>::len).max();
                }
                PdfObject::Word(_) => {}
                object => {
                    if operands.len() < MOST_OPERANDS {
                        operands.push(object);
                    }
                    continue;
                }
            }
            operands.clear();
        }
        budget.spend(reader.at());
        map.entries.sort_by_key(|entry| entry.first);
        map
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Calls `found` with the characters of a code; returns whether the code is known.
    pub(super) fn characters(&self, code: u32, mut found: impl FnMut(char)) -> bool {
        let behind = self.entries.partition_point(|entry| entry.first <= code);
        let Some(entry) = self.entries[..behind].last().filter(|entry| code <= entry.last) else {
            return false;
        };
        match &entry.meaning {
            Meaning::Character(first) => match char::from_u32(first.saturating_add(code - entry.first)) {
                Some(character) => found(character),
                None => return false,
            },
            Meaning::Text(text) => text.chars().for_each(found),
        }
        true
    }

    fn add(&mut self, first: &PdfObject<'_>, last: &PdfObject<'_>, meaning: &PdfObject<'_>) {
        let (Some(first), Some(last)) = (code(first), code(last)) else { return };
        match meaning {
            PdfObject::Array(texts) => {
                for (code, text) in (first..=last).zip(texts) {
                    self.add_text(code, code, text);
                }
            }
            text => self.add_text(first, last, text),
        }
    }

    fn add_text(&mut self, first: u32, last: u32, text: &PdfObject<'_>) {
        let Some(text) = text.text() else { return };
        if self.entries.len() >= MOST_ENTRIES || last < first {
            return;
        }
        let units = text.chunks(2).map(|unit| unit.iter().fold(0, |unit, &byte| unit << 8 | u16::from(byte)));
        let characters: String = char::decode_utf16(units)
            .map(|character| character.unwrap_or('\u{fffd}'))
            .take(LONGEST)
            .collect();
        let mut each = characters.chars();
        let meaning = match (each.next(), each.next()) {
            (Some(one), None) => Meaning::Character(one.into()),
            _ => Meaning::Text(characters.into()),
        };
        self.entries.push(CMapEntry { first, last, meaning });
    }
}

fn code(object: &PdfObject<'_>) -> Option<u32> {
    let bytes = object.text()?;
    (bytes.len() <= 4).then(|| bytes.iter().fold(0, |code, &byte| code << 8 | u32::from(byte)))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::ExtractLimits;
    use crate::pdf::file::File;

    fn read(bytes: &str) -> CMap {
        CMap::read(bytes.as_bytes(), &File::open(b"", &ExtractLimits::default()).budget)
    }

    fn text(map: &CMap, code: u32) -> Option<String> {
        let mut text = String::new();
        map.characters(code, |character| text.push(character)).then_some(text)
    }

    #[test]
    fn codes_are_mapped_to_text() {
        let map = read(
            "1 begincodespacerange <0000> <ffff> endcodespacerange
             3 beginbfchar <0003> <0020> <0041><00660069> <0005> <d83edd89> endbfchar
             2 beginbfrange <0010> <0012> <0061> <0020> <0021> [<0078> <0079007a>] endbfrange",
        );
        assert_eq!(map.code_length, Some(2));
        for (code, expected) in [
            (3, Some(" ")),
            (0x41, Some("fi")),
            (5, Some("\u{1f989}")),
            (0x10, Some("a")),
            (0x12, Some("c")),
            (0x13, None),
            (0x20, Some("x")),
            (0x21, Some("yz")),
            (9, None),
        ] {
            assert_eq!(text(&map, code).as_deref(), expected, "for {code}");
        }
    }

    #[test]
    fn damaged_maps_are_read_partially() {
        let map = read("beginbfrange <00> <ffffffff> <d7f0> <05> <01> <0041> 7 8 9 (x endbfrange");
        assert!(map.is_empty(), "the text never ends");
        let map =
            read("beginbfrange <00> <ffffffff> <d7f0> <0500000000> <01> <0041> endbfrange beginbfchar <01>");
        assert_eq!(
            (text(&map, 1).as_deref(), text(&map, 0x20), text(&map, u32::MAX)),
            (Some("\u{d7f1}"), None, None)
        );
        let mut many = String::from("beginbfchar ");
        (0..200_000).for_each(|n| write!(many, "<{n:06x}><0041>").unwrap());
        assert!(read(&(many + " endbfchar")).entries.len() <= MOST_ENTRIES);
    }
}
