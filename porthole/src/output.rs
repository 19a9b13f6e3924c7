//! Output of the program: text, tables, JSON, progress and errors.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, Instant};

use comfy_table::{CellAlignment, Table, presets};
use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use porthole_topic::TaxonomyError;
use serde::Serialize;

use crate::terminal;
pub(crate) use crate::terminal::plain;

/// Exit code for wrong arguments or settings.
pub(crate) const BAD_CONFIGURATION: u8 = 4;

/// Prints an error and returns its exit code.
pub(crate) fn failed(error: &anyhow::Error) -> ExitCode {
    say(&format!("error: {}", in_words(error)));
    let is_misuse =
        |cause: &(dyn std::error::Error + 'static)| cause.is::<Misuse>() || cause.is::<TaxonomyError>();
    if error.chain().any(is_misuse) { BAD_CONFIGURATION.into() } else { ExitCode::FAILURE }
}

/// An error of the user: wrong arguments or settings; ends with [`BAD_CONFIGURATION`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Misuse(String);

/// Makes an error of the user.
pub(crate) fn misuse(what: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Misuse(what.into()))
}

/// An error with its causes; a cause that the text already contains is not repeated.
pub(crate) fn in_words(error: &anyhow::Error) -> String {
    let mut words = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if words.is_empty() {
            words = cause;
        } else if !words.contains(&cause) {
            words.push_str(&format!(": {cause}"));
        }
    }
    words
}

/// Prints to standard output, on a terminal wrapped between words. [`flush`] fails if that was not possible.
pub(crate) fn print(text: &str) {
    note_failure(print_line(&fitted(text, terminal::stdout_width())));
}

/// The first failure to write to standard output.
static WRITE_FAILURE: OnceLock<std::io::Error> = OnceLock::new();

/// Remembers a failure to print for [`flush`]. A reader that closes the pipe has enough.
pub(crate) fn note_failure(printed: std::io::Result<()>) {
    if let Err(error) = printed
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        let _ = WRITE_FAILURE.set(error);
    }
}

/// Writes what standard output has buffered. Fails if any of the output could not be written.
pub(crate) fn flush() -> anyhow::Result<()> {
    note_failure(std::io::stdout().flush());
    match WRITE_FAILURE.get() {
        None => Ok(()),
        Some(error) => Err(anyhow::anyhow!(
            "cannot write to standard output: {error}; write the output to another place and run the command again"
        )),
    }
}

/// Prints a message to standard error, on a terminal wrapped between words; a closed pipe is not an error.
pub(crate) fn say(text: &str) {
    // Above the progress that any thread may show; otherwise its lines would be mixed with the text.
    BARS.suspend(|| {
        let _ = writeln!(std::io::stderr(), "{}", fitted(text, terminal::stderr_width()));
    });
}

/// The progress bars on the terminal.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Text without characters that a terminal would act on, wrapped between words if there is a width.
pub(crate) fn fitted(text: &str, width: Option<usize>) -> String {
    let text = terminal::harmless(text);
    width.map_or_else(|| text.to_string(), |width| terminal::wrapped(&text, width))
}

/// Prints lines for programs to standard output, never wrapped. Fails if standard output is closed.
pub(crate) fn print_line(text: &str) -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{}", terminal::harmless(text))
}

/// Prints many lines for programs. A reader that closes the pipe has enough of them; any other failure is an error.
pub(crate) fn print_lines(lines: impl Iterator<Item = String>) -> std::io::Result<()> {
    for line in lines {
        match print_line(&line) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => break,
            printed => printed?,
        }
    }
    Ok(())
}

/// Prints a value as JSON.
pub(crate) fn print_json(facts: &impl Serialize) -> anyhow::Result<()> {
    note_failure(print_line(&terminal::escaped_json(&serde_json::to_string_pretty(facts)?)));
    Ok(())
}

/// Prints labels on the left and values on the right.
pub(crate) fn print_rows(rows: &[(String, String)]) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for (label, value) in rows {
        table.add_row([label.clone(), grouped(value)]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    print(&table.to_string());
}

/// Prints a table with a header; all columns but the first are right-aligned.
pub(crate) fn print_table(head: &[&str], rows: &[Vec<String>]) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(head);
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| grouped(cell)).collect()).collect();
    for row in &rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let head: Vec<String> = head.iter().map(|&name| name.to_owned()).collect();
    print(&terminal::table_or_lists(table.to_string(), &head, &rows, terminal::stdout_width()));
}

