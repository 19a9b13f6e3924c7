//! Parameters in a strategy's name: `shark:delta=0.5,beta=0.8`.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::catalogue::NameError;

/// Parameters of a strategy's name. The constructor takes each parameter once, then calls `finish`.
#[derive(Debug)]
pub(crate) struct Parameters<'a> {
    strategy: &'a str,
    given: Vec<(&'a str, &'a str)>,
    known: Vec<&'static str>,
}

impl<'a> Parameters<'a> {
    /// Splits a name at the colon, and parses the parameters after it.
    pub(crate) fn parse(name: &'a str) -> Result<Parameters<'a>, NameError> {
        let (strategy, rest) = name.split_once(':').unwrap_or((name, ""));
        let mut given = Vec::new();
        for one in rest.split(',').filter(|one| !one.is_empty()) {
            let (key, value) = one
                .split_once('=')
                .ok_or_else(|| NameError::NoValue { strategy: strategy.to_owned(), key: one.to_owned() })?;
            given.push((key.trim(), value.trim()));
        }
        Ok(Parameters { strategy, given, known: Vec::new() })
    }

    /// The name without its parameters.
    pub(crate) fn strategy(&self) -> &'a str {
        self.strategy
    }

    fn take(&mut self, key: &'static str) -> Option<&'a str> {
        self.known.push(key);
        let place = self.given.iter().position(|(given, _)| *given == key)?;
        Some(self.given.remove(place).1)
    }

    /// A number within a range.
    pub(crate) fn number<T: FromStr + PartialOrd + Display>(
        &mut self,
        key: &'static str,
        default: T,
        range: RangeInclusive<T>,
    ) -> Result<T, NameError> {
        let Some(value) = self.take(key) else { return Ok(default) };
        let wanted = || format!("a number from {} to {}", range.start(), range.end());
        value
            .parse()
            .ok()
            .filter(|number| range.contains(number))
            .ok_or_else(|| self.bad(key, value, wanted()))
    }

    /// A number within a range, or `None` for the given word.
    pub(crate) fn number_or<T: FromStr + PartialOrd + Display>(
        &mut self,
        word: &'static str,
        key: &'static str,
        default: T,
        range: RangeInclusive<T>,
    ) -> Result<Option<T>, NameError> {
        if self.given.contains(&(key, word)) {
            self.take(key);
            return Ok(None);
        }
        self.number(key, default, range).map(Some).map_err(|error| match error {
            NameError::Value { strategy, key, value, wanted } => {
                NameError::Value { strategy, key, value, wanted: format!("{wanted}, or {word}") }
            }
            other => other,
        })
    }

    /// One of several words; the first is the default.
    pub(crate) fn word(
        &mut self,
        key: &'static str,
        words: &[&'static str],
    ) -> Result<&'static str, NameError> {
        let Some(value) = self.take(key) else { return Ok(words[0]) };
        let word = words.iter().find(|word| **word == value);
        word.copied().ok_or_else(|| self.bad(key, value, words.join(" or ")))
    }

    pub(crate) fn bad(&self, key: &str, value: &str, wanted: String) -> NameError {
        let (strategy, key, value) = (self.strategy.to_owned(), key.to_owned(), value.to_owned());
        NameError::Value { strategy, key, value, wanted }
    }

    /// Checks that all given parameters were taken.
    pub(crate) fn finish(&self) -> Result<(), NameError> {
        match self.given.first() {
            None => Ok(()),
            Some((key, _)) => Err(NameError::Parameter {
                strategy: self.strategy.to_owned(),
                key: (*key).to_owned(),
                known: if self.known.is_empty() { "none".to_owned() } else { self.known.join(", ") },
            }),
        }
    }
}
