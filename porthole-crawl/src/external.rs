//! A critic that is an external program: one line of JSON per page goes in, one line with the judgment comes out.
//!
//! ```text
//! to the program     {"url":"http://a.test/","title":"Owls","language":"en","text":"The snowy owl …"}
//! from the program   {"relevance":0.93,"topic":"/Science/Biology/Birds"}
//! ```
//! One line per page, in order. `topic` is optional. Standard error is inherited.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use porthole_page::Page;
use porthole_topic::{JudgeError, RelevanceJudge, Taxonomy};
use porthole_types::{CanonicalUrl, Judgment, TopicId};
use serde::{Deserialize, Serialize};

/// A program that judges pages. If it hangs, ends or answers nonsense it is killed, restarted and asked again. When
/// this is dropped, it is killed with all processes it started.
pub struct ExternalCritic {
    command: Vec<String>,
    /// `None` after a failure: a late answer could belong to another page.
    running: Option<RunningProgram>,
    tree: Taxonomy,
    patience: Duration,
    is_cancelled: Arc<AtomicBool>,
    /// When it last failed after all retries.
    failed_at: Option<Instant>,
}

/// A running program, in its own process group.
struct RunningProgram {
    program: Child,
    /// Lines to the program go through a thread, so that a program that does not read cannot block the crawl.
    lines: Option<Lines>,
}

struct Lines {
    to: SyncSender<Vec<u8>>,
    from: Receiver<Result<String, String>>,
}

/// How often the program is asked about a page.
const TRIES: usize = 3;

/// After an error it is not restarted for this long, because waiting pages come back at once.
const REST: Duration = Duration::from_secs(1);

/// How often cancellation is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Maximum size of an answer in bytes, far above what is needed.
const MAX_ANSWER_BYTES: u64 = 64 << 10;

/// Maximum size of the page text passed to the program.
const MAX_TEXT_BYTES: usize = 1 << 20;

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
    /// Starts a program with its arguments. Topics in its answers are looked up in `tree`. An answer that takes
    /// longer than `patience` is an error.
    pub fn start(command: &[String], tree: Taxonomy, patience: Duration) -> Result<Self, JudgeError> {
        let mut critic = ExternalCritic {
            command: command.to_vec(),
            running: None,
            tree,
            patience,
            is_cancelled: Arc::default(),
            failed_at: None,
        };
        match RunningProgram::start(command) {
            Ok(running) => critic.running = Some(running),
            Err(what) => return Err(critic.error(what)),
        }
        Ok(critic)
    }

    fn error(&self, what: String) -> JudgeError {
        let name = match self.command.as_slice() {
            [_, option, script] if option == "-c" => script,
            command => command.first().map_or("", String::as_str),
        };
        JudgeError { who: format!("the judge `{name}`"), what }
    }

    fn ask(&mut self, question: &JudgeRequest<'_>) -> Result<Judgment, String> {
        if self.failed_at.is_some_and(|at| at.elapsed() < REST) {
            return Err("failed before and was not restarted".to_owned());
        }
        let mut why = String::new();
        for _ in 0..TRIES {
            if self.is_cancelled.load(Ordering::Relaxed) {
                return Err("was cancelled".to_owned());
            }
            match self.ask_once(question) {
                Ok(judgment) => return Ok(judgment),
                Err(failed) => (self.running, why) = (None, failed),
            }
        }
        self.failed_at = Some(Instant::now());
        Err(why)
    }

    fn ask_once(&mut self, question: &JudgeRequest<'_>) -> Result<Judgment, String> {
        let running = match self.running.take() {
            Some(running) => running,
            None => RunningProgram::start(&self.command)?,
        };
        let answer = self.running.insert(running).ask(question, self.patience, &self.is_cancelled)?;
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
        let text = &page.text[..page.text.floor_char_boundary(MAX_TEXT_BYTES)];
        let question = JudgeRequest { url: url.as_str(), title: &page.title, language: page.language, text };
        self.ask(&question).map_err(|what| self.error(what))
    }

    fn canceller(&self) -> Option<Arc<AtomicBool>> {
        Some(self.is_cancelled.clone())
    }
}

impl RunningProgram {
    fn start(command: &[String]) -> Result<Self, String> {
        let name = command.first().map(String::as_str).unwrap_or_default();
        let mut builder = Command::new(name);
        builder.args(command.get(1..).unwrap_or(&[])).stdin(Stdio::piped()).stdout(Stdio::piped());
        // A process group, so that child processes can be killed too.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut builder, 0);
        let mut program = builder.spawn().map_err(|error| format!("cannot be started: {error}"))?;
        match (program.stdin.take(), program.stdout.take()) {
            (Some(stdin), Some(stdout)) => {
                let lines = Some(Lines { to: writing(stdin), from: reading(stdout) });
                Ok(RunningProgram { program, lines })
            }
            _ => Err("has no standard input or output".to_owned()),
        }
    }

