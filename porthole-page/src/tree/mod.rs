//! The HTML standard's tree construction (section 13.2.6) without a tree: the stack of open elements, the list of
//! active formatting elements and the insertion modes determine the position of each leaf, and nothing else is kept.
//! Therefore a page takes time linear in its size, however deep or malformed it is.

mod body;
mod foreign;
mod formatting;
mod head;
mod table;

use crate::gather::{ASIDE, FoundLink, IN_NOSCRIPT, NONE, PageCollector, STARTS_BLOCK};
use crate::outline::Outline;
use crate::page::LinkKind;
use crate::references::each_piece;
use crate::steps;
use crate::tag::{KNOWN, TagName};
use crate::token::{Token, Tokenizer, is_space};
use formatting::Formatting;

/// Maximum depth; deeper elements are not opened, as in browsers.
const DEEPEST: usize = 512;

/// Elements whose children can only be other parts of a table.
const TABLE_PARTS: &[TagName] =
    &[TagName::TABLE, TagName::TBODY, TagName::TFOOT, TagName::THEAD, TagName::TR];

/// Elements beside the page's own text.
const BESIDE_THE_TEXT: &[TagName] = &[
    TagName::ASIDE,
    TagName::BUTTON,
    TagName::DIALOG,
    TagName::FOOTER,
    TagName::NAV,
    TagName::SELECT,
    TagName::SVG,
];

/// Number of innermost elements in a tag path.
const PATH_LENGTH: usize = 24;

/// State of the tree construction. Keeps the open elements only, not the tree.
pub(crate) struct TreeState<'a> {
    pub(crate) tokens: Tokenizer<'a>,
    pub(crate) gather: PageCollector<'a>,
    /// Number of start tags that were ignored because they were nested too deep.
    pub(crate) depth_cut: u32,
    /// Records all elements and texts, if that is wanted.
    pub(crate) outline: Option<Outline>,
    mode: Mode,
    stack: Vec<OpenElement>,
    /// Number of open elements of each name, which avoids most searches of the stack.
    open: [u16; KNOWN],
    /// Number of open elements whose names are not in the standard.
    open_unknown: u16,
    formatting: Vec<Formatting<'a>>,
    /// Number of the open form element; `NONE` if there is none.
    form: u32,
    next_serial: u32,
    quirks: bool,
    frameset_ok: bool,
    /// Whether content inserted into a table part goes before the table ("foster parenting").
    fostering: bool,
}

/// An open element.
#[derive(Clone, Copy)]
struct OpenElement {
    name: TagName,
    space: Namespace,
    /// Number of elements and texts in it so far.
    children: u32,
    /// Distinguishes elements of the same name.
    serial: u32,
    /// Its link; `NONE` if it has none.
    link: u32,
    /// The leaf that its content goes before; `NONE` if it stays in order.
    before: u32,
    /// Number of the next leaf when it was opened.
    first_leaf: u32,
    /// Its number in the outline; `NONE` if none is recorded.
    node: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Namespace {
    Html,
    Svg,
    MathMl,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Initial,
    BeforeHead,
    InHead,
    InHeadNoscript,
    AfterHead,
    InBody,
    InTable,
    InCaption,
    InColumnGroup,
    InTableBody,
    InRow,
    InCell,
    AfterBody,
    InFrameset,
    AfterFrameset,
}

/// Whether a token is handled, or must be reprocessed in the new mode.
#[derive(PartialEq, Eq)]
enum TokenResult {
    Done,
    Again,
}

/// Elements that end a search for an element "in scope".
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScopeKind {
    Default,
    ListItem,
    Button,
    Table,
}

impl<'a> TreeState<'a> {
    pub(crate) fn new(tokens: Tokenizer<'a>, gather: PageCollector<'a>) -> Self {
        TreeState {
            tokens,
            gather,
            depth_cut: 0,
            outline: None,
            mode: Mode::Initial,
            stack: Vec::with_capacity(32),
            open: [0; KNOWN],
            open_unknown: 0,
            formatting: Vec::with_capacity(16),
            form: NONE,
            next_serial: 0,
            quirks: false,
            frameset_ok: true,
            fostering: false,
        }
    }

