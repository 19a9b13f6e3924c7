//! A block of the input, with the block before it.

/// Size of a block. The low 16 bits of a position stay the same when the window slides.
pub(crate) const BLOCK: usize = 1 << 16;
const MASK: usize = 2 * BLOCK - 1;
/// Number of bytes that can be read beyond the last position.
const PADDING: usize = CHUNK;
/// Number of bytes that are scanned together.
pub(crate) const CHUNK: usize = 64;

/// The second half holds the block, the first half the one before it. Its size is fixed and positions are masked,
/// so that reads need no bounds check.
pub(crate) struct Window {
    bytes: Box<[u8; 2 * BLOCK + PADDING]>,
    /// Start of this input; bytes before it are left over from another one.
    start: usize,
    end: usize,
}

impl Window {
    pub(crate) fn new() -> Self {
        let bytes = vec![0; 2 * BLOCK + PADDING].into_boxed_slice();
        Window { bytes: bytes.try_into().expect("the length matches"), start: BLOCK, end: BLOCK }
    }

    /// Starts a new input.
    pub(crate) fn clear(&mut self) {
        (self.start, self.end) = (BLOCK, BLOCK);
    }

    /// Appends bytes to the block while there is space. Returns their number.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(2 * BLOCK - self.end);
        self.bytes[self.end..][..taken].copy_from_slice(&bytes[..taken]);
        self.end += taken;
        // The output must depend only on the input, so nothing left over may be visible after it.
        self.bytes[self.end..][..PADDING].fill(0);
        taken
    }

    pub(crate) fn is_full(&self) -> bool {
        self.end == 2 * BLOCK
    }

    /// Moves a full block to the first half and makes space for the next.
    pub(crate) fn slide(&mut self) {
        self.bytes.copy_within(BLOCK.., 0);
        (self.start, self.end) = (0, BLOCK);
    }

    /// Start of the input in the window.
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

    /// Eight bytes at a position. Beyond the block they are zeros or left over from another input.
    #[inline(always)]
    pub(crate) fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes[at & MASK..][..8].try_into().expect("eight bytes"))
    }

    /// A chunk of bytes at a position.
    #[inline(always)]
    pub(crate) fn chunk(&self, at: usize) -> &[u8; CHUNK] {
        self.bytes[at & MASK..][..CHUNK].try_into().expect("a chunk")
    }

    /// One byte at a position.
    #[inline(always)]
    pub(crate) fn byte(&self, at: usize) -> u8 {
        self.bytes[at & MASK]
    }

    /// Four bytes at a position.
    #[inline(always)]
    pub(crate) fn four(&self, at: usize) -> [u8; 4] {
        self.bytes[at & MASK..][..4].try_into().expect("four bytes")
    }
}
