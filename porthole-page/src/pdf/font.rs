//! Fonts: splitting of strings into codes, their text, and their widths.

use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GBK, SHIFT_JIS, UTF_16BE};

use super::cmap::CMap;
use super::embedded;
use super::file::File;
use super::glyphs::{self, GlyphTable};
use super::object::{Dictionary, PdfObject};

/// A font, as far as needed for text.
#[derive(Debug)]
pub(super) struct Font {
    codes: Codes,
    unicode: CMap,
    widths: Widths,
}

/// How strings are split into codes, and the codes' meaning without a map.
#[derive(Debug)]
enum Codes {
    /// One byte each.
    Simple(Box<GlyphTable>),
    /// A fixed number of bytes each, whose text is only known from a map.
    Glyphs(usize),
    /// Characters of a charset.
    Charset(&'static Encoding),
}

/// A code of a string.
#[derive(Clone, Copy)]
pub(super) struct Glyph {
    /// Width as a share of the font's size.
    pub(super) width: f64,
    /// Whether it is the single-byte space, to which word spacing applies.
    pub(super) is_space: bool,
    pub(super) is_known: bool,
}

impl Font {
    pub(super) fn read(file: &File<'_>, font: &Dictionary<'_>) -> Font {
        let unicode =
            file.stream(font.get(b"ToUnicode")).map(|stream| file.unpack(&stream)).unwrap_or_default();
        let unicode = CMap::read(&unicode, &file.budget);
        if font.get(b"Subtype").name() == Some(b"Type0") {
            return Font::composite(file, font, unicode);
        }
        let codes = Codes::Simple(Box::new(simple_table(file, font)));
        Font { codes, unicode, widths: Widths::simple(file, font) }
    }

    fn composite(file: &File<'_>, font: &Dictionary<'_>, unicode: CMap) -> Font {
        let descendants = file.resolve(font.get(b"DescendantFonts"));
        let descendant = file.dictionary(descendants.elements().first().unwrap_or(&PdfObject::Null));
        let encoding = file.resolve(font.get(b"Encoding"));
        let codes = match encoding.name() {
            Some(name) => {
                named_charset(name).filter(|_| unicode.is_empty()).map_or(Codes::Glyphs(2), Codes::Charset)
            }
            None => {
                let map =
                    file.stream(font.get(b"Encoding")).map(|stream| file.unpack(&stream)).unwrap_or_default();
                let length = CMap::read(&map, &file.budget).code_length;
                Codes::Glyphs(length.unwrap_or(2).clamp(1, 4))
            }
        };
        Font { codes, unicode, widths: Widths::composite(file, &descendant) }
    }

    /// Effective size of the glyphs at size 1.
    pub(super) fn size(&self) -> f64 {
        self.widths.size
    }

    /// Calls `glyph` with each code of a string, after `character` with each of its characters.
    pub(super) fn each_glyph<T>(
        &self,
        string: &[u8],
        to: &mut T,
        character: impl Fn(&mut T, char),
        glyph: impl Fn(&mut T, Glyph),
    ) {
        match &self.codes {
            Codes::Simple(table) => {
                for &byte in string {
                    let code = u32::from(byte);
                    let known = table[usize::from(byte)];
                    let in_map = self.unicode.characters(code, |c| character(to, c));
                    if !in_map && known != '\0' {
                        character(to, known);
                    }
                    let is_known = in_map || known != '\0';
                    glyph(to, Glyph { width: self.widths.of(code), is_space: byte == b' ', is_known });
                }
            }
            Codes::Glyphs(length) => {
                for code in string.chunks(*length) {
                    let is_space = code == b" ";
                    let code = code.iter().fold(0, |code, &byte| code << 8 | u32::from(byte));
                    let is_known = self.unicode.characters(code, |c| character(to, c));
                    glyph(to, Glyph { width: self.widths.of(code), is_space, is_known });
                }
            }
            Codes::Charset(charset) => {
                for c in charset.decode_without_bom_handling(string).0.chars() {
                    character(to, c);
                    // Such fonts are nearly monospaced.
                    let width = if c.is_ascii() { 0.5 } else { 1.0 };
                    glyph(to, Glyph { width, is_space: false, is_known: c != '\u{fffd}' });
                }
            }
        }
    }
}

/// Charset of a predefined map: `UniGB-UCS2-H`, `90ms-RKSJ-V`.
fn named_charset(name: &[u8]) -> Option<&'static Encoding> {
    let has = |part: &[u8]| memchr::memmem::find(name, part).is_some();
    match () {
        () if has(b"UCS2") || has(b"UTF16") => Some(UTF_16BE),
        () if has(b"RKSJ") => Some(SHIFT_JIS),
        () if has(b"GBK") || has(b"GB-EUC") || has(b"GBpc") => Some(GBK),
        () if has(b"KSC") => Some(EUC_KR),
        () if has(b"B5") || has(b"HKscs") => Some(BIG5),
        () if has(b"EUC") => Some(EUC_JP),
        () => None,
    }
}

