//! The insertion mode "in body": where most of a page is.

use super::{Mode, Namespace, Scope, Step, Tree};
use crate::gather::NONE;
use crate::steps;
use crate::tag::Name;
use crate::token::Token;

impl<'a> Tree<'a> {
    pub(super) fn in_body(&mut self, token: Token<'a>) -> Step {
        match token {
            Token::Text(text) => {
                self.reconstruct();
                self.text(text);
                self.frameset_ok = false;
            }
            Token::Literal(text) => self.insert_text(text),
            Token::Start { name, self_closing } => self.start_in_body(name, self_closing),
            Token::End(name) => return self.end_in_body(name),
            Token::Blank | Token::Doctype(_) | Token::Eof => {}
        }
        Step::Done
    }

    fn start_in_body(&mut self, name: Name, self_closing: bool) {
        match name {
            _ if name.is_block() => {
                self.close_p();
                self.push(name);
            }
            Name::A => self.start_a(),
            Name::NOBR => self.start_nobr(),
            _ if name.is_formatting() => {
                self.reconstruct();
                self.push_formatting(name);
            }
            Name::LI => self.start_item(name, &[Name::LI]),
            Name::DD | Name::DT => self.start_item(name, &[Name::DD, Name::DT]),
            Name::TABLE => {
                if !self.quirks {
                    self.close_p();
                }
                self.push(name);
                self.frameset_ok = false;
                self.mode = Mode::InTable;
            }
            _ if name.is_heading() => {
                self.close_p();
                if self.current().is_some_and(|open| open.name.is_heading()) {
                    self.pop();
                }
                self.push(name);
            }
            Name::HTML => self.html_attributes(),
            _ if name.is_head() => {
                self.head_element(name);
            }
            Name::PARAM | Name::SOURCE | Name::TRACK => self.void(name),
            Name::IMAGE => self.start_in_body(Name::IMG, self_closing),
            Name::HR => self.start_hr(),
            Name::INPUT => self.start_input(),
            Name::COL | Name::FRAME => {}
            _ if name.is_void() => {
                self.reconstruct();
                self.void(name);
                self.frameset_ok = false;
            }
            Name::MATH => self.start_foreign(name, Namespace::MathMl, self_closing),
            Name::SVG => self.start_foreign(name, Namespace::Svg, self_closing),
            Name::CAPTION | Name::COLGROUP | Name::HEAD | Name::TBODY => {}
            Name::TD | Name::TFOOT | Name::TH | Name::THEAD | Name::TR => {}
            _ => self.start_other(name),
        }
    }

    /// The rarer start tags.
    fn start_other(&mut self, name: Name) {
        match name {
            Name::BODY => self.frameset_ok = false,
            Name::FRAMESET => self.start_frameset(),
            Name::PRE | Name::LISTING => {
                self.close_p();
                self.push(name);
                self.frameset_ok = false;
            }
            Name::FORM => self.start_form(),
            Name::PLAINTEXT => {
                self.close_p();
                self.push(name);
                let rest = self.tokens.rest();
                self.insert_text(rest);
            }
            Name::BUTTON => self.start_button(),
            _ if name.is_marker() => {
                self.reconstruct();
                self.push(name);
                self.push_marker();
                self.frameset_ok = false;
            }
            Name::XMP => {
                self.close_p();
                self.reconstruct();
                self.frameset_ok = false;
                self.raw(name);
            }
            _ if name.is_raw() => {
                self.frameset_ok &= name == Name::NOEMBED;
                self.raw(name);
            }
            Name::SELECT => self.start_select(),
            Name::OPTION | Name::OPTGROUP => self.start_option(name),
            Name::RB | Name::RTC | Name::RP | Name::RT => {
                if self.in_scope(Name::RUBY, Scope::Default) {
                    self.close_implied(name.is_one_of(&[Name::RP, Name::RT]).then_some(Name::RTC));
                }
                self.push(name);
            }
            _ => {
                self.reconstruct();
                self.push(name);
            }
        }
    }

    fn start_a(&mut self) {
        if let Some((_, serial, _)) = self.formatting_entry(Name::A) {
            self.end_formatting(Name::A);
            if let Some((entry, left, _)) = self.formatting_entry(Name::A)
                && left == serial
            {
                self.formatting.remove(entry);
            }
            if let Some(at) = self.position(serial) {
                self.remove_open(at);
            }
        }
        self.reconstruct();
        self.push_formatting(Name::A);
    }

    fn start_nobr(&mut self) {
        self.reconstruct();
        if self.in_scope(Name::NOBR, Scope::Default) {
            self.end_formatting(Name::NOBR);
            self.reconstruct();
        }
        self.push_formatting(Name::NOBR);
    }

    /// Takes an element off the stack that others are open in.
    pub(super) fn remove_open(&mut self, at: usize) {
        let last = self.stack.len() - 1;
        if at == last {
            return self.pop();
        }
        steps::add(last - at);
        let open = self.stack.remove(at);
        self.count(open.name, -1);
        if open.link != NONE {
            self.gather.end_link_here(open.link);
        }
        if open.name.is_formatting() {
            self.formatting_closed(open.serial);
        }
    }

