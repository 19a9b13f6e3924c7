//! Whether what is good is too narrow: a topic whose pages commingle with those of its siblings is found sooner when
//! they are good, too, or the topic above all of them (W 2.2).

use std::collections::BTreeMap;

use porthole_types::TopicId;

use crate::background::background;
use crate::taxonomy::Taxonomy;

/// What the pages of a crawl are about: of every topic, those that it is best for.
pub type Census = BTreeMap<TopicId, Found>;

/// Pages of a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    /// How many.
    pub pages: u64,
    /// The sum of their R(d).
    pub relevance: f64,
}

/// A topic that might be good, too.
#[derive(Clone, Debug, PartialEq)]
pub struct Broadening {
    /// The topic to mark.
    pub topic: TopicId,
    /// The good topics that it commingles with: right below it, or its siblings.
    pub good: Vec<TopicId>,
    /// Whether it is above them: they have to be unmarked then.
    pub is_above: bool,
    /// Pages about it, and about no good topic.
    pub found: Found,
    /// Pages about those good topics.
    pub own: Found,
}

/// Fewer pages say nothing.
const FEWEST: u64 = 10;

/// A sibling is reached when there are so many of its pages to one of the good topics'.
const REACHED: f64 = 0.3;

/// And more of them than this, times what a topic elsewhere in the tree has: crawls go astray everywhere.
const LIFT: f64 = 2.0;

/// The critic is torn when a sibling's pages have so much relevance to one of the good topics'.
const TORN: f64 = 0.15;

/// Topics to mark because good ones commingle with them, in the order of the tree: first the topic above, which
/// covers all of them, then the siblings one by one, those with the most pages first. What is above is never the
/// root: then everything would be good.
pub fn broaden(tree: &Taxonomy, census: &Census) -> Vec<Broadening> {
    let mut families: BTreeMap<TopicId, Vec<TopicId>> = BTreeMap::new();
    for good in tree.good().filter(|&good| good != TopicId::ROOT) {
        families.entry(tree.parent(good)).or_default().push(good);
    }
    families.into_iter().flat_map(|(parent, good)| of_family(tree, census, parent, &good)).collect()
}

fn of_family(tree: &Taxonomy, census: &Census, parent: TopicId, good: &[TopicId]) -> Vec<Broadening> {
    let own = sum(good.iter().map(|&good| below(tree, census, good)));
    let background = background(tree);
    let siblings = tree.children(parent).iter().copied();
    let siblings = siblings.filter(|sibling| !has_good(tree, *sibling) && Some(*sibling) != background);
    let all: Vec<(TopicId, Found)> =
        siblings.map(|sibling| (sibling, below(tree, census, sibling))).collect();
    let chance = |sibling: TopicId| {
        let leaves = leaves(tree, &tree.below(sibling)).max(1);
        leaves as f64 * a_leaf_elsewhere(tree, census, parent, sibling)
    };
    let mut near: Vec<(TopicId, Found)> =
        all.iter().filter(|(sibling, found)| commingles(found, &own, chance(*sibling))).copied().collect();
    if near.is_empty() {
        return Vec::new();
    }
    near.sort_by_key(|(topic, found)| (std::cmp::Reverse(found.pages), *topic));
    let broadening = |topic, is_above, found| Broadening { topic, good: good.to_vec(), is_above, found, own };
    let above =
        (parent != TopicId::ROOT).then(|| broadening(parent, true, sum(all.iter().map(|(_, found)| *found))));
    above.into_iter().chain(near.into_iter().map(|(topic, found)| broadening(topic, false, found))).collect()
}

fn commingles(sibling: &Found, own: &Found, elsewhere: f64) -> bool {
    let pages = sibling.pages as f64;
    let is_reached = pages >= REACHED * own.pages as f64 && pages >= LIFT * elsewhere;
    let is_torn = sibling.relevance >= TORN * own.relevance && own.relevance > 0.0;
    sibling.pages >= FEWEST && (is_reached || is_torn)
}

/// Pages of a leaf, on average, among the topics that are not below the parent; where that is the root, among its
/// other children that nothing good is in. The background is no topic.
fn a_leaf_elsewhere(tree: &Taxonomy, census: &Census, parent: TopicId, sibling: TopicId) -> f64 {
    let background = background(tree);
    let near: Vec<TopicId> = match parent {
        TopicId::ROOT => {
            let children = tree.children(parent).iter();
            let children = children.filter(|&&child| child == sibling || has_good(tree, child));
            children.flat_map(|&child| tree.below(child)).chain([TopicId::ROOT]).collect()
        }
        _ => tree.below(parent),
    };
    let elsewhere: Vec<TopicId> = tree
        .ids()
        .filter(|id| !near.contains(id) && Some(*id) != background && *id != TopicId::ROOT)
        .collect();
    let pages = sum(elsewhere.iter().map(|id| census.get(id).copied().unwrap_or_default())).pages;
    pages as f64 / leaves(tree, &elsewhere).max(1) as f64
}

