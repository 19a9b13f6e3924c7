//! What strategies remember, as bytes: the number of their form, then the state in the format of postcard.

use std::collections::HashMap;

use serde::{Deserialize, Serialize, Serializer};

/// Why a strategy cannot go on from what was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// Nothing of it can be read.
    #[error("what the strategy remembered was written by another version of the program")]
    OtherForm,
    /// It is cut off, or says what cannot be.
    #[error("what the strategy remembered is damaged")]
    Damaged,
}

/// A state as bytes, behind the number of its form, which has to change whenever the state's fields do.
pub fn save(form: u32, state: impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(&(form, state)).expect("the length of every list is known")
}

/// The state that was saved in this form.
pub fn restore<'b, S: Deserialize<'b>>(form: u32, bytes: &'b [u8]) -> Result<S, StateError> {
    let (state, rest) = restore_start(form, bytes)?;
    if rest.is_empty() { Ok(state) } else { Err(StateError::Damaged) }
}

/// The first part of what was saved in this form, and the bytes behind it.
pub fn restore_start<'b, S: Deserialize<'b>>(
    form: u32,
    bytes: &'b [u8],
) -> Result<(S, &'b [u8]), StateError> {
    // A length that is not true costs no memory: serde makes room for a megabyte at once, and for more as values come.
    let (found, rest) = postcard::take_from_bytes::<u32>(bytes).map_err(|_| StateError::Damaged)?;
    if found != form {
        return Err(StateError::OtherForm);
    }
    postcard::take_from_bytes(rest).map_err(|_| StateError::Damaged)
}

/// Says that a state is damaged unless something holds of it.
pub(crate) fn check(holds: bool) -> Result<(), StateError> {
    if holds { Ok(()) } else { Err(StateError::Damaged) }
}

/// A map in the order of its keys: the same state gives the same bytes.
pub(crate) struct Sorted<'a, K, V, H>(pub(crate) &'a HashMap<K, V, H>);

impl<K: Ord + Serialize, V: Serialize, H> Serialize for Sorted<'_, K, V, H> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entries: Vec<(&K, &V)> = self.0.iter().collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        serializer.collect_map(entries)
    }
}

/// The same for a field.
pub(crate) fn sorted<K: Ord + Serialize, V: Serialize, H, S: Serializer>(
    map: &HashMap<K, V, H>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    Sorted(map).serialize(serializer)
}

/// Many terms as one run of bytes: they are hashes, and would take more bytes and more time number by number.
pub(crate) mod packed {
    use porthole_types::TermId;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(crate) fn serialize<S: Serializer>(terms: &[TermId], serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = terms.iter().flat_map(|term| term.0.to_le_bytes()).collect();
        serializer.serialize_bytes(&bytes)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<TermId>, D::Error> {
        let (terms, rest) = <&[u8]>::deserialize(deserializer)?.as_chunks();
        if !rest.is_empty() {
            return Err(D::Error::custom("a term is cut off"));
        }
        Ok(terms.iter().map(|term| TermId(u32::from_le_bytes(*term))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type State = (Vec<u64>, f64, String);

    #[test]
    fn what_is_saved_comes_back_and_nothing_else_does() {
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
    fn a_length_that_cannot_be_is_not_believed() {
        for length in [1 << 20, u64::from(u32::MAX), u64::MAX] {
            let bytes = save(7, length);
            assert_eq!(restore::<Vec<u64>>(7, &bytes), Err(StateError::Damaged));
            assert_eq!(restore::<HashMap<u64, [u64; 16]>>(7, &bytes), Err(StateError::Damaged));
            assert_eq!(restore::<String>(7, &bytes), Err(StateError::Damaged));
        }
    }
}