    /// Processes the whole page.
    pub(crate) fn run(&mut self) {
        loop {
            let token = self.tokens.next(self.in_foreign());
            self.process(token);
            if token == Token::Eof {
                break;
            }
        }
        while !self.stack.is_empty() {
            self.pop();
        }
        self.gather.close_text();
    }

    fn process(&mut self, token: Token<'a>) {
        if let Token::Start { name, .. } = token
            && self.stack.len() >= DEEPEST
            && !name.is_void()
            && !name.is_raw()
        {
            self.depth_cut += 1;
            self.link_of(name);
            return;
        }
        if token == Token::Blank {
            return self.blank();
        }
        if self.in_foreign() && !self.leaves_foreign(token) && self.foreign(token) == TokenResult::Done {
            return;
        }
        while self.step(token) == TokenResult::Again {}
    }

    fn step(&mut self, token: Token<'a>) -> TokenResult {
        steps::add(1);
        match self.mode {
            Mode::Initial => self.initial(token),
            Mode::BeforeHead => self.before_head(token),
            Mode::InHead => self.in_head(token),
            Mode::InHeadNoscript => self.in_head_noscript(token),
            Mode::AfterHead => self.after_head(token),
            Mode::InBody => self.in_body(token),
            Mode::InTable => self.in_table(token),
            Mode::InCaption => self.in_caption(token),
            Mode::InColumnGroup => self.in_column_group(token),
            Mode::InTableBody => self.in_table_body(token),
            Mode::InRow => self.in_row(token),
            Mode::InCell => self.in_cell(token),
            Mode::AfterBody => self.after_body(token),
            Mode::InFrameset => self.in_frameset(token),
            Mode::AfterFrameset => self.after_frameset(token),
        }
    }

    fn again(&mut self, mode: Mode) -> TokenResult {
        self.mode = mode;
        TokenResult::Again
    }

    fn current(&self) -> Option<&OpenElement> {
        self.stack.last()
    }

    fn current_is(&self, names: &[TagName]) -> bool {
        self.current().is_some_and(|open| open.space == Namespace::Html && open.name.is_one_of(names))
    }

    /// Opens an element for the current start tag.
    fn push(&mut self, name: TagName) {
        let link = self.link_of(name);
        self.push_linked(name, Namespace::Html, link);
        self.describe();
    }

    /// Tells the outline about the attributes of the element that was just opened.
    fn describe(&mut self) {
        if let (Some(outline), Some(open)) = (&mut self.outline, self.stack.last()) {
            outline.describe(open.node, &self.tokens);
        }
    }

    fn push_linked(&mut self, name: TagName, space: Namespace, link: u32) {
        let before = self.place_child();
        self.gather.close_text();
        let first_leaf = self.gather.next_leaf();
        let serial = self.next_serial;
        self.next_serial += 1;
        self.count(name, 1);
        let node = self.outline_element(name, link);
        self.stack.push(OpenElement { name, space, children: 0, serial, link, before, first_leaf, node });
    }

    /// Adds an element to the outline, in the current one.
    fn outline_element(&mut self, name: TagName, link: u32) -> u32 {
        let parent = self.stack.last().map_or(NONE, |open| open.node);
        self.outline.as_mut().map_or(NONE, |outline| outline.element(parent, name, link))
    }

    /// Adds text to the outline, in the current element.
    fn outline_text(&mut self, text: &str) {
        if let Some(outline) = &mut self.outline {
            outline.text(self.stack.last().map_or(NONE, |open| open.node), text);
        }
    }

    /// Counts a new child of the element that gets it, and returns the leaf that it goes before.
    fn place_child(&mut self) -> u32 {
        if self.fostering
            && self.current_is(TABLE_PARTS)
            && let Some(table) = self.stack.iter().rposition(|open| open.name == TagName::TABLE)
        {
            steps::add(self.stack.len() - table);
            if table > 0 {
                self.stack[table - 1].children += 1;
            }
            return self.stack[table].first_leaf;
        }
        match self.stack.last_mut() {
            Some(open) => {
                open.children += 1;
                open.before
            }
            None => NONE,
        }
    }