fn leaves(tree: &Taxonomy, topics: &[TopicId]) -> usize {
    topics.iter().filter(|&&topic| tree.is_leaf(topic)).count()
}

fn below(tree: &Taxonomy, census: &Census, topic: TopicId) -> Found {
    sum(tree.below(topic).iter().map(|id| census.get(id).copied().unwrap_or_default()))
}

fn sum(all: impl Iterator<Item = Found>) -> Found {
    all.fold(Found::default(), |sum, found| Found {
        pages: sum.pages + found.pages,
        relevance: sum.relevance + found.relevance,
    })
}

fn has_good(tree: &Taxonomy, topic: TopicId) -> bool {
    tree.below(topic).into_iter().any(|below| tree.is_good(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mutual funds are good; pages and mean relevance of topics, and what is proposed.
    fn check(census: &[(&str, u64, f64)], expected: &[&str]) {
        let mut tree = Taxonomy::new();
        let good = tree.add_path("/Business/Funds").unwrap();
        for path in ["/Business/Stocks", "/Business/Jobs", "/Arts/Music", "/Arts/Films", "/Background"] {
            tree.add_path(path).unwrap();
        }
        tree.mark(good).unwrap();
        let found = |pages: u64, mean: f64| Found { pages, relevance: mean * pages as f64 };
        let census: Census = census
            .iter()
            .map(|&(path, pages, mean)| (tree.find(path).unwrap(), found(pages, mean)))
            .collect();
        let proposed = broaden(&tree, &census);
        let paths: Vec<String> = proposed.iter().map(|proposal| tree.path(proposal.topic)).collect();
        assert_eq!(paths, expected, "{census:?}");
        assert!(proposed.iter().all(|proposal| proposal.good == [good]));
        assert!(proposed.iter().all(|proposal| proposal.is_above == (tree.parent(good) == proposal.topic)));
    }

    #[test]
    fn a_commingled_topic_yields_its_parent_and_the_sibling() {
        let commingled = ["/Business", "/Business/Stocks"];
        check(&[("/Business/Funds", 100, 0.9), ("/Business/Stocks", 80, 0.1)], &commingled);
        check(&[("/Business/Stocks", 80, 0.0), ("/Arts/Music", 30, 0.0)], &commingled);
        // Few pages, but the critic cannot tell whose they are.
        check(&[("/Business/Funds", 100, 0.9), ("/Business/Stocks", 25, 0.6)], &commingled);
    }

    #[test]
    fn what_is_reached_like_everything_else_or_hardly_at_all_is_not_proposed() {
        let funds = ("/Business/Funds", 100, 0.9);
        check(&[], &[]);
        check(&[funds, ("/Business/Stocks", 28, 0.05), ("/Business/Jobs", 20, 0.01)], &[]);
        check(
            &[funds, ("/Business/Stocks", 60, 0.0), ("/Arts/Music", 70, 0.0), ("/Arts/Films", 40, 0.0)],
            &[],
        );
        check(&[("/Business/Stocks", 9, 0.0)], &[]);
        check(&[funds, ("/Background", 500, 0.1)], &[]);
    }

    #[test]
    fn the_root_is_never_proposed_and_siblings_of_it_are() {
        let mut tree = Taxonomy::new();
        let [funds, stocks] = ["/Funds", "/Stocks"].map(|path| tree.add_path(path).unwrap());
        tree.mark(funds).unwrap();
        let found = Found { pages: 50, relevance: 5.0 };
        let proposed = broaden(&tree, &Census::from([(funds, found), (stocks, found)]));
        assert_eq!(proposed.iter().map(|proposal| proposal.topic).collect::<Vec<_>>(), [stocks]);
        // Reached as much as others, it is only one of the places where the crawl went astray.
        let music = tree.add_path("/Music").unwrap();
        let found = Found { relevance: 0.0, ..found };
        let astray = Census::from([(funds, found), (stocks, found), (music, found)]);
        assert_eq!(broaden(&tree, &astray), []);
        tree.mark(stocks).unwrap();
        assert_eq!(broaden(&tree, &Census::from([(funds, found), (stocks, found)])), []);
    }
}
