//! Questions to the user at the terminal.

use std::io::{IsTerminal, Write};

/// Exit code of an interrupted command.
pub(crate) const INTERRUPTED: u8 = 11;

/// Whether a user can be asked: both standard input and standard error are terminals.
pub(crate) fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question and reads one line; `None` at the end of input. Ctrl-C ends the program, so callers store their
/// results before they ask.
pub(crate) async fn ask(question: &str) -> Option<String> {
    let mut stderr = std::io::stderr();
    let _ = write!(stderr, "{question} ").and_then(|()| stderr.flush());
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line).unwrap_or(0);
        (read > 0).then(|| line.trim().to_owned())
    });
    tokio::select! {
        answer = answer => answer.ok().flatten(),
        _ = tokio::signal::ctrl_c() => {
            let _ = writeln!(stderr);
            std::process::exit(INTERRUPTED.into())
        }
    }
}
