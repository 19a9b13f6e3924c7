//! Bits in deflate order: least significant bit of each byte first.

/// Bits in the upper 24, their number in the lower 8, so that one load gets both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits(u32);

impl Bits {
    /// At most 24 bits; those above `count` must be 0.
    pub(crate) const fn new(bits: u32, count: u32) -> Self {
        debug_assert!(count <= 24 && bits >> count == 0);
        Bits(bits << 8 | count)
    }

    pub(crate) const fn count(self) -> u32 {
        self.0 & 0xff
    }

    const fn bits(self) -> u64 {
        (self.0 >> 8) as u64
    }

    /// Appends bits.
    pub(crate) const fn and(self, bits: u32, count: u32) -> Self {
        Bits::new(self.0 >> 8 | bits << self.count(), self.count() + count)
    }

    /// Appends the bits of another value.
    pub(crate) const fn and_then(self, others: Bits) -> Self {
        self.and(others.0 >> 8, others.count())
    }

    /// The bits if the mask is all ones, no bits if it is 0. Avoids an unpredictable branch.
    #[inline(always)]
    pub(crate) const fn masked(self, mask: u32) -> Self {
        Bits(self.0 & mask)
    }
}

/// Writes bits into a buffer of fixed size, so that no write has to check whether to grow it.
pub(crate) struct BitWriter<'a> {
    out: &'a mut [u8],
    at: usize,
    bits: u64,
    count: u32,
}

/// A position of a writer.
pub(crate) struct BitPosition {
    at: usize,
    bits: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    /// Writes from byte `at` on. Every flush needs eight bytes of space after what was written.
    pub(crate) fn new(out: &'a mut [u8], at: usize) -> Self {
        BitWriter { out, at, bits: 0, count: 0 }
    }

    /// Adds bits; at most 56 of them between two flushes.
    #[inline(always)]
    pub(crate) fn push(&mut self, bits: Bits) {
        self.bits |= bits.bits() << (self.count & 63);
        self.count += bits.count();
    }

    /// Adds two values.
    #[inline(always)]
    pub(crate) fn push_two(&mut self, first: Bits, second: Bits) {
        self.bits |= (first.bits() | second.bits() << (first.count() & 63)) << (self.count & 63);
        self.count += first.count() + second.count();
    }

    /// Adds four values. They are combined in pairs, because adding one by one is a longer dependency chain.
    #[inline(always)]
    pub(crate) fn push_four(&mut self, [first, second, third, fourth]: [Bits; 4]) {
        let low = first.bits() | second.bits() << (first.count() & 63);
        let high = third.bits() | fourth.bits() << (third.count() & 63);
        let low_count = first.count() + second.count();
        self.bits |= (low | high << (low_count & 63)) << (self.count & 63);
        self.count += low_count + third.count() + fourth.count();
    }

    /// Adds the first `few` of three values. The others are masked, which avoids an unpredictable branch.
    #[inline(always)]
    pub(crate) fn push_few(&mut self, [first, second, third]: [Bits; 3], few: usize) {
        let two = first.count() + second.count();
        let count = [0, first.count(), two, two + third.count()][few & 3];
        let bits = first.bits() | second.bits() << (first.count() & 63) | third.bits() << (two & 63);
        self.bits |= (bits & ((1 << (count & 63)) - 1)) << (self.count & 63);
        self.count += count;
    }

    /// Writes complete bytes; fewer than eight bits remain.
    #[inline(always)]
    pub(crate) fn flush(&mut self) {
        self.out[self.at..][..8].copy_from_slice(&self.bits.to_le_bytes());
        self.at += (self.count >> 3) as usize;
        self.bits >>= self.count & 56;
        self.count &= 7;
    }

    /// Moves the writer into a local value. A writer offset a reference is written back to memory at every flush.
    #[inline(always)]
    pub(crate) fn own(self) -> BitWriter<'a> {
        BitWriter { out: self.out, at: self.at, bits: self.bits, count: self.count }
    }

    /// Number of bits written so far.
    pub(crate) fn position(&self) -> u64 {
        8 * self.at as u64 + u64::from(self.count)
    }

    /// The current position, for `rewind`.
    pub(crate) fn mark(&self) -> BitPosition {
        BitPosition { at: self.at, bits: self.bits, count: self.count }
    }

    /// Discards everything written since the mark.
    pub(crate) fn rewind(&mut self, mark: &BitPosition) {
        (self.at, self.bits, self.count) = (mark.at, mark.bits, mark.count);
    }

    /// Adds and flushes, where speed does not matter.
    pub(crate) fn write(&mut self, bits: Bits) {
        self.push(bits);
        self.flush();
    }

    /// Pads the last byte with zeros and returns the position of the next one.
    pub(crate) fn align(&mut self) -> usize {
        self.count = (self.count + 7) & !7;
        self.flush();
        self.at
    }

    /// Writes bytes. The writer must be aligned.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.out[self.at..][..bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}
