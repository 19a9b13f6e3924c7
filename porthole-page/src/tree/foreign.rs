//! SVG and MathML inside a page.

use super::{Namespace, OpenElement, TokenResult, TreeState};
use crate::gather::NONE;
use crate::steps;
use crate::tag::TagName;
use crate::token::Token;

impl<'a> TreeState<'a> {
    /// Whether the current element is SVG or MathML.
    pub(super) fn in_foreign(&self) -> bool {
        self.current().is_some_and(|open| open.space != Namespace::Html)
    }

    /// Whether the token is handled by HTML's rules although the current element is foreign.
    pub(super) fn leaves_foreign(&self, token: Token<'a>) -> bool {
        let Some(open) = self.current() else { return true };
        match token {
            Token::Eof => true,
            Token::Start { .. } | Token::Text(_) | Token::Literal(_) => open.is_integration_point(),
            _ => false,
        }
    }

    pub(super) fn start_foreign(&mut self, name: TagName, space: Namespace, self_closing: bool) {
        self.reconstruct();
        self.push_foreign(name, space, self_closing);
    }

    fn push_foreign(&mut self, name: TagName, space: Namespace, self_closing: bool) {
        self.push_linked(name, space, NONE);
        self.describe();
        if self_closing {
            self.pop();
        }
    }

    /// Handles a token inside SVG or MathML; `Again` if HTML's rules have to handle it.
    pub(super) fn foreign(&mut self, token: Token<'a>) -> TokenResult {
        match token {
            Token::Text(text) => {
                self.text(text);
                self.frameset_ok = false;
            }
            Token::Literal(text) => self.insert_text(text),
            Token::Start { name, .. } if self.breaks_out(name) => {
                while self
                    .current()
                    .is_some_and(|open| open.space != Namespace::Html && !open.is_integration_point())
                {
                    self.pop();
                }
                return TokenResult::Again;
            }
            Token::Start { name, self_closing } => {
                let space = self.current().map_or(Namespace::Html, |open| open.space);
                self.push_foreign(name, space, self_closing);
            }
            Token::End(name) => return self.end_foreign(name),
            Token::Blank | Token::Doctype(_) | Token::Eof => {}
        }
        TokenResult::Done
    }

    fn breaks_out(&self, name: TagName) -> bool {
        let has = |attribute: &str| self.tokens.attribute(attribute).is_some();
        name.is_breakout() || name == TagName::FONT && (has("color") || has("face") || has("size"))
    }

    fn end_foreign(&mut self, name: TagName) -> TokenResult {
        if name.is_one_of(&[TagName::BR, TagName::P]) {
            while self
                .current()
                .is_some_and(|open| open.space != Namespace::Html && !open.is_integration_point())
            {
                self.pop();
            }
            return TokenResult::Again;
        }
        for index in (0..self.stack.len()).rev() {
            steps::add(1);
            let open = self.stack[index];
            if open.space == Namespace::Html {
                return TokenResult::Again;
            }
            if open.name == name {
                while self.stack.len() > index {
                    self.pop();
                }
                break;
            }
        }
        TokenResult::Done
    }
}

impl OpenElement {
    /// Whether HTML content is allowed inside this foreign element.
    pub(super) fn is_integration_point(&self) -> bool {
        const MATHML_TEXT: &[TagName] =
            &[TagName::MI, TagName::MO, TagName::MN, TagName::MS, TagName::MTEXT, TagName::ANNOTATION_XML];
        match self.space {
            Namespace::Html => false,
            Namespace::Svg => self.name.is_one_of(&[TagName::FOREIGNOBJECT, TagName::DESC, TagName::TITLE]),
            Namespace::MathMl => self.name.is_one_of(MATHML_TEXT),
        }
    }
}
