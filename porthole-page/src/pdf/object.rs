//! PDF objects, and a reader for any bytes: every call advances or ends, objects nested too deep are flattened, and
//! damage ends the enclosing object.

use std::borrow::Cow;

use crate::steps::{self, memchr};

/// Maximum nesting of containers; deeper ones are read as part of their parent.
const DEEPEST: usize = 32;

/// Maximum number of elements of an object, including nested ones; the rest is skipped.
const MOST_ELEMENTS: usize = 1 << 17;

/// An object, or a keyword between objects (an operator, `endobj`).
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PdfObject<'a> {
    Null,
    Boolean(bool),
    Number(f64),
    Name(Cow<'a, [u8]>),
    Text(Cow<'a, [u8]>),
    Array(Vec<PdfObject<'a>>),
    Dictionary(Dictionary<'a>),
    Reference(u32),
    Word(&'a [u8]),
}

impl<'a> PdfObject<'a> {
    pub(super) fn number(&self) -> Option<f64> {
        if let PdfObject::Number(number) = self { Some(*number) } else { None }
    }

    pub(super) fn name(&self) -> Option<&[u8]> {
        if let PdfObject::Name(name) = self { Some(name) } else { None }
    }

    pub(super) fn text(&self) -> Option<&[u8]> {
        if let PdfObject::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn elements(&self) -> &[PdfObject<'a>] {
        if let PdfObject::Array(elements) = self { elements } else { &[] }
    }

    /// Number of objects in it, including itself and nested ones.
    pub(super) fn weight(&self) -> usize {
        steps::add(1);
        match self {
            PdfObject::Array(elements) => 1 + elements.iter().map(PdfObject::weight).sum::<usize>(),
            PdfObject::Dictionary(Dictionary(pairs)) => {
                1 + pairs.iter().map(|pair| pair.1.weight()).sum::<usize>()
            }
            _ => 1,
        }
    }

    /// Calls `change` for every string in it, including nested ones.
    pub(super) fn change_texts(&mut self, change: &mut impl FnMut(&mut Cow<'a, [u8]>)) {
        match self {
            PdfObject::Text(text) => change(text),
            PdfObject::Array(elements) => {
                elements.iter_mut().for_each(|element| element.change_texts(change));
            }
            PdfObject::Dictionary(Dictionary(pairs)) => {
                pairs.iter_mut().for_each(|(_, value)| value.change_texts(change));
            }
            _ => {}
        }
    }

    pub(super) fn reference(&self) -> Option<u32> {
        if let PdfObject::Reference(number) = self { Some(*number) } else { None }
    }
}

/// Names and values, in file order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Dictionary<'a>(Vec<(Cow<'a, [u8]>, PdfObject<'a>)>);

impl<'a> Dictionary<'a> {
    /// Value of a name; `Null` if it is missing.
    pub(super) fn get(&self, name: &[u8]) -> &PdfObject<'a> {
        let found = steps::passed(self.0.iter().position(|(key, _)| **key == *name), &self.0);
        found.map_or(&PdfObject::Null, |at| &self.0[at].1)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &PdfObject<'a>)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    pub(super) fn is_type(&self, kind: &[u8]) -> bool {
        self.get(b"Type").name() == Some(kind)
    }

    fn of(elements: Vec<PdfObject<'a>>) -> Self {
        let mut pairs = Vec::with_capacity(elements.len() / 2);
        let mut key = None;
        for element in elements {
            match (key.take(), element) {
                (Some(key), value) => pairs.push((key, value)),
                (None, PdfObject::Name(name)) => key = Some(name),
                (None, _) => {}
            }
        }
        Dictionary(pairs)
    }
}

/// Reads objects in sequence.
pub(super) struct ObjectReader<'a> {
    bytes: &'a [u8],
    at: usize,
    elements_left: usize,
}

impl<'a> ObjectReader<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        ObjectReader { bytes, at: at.min(bytes.len()), elements_left: MOST_ELEMENTS }
    }

    /// Current position.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn skip_to(&mut self, at: usize) {
        self.at = at.min(self.bytes.len());
    }

    /// The next object or keyword; `None` at the end.
    pub(super) fn next(&mut self) -> Option<PdfObject<'a>> {
        self.elements_left = MOST_ELEMENTS;
        self.object(0)
    }

    fn object(&mut self, depth: usize) -> Option<PdfObject<'a>> {
        let start = self.at;
        self.skip_space();
        steps::add(1 + self.at - start);
        let rest = &self.bytes[self.at..];
        Some(match rest {
            [] => return None,
            [b'<', b'<', ..] => {
                self.at += 2;
                if depth < DEEPEST {
                    PdfObject::Dictionary(Dictionary::of(self.elements(b">>", depth)))
                } else {
                    PdfObject::Null
                }
            }
            [b'[', ..] => {
                self.at += 1;
                if depth < DEEPEST { PdfObject::Array(self.elements(b"]", depth)) } else { PdfObject::Null }
            }
            [b'>', b'>', ..] => self.word(2),
            [b'<', ..] => PdfObject::Text(self.hex_text().into()),
            [b'(', ..] => PdfObject::Text(self.text()),
            [b'/', ..] => PdfObject::Name(self.name()),
            [b']' | b'{' | b'}' | b'>' | b')', ..] => self.word(1),
            _ => {
                let length = rest.iter().take_while(|&&byte| is_regular(byte)).count();
                steps::add(length);
                match number(&rest[..length]) {
                    Some(number) => {
                        self.at += length;
                        PdfObject::Number(number)
                    }
                    None => self.word(length),
                }
            }
        })
    }

    fn word(&mut self, length: usize) -> PdfObject<'a> {
        let word = &self.bytes[self.at..self.at + length];
        self.at += length;
        if word == b"null" { PdfObject::Null } else { PdfObject::Word(word) }
    }

    /// Elements of a container up to its end or an error.
    fn elements(&mut self, end: &[u8], depth: usize) -> Vec<PdfObject<'a>> {
        let mut elements = Vec::new();
        loop {
            let start = self.at;
            let Some(element) = self.object(depth + 1) else { return elements };
            match element {
                PdfObject::Word(word) if word == end => return elements,
                PdfObject::Word(b"R") => fold_reference(&mut elements),
                PdfObject::Word(b">>" | b"obj" | b"endobj" | b"stream" | b"endstream") => {
                    self.at = start;
                    return elements;
                }
                PdfObject::Word(word @ (b"true" | b"false")) => {
                    self.keep(&mut elements, PdfObject::Boolean(word == b"true"));
                }
                PdfObject::Word(_) => {}
                element => self.keep(&mut elements, element),
            }
        }
    }

    fn keep(&mut self, elements: &mut Vec<PdfObject<'a>>, element: PdfObject<'a>) {
        if self.elements_left > 0 {
            self.elements_left -= 1;
            elements.push(element);
        }
    }

    fn skip_space(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte == b'%' {
                let rest = &self.bytes[self.at..];
                self.at += rest.iter().position(|&byte| matches!(byte, b'\r' | b'\n')).unwrap_or(rest.len());
            } else if is_space(byte) {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    fn name(&mut self) -> Cow<'a, [u8]> {
        let rest = &self.bytes[self.at + 1..];
        let length = rest.iter().take_while(|&&byte| is_regular(byte)).count();
        self.at += 1 + length;
        steps::add(length);
        let name = &rest[..length];
        if memchr(b'#', name).is_none() {
            return Cow::Borrowed(name);
        }
        let mut out = Vec::with_capacity(length);
        let mut left = name;
        while let [byte, rest @ ..] = left {
            left = rest;
            match (byte, rest) {
                (b'#', [high, low, rest @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                    out.push(hex(*high) << 4 | hex(*low));
                    left = rest;
                }
                _ => out.push(*byte),
            }
        }
        Cow::Owned(out)
    }

    /// `<48 65 6C>`; other characters than digits are skipped.
    fn hex_text(&mut self) -> Vec<u8> {
        let rest = &self.bytes[self.at + 1..];
        let length = memchr(b'>', rest).unwrap_or(rest.len());
        self.at += 1 + (length + 1).min(rest.len());
        hex_bytes(&rest[..length])
    }

    /// `(text)`, with balanced parentheses and escapes.
    fn text(&mut self) -> Cow<'a, [u8]> {
        let start = self.at + 1;
        let mut open = 1;
        let mut has_escapes = false;
        let mut at = start;
        while let Some(&byte) = self.bytes.get(at) {
            match byte {
                b'\\' => {
                    has_escapes = true;
                    at += 1;
                }
                b'(' => open += 1,
                b')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                break;
            }
            at += 1;
        }
        let end = at.min(self.bytes.len());
        steps::add(end - start.min(end));
        self.at = (end + 1).min(self.bytes.len());
        let text = &self.bytes[start.min(end)..end];
        if has_escapes { Cow::Owned(unescaped(text)) } else { Cow::Borrowed(text) }
    }
}

