//! A PDF as a set of numbered objects. The cross-reference table is ignored: it is often damaged or truncated, it may
//! be wrong, and scanning for objects is as fast. If a number is used twice, the last object in the file counts, as for
//! files with incremental updates.

use std::cell::Cell;
use std::collections::HashMap;

use foldhash::fast::FixedState;
use memchr::memmem;

use super::filter::{self, Filter, Predictor};
use super::object::{Dictionary, ObjectReader, PdfObject, is_regular, is_space};
use super::security::{Decryption, ObjectId};
use crate::ExtractLimits;
use crate::steps;

/// Maximum size of a decompressed stream.
const LARGEST_STREAM: usize = 16 << 20;

/// Minimum cost of an object lookup.
const LOOKUP: usize = 32;

/// A PDF with the positions of its objects.
pub(super) struct File<'a> {
    bytes: &'a [u8],
    /// Decompressed object streams.
    unpacked: Vec<Vec<u8>>,
    places: HashMap<u32, ObjectPlace, FixedState>,
    /// Root from the trailers.
    pub(super) root: Option<u32>,
    pub(super) info: Option<u32>,
    decryption: Option<Decryption>,
    /// Whether it is encrypted and does not open without a password.
    pub(super) is_locked: bool,
    pub(super) budget: Budget,
}

/// Position of an object.
#[derive(Clone, Copy)]
struct ObjectPlace {
    /// Position in the file of the object, or of the object stream that contains it.
    position: usize,
    stream: Option<u32>,
    /// Start in that stream or in the file.
    start: usize,
}

/// Remaining work: bytes read, and bytes decompressed. All work is charged to it, so that no file takes long.
pub(super) struct Budget(Cell<usize>);

impl Budget {
    pub(super) fn spend(&self, steps: usize) {
        self.0.set(self.0.get().saturating_sub(steps));
    }

    pub(super) fn left(&self) -> usize {
        self.0.get()
    }

    pub(super) fn is_spent(&self) -> bool {
        self.left() == 0
    }
}

/// A stream: its dictionary, and its raw bytes.
pub(super) struct PdfStream<'a> {
    pub(super) dictionary: Dictionary<'a>,
    packed: &'a [u8],
    id: Option<ObjectId>,
}

/// How a stream is packed.
#[derive(Default)]
struct StreamFilters {
    /// Name of its own crypt filter.
    crypt: Option<Vec<u8>>,
    /// The others, in the order of decoding.
    filters: Vec<Filter>,
}

/// What the trailers have about encryption.
#[derive(Default)]
struct EncryptionEntries<'a> {
    dictionary: Option<PdfObject<'a>>,
    file_id: Vec<u8>,
}

impl<'a> File<'a> {
    /// Scans any bytes for objects.
    pub(super) fn open(bytes: &'a [u8], limits: &ExtractLimits) -> Self {
        let mut file = File {
            bytes,
            unpacked: Vec::new(),
            places: HashMap::default(),
            root: None,
            info: None,
            decryption: None,
            is_locked: false,
            budget: Budget(Cell::new(limits.pdf_steps)),
        };
        let starts = file.find_objects(limits.pdf_objects);
        let entries = file.read_trailers(&starts);
        if let Some(dictionary) = entries.dictionary {
            let decryption = Decryption::open(&file, &dictionary, &entries.file_id);
            file.is_locked = decryption.is_none();
            file.decryption = decryption;
        }
        if !file.is_locked {
            file.read_object_streams(&starts, limits.pdf_objects);
        }
        file
    }

    /// Finds `12 0 obj`, records the positions, and returns them in order.
    fn find_objects(&mut self, most: usize) -> Vec<usize> {
        let mut starts = Vec::new();
        for at in memmem::find_iter(self.bytes, b"obj") {
            let Some(ObjectId { number, .. }) = id_in_front(&self.bytes[..at]) else { continue };
            if starts.len() >= most {
                self.budget.spend(usize::MAX);
                break;
            }
            starts.push(at + 3);
            self.places.insert(number, ObjectPlace { position: at, stream: None, start: at + 3 });
        }
        starts
    }

