//! The insertion modes of tables.

use super::{Mode, Namespace, Scope, Step, Tree};
use crate::gather::NONE;
use crate::steps;
use crate::tag::Name;
use crate::token::Token;

const SECTIONS: &[Name] = &[Name::TBODY, Name::TFOOT, Name::THEAD];
const CELLS: &[Name] = &[Name::TD, Name::TH];

impl<'a> Tree<'a> {
    pub(super) fn in_table(&mut self, token: Token<'a>) -> Step {
        match token {
            Token::Start { name, .. } if name.is_table_part() => self.start_part(name),
            Token::Start { name: Name::TABLE, .. } => {
                if self.end_table() {
                    Step::Again
                } else {
                    Step::Done
                }
            }
            Token::Start { name: name @ (Name::STYLE | Name::SCRIPT | Name::TEMPLATE), .. } => {
                self.head_element(name)
            }
            Token::Start { name: Name::INPUT, .. } if self.is_hidden() => {
                self.void(Name::INPUT);
                Step::Done
            }
            Token::Start { name: Name::FORM, .. } => {
                if self.form == NONE {
                    self.push(Name::FORM);
                    self.form = self.stack.last().expect("just pushed").serial;
                    self.pop();
                }
                Step::Done
            }
            Token::End(Name::TABLE) => {
                self.end_table();
                Step::Done
            }
            Token::End(name) if name.is_table_part() || name.is_one_of(&[Name::BODY, Name::HTML]) => {
                Step::Done
            }
            Token::Doctype(_) => Step::Done,
            _ => self.foster(token),
        }
    }

    /// What has no place in a table goes in front of it.
    fn foster(&mut self, token: Token<'a>) -> Step {
        self.fostering = true;
        let step = self.in_body(token);
        self.fostering = false;
        step
    }

    fn is_hidden(&self) -> bool {
        self.tokens.attribute("type").is_some_and(|kind| kind.eq_ignore_ascii_case("hidden"))
    }

    fn start_part(&mut self, name: Name) -> Step {
        self.pop_back_to(&[Name::TABLE]);
        match name {
            Name::CAPTION => {
                self.push_marker();
                self.push(name);
                self.mode = Mode::InCaption;
                Step::Done
            }
            Name::COLGROUP => {
                self.push(name);
                self.mode = Mode::InColumnGroup;
                Step::Done
            }
            Name::COL => {
                self.push_linked(Name::COLGROUP, Namespace::Html, NONE);
                self.again(Mode::InColumnGroup)
            }
            _ if name.is_one_of(SECTIONS) => {
                self.push(name);
                self.mode = Mode::InTableBody;
                Step::Done
            }
            _ => {
                self.push_linked(Name::TBODY, Namespace::Html, NONE);
                self.again(Mode::InTableBody)
            }
        }
    }

    fn end_table(&mut self) -> bool {
        let open = self.in_scope(Name::TABLE, Scope::Table);
        if open {
            self.pop_until(&[Name::TABLE]);
            self.reset_mode();
        }
        open
    }

    /// Closes everything inside the innermost of these elements.
    fn pop_back_to(&mut self, names: &[Name]) {
        while !self.stack.is_empty() && !self.current_is(names) && !self.current_is(&[Name::HTML]) {
            self.pop();
        }
    }

    /// The mode that the open elements call for.
    fn reset_mode(&mut self) {
        let mut open = self.stack.iter().rev().inspect(|_| steps::add(1));
        self.mode = open.find_map(|open| mode_in(open.name)).unwrap_or(Mode::InBody);
    }

    pub(super) fn in_caption(&mut self, token: Token<'a>) -> Step {
        match token {
            Token::End(Name::CAPTION) => {
                self.end_caption();
                Step::Done
            }
            Token::Start { name, .. } if name.is_table_part() => self.again_if_caption(),
            Token::End(Name::TABLE) => self.again_if_caption(),
            Token::End(name) if name.is_table_part() || name.is_one_of(&[Name::BODY, Name::HTML]) => {
                Step::Done
            }
            _ => self.in_body(token),
        }
    }

    fn again_if_caption(&mut self) -> Step {
        if self.end_caption() { Step::Again } else { Step::Done }
    }

    fn end_caption(&mut self) -> bool {
        let open = self.in_scope(Name::CAPTION, Scope::Table);
        if open {
            self.close_implied(None);
            self.pop_until(&[Name::CAPTION]);
            self.clear_to_marker();
            self.mode = Mode::InTable;
        }
        open
    }

