//! Questions to the person at the terminal.

use std::io::{IsTerminal, Write};

/// The exit code of a command that was interrupted.
pub(crate) const INTERRUPTED: u8 = 11;

/// Whether there is somebody to ask.
pub(crate) fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks, and waits for a line; `None` if there will be none. Ctrl-C ends the program: what there is to keep is kept
/// before anything is asked.
pub(crate) async fn ask(question: &str) -> Option<String> {
    let mut said = std::io::stderr();
    let _ = write!(said, "{question} ").and_then(|()| said.flush());
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line).unwrap_or(0);
        (read > 0).then(|| line.trim().to_owned())
    });
    tokio::select! {
        answer = answer => answer.ok().flatten(),
        _ = tokio::signal::ctrl_c() => {
            let _ = writeln!(said);
            std::process::exit(INTERRUPTED.into())
        }
    }
}