    /// `li`, `dd`, `dt`: one ends the one before it, unless another list was opened between.
    fn start_item(&mut self, name: Name, kin: &[Name]) {
        self.frameset_ok = false;
        for index in (0..self.stack.len()).rev() {
            steps::add(1);
            let open = self.stack[index];
            if open.space == Namespace::Html && open.name.is_one_of(kin) {
                self.close_implied(Some(open.name));
                self.pop_until(&[open.name]);
                break;
            }
            if open.is_special() && !open.name.is_one_of(&[Name::ADDRESS, Name::DIV, Name::P]) {
                break;
            }
        }
        self.close_p();
        self.push(name);
    }

    fn start_frameset(&mut self) {
        let body_is_second = self.stack.get(1).is_some_and(|open| open.name == Name::BODY);
        if !self.frameset_ok || !body_is_second {
            return;
        }
        let first_leaf = self.stack[1].first_leaf;
        while self.stack.len() > 1 {
            self.pop();
        }
        self.gather.forget_from(first_leaf);
        self.push(Name::FRAMESET);
        self.mode = Mode::InFrameset;
    }

    fn start_form(&mut self) {
        if self.form != NONE {
            return;
        }
        self.close_p();
        self.push(Name::FORM);
        self.form = self.stack.last().expect("just pushed").serial;
    }

    fn start_button(&mut self) {
        if self.in_scope(Name::BUTTON, Scope::Default) {
            self.close_implied(None);
            self.pop_until(&[Name::BUTTON]);
        }
        self.reconstruct();
        self.push(Name::BUTTON);
        self.frameset_ok = false;
    }

    fn start_hr(&mut self) {
        self.close_p();
        if self.select_in_scope() {
            self.close_implied(None);
        }
        self.void(Name::HR);
        self.frameset_ok = false;
    }

    fn start_input(&mut self) {
        if self.select_in_scope() {
            self.pop_until(&[Name::SELECT]);
        }
        self.reconstruct();
        self.void(Name::INPUT);
        self.frameset_ok &=
            self.tokens.attribute("type").is_some_and(|kind| kind.eq_ignore_ascii_case("hidden"));
    }

    fn start_select(&mut self) {
        if self.select_in_scope() {
            return self.pop_until(&[Name::SELECT]);
        }
        self.reconstruct();
        self.push(Name::SELECT);
        self.frameset_ok = false;
    }

    fn start_option(&mut self, name: Name) {
        if self.select_in_scope() {
            self.close_implied((name == Name::OPTION).then_some(Name::OPTGROUP));
        } else if self.current_is(&[Name::OPTION]) {
            self.pop();
        }
        self.reconstruct();
        self.push(name);
    }

    fn select_in_scope(&self) -> bool {
        self.in_scope(Name::SELECT, Scope::Default)
    }

    fn end_in_body(&mut self, name: Name) -> Step {
        match name {
            Name::P => {
                if !self.in_scope(Name::P, Scope::Button) {
                    self.leaf_element(Name::P);
                } else {
                    self.close_p();
                }
            }
            Name::BODY | Name::HTML => {
                if self.in_scope(Name::BODY, Scope::Default) {
                    self.mode = Mode::AfterBody;
                    if name == Name::HTML {
                        return Step::Again;
                    }
                }
            }
            _ if name.is_block_end() => {
                if self.in_scope(name, Scope::Default) {
                    self.close_implied(None);
                    self.pop_until(&[name]);
                }
            }
            _ if name.is_formatting() => self.end_formatting(name),
            Name::FORM => self.end_form(),
            Name::LI => {
                if self.in_scope(name, Scope::ListItem) {
                    self.close_implied(Some(name));
                    self.pop_until(&[name]);
                }
            }
            Name::DD | Name::DT => {
                if self.in_scope(name, Scope::Default) {
                    self.close_implied(Some(name));
                    self.pop_until(&[name]);
                }
            }
            _ if name.is_heading() => self.end_heading(),
            _ if name.is_marker() => {
                if self.in_scope(name, Scope::Default) {
                    self.close_implied(None);
                    self.pop_until(&[name]);
                    self.clear_to_marker();
                }
            }
            Name::BR => {
                self.reconstruct();
                self.leaf_element(Name::BR);
                self.frameset_ok = false;
            }
            Name::TEMPLATE => {}
            _ => self.end_other(name),
        }
        Step::Done
    }

    fn end_heading(&mut self) {
        if self.in_scope_where(Scope::Default, |open| open.name.is_heading()) {
            self.close_implied(None);
            self.pop_until(&[Name::H1, Name::H2, Name::H3, Name::H4, Name::H5, Name::H6]);
        }
    }

    fn end_form(&mut self) {
        let serial = std::mem::replace(&mut self.form, NONE);
        if serial == NONE || !self.in_scope_where(Scope::Default, |open| open.serial == serial) {
            return;
        }
        self.close_implied(None);
        if let Some(at) = self.position(serial) {
            self.remove_open(at);
        }
    }

    /// An end tag without rules of its own closes its element unless a special one is open inside it.
    pub(super) fn end_other(&mut self, name: Name) {
        if !self.is_open(name) {
            return;
        }
        for index in (0..self.stack.len()).rev() {
            steps::add(1);
            let open = self.stack[index];
            if open.name == name && open.space == Namespace::Html {
                self.close_implied(Some(name));
                while self.stack.len() > index {
                    self.pop();
                }
                return;
            }
            if open.is_special() {
                return;
            }
        }
    }

    pub(super) fn close_p(&mut self) {
        if self.in_scope(Name::P, Scope::Button) {
            self.close_implied(Some(Name::P));
            self.pop_until(&[Name::P]);
        }
    }
}
