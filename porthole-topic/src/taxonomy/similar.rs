//! Topics that a user may have meant by a path that does not exist.

use porthole_types::TopicId;

use super::Taxonomy;

/// Number of topics that are proposed.
const MOST: usize = 3;

/// Maximum number of wrong letters, in names long enough for a spelling mistake.
const MOST_WRONG: usize = 2;
const LONG: usize = 5;

/// Paths of topics whose name is like the last name of `path`, the most similar first.
pub(super) fn similar(tree: &Taxonomy, path: &str) -> Vec<String> {
    let wanted = normal(path.rsplit('/').find(|name| !name.is_empty()).unwrap_or_default());
    let distance = |id: TopicId| distance(&wanted, &normal(tree.name(id)));
    let mut alike: Vec<(usize, TopicId)> =
        tree.ids().filter(|&id| id != TopicId::ROOT).filter_map(|id| Some((distance(id)?, id))).collect();
    alike.sort_unstable();
    let best = alike.first().map(|(distance, _)| *distance);
    // A topic with exactly that name is the one that was meant.
    alike.retain(|(distance, _)| best != Some(0) || *distance == 0);
    alike.into_iter().take(MOST).map(|(_, id)| tree.path(id)).collect()
}

fn normal(name: &str) -> String {
    name.to_lowercase().replace(['_', '-'], " ")
}

/// 0 for the same name, 1 for a part of it, more for wrong letters; `None` for another name.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    if wanted == name {
        return Some(0);
    }
    let [shorter, longer] = if wanted.len() < name.len() { [wanted, name] } else { [name, wanted] };
    if shorter.len() >= LONG && longer.contains(shorter) {
        return Some(1);
    }
    let wrong = wrong_letters(wanted, name);
    (shorter.chars().count() >= LONG && wrong <= MOST_WRONG).then_some(1 + wrong)
}

/// Letters to insert, remove or replace.
fn wrong_letters(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[b.len()]
}
