//! A critic that is another program: a line of JSON about a page goes in, a line with the judgment comes out.
//!
//! ```text
//! to the program     {"url":"http://a.test/","title":"Owls","language":"en","text":"The snowy owl …"}
//! from the program   {"relevance":0.93,"topic":"/Science/Biology/Birds"}
//! ```
//! One line for each page, in the order of the pages; `topic` may be left out. What the program says on standard error
//! goes to ours.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use porthole_page::Page;
use porthole_topic::{JudgeError, RelevanceJudge, Taxonomy};
use porthole_types::{CanonicalUrl, Judgment, TopicId};
use serde::{Deserialize, Serialize};

/// A program that judges pages. It is started once and ended when this is dropped.
pub struct ExternalCritic {
    name: String,
    program: Child,
    /// Lines for the program go through a thread, so that one that does not read cannot hold us up. `None` once it
    /// has failed: what it says later could be about another page.
    lines: Option<Lines>,
    tree: Taxonomy,
    patience: Duration,
}

struct Lines {
    to: std::sync::mpsc::SyncSender<Vec<u8>>,
    from: Receiver<Result<String, String>>,
}

/// Bytes of an answer: far above what one needs.
const LONGEST_ANSWER: u64 = 64 << 10;

/// Bytes of a page's text that the program is given.
const MOST_TEXT: usize = 1 << 20;

#[derive(Serialize)]
struct JudgeRequest<'a> {
    url: &'a str,
    title: &'a str,
    language: &'a str,
    text: &'a str,
}

#[derive(Deserialize)]
struct Answer {
    relevance: f64,
    #[serde(default)]
    topic: Option<String>,
}

impl ExternalCritic {
    /// Starts a program with its arguments. Topics in its answers are looked up in the tree; an answer that takes
    /// longer than `patience` is an error.
    pub fn start(command: &[String], tree: Taxonomy, patience: Duration) -> Result<Self, JudgeError> {
        let name = command.first().cloned().unwrap_or_default();
        let failed = |what: String| JudgeError { who: name.clone(), what };
        let mut program = Command::new(&name)
            .args(command.get(1..).unwrap_or(&[]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(format!("cannot be started: {error}")))?;
        let (Some(stdin), Some(stdout)) = (program.stdin.take(), program.stdout.take()) else {
            return Err(failed("cannot be spoken to".to_owned()));
        };
        let lines = Some(Lines { to: writing(stdin), from: reading(stdout) });
        Ok(ExternalCritic { name, program, lines, tree, patience })
    }

    fn ask(&self, question: &JudgeRequest<'_>) -> Result<Judgment, String> {
        let lines = self.lines.as_ref().ok_or("has failed before; start it again")?;
        let mut line = serde_json::to_vec(question).map_err(|error| error.to_string())?;
        line.push(b'\n');
        // A full channel or a closed one shows in the answer that does not come.
        let _ = lines.to.try_send(line);
        let answer = match lines.from.recv_timeout(self.patience) {
            Ok(answer) => answer?,
            Err(RecvTimeoutError::Timeout) => {
                return Err(format!(
                    "gave no answer in {} s about {}",
                    self.patience.as_secs_f64(),
                    question.url
                ));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(format!("ended, asked about {}", question.url));
            }
        };
        self.judgment(&answer)
    }

    fn judgment(&self, line: &str) -> Result<Judgment, String> {
        let shown: String = line.chars().take(80).collect();
        let answer: Answer = serde_json::from_str(line)
            .map_err(|error| format!("answered {shown:?}, which is not {{\"relevance\": 0.5}}: {error}"))?;
        if !(0.0..=1.0).contains(&answer.relevance) {
            return Err(format!("answered {shown:?}: relevance is a probability from 0 to 1"));
        }
        let best = match &answer.topic {
            Some(path) => self.tree.find(path).map_err(|error| format!("answered {shown:?}: {error}"))?,
            None => TopicId::ROOT,
        };
        Ok(Judgment { relevance: answer.relevance, best })
    }
}

impl RelevanceJudge for ExternalCritic {
    fn judge_page(&mut self, url: &CanonicalUrl, page: &Page) -> Result<Judgment, JudgeError> {
        let text = &page.text[..page.text.floor_char_boundary(MOST_TEXT)];
        let question = JudgeRequest { url: url.as_str(), title: &page.title, language: page.language, text };
        self.ask(&question).map_err(|what| {
            self.lines = None;
            JudgeError { who: self.name.clone(), what }
        })
    }
}

impl Drop for ExternalCritic {
    fn drop(&mut self) {
        // Its input ends first, so that a program that listens can end by itself; one that does not is stopped.
        self.lines = None;
        for _ in 0..20 {
            if matches!(self.program.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn writing(mut stdin: ChildStdin) -> std::sync::mpsc::SyncSender<Vec<u8>> {
    let (to, lines) = sync_channel::<Vec<u8>>(1);
    thread::spawn(move || {
        while let Ok(line) = lines.recv() {
            if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
                return;
            }
        }
    });
    to
}

fn reading(stdout: impl Read + Send + 'static) -> Receiver<Result<String, String>> {
    let (to, lines) = sync_channel(1);
    thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        loop {
            let mut line = String::new();
            let read = match (&mut stdout).take(LONGEST_ANSWER).read_line(&mut line) {
                Ok(0) => return,
                Ok(_) if line.ends_with('\n') => Ok(line),
                Ok(_) => {
                    Err(format!("ended within a line, or answered with more than {LONGEST_ANSWER} bytes"))
                }
                Err(error) => Err(format!("answered with something that is no text: {error}")),
            };
            let is_last = read.is_err();
            if to.send(read).is_err() || is_last {
                return;
            }
        }
    });
    lines
}

#[cfg(all(test, unix))]
mod tests {
    use porthole_page::Extractor;
    use porthole_types::Headers;