/// Text of a simple font's codes: the base encoding, or else the embedded font's, with the declared differences.
fn simple_table(file: &File<'_>, font: &Dictionary<'_>) -> GlyphTable {
    let encoding = file.resolve(font.get(b"Encoding"));
    let differences = match &encoding {
        PdfObject::Dictionary(encoding) => file.resolve(encoding.get(b"Differences")),
        _ => PdfObject::Null,
    };
    let base = match &encoding {
        PdfObject::Dictionary(encoding) => encoding.get(b"BaseEncoding").name(),
        encoding => encoding.name(),
    };
    let mut table = match base.and_then(glyphs::table_named) {
        Some(table) => table,
        None => built_in_table(file, font),
    };
    let mut code = 0;
    for object in differences.elements() {
        match object {
            PdfObject::Number(number) => code = number.clamp(0.0, 256.0) as usize,
            PdfObject::Name(name) => {
                if let Some(place) = table.get_mut(code) {
                    *place = glyphs::character(name)
                        .or_else(|| glyphs::numbered_by_tex(name, code))
                        .unwrap_or('\0');
                }
                code += 1;
            }
            _ => {}
        }
    }
    table
}

fn built_in_table(file: &File<'_>, font: &Dictionary<'_>) -> GlyphTable {
    let mut table = glyphs::table_of_font(font.get(b"BaseFont").name().unwrap_or(b""));
    let descriptor = file.dictionary(font.get(b"FontDescriptor"));
    if let Some(program) = file.stream(descriptor.get(b"FontFile")) {
        embedded::type1(&file.unpack(&program), &mut table);
    } else if let Some(program) = file.stream(descriptor.get(b"FontFile3"))
        && program.dictionary.get(b"Subtype").name() == Some(b"Type1C")
    {
        embedded::compact(&file.unpack(&program), &mut table);
    }
    table
}

/// Widths of codes, as shares of the font's size.
#[derive(Debug)]
struct Widths {
    /// Sorted by the first code: from, to, width.
    ranges: Vec<(u32, u32, f32)>,
    otherwise: f32,
    size: f64,
}

/// Maximum code, so that codes after it can be counted.
const LARGEST_CODE: f64 = 16_777_215.0;

/// Maximum number of ranges, equal to the number of codes.
const MOST_RANGES: usize = 1 << 16;

impl Widths {
    fn of(&self, code: u32) -> f64 {
        let behind = self.ranges.partition_point(|range| range.0 <= code);
        let range = self.ranges[..behind].last().filter(|range| code <= range.1);
        f64::from(range.map_or(self.otherwise, |range| range.2))
    }

