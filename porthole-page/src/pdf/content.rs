//! Interprets the content of a page as far as it is text: the operators that show strings and that position them.

use std::collections::HashMap;
use std::rc::Rc;

use foldhash::fast::FixedState;

use super::file::File;
use super::font::{Font, Glyph};
use super::object::{Dictionary, ObjectReader, PdfObject, is_space};
use super::place::{Matrix, Rectangle, TextCursor, TextGap};
use super::text::TextWriter;
use crate::steps;

/// Limits: operands of an operator, saved states, nested forms, cached fonts.
const MOST_OPERANDS: usize = 64;
const MOST_STATES: usize = 256;
const DEEPEST_FORM: usize = 4;
const MOST_FONTS: usize = 64;

/// Ghostscript writes `y e` as `ye` with this much letter spacing, as a share of the size. If more letters than
/// `FEW_LETTERS` have it, the text is letterspaced instead.
const WORD_GAP: f64 = 0.15;
const FEW_LETTERS: usize = 3;

/// Interprets pages, and collects their text.
pub(super) struct TextRenderer<'f> {
    file: &'f File<'f>,
    pub(super) writer: TextWriter,
    /// Fonts by object number.
    fonts: HashMap<u32, Rc<Font>, FixedState>,
    /// Rectangles of the page's links, with their numbers.
    links: Vec<(Rectangle, usize)>,
    /// End of the last text.
    pen: Option<TextCursor>,
}

/// Current graphics state.
#[derive(Clone)]
struct GraphicsState {
    matrix: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    letter_space: f64,
    word_space: f64,
    stretch: f64,
    leading: f64,
    rise: f64,
}

/// A content stream being interpreted.
struct ContentRun<'r, 'f> {
    resources: &'r Resources<'f>,
    state: GraphicsState,
    saved: Vec<GraphicsState>,
    /// Position of the next text, and of the start of its line.
    text: Matrix,
    line: Matrix,
    fonts: HashMap<Vec<u8>, Option<Rc<Font>>, FixedState>,
    depth: usize,
}

/// Named resources of a content stream.
#[derive(Default)]
pub(super) struct Resources<'f> {
    fonts: Dictionary<'f>,
    drawings: Dictionary<'f>,
}

impl<'f> Resources<'f> {
    pub(super) fn read(file: &'f File<'f>, resources: &PdfObject<'f>) -> Self {
        let resources = file.dictionary(resources);
        Resources {
            fonts: file.dictionary(resources.get(b"Font")),
            drawings: file.dictionary(resources.get(b"XObject")),
        }
    }
}

impl<'f> TextRenderer<'f> {
    pub(super) fn new(file: &'f File<'f>, writer: TextWriter) -> Self {
        TextRenderer { file, writer, fonts: HashMap::default(), links: Vec::new(), pen: None }
    }

    pub(super) fn is_over(&self) -> bool {
        self.file.budget.is_spent() || self.writer.is_full()
    }

    /// Interprets a page with links at these rectangles.
    pub(super) fn page(&mut self, content: &[u8], resources: &Resources<'f>, links: Vec<(Rectangle, usize)>) {
        self.links = links;
        self.pen = None;
        let state = GraphicsState {
            matrix: Matrix::SAME,
            font: None,
            size: 1.0,
            letter_space: 0.0,
            word_space: 0.0,
            stretch: 1.0,
            leading: 0.0,
            rise: 0.0,
        };
        self.run(content, resources, state, 0);
    }

    fn run(&mut self, content: &[u8], resources: &Resources<'f>, state: GraphicsState, depth: usize) {
        let mut run = ContentRun {
            resources,
            state,
            saved: Vec::new(),
            text: Matrix::SAME,
            line: Matrix::SAME,
            fonts: HashMap::default(),
            depth,
        };
        let mut reader = ObjectReader::new(content, 0);
        let mut operands: Vec<PdfObject<'_>> = Vec::new();
        let mut paid = 0;
        while let Some(object) = reader.next() {
            match object {
                PdfObject::Word(operator) => {
                    self.file.budget.spend(reader.at() - paid);
                    paid = reader.at();
                    if self.is_over() {
                        return;
                    }
                    if operator == b"ID" {
                        skip_picture(content, &mut reader);
                    } else {
                        self.operator(operator, &operands, &mut run);
                    }
                    operands.clear();
                }
                operand if operands.len() < MOST_OPERANDS => operands.push(operand),
                _ => {}
            }
        }
    }

