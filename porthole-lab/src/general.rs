//! Creates the general taxonomy that comes with the program: topic names and term counts of a labelled collection, and
//! the results of cross-validation on it. It contains no pages, and none can be reconstructed from it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use porthole_page::Extractor;
use porthole_topic::{Pretrained, Statistics, TrainingOptions, TunedTree, tune_all};
use porthole_types::{CanonicalUrl, Headers, TermId, TopicId};

use crate::collections::{Collection, CollectionError, KeepText};
use crate::critics::{examples, tree};

/// Origin of the counts.
const SOURCE: &str = "Topic names and term counts of the 2007 Wikipedia Selection for schools, articles of the English \
     Wikipedia by its authors (GNU Free Documentation License, CC BY-SA)";

/// Topics with fewer pages are merged into their parents.
const FEWEST_PAGES: usize = 8;

/// Terms that occur in fewer pages are dropped.
const FEWEST_DOCUMENTS: u32 = 3;

/// Makes the taxonomy from the Schools collection. Also returns the results of cross-validation at its nodes.
pub fn make(corpora: &Path) -> Result<(Pretrained, TunedTree), CollectionError> {
    let mut collection = Collection::schools(corpora, KeepText::Text)?;
    merge_small(&mut collection);
    let words = words(&collection);
    let (mut tree, topics) = tree(&collection);
    let documents: Vec<_> = collection.documents.iter().collect();
    let mut examples = examples(&documents, &topics);
    let others = tree.add_others(&topics).expect("room for one more leaf a topic");
    let moved: HashMap<TopicId, TopicId> = others.into_iter().collect();
    for example in &mut examples {
        example.topic = moved.get(&example.topic).copied().unwrap_or(example.topic);
    }
    let statistics = Statistics::of(examples.iter().copied());
    let tuned = tune_all(&tree, &statistics, &examples, &TrainingOptions::default());
    let tunings = tuned.tunings();
    let made = Pretrained { source: SOURCE.to_owned(), tree, statistics, tunings, words };
    Ok((made.without_rare(FEWEST_DOCUMENTS), tuned))
}

/// Moves the pages of small topics to their parents.
fn merge_small(collection: &mut Collection) {
    loop {
        let mut pages = vec![0; collection.topics.len()];
        collection
            .documents
            .iter()
            .flat_map(|document| &document.topics)
            .for_each(|&t| pages[t as usize] += 1);
        let above = |path: &str| path.rfind('/').filter(|&at| at > 0).map(|at| path[..at].to_owned());
        let small = (0..pages.len()).filter(|&t| pages[t] > 0 && pages[t] < FEWEST_PAGES);
        let Some((small, parent)) = small.filter_map(|t| Some((t, above(&collection.topics[t])?))).next()
        else {
            return;
        };
        let parent = collection.topics.iter().position(|path| *path == parent).unwrap_or_else(|| {
            collection.topics.push(parent);
            collection.topics.len() - 1
        });
        for document in &mut collection.documents {
            document.topics.iter_mut().filter(|t| **t == small as u32).for_each(|t| *t = parent as u32);
            document.topics.sort_unstable();
            document.topics.dedup();
        }
    }
}

/// The most frequent word of each term.
fn words(collection: &Collection) -> BTreeMap<TermId, String> {
    let mut seen: HashMap<(TermId, String), usize> = HashMap::new();
    let mut extractor = Extractor::default();
    let html: Headers = [("Content-Type", "text/html")].into_iter().collect();
    let anywhere = CanonicalUrl::parse("http://localhost/").expect("a URL");
    for text in collection.documents.iter().filter_map(|document| document.text.as_ref()) {
        let page = extractor.extract(&anywhere, &html, text);
        for spelled in extractor.vocabulary(&page) {
            *seen.entry((spelled.term, spelled.word)).or_default() += 1;
        }
    }
    let mut best: BTreeMap<TermId, (usize, String)> = BTreeMap::new();
    for ((term, word), count) in seen {
        let candidate = (count, word);
        let known = best.entry(term).or_default();
        // The most frequent; on ties the first in alphabetical order.
        if candidate.0 > known.0 || candidate.0 == known.0 && candidate.1 < known.1 {
            *known = candidate;
        }
    }
    best.into_iter().map(|(term, (_, word))| (term, word)).collect()
}
