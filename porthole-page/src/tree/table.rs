//! The insertion modes of tables.

use super::{Mode, Namespace, ScopeKind, TokenResult, TreeState};
use crate::gather::NONE;
use crate::steps;
use crate::tag::TagName;
use crate::token::Token;

const SECTIONS: &[TagName] = &[TagName::TBODY, TagName::TFOOT, TagName::THEAD];
const CELLS: &[TagName] = &[TagName::TD, TagName::TH];

impl<'a> TreeState<'a> {
    pub(super) fn in_table(&mut self, token: Token<'a>) -> TokenResult {
        match token {
            Token::Start { name, .. } if name.is_table_part() => self.start_part(name),
            Token::Start { name: TagName::TABLE, .. } => {
                if self.end_table() {
                    TokenResult::Again
                } else {
                    TokenResult::Done
                }
            }
            Token::Start { name: name @ (TagName::STYLE | TagName::SCRIPT | TagName::TEMPLATE), .. } => {
                self.head_element(name)
            }
            Token::Start { name: TagName::INPUT, .. } if self.is_hidden() => {
                self.void(TagName::INPUT);
                TokenResult::Done
            }
            Token::Start { name: TagName::FORM, .. } => {
                if self.form == NONE {
                    self.push(TagName::FORM);
                    self.form = self.stack.last().expect("just pushed").serial;
                    self.pop();
                }
                TokenResult::Done
            }
            Token::End(TagName::TABLE) => {
                self.end_table();
                TokenResult::Done
            }
            Token::End(name) if name.is_table_part() || name.is_one_of(&[TagName::BODY, TagName::HTML]) => {
                TokenResult::Done
            }
            Token::Doctype(_) => TokenResult::Done,
            _ => self.foster(token),
        }
    }

    /// Handles content that is not allowed in a table, which goes before it.
    fn foster(&mut self, token: Token<'a>) -> TokenResult {
        self.fostering = true;
        let step = self.in_body(token);
        self.fostering = false;
        step
    }

    fn is_hidden(&self) -> bool {
        self.tokens.attribute("type").is_some_and(|kind| kind.eq_ignore_ascii_case("hidden"))
    }

    fn start_part(&mut self, name: TagName) -> TokenResult {
        self.pop_back_to(&[TagName::TABLE]);
        match name {
            TagName::CAPTION => {
                self.push_marker();
                self.push(name);
                self.mode = Mode::InCaption;
                TokenResult::Done
            }
            TagName::COLGROUP => {
                self.push(name);
                self.mode = Mode::InColumnGroup;
                TokenResult::Done
            }
            TagName::COL => {
                self.push_linked(TagName::COLGROUP, Namespace::Html, NONE);
                self.again(Mode::InColumnGroup)
            }
            _ if name.is_one_of(SECTIONS) => {
                self.push(name);
                self.mode = Mode::InTableBody;
                TokenResult::Done
            }
            _ => {
                self.push_linked(TagName::TBODY, Namespace::Html, NONE);
                self.again(Mode::InTableBody)
            }
        }
    }

    fn end_table(&mut self) -> bool {
        let open = self.in_scope(TagName::TABLE, ScopeKind::Table);
        if open {
            self.pop_until(&[TagName::TABLE]);
            self.reset_mode();
        }
        open
    }

    /// Closes everything inside the innermost of these elements.
    fn pop_back_to(&mut self, names: &[TagName]) {
        while !self.stack.is_empty() && !self.current_is(names) && !self.current_is(&[TagName::HTML]) {
            self.pop();
        }
    }

    /// Resets the mode from the open elements.
    fn reset_mode(&mut self) {
        let mut open = self.stack.iter().rev().inspect(|_| steps::add(1));
        self.mode = open.find_map(|open| mode_in(open.name)).unwrap_or(Mode::InBody);
    }

    pub(super) fn in_caption(&mut self, token: Token<'a>) -> TokenResult {
        match token {
            Token::End(TagName::CAPTION) => {
                self.end_caption();
                TokenResult::Done
            }
            Token::Start { name, .. } if name.is_table_part() => self.again_if_caption(),
            Token::End(TagName::TABLE) => self.again_if_caption(),
            Token::End(name) if name.is_table_part() || name.is_one_of(&[TagName::BODY, TagName::HTML]) => {
                TokenResult::Done
            }
            _ => self.in_body(token),
        }
    }

    fn again_if_caption(&mut self) -> TokenResult {
        if self.end_caption() { TokenResult::Again } else { TokenResult::Done }
    }

    fn end_caption(&mut self) -> bool {
        let open = self.in_scope(TagName::CAPTION, ScopeKind::Table);
        if open {
            self.close_implied(None);
            self.pop_until(&[TagName::CAPTION]);
            self.clear_to_marker();
            self.mode = Mode::InTable;
        }
        open
    }

