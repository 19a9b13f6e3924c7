//! Saved state of strategies: a format version, followed by the state in postcard encoding, which is compressed if it
//! can be large.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use postcard::ser_flavors::Size;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};

/// Level of zstd: a state of 60 MB is half as large in a fifth of a second.
const COMPRESSION: i32 = 1;

/// Bytes that are compressed at a time.
const COMPRESSED_AT_ONCE: usize = 1 << 16;

/// Why a strategy cannot be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The state has another format version.
    #[error("the saved state of the strategy was written by another version of the program")]
    OtherForm,
    /// The state is truncated or inconsistent.
    #[error("the saved state of the strategy is damaged")]
    Damaged,
}

/// Serialises a state after its format version. The version must change whenever the fields of the state do.
pub fn save(form: u32, state: impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(&(form, state)).expect("all lengths are known")
}

/// Deserialises a state with this format version.
pub fn restore<'b, S: Deserialize<'b>>(form: u32, bytes: &'b [u8]) -> Result<S, StateError> {
    let (state, rest) = restore_start(form, bytes)?;
    if rest.is_empty() { Ok(state) } else { Err(StateError::Damaged) }
}

/// Deserialises the first part of a state with this format version. Returns it with the remaining bytes.
pub fn restore_start<'b, S: Deserialize<'b>>(
    form: u32,
    bytes: &'b [u8],
) -> Result<(S, &'b [u8]), StateError> {
    // A wrong length costs no memory: serde preallocates at most a megabyte.
    let (found, rest) = postcard::take_from_bytes::<u32>(bytes).map_err(|_| StateError::Damaged)?;
    if found != form {
        return Err(StateError::OtherForm);
    }
    postcard::take_from_bytes(rest).map_err(|_| StateError::Damaged)
}

/// As [`save`], compressed. The state is compressed as it is serialised, because it can be a large part of the memory.
pub(crate) fn pack(form: u32, state: impl Serialize) -> Vec<u8> {
    let written = || -> io::Result<Vec<u8>> {
        let mut bytes = save(form, ());
        // Room for all of it, most of which is never touched: a vector that grows is in memory twice while it is copied.
        let size = postcard::serialize_with_flavor(&state, Size::default()).expect("all lengths are known");
        bytes.reserve_exact(size);
        let compressor = zstd::Encoder::new(bytes, COMPRESSION)?;
        let buffer = BufWriter::with_capacity(COMPRESSED_AT_ONCE, compressor);
        let mut buffer =
            postcard::to_io(&state, buffer).expect("all lengths are known, and memory takes any bytes");
        buffer.flush()?;
        buffer.into_inner()?.finish()
    };
    written().expect("memory takes any bytes")
}

/// Restores a state from [`pack`].
pub(crate) fn unpack<S: DeserializeOwned>(form: u32, bytes: &[u8]) -> Result<S, StateError> {
    let (state, rest) = unpack_start(form, bytes)?;
    if rest == 0 { Ok(state) } else { Err(StateError::Damaged) }
}

/// Restores the first part of a state from [`pack`]. Returns it with the number of remaining bytes.
pub(crate) fn unpack_start<S: DeserializeOwned>(form: u32, bytes: &[u8]) -> Result<(S, usize), StateError> {
    let ((), packed) = restore_start(form, bytes)?;
    let plain = zstd::decode_all(packed).map_err(|_| StateError::Damaged)?;
    let (state, rest) = postcard::take_from_bytes(&plain).map_err(|_| StateError::Damaged)?;
    Ok((state, rest.len()))
}

/// An error if the condition is false.
pub(crate) fn check(holds: bool) -> Result<(), StateError> {
    if holds { Ok(()) } else { Err(StateError::Damaged) }
}

/// Serialises a map in key order, so that equal states give equal bytes.
pub(crate) struct Sorted<'a, K, V, H>(pub(crate) &'a HashMap<K, V, H>);

impl<K: Ord + Serialize, V: Serialize, H> Serialize for Sorted<'_, K, V, H> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entries: Vec<(&K, &V)> = self.0.iter().collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        serializer.collect_map(entries)
    }
}

/// As [`Sorted`], for `serialize_with`.
pub(crate) fn sorted<K: Ord + Serialize, V: Serialize, H, S: Serializer>(
    map: &HashMap<K, V, H>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    Sorted(map).serialize(serializer)
}

/// Serialises many terms as one byte string. Terms are hashes, so variable-length integers would be larger and
/// slower.
pub(crate) mod packed {
    use std::fmt;

    use porthole_types::TermId;
    use serde::de::{Deserializer, Error, Visitor};
    use serde::ser::Serializer;

    pub(crate) fn serialize<S: Serializer>(terms: &[TermId], serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = terms.iter().flat_map(|term| term.0.to_le_bytes()).collect();
        serializer.serialize_bytes(&bytes)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<TermId>, D::Error> {
        deserializer.deserialize_bytes(Terms)
    }

    struct Terms;

    impl Visitor<'_> for Terms {
        type Value = Vec<TermId>;

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("terms of four bytes each")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<TermId>, E> {
            let (terms, rest) = bytes.as_chunks();
            if !rest.is_empty() {
                return Err(E::custom("a term is cut off"));
            }
            Ok(terms.iter().map(|term| TermId(u32::from_le_bytes(*term))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type State = (Vec<u64>, f64, String);

    #[test]
    fn saved_state_is_restored_and_damaged_state_is_rejected() {
        let state: State = (vec![1, u64::MAX], -1.5, "owl".to_owned());
        let bytes = save(7, &state);
        assert_eq!(restore(7, &bytes), Ok(state.clone()));
        assert_eq!(restore::<State>(8, &bytes), Err(StateError::OtherForm));
        for length in 0..bytes.len() {
            assert_eq!(restore::<State>(7, &bytes[..length]), Err(StateError::Damaged), "{length} bytes");
        }
        let longer = [&bytes[..], &[9]].concat();
        assert_eq!(restore::<State>(7, &longer), Err(StateError::Damaged));
        assert_eq!(restore_start(7, &longer), Ok((state, &[9][..])));
    }

    #[test]
    fn packed_state_is_smaller_and_restored() {
        let state: State = ((0..100_000).map(|n| n % 7).collect(), 0.5, "owl".to_owned());
        let bytes = pack(7, &state);
        assert!(bytes.len() < save(7, &state).len() / 2);
        assert_eq!(unpack(7, &bytes), Ok(state));
        assert_eq!(unpack::<State>(8, &bytes), Err(StateError::OtherForm));
        assert_eq!(unpack::<State>(7, &bytes[..bytes.len() - 1]), Err(StateError::Damaged));
        assert_eq!(unpack::<Vec<u64>>(7, &bytes), Err(StateError::Damaged), "only a part of it");
        assert!(
            unpack_start::<Vec<u64>>(7, &bytes)
                .is_ok_and(|(numbers, rest)| numbers.len() == 100_000 && rest == 12)
        );
    }

    #[test]
    fn an_impossible_length_is_rejected() {
        for length in [1 << 20, u64::from(u32::MAX), u64::MAX] {
            let bytes = save(7, length);
            assert_eq!(restore::<Vec<u64>>(7, &bytes), Err(StateError::Damaged));
            assert_eq!(restore::<HashMap<u64, [u64; 16]>>(7, &bytes), Err(StateError::Damaged));
            assert_eq!(restore::<String>(7, &bytes), Err(StateError::Damaged));
        }
    }
}
