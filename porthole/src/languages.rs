//! Languages of examples. The words of a pretrained taxonomy are English: they say nothing about pages in other
//! languages, for which only the user's examples and the pages of the crawl count.

use std::collections::{BTreeMap, HashSet};

use porthole_page::language_name;
use porthole_store::{ExampleState, StoreReader, StoredExample};
use porthole_types::TopicId;

use crate::training::background;
use crate::workspace::{self, TAXONOMY};

/// The language of pretrained taxonomies.
const PRETRAINED: &str = "en";

/// A language that the pretrained taxonomy says nothing about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForeignLanguage {
    /// ISO 639-1 code.
    pub(crate) code: &'static str,
    /// English name.
    pub(crate) name: &'static str,
}

impl ForeignLanguage {
    /// The language of most of these documents (ISO 639-1 codes, empty if unknown), if the workspace has a pretrained
    /// taxonomy and it is in another language.
    pub(crate) fn of<'a>(
        reader: &dyn StoreReader,
        languages: impl Iterator<Item = &'a str>,
    ) -> anyhow::Result<Option<ForeignLanguage>> {
        let Some(code) = most_frequent(languages).filter(|&code| code != PRETRAINED) else { return Ok(None) };
        if reader.model(TAXONOMY)?.is_none() {
            return Ok(None);
        }
        Ok(language_name(code).map(|(code, name)| ForeignLanguage { code, name }))
    }

    /// The same for the examples of some topics.
    fn of_topics(
        reader: &dyn StoreReader,
        topics: &HashSet<TopicId>,
    ) -> anyhow::Result<Option<ForeignLanguage>> {
        let examples = reader.examples(None)?;
        let theirs = examples.iter().filter(|example| is_own(example) && topics.contains(&example.topic));
        ForeignLanguage::of(reader, theirs.map(|example| example.language.as_str()))
    }

    /// The same for the examples without a topic.
    pub(crate) fn of_unplaced(reader: &dyn StoreReader) -> anyhow::Result<Option<ForeignLanguage>> {
        ForeignLanguage::of_topics(reader, &HashSet::from([TopicId::ROOT]))
    }

    /// The same for the examples of good topics.
    pub(crate) fn of_good(reader: &dyn StoreReader) -> anyhow::Result<Option<ForeignLanguage>> {
        let tree = workspace::tree(reader)?;
        ForeignLanguage::of_topics(reader, &tree.good().flat_map(|good| tree.below(good)).collect())
    }

    /// What the user has to know before topics are chosen.
    pub(crate) fn no_topics_fit(self) -> String {
        format!(
            "the pages are in {}, and the words of the general taxonomy are English: it has no topics to propose for them",
            self.name
        )
    }

    /// What the user has to know about the critic, until pages of the crawl serve as background.
    pub(crate) fn no_background(self) -> String {
        format!(
            "the examples are in {0}, and the general taxonomy is English: until there are other pages in {0} to compare \
             with, every page in {0} is judged relevant; after some hundred pages of the crawl run `porthole train`, \
             which takes them as background",
            self.name
        )
    }
}

/// Whether pages of the crawl in this language are background examples.
pub(crate) fn has_background(reader: &dyn StoreReader, language: ForeignLanguage) -> anyhow::Result<bool> {
    let examples = reader.examples(None)?;
    let is_in = |example: &&StoredExample| [language.code, ""].contains(&example.language.as_str());
    Ok(examples.iter().filter(|example| example.source == background::SOURCE).any(|example| is_in(&example)))
}

/// Whether the critic is trained without the pretrained taxonomy: the examples of good topics are in a language that it
/// says nothing about, and pages of the crawl in that language are the background.
pub(crate) fn is_pretrained_silent(reader: &dyn StoreReader) -> anyhow::Result<bool> {
    match ForeignLanguage::of_good(reader)? {
        Some(language) => has_background(reader, language),
        None => Ok(false),
    }
}

/// Topics with examples of the user.
pub(crate) fn topics_with_examples(reader: &dyn StoreReader) -> anyhow::Result<HashSet<TopicId>> {
    let examples = reader.examples(None)?;
    Ok(examples.iter().filter(|example| is_own(example)).map(|example| example.topic).collect())
}

fn is_own(example: &StoredExample) -> bool {
    example.state == ExampleState::Ok && example.source != background::SOURCE
}

/// The most frequent language that is known; of several, the pretrained one, else the first in alphabetical order.
fn most_frequent<'a>(languages: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for language in languages.filter(|language| !language.is_empty()) {
        *counts.entry(language).or_default() += 1;
    }
    let is_pretrained = |code: &str| code == PRETRAINED;
    let most = counts
        .into_iter()
        .max_by(|(a, x), (b, y)| x.cmp(y).then(is_pretrained(a).cmp(&is_pretrained(b))).then(b.cmp(a)));
    most.map(|(code, _)| code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_of_most() {
        for (languages, expected) in [
            (&[][..], None),
            (&["", ""], None),
            (&["", "de", ""], Some("de")),
            (&["en", "de", "de"], Some("de")),
            (&["en", "de"], Some("en")),
            (&["uk", "de"], Some("de")),
        ] {
            assert_eq!(most_frequent(languages.iter().copied()), expected, "{languages:?}");
        }
    }
}
