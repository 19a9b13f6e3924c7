//! The program, run as a person runs it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn porthole(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_porthole")).args(arguments).output().unwrap()
}

fn json(arguments: &[&str]) -> serde_json::Value {
    let output = porthole(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn error_of(arguments: &[&str]) -> String {
    let output = porthole(arguments);
    assert!(!output.status.success(), "{arguments:?} should fail");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_demo_is_the_same_every_time_and_loses_its_way() {
    let without_time = |mut summary: serde_json::Value| {
        summary.as_object_mut().unwrap().remove("seconds");
        summary
    };
    let first = without_time(json(&["demo", "--pages", "600", "--json"]));
    assert_eq!(first, without_time(json(&["demo", "--pages", "600", "--json"])));
    assert_eq!((first["fetches"].as_u64(), first["stop"].as_str()), (Some(600), Some("limit")));
    let at = |fetches: &str| first["harvest"][fetches].as_f64().unwrap();
    assert!(at("50") > at("500") && at("500") > 0.0, "{first}");
    let text = String::from_utf8(porthole(&["demo", "--pages", "100"]).stdout).unwrap();
    assert!(text.contains("URLs known") && text.contains("after    100"), "{text}");
}

#[test]
fn the_demo_keeps_its_database_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let kept_text = kept.to_str().unwrap();
    assert!(porthole(&["demo", "--pages", "50", "--keep", kept_text]).status.success());
    assert!(kept.join("porthole.db").exists());
    assert!(error_of(&["demo", "--pages", "50", "--keep", kept_text]).contains("is there already"));
    assert!(error_of(&["demo", "--topic", "/Nowhere"]).contains("/Recreation/Cycling"));
}

#[test]
fn web_stats_of_a_file_that_warcio_wrote() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../porthole-warc/tests/fixtures/members.warc.gz");
    let stats = json(&["lab", "web-stats", file.to_str().unwrap(), "--json"]);
    for field in ["pages", "hosts", "links", "bytes"] {
        assert!(stats[field].is_u64(), "{field} in {stats}");
    }
    assert!(stats["pages"].as_u64() > Some(0) && stats["charsets"].is_object());
    assert!(error_of(&["lab", "web-stats", "no-such.warc.gz"]).contains("no-such.warc.gz"));
    assert_eq!(porthole(&["lab", "web-stats"]).status.code(), Some(4), "bad arguments");
}

#[test]
fn a_synthetic_web_is_described_shown_and_served() {
    assert!(error_of(&["lab", "synth"]).contains("--stats"));
    let stats = json(&["lab", "synth", "--pages", "3000", "--stats", "--json"]);
    assert_eq!(stats["pages"].as_u64(), Some(3000));
    assert!(stats["radius1"].as_f64() > stats["radius1_base"].as_f64());

    let mut server = Command::new(env!("CARGO_BIN_EXE_porthole"))
        .args(["lab", "synth", "--pages", "3000", "--serve", "127.0.0.1:0"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    // Nobody reads on behind the first line: the server has to live with that.
    BufReader::new(server.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let addr = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap().to_owned();
    let index = ask(&addr, "/");
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(index.starts_with("HTTP/1.1 200") && index.contains("/Recreation/Cycling"), "{index}");
}

fn ask(addr: &str, target: &str) -> String {
    let mut stream = TcpStream::connect(addr).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_classifier_bench_prints_and_draws_its_figures() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let small = ["lab", "bench", "classifier", "--nodes", "40", "--documents", "8", "--vocabulary", "1000"];
    let figures = json(&[&small[..], &["--out", out, "--json"]].concat());
    assert_eq!(
        (figures["size"]["nodes"].as_u64(), figures["variants"][2]["name"].as_str()),
        (Some(40), Some("BulkProbe"))
    );
    assert!(std::fs::read_to_string(folder.path().join("classifier.svg")).unwrap().starts_with("<svg"));
    assert!(folder.path().join("classifier.json").exists());
    let text = String::from_utf8(porthole(&small).stdout).unwrap();
    assert!(text.contains("(c) BulkProbe by output size"), "{text}");
}