    fn read_trailers(&mut self, starts: &[usize]) -> EncryptionEntries<'a> {
        let tables = memmem::find_iter(self.bytes, b"trailer").map(|at| at + 7);
        let streams = memmem::find_iter(self.bytes, b"/XRef").filter_map(|at| last_before(starts, at));
        let mut trailers: Vec<usize> = tables.chain(streams).collect();
        trailers.sort_unstable();
        trailers.dedup();
        let mut entries = EncryptionEntries::default();
        for at in trailers {
            if let PdfObject::Dictionary(trailer) = self.object_at(self.bytes, at) {
                self.root = trailer.get(b"Root").reference().or(self.root);
                self.info = trailer.get(b"Info").reference().or(self.info);
                if *trailer.get(b"Encrypt") != PdfObject::Null {
                    entries.dictionary = Some(trailer.get(b"Encrypt").clone());
                    let file_id = self.resolve(trailer.get(b"ID"));
                    entries.file_id =
                        file_id.elements().first().and_then(PdfObject::text).unwrap_or_default().to_vec();
                }
            }
            if self.budget.is_spent() {
                return entries;
            }
        }
        if self.root.is_none() && entries.dictionary.is_none() {
            entries.dictionary = self.stray_encryption(starts);
        }
        entries
    }

    /// The encryption dictionary of a file that was cut before its trailer.
    fn stray_encryption(&self, starts: &[usize]) -> Option<PdfObject<'a>> {
        let at = last_before(starts, memmem::rfind(self.bytes, b"/Standard")?)?;
        match self.object_at(self.bytes, at) {
            PdfObject::Dictionary(dictionary) if dictionary.get(b"Filter").name() == Some(b"Standard") => {
                Some(PdfObject::Dictionary(dictionary))
            }
            _ => None,
        }
    }

    fn read_object_streams(&mut self, starts: &[usize], most: usize) {
        let mut streams: Vec<usize> =
            memmem::find_iter(self.bytes, b"/ObjStm").filter_map(|at| last_before(starts, at)).collect();
        streams.dedup();
        for start in streams {
            let Some(stream) = self.stream_at(start).filter(|stream| stream.dictionary.is_type(b"ObjStm"))
            else {
                continue;
            };
            let unpacked = self.unpack(&stream);
            let first = stream.dictionary.get(b"First").number().unwrap_or(0.0) as usize;
            let index = self.unpacked.len() as u32;
            let mut reader = ObjectReader::new(&unpacked, 0);
            while reader.at() < first && self.places.len() < most {
                let (Some(PdfObject::Number(number)), Some(PdfObject::Number(offset))) =
                    (reader.next(), reader.next())
                else {
                    break;
                };
                let place = ObjectPlace {
                    position: start,
                    stream: Some(index),
                    start: first + offset.max(0.0) as usize,
                };
                let known = self.places.entry(number as u32).or_insert(place);
                if known.position <= start {
                    *known = place;
                }
            }
            self.budget.spend(reader.at());
            self.unpacked.push(unpacked);
            if self.budget.is_spent() {
                return;
            }
        }
    }

    /// Numbers of all objects, in file order.
    pub(super) fn numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.places.keys().copied().collect();
        numbers.sort_unstable_by_key(|number| {
            let place = self.places[number];
            (place.position, place.start, *number)
        });
        numbers
    }

    /// The object with a number; `Null` if there is none.
    pub(super) fn object(&self, number: u32) -> PdfObject<'_> {
        match self.places.get(&number) {
            None => PdfObject::Null,
            Some(place) => {
                let mut object = self.object_at(self.bytes_of(*place), place.start);
                // Object streams are encrypted as a whole.
                if let (Some(decryption), None) = (&self.decryption, place.stream)
                    && let Some(id) = id_in_front(&self.bytes[..place.position])
                {
                    decryption.decrypt_strings(&mut object, id, &self.budget);
                }
                object
            }
        }
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.places.contains_key(&number)
    }

    /// The object itself, or the one that it refers to.
    pub(super) fn resolve<'b>(&'b self, object: &PdfObject<'b>) -> PdfObject<'b> {
        match object {
            PdfObject::Reference(number) => self.object(*number),
            object => {
                // Copying a large object costs, too.
                self.budget.spend(object.weight());
                object.clone()
            }
        }
    }

    /// The dictionary, or the one that is referred to; empty if it is not a dictionary.
    pub(super) fn dictionary<'b>(&'b self, object: &PdfObject<'b>) -> Dictionary<'b> {
        match self.resolve(object) {
            PdfObject::Dictionary(dictionary) => dictionary,
            _ => Dictionary::default(),
        }
    }

    fn bytes_of(&self, place: ObjectPlace) -> &[u8] {
        place.stream.map_or(self.bytes, |stream| &self.unpacked[stream as usize])
    }

    fn object_at<'b>(&self, bytes: &'b [u8], at: usize) -> PdfObject<'b> {
        if self.budget.is_spent() {
            return PdfObject::Null;
        }
        let mut reader = ObjectReader::new(bytes, at);
        let object = reader.next().unwrap_or(PdfObject::Null);
        self.budget.spend(LOOKUP + reader.at().saturating_sub(at));
        object
    }

    /// The stream that an object refers to.
    pub(super) fn stream(&self, object: &PdfObject<'_>) -> Option<PdfStream<'_>> {
        let place = self.places.get(&object.reference()?)?;
        if place.stream.is_some() { None } else { self.stream_at(place.start) }
    }

    fn stream_at(&self, start: usize) -> Option<PdfStream<'a>> {
        if self.budget.is_spent() {
            return None;
        }
        let mut reader = ObjectReader::new(self.bytes, start);
        let object = reader.next();
        self.budget.spend(LOOKUP + reader.at().saturating_sub(start));
        let Some(PdfObject::Dictionary(dictionary)) = object else { return None };
        let Some(PdfObject::Word(b"stream")) = reader.next() else { return None };
        let data = &self.bytes[reader.at()..];
        let data = data.strip_prefix(b"\r").unwrap_or(data);
        let data = data.strip_prefix(b"\n").unwrap_or(data);
        let packed = &data[..self.length(&dictionary, data)];
        let id = self.decryption.as_ref().and_then(|_| id_in_front(&self.bytes[..start - 3]));
        Some(PdfStream { dictionary, packed, id })
    }

    /// Raw bytes of a stream: of the declared length if it ends there, else up to the next `endstream`, else to the
    /// end.
    fn length(&self, dictionary: &Dictionary<'a>, data: &[u8]) -> usize {
        let declared = match dictionary.get(b"Length") {
            PdfObject::Reference(number) => self.object(*number).number(),
            length => length.number(),
        };
        if let Some(declared) = declared.map(|declared| declared.max(0.0) as usize)
            && let Some(behind) = data.get(declared..)
            && behind[..behind.len().min(16)].trim_ascii_start().starts_with(b"endstream")
        {
            return declared;
        }
        let found = memmem::find(data, b"endstream").unwrap_or(data.len());
        self.budget.spend(found / 16);
        // As in the budget: the search passes many bytes at once.
        steps::add(found / 16);
        found
    }

    /// Decoded bytes of a stream; empty for images.
    pub(super) fn unpack(&self, stream: &PdfStream<'_>) -> Vec<u8> {
        let Some(StreamFilters { crypt, filters }) = self.filters(&stream.dictionary) else {
            return Vec::new();
        };
        self.budget.spend(stream.packed.len());
        let mut bytes: Option<Vec<u8>> = None;
        if let (Some(decryption), Some(id)) = (&self.decryption, stream.id) {
            self.budget.spend(stream.packed.len());
            bytes = Some(decryption.decrypt_stream(&stream.dictionary, crypt.as_deref(), stream.packed, id));
        }
        for filter in filters {
            let most = LARGEST_STREAM.min(self.budget.left());
            let unpacked = filter.unpack(bytes.as_deref().unwrap_or(stream.packed), most);
            self.budget.spend(unpacked.len());
            bytes = Some(unpacked);
        }
        bytes.unwrap_or_else(|| stream.packed.to_vec())
    }

    /// Filters of a stream; `None` if one is unsupported.
    fn filters(&self, dictionary: &Dictionary<'_>) -> Option<StreamFilters> {
        const MOST: usize = 8;
        let names = self.list(dictionary, [b"Filter", b"F"]);
        let parameters = self.list(dictionary, [b"DecodeParms", b"DP"]);
        let mut found = StreamFilters::default();
        for (index, name) in names.iter().enumerate().take(MOST) {
            let name = self.resolve(name);
            let parameters = parameters.get(index).map(|entry| self.dictionary(entry)).unwrap_or_default();
            let grows_early = parameters.get(b"EarlyChange").number() != Some(0.0);
            if name.name() == Some(b"Crypt") {
                found.crypt = Some(parameters.get(b"Name").name().unwrap_or(b"Identity").to_vec());
                continue;
            }
            found.filters.push(filter::named(name.name()?, grows_early)?);
            found.filters.extend(predictor(&parameters).map(Filter::Predictor));
        }
        Some(found)
    }

    /// One object or an array of them, as a list.
    fn list<'b>(&'b self, dictionary: &Dictionary<'b>, names: [&[u8]; 2]) -> Vec<PdfObject<'b>> {
        let object = names.iter().map(|name| dictionary.get(name)).find(|object| **object != PdfObject::Null);
        match object.map(|object| self.resolve(object)) {
            None | Some(PdfObject::Null) => Vec::new(),
            Some(PdfObject::Array(elements)) => elements,
            Some(one) => vec![one],
        }
    }
}

