//! Parts that several queries share.

use super::Parameter;
use super::ParameterKind::{Topic, Whole};

/// The topic given by a parameter and all topics below it, as a part of `with recursive`.
macro_rules! below {
    ($name:literal, $parameter:literal) => {
        concat!(
            $name,
            "(kcid) as (
                 select kcid from taxonomy where kcid = :",
            $parameter,
            "
                 union
                 select taxonomy.kcid from taxonomy join ",
            $name,
            " on taxonomy.pcid = ",
            $name,
            ".kcid
             )"
        )
    };
}
pub(super) use below;

/// The paths of all topics; the root's is empty.
macro_rules! paths {
    () => {
        "paths(kcid, path) as (
             select kcid, substr(name, 1, 0) from taxonomy where pcid is null
             union all
             select taxonomy.kcid, paths.path || '/' || taxonomy.name
             from taxonomy join paths on taxonomy.pcid = paths.kcid
         )"
    };
}
pub(super) use paths;

/// The pages about the topics of [`below`].
macro_rules! pages {
    ($below:literal) => {
        concat!(
            "(select row from tried where kcid is not null and state <= 1 and kcid in (select kcid from ",
            $below,
            "))"
        )
    };
}
pub(super) use pages;

/// Whether a row of `tried` is a relevant page: fetched, no copy of another, and with an R of at least
/// [`Judgment::RELEVANT`](porthole_types::Judgment::RELEVANT).
macro_rules! relevant {
    () => {
        "(state = 1 and copy_of is null and kcid is not null and relevance >= 0.5)"
    };
}
pub(super) use relevant;

/// A required parameter for a topic.
pub(super) const fn topic(name: &'static str, description: &'static str) -> Parameter {
    Parameter { name, description, kind: Topic, default: None }
}

pub(super) const fn whole(name: &'static str, description: &'static str, default: &'static str) -> Parameter {
    Parameter { name, description, kind: Whole, default: Some(default) }
}
