//! What can be said of a URL by itself.

use porthole_types::CanonicalUrl;

use super::Trap;

/// A URL of a page that somebody means to be found is shorter.
const MAX_BYTES: usize = 1_000;
const MAX_SEGMENTS: usize = 25;
const MAX_EMPTY_SEGMENTS: usize = 5;
const MAX_PARAMETERS: usize = 20;
/// Times that some segments may follow each other; a single one may once more.
const MAX_REPEATS: usize = 2;
/// Times that a segment may occur at all.
const MAX_OCCURRENCES: usize = 4;
/// Times that a parameter may stand in a query with the same value.
const MAX_SAME_PARAMETERS: usize = 2;

/// Whether the URL has a shape that only traps have.
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

/// Segments that follow each other too often, as links relative to the wrong folder make them; or one that
/// comes back too often with others in between.
fn repeated<'a, 's>(segments: &'a [&'s str]) -> Option<&'a [&'s str]> {
    for length in 1..=segments.len() / (MAX_REPEATS + 1) {
        // `/0/0/0/4711` is a place on a disk.
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