fn predictor(parameters: &Dictionary<'_>) -> Option<Predictor> {
    let number = |name: &[u8], otherwise: f64| parameters.get(name).number().unwrap_or(otherwise);
    let kind = number(b"Predictor", 1.0);
    let bits = number(b"BitsPerComponent", 8.0).clamp(1.0, 16.0);
    if kind < 2.0 || kind < 10.0 && bits != 8.0 {
        return None;
    }
    let sample = number(b"Colors", 1.0).clamp(1.0, 32.0) * bits;
    let row = number(b"Columns", 1.0).clamp(1.0, 65_536.0) * sample;
    let bytes = |bits: f64| (bits / 8.0).ceil() as usize;
    Some(Predictor { is_png: kind >= 10.0, step: bytes(sample), row: bytes(row) })
}

/// The last of the sorted positions that is not after `at`.
fn last_before(places: &[usize], at: usize) -> Option<usize> {
    places[..places.partition_point(|&place| place <= at)].last().copied()
}

/// The `12 0 ` at the end of these bytes.
fn id_in_front(bytes: &[u8]) -> Option<ObjectId> {
    let (rest, generation) = digits_at_end(spaces_off(bytes, 0)?)?;
    let (rest, number) = digits_at_end(spaces_off(rest, 1)?)?;
    let stands_alone = rest.is_empty()
        || rest.ends_with(b"endobj")
        || !is_regular(rest[rest.len() - 1]) && !rest.ends_with(b"(");
    if stands_alone { Some(ObjectId { number, generation }) } else { None }
}