    fn operator(&mut self, operator: &[u8], operands: &[PdfObject<'_>], run: &mut ContentRun<'_, 'f>) {
        let last = operands.last().unwrap_or(&PdfObject::Null);
        let number = || last.number().unwrap_or(0.0);
        match operator {
            b"q" if run.saved.len() < MOST_STATES => run.saved.push(run.state.clone()),
            b"Q" => run.state = run.saved.pop().unwrap_or_else(|| run.state.clone()),
            b"cm" => {
                if let Some(matrix) = numbers(operands) {
                    run.state.matrix = Matrix(matrix).then(run.state.matrix);
                }
            }
            b"BT" => (run.text, run.line) = (Matrix::SAME, Matrix::SAME),
            b"Tf" => {
                run.state.size = number();
                if let [.., PdfObject::Name(name), _] = operands {
                    run.state.font = self.font(name, run);
                }
            }
            b"Tc" => run.state.letter_space = number(),
            b"Tw" => run.state.word_space = number(),
            b"Tz" => run.state.stretch = number() / 100.0,
            b"TL" => run.state.leading = number(),
            b"Ts" => run.state.rise = number(),
            b"Tm" => {
                if let Some(matrix) = numbers(operands) {
                    (run.text, run.line) = (Matrix(matrix), Matrix(matrix));
                }
            }
            b"Td" | b"TD" => {
                if let Some([x, y]) = numbers(operands) {
                    if operator == b"TD" {
                        run.state.leading = -y;
                    }
                    run.next_line(x, y);
                }
            }
            b"T*" => run.next_line(0.0, -run.state.leading),
            b"Tj" => self.show(last, run),
            b"'" => {
                run.next_line(0.0, -run.state.leading);
                self.show(last, run);
            }
            b"\"" => {
                if let [PdfObject::Number(word), PdfObject::Number(letter), _] = operands {
                    (run.state.word_space, run.state.letter_space) = (*word, *letter);
                }
                run.next_line(0.0, -run.state.leading);
                self.show(last, run);
            }
            b"TJ" => {
                for element in last.elements() {
                    match element {
                        PdfObject::Number(back) => {
                            let state = &run.state;
                            run.text = Matrix::moved(-back / 1000.0 * state.size * state.stretch, 0.0)
                                .then(run.text);
                        }
                        string => self.show(string, run),
                    }
                }
            }
            b"Do" => self.drawing(last, run),
            _ => {}
        }
    }

    fn font(&mut self, name: &[u8], run: &mut ContentRun<'_, 'f>) -> Option<Rc<Font>> {
        if let Some(font) = run.fonts.get(name) {
            return font.clone();
        }
        self.file.budget.spend(run.resources.fonts.len());
        let font = match run.resources.fonts.get(name) {
            PdfObject::Null => None,
            PdfObject::Reference(number) => Some(self.numbered_font(*number)),
            font => Some(Rc::new(Font::read(self.file, &self.file.dictionary(font)))),
        };
        if run.fonts.len() >= MOST_FONTS {
            run.fonts.clear();
        }
        run.fonts.insert(name.to_vec(), font.clone());
        font
    }

    fn numbered_font(&mut self, number: u32) -> Rc<Font> {
        if let Some(font) = self.fonts.get(&number) {
            return font.clone();
        }
        let font = Rc::new(Font::read(self.file, &self.file.dictionary(&PdfObject::Reference(number))));
        if self.fonts.len() >= MOST_FONTS {
            self.fonts.clear();
        }
        self.fonts.insert(number, font.clone());
        font
    }

    fn show(&mut self, string: &PdfObject<'_>, run: &mut ContentRun<'_, 'f>) {
        let (Some(string), Some(font)) = (string.text(), run.state.font.clone()) else { return };
        if string.is_empty() {
            return;
        }
        let state = &run.state;
        let scale = Matrix([state.size * state.stretch, 0.0, 0.0, state.size, 0.0, state.rise]);
        let placed = scale.then(run.text).then(state.matrix);
        let start = TextCursor::at(placed, font.size());
        if let Some(pen) = &self.pen {
            self.writer.step(pen.step_to(&start));
        }
        self.file.budget.spend(string.len());
        let mut shown = ShownString {
            writer: &mut self.writer,
            links: &self.links,
            file: self.file,
            state,
            placed,
            width: 0.0,
            is_spaced: state.letter_space > WORD_GAP * state.size && string.len() <= FEW_LETTERS,
            is_behind_gap: false,
        };
        font.each_glyph(string, &mut shown, ShownString::character, ShownString::glyph);
        let width = shown.width * state.stretch;
        run.text = Matrix::moved(width, 0.0).then(run.text);
        self.pen = Some(TextCursor::at(scale.then(run.text).then(state.matrix), font.size()));
    }

    /// Interprets a nested form; images are ignored.
    fn drawing(&mut self, name: &PdfObject<'_>, run: &ContentRun<'_, 'f>) {
        let Some(name) = name.name().filter(|_| run.depth < DEEPEST_FORM) else { return };
        self.file.budget.spend(run.resources.drawings.len());
        let Some(form) = self.file.stream(run.resources.drawings.get(name)) else { return };
        if form.dictionary.get(b"Subtype").name() != Some(b"Form") {
            return;
        }
        let mut state = run.state.clone();
        if let Some(matrix) = numbers(self.file.resolve(form.dictionary.get(b"Matrix")).elements()) {
            state.matrix = Matrix(matrix).then(state.matrix);
        }
        let content = self.file.unpack(&form);
        let own = form.dictionary.get(b"Resources");
        if *own == PdfObject::Null {
            self.run(&content, run.resources, state, run.depth + 1);
        } else {
            let resources = Resources::read(self.file, own);
            self.run(&content, &resources, state, run.depth + 1);
        }
    }
}

impl ContentRun<'_, '_> {
    fn next_line(&mut self, x: f64, y: f64) {
        self.line = Matrix::moved(x, y).then(self.line);
        self.text = self.line;
    }
}

/// A string being shown.
struct ShownString<'s> {
    writer: &'s mut TextWriter,
    links: &'s [(Rectangle, usize)],
    file: &'s File<'s>,
    state: &'s GraphicsState,
    placed: Matrix,
    /// Advance so far, in text coordinates.
    width: f64,
    /// Whether its letter spacing stands for word spaces.
    is_spaced: bool,
    is_behind_gap: bool,
}

