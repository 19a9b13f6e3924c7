//! SVG and MathML inside a page.

use super::{Namespace, Open, Step, Tree};
use crate::gather::NONE;
use crate::steps;
use crate::tag::Name;
use crate::token::Token;

impl<'a> Tree<'a> {
    /// Whether the current element is SVG or MathML.
    pub(super) fn in_foreign(&self) -> bool {
        self.current().is_some_and(|open| open.space != Namespace::Html)
    }

    /// Whether the token is read by HTML's rules although the current element is foreign.
    pub(super) fn leaves_foreign(&self, token: Token<'a>) -> bool {
        let Some(open) = self.current() else { return true };
        match token {
            Token::Eof => true,
            Token::Start { .. } | Token::Text(_) | Token::Literal(_) => open.is_integration_point(),
            _ => false,
        }
    }

    pub(super) fn start_foreign(&mut self, name: Name, space: Namespace, self_closing: bool) {
        self.reconstruct();
        self.push_foreign(name, space, self_closing);
    }

    fn push_foreign(&mut self, name: Name, space: Namespace, self_closing: bool) {
        self.push_linked(name, space, NONE);
        if self_closing {
            self.pop();
        }
    }

    /// A token inside SVG or MathML; `Again` if HTML's rules have to look at it after all.
    pub(super) fn foreign(&mut self, token: Token<'a>) -> Step {
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
                return Step::Again;
            }
            Token::Start { name, self_closing } => {
                let space = self.current().map_or(Namespace::Html, |open| open.space);
                self.push_foreign(name, space, self_closing);
            }
            Token::End(name) => return self.end_foreign(name),
            Token::Blank | Token::Doctype(_) | Token::Eof => {}
        }
        Step::Done
    }

    fn breaks_out(&self, name: Name) -> bool {
        let has = |attribute: &str| self.tokens.attribute(attribute).is_some();
        name.is_breakout() || name == Name::FONT && (has("color") || has("face") || has("size"))
    }

    fn end_foreign(&mut self, name: Name) -> Step {
        if name.is_one_of(&[Name::BR, Name::P]) {
            while self
                .current()
                .is_some_and(|open| open.space != Namespace::Html && !open.is_integration_point())
            {
                self.pop();
            }
            return Step::Again;
        }
        for index in (0..self.stack.len()).rev() {
            steps::add(1);
            let open = self.stack[index];
            if open.space == Namespace::Html {
                return Step::Again;
            }
            if open.name == name {
                while self.stack.len() > index {
                    self.pop();
                }
                break;
            }
        }
        Step::Done
    }
}

impl Open {
    /// Whether HTML goes on inside this foreign element.
    pub(super) fn is_integration_point(&self) -> bool {
        const MATHML_TEXT: &[Name] =
            &[Name::MI, Name::MO, Name::MN, Name::MS, Name::MTEXT, Name::ANNOTATION_XML];
        match self.space {
            Namespace::Html => false,
            Namespace::Svg => self.name.is_one_of(&[Name::FOREIGNOBJECT, Name::DESC, Name::TITLE]),
            Namespace::MathMl => self.name.is_one_of(MATHML_TEXT),
        }
    }
}