    fn pop(&mut self) {
        if let Some(open) = self.stack.pop() {
            self.closed(open);
        }
    }

    /// Handles an element's end, after it was removed from the stack.
    fn closed(&mut self, open: OpenElement) {
        steps::add(1);
        self.count(open.name, -1);
        self.gather.close_text();
        let depth = self.stack.len();
        self.gather.rise(depth);
        if open.children == 0 && !open.is_frame() {
            self.gather.empty_leaf(open.name, depth, open.before);
        }
        if open.link != NONE {
            self.gather.end_link_here(open.link);
        }
        if open.name.is_formatting() {
            self.formatting_closed(open.serial);
        }
    }

    fn count(&mut self, name: TagName, by: i16) {
        let count = name.index().map_or(&mut self.open_unknown, |index| &mut self.open[index]);
        *count = count.saturating_add_signed(by);
        if name.is_boundary() {
            self.gather.place |= STARTS_BLOCK;
            if name.changes_place() {
                self.gather.place = self.place();
            }
        }
    }

    /// The surroundings of the next leaf, after an element that may change them.
    #[cold]
    fn place(&self) -> u8 {
        let any = |names: &[TagName]| names.iter().any(|&name| self.is_open(name));
        // The header of an article has its title, that of a page the name of the site.
        let is_page_header = self.is_open(TagName::HEADER) && !any(&[TagName::ARTICLE, TagName::MAIN]);
        let noscript = if self.is_open(TagName::NOSCRIPT) { IN_NOSCRIPT } else { 0 };
        let aside = if is_page_header || any(BESIDE_THE_TEXT) { ASIDE } else { 0 };
        STARTS_BLOCK | noscript | aside
    }

    fn is_open(&self, name: TagName) -> bool {
        name.index().map_or(self.open_unknown, |index| self.open[index]) > 0
    }

    /// Adds an element without content, for the current start tag.
    fn void(&mut self, name: TagName) {
        let link = self.link_of(name);
        self.leaf_element(name);
        if link != NONE {
            self.gather.end_link_here(link);
        }
    }

    fn leaf_element(&mut self, name: TagName) {
        let before = self.place_child();
        self.outline_element(name, NONE);
        self.gather.empty_leaf(name, self.stack.len(), before);
    }

    /// Handles an element with text-only content. Only `xmp` shows it.
    fn raw(&mut self, name: TagName) {
        if name == TagName::XMP {
            self.push(name);
            let text = self.tokens.raw_text(name);
            self.insert_text(text);
            return self.pop();
        }
        let src = name == TagName::SCRIPT && self.tokens.attribute("src").is_some();
        self.void(name);
        let content = self.tokens.raw_text(name);
        if name == TagName::SCRIPT {
            self.gather.scripts += u32::from(src);
            self.gather.script_bytes += content.len();
        } else if name == TagName::TITLE && self.gather.title.is_none() {
            self.gather.title = Some(content);
        }
    }

    /// Skips a template, whose content is not part of the page.
    fn template(&mut self) {
        self.leaf_element(TagName::TEMPLATE);
        let mut open = 1;
        while open > 0 {
            match self.tokens.next(false) {
                Token::Start { name: TagName::TEMPLATE, .. } => open += 1,
                Token::Start { name, .. } if name.is_raw() => {
                    self.tokens.raw_text(name);
                }
                Token::End(TagName::TEMPLATE) => open -= 1,
                Token::Eof => return,
                _ => {}
            }
        }
    }

    /// Adds text to the current element (or before its table).
    fn text(&mut self, text: &'a str) {
        if self.tokens.has_references {
            each_piece(text, |piece| self.insert_text(piece));
        } else {
            self.insert_text(text);
        }
    }

