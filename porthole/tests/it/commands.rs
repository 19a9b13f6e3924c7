//! The program as a user runs it.

use std::fs;
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
fn the_demo_is_the_same_every_time_and_focus_pays() {
    let without_time = |mut report: serde_json::Value| {
        report.as_object_mut().unwrap().remove("training_seconds");
        for crawl in ["focused", "unfocused"] {
            report[crawl].as_object_mut().unwrap().remove("seconds");
        }
        report
    };
    let first = without_time(json(&["demo", "--pages", "300", "--json"]));
    assert_eq!(first, without_time(json(&["demo", "--pages", "300", "--json"])));
    for crawl in ["focused", "unfocused"] {
        let figures = &first[crawl];
        assert_eq!((figures["fetches"].as_u64(), figures["stop"].as_str()), (Some(300), Some("limit")));
        assert!(figures["uncounted"].as_u64() >= first["starts"].as_u64(), "starts do not count: {figures}");
        assert!(figures["agreement"].as_f64() > Some(0.95), "{figures}");
    }
    let harvest = |crawl: &str, fetches: &str| first[crawl]["harvest"][fetches].as_f64().unwrap();
    assert!(harvest("focused", "300") > 3.0 * harvest("unfocused", "300"), "{first}");
    assert!(harvest("unfocused", "50") > harvest("unfocused", "300"), "it loses its way: {first}");
    assert!(first["factor"].as_f64() > Some(3.0));
}

#[test]
fn the_demo_ends_in_a_comparison() {
    let output = porthole(&["demo", "--pages", "120", "--topic", "/Recreation"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in
        ["      50  █", "     120  █", "accuracy of the critic", "the focused crawl found", "times as many"]
    {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!text.contains('\x1b'), "no colours in a pipe");
    let progress = String::from_utf8(output.stderr).unwrap();
    assert!(progress.contains("trained the critic on"), "{progress}");
}

#[test]
fn the_demo_keeps_its_crawls_as_workspaces_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let kept_text = kept.to_str().unwrap();
    assert!(porthole(&["demo", "--pages", "50", "--keep", kept_text]).status.success());
    for name in ["focused", "unfocused"] {
        let workspace = kept.join(name);
        let workspace = workspace.to_str().unwrap();
        let status = json(&["-C", workspace, "status", "--json"]);
        assert!(status["pages"].as_u64() >= Some(30), "{status}");
        assert_eq!(status["warnings"], serde_json::json!([]), "{status}");
        let top = json(&["-C", workspace, "top", "pages", "--json"]);
        assert!(!top.as_array().unwrap().is_empty(), "{top}");
        let url = top[0]["url"].as_str().unwrap();
        let judged = json(&["-C", workspace, "classify", url, "--json"]);
        assert!(judged[0]["terms"].as_u64() > Some(0), "{judged}");
        let pages =
            json(&["-C", workspace, "query", "select count(*) as n from tried where state = 1", "--json"]);
        assert_eq!(pages[0]["n"], status["pages"], "{pages}");
    }
    assert!(error_of(&["demo", "--pages", "50", "--keep", kept_text]).contains("is a workspace already"));
    for nowhere in ["/Nowhere", "/"] {
        assert!(error_of(&["demo", "--topic", nowhere]).contains("/Recreation/Cycling"));
    }
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
fn parameters_of_a_synthetic_web_come_from_a_file_and_flags() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("web.toml");
    fs::write(&file, "pages = 2000\nseed = 7\nlinks = 12\n").unwrap();
    let file = file.to_str().unwrap();
    let of = |flags: &[&str]| json(&[&["lab", "synth", "--web", file, "--stats", "--json"], flags].concat());
    assert_eq!(of(&[])["pages"].as_u64(), Some(2000));
    assert_eq!(of(&["--pages", "3000"]), of(&["--pages", "3000", "--seed", "7"]));
    assert_ne!(of(&[]), of(&["--seed", "8"]));
    fs::write(file, "page = 2000\n").unwrap();
    assert!(error_of(&["lab", "synth", "--web", file, "--stats"]).contains("unknown field"));
}

#[test]
fn a_synthetic_web_is_described_shown_and_served() {
    assert!(error_of(&["lab", "synth"]).contains("--stats"));
    let stats = json(&["lab", "synth", "--pages", "3000", "--stats", "--json"]);
    assert_eq!(stats["pages"].as_u64(), Some(3000));
    assert!(stats["radius1"].as_f64() > stats["radius1_base"].as_f64());
    let labels = porthole(&["lab", "synth", "--pages", "3000", "--labels"]).stdout;
    let labels = String::from_utf8(labels).unwrap();
    let topic_of = |line: &str| line.split_once('\t').map(|(_, topic)| topic.to_owned()).unwrap();
    let cycling = labels.lines().filter(|line| topic_of(line) == "/Recreation/Cycling").count();
    assert!((20..1000).contains(&cycling) && labels.lines().count() > 2000, "{cycling} pages");

    let mut server = Command::new(env!("CARGO_BIN_EXE_porthole"))
        .args(["lab", "synth", "--pages", "3000", "--serve", "127.0.0.1:0"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    // The client closes the connection after the first line; the server must cope with that.
    BufReader::new(server.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let addr = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap().to_owned();
    let index = ask(&addr, "/");
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(index.starts_with("HTTP/1.1 200") && index.contains("/Recreation/Cycling"), "{index}");
}

#[test]
fn a_reader_that_closes_the_pipe_of_the_labels_is_no_error() {
    let mut labels = Command::new(env!("CARGO_BIN_EXE_porthole"))
        .args(["lab", "synth", "--pages", "20000", "--labels"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(labels.stdout.take());
    let output = labels.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
        return eprintln!("skipped: there is no /dev/full here");
    };
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("ws");
    let workspace = workspace.to_str().unwrap();
    assert!(porthole(&["init", workspace]).status.success());
    for arguments in [
        &["status", "--json"][..],
        &["query", "harvest", "--json"],
        &["topics", "tree"],
        &["status"],
        &["crawl", "--help"],
    ] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_porthole"));
        let output = program
            .args([&["-C", workspace], arguments].concat())
            .stdout(full.try_clone().unwrap())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("error: cannot write to standard output"), "{arguments:?}: {said}");
    }
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

#[test]
fn help_fits_a_terminal() {
    for command in [
        &["--help"][..],
        &["crawl", "--help"],
        &["start", "--help"],
        &["export", "--help"],
        &["lab", "run", "--help"],
    ] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_porthole"));
        let output = program.args(command).env("COLUMNS", "80").output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let long: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty() && help.len() > 100, "{long:#?}");
    }
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let script =
        format!("{} completions bash | head -1; echo ${{PIPESTATUS[0]}}", env!("CARGO_BIN_EXE_porthole"));
    let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!((printed.lines().last(), output.stderr.as_slice()), (Some("0"), b"".as_slice()), "{output:?}");
}

#[test]
fn packages_get_completions_and_manual_pages() {
    for shell in ["bash", "zsh", "fish"] {
        let output = porthole(&["completions", shell]);
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && script.contains("explore"), "{shell}: {script}");
    }
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man");
    assert!(porthole(&["man", pages.to_str().unwrap()]).status.success());
    let read = |name: &str| std::fs::read_to_string(pages.join(name)).unwrap();
    assert!(read("porthole.1").contains("focused crawler"));
    assert!(
        read("porthole-crawl.1").contains("\\-\\-pages") && read("porthole-topics-mark.1").contains("PATH")
    );
}
