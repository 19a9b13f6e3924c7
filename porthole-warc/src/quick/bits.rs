//! Bits in the order of deflate: the first one is the lowest of the first byte.

/// Some bits above their number: both come with one load.
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

    /// These, and others behind them.
    pub(crate) const fn and(self, bits: u32, count: u32) -> Self {
        Bits::new(self.0 >> 8 | bits << self.count(), self.count() + count)
    }

    /// The same for bits that are such already.
    pub(crate) const fn and_then(self, others: Bits) -> Self {
        self.and(others.0 >> 8, others.count())
    }

    /// These if the mask is all ones, none if it is 0: guessing which would fail often.
    #[inline(always)]
    pub(crate) const fn masked(self, mask: u32) -> Self {
        Bits(self.0 & mask)
    }
}

/// Writes bits into a buffer that is there already: growing it would be asked about at every turn.
pub(crate) struct BitWriter<'a> {
    out: &'a mut [u8],
    at: usize,
    bits: u64,
    count: u32,
}

/// Where a writer stood.
pub(crate) struct BitMark {
    at: usize,
    bits: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    /// Starts at a byte. Every flush needs eight bytes of room behind what was written.
    pub(crate) fn new(out: &'a mut [u8], at: usize) -> Self {
        BitWriter { out, at, bits: 0, count: 0 }
    }

    /// Takes bits in; at most 56 of them between two flushes.
    #[inline(always)]
    pub(crate) fn push(&mut self, bits: Bits) {
        self.bits |= bits.bits() << (self.count & 63);
        self.count += bits.count();
    }

    /// Takes two in.
    #[inline(always)]
    pub(crate) fn push_two(&mut self, first: Bits, second: Bits) {
        self.bits |= (first.bits() | second.bits() << (first.count() & 63)) << (self.count & 63);
        self.count += first.count() + second.count();
    }

    /// Takes four in: in pairs, because each would have to wait for the one before.
    #[inline(always)]
    pub(crate) fn push_four(&mut self, [first, second, third, fourth]: [Bits; 4]) {
        let low = first.bits() | second.bits() << (first.count() & 63);
        let high = third.bits() | fourth.bits() << (third.count() & 63);
        let low_count = first.count() + second.count();
        self.bits |= (low | high << (low_count & 63)) << (self.count & 63);
        self.count += low_count + third.count() + fourth.count();
    }

    /// Takes the first `few` of three in; what is not wanted is masked, because guessing how many there are fails often.
    #[inline(always)]
    pub(crate) fn push_few(&mut self, [first, second, third]: [Bits; 3], few: usize) {
        let two = first.count() + second.count();
        let count = [0, first.count(), two, two + third.count()][few & 3];
        let bits = first.bits() | second.bits() << (first.count() & 63) | third.bits() << (two & 63);
        self.bits |= (bits & ((1 << (count & 63)) - 1)) << (self.count & 63);
        self.count += count;
    }

    /// Writes out whole bytes; fewer than eight bits stay.
    #[inline(always)]
    pub(crate) fn flush(&mut self) {
        self.out[self.at..][..8].copy_from_slice(&self.bits.to_le_bytes());
        self.at += (self.count >> 3) as usize;
        self.bits >>= self.count & 56;
        self.count &= 7;
    }

    /// The same writer as a value of the caller's own: what is handed to a function is written back to memory at every flush.
    #[inline(always)]
    pub(crate) fn own(self) -> BitWriter<'a> {
        BitWriter { out: self.out, at: self.at, bits: self.bits, count: self.count }
    }

    /// How many bits there are in front of the next one.
    pub(crate) fn position(&self) -> u64 {
        8 * self.at as u64 + u64::from(self.count)
    }

    /// Where it stands, to go back to.
    pub(crate) fn mark(&self) -> BitMark {
        BitMark { at: self.at, bits: self.bits, count: self.count }
    }

    /// Forgets what was written since.
    pub(crate) fn go_back(&mut self, mark: &BitMark) {
        (self.at, self.bits, self.count) = (mark.at, mark.bits, mark.count);
    }

    /// Pushes and flushes; for what is not hurried.
    pub(crate) fn write(&mut self, bits: Bits) {
        self.push(bits);
        self.flush();
    }

    /// Fills the last byte with zeros, and says where the next one is.
    pub(crate) fn align(&mut self) -> usize {
        self.count = (self.count + 7) & !7;
        self.flush();
        self.at
    }

    /// Writes bytes behind an aligned end.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.out[self.at..][..bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}