    /// White space is not a leaf, but separates words, and reopens formatting where text is allowed.
    fn blank(&mut self) {
        match self.mode {
            _ if self.in_foreign() => {}
            Mode::InBody | Mode::InCell | Mode::InCaption | Mode::AfterBody => self.reconstruct(),
            Mode::InTable | Mode::InTableBody | Mode::InRow if !self.current_is(TABLE_PARTS) => {
                self.fostering = true;
                self.reconstruct();
                self.fostering = false;
            }
            _ => {}
        }
        if self.gather.text_is_open() {
            self.gather.push_text(" ");
        }
        if self.outline.is_some() && !self.stack.is_empty() && !self.current_is(TABLE_PARTS) {
            self.outline_text(self.tokens.last_blank());
        }
    }

    fn insert_text(&mut self, text: &str) {
        self.outline_text(text);
        if !self.gather.text_is_open() {
            if is_blank(text) {
                return;
            }
            let before = self.place_child();
            let name = self.stack.last().map_or(TagName::BODY, |open| open.name);
            self.gather.open_text(name, self.stack.len(), before);
        }
        self.gather.push_text(text);
    }

    /// Adds the link of the current start tag, if it has one.
    fn link_of(&mut self, name: TagName) -> u32 {
        let (kind, attribute) = match name {
            TagName::A => (LinkKind::Anchor, "href"),
            TagName::AREA => (LinkKind::Area, "href"),
            TagName::FRAME => (LinkKind::Frame, "src"),
            TagName::IFRAME => (LinkKind::Iframe, "src"),
            TagName::LINK => match self.tokens.attribute("rel").and_then(LinkKind::of_rel) {
                Some(kind) => (kind, "href"),
                None => return NONE,
            },
            _ => return NONE,
        };
        let Some(href) = self.tokens.attribute(attribute) else { return NONE };
        let first = self.gather.next_leaf();
        let link = FoundLink {
            kind,
            href,
            title: self.tokens.attribute("title"),
            rel: self.tokens.attribute("rel"),
            first,
            last: first,
            path: (0, 0),
            depth: self.stack.len() as u16,
        };
        let around = self.stack.len().saturating_sub(PATH_LENGTH - 1);
        let path = self.stack[around..].iter().map(|open| open.name.path_byte());
        self.gather.link(link, path.chain([name.path_byte()]))
    }

    fn in_scope(&self, name: TagName, scope: ScopeKind) -> bool {
        self.is_open(name) && self.in_scope_where(scope, |open| open.name == name)
    }

    fn in_scope_where(&self, scope: ScopeKind, wanted: impl Fn(&OpenElement) -> bool) -> bool {
        for open in self.stack.iter().rev() {
            steps::add(1);
            if open.space == Namespace::Html && wanted(open) {
                return true;
            }
            if open.ends(scope) {
                return false;
            }
        }
        false
    }

    /// Closes elements whose end tags are optional.
    fn close_implied(&mut self, except: Option<TagName>) {
        while self.current().is_some_and(|open| {
            open.space == Namespace::Html && open.name.is_implied() && Some(open.name) != except
        }) {
            self.pop();
        }
    }

    fn pop_until(&mut self, names: &[TagName]) {
        while let Some(open) = self.current() {
            let found = open.space == Namespace::Html && open.name.is_one_of(names);
            if open.name == TagName::HTML {
                return;
            }
            self.pop();
            if found {
                return;
            }
        }
    }
}

impl OpenElement {
    /// `html`, `head` and `body` are not leaves, even without content.
    fn is_frame(&self) -> bool {
        self.space == Namespace::Html && self.name.is_one_of(&[TagName::HTML, TagName::HEAD, TagName::BODY])
    }

    fn ends(&self, scope: ScopeKind) -> bool {
        if self.space != Namespace::Html {
            return scope != ScopeKind::Table && self.is_integration_point();
        }
        match scope {
            ScopeKind::Table => self.name.is_one_of(&[TagName::HTML, TagName::TABLE, TagName::TEMPLATE]),
            ScopeKind::Default => self.name.is_scope(),
            ScopeKind::ListItem => self.name.is_scope() || self.name.is_one_of(&[TagName::OL, TagName::UL]),
            ScopeKind::Button => self.name.is_scope() || self.name == TagName::BUTTON,
        }
    }
}

fn is_blank(text: &str) -> bool {
    text.as_bytes().iter().all(|&b| is_space(b) || b == 0)
}
