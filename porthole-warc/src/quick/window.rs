//! A block of what is packed, with what came before it.

/// Bytes of a block. Places in the window are the same before and after it slides, if only their low 16 bits are looked at.
pub(crate) const BLOCK: usize = 1 << 16;
const MASK: usize = 2 * BLOCK - 1;
/// So much can be read from the last place of all.
const PADDING: usize = STRETCH;
/// Bytes that are looked at together.
pub(crate) const STRETCH: usize = 64;

/// The second half holds the block, the first half the one before it. Of a fixed size and read at masked places, so that no
/// read has to be checked.
pub(crate) struct Window {
    bytes: Box<[u8; 2 * BLOCK + PADDING]>,
    /// Where the bytes of this input start: before, there is something left from another.
    start: usize,
    end: usize,
}

impl Window {
    pub(crate) fn new() -> Self {
        let bytes = vec![0; 2 * BLOCK + PADDING].into_boxed_slice();
        Window { bytes: bytes.try_into().expect("as long as it was made"), start: BLOCK, end: BLOCK }
    }

    /// Starts with another input.
    pub(crate) fn clear(&mut self) {
        (self.start, self.end) = (BLOCK, BLOCK);
    }

    /// Takes bytes into the block as long as there is room, and says how many.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(2 * BLOCK - self.end);
        self.bytes[self.end..][..taken].copy_from_slice(&bytes[..taken]);
        self.end += taken;
        // The same input is to give the same output: nothing else may be seen behind it.
        self.bytes[self.end..][..PADDING].fill(0);
        taken
    }

    pub(crate) fn is_full(&self) -> bool {
        self.end == 2 * BLOCK
    }

    /// Makes a full block the one before, and room for the next.
    pub(crate) fn slide(&mut self) {
        self.bytes.copy_within(BLOCK.., 0);
        (self.start, self.end) = (0, BLOCK);
    }

    /// Where the input starts, as far as it is here.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Where the block ends; it starts at [`BLOCK`].
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    pub(crate) fn block(&self) -> &[u8] {
        &self.bytes[BLOCK..self.end]
    }

    /// Eight bytes at a place; zeros, or what was left by another input, where nothing is.
    #[inline(always)]
    pub(crate) fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes[at & MASK..][..8].try_into().expect("eight bytes"))
    }

    /// The same for a whole stretch.
    #[inline(always)]
    pub(crate) fn stretch(&self, at: usize) -> &[u8; STRETCH] {
        self.bytes[at & MASK..][..STRETCH].try_into().expect("a whole stretch")
    }

    /// The same for one byte.
    #[inline(always)]
    pub(crate) fn byte(&self, at: usize) -> u8 {
        self.bytes[at & MASK]
    }

    /// The same for four bytes.
    #[inline(always)]
    pub(crate) fn four(&self, at: usize) -> [u8; 4] {
        self.bytes[at & MASK..][..4].try_into().expect("four bytes")
    }
}
