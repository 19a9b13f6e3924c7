//! The backlink endpoint: pages that link to good pages.

use std::fs;

use crate::start::{OWLS, SOUP, Server, check, json, on_loopback, page};

/// The request path for a page.
fn question(page: &str) -> String {
    format!("/in?url={}", page.replace(':', "%3A").replace('/', "%2F"))
}

#[test]
fn pages_that_link_to_good_ones_are_asked_for_and_fetched() {
    // The same words in different orders: about owls, but no duplicates.
    let mut words: Vec<&str> = OWLS.split(' ').collect();
    words.reverse();
    let reversed = words.join(" ");
    words.sort_unstable();
    let sorted = words.join(" ");
    words.reverse();
    let descending = words.join(" ");
    // Nothing links to the list and to the other page about owls.
    let web = Server::new(&[
        ("/owl", page("Owls", OWLS, &[])),
        ("/more", page("More owls", &reversed, &[])),
        ("/soup", page("Soup", SOUP, &[])),
        ("/list", page("All about owls", &sorted, &[("/other".to_owned(), "another")])),
        ("/other", page("Other owls", &descending, &[])),
    ]);
    let list = web.url("/list");
    let endpoint = Server::new(&[
        (&question(&web.url("/owl")), format!("[\"{list}\", \"no url\", \"{}\"]", web.url("/soup"))),
        (&question(&web.url("/other")), format!("{list}\n{}\n", web.url("/never"))),
        (&question(&web.url("/soup")), web.url("/kitchen")),
    ]);
    let folder = on_loopback();
    let here = folder.path();
    for (topic, path) in [("/Owls", "/owl"), ("/Owls", "/more"), ("/Soup", "/soup")] {
        check(here, &["-C", "ws", "examples", "add", topic, &web.url(path)], 0, "");
    }
    check(here, &["-C", "ws", "train"], 0, "");
    check(here, &["-C", "ws", "topics", "mark", "/Owls"], 0, "");
    let settings = fs::read_to_string(here.join("ws/porthole.toml")).unwrap();
    let more = format!("[backlinks]\nurl = \"{}\"\nlinks = 1\n", endpoint.url("/in?url={url}"));
    fs::write(here.join("ws/porthole.toml"), settings + &more).unwrap();
    let done = json(here, &["-C", "ws", "crawl", "--json"]);
    assert_eq!(done["pages"].as_u64(), Some(4), "the examples, the list and what it links to: {done}");
    for page in ["/owl", "/more", "/list", "/other"] {
        assert_eq!(endpoint.asked(&question(&web.url(page))), 1, "{page}");
    }
    assert_eq!((web.asked("/list"), web.asked("/other")), (1, 1));
    assert_eq!(web.asked("/never"), 0, "one link of an answer is enough");
    assert_eq!(endpoint.asked("/robots.txt"), 0, "who names an endpoint may ask it");
    let facts = json(here, &["-C", "ws", "explain", &list, "--json"]);
    assert!(facts["priority"].as_f64().unwrap() > 0.5, "worth what a link of the page would be: {facts}");

    fs::write(
        here.join("ws/porthole.toml"),
        "[fetch]\nloopback = true\n[backlinks]\nurl = \"http://who.test/\"\n",
    )
    .unwrap();
    check(here, &["-C", "ws", "crawl"], 4, "{url}");
}