/// `12 0 R`: replaces the two numbers read before by a reference.
fn fold_reference(elements: &mut Vec<PdfObject<'_>>) {
    if let [.., PdfObject::Number(number), PdfObject::Number(_)] = elements[..] {
        elements.truncate(elements.len() - 2);
        elements.push(PdfObject::Reference(number as u32));
    }
}

fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut left = text;
    while let [byte, rest @ ..] = left {
        left = rest;
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        let [escaped, rest @ ..] = left else { break };
        left = rest;
        match escaped {
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'\r' => left = left.strip_prefix(b"\n").unwrap_or(left),
            b'\n' => {}
            b'0'..=b'7' => {
                let mut code = u32::from(escaped - b'0');
                for _ in 0..2 {
                    let [digit @ b'0'..=b'7', rest @ ..] = left else { break };
                    code = code << 3 | u32::from(digit - b'0');
                    left = rest;
                }
                out.push(code as u8);
            }
            other => out.push(*other),
        }
    }
    out
}

pub(super) fn hex_bytes(digits: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(digits.len() / 2 + 1);
    let mut high = None;
    for &digit in digits.iter().filter(|digit| digit.is_ascii_hexdigit()) {
        match high.take() {
            None => high = Some(hex(digit) << 4),
            Some(high) => out.push(high | hex(digit)),
        }
    }
    out.extend(high);
    out
}