impl ShownString<'_> {
    fn character(&mut self, character: char) {
        if self.is_behind_gap {
            self.writer.step(TextGap::Space);
            self.is_behind_gap = false;
        }
        if !self.links.is_empty() && self.writer.is_at_word() && !character.is_whitespace() {
            self.writer.set_link(self.link());
        }
        self.writer.character(character);
    }

    fn glyph(&mut self, glyph: Glyph) {
        let state = self.state;
        self.width += glyph.width * state.size + state.letter_space;
        if glyph.is_space {
            self.width += state.word_space;
        }
        self.writer.has_unknown |= !glyph.is_known;
        self.is_behind_gap = self.is_spaced;
    }

    /// The link at a point slightly inside the next character.
    fn link(&self) -> Option<usize> {
        self.file.budget.spend(self.links.len());
        let size = if self.state.size == 0.0 { 1.0 } else { self.state.size };
        let Matrix([.., x, y]) = Matrix::moved(self.width / size + 0.1, 0.3).then(self.placed);
        let found = self.links.iter().position(|(place, _)| place.contains(x, y));
        steps::passed(found, self.links).map(|at| self.links[at].1)
    }
}

/// The last N operands as numbers.
fn numbers<const N: usize>(operands: &[PdfObject<'_>]) -> Option<[f64; N]> {
    let last = operands.get(operands.len().checked_sub(N)?..)?;
    let mut numbers = [0.0; N];
    for (number, operand) in numbers.iter_mut().zip(last) {
        *number = operand.number()?;
    }
    Some(numbers)
}

/// Skips an inline image: any bytes up to `EI`.
fn skip_picture(content: &[u8], reader: &mut ObjectReader<'_>) {
    let mut at = reader.at();
    while let Some(found) = memchr::memmem::find(&content[at..], b"EI") {
        at += found + 2;
        steps::add(found + 2);
        let is_word = content.get(at - 3).is_none_or(|&byte| is_space(byte))
            && content.get(at).is_none_or(|&byte| is_space(byte));
        if is_word {
            return reader.skip_to(at);
        }
    }
    reader.skip_to(content.len());
}
