//! Patterns in which `*` matches any run of bytes. Matching takes linear time, because patterns may be hostile.

use memchr::memmem;

/// Whether `pattern` matches a prefix of `text`, or all of it with `whole`.
///
/// No backtracking: each literal between two stars is searched after the previous one, and the first occurrence is as
/// good as any later one. `memmem` is linear, and so is the whole.
pub(crate) fn matches(pattern: &[u8], text: &[u8], whole: bool) -> bool {
    matches_by(pattern, text, whole, memmem::find)
}

/// [`matches`] with a given substring search.
fn matches_by(
    pattern: &[u8],
    text: &[u8],
    whole: bool,
    mut find: impl FnMut(&[u8], &[u8]) -> Option<usize>,
) -> bool {
    let mut pieces = pattern.split(|&byte| byte == b'*').peekable();
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    if pieces.peek().is_none() {
        return !whole || rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if whole && pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(at) = find(rest, piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, by exhaustive search.
    fn brute_force(pattern: &[u8], text: &[u8], whole: bool) -> bool {
        match pattern.split_first() {
            None => !whole || text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|at| brute_force(rest, &text[at..], whole)),
            Some((byte, rest)) => text.first() == Some(byte) && brute_force(rest, &text[1..], whole),
        }
    }

    proptest! {
        #[test]
        fn agrees_with_brute_force(pattern in "[ab*]{0,8}", text in "[ab]{0,10}", whole: bool) {
            let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(matches(pattern, text, whole), brute_force(pattern, text, whole));
        }
    }

    #[test]
    fn hostile_patterns_take_linear_time() {
        let text = "a".repeat(100_000);
        for pattern in ["*a".repeat(40_000) + "b", "*aaaaaaaaab".repeat(4_000), "a*".repeat(40_000) + "b"] {
            for whole in [false, true] {
                let mut passed = 0;
                let find = |text: &[u8], piece: &[u8]| {
                    let found = memmem::find(text, piece);
                    passed += found.map_or(text.len(), |at| at + piece.len());
                    found
                };
                assert!(!matches_by(pattern.as_bytes(), text.as_bytes(), whole, find));
                assert!(passed <= text.len(), "{pattern:.20}: {passed} bytes were looked at");
            }
        }
    }
}