    pub(super) fn in_column_group(&mut self, token: Token<'a>) -> Step {
        match token {
            Token::Doctype(_) | Token::End(Name::COL) => Step::Done,
            Token::Start { name: Name::HTML, .. } => self.in_body(token),
            Token::Start { name: Name::COL, .. } => {
                self.void(Name::COL);
                Step::Done
            }
            Token::Start { name: Name::TEMPLATE, .. } => self.head_element(Name::TEMPLATE),
            Token::Eof => Step::Done,
            _ if !self.current_is(&[Name::COLGROUP]) => Step::Done,
            Token::End(Name::COLGROUP) => {
                self.pop();
                self.mode = Mode::InTable;
                Step::Done
            }
            _ => {
                self.pop();
                self.again(Mode::InTable)
            }
        }
    }

    pub(super) fn in_table_body(&mut self, token: Token<'a>) -> Step {
        match token {
            Token::Start { name: Name::TR, .. } => {
                self.pop_back_to(SECTIONS);
                self.push(Name::TR);
                self.mode = Mode::InRow;
                Step::Done
            }
            Token::Start { name, .. } if name.is_one_of(CELLS) => {
                self.pop_back_to(SECTIONS);
                self.push_linked(Name::TR, Namespace::Html, NONE);
                self.again(Mode::InRow)
            }
            Token::End(name) if name.is_one_of(SECTIONS) => {
                if self.in_scope(name, Scope::Table) {
                    self.end_section();
                }
                Step::Done
            }
            Token::Start { name, .. } if name.is_table_part() => self.again_after_section(),
            Token::End(Name::TABLE) => self.again_after_section(),
            Token::End(name) if name.is_table_part() || name.is_one_of(&[Name::BODY, Name::HTML]) => {
                Step::Done
            }
            _ => self.in_table(token),
        }
    }

    fn again_after_section(&mut self) -> Step {
        if !SECTIONS.iter().any(|&section| self.in_scope(section, Scope::Table)) {
            return Step::Done;
        }
        self.end_section();
        Step::Again
    }

    fn end_section(&mut self) {
        self.pop_back_to(SECTIONS);
        self.pop();
        self.mode = Mode::InTable;
    }

    pub(super) fn in_row(&mut self, token: Token<'a>) -> Step {
        match token {
            Token::Start { name, .. } if name.is_one_of(CELLS) => {
                self.pop_back_to(&[Name::TR]);
                self.push(name);
                self.mode = Mode::InCell;
                self.push_marker();
                Step::Done
            }
            Token::End(Name::TR) => {
                self.end_row();
                Step::Done
            }
            Token::Start { name, .. } if name.is_table_part() => self.again_after_row(),
            Token::End(Name::TABLE) => self.again_after_row(),
            Token::End(name) if name.is_one_of(SECTIONS) => {
                if self.in_scope(name, Scope::Table) {
                    self.again_after_row()
                } else {
                    Step::Done
                }
            }
            Token::End(name) if name.is_table_part() || name.is_one_of(&[Name::BODY, Name::HTML]) => {
                Step::Done
            }
            _ => self.in_table(token),
        }
    }

    fn again_after_row(&mut self) -> Step {
        if self.end_row() { Step::Again } else { Step::Done }
    }

    fn end_row(&mut self) -> bool {
        let open = self.in_scope(Name::TR, Scope::Table);
        if open {
            self.pop_back_to(&[Name::TR]);
            self.pop();
            self.mode = Mode::InTableBody;
        }
        open
    }

    pub(super) fn in_cell(&mut self, token: Token<'a>) -> Step {
        match token {
            Token::End(name) if name.is_one_of(CELLS) => {
                if self.in_scope(name, Scope::Table) {
                    self.end_cell(&[name]);
                }
                Step::Done
            }
            Token::Start { name, .. } if name.is_table_part() => {
                if CELLS.iter().any(|&cell| self.in_scope(cell, Scope::Table)) {
                    self.end_cell(CELLS);
                    Step::Again
                } else {
                    Step::Done
                }
            }
            Token::End(name)
                if name.is_one_of(&[Name::BODY, Name::CAPTION, Name::COL, Name::COLGROUP, Name::HTML]) =>
            {
                Step::Done
            }
            Token::End(name) if name == Name::TABLE || name.is_table_part() => {
                if !self.in_scope(name, Scope::Table) {
                    return Step::Done;
                }
                self.end_cell(CELLS);
                Step::Again
            }
            _ => self.in_body(token),
        }
    }

    fn end_cell(&mut self, names: &[Name]) {
        self.close_implied(None);
        self.pop_until(names);
        self.clear_to_marker();
        self.mode = Mode::InRow;
    }
}

fn mode_in(name: Name) -> Option<Mode> {
    Some(match name {
        Name::TD | Name::TH => Mode::InCell,
        Name::TR => Mode::InRow,
        Name::TBODY | Name::TFOOT | Name::THEAD => Mode::InTableBody,
        Name::CAPTION => Mode::InCaption,
        Name::COLGROUP => Mode::InColumnGroup,
        Name::TABLE => Mode::InTable,
        Name::BODY => Mode::InBody,
        Name::FRAMESET => Mode::InFrameset,
        _ => return None,
    })
}
