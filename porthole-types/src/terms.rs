//! Packs the terms of a page: ids ascending, as differences, each with its count, in bytes of seven bits. A page takes
//! about five bytes per term instead of eight.

use std::borrow::Cow;

use crate::TermId;

/// Packs terms. Their order is lost.
pub fn pack_terms(terms: &[(TermId, u32)]) -> Vec<u8> {
    let mut sorted = Cow::Borrowed(terms);
    if !sorted.is_sorted() {
        sorted.to_mut().sort_unstable();
    }
    let (mut bytes, mut last) = (Vec::with_capacity(sorted.len() * 5), 0);
    for &(TermId(term), freq) in &*sorted {
        put(&mut bytes, term - last);
        put(&mut bytes, freq);
        last = term;
    }
    bytes
}

/// Replaces `terms` by the unpacked terms, by id. `None` if the bytes are invalid.
pub fn unpack_terms(bytes: &[u8], terms: &mut Vec<(TermId, u32)>) -> Option<()> {
    terms.clear();
    let (mut rest, mut last) = (bytes, 0u32);
    while !rest.is_empty() {
        last = last.checked_add(get(&mut rest)?)?;
        terms.push((TermId(last), get(&mut rest)?));
    }
    Some(())
}

fn put(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn get(rest: &mut &[u8]) -> Option<u32> {
    let mut number = 0u64;
    for shift in (0..35).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return u32::try_from(number).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unpacked(bytes: &[u8]) -> Option<Vec<(TermId, u32)>> {
        let mut terms = vec![(TermId(1), 1)];
        unpack_terms(bytes, &mut terms).map(|()| terms)
    }

    proptest! {
        #[test]
        fn packed_terms_survive(terms in prop::collection::btree_map(any::<u32>(), any::<u32>(), 0..50)) {
            let terms: Vec<_> = terms.into_iter().map(|(term, freq)| (TermId(term), freq)).collect();
            prop_assert_eq!(unpacked(&pack_terms(&terms)), Some(terms));
        }

        #[test]
        fn any_bytes_are_accepted_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..50)) {
            let _ = unpacked(&bytes);
        }
    }

    #[test]
    fn invalid_bytes_are_rejected() {
        for bytes in [
            &[0x80][..],
            &[1],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 1],
            &[0xff, 0xff, 0xff, 0xff, 0x0f, 1, 1, 1],
        ] {
            assert_eq!(unpacked(bytes), None, "{bytes:?}");
        }
        assert_eq!(unpacked(&[]), Some(Vec::new()));
    }
}