    use super::*;

    /// Asks a shell script about a page, twice.
    fn ask(script: &str, patience: Duration) -> [Result<Judgment, String>; 2] {
        let mut tree = Taxonomy::new();
        tree.add_path("/Birds").unwrap();
        let command = ["sh", "-c", script].map(str::to_owned);
        let mut critic = ExternalCritic::start(&command, tree, patience).unwrap();
        let url = CanonicalUrl::parse("http://a.test/").unwrap();
        let html = format!("<title>Owls</title><p>{}", "An owl \"in\" a tree.\n".repeat(20_000));
        let page = Extractor::default().extract(&url, &Headers::new(), html.as_bytes());
        [(); 2].map(|()| critic.judge_page(&url, &page).map_err(|error| error.to_string()))
    }

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn a_program_judges_line_by_line() {
        let script = r#"while read -r line; do case "$line" in
            *'"url":"http://a.test/","title":"Owls",'*'"text":"An owl '*) echo '{"relevance":0.75,"topic":"/Birds"}';;
            *) echo '{"relevance":0}';; esac; done"#;
        for judged in ask(script, SOON) {
            assert_eq!(judged, Ok(Judgment { relevance: 0.75, best: TopicId(1) }));
        }
    }

    #[test]
    fn whatever_a_program_does_is_an_error_in_words() {
        let check = |script: &str, words: &str| {
            let [first, second] = ask(script, SOON);
            let message = first.unwrap_err();
            assert!(message.contains(words), "{message:?} does not say {words:?}");
            assert!(second.unwrap_err().contains("has failed before"));
        };
        check("exit 3", "ended");
        check("read -r line; echo yes; cat >/dev/null", "answered \"yes\\n\", which is not");
        check("read -r line; echo '{\"relevance\":1.5}'; cat >/dev/null", "a probability from 0 to 1");
        check("read -r line; echo '{\"relevance\":1,\"topic\":\"/Bees\"}'; cat >/dev/null", "no topic /Bees");
        check("read -r line; yes | tr -d '\\n' | head -c 100000; cat >/dev/null", "more than 65536 bytes");
        check("read -r line; printf '\\377\\n'; cat >/dev/null", "no text");
    }

    #[test]
    fn a_program_that_sleeps_is_given_up() {
        let [first, _] = ask("exec sleep 60", Duration::from_millis(50));
        assert!(first.unwrap_err().contains("gave no answer in 0.05 s about http://a.test/"));
    }

    #[test]
    fn a_program_that_is_not_there() {
        let command = ["/no/such/program".to_owned()];
        let error = ExternalCritic::start(&command, Taxonomy::new(), SOON).map(drop).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/program: cannot be started"));
    }
}