fn hex(digit: u8) -> u8 {
    char::from(digit).to_digit(16).unwrap_or(0) as u8
}

/// Parses numbers such as `-.5`, `+3`, `4.`; also `--5`, which occurs in files and means -5.
pub(super) fn number(word: &[u8]) -> Option<f64> {
    let is_negative = word.first() == Some(&b'-');
    let digits = &word[word.iter().take_while(|&&byte| matches!(byte, b'-' | b'+')).count()..];
    let (mut value, mut scale, mut any) = (0.0f64, 0.0f64, false);
    for &byte in digits {
        match byte {
            b'0'..=b'9' if scale == 0.0 => value = value * 10.0 + f64::from(byte - b'0'),
            b'0'..=b'9' => {
                value += f64::from(byte - b'0') * scale;
                scale /= 10.0;
            }
            b'.' if scale == 0.0 => scale = 0.1,
            // `12-34` in damaged files: the first part counts.
            b'-' if any => break,
            _ => return None,
        }
        any |= byte.is_ascii_digit();
    }
    let value = value.min(1e15);
    (any || scale > 0.0).then_some(if is_negative { -value } else { value })
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | 9 | 10 | 12 | 13 | 32)
}

pub(super) fn is_regular(byte: u8) -> bool {
    !is_space(byte) && !matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &str, expected: &str) {
        let object = ObjectReader::new(bytes.as_bytes(), 0).next();
        assert_eq!(object.map_or_else(String::new, |object| shown(&object)), expected, "for {bytes}");
    }

    fn shown(object: &PdfObject<'_>) -> String {
        let bytes = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match object {
            PdfObject::Null => "null".to_owned(),
            PdfObject::Boolean(value) => value.to_string(),
            PdfObject::Number(number) => number.to_string(),
            PdfObject::Name(name) => format!("/{}", bytes(name)),
            PdfObject::Text(text) => format!("({})", bytes(text)),
            PdfObject::Array(elements) => {
                format!("[{}]", elements.iter().map(shown).collect::<Vec<_>>().join(" "))
            }
            PdfObject::Dictionary(Dictionary(pairs)) => {
                let pair = |(key, value): &(Cow<'_, [u8]>, PdfObject<'_>)| {
                    format!("{}={}", bytes(key), shown(value))
                };
                format!("{{{}}}", pairs.iter().map(pair).collect::<Vec<_>>().join(" "))
            }
            PdfObject::Reference(number) => format!("@{number}"),
            PdfObject::Word(word) => bytes(word),
        }
    }

    #[test]
    fn objects_as_they_are_written() {
        for (bytes, expected) in [
            ("", ""),
            ("  % a comment\n 12", "12"),
            ("-.5", "-0.5"),
            ("+4.", "4"),
            ("--5", "-5"),
            ("12-34", "12"),
            ("BT", "BT"),
            ("/Name#20x#zz", "/Name x#zz"),
            ("/", "/"),
            ("(a (b) c)", "(a (b) c)"),
            (
                r"(\(\101\7\
x\n)",
                "((A\u{7}x\n)",
            ),
            ("<4 1 4>", "(A@)"),
            ("[1 2 R 3 0 R]", "[@1 @3]"),
            ("<</A 1/B[2 0 R]/C<</D(x)>>>>", "{A=1 B=[@2] C={D=(x)}}"),
            ("<</A true/B null/C /D>>", "{A=true B=null C=/D}"),
        ] {
            check(bytes, expected);
        }
    }

    #[test]
    fn damage_ends_the_enclosing_object() {
        for (bytes, expected) in [
            ("(open", "(open"),
            ("(open\\", "(open"),
            ("<41", "(A)"),
            ("[1 [2", "[1 [2]]"),
            ("<</A 1", "{A=1}"),
            ("<</A [1 2>>", "{A=[1 2]}"),
            ("<</A 1 endobj", "{A=1}"),
            ("<<1 /A 2 /B>>", "{A=2}"),
            ("[R 1 R]", "[1]"),
            (")", ")"),
        ] {
            check(bytes, &if expected == "(open" { "(open)".to_owned() } else { expected.to_owned() });
        }
    }

    #[test]
    fn nesting_and_length_are_limited() {
        let deep = "[".repeat(100_000);
        let mut reader = ObjectReader::new(deep.as_bytes(), 0);
        while reader.next().is_some() {}
        assert_eq!(reader.at(), deep.len());
        let long = format!("[{}] 7", "1 ".repeat(MOST_ELEMENTS + 9));
        let mut reader = ObjectReader::new(long.as_bytes(), 0);
        assert_eq!(reader.next().unwrap().elements().len(), MOST_ELEMENTS);
        assert_eq!(reader.next(), Some(PdfObject::Number(7.0)));
    }
}
