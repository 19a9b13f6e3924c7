//! Relaxation labelling on small graphs.

use porthole_distill::{ClassGraph, ClassLinks, RelaxationOptions};

const BOTH: RelaxationOptions = RelaxationOptions { temperature: 1.0, weight: 1.0, damping: 1.0, rounds: 4 };

/// Probabilities by text, and the class if it is known.
type TextPage = (Vec<f64>, Option<u16>);

/// Two classes of 20 pages in rings; two of four pages are known, and the text of the others has little information.
fn rings() -> (Vec<TextPage>, Vec<(u32, u32)>) {
    let page = |number: u32| {
        let class = number / 20;
        let own = if number % 3 == 1 { 0.45 } else { 0.55 };
        let text = if class == 0 { vec![own, 1.0 - own] } else { vec![1.0 - own, own] };
        (text, (number % 4 < 2).then_some(class as u16))
    };
    let link = |number: u32, step: u32| (number, number / 20 * 20 + (number + step) % 20);
    let links = (0..40).flat_map(|number| [link(number, 1), link(number, 3)]);
    ((0..40).map(page).collect(), links.collect())
}

fn right() -> Vec<(u32, Vec<u16>)> {
    (0..40_u32).filter(|page| page % 4 >= 2).map(|page| (page, vec![(page / 20) as u16])).collect()
}

#[test]
fn one_neighbour_counts_by_the_class_links() {
    // 0 and 1 are known and linked within their classes; 4 links to 0, and its text has no information.
    let known = |class| (vec![0.5, 0.5], Some(class));
    let pages = [known(0), known(0), known(1), known(1), (vec![0.5, 0.5], None)];
    let graph = ClassGraph::new(&pages, &[(0, 1), (1, 0), (2, 3), (3, 2), (4, 0), (4, 4)]);
    let links = ClassLinks::count(&graph);
    let found = graph.relax(&links, &BOTH);
    // Of the two links of class 0 and one smoothed, by half each: (2 + .5) / 3 lead to class 0; class 1: .5 / 3.
    let odds = found[8] / found[9];
    assert!((odds - 2.5 / 0.5).abs() < 1e-9, "{found:?}");
    assert_eq!(&found[..2], [1.0, 0.0], "a known page keeps its class");
    assert!(graph.has_neighbours(4));
    let text = graph.relax(&links, &RelaxationOptions::TEXT);
    assert_eq!(&text[8..], [0.5, 0.5]);
}

#[test]
fn neighbours_correct_the_text_and_the_fit_uses_them() {
    let (pages, links) = rings();
    let graph = ClassGraph::new(&pages, &links);
    let counted = ClassLinks::count(&graph);
    let right = right();
    let text = graph.relax(&counted, &RelaxationOptions::TEXT);
    let fitted = RelaxationOptions::fit(&graph, &counted, &right);
    assert!(fitted.weight > 0.0, "{fitted:?}");
    let both = graph.relax(&counted, &fitted);
    let [by_text, by_both] = [&text, &both].map(|found| graph.accuracy(found, &right));
    assert!(by_text < 0.8 && by_both > 0.95, "{by_text} {by_both}");
    assert!(graph.log_loss(&both, &right) < 0.5 * graph.log_loss(&text, &right));
    let alone = graph.by_neighbours(&counted, &RelaxationOptions::fit_neighbours(&graph, &counted, &right));
    assert!(graph.accuracy(&alone, &right) > 0.9);
}

#[test]
fn uninformative_links_get_no_weight() {
    // Every page is linked with the page of the same number in the other class and with its follower, so links have no
    // information.
    let (pages, _) = rings();
    let links: Vec<(u32, u32)> = (0..40)
        .flat_map(|page| [(page, (page + 20) % 40), (page, page / 20 * 20 + (page + 1) % 20)])
        .collect();
    let graph = ClassGraph::new(&pages, &links);
    let counted = ClassLinks::count(&graph);
    let right: Vec<_> = right().into_iter().filter(|(page, _)| page % 3 != 1).collect();
    let fitted = RelaxationOptions::fit(&graph, &counted, &right);
    let found = graph.relax(&counted, &fitted);
    let text = graph.relax(&counted, &RelaxationOptions { weight: 0.0, rounds: 0, ..fitted });
    assert!(graph.log_loss(&found, &right) <= graph.log_loss(&text, &right) + 1e-9);
    assert!(found.chunks(2).all(|page| (page.iter().sum::<f64>() - 1.0).abs() < 1e-9));
    assert!(ClassGraph::new(&[], &[]).relax(&counted, &BOTH).is_empty());
}
