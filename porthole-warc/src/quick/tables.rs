//! Constants of deflate: the symbols of lengths and distances (RFC 1951, 3.2.5), and the fixed codes.

/// Symbols for literals, for the end of a block and for lengths.
pub(crate) const LITERALS: usize = 286;
/// Symbols for distances.
pub(crate) const DISTANCES: usize = 30;
/// The symbol that ends a block.
pub(crate) const END: usize = 256;
/// The longest match.
pub(crate) const MAX_MATCH: usize = 258;

/// Lengths of the codes of a block.
pub(crate) struct Lengths {
    pub(crate) literals: [u8; LITERALS + 2],
    pub(crate) distances: [u8; DISTANCES],
}

/// Encoding of a match length: its symbol, the lowest length of that symbol, and the number of extra bits.
#[derive(Clone, Copy)]
pub(crate) struct LengthCode {
    pub(crate) symbol: u16,
    pub(crate) base: u16,
    pub(crate) extra: u8,
}

/// By length; lengths below 3 are not used.
pub(crate) const LENGTHS: [LengthCode; MAX_MATCH + 1] = {
    let mut codes = [LengthCode { symbol: 257, base: 3, extra: 0 }; MAX_MATCH + 1];
    let (mut symbol, mut base) = (257, 3);
    while base < MAX_MATCH {
        let extra = if symbol < 265 { 0 } else { (symbol - 261) / 4 };
        let mut length = base;
        while length < base + (1 << extra) && length < MAX_MATCH {
            codes[length] = LengthCode { symbol, base: base as u16, extra: extra as u8 };
            length += 1;
        }
        base += 1 << extra;
        symbol += 1;
    }
    codes[MAX_MATCH] = LengthCode { symbol: 285, base: MAX_MATCH as u16, extra: 0 };
    codes
};

/// The symbol of a distance, given the distance minus 1.
#[inline(always)]
pub(crate) fn distance_symbol(less: usize) -> usize {
    // Two symbols for each power of two: the highest bit selects the power, the next bit one of the two.
    let extra = (less | 1).ilog2().saturating_sub(1);
    (2 * extra as usize) + (less >> extra)
}

/// Number of bits that follow the symbol for a distance: all but the two highest of the distance less one.
#[inline(always)]
pub(crate) fn distance_extra(symbol: u32) -> u32 {
    (symbol >> 1).saturating_sub(1)
}

/// Lengths of the fixed codes for literals and lengths.
pub(crate) const FIXED_LITERALS: [u8; LITERALS + 2] = {
    let mut lengths = [8; LITERALS + 2];
    let mut symbol = 144;
    while symbol < 280 {
        lengths[symbol] = if symbol < 256 { 9 } else { 7 };
        symbol += 1;
    }
    lengths
};

/// Lengths of the fixed codes for distances.
pub(crate) const FIXED_DISTANCES: [u8; DISTANCES] = [5; DISTANCES];

/// The order in which the lengths of the codes for code lengths are written.
pub(crate) const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_those_of_the_rfc() {
        for (length, symbol, base, extra) in
            [(3, 257, 3, 0), (10, 264, 10, 0), (11, 265, 11, 1), (12, 265, 11, 1), (130, 280, 115, 4)]
        {
            let code = LENGTHS[length];
            assert_eq!((code.symbol, code.base, code.extra), (symbol, base, extra), "{length}");
        }
        assert_eq!((LENGTHS[257].symbol, LENGTHS[257].extra, LENGTHS[258].symbol), (284, 5, 285));
        for (distance, symbol, extra) in [
            (1, 0, 0),
            (2, 1, 0),
            (3, 2, 0),
            (4, 3, 0),
            (5, 4, 1),
            (6, 4, 1),
            (7, 5, 1),
            (9, 6, 2),
            (16_384, 27, 12),
            (16_385, 28, 13),
            (24_577, 29, 13),
            (32_768, 29, 13),
        ] {
            assert_eq!(distance_symbol(distance - 1), symbol, "{distance}");
            assert_eq!(distance_extra(symbol as u32), extra, "{distance}");
        }
    }
}