/// Without the trailing white space, which must be present.
fn spaces_off(bytes: &[u8], least: usize) -> Option<&[u8]> {
    const MOST: usize = 16;
    let spaces = bytes.iter().rev().take(MOST).take_while(|&&byte| is_space(byte)).count();
    if spaces >= least { Some(&bytes[..bytes.len() - spaces]) } else { None }
}

fn digits_at_end(bytes: &[u8]) -> Option<(&[u8], u32)> {
    const MOST: usize = 10;
    let digits = bytes.iter().rev().take(MOST).take_while(|byte| byte.is_ascii_digit()).count();
    let (rest, digits) = bytes.split_at(bytes.len() - digits);
    Some((rest, std::str::from_utf8(digits).ok()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(bytes: &[u8]) -> File<'_> {
        File::open(bytes, &ExtractLimits::default())
    }

    #[test]
    fn objects_are_found_at_any_position() {
        let file = open(
            b"1 0 obj(a)endobj 2 0 obj\n(b) endobj 3 0 obj(c)endobj4 0 obj(d)endobj x5 0 obj(e) 2 1 obj(B)",
        );
        let text = |number| file.object(number).text().map(|text| String::from_utf8_lossy(text).into_owned());
        assert_eq!((text(1).as_deref(), text(2).as_deref()), (Some("a"), Some("B")));
        assert_eq!((text(3).as_deref(), text(4).as_deref(), text(5)), (Some("c"), Some("d"), None));
        assert_eq!(file.numbers(), [1, 3, 4, 2]);
    }

    #[test]
    fn streams_have_their_declared_or_actual_length() {
        for (bytes, expected) in [
            (&b"1 0 obj<</Length 3>>stream\nabc\nendstream"[..], &b"abc"[..]),
            (b"1 0 obj<</Length 9>>stream\r\nabc\nendstream", b"abc\n"),
            (b"1 0 obj<</Length 2 0 R>>stream\nendstream!\nendstream 2 0 obj 10 endobj", b"endstream!"),
            (b"1 0 obj<</Length 2 0 R>>stream\nabc", b"abc"),
            (b"1 0 obj<</Length 1 0 R/Filter/AHx>>stream\n6162>endstream", b"ab"),
            (b"1 0 obj<</Length 3/Filter/DCTDecode>>stream\nabc\nendstream", b""),
        ] {
            let file = open(bytes);
            let stream = file.stream(&PdfObject::Reference(1)).unwrap();
            assert_eq!(file.unpack(&stream), expected, "for {}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn objects_in_streams_are_found_and_the_last_one_counts() {
        let bytes = b"7 0 obj(old)endobj 1 0 obj<</Type/ObjStm/N 2/First 8/Length 16>>stream\n7 0 8 4 (a) (b)\nendstream 8 0 obj(new)";
        let file = open(bytes);
        assert_eq!((file.object(7).text(), file.object(8).text()), (Some(&b"a"[..]), Some(&b"new"[..])));
    }

    #[test]
    fn trailers_of_both_kinds_are_read() {
        for (bytes, root, is_locked) in [
            (&b"trailer<</Root 1 0 R>> trailer<</Root 2 0 R/Encrypt 3 0 R>>"[..], Some(2), true),
            (b"5 0 obj<</Type/XRef/Root 1 0 R>>stream", Some(1), false),
            (b"nothing", None, false),
        ] {
            let file = open(bytes);
            assert_eq!((file.root, file.is_locked), (root, is_locked));
        }
    }
}
