//! Insertion modes before and after the body: the doctype, the head, framesets.

use super::{Mode, Namespace, Step, Tree};
use crate::gather::NONE;
use crate::tag::Name;
use crate::token::Token;

impl<'a> Tree<'a> {
    pub(super) fn initial(&mut self, token: Token<'a>) -> Step {
        match token {
            Token::Doctype(doctype) => {
                self.quirks = is_quirky(doctype);
                self.mode = Mode::BeforeHead;
                Step::Done
            }
            _ => {
                self.quirks = true;
                self.again(Mode::BeforeHead)
            }
        }
    }

    /// "Before html" and "before head": nothing lies between them that a page could show.
    pub(super) fn before_head(&mut self, token: Token<'a>) -> Step {
        match token {
            Token::Doctype(_) => Step::Done,
            Token::Start { name: Name::HTML, .. } => {
                self.open_html();
                self.html_attributes();
                Step::Done
            }
            Token::Start { name: Name::HEAD, .. } => {
                self.open_html();
                self.push(Name::HEAD);
                self.mode = Mode::InHead;
                Step::Done
            }
            Token::End(name) if !name.is_one_of(&[Name::HEAD, Name::BODY, Name::HTML, Name::BR]) => {
                Step::Done
            }
            _ => {
                self.open_html();
                self.push(Name::HEAD);
                self.again(Mode::InHead)
            }
        }
    }

    fn open_html(&mut self) {
        if self.stack.is_empty() {
            self.push_linked(Name::HTML, Namespace::Html, NONE);
        }
    }

    pub(super) fn html_attributes(&mut self) {
        if self.gather.language.is_none() {
            self.gather.language =
                self.tokens.attribute("lang").or_else(|| self.tokens.attribute("xml:lang"));
        }
    }

    pub(super) fn in_head(&mut self, token: Token<'a>) -> Step {
        match token {
            Token::Doctype(_) | Token::Start { name: Name::HEAD, .. } => Step::Done,
            Token::Start { name: Name::HTML, .. } => self.in_body(token),
            Token::Start { name: Name::NOSCRIPT, .. } => {
                self.push(Name::NOSCRIPT);
                self.mode = Mode::InHeadNoscript;
                Step::Done
            }
            Token::Start { name, .. } if name.is_head() => self.head_element(name),
            Token::End(Name::HEAD) => {
                self.pop();
                self.mode = Mode::AfterHead;
                Step::Done
            }
            Token::End(name) if !name.is_one_of(&[Name::BODY, Name::HTML, Name::BR]) => Step::Done,
            _ => {
                self.pop();
                self.again(Mode::AfterHead)
            }
        }
    }

    /// An element of the head, wherever it stands.
    pub(super) fn head_element(&mut self, name: Name) -> Step {
        match name {
            Name::TEMPLATE => self.template(),
            _ if name.is_raw() => self.raw(name),
            _ => {
                self.head_facts(name);
                self.void(name);
            }
        }
        Step::Done
    }

    fn head_facts(&mut self, name: Name) {
        if name == Name::BASE && self.gather.base.is_none() {
            self.gather.base = self.tokens.attribute("href");
        }
        if name != Name::META {
            return;
        }
        let Some(content) = self.tokens.attribute("content") else { return };
        let is = |attribute: &str, word: &str| {
            self.tokens.attribute(attribute).is_some_and(|value| value.trim().eq_ignore_ascii_case(word))
        };
        if is("name", "robots") || is("name", "porthole") {
            self.gather.robots.push(content);
        } else if is("http-equiv", "refresh") && self.gather.refresh.is_none() {
            self.gather.refresh = Some(content);
        }
    }

    pub(super) fn in_head_noscript(&mut self, token: Token<'a>) -> Step {
        const ALLOWED: &[Name] =
            &[Name::BASEFONT, Name::BGSOUND, Name::LINK, Name::META, Name::NOFRAMES, Name::STYLE];
        match token {
            Token::Doctype(_) | Token::Start { name: Name::HEAD | Name::NOSCRIPT, .. } => Step::Done,
            Token::Start { name: Name::HTML, .. } => self.in_body(token),
            Token::Start { name, .. } if name.is_one_of(ALLOWED) => self.head_element(name),
            Token::End(Name::NOSCRIPT) => {
                self.pop();
                self.mode = Mode::InHead;
                Step::Done
            }
            Token::End(name) if name != Name::BR => Step::Done,
            _ => {
                self.pop();
                self.again(Mode::InHead)
            }
        }
    }

    pub(super) fn after_head(&mut self, token: Token<'a>) -> Step {
        match token {
            Token::Doctype(_) | Token::Start { name: Name::HEAD, .. } => Step::Done,
            Token::Start { name: Name::HTML, .. } => self.in_body(token),
            Token::Start { name: Name::BODY, .. } => {
                self.push(Name::BODY);
                self.frameset_ok = false;
                self.mode = Mode::InBody;
                Step::Done
            }
            Token::Start { name: Name::FRAMESET, .. } => {
                self.push(Name::FRAMESET);
                self.mode = Mode::InFrameset;
                Step::Done
            }
            Token::Start { name, .. } if name.is_head() => self.head_element(name),
            Token::End(name) if !name.is_one_of(&[Name::BODY, Name::HTML, Name::BR]) => Step::Done,
            _ => {
                self.push_linked(Name::BODY, Namespace::Html, NONE);
                self.again(Mode::InBody)
            }
        }
    }

