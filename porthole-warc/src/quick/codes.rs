//! Huffman codes of limited length.

use super::bits::Bits;

/// Computes the lengths of the codes for symbols with these counts; none is longer than `limit`. Symbols that do
/// not occur get no code. If only one occurs, two get a code, because some decoders reject incomplete codes.
pub(crate) fn code_lengths(counts: &[u32], limit: usize, lengths: &mut [u8]) {
    lengths.fill(0);
    // Count in the high bits, symbol in the low bits, so that integers are sorted.
    let mut sorted = [0u64; 288];
    let mut used = 0;
    for (symbol, count) in counts.iter().enumerate() {
        sorted[used] = u64::from(*count) << 16 | symbol as u64;
        used += usize::from(*count > 0);
    }
    if used < 2 {
        let symbol = (sorted[0] & 0xffff) as usize;
        lengths[if used == 1 { symbol } else { 0 }] = 1;
        lengths[if used == 1 && symbol == 0 { 1 } else { usize::from(used == 0) }] = 1;
        return;
    }
    let sorted = &mut sorted[..used];
    sorted.sort_unstable();
    let mut of_length = depths(sorted);
    limit_depths(&mut of_length, limit);
    // The rarest symbols get the longest codes.
    let mut symbols = sorted.iter();
    for length in (1..=limit).rev() {
        for key in symbols.by_ref().take(of_length[length] as usize) {
            lengths[(key & 0xffff) as usize] = length as u8;
        }
    }
}

/// Greater than the depth of any Huffman tree over 32-bit counts.
const DEPTHS: usize = 64;

/// Number of leaves of the Huffman tree at each depth. Leaves are sorted, and inner nodes are created in ascending
/// order, so the two smallest nodes are always at the fronts of two queues.
fn depths(sorted: &[u64]) -> [u32; DEPTHS] {
    let leaves = sorted.len();
    let mut weights = [0u64; 288];
    let mut parents = [0u16; 288];
    // The parent of each leaf, as the number of an inner node.
    let mut above = [0u16; 288];
    let (mut leaf, mut inner) = (0, 0);
    for made in 0..leaves - 1 {
        let mut weight = 0;
        for _ in 0..2 {
            if leaf < leaves && (inner == made || sorted[leaf] >> 16 <= weights[inner]) {
                weight += sorted[leaf] >> 16;
                above[leaf] = made as u16;
                leaf += 1;
            } else {
                weight += weights[inner];
                parents[inner] = made as u16;
                inner += 1;
            }
        }
        weights[made] = weight;
    }
    let root = leaves - 2;
    let mut depth = [0u8; 288];
    for node in (0..root).rev() {
        depth[node] = depth[parents[node] as usize] + 1;
    }
    let mut of_depth = [0; DEPTHS];
    for node in &above[..leaves] {
        of_depth[usize::from(depth[usize::from(*node)] + 1) % DEPTHS] += 1;
    }
    of_depth
}

/// Moves leaves that are too deep up to the limit, and moves others down to keep the code valid.
fn limit_depths(of_length: &mut [u32; DEPTHS], limit: usize) {
    for deep in limit + 1..DEPTHS {
        of_length[limit] += std::mem::take(&mut of_length[deep]);
    }
    let room = 1u64 << limit;
    let mut taken: u64 = (1..=limit).map(|length| u64::from(of_length[length]) << (limit - length)).sum();
    while taken > room {
        // A leaf above the lowest level becomes an inner node; its children are the leaf and one of the lowest
        // leaves.
        let shorter = (1..limit).rev().find(|length| of_length[*length] > 0).unwrap_or(1);
        of_length[shorter] -= 1;
        of_length[shorter + 1] += 2;
        of_length[limit] -= 1;
        taken -= 1;
    }
}

/// Canonical codes for the given lengths, least significant bit first.
pub(crate) fn codes(lengths: &[u8], codes: &mut [Bits]) {
    let mut of_length = [0u32; 16];
    for length in lengths {
        of_length[usize::from(length & 15)] += 1;
    }
    of_length[0] = 0;
    let mut next = [0u32; 16];
    for length in 1..16 {
        next[length] = (next[length - 1] + of_length[length - 1]) << 1;
    }
    for (code, length) in codes.iter_mut().zip(lengths) {
        let length = u32::from(length & 15);
        let number = &mut next[length as usize];
        *code = if length == 0 {
            Bits::default()
        } else {
            Bits::new(number.reverse_bits() >> (32 - length), length)
        };
        *number += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn codes_are_complete_and_no_longer_than_allowed(
            counts in proptest::collection::vec(
                prop_oneof![Just(0u32), 1u32..20, any::<u32>().prop_map(|n| n >> (n & 31))],
                2..286,
            ),
            limit in 9usize..=15,
        ) {
            let mut lengths = vec![0; counts.len()];
            code_lengths(&counts, limit, &mut lengths);
            let taken: f64 = lengths.iter().filter(|l| **l > 0).map(|l| 0.5f64.powi(i32::from(*l))).sum();
            prop_assert_eq!(taken, 1.0);
            prop_assert!(lengths.iter().all(|length| usize::from(*length) <= limit));
            prop_assert!(counts.iter().zip(&lengths).all(|(count, length)| *count == 0 || *length > 0));
        }
    }

    #[test]
    fn frequent_symbols_get_short_codes() {
        let mut lengths = [0; 6];
        code_lengths(&[1, 1, 2, 4, 0, 8], 15, &mut lengths);
        assert_eq!(lengths, [4, 4, 3, 2, 0, 1]);
        code_lengths(&[1, 1, 2, 4, 0, 8], 3, &mut lengths);
        assert_eq!(lengths.iter().filter(|length| **length > 3).count(), 0);
        // Fibonacci numbers give the deepest trees.
        let mut counts = vec![1u32, 1];
        while counts.len() < 46 {
            counts.push(counts[counts.len() - 1] + counts[counts.len() - 2]);
        }
        let mut lengths = vec![0; counts.len()];
        code_lengths(&counts, 15, &mut lengths);
        assert_eq!(lengths.iter().max(), Some(&15));
    }
}
