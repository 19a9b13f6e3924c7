//! Insertion modes before and after the body: doctype, head, framesets.

use super::{Mode, Namespace, TokenResult, TreeState};
use crate::gather::{ENDED_NOSCRIPT, NONE};
use crate::tag::TagName;
use crate::token::Token;

impl<'a> TreeState<'a> {
    pub(super) fn initial(&mut self, token: Token<'a>) -> TokenResult {
        match token {
            Token::Doctype(doctype) => {
                self.quirks = is_quirky(doctype);
                self.mode = Mode::BeforeHead;
                TokenResult::Done
            }
            _ => {
                self.quirks = true;
                self.again(Mode::BeforeHead)
            }
        }
    }

    /// "Before html" and "before head": nothing visible is between them.
    pub(super) fn before_head(&mut self, token: Token<'a>) -> TokenResult {
        match token {
            Token::Doctype(_) => TokenResult::Done,
            Token::Start { name: TagName::HTML, .. } => {
                self.open_html();
                self.html_attributes();
                TokenResult::Done
            }
            Token::Start { name: TagName::HEAD, .. } => {
                self.open_html();
                self.push(TagName::HEAD);
                self.mode = Mode::InHead;
                TokenResult::Done
            }
            Token::End(name)
                if !name.is_one_of(&[TagName::HEAD, TagName::BODY, TagName::HTML, TagName::BR]) =>
            {
                TokenResult::Done
            }
            _ => {
                self.open_html();
                self.push(TagName::HEAD);
                self.again(Mode::InHead)
            }
        }
    }

    fn open_html(&mut self) {
        if self.stack.is_empty() {
            self.push_linked(TagName::HTML, Namespace::Html, NONE);
        }
    }

    pub(super) fn html_attributes(&mut self) {
        if self.gather.language.is_none() {
            self.gather.language =
                self.tokens.attribute("lang").or_else(|| self.tokens.attribute("xml:lang"));
        }
    }

    pub(super) fn in_head(&mut self, token: Token<'a>) -> TokenResult {
        match token {
            Token::Doctype(_) | Token::Start { name: TagName::HEAD, .. } => TokenResult::Done,
            Token::Start { name: TagName::HTML, .. } => self.in_body(token),
            Token::Start { name: TagName::NOSCRIPT, .. } => {
                self.push(TagName::NOSCRIPT);
                self.mode = Mode::InHeadNoscript;
                TokenResult::Done
            }
            Token::Start { name, .. } if name.is_head() => self.head_element(name),
            Token::End(TagName::HEAD) => {
                self.pop();
                self.mode = Mode::AfterHead;
                TokenResult::Done
            }
            Token::End(name) if !name.is_one_of(&[TagName::BODY, TagName::HTML, TagName::BR]) => {
                TokenResult::Done
            }
            _ => {
                self.pop();
                self.again(Mode::AfterHead)
            }
        }
    }

    /// Handles an element of the head, wherever it occurs.
    pub(super) fn head_element(&mut self, name: TagName) -> TokenResult {
        match name {
            TagName::TEMPLATE => self.template(),
            _ if name.is_raw() => self.raw(name),
            _ => {
                self.head_facts(name);
                self.void(name);
            }
        }
        TokenResult::Done
    }

    fn head_facts(&mut self, name: TagName) {
        if name == TagName::BASE && self.gather.base.is_none() {
            self.gather.base = self.tokens.attribute("href");
        }
        if name != TagName::META {
            return;
        }
        let Some(content) = self.tokens.attribute("content") else { return };
        let is = |attribute: &str, word: &str| {
            self.tokens.attribute(attribute).is_some_and(|value| value.trim().eq_ignore_ascii_case(word))
        };
        if is("name", "robots") || self.gather.robot.as_ref().is_some_and(|robot| is("name", robot)) {
            self.gather.robots.push(content);
        } else if is("http-equiv", "refresh")
            && self.gather.refresh.is_none()
            // Inside a `noscript`, a refresh usually leads to a page that asks to enable scripts.
            && !self.is_open(TagName::NOSCRIPT)
        {
            self.gather.refresh = Some(content);
        }
    }

    pub(super) fn in_head_noscript(&mut self, token: Token<'a>) -> TokenResult {
        const ALLOWED: &[TagName] = &[
            TagName::BASEFONT,
            TagName::BGSOUND,
            TagName::LINK,
            TagName::META,
            TagName::NOFRAMES,
            TagName::STYLE,
        ];
        match token {
            Token::Doctype(_) | Token::Start { name: TagName::HEAD | TagName::NOSCRIPT, .. } => {
                TokenResult::Done
            }
            Token::Start { name: TagName::HTML, .. } => self.in_body(token),
            Token::Start { name, .. } if name.is_one_of(ALLOWED) => self.head_element(name),
            Token::End(TagName::NOSCRIPT) => {
                self.pop();
                self.mode = Mode::InHead;
                TokenResult::Done
            }
            Token::End(name) if name != TagName::BR => TokenResult::Done,
            _ => {
                self.pop();
                self.gather.place |= ENDED_NOSCRIPT;
                self.again(Mode::InHead)
            }
        }
    }

    pub(super) fn after_head(&mut self, token: Token<'a>) -> TokenResult {
        match token {
            Token::Doctype(_) | Token::Start { name: TagName::HEAD, .. } => TokenResult::Done,
            Token::Start { name: TagName::HTML, .. } => self.in_body(token),
            Token::Start { name: TagName::BODY, .. } => {
                self.push(TagName::BODY);
                self.frameset_ok = false;
                self.mode = Mode::InBody;
                TokenResult::Done
            }
            Token::Start { name: TagName::FRAMESET, .. } => {
                self.push(TagName::FRAMESET);
                self.mode = Mode::InFrameset;
                TokenResult::Done
            }
            Token::Start { name, .. } if name.is_head() => self.head_element(name),
            Token::End(name) if !name.is_one_of(&[TagName::BODY, TagName::HTML, TagName::BR]) => {
                TokenResult::Done
            }
            _ => {
                self.push_linked(TagName::BODY, Namespace::Html, NONE);
                self.again(Mode::InBody)
            }
        }
    }

    pub(super) fn after_body(&mut self, token: Token<'a>) -> TokenResult {
        match token {
            Token::Start { name: TagName::HTML, .. } => self.in_body(token),
            Token::Doctype(_) | Token::End(TagName::HTML) | Token::Eof => TokenResult::Done,
            _ => self.again(Mode::InBody),
        }
    }

    pub(super) fn in_frameset(&mut self, token: Token<'a>) -> TokenResult {
        match token {
            Token::Start { name: TagName::FRAMESET, .. } => self.push(TagName::FRAMESET),
            Token::Start { name: TagName::FRAME, .. } => self.void(TagName::FRAME),
            Token::Start { name: TagName::NOFRAMES, .. } => self.raw(TagName::NOFRAMES),
            Token::End(TagName::FRAMESET) if self.stack.len() > 1 => {
                self.pop();
                if !self.current_is(&[TagName::FRAMESET]) {
                    self.mode = Mode::AfterFrameset;
                }
            }
            _ => {}
        }
        TokenResult::Done
    }

    pub(super) fn after_frameset(&mut self, token: Token<'a>) -> TokenResult {
        if let Token::Start { name: TagName::NOFRAMES, .. } = token {
            self.raw(TagName::NOFRAMES);
        }
        TokenResult::Done
    }
}

/// Whether a doctype triggers quirks mode, where a table does not end a paragraph. The standard lists some sixty public
/// identifiers; these rules agree for all that occur in pages.
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
