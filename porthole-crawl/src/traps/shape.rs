//! Traps that can be recognised from the URL alone.

use porthole_types::CanonicalUrl;

use super::Trap;

/// URLs of real pages are shorter.
const MAX_BYTES: usize = 1_000;
const MAX_SEGMENTS: usize = 25;
const MAX_EMPTY_SEGMENTS: usize = 5;
const MAX_PARAMETERS: usize = 20;
/// How often a sequence of segments may repeat. A single one may repeat once more.
const MAX_REPEATS: usize = 2;
/// How often a segment may occur in total.
const MAX_OCCURRENCES: usize = 4;
/// How often a parameter may occur with the same value.
const MAX_SAME_PARAMETERS: usize = 2;

/// The trap that the shape of a URL reveals.
pub(super) fn trap(url: &CanonicalUrl) -> Option<Trap> {
    let text = url.as_str();
    if text.len() > MAX_BYTES {
        return Some(Trap::Long(text.len()));
    }
    if text.contains("%252525") {
        return Some(Trap::NestedEscapes);
    }
    path_trap(url.path()).or_else(|| url.query().and_then(query_trap))
}

fn path_trap(path: &str) -> Option<Trap> {
    let count = path.bytes().filter(|&byte| byte == b'/').count();
    if count > MAX_SEGMENTS {
        return Some(Trap::Deep(count));
    }
    if count <= MAX_REPEATS {
        return None;
    }
    let (empty, segments): (Vec<&str>, Vec<&str>) = path[1..].split('/').partition(|part| part.is_empty());
    if empty.len() >= MAX_EMPTY_SEGMENTS {
        return Some(Trap::RepeatedSegments("//".to_owned()));
    }
    repeated(&segments).map(|block| Trap::RepeatedSegments(format!("/{}", block.join("/"))))
}

/// Segments that repeat in sequence too often, as wrong relative links produce them, or a segment that occurs too
/// often in total.
fn repeated<'a, 's>(segments: &'a [&'s str]) -> Option<&'a [&'s str]> {
    for length in 1..=segments.len() / (MAX_REPEATS + 1) {
        // `/0/0/0/4711` is a common path of stored files.
        let needed = if length == 1 { MAX_REPEATS + 2 } else { MAX_REPEATS + 1 };
        let repeats = |run: &&[&str]| {
            run.chunks(length).all(|block| block == &run[..length])
                && run[..length].iter().any(|s| is_word(s))
        };
        if let Some(run) = segments.windows(length * needed).find(repeats) {
            return Some(&run[..length]);
        }
    }
    let is_frequent = |segment: &&str| {
        is_word(segment) && segments.iter().filter(|other| *other == segment).count() > MAX_OCCURRENCES
    };
    let at = segments.iter().position(is_frequent)?;
    Some(&segments[at..=at])
}

fn is_word(segment: &str) -> bool {
    !segment.bytes().all(|byte| byte.is_ascii_digit())
}

fn query_trap(query: &str) -> Option<Trap> {
    let parameters: Vec<&str> = query.split('&').collect();
    if parameters.len() > MAX_PARAMETERS {
        return Some(Trap::ManyParameters(parameters.len()));
    }
    let times = |parameter: &str| parameters.iter().filter(|other| **other == parameter).count();
    let repeated = parameters.iter().find(|parameter| times(parameter) > MAX_SAME_PARAMETERS)?;
    Some(Trap::RepeatedParameter((*repeated).to_owned()))
}
