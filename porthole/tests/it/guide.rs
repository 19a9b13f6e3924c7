//! docs/guide.md as a new user follows it: every command runs and prints what the guide shows.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Address in the guide. The test serves the web on a free port instead.
const ADDRESS: &str = "127.0.0.1:8080";

/// A command of the guide, and the lines that it shows.
struct Step {
    command: String,
    expected: Vec<String>,
}

#[test]
fn every_command_of_the_guide_prints_what_it_shows() {
    let guide =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide.md")).unwrap();
    let steps = steps(&guide);
    assert!(steps.len() > 10, "the guide has commands");
    let folder = tempfile::tempdir().unwrap();
    let (mut web, address) = serve(&guide);
    let path = Path::new(env!("CARGO_BIN_EXE_porthole")).parent().unwrap();
    // `cd` and `export` hold for the commands after them.
    let mut before = format!("PATH='{}':\"$PATH\"\n", path.display());
    for Step { command, expected } in steps {
        let command = command.replace(ADDRESS, &address);
        if command.starts_with("cd ") || command.starts_with("export ") {
            before += &format!("{command}\n");
            continue;
        }
        let script = format!("{before}exec 2>&1\n{command}");
        let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{command}\n{shown}");
        let lines: Vec<&str> = shown.lines().collect();
        assert!(
            is_shown(&lines, &expected),
            "{command}\nprinted\n{shown}\nbut the guide shows\n{}",
            expected.join("\n")
        );
    }
    web.kill().unwrap();
    web.wait().unwrap();
}

/// Starts the web with the command of the guide, on a free port. Returns its address.
fn serve(guide: &str) -> (Child, String) {
    let command = guide.lines().find(|line| line.starts_with("porthole lab synth")).unwrap();
    let arguments = command.replace(ADDRESS, "127.0.0.1:0");
    let mut web = Command::new(env!("CARGO_BIN_EXE_porthole"))
        .args(arguments.split(' ').skip(1))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(web.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
    (web, address)
}

/// The commands in the `console` blocks of a text.
fn steps(guide: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_console = false;
    for line in guide.lines() {
        match (line.strip_prefix("$ "), line.strip_prefix("```")) {
            (_, Some(kind)) => is_console = !is_console && kind == "console",
            (Some(command), _) if is_console => {
                steps.push(Step { command: command.to_owned(), expected: Vec::new() });
            }
            _ if is_console => steps.last_mut().unwrap().expected.push(line.to_owned()),
            _ => {}
        }
    }
    steps
}

/// Whether lines are as expected. `…` alone stands for any number of lines, within a line for any text.
fn is_shown(lines: &[&str], expected: &[String]) -> bool {
    let Some((first, rest)) = expected.split_first() else { return lines.is_empty() };
    if first == "…" {
        return (0..=lines.len()).any(|skipped| is_shown(&lines[skipped..], rest));
    }
    lines.split_first().is_some_and(|(line, others)| is_like(line, first) && is_shown(others, rest))
}

fn is_like(line: &str, expected: &str) -> bool {
    let mut parts = expected.split('…');
    let Some(mut rest) = parts.next().and_then(|start| line.strip_prefix(start)) else { return false };
    let mut last = None;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        last = Some(part);
    }
    rest.is_empty() || last == Some("")
}

#[test]
fn patterns_match_whole_lines() {
    for (line, pattern, expected) in [
        ("pages 60", "pages 60", true),
        ("pages 60", "pages 6", false),
        ("exported 12 rows to a", "exported … rows to a", true),
        ("exported 12 rows to b", "exported … rows to a", false),
        ("rate 0.71", "rate 0.…", true),
    ] {
        assert_eq!(is_like(line, pattern), expected, "{line} as {pattern}");
    }
    let expected = ["a", "…", "d"].map(str::to_owned);
    assert!(is_shown(&["a", "b", "c", "d"], &expected) && is_shown(&["a", "d"], &expected));
    assert!(!is_shown(&["a", "b"], &expected) && !is_shown(&["a", "d", "e"], &expected));
}
