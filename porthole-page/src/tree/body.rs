//! The insertion mode "in body", which handles most of a page.

use super::{Mode, Namespace, ScopeKind, TokenResult, TreeState};
use crate::gather::NONE;
use crate::steps;
use crate::tag::TagName;
use crate::token::Token;

impl<'a> TreeState<'a> {
    pub(super) fn in_body(&mut self, token: Token<'a>) -> TokenResult {
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
        TokenResult::Done
    }

    fn start_in_body(&mut self, name: TagName, self_closing: bool) {
        match name {
            _ if name.is_block() => {
                self.close_p();
                self.push(name);
            }
            TagName::A => self.start_a(),
            TagName::NOBR => self.start_nobr(),
            _ if name.is_formatting() => {
                self.reconstruct();
                self.push_formatting(name);
            }
            TagName::LI => self.start_item(name, &[TagName::LI]),
            TagName::DD | TagName::DT => self.start_item(name, &[TagName::DD, TagName::DT]),
            TagName::TABLE => {
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
            TagName::HTML => self.html_attributes(),
            _ if name.is_head() => {
                self.head_element(name);
            }
            TagName::PARAM | TagName::SOURCE | TagName::TRACK => self.void(name),
            TagName::IMAGE => self.start_in_body(TagName::IMG, self_closing),
            TagName::HR => self.start_hr(),
            TagName::INPUT => self.start_input(),
            TagName::COL | TagName::FRAME => {}
            _ if name.is_void() => {
                self.reconstruct();
                self.void(name);
                self.frameset_ok = false;
            }
            TagName::MATH => self.start_foreign(name, Namespace::MathMl, self_closing),
            TagName::SVG => self.start_foreign(name, Namespace::Svg, self_closing),
            TagName::CAPTION | TagName::COLGROUP | TagName::HEAD | TagName::TBODY => {}
            TagName::TD | TagName::TFOOT | TagName::TH | TagName::THEAD | TagName::TR => {}
            _ => self.start_other(name),
        }
    }

    /// The less frequent start tags.
    fn start_other(&mut self, name: TagName) {
        match name {
            TagName::BODY => self.frameset_ok = false,
            TagName::FRAMESET => self.start_frameset(),
            TagName::PRE | TagName::LISTING => {
                self.close_p();
                self.push(name);
                self.frameset_ok = false;
            }
            TagName::FORM => self.start_form(),
            TagName::PLAINTEXT => {
                self.close_p();
                self.push(name);
                let rest = self.tokens.rest();
                self.insert_text(rest);
            }
            TagName::BUTTON => self.start_button(),
            _ if name.is_marker() => {
                self.reconstruct();
                self.push(name);
                self.push_marker();
                self.frameset_ok = false;
            }
            TagName::XMP => {
                self.close_p();
                self.reconstruct();
                self.frameset_ok = false;
                self.raw(name);
            }
            _ if name.is_raw() => {
                self.frameset_ok &= name == TagName::NOEMBED;
                self.raw(name);
            }
            TagName::SELECT => self.start_select(),
            TagName::OPTION | TagName::OPTGROUP => self.start_option(name),
            TagName::RB | TagName::RTC | TagName::RP | TagName::RT => {
                if self.in_scope(TagName::RUBY, ScopeKind::Default) {
                    self.close_implied(name.is_one_of(&[TagName::RP, TagName::RT]).then_some(TagName::RTC));
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
        if let Some((_, serial, _)) = self.formatting_entry(TagName::A) {
            self.end_formatting(TagName::A);
            if let Some((entry, left, _)) = self.formatting_entry(TagName::A)
                && left == serial
            {
                self.formatting.remove(entry);
            }
            if let Some(at) = self.position(serial) {
                self.remove_open(at);
            }
        }
        self.reconstruct();
        self.push_formatting(TagName::A);
    }

    fn start_nobr(&mut self) {
        self.reconstruct();
        if self.in_scope(TagName::NOBR, ScopeKind::Default) {
            self.end_formatting(TagName::NOBR);
            self.reconstruct();
        }
        self.push_formatting(TagName::NOBR);
    }

    /// Removes an element from the stack while others are open inside it.
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

    /// `li`, `dd`, `dt`: closes the previous item, unless another list was opened in between.
    fn start_item(&mut self, name: TagName, kin: &[TagName]) {
        self.frameset_ok = false;
        for index in (0..self.stack.len()).rev() {
            steps::add(1);
            let open = self.stack[index];
            if open.space == Namespace::Html && open.name.is_one_of(kin) {
                self.close_implied(Some(open.name));
                self.pop_until(&[open.name]);
                break;
            }
            if open.is_special() && !open.name.is_one_of(&[TagName::ADDRESS, TagName::DIV, TagName::P]) {
                break;
            }
        }
        self.close_p();
        self.push(name);
    }

    fn start_frameset(&mut self) {
        let body_is_second = self.stack.get(1).is_some_and(|open| open.name == TagName::BODY);
        if !self.frameset_ok || !body_is_second {
            return;
        }
        let first_leaf = self.stack[1].first_leaf;
        while self.stack.len() > 1 {
            self.pop();
        }
        self.gather.forget_from(first_leaf);
        self.push(TagName::FRAMESET);
        self.mode = Mode::InFrameset;
    }

    fn start_form(&mut self) {
        if self.form != NONE {
            return;
        }
        self.close_p();
        self.push(TagName::FORM);
        self.form = self.stack.last().expect("just pushed").serial;
    }

    fn start_button(&mut self) {
        if self.in_scope(TagName::BUTTON, ScopeKind::Default) {
            self.close_implied(None);
            self.pop_until(&[TagName::BUTTON]);
        }
        self.reconstruct();
        self.push(TagName::BUTTON);
        self.frameset_ok = false;
    }

    fn start_hr(&mut self) {
        self.close_p();
        if self.select_in_scope() {
            self.close_implied(None);
        }
        self.void(TagName::HR);
        self.frameset_ok = false;
    }

    fn start_input(&mut self) {
        if self.select_in_scope() {
            self.pop_until(&[TagName::SELECT]);
        }
        self.reconstruct();
        self.void(TagName::INPUT);
        self.frameset_ok &=
            self.tokens.attribute("type").is_some_and(|kind| kind.eq_ignore_ascii_case("hidden"));
    }

    fn start_select(&mut self) {
        if self.select_in_scope() {
            return self.pop_until(&[TagName::SELECT]);
        }
        self.reconstruct();
        self.push(TagName::SELECT);
        self.frameset_ok = false;
    }

    fn start_option(&mut self, name: TagName) {
        if self.select_in_scope() {
            self.close_implied((name == TagName::OPTION).then_some(TagName::OPTGROUP));
        } else if self.current_is(&[TagName::OPTION]) {
            self.pop();
        }
        self.reconstruct();
        self.push(name);
    }

    fn select_in_scope(&self) -> bool {
        self.in_scope(TagName::SELECT, ScopeKind::Default)
    }

    fn end_in_body(&mut self, name: TagName) -> TokenResult {
        match name {
            TagName::P => {
                if !self.in_scope(TagName::P, ScopeKind::Button) {
                    self.leaf_element(TagName::P);
                } else {
                    self.close_p();
                }
            }
            TagName::BODY | TagName::HTML => {
                if self.in_scope(TagName::BODY, ScopeKind::Default) {
                    self.mode = Mode::AfterBody;
                    if name == TagName::HTML {
                        return TokenResult::Again;
                    }
                }
            }
            _ if name.is_block_end() => {
                if self.in_scope(name, ScopeKind::Default) {
                    self.close_implied(None);
                    self.pop_until(&[name]);
                }
            }
            _ if name.is_formatting() => self.end_formatting(name),
            TagName::FORM => self.end_form(),
            TagName::LI => {
                if self.in_scope(name, ScopeKind::ListItem) {
                    self.close_implied(Some(name));
                    self.pop_until(&[name]);
                }
            }
            TagName::DD | TagName::DT => {
                if self.in_scope(name, ScopeKind::Default) {
                    self.close_implied(Some(name));
                    self.pop_until(&[name]);
                }
            }
            _ if name.is_heading() => self.end_heading(),
            _ if name.is_marker() => {
                if self.in_scope(name, ScopeKind::Default) {
                    self.close_implied(None);
                    self.pop_until(&[name]);
                    self.clear_to_marker();
                }
            }
            TagName::BR => {
                self.reconstruct();
                self.leaf_element(TagName::BR);
                self.frameset_ok = false;
            }
            TagName::TEMPLATE => {}
            _ => self.end_other(name),
        }
        TokenResult::Done
    }

    fn end_heading(&mut self) {
        if self.in_scope_where(ScopeKind::Default, |open| open.name.is_heading()) {
            self.close_implied(None);
            self.pop_until(&[TagName::H1, TagName::H2, TagName::H3, TagName::H4, TagName::H5, TagName::H6]);
        }
    }

    fn end_form(&mut self) {
        let serial = std::mem::replace(&mut self.form, NONE);
        if serial == NONE || !self.in_scope_where(ScopeKind::Default, |open| open.serial == serial) {
            return;
        }
        self.close_implied(None);
        if let Some(at) = self.position(serial) {
            self.remove_open(at);
        }
    }

    /// An end tag without specific rules closes its element unless a special one is open inside it.
    pub(super) fn end_other(&mut self, name: TagName) {
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
        if self.in_scope(TagName::P, ScopeKind::Button) {
            self.close_implied(Some(TagName::P));
            self.pop_until(&[TagName::P]);
        }
    }
}
