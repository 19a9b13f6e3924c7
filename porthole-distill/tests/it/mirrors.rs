//! Inflated endorsement: cliques of a site, mirrors, long lists of one site's pages.

use porthole_distill::DistillOptions;

use crate::web::{Web, all};

/// Ten pages of one site that all link to each other, and a page elsewhere that links to one elsewhere.
#[test]
fn a_clique_within_a_site_scores_nothing() {
    let mut links: Vec<_> = (0..10).flat_map(|from| (0..10).map(move |to| (from, to))).collect();
    links.push((10, 11));
    let sites = [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 9];
    let (mut hubs, mut authorities) = ([0.0; 12], [0.0; 12]);
    (hubs[10], authorities[11]) = (1.0, 1.0);
    Web::with_sites(&[1.0; 12], &sites, &links).check(all(), &hubs, &authorities);
}

/// Authority 0 is endorsed by `mirrors` pages of one site, authority 1 by hubs 2 and 3 of two sites.
fn mirrored(mirrors: u32) -> Web {
    let mut links = vec![(2, 1), (3, 1)];
    links.extend((4..4 + mirrors).map(|mirror| (mirror, 0)));
    let mut sites = vec![100, 101, 102, 103];
    sites.extend((0..mirrors).map(|_| 104));
    Web::with_sites(&vec![1.0; sites.len()], &sites, &links)
}

#[test]
fn a_hundred_mirrors_count_as_one() {
    let mut hubs = vec![0.0; 104];
    (hubs[2], hubs[3]) = (0.5, 0.5);
    let mut authorities = vec![0.0; 104];
    authorities[1] = 1.0;
    mirrored(100).check(all(), &hubs, &authorities);
    // Uncorrected, the mirrors dominate.
    let scores = mirrored(100).scores(DistillOptions { correct_inflation: false, ..all() });
    assert!(scores.authorities[0] > 0.99, "{}", scores.authorities[0]);
}

/// Both authorities have one endorsement each, and keep their initial scores; so do their hubs.
#[test]
fn a_hundred_mirrors_score_like_a_single_page() {
    let one_iteration = DistillOptions { max_iterations: 1, ..all() };
    let links = |mirrors: u32| {
        let mut links: Vec<_> = (0..mirrors).map(|mirror| (2 + mirror, 0)).collect();
        links.push((2 + mirrors, 1));
        links
    };
    let sites = |mirrors: u32| {
        let mut sites = vec![100, 101];
        sites.extend((0..mirrors).map(|_| 102));
        sites.push(103);
        sites
    };
    for mirrors in [1, 3, 100] {
        let sites = sites(mirrors);
        let web = Web::with_sites(&vec![1.0; sites.len()], &sites, &links(mirrors));
        let scores = web.scores(one_iteration);
        assert!((scores.authorities[0] - 0.5).abs() < 1e-12, "{mirrors}: {}", scores.authorities[0]);
    }
}

/// Hub 0 links to ten pages of one site, hub 1 to two pages of two.
#[test]
fn links_to_many_pages_of_one_site_count_as_one() {
    let mut links: Vec<_> = (2..12).map(|page| (0, page)).collect();
    links.extend([(1, 12), (1, 13)]);
    let mut sites = vec![0, 1];
    sites.extend([2; 10]);
    sites.extend([3, 4]);
    let web = Web::with_sites(&[1.0; 14], &sites, &links);
    let mut authorities = [0.0; 14];
    (authorities[12], authorities[13]) = (0.5, 0.5);
    let mut hubs = [0.0; 14];
    hubs[1] = 1.0;
    web.check(all(), &hubs, &authorities);
    let inflated = web.scores(DistillOptions { correct_inflation: false, ..all() });
    assert!(inflated.hubs[0] > 0.99, "{}", inflated.hubs[0]);
}
