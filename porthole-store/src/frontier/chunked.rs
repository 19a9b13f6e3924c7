//! A vector in chunks of equal size, which grows without copying its elements, so that memory use never doubles.

use std::ops::{Index, IndexMut};

/// Elements per chunk: small enough that a partly filled chunk wastes little, large enough that the list of chunks
/// stays in the processor's cache.
const CHUNK: usize = 1 << 14;

/// A growing sequence of small values.
#[derive(Debug)]
pub(crate) struct Chunked<T> {
    chunks: Vec<Vec<T>>,
    len: usize,
}

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Chunked { chunks: Vec::new(), len: 0 }
    }
}

impl<T> Chunked<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, value: T) {
        if self.len == self.chunks.len() * CHUNK {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        self.chunks[self.len / CHUNK].push(value);
        self.len += 1;
    }
}

impl<T> Index<usize> for Chunked<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        &self.chunks[at / CHUNK][at % CHUNK]
    }
}

impl<T> IndexMut<usize> for Chunked<T> {
    fn index_mut(&mut self, at: usize) -> &mut T {
        &mut self.chunks[at / CHUNK][at % CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behaves_like_a_vector_across_chunk_boundaries() {
        let mut chunked = Chunked::default();
        for value in 0..3 * CHUNK {
            chunked.push(value);
        }
        assert_eq!((chunked[0], chunked[CHUNK], chunked[3 * CHUNK - 1]), (0, CHUNK, 3 * CHUNK - 1));
        chunked[CHUNK] = 7;
        let values: Vec<usize> = (0..chunked.len()).map(|at| chunked[at]).collect();
        let expected: Vec<usize> =
            (0..3 * CHUNK).map(|value| if value == CHUNK { 7 } else { value }).collect();
        assert_eq!(values, expected);
    }
}
