//! The program's own commands as child processes: what changes a workspace is done by them.
//!
//! Arguments are a list and never pass through a shell. Values of requests follow `--` or are glued to their option
//! (`--name=value`), so that none of them can become an option.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

use crate::error::{Answer, ApiError};

/// Commands that are answered in the same request and may run at once.
const SHORT_COMMANDS: usize = 8;

/// Time for a command that is answered in the same request.
const SHORT_TIME: Duration = Duration::from_secs(120);

/// A command of the program with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct ProgramCall {
    arguments: Vec<OsString>,
    /// As a user would type it.
    shown: String,
    input: Option<Vec<u8>>,
    /// File that receives the standard output.
    pub(crate) output: Option<PathBuf>,
}

impl ProgramCall {
    /// A command without a workspace: `porthole init …`.
    pub(crate) fn new(command: &[&str]) -> ProgramCall {
        let call =
            ProgramCall { arguments: Vec::new(), shown: "porthole".to_owned(), input: None, output: None };
        command.iter().fold(call, |call, word| call.word(word))
    }

    /// A command in a workspace.
    pub(crate) fn within(name: &str, folder: &Path, command: &[&str]) -> ProgramCall {
        let mut call = ProgramCall::new(&["-C"]).path(folder, name);
        for word in command {
            call = call.word(word);
        }
        call
    }

    /// Adds words of the command itself; never values of a request.
    pub(crate) fn word(mut self, word: &str) -> ProgramCall {
        self.arguments.push(word.into());
        self.show(word);
        self
    }

    /// Adds an option that is not shown, because it only changes the form of the output.
    pub(crate) fn hidden(mut self, word: &str) -> ProgramCall {
        self.arguments.push(word.into());
        self
    }

    /// Adds an option with a value of a request.
    pub(crate) fn option(mut self, name: &str, value: &str) -> ProgramCall {
        self.arguments.push(format!("--{name}={value}").into());
        self.show(&format!("--{name}={value}"));
        self
    }

    /// Adds an option if there is a value.
    pub(crate) fn optional(self, name: &str, value: Option<impl ToString>) -> ProgramCall {
        match value {
            Some(value) => self.option(name, &value.to_string()),
            None => self,
        }
    }

    /// Adds positional values of a request. No options may follow.
    pub(crate) fn values<S: AsRef<str>>(mut self, values: impl IntoIterator<Item = S>) -> ProgramCall {
        if !self.arguments.iter().any(|argument| argument == "--") {
            self.arguments.push("--".into());
        }
        for value in values {
            self.arguments.push(value.as_ref().into());
            self.show(value.as_ref());
        }
        self
    }

    /// Adds a path of the server, and what is shown instead.
    pub(crate) fn path(mut self, path: &Path, shown: &str) -> ProgramCall {
        self.arguments.push(path.into());
        self.show(shown);
        self
    }

    /// Sets the standard input.
    pub(crate) fn input(mut self, bytes: Vec<u8>) -> ProgramCall {
        self.input = Some(bytes);
        self
    }

    /// Writes the standard output to a file.
    pub(crate) fn into_file(mut self, file: PathBuf) -> ProgramCall {
        self.output = Some(file);
        self
    }

    /// The command as a user would type it.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    fn show(&mut self, word: &str) {
        self.shown.push(' ');
        let is_plain = |c: char| c.is_alphanumeric() || "/_-.,:=?&%+".contains(c);
        if !word.is_empty() && word.chars().all(is_plain) && !word.contains(['?', '&']) {
            self.shown.push_str(word);
        } else {
            self.shown.push_str(&format!("'{}'", word.replace('\'', r"'\''")));
        }
    }
}

/// Output of a command that has ended.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl CommandOutput {
    /// The JSON that the command printed.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or(Value::Null)
    }

    /// What the command said to people.
    pub(crate) fn said(&self) -> String {
        let lines = self.stdout.lines().chain(self.stderr.lines());
        lines.filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The error that the command ended with.
    pub(crate) fn error(&self) -> String {
        error_line(self.stderr.lines()).unwrap_or_else(|| match self.code {
            Some(code) => format!("the command ended with code {code}"),
            None => "the command was killed".to_owned(),
        })
    }
}

/// The last error that a command printed; it may have several lines.
pub(crate) fn error_line<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let lines: Vec<&str> = lines.collect();
    let last = lines.iter().rposition(|line| line.starts_with("error: "))?;
    let message = lines[last..].join("\n");
    let message = message.trim_start_matches("error: ").trim().to_owned();
    Some(message.split("\n\nUsage:").next().unwrap_or_default().to_owned())
}

/// Runs commands of the program.
pub(crate) struct ProgramRunner {
    executable: PathBuf,
    places: Semaphore,
}

impl ProgramRunner {
    pub(crate) fn new(executable: PathBuf) -> ProgramRunner {
        ProgramRunner { executable, places: Semaphore::new(SHORT_COMMANDS) }
    }

    /// Starts a command. It has a process group of its own, so that Ctrl-C reaches it through the server only.
    pub(crate) fn start(&self, call: &ProgramCall) -> Answer<Child> {
        let output = match &call.output {
            None => Stdio::piped(),
            Some(path) => match std::fs::File::create(path) {
                Ok(file) => file.into(),
                Err(error) => return Err(ApiError::failed(format!("cannot write the file: {error}"))),
            },
        };
        let mut command = Command::new(&self.executable);
        command
            .args(&call.arguments)
            .stdin(if call.input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(output)
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child =
            command.spawn().map_err(|error| ApiError::internal(format!("cannot run porthole: {error}")))?;
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), call.input.clone()) {
            tokio::spawn(async move {
                // A command that ends early closes it.
                let _ = stdin.write_all(&input).await;
            });
        }
        Ok(child)
    }

    /// Runs a command to its end.
    pub(crate) async fn finish(&self, call: &ProgramCall) -> Answer<CommandOutput> {
        let Ok(_place) = self.places.try_acquire() else {
            return Err(ApiError::busy("too many commands are running"));
        };
        let child = self.start(call)?;
        match tokio::time::timeout(SHORT_TIME, child.wait_with_output()).await {
            Err(_) => Err(ApiError::failed("the command took too long and was stopped")),
            Ok(Err(error)) => Err(ApiError::internal(format!("cannot run porthole: {error}"))),
            Ok(Ok(output)) => Ok(CommandOutput {
                code: output.status.code(),
                stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            }),
        }
    }

    /// Runs a command that has to succeed.
    pub(crate) async fn succeed(&self, call: &ProgramCall) -> Answer<CommandOutput> {
        let output = self.finish(call).await?;
        if output.code == Some(0) { Ok(output) } else { Err(ApiError::failed(output.error())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_become_options() {
        let call = ProgramCall::within("owls", Path::new("/srv/owls"), &["topics", "mark"])
            .hidden("--json")
            .option("topic", "--help")
            .values(["--none", "/A b"]);
        assert_eq!(
            call.arguments,
            ["-C", "/srv/owls", "topics", "mark", "--json", "--topic=--help", "--", "--none", "/A b"]
        );
        assert_eq!(call.shown(), "porthole -C owls topics mark --topic=--help --none '/A b'");
    }

    #[test]
    fn errors_are_found_in_the_output() {
        let output =
            |stderr: &str| CommandOutput { code: Some(4), stdout: String::new(), stderr: stderr.into() };
        assert_eq!(output("note\nerror: no topic /X\n").error(), "no topic /X");
        assert_eq!(output("error: bad value\n\nUsage: porthole\n").error(), "bad value");
        assert_eq!(output("").error(), "the command ended with code 4");
    }
}
