//! What strategies remember, as bytes: little-endian numbers, one behind the other.

use porthole_types::{TermId, UrlId};

/// Why a strategy cannot go on from what was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what the strategy remembered is damaged, or was written by another version of the program")]
pub struct StateError;

/// Writes what is to be remembered.
#[derive(Debug, Default)]
pub struct Saver(Vec<u8>);

impl Saver {
    /// A saver for one form of one strategy's memory, by a number that changes with the form.
    pub fn new(form: u32) -> Saver {
        let mut saver = Saver::default();
        saver.u32(form);
        saver
    }

    /// A number.
    pub fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    /// A number.
    pub fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    /// A number.
    pub fn f32(&mut self, value: f32) {
        self.0.extend(value.to_le_bytes());
    }

    /// A number.
    pub fn f64(&mut self, value: f64) {
        self.0.extend(value.to_le_bytes());
    }

    /// A URL.
    pub fn url(&mut self, url: UrlId) {
        self.u64(url.0);
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend(text.as_bytes());
    }

    /// Terms.
    pub fn terms(&mut self, terms: &[TermId]) {
        self.length(terms.len());
        terms.iter().for_each(|term| self.u32(term.0));
    }

    /// How many of something follow.
    pub fn length(&mut self, length: usize) {
        self.u64(length as u64);
    }

    /// All of it.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Reads what was remembered.
#[derive(Debug)]
pub struct Saved<'a>(&'a [u8]);

impl<'a> Saved<'a> {
    /// What a saver of that form wrote.
    pub fn new(bytes: &'a [u8], form: u32) -> Result<Saved<'a>, StateError> {
        let mut saved = Saved(bytes);
        if saved.u32()? == form { Ok(saved) } else { Err(StateError) }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], StateError> {
        let (first, rest) = self.0.split_first_chunk().ok_or(StateError)?;
        self.0 = rest;
        Ok(*first)
    }

    /// A number.
    pub fn u32(&mut self) -> Result<u32, StateError> {
        self.take().map(u32::from_le_bytes)
    }

    /// A number.
    pub fn u64(&mut self) -> Result<u64, StateError> {
        self.take().map(u64::from_le_bytes)
    }

    /// A number.
    pub fn f32(&mut self) -> Result<f32, StateError> {
        self.take().map(f32::from_le_bytes)
    }

    /// A number.
    pub fn f64(&mut self) -> Result<f64, StateError> {
        self.take().map(f64::from_le_bytes)
    }

    /// A URL.
    pub fn url(&mut self) -> Result<UrlId, StateError> {
        self.u64().map(UrlId)
    }

    /// A text.
    pub fn text(&mut self) -> Result<&'a str, StateError> {
        let length = self.length(1)?;
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        std::str::from_utf8(text).map_err(|_| StateError)
    }

    /// Terms.
    pub fn terms(&mut self) -> Result<Vec<TermId>, StateError> {
        (0..self.length(4)?).map(|_| self.u32().map(TermId)).collect()
    }

    /// What is left, as it is.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    /// How many of something follow, each of at least `size` bytes: never more than there can be.
    pub fn length(&mut self, size: usize) -> Result<usize, StateError> {
        let length = usize::try_from(self.u64()?).map_err(|_| StateError)?;
        if length.checked_mul(size.max(1)).is_some_and(|bytes| bytes <= self.0.len()) {
            Ok(length)
        } else {
            Err(StateError)
        }
    }

    /// That was all.
    pub fn finish(self) -> Result<(), StateError> {
        if self.0.is_empty() { Ok(()) } else { Err(StateError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_comes_back_and_nothing_else_does() {
        let mut saver = Saver::new(7);
        saver.length(2);
        saver.f32(0.5);
        saver.f64(-1.5);
        saver.url(UrlId(9));
        let bytes = saver.finish();
        let read = |bytes: &[u8], form| -> Result<_, StateError> {
            let mut saved = Saved::new(bytes, form)?;
            let all = (saved.length(4)?, saved.f32()?, saved.f64()?, saved.url()?);
            saved.finish()?;
            Ok(all)
        };
        assert_eq!(read(&bytes, 7), Ok((2, 0.5, -1.5, UrlId(9))));
        assert_eq!(read(&bytes, 8), Err(StateError));
        assert_eq!(read(&bytes[..bytes.len() - 1], 7), Err(StateError));
        assert_eq!(read(&[&bytes[..], &[0]].concat(), 7), Err(StateError));
        // A length that no input of that size can have is not believed.
        let mut huge = Saver::new(7);
        huge.length(usize::MAX / 8);
        assert_eq!(Saved::new(&huge.finish(), 7).unwrap().length(8), Err(StateError));
    }
}
