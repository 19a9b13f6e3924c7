//! The strategies by name.

use crate::{Aim, Breadth, Hard, Soft, Strategy, Unfocused};

/// The names of strategies.
pub const NAMES: &[&str] = &["soft", "hard", "unfocused", "breadth"];

/// A name that no strategy has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no strategy {name:?}; there are {}", NAMES.join(", "))]
pub struct Unknown {
    /// What was asked for.
    pub name: String,
}

/// The strategy of a name, after what is looked for.
pub fn named(name: &str, aim: &Aim) -> Result<Box<dyn Strategy>, Unknown> {
    Ok(match name {
        "soft" => Box::new(Soft),
        "hard" => Box::new(Hard),
        // The lab's experiments call it by what it does.
        "unfocused" | "random" => Box::new(Unfocused::new(aim.seed)),
        "breadth" => Box::new(Breadth),
        _ => return Err(Unknown { name: name.to_owned() }),
    })
}

/// The name, if there is a strategy that has it.
pub fn checked(name: &str) -> Result<String, Unknown> {
    named(name, &Aim::nothing(0)).map(|_| name.to_owned())
}