    pub(super) fn after_body(&mut self, token: Token<'a>) -> Step {
        match token {
            Token::Start { name: Name::HTML, .. } => self.in_body(token),
            Token::Doctype(_) | Token::End(Name::HTML) | Token::Eof => Step::Done,
            _ => self.again(Mode::InBody),
        }
    }

    pub(super) fn in_frameset(&mut self, token: Token<'a>) -> Step {
        match token {
            Token::Start { name: Name::FRAMESET, .. } => self.push(Name::FRAMESET),
            Token::Start { name: Name::FRAME, .. } => self.void(Name::FRAME),
            Token::Start { name: Name::NOFRAMES, .. } => self.raw(Name::NOFRAMES),
            Token::End(Name::FRAMESET) if self.stack.len() > 1 => {
                self.pop();
                if !self.current_is(&[Name::FRAMESET]) {
                    self.mode = Mode::AfterFrameset;
                }
            }
            _ => {}
        }
        Step::Done
    }

    pub(super) fn after_frameset(&mut self, token: Token<'a>) -> Step {
        if let Token::Start { name: Name::NOFRAMES, .. } = token {
            self.raw(Name::NOFRAMES);
        }
        Step::Done
    }
}

/// Whether a doctype puts browsers into quirks mode, where a table does not end a paragraph. The standard
/// lists some sixty public identifiers by name; these rules say the same of all that are found in pages.
fn is_quirky(doctype: &str) -> bool {
    let doctype = doctype.trim().to_ascii_lowercase();
    let Some(rest) = doctype.strip_prefix("html") else { return true };
    if !rest.starts_with(|c: char| c.is_ascii_whitespace()) {
        return !rest.is_empty();
    }
    let (keyword, identifiers) = rest.trim_start().split_at_checked(6).unwrap_or((rest.trim(), ""));
    let mut quoted = identifiers.split(['"', '\'']).skip(1).step_by(2);
    match keyword {
        "" => false,
        "system" => quoted.next().is_none_or(|system| system.contains("ibmxhtml1-transitional")),
        "public" => {
            let Some(public) = quoted.next() else { return true };
            is_quirky_public(public, quoted.next())
        }
        _ => true,
    }
}

fn is_quirky_public(public: &str, system: Option<&str>) -> bool {
    const WORKING_DRAFT: &str = "-//w3c//dtd html ";
    let old_w3c = public.strip_prefix(WORKING_DRAFT).is_some_and(|version| {
        version.starts_with('3')
            || version.starts_with("experimental")
            || version.starts_with("4.0 frameset//")
            || version.starts_with("4.0 transitional//")
    });
    let unless_system = public.strip_prefix(WORKING_DRAFT).is_some_and(|version| {
        version.starts_with("4.01 frameset//") || version.starts_with("4.01 transitional//")
    });
    let vendors = [
        "-//advasoft",
        "-//as//",
        "-//ietf//dtd html",
        "-//metrius",
        "-//microsoft",
        "-//netscape",
        "-//o'reilly",
        "-//softquad",
        "-//spyglass",
        "-//sq//",
        "-//sun microsystems",
        "-//w3c//dtd w3 html",
        "-//w3o//",
        "-//webtechs",
        "+//silmaril",
        "-/w3c/dtd html 4.0 transitional/en",
    ];
    old_w3c
        || (unless_system && system.is_none())
        || public == "html"
        || vendors.iter().any(|vendor| public.starts_with(vendor))
        || system.is_some_and(|system| system.contains("ibmxhtml1-transitional"))
}

#[cfg(test)]
mod tests {
    use super::is_quirky;

    #[test]
    fn doctypes() {
        for (doctype, quirky) in [
            (" html", false),
            ("html", false),
            (" HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\"", false),
            (" HTML PUBLIC \"-//W3C//DTD HTML 4.01 Transitional//EN\"", true),
            (" HTML PUBLIC \"-//W3C//DTD HTML 4.01 Transitional//EN\" \"http://x\"", false),
            (" html PUBLIC \"-//W3C//DTD XHTML 1.0 Transitional//EN\" \"http://x\"", false),
            (" HTML PUBLIC \"-//W3C//DTD HTML 3.2 Final//EN\"", true),
            (" HTML PUBLIC '-//IETF//DTD HTML//EN'", true),
            (" html SYSTEM \"about:legacy-compat\"", false),
            ("", true),
            (" svg", true),
            (" HTML PUBLIC", true),
        ] {
            assert_eq!(is_quirky(doctype), quirky, "for {doctype}");
        }
    }
}