    fn simple(file: &File<'_>, font: &Dictionary<'_>) -> Widths {
        let widths = file.resolve(font.get(b"Widths"));
        if widths.elements().is_empty() {
            return Widths::standard(font.get(b"BaseFont").name().unwrap_or(b""));
        }
        // Type 3 fonts have their own glyph coordinate system.
        let matrix = file.resolve(font.get(b"FontMatrix"));
        let grid = matrix.elements().first().and_then(PdfObject::number).unwrap_or(0.001);
        let first = file.resolve(font.get(b"FirstChar")).number().unwrap_or(0.0).min(256.0) as u32;
        let width = |object: &PdfObject<'_>| (object.number().unwrap_or(0.0) * grid) as f32;
        let ranges =
            (first..).zip(widths.elements()).take(256).map(|(code, object)| (code, code, width(object)));
        let descriptor = file.dictionary(font.get(b"FontDescriptor"));
        let otherwise = width(descriptor.get(b"MissingWidth"));
        let ranges: Vec<_> = ranges.collect();
        let widest = f64::from(ranges.iter().fold(0.0, |widest, range| range.2.max(widest)));
        // If glyphs are drawn much larger than the font's size, the widest one determines the size.
        let size = if (0.2..5.0).contains(&widest) || widest <= 0.0 { 1.0 } else { widest };
        Widths { ranges, otherwise, size }
    }

    /// Parses `W`: a code with the widths from there on, or two codes with the width of all between them.
    fn composite(file: &File<'_>, font: &Dictionary<'_>) -> Widths {
        let thousandth = |object: &PdfObject<'_>| (object.number().unwrap_or(0.0) / 1000.0) as f32;
        let mut ranges = Vec::new();
        let mut codes: Vec<u32> = Vec::new();
        for object in file.resolve(font.get(b"W")).elements() {
            match (&codes[..], file.resolve(object)) {
                ([first], PdfObject::Array(widths)) => {
                    ranges
                        .extend((*first..).zip(&widths).map(|(code, width)| (code, code, thousandth(width))));
                    codes.clear();
                }
                ([first, last], width) => {
                    ranges.push((*first, *last, thousandth(&width)));
                    codes.clear();
                }
                (_, code) => codes.extend(code.number().map(|code| code.min(LARGEST_CODE) as u32)),
            }
            if ranges.len() > MOST_RANGES || file.budget.is_spent() {
                break;
            }
        }
        ranges.sort_by_key(|range| range.0);
        let otherwise = font.get(b"DW").number().map_or(1.0, |width| (width / 1000.0) as f32);
        Widths { ranges, otherwise, size: 1.0 }
    }

    /// Widths of the standard fonts, which come without widths.
    fn standard(name: &[u8]) -> Widths {
        let has = |part: &[u8]| memchr::memmem::find(name, part).is_some();
        let (printable, otherwise) = match () {
            () if has(b"Courier") => return Widths { ranges: Vec::new(), otherwise: 0.6, size: 1.0 },
            () if has(b"Times") => (&TIMES, 0.5),
            () => (&HELVETICA, 0.556),
        };
        // Bold letters are slightly wider.
        let scale = if has(b"Bold") { 1.06 } else { 1.0 } / 1000.0;
        let ranges = (0x20..).zip(printable).map(|(code, &width)| (code, code, f32::from(width) * scale));
        Widths { ranges: ranges.collect(), otherwise, size: 1.0 }
    }
}

/// Widths of the printable ASCII characters.
#[rustfmt::skip]
static HELVETICA: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584,
];

#[rustfmt::skip]
static TIMES: [u16; 95] = [
    250, 333, 408, 500, 500, 833, 778, 180, 333, 333, 500, 564, 250, 333, 250, 278, 500, 500, 500, 500, 500, 500, 500,
    500, 500, 500, 278, 278, 564, 564, 564, 444, 921, 722, 667, 667, 722, 611, 556, 722, 722, 333, 389, 722, 611, 889,
    722, 722, 556, 722, 667, 556, 611, 722, 722, 944, 722, 722, 611, 333, 278, 333, 469, 500, 333, 444, 500, 444, 500,
    444, 333, 500, 500, 278, 278, 500, 278, 778, 500, 500, 500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480,
    200, 480, 541,
];
