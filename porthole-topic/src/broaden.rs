//! Detects good topics that are too narrow: if the pages of a topic commingle with those of its siblings, the crawl
//! should mark the siblings good as well, or their parent (W 2.2).

use std::collections::BTreeMap;

use porthole_types::TopicId;

use crate::background::background;
use crate::taxonomy::Taxonomy;

/// For every topic, the crawled pages that it is the best topic of.
pub type Census = BTreeMap<TopicId, TopicPages>;

/// Pages of a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TopicPages {
    /// Number of pages.
    pub pages: u64,
    /// Sum of their R(d).
    pub relevance: f64,
}

/// A proposal to mark one more topic good.
#[derive(Clone, Debug, PartialEq)]
pub struct Broadening {
    /// The topic to mark.
    pub topic: TopicId,
    /// The good topics that it commingles with: its children, or its siblings.
    pub good: Vec<TopicId>,
    /// Whether it is their parent: then they have to be unmarked.
    pub is_above: bool,
    /// Pages about it, without those about good topics.
    pub found: TopicPages,
    /// Pages about those good topics.
    pub own: TopicPages,
}

/// Minimum number of pages of the good topics.
const FEWEST: u64 = 10;

/// Minimum number of a sibling's pages, as a share of the good topics' pages.
const REACHED: f64 = 0.3;

/// The sibling also needs this many times the pages of an average topic elsewhere: all crawls fetch off-topic pages.
const LIFT: f64 = 2.0;

/// Minimum relevance of a sibling's pages, as a share of that of the good topics' pages: the critic confuses them.
const TORN: f64 = 0.15;

/// Topics to mark because good topics commingle with them, in tree order: first the parent, which covers all of them,
/// then the siblings, those with the most pages first. The root is never proposed: everything would be good.
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
    let all: Vec<(TopicId, TopicPages)> =
        siblings.map(|sibling| (sibling, below(tree, census, sibling))).collect();
    let chance = |sibling: TopicId| {
        let leaves = leaves(tree, &tree.below(sibling)).max(1);
        leaves as f64 * a_leaf_elsewhere(tree, census, parent, sibling)
    };
    let mut near: Vec<(TopicId, TopicPages)> =
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

fn commingles(sibling: &TopicPages, own: &TopicPages, elsewhere: f64) -> bool {
    let pages = sibling.pages as f64;
    let is_reached = pages >= REACHED * own.pages as f64 && pages >= LIFT * elsewhere;
    let is_torn = sibling.relevance >= TORN * own.relevance && own.relevance > 0.0;
    sibling.pages >= FEWEST && (is_reached || is_torn)
}

/// Mean number of pages of a leaf that is not below the parent; if the parent is the root, of its other children
/// without good topics. The background does not count.
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

fn below(tree: &Taxonomy, census: &Census, topic: TopicId) -> TopicPages {
    sum(tree.below(topic).iter().map(|id| census.get(id).copied().unwrap_or_default()))
}

fn sum(all: impl Iterator<Item = TopicPages>) -> TopicPages {
    all.fold(TopicPages::default(), |sum, found| TopicPages {
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

    /// Checks the proposals for pages and mean relevance by topic; mutual funds are good.
    fn check(census: &[(&str, u64, f64)], expected: &[&str]) {
        let mut tree = Taxonomy::new();
        let good = tree.add_path("/Business/Funds").unwrap();
        for path in ["/Business/Stocks", "/Business/Jobs", "/Arts/Music", "/Arts/Films", "/Background"] {
            tree.add_path(path).unwrap();
        }
        tree.mark(good).unwrap();
        let found = |pages: u64, mean: f64| TopicPages { pages, relevance: mean * pages as f64 };
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
        // Few pages, but the critic cannot tell them apart.
        check(&[("/Business/Funds", 100, 0.9), ("/Business/Stocks", 25, 0.6)], &commingled);
    }

    #[test]
    fn ordinary_and_rare_off_topic_pages_are_not_proposed() {
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
    fn the_root_is_never_proposed_but_its_children_are() {
        let mut tree = Taxonomy::new();
        let [funds, stocks] = ["/Funds", "/Stocks"].map(|path| tree.add_path(path).unwrap());
        tree.mark(funds).unwrap();
        let found = TopicPages { pages: 50, relevance: 5.0 };
        let proposed = broaden(&tree, &Census::from([(funds, found), (stocks, found)]));
        assert_eq!(proposed.iter().map(|proposal| proposal.topic).collect::<Vec<_>>(), [stocks]);
        // Reached no more than others: ordinary off-topic pages.
        let music = tree.add_path("/Music").unwrap();
        let found = TopicPages { relevance: 0.0, ..found };
        let astray = Census::from([(funds, found), (stocks, found), (music, found)]);
        assert_eq!(broaden(&tree, &astray), []);
        tree.mark(stocks).unwrap();
        assert_eq!(broaden(&tree, &Census::from([(funds, found), (stocks, found)])), []);
    }
}