/// A whole number with thousands separators; other text unchanged.
pub(crate) fn grouped(text: &str) -> String {
    if text.len() < 4 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() * 4 / 3);
    for (index, digit) in text.chars().enumerate() {
        if index > 0 && (text.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A share in 0..=1 as a bar of 40 characters.
pub(crate) fn bar(share: f64) -> String {
    bar_of(share, 40)
}

/// A share in 0..=1 as a bar of `width` characters.
pub(crate) fn bar_of(share: f64, width: usize) -> String {
    let filled = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    format!("{}{}", "\u{2588}".repeat(filled), "\u{2591}".repeat(width - filled))
}

/// The first lines of a list, and the number of those that are not shown.
pub(crate) fn some_of<T>(all: &[T], count: usize, line: impl Fn(&T) -> String) -> Vec<String> {
    const SHOWN: usize = 20;
    let mut lines: Vec<String> =
        all.iter().take(SHOWN).map(|item| format!("  {}", plain(&line(item)))).collect();
    if count > lines.len() {
        lines.push(format!("  … and {} more", grouped(&(count - lines.len()).to_string())));
    }
    lines
}

/// A number with its noun: `1 topic`, `2,000 topics`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(&number.to_string()))
}

/// A path quoted for a shell.
pub(crate) fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/_-.,".contains(c);
    if path.chars().all(is_plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// Text styles, on terminals without `NO_COLOR`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Paint {
    Good,
    Bad,
    Faint,
    Strong,
}

impl Paint {
    pub(crate) fn on(self, text: &str) -> String {
        let code = match self {
            _ if !has_colours() => return text.to_owned(),
            Paint::Good => "32;1",
            Paint::Bad => "31;1",
            Paint::Faint => "2",
            Paint::Strong => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

fn has_colours() -> bool {
    static COLOURS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *COLOURS.get_or_init(|| {
        let is_off = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        std::io::stdout().is_terminal() && !is_off
    })
}

/// A row with the peak memory of this process, on systems that provide it.
#[cfg(feature = "lab")]
pub(crate) fn memory_row() -> Option<(String, String)> {
    let megabytes = peak_memory()? as f64 / 1e6;
    Some(("peak memory of this command".to_owned(), format!("{megabytes:.0} MB")))
}

#[cfg(feature = "lab")]
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

/// Progress of long work, on standard error: a bar on a terminal, otherwise a line every few seconds.
pub(crate) struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    /// When the last message or line was shown.
    shown: Option<Instant>,
    what: &'static str,
}

/// Time between two lines in a pipe, and between two messages on a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
const MESSAGE_INTERVAL: Duration = Duration::from_millis(200);

impl Progress {
    pub(crate) fn new(what: &'static str, total: u64) -> Self {
        let bar = BARS.add(ProgressBar::new(total));
        // No bar without a known total. Messages have lines of their own: with the bar they would not fit.
        let style = ProgressStyle::with_template(match total {
            0 => "{prefix} {human_pos} {rate}\n{msg}",
            _ => "{prefix} {wide_bar} {human_pos}/{human_len} {rate}\n{msg}",
        });
        let rate = |state: &ProgressState, to: &mut dyn std::fmt::Write| {
            let _ = write!(to, "{:.0}/s", state.per_sec());
        };
        bar.set_style(style.expect("the template is right").with_key("rate", rate));
        bar.set_prefix(what);
        let is_terminal = std::io::stderr().is_terminal();
        // In a pipe, work that is done at once prints nothing.
        let shown = (!is_terminal).then(Instant::now);
        Progress { bar, is_terminal, shown, what }
    }

    /// Advances by one; `more` makes the message if it is shown.
    pub(crate) fn step(&mut self, more: impl FnOnce() -> String) {
        self.update(self.bar.position() + 1, more);
    }

    /// Sets how much is done.
    pub(crate) fn set(&mut self, done: u64) {
        self.update(done, String::new);
    }

    /// Sets how much is done; `more` makes the message if it is shown.
    pub(crate) fn update(&mut self, done: u64, more: impl FnOnce() -> String) {
        self.bar.set_position(done);
        let interval = if self.is_terminal { MESSAGE_INTERVAL } else { LINE_INTERVAL };
        if self.shown.is_some_and(|shown| shown.elapsed() < interval) {
            return;
        }
        self.shown = Some(Instant::now());
        if self.is_terminal {
            self.bar.set_message(fitted(&more(), terminal::stderr_width()));
        } else {
            let total = self.bar.length().unwrap_or(0);
            let end = if total == 0 { String::new() } else { format!(" of {total}") };
            let more = Some(more())
                .filter(|more| !more.is_empty())
                .map_or_else(String::new, |more| format!(", {more}"));
            say(&format!("{}: {done}{end}{more}", self.what));
        }
    }

    /// Prints a line above the progress.
    pub(crate) fn println(&self, line: &str) {
        say(line);
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
        BARS.remove(&self.bar);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Progress of work of unknown length: a spinner on a terminal.
pub(crate) struct Spinner(ProgressBar);

impl Spinner {
    pub(crate) fn new(what: &'static str) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(100));
        Spinner(bar)
    }

    pub(crate) fn finish(self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{count, grouped, in_words, plain, quoted, some_of};

    #[test]
    fn a_cause_is_printed_once() {
        let error =
            anyhow::anyhow!("no such file").context("a.warc: no such file").context("cannot read the web");
        assert_eq!(in_words(&error), "cannot read the web: a.warc: no such file");
    }

    #[test]
    fn untrusted_names_are_escaped() {
        for (path, expected) in [("/A_b/C", "/A_b/C"), ("/A b", "'/A b'"), ("/it's", r"'/it'\''s'")] {
            assert_eq!(quoted(path), expected);
        }
        assert_eq!(plain("a\x1b[31mb\n"), "a\u{fffd}[31mb\u{fffd}");
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        assert_eq!(some_of(&[1, 2], 2, ToString::to_string), ["  1", "  2"]);
        let many: Vec<u32> = (0..100).collect();
        let lines = some_of(&many, 2_020, ToString::to_string);
        assert_eq!((lines.len(), lines[20].as_str()), (21, "  … and 2,000 more"));
        assert_eq!((count(1, "page"), count(2_000, "page")), ("1 page".to_owned(), "2,000 pages".to_owned()));
    }

    #[test]
    fn thousands_are_separated() {
        for (text, expected) in
            [("7", "7"), ("999", "999"), ("1000", "1,000"), ("1234567", "1,234,567"), ("12.5%", "12.5%")]
        {
            assert_eq!(grouped(text), expected);
        }
    }
}
