//! Detects whether a user's topic means the same as one of the tree, by its name and by how the critic classifies
//! its pages. Two topics with the same meaning would compete for every page, and neither would win.

use std::collections::BTreeMap;

use porthole_types::TopicId;

use crate::background::background;
use crate::critic::Critic;
use crate::statistics::TermFrequencies;
use crate::taxonomy::Taxonomy;

/// A topic of the tree that means the same as another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SameTopic {
    /// The topic of the tree.
    pub topic: TopicId,
    /// Number of pages whose best topic is it, or one below it.
    pub pages: usize,
    /// Whether it has the same name.
    pub has_same_name: bool,
}

/// Words that do not change the meaning of a name.
const FILLERS: [&str; 6] = ["and", "of", "the", "in", "for", "a"];

/// A topic of the same name needs one in this many of the pages. A topic with another name needs more than half.
const FEWEST_IF_NAMED: usize = 4;

/// Whether two names mean the same: the words of one begin with those of the other, in singular or plural.
pub fn have_same_name(a: &str, b: &str) -> bool {
    let (a, b) = (words(a), words(b));
    let shorter = a.len().min(b.len());
    shorter > 0 && a[..shorter] == b[..shorter]
}

/// Whether two names have the same words, in singular or plural.
pub fn have_equal_names(a: &str, b: &str) -> bool {
    let (a, b) = (words(a), words(b));
    !a.is_empty() && a == b
}

fn words(name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.filter(|word| !FILLERS.contains(word)).map(singular).collect()
}

fn singular(word: &str) -> String {
    match word.strip_suffix("ies") {
        Some(stem) if stem.len() > 2 => format!("{stem}y"),
        _ => word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word).to_owned(),
    }
}

/// The topic of the tree that means the same as a topic with this name and these pages, on which the critic was not
/// trained. Without a critic or pages, only the name decides.
pub fn same_topic(
    critic: Option<&mut Critic>,
    tree: &Taxonomy,
    name: &str,
    pages: &[&TermFrequencies],
) -> Option<SameTopic> {
    let mut votes: BTreeMap<TopicId, usize> = BTreeMap::new();
    let pages = if critic.is_some() { pages } else { &[] };
    if let Some(critic) = critic {
        for page in pages {
            let (best, _) = critic.best(page);
            if tree.contains(best) {
                std::iter::once(best)
                    .chain(tree.ancestors(best))
                    .for_each(|id| *votes.entry(id).or_default() += 1);
            }
        }
    }
    let background = background(tree);
    let candidates = tree.ids().filter(|&id| id != TopicId::ROOT && Some(id) != background);
    let found = candidates.filter_map(|topic| {
        let same = SameTopic {
            topic,
            pages: votes.get(&topic).copied().unwrap_or(0),
            has_same_name: have_same_name(name, tree.name(topic)),
        };
        let is_same = match same.has_same_name {
            true => FEWEST_IF_NAMED * same.pages >= pages.len(),
            false => tree.is_leaf(topic) && 2 * same.pages > pages.len(),
        };
        is_same.then_some(same)
    });
    // Of several topics with the name, the one with most pages; of these the most general.
    found.max_by(|a, b| {
        let key = |same: &SameTopic| (same.has_same_name, same.pages, usize::MAX - tree.depth(same.topic));
        key(a).cmp(&key(b)).then(b.topic.cmp(&a.topic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_in_singular_and_plural_and_with_additional_words() {
        let check = |a: &str, b: &str, is_same| {
            assert_eq!((have_same_name(a, b), have_same_name(b, a)), (is_same, is_same), "{a}, {b}");
        };
        check("Railways", "Railway_transport", true);
        check("birds", "Birds", true);
        check("Food & agriculture", "Food_and_agriculture", true);
        check("Galaxies", "Galaxy", true);
        check("History", "British_History", false);
        check("Gas", "Ga", false);
        check("", "Birds", false);
        check("The", "Birds", false);
        assert!(
            have_equal_names("food and agriculture", "Food_agriculture") && have_equal_names("birds", "Bird")
        );
        assert!(!have_equal_names("bird migration", "Birds") && !have_equal_names("the", "The"));
    }
}