    /// Sends a line and waits for the answer.
    fn ask(
        &self,
        question: &JudgeRequest<'_>,
        patience: Duration,
        is_cancelled: &AtomicBool,
    ) -> Result<String, String> {
        let lines = self.lines.as_ref().ok_or("has ended")?;
        let mut line = serde_json::to_vec(question).map_err(|error| error.to_string())?;
        line.push(b'\n');
        // A full or closed channel results in a missing answer.
        let _ = lines.to.try_send(line);
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match lines.from.recv_timeout(left.min(POLL_INTERVAL)) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if is_cancelled.load(Ordering::Relaxed) => {
                    return Err("was cancelled".to_owned());
                }
                Err(RecvTimeoutError::Timeout) if left > POLL_INTERVAL => {}
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = patience.as_secs_f64();
                    return Err(format!("gave no answer in {seconds} s about {}", question.url));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("ended when it was asked about {}", question.url));
                }
            }
        }
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        // Close its input first, so that a program that reads can end by itself. Otherwise it is killed.
        self.lines = None;
        for _ in 0..20 {
            if matches!(self.program.try_wait(), Ok(Some(_)) | Err(_)) {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        // Its child processes are killed too, even if it has ended.
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.program.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn writing(mut stdin: ChildStdin) -> SyncSender<Vec<u8>> {
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
            let read = match (&mut stdout).take(MAX_ANSWER_BYTES).read_line(&mut line) {
                Ok(0) => return,
                Ok(_) if line.ends_with('\n') => Ok(line),
                Ok(_) => Err(format!("ended within a line, or its answer exceeds {MAX_ANSWER_BYTES} bytes")),
                Err(error) => Err(format!("its answer is not valid UTF-8: {error}")),
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
    fn misbehaving_programs_are_reported() {
        let check = |script: &str, words: &str| {
            let [first, second] = ask(script, SOON);
            let message = first.unwrap_err();
            assert!(message.contains(words), "{message:?} does not contain {words:?}");
            assert!(second.unwrap_err().contains("failed before and was not restarted"));
        };
        check("exit 3", "the judge `exit 3`: ended when it was asked about http://a.test/");
        check("read -r line; echo yes; cat >/dev/null", "answered \"yes\\n\", which is not");
        check("read -r line; echo '{\"relevance\":1.5}'; cat >/dev/null", "a probability from 0 to 1");
        check("read -r line; echo '{\"relevance\":1,\"topic\":\"/Bees\"}'; cat >/dev/null", "no topic /Bees");
        check("read -r line; yes | tr -d '\\n' | head -c 100000; cat >/dev/null", "exceeds 65536 bytes");
        check("read -r line; printf '\\377\\n'; cat >/dev/null", "not valid UTF-8");
    }

    #[test]
    fn a_program_that_hangs_is_killed() {
        let [first, _] = ask("exec sleep 60", Duration::from_millis(50));
        assert!(first.unwrap_err().contains("gave no answer in 0.05 s about http://a.test/"));
    }

    #[test]
    fn a_program_that_fails_once_is_restarted() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("mark");
        for bad in ["exit 1", "exec sleep 60"] {
            let _ = std::fs::remove_file(&mark);
            let script = format!(
                "if ! test -e {0}; then touch {0}; {bad}; fi; while read -r line; do echo '{{\"relevance\":0.5}}'; done",
                mark.display()
            );
            for judged in ask(&script, Duration::from_secs(2)) {
                assert_eq!(judged, Ok(Judgment { relevance: 0.5, best: TopicId::ROOT }), "{bad}");
            }
        }
    }

    #[test]
    fn child_processes_are_killed_with_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let script = format!(
            "sleep 1000 & echo $! >{}; while read -r line; do echo '{{\"relevance\":1}}'; done",
            pid.display()
        );
        assert!(ask(&script, SOON).iter().all(Result::is_ok));
        // The critic is dropped. Its child must be gone, or a zombie that nobody has reaped.
        let pid = std::fs::read_to_string(pid).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        let is_gone =
            || matches!(state().rsplit(") ").next().and_then(|rest| rest.chars().next()), None | Some('Z'));
        while !is_gone() {
            thread::yield_now();
        }
    }

    #[test]
    fn a_judgment_can_be_cancelled() {
        let command = ["sh", "-c", "exec sleep 1000"].map(str::to_owned);
        let mut critic =
            ExternalCritic::start(&command, Taxonomy::new(), Duration::from_secs(1_000)).unwrap();
        critic.canceller().unwrap().store(true, Ordering::Relaxed);
        let url = CanonicalUrl::parse("http://a.test/").unwrap();
        let page = Extractor::default().extract(&url, &Headers::new(), b"<p>owl");
        let error = critic.judge_page(&url, &page).unwrap_err().to_string();
        assert!(error.contains("was cancelled"), "{error}");
    }

    #[test]
    fn a_missing_program_is_reported() {
        let command = ["/no/such/program".to_owned()];
        let error = ExternalCritic::start(&command, Taxonomy::new(), SOON).map(drop).unwrap_err();
        assert!(error.to_string().starts_with("the judge `/no/such/program`: cannot be started"), "{error}");
    }
}