    pub(super) fn in_column_group(&mut self, token: Token<'a>) -> TokenResult {
        match token {
            Token::Doctype(_) | Token::End(TagName::COL) => TokenResult::Done,
            Token::Start { name: TagName::HTML, .. } => self.in_body(token),
            Token::Start { name: TagName::COL, .. } => {
                self.void(TagName::COL);
                TokenResult::Done
            }
            Token::Start { name: TagName::TEMPLATE, .. } => self.head_element(TagName::TEMPLATE),
            Token::Eof => TokenResult::Done,
            _ if !self.current_is(&[TagName::COLGROUP]) => TokenResult::Done,
            Token::End(TagName::COLGROUP) => {
                self.pop();
                self.mode = Mode::InTable;
                TokenResult::Done
            }
            _ => {
                self.pop();
                self.again(Mode::InTable)
            }
        }
    }

    pub(super) fn in_table_body(&mut self, token: Token<'a>) -> TokenResult {
        match token {
            Token::Start { name: TagName::TR, .. } => {
                self.pop_back_to(SECTIONS);
                self.push(TagName::TR);
                self.mode = Mode::InRow;
                TokenResult::Done
            }
            Token::Start { name, .. } if name.is_one_of(CELLS) => {
                self.pop_back_to(SECTIONS);
                self.push_linked(TagName::TR, Namespace::Html, NONE);
                self.again(Mode::InRow)
            }
            Token::End(name) if name.is_one_of(SECTIONS) => {
                if self.in_scope(name, ScopeKind::Table) {
                    self.end_section();
                }
                TokenResult::Done
            }
            Token::Start { name, .. } if name.is_table_part() => self.again_after_section(),
            Token::End(TagName::TABLE) => self.again_after_section(),
            Token::End(name) if name.is_table_part() || name.is_one_of(&[TagName::BODY, TagName::HTML]) => {
                TokenResult::Done
            }
            _ => self.in_table(token),
        }
    }

    fn again_after_section(&mut self) -> TokenResult {
        if !SECTIONS.iter().any(|&section| self.in_scope(section, ScopeKind::Table)) {
            return TokenResult::Done;
        }
        self.end_section();
        TokenResult::Again
    }

    fn end_section(&mut self) {
        self.pop_back_to(SECTIONS);
        self.pop();
        self.mode = Mode::InTable;
    }

    pub(super) fn in_row(&mut self, token: Token<'a>) -> TokenResult {
        match token {
            Token::Start { name, .. } if name.is_one_of(CELLS) => {
                self.pop_back_to(&[TagName::TR]);
                self.push(name);
                self.mode = Mode::InCell;
                self.push_marker();
                TokenResult::Done
            }
            Token::End(TagName::TR) => {
                self.end_row();
                TokenResult::Done
            }
            Token::Start { name, .. } if name.is_table_part() => self.again_after_row(),
            Token::End(TagName::TABLE) => self.again_after_row(),
            Token::End(name) if name.is_one_of(SECTIONS) => {
                if self.in_scope(name, ScopeKind::Table) {
                    self.again_after_row()
                } else {
                    TokenResult::Done
                }
            }
            Token::End(name) if name.is_table_part() || name.is_one_of(&[TagName::BODY, TagName::HTML]) => {
                TokenResult::Done
            }
            _ => self.in_table(token),
        }
    }

    fn again_after_row(&mut self) -> TokenResult {
        if self.end_row() { TokenResult::Again } else { TokenResult::Done }
    }

    fn end_row(&mut self) -> bool {
        let open = self.in_scope(TagName::TR, ScopeKind::Table);
        if open {
            self.pop_back_to(&[TagName::TR]);
            self.pop();
            self.mode = Mode::InTableBody;
        }
        open
    }

    pub(super) fn in_cell(&mut self, token: Token<'a>) -> TokenResult {
        match token {
            Token::End(name) if name.is_one_of(CELLS) => {
                if self.in_scope(name, ScopeKind::Table) {
                    self.end_cell(&[name]);
                }
                TokenResult::Done
            }
            Token::Start { name, .. } if name.is_table_part() => {
                if CELLS.iter().any(|&cell| self.in_scope(cell, ScopeKind::Table)) {
                    self.end_cell(CELLS);
                    TokenResult::Again
                } else {
                    TokenResult::Done
                }
            }
            Token::End(name)
                if name.is_one_of(&[
                    TagName::BODY,
                    TagName::CAPTION,
                    TagName::COL,
                    TagName::COLGROUP,
                    TagName::HTML,
                ]) =>
            {
                TokenResult::Done
            }
            Token::End(name) if name == TagName::TABLE || name.is_table_part() => {
                if !self.in_scope(name, ScopeKind::Table) {
                    return TokenResult::Done;
                }
                self.end_cell(CELLS);
                TokenResult::Again
            }
            _ => self.in_body(token),
        }
    }

    fn end_cell(&mut self, names: &[TagName]) {
        self.close_implied(None);
        self.pop_until(names);
        self.clear_to_marker();
        self.mode = Mode::InRow;
    }
}

fn mode_in(name: TagName) -> Option<Mode> {
    Some(match name {
        TagName::TD | TagName::TH => Mode::InCell,
        TagName::TR => Mode::InRow,
        TagName::TBODY | TagName::TFOOT | TagName::THEAD => Mode::InTableBody,
        TagName::CAPTION => Mode::InCaption,
        TagName::COLGROUP => Mode::InColumnGroup,
        TagName::TABLE => Mode::InTable,
        TagName::BODY => Mode::InBody,
        TagName::FRAMESET => Mode::InFrameset,
        _ => return None,
    })
}
