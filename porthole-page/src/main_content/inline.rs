//! Text with emphasis, code and links as Markdown.

use super::markdown::longest_run;
use crate::steps;
use crate::tag::TagName;

/// Writes the texts and inline elements of a block. White space is folded, and markers stand directly at the words inside
/// them, as Markdown requires.
pub(crate) struct InlineWriter {
    out: String,
    in_one_line: bool,
    /// Whether white space comes before the next word, or a line break.
    space_waits: bool,
    break_waits: bool,
    /// The open elements that have a marker.
    open: Vec<InlineElement>,
    /// Text of the innermost code element, while it is open.
    code: Option<String>,
}

struct InlineElement {
    node: u32,
    marker: InlineMarker,
    /// Whether its marker was written: only before its first word.
    is_written: bool,
}

#[derive(PartialEq)]
enum InlineMarker {
    Strong,
    Emphasis,
    Code,
    Link(String),
}

impl InlineWriter {
    pub(crate) fn new(in_one_line: bool) -> Self {
        InlineWriter {
            out: String::new(),
            in_one_line,
            space_waits: false,
            break_waits: false,
            open: Vec::new(),
            code: None,
        }
    }

    pub(crate) fn open(&mut self, node: u32, name: TagName, target: Option<&str>) {
        let marker = match name {
            TagName::B | TagName::STRONG => InlineMarker::Strong,
            TagName::I | TagName::EM => InlineMarker::Emphasis,
            TagName::CODE | TagName::KBD | TagName::SAMP | TagName::TT => InlineMarker::Code,
            TagName::A => match target {
                Some(target) => InlineMarker::Link(target.to_owned()),
                None => return,
            },
            _ => return,
        };
        let is_link = matches!(marker, InlineMarker::Link(_));
        steps::add(self.open.len());
        let is_inside = self
            .open
            .iter()
            .any(|open| open.marker == marker || is_link && matches!(open.marker, InlineMarker::Link(_)));
        // Code is literal: nothing can be marked in it.
        if is_inside || self.code.is_some() {
            return;
        }
        if marker == InlineMarker::Code {
            self.code = Some(String::new());
        }
        self.open.push(InlineElement { node, marker, is_written: false });
    }

    pub(crate) fn close(&mut self, node: u32) {
        let Some(element) = self.open.pop_if(|open| open.node == node) else { return };
        match element.marker {
            InlineMarker::Code => self.write_code(),
            _ if !element.is_written => {}
            InlineMarker::Strong => self.out.push_str("**"),
            InlineMarker::Emphasis => self.out.push('*'),
            InlineMarker::Link(target) => {
                self.out.push_str("](");
                self.out.push_str(&target);
                self.out.push(')');
            }
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        steps::add(text.len());
        if let Some(code) = &mut self.code {
            code.push_str(text);
            return;
        }
        self.space_waits |= text.starts_with(|c: char| c.is_ascii_whitespace());
        let mut words = text.split_ascii_whitespace();
        if let Some(word) = words.next() {
            self.word(word);
            for word in words {
                self.space_waits = true;
                self.word(word);
            }
            self.space_waits = text.ends_with(|c: char| c.is_ascii_whitespace());
        }
    }

    pub(crate) fn line_break(&mut self) {
        match &mut self.code {
            Some(code) => code.push(' '),
            None => self.break_waits = true,
        }
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    fn word(&mut self, word: &str) {
        let is_at_start = self.before_word();
        escape(word, is_at_start, &mut self.out);
    }

    /// Writes the white space and the markers before a word; returns whether the word starts a line.
    fn before_word(&mut self) -> bool {
        let breaks = std::mem::take(&mut self.break_waits);
        let is_space = std::mem::take(&mut self.space_waits) || breaks;
        let mut is_at_start = self.out.is_empty();
        if is_space && !is_at_start {
            if breaks && !self.in_one_line {
                self.out.push_str("\\\n");
                is_at_start = true;
            } else {
                self.out.push(' ');
            }
        }
        for element in &mut self.open {
            if !element.is_written {
                element.is_written = true;
                match element.marker {
                    InlineMarker::Strong => self.out.push_str("**"),
                    InlineMarker::Emphasis => self.out.push('*'),
                    InlineMarker::Code => {}
                    InlineMarker::Link(_) => {
                        // `![` would start an image.
                        if self.out.ends_with('!') {
                            self.out.insert(self.out.len() - 1, '\\');
                        }
                        self.out.push('[');
                    }
                }
            }
        }
        is_at_start
    }

    fn write_code(&mut self) {
        let Some(code) = self.code.take() else { return };
        let mut folded = code.split_whitespace().collect::<Vec<_>>().join(" ");
        folded.retain(|c| !is_control(c));
        self.space_waits |= code.starts_with(char::is_whitespace);
        if !folded.is_empty() {
            self.before_word();
            let ticks = "`".repeat(longest_run(&folded, '`') + 1);
            // A space keeps backticks of the code apart from those around it.
            let space = if folded.starts_with('`') || folded.ends_with('`') { " " } else { "" };
            self.out.push_str(&format!("{ticks}{space}{folded}{space}{ticks}"));
        }
        self.space_waits = code.ends_with(char::is_whitespace);
    }
}

/// Appends a text with everything escaped that has a meaning in Markdown. Control characters are dropped.
pub(crate) fn escape(text: &str, is_at_start: bool, out: &mut String) {
    let start = out.len();
    let mut digits = is_at_start;
    for c in text.chars() {
        let at_start = is_at_start && out.len() == start;
        let ends_number = is_at_start && digits && !at_start && matches!(c, '.' | ')');
        let is_special = matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '~' | '&' | '|')
            || at_start && matches!(c, '#' | '+' | '-' | '=')
            || ends_number;
        digits &= c.is_ascii_digit();
        if is_control(c) {
            continue;
        }
        if is_special {
            out.push('\\');
        }
        out.push(c);
    }
}

/// Whether a character controls a terminal or the direction of the text around it.
pub(crate) fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
