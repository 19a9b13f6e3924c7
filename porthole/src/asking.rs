//! Questions to the user at the terminal.

use std::io::{IsTerminal, Write};

use crate::{output, terminal};

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
    let question = output::fitted(question, terminal::stderr_width());
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

/// Asks until `understood` takes the answer; what it says against one is printed. `None` at the end of input.
pub(crate) async fn ask_until<T>(
    question: &str,
    understood: impl FnMut(&str) -> Result<T, String>,
) -> Option<T> {
    until_understood(async || ask(question).await, understood).await
}

async fn until_understood<T>(
    mut answer: impl AsyncFnMut() -> Option<String>,
    mut understood: impl FnMut(&str) -> Result<T, String>,
) -> Option<T> {
    loop {
        match understood(&answer().await?) {
            Ok(understood) => return Some(understood),
            Err(why) => output::say(&why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wrong_answer_is_asked_again() {
        let mut answers = ["9", "x", "2"].into_iter();
        let number =
            |answer: &str| answer.parse::<u8>().ok().filter(|&n| n < 3).ok_or_else(|| "1 or 2".to_owned());
        let understood = until_understood(async || answers.next().map(str::to_owned), number).await;
        assert_eq!((understood, answers.next()), (Some(2), None));
        assert_eq!(until_understood(async || None, number).await, None, "the input has ended");
    }
}
