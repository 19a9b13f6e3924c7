//! Pages are judged by their own text, not by navigation around it.

use porthole_types::TermId;

use crate::extract;

const ARTICLE: &str = "<h1>Keeping bees</h1>\
    <p>A beekeeper keeps honey bees in hives, and looks after the queen, the workers and the drones of every colony \
    throughout the year, above all before the swarming season in May.\
    <p>In summer the <a href=frames.html>frames</a> full of honey are taken out of the hive, the wax caps are cut off \
    and the honey is spun out of the combs, strained and filled into jars.\
    <p>Before the winter the colonies are fed with sugar and treated against the varroa mite, because weak colonies \
    do not survive the frost.";

fn sorted(terms: &[TermId]) -> Vec<TermId> {
    let mut terms = terms.to_vec();
    terms.sort_unstable();
    terms
}

/// A number of links about another topic.
fn links(number: usize, before: &str, after: &str) -> String {
    let words =
        ["Stock market", "Share prices", "Company profits", "Bank loans", "Tax advice", "Interest rates"];
    let link = |n: usize| format!("{before}<a href=/{n}>{}</a>{after}", words[n % words.len()]);
    (0..number).map(link).collect()
}

#[test]
fn navigation_and_footers_do_not_count() {
    let alone = extract(ARTICLE);
    assert_eq!(alone.judged_terms(), alone.terms(), "all of it is text");
    let footer = "<footer><p>All about money since 1998: shares, bonds, funds, pensions, insurance, mortgages and loans \
        of every kind from one hand.</footer>";
    for number in [10, 200, 800] {
        // Declared navigation never counts; other links do not count if they outweigh the text.
        let mut bars = vec![
            format!("<nav>{}</nav>", links(number, "", " ")),
            format!("<header><div>Money matters</div>{}</header>", links(number, "<span>", "</span>")),
        ];
        if number > 10 {
            bars.extend([
                format!("<ul>{}</ul>", links(number, "<li>", "</li>")),
                format!("<div>{}</div>", links(number, "", " | ")),
                format!("<table><tr>{}</table>", links(number, "<td>", "</td>")),
            ]);
        }
        for bar in bars {
            for html in [
                format!("{bar}{ARTICLE}{footer}"),
                format!("{bar}<main><article><header>{ARTICLE}</header></article></main>"),
                format!("<div>{ARTICLE}</div><aside>{bar}</aside>"),
            ] {
                let page = extract(&html);
                assert_eq!(page.language, "en");
                assert!(page.terms().len() > alone.terms().len());
                assert_eq!(sorted(page.judged_terms()), sorted(alone.terms()), "{number} links: {bar:.200}");
            }
        }
    }
}

#[test]
fn short_lists_count() {
    let page = extract(&format!("{ARTICLE}<ul>{}</ul>", links(10, "<li>", "</li>")));
    assert_eq!(page.judged_terms(), page.terms());
}

#[test]
fn a_list_of_links_is_judged_by_its_links() {
    let hub = extract(&format!("<title>Money</title><p>All links:<ul>{}</ul>", links(100, "<li>", "")));
    assert_eq!(hub.judged_terms(), hub.terms());
    let counted: u32 = hub.term_counts().iter().map(|(_, count)| count).sum();
    assert_eq!(counted as usize, hub.terms().len());
}

#[test]
fn the_title_always_counts() {
    let page = extract(&format!("<title>Varroa</title><nav>{}</nav>{ARTICLE}", links(50, "", " ")));
    assert_eq!(page.judged_terms()[0], page.terms()[0]);
    assert_eq!(page.judged_terms().len(), 1 + extract(ARTICLE).terms().len());
}
