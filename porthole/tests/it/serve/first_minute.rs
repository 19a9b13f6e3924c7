//! A new workspace over the API: from URLs, and from bookmarks, to a running crawl of a synthetic web.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::server::Server;

/// A synthetic web that is served as a proxy, with a list of its pages about a topic.
struct ServedWeb {
    process: Child,
    proxy: String,
    cycling: Vec<String>,
    other: Vec<String>,
}

impl ServedWeb {
    fn start() -> ServedWeb {
        let mut process = Command::new(env!("CARGO_BIN_EXE_porthole"))
            .args(["lab", "synth", "--pages", "5000", "--serve", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap();
        let labels = Command::new(env!("CARGO_BIN_EXE_porthole"))
            .args(["lab", "synth", "--pages", "5000", "--labels"])
            .output()
            .unwrap();
        let labels = String::from_utf8(labels.stdout).unwrap();
        let about = |topic: &str| {
            let lines = labels.lines().filter_map(|line| line.split_once('\t'));
            lines
                .filter(|(_, path)| path.starts_with(topic))
                .map(|(url, _)| url.to_owned())
                .step_by(3)
                .take(8)
                .collect()
        };
        ServedWeb {
            proxy: format!("http://{address}"),
            cycling: about("/Recreation/Cycling"),
            other: about("/Business"),
            process,
        }
    }
}

impl Drop for ServedWeb {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn serve(folder: &std::path::Path, web: &ServedWeb) -> Server {
    Server::start_with(folder, &["serve", "--listen", "127.0.0.1:0"], Some(&web.proxy))
}

#[test]
fn from_urls_to_a_running_crawl() {
    let web = ServedWeb::start();
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), &web);
    assert_eq!(server.read("/api/v1/workspaces"), json!([]));
    for name in ["../x", "/abs", "a\u{0}b", ".hidden", "-rf", "", "a/b"] {
        let reply = server.post("/api/v1/workspaces", &json!({"name": name, "urls": web.cycling}));
        assert_eq!(reply.status, 400, "{name:?}: {reply:?}");
    }
    let new = json!({"name": "bikes", "urls": web.cycling, "contact": "me@example.org"});
    let job = server.send("/api/v1/workspaces", &new);
    assert!(job["command"].as_str().unwrap().starts_with("porthole init --taxonomy general"), "{job}");
    let made = server.finished(&job);
    assert_eq!(made["state"], "done", "{made}");
    assert_eq!(server.post("/api/v1/workspaces", &new).status, 409, "it exists");
    let unplaced = server.read("/api/v1/w/bikes/examples?unplaced=true");
    assert_eq!(unplaced.as_array().unwrap().len(), web.cycling.len(), "{unplaced}");
    let proposed = server.send("/api/v1/w/bikes/proposals", &json!({}));
    assert!(!proposed[0]["words"].as_array().unwrap().is_empty(), "{proposed}");
    server.send("/api/v1/w/bikes/topics", &json!({"op": "add", "path": "/Recreation/Bikes"}));
    let urls: Vec<&Value> = unplaced.as_array().unwrap().iter().map(|example| &example["url"]).collect();
    server
        .send("/api/v1/w/bikes/examples", &json!({"op": "move", "topic": "/Recreation/Bikes", "urls": urls}));
    server.send("/api/v1/w/bikes/topics", &json!({"op": "mark", "path": "/Recreation/Bikes"}));
    let trained = server.finished(&server.send("/api/v1/w/bikes/train", &json!({})));
    assert_eq!(trained["state"], "done", "{trained}");
    server.send("/api/v1/w/bikes/crawl", &json!({"pages": 6, "workers": 8, "idle": "fill"}));
    let status =
        server.until("/api/v1/w/bikes/status", |status| status["counts"]["fetched"].as_u64() >= Some(3));
    assert!(status["harvest"].as_f64().unwrap() > 0.0, "{status}");
}

#[test]
fn from_bookmarks_to_a_trained_critic() {
    let web = ServedWeb::start();
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), &web);
    let links =
        |urls: &[String]| urls.iter().map(|url| format!("<DT><A HREF=\"{url}\">x</A>\n")).collect::<String>();
    let html = format!(
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n<DT><H3>Bikes &amp; more</H3>\n<DL><p>\n{}\
         <DT><A HREF=\"javascript:alert(1)\">x</A>\n</DL><p>\n<DT><H3>Work</H3>\n<DL><p>\n{}</DL><p>\n</DL><p>\n",
        links(&web.cycling),
        links(&web.other)
    );
    let found = server.send("/api/v1/bookmarks", &json!({ "html": html }));
    let folders = found["folders"].as_array().unwrap();
    assert_eq!((folders.len(), &found["left_out"]), (2, &json!(1)), "{found}");
    assert_eq!(folders[0]["pages"], web.cycling.len());
    assert_eq!(server.post("/api/v1/bookmarks", &json!({"html": "nothing"})).status, 422);
    let new = json!({
        "name": "marks", "bookmarks": html, "folders": [folders[0]["path"]], "contact": "me@example.org"
    });
    let made = server.finished(&server.send("/api/v1/workspaces", &new));
    assert_eq!(made["state"], "done", "{made}");
    let status = server.read("/api/v1/w/marks/status");
    assert!(!status["good"].as_array().unwrap().is_empty() && !status["critic"].is_null(), "{status}");
    let both = json!({"name": "both", "urls": ["http://a.test/"], "words": "owls"});
    assert_eq!(server.post("/api/v1/workspaces", &both).status, 400);
}
