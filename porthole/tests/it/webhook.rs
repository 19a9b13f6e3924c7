//! `[events] webhook`: a program hears of a crawl.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::Value as Json;

use crate::start::{OWLS, Server, check, json, on_loopback, page};

/// Takes what is posted to it. Returns its URL and the bodies.
fn receiver() -> (String, Receiver<Json>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (got, bodies) = channel();
    // Ends with the test; it is not joined.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(&stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
            let mut body = vec![0; length.parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            let _ = got.send(serde_json::from_slice(&body).unwrap());
            let _ = (&stream).write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
        }
    });
    (url, bodies)
}

#[test]
fn the_events_of_a_crawl_are_posted_in_order() {
    let pages: Vec<(String, String)> = (0..12)
        .map(|number| (format!("/{number}"), page("Owls", &format!("{OWLS} number{number}"), &[])))
        .collect();
    let named: Vec<(&str, String)> = pages.iter().map(|(path, page)| (path.as_str(), page.clone())).collect();
    let web = Server::new(&named);
    let (url, bodies) = receiver();
    let folder = on_loopback();
    let here = folder.path();
    check(here, &["-C", "ws", "examples", "add", "/Owls", &web.url("/0")], 0, "");
    fs::write(here.join("soup.txt"), crate::start::SOUP).unwrap();
    check(here, &["-C", "ws", "examples", "add", "/Soup", "soup.txt"], 0, "");
    check(here, &["-C", "ws", "topics", "mark", "/Owls"], 0, "");
    check(here, &["-C", "ws", "train"], 0, "");
    let settings = fs::read_to_string(here.join("ws/porthole.toml")).unwrap();
    let write = |more: &str| {
        let events = format!("{settings}[events]\nwebhook = \"{url}\"\n{more}");
        fs::write(here.join("ws/porthole.toml"), events).unwrap();
    };
    let starts: Vec<String> =
        (0..12).flat_map(|number| ["--start".to_owned(), web.url(&format!("/{number}"))]).collect();
    let mut crawl = vec!["-C", "ws", "crawl", "--no-hubs", "--json"];
    crawl.extend(starts.iter().map(String::as_str));
    write("allow = \"loopback\"\nkinds = [\"fetch\", \"stopped\"]\n");
    let done = json(here, &crawl);
    let posted: Vec<Json> = bodies.try_iter().collect();
    let batches: Vec<u64> = posted.iter().map(|body| body["batch"].as_u64().unwrap()).collect();
    assert!(batches.iter().copied().eq(1..=posted.len() as u64), "{batches:?}");
    let events: Vec<&Json> = posted.iter().flat_map(|body| body["events"].as_array().unwrap()).collect();
    let seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert!(seqs.len() == 12 && seqs.is_sorted(), "{seqs:?}");
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["stop"]), (&"stopped".into(), &"exhausted".into()));
    assert!(last["detail"].as_str().unwrap().ends_with("pages in this run"), "{last}");
    assert_eq!(events.len(), 13, "only what was asked for: {events:?}");
    assert_eq!(
        (&done["webhook"]["delivered"], &done["webhook"]["dropped"]),
        (&13.into(), &0.into()),
        "{done}"
    );
    // What may be crawled may not be posted to; the crawl goes on without.
    write("");
    let said = check(here, &["-C", "ws", "crawl", "--no-hubs"], 0, "for the webhook dropped");
    assert!(said.contains("`allow` under [events]"), "{said}");
    assert_eq!(bodies.try_iter().count(), 0);
    write("kinds = [\"fetches\"]\n");
    check(here, &["-C", "ws", "crawl"], 4, "is not a kind of event");
}
