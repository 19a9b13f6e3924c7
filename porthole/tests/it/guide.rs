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

/// Pages whose examples are commands as they are typed. docs/commands.md shows how commands are put together instead.
const PAGES: [&str; 7] = [
    "README.md",
    "docs/guide.md",
    "docs/export.md",
    "docs/search.md",
    "docs/upkeep.md",
    "docs/dashboard.md",
    "docs/lab.md",
];

/// What needs a web or a workspace is not run, but the program must know all arguments that are before `--help`.
#[test]
fn every_command_of_the_documentation_is_known() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut known = 0;
    for page in PAGES {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        for command in commands(&text) {
            let mut arguments = words(&command);
            arguments.push("--help".to_owned());
            let program = Command::new(env!("CARGO_BIN_EXE_porthole")).args(&arguments).output().unwrap();
            assert!(
                program.status.success(),
                "{page}: porthole {command}\n{}",
                String::from_utf8_lossy(&program.stderr)
            );
            known += 1;
        }
    }
    assert!(known > 50, "only {known} commands were found");
}

/// The arguments of the commands in code blocks, and of those in the text that have some.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            let command = line.strip_prefix("$ ").unwrap_or(line).strip_prefix("porthole ");
            // What follows a wide space or a `#` explains it.
            let command =
                command.map(|command| command.split("   ").next().unwrap().split(" #").next().unwrap());
            found.extend(command.map(|command| command.trim().to_owned()));
        } else {
            let quoted = line.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("porthole "));
            let is_whole = |command: &&str| {
                !command.contains(['…', '|', '['])
                    && !command.ends_with(" FORMAT")
                    && !command.ends_with(" NAME")
            };
            found.extend(quoted.filter(is_whole).map(str::to_owned));
        }
    }
    found
}

/// The words of a command line, with quotes as a shell reads them.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
