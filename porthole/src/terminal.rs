//! Text for terminals: without characters that a terminal would act on, and wrapped between words.
//!
//! Titles, URLs and error messages come from strangers. Everything that is printed passes [`harmless`].

use std::borrow::Cow;
use std::io::IsTerminal;

use console::{Term, measure_text_width};

/// Lines are not longer than this, however wide the terminal is: longer ones are hard to read.
const WIDEST: usize = 120;
/// Width of a terminal that does not tell.
const USUAL: usize = 80;

/// Whether a terminal acts on a character: control characters, and marks that reverse the direction of what follows.
fn is_active(c: char) -> bool {
    let is_direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || is_direction || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Text of strangers as one line: every active character is replaced.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if is_active(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Styles that this program prints itself.
const STYLES: [&str; 4] = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32;1m"];

/// Text of this program, with text of strangers in it: ends of lines, tabs and our own styles stay.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let is_kept = |c: char| matches!(c, '\n' | '\t') || !is_active(c);
    if text.chars().all(is_kept) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(style) = STYLES.iter().find(|style| rest.starts_with(**style)) {
            out.push_str(style);
            rest = &rest[style.len()..];
            continue;
        }
        out.push(if is_kept(c) { c } else { char::REPLACEMENT_CHARACTER });
        rest = &rest[c.len_utf8()..];
    }
    out.into()
}

/// JSON in which active characters are written as escapes. They occur only in strings, so that the value is the same.
pub(crate) fn escaped_json(json: &str) -> Cow<'_, str> {
    let is_kept = |c: char| c == '\n' || !is_active(c);
    if json.chars().all(is_kept) {
        return json.into();
    }
    let escape = |c: char| if is_kept(c) { c.to_string() } else { format!("\\u{:04x}", c as u32) };
    json.chars().map(escape).collect::<String>().into()
}

/// Columns of standard output; `None` if it is not a terminal.
pub(crate) fn stdout_width() -> Option<usize> {
    width(&Term::stdout(), std::io::stdout().is_terminal())
}

/// Columns of standard error; `None` if it is not a terminal.
pub(crate) fn stderr_width() -> Option<usize> {
    width(&Term::stderr(), std::io::stderr().is_terminal())
}

fn width(term: &Term, is_terminal: bool) -> Option<usize> {
    let columns = || term.size_checked().map_or(USUAL, |(_, columns)| columns.into());
    is_terminal.then(|| columns().clamp(20, WIDEST))
}

/// A table as it is drawn, or each row as a list of heads and values where the table is wider than the terminal.
pub(crate) fn table_or_lists(
    drawn: String,
    head: &[String],
    rows: &[Vec<String>],
    width: Option<usize>,
) -> String {
    let is_too_wide = |width: usize| drawn.lines().any(|line| measure_text_width(line.trim_end()) > width);
    if !width.is_some_and(is_too_wide) {
        return drawn;
    }
    let longest = head.iter().map(|name| measure_text_width(name)).max().unwrap_or(0);
    let list = |row: &Vec<String>| {
        let value = |(name, value): (&String, &String)| format!("{name:longest$}  {value}");
        head.iter().zip(row).map(value).collect::<Vec<_>>().join("\n")
    };
    rows.iter().map(list).collect::<Vec<_>>().join("\n\n")
}

/// Wraps lines that are longer than `width` between words; what follows is indented like the line, and two more. A word
/// that is longer than a line stays whole.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| wrapped_line(line, width)).collect();
    lines.join("\n")
}

fn wrapped_line(line: &str, width: usize) -> String {
    // Tables have spaces at the end of their lines.
    let line = if measure_text_width(line) > width { line.trim_end_matches(' ') } else { line };
    if measure_text_width(line) <= width {
        return line.to_owned();
    }
    let indent = " ".repeat(line.chars().take_while(|&c| c == ' ').count().min(width / 2) + 2);
    let (mut out, mut column, mut has_words) = (String::new(), 0, false);
    // Spaces stay with the word that they precede, so that the columns of a table stay where they are.
    for piece in pieces(line) {
        let columns = measure_text_width(piece);
        if has_words && column + columns > width {
            let word = piece.trim_start_matches(' ');
            out.push('\n');
            out.push_str(&indent);
            out.push_str(word);
            column = indent.len() + measure_text_width(word);
        } else {
            out.push_str(piece);
            column += columns;
        }
        has_words |= !piece.trim().is_empty();
    }
    out
}

/// Words with the spaces before them.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let word = rest.len() - rest.trim_start_matches(' ').len();
        let end = rest[word..].find(' ').map_or(rest.len(), |space| word + space);
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ESC, CSI as one character, a right-to-left override, a bell, a carriage return.
    const HOSTILE: [&str; 6] = ["\x1b[2J", "\u{9b}2J", "\u{202e}", "\x07", "\r", "\u{2066}"];

    #[test]
    fn nothing_that_a_terminal_acts_on_is_printed() {
        for hostile in HOSTILE {
            for text in [plain(&format!("a{hostile}b")), harmless(&format!("a{hostile}b")).into_owned()] {
                assert!(text.starts_with("a\u{fffd}") && text.ends_with('b'), "{hostile:?}: {text:?}");
            }
            let value = serde_json::json!({ "title": hostile });
            let json = serde_json::to_string_pretty(&value).unwrap();
            let escaped = escaped_json(&json);
            assert!(escaped.chars().all(|c| c == '\n' || !is_active(c)), "{escaped:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        }
        assert_eq!(harmless("\x1b[1mname\x1b[0m\tvalue\n"), "\x1b[1mname\x1b[0m\tvalue\n");
        assert_eq!(plain("a\nb"), "a\u{fffd}b");
    }

    #[test]
    fn a_table_that_is_wider_than_the_terminal_becomes_lists() {
        let text = |text: &str| text.to_owned();
        let (head, row) = ([text("url"), text("pages")], vec![text("http://a.test/"), text("3")]);
        let drawn = " url             pages \n http://a.test/  3     ";
        let rows = [row.clone(), row];
        let at = |width| table_or_lists(drawn.to_owned(), &head, &rows, width);
        assert_eq!((at(None).as_str(), at(Some(80)).as_str()), (drawn, drawn));
        let list = "url    http://a.test/\npages  3";
        assert_eq!(at(Some(16)), format!("{list}\n\n{list}"));
    }

    #[test]
    fn lines_are_wrapped_between_words() {
        let text = "warning: the critic does not recognise its own examples yet; add more with `porthole examples add`";
        let lines = wrapped(text, 40);
        assert!(lines.lines().all(|line| line.len() <= 40), "{lines}");
        assert_eq!(lines.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
        assert_eq!(wrapped("  short\nlines", 40), "  short\nlines");
        assert_eq!(wrapped("  ab  cd  ef", 8), "  ab  cd\n    ef");
        assert_eq!(wrapped("ab cd   ", 5), "ab cd", "spaces at the end are no line");
        assert_eq!(
            wrapped("see http://a.test/a-long-address now", 12),
            "see\n  http://a.test/a-long-address\n  now"
        );
        assert_eq!(wrapped("\x1b[1mbold\x1b[0m text", 9), "\x1b[1mbold\x1b[0m text", "styles take no room");
    }
}
