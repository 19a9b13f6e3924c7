//! Positions of text on a page, and the meaning of the gap between two pieces.

/// An affine transformation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Matrix(pub(super) [f64; 6]);

impl Matrix {
    pub(super) const SAME: Matrix = Matrix([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    pub(super) fn moved(x: f64, y: f64) -> Matrix {
        Matrix([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// Applies this transformation, then the other.
    pub(super) fn then(self, Matrix([a, b, c, d, e, f]): Matrix) -> Matrix {
        let Matrix([p, q, r, s, t, u]) = self;
        Matrix([
            p * a + q * c,
            p * b + q * d,
            r * a + s * c,
            r * b + s * d,
            t * a + u * c + e,
            t * b + u * d + f,
        ])
    }
}

/// A text position, with direction and size.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextCursor {
    pub(super) x: f64,
    pub(super) y: f64,
    /// Unit vector of the writing direction.
    along: (f64, f64),
    pub(super) size: f64,
}

/// Gap between two pieces of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextGap {
    /// No gap.
    Inside,
    /// The next piece overlaps the last: an accent and its letter.
    Over,
    Space,
    Line,
    /// A new block: a column, a heading, a separate paragraph.
    Leaf,
}

/// Minimum width of a space, as a share of the size: less than the narrowest word space of typesetters, more than their
/// kerning.
const SPACE: f64 = 0.1;
/// Text that moves back this far overlaps the text before.
const OVER: f64 = -0.15;
/// Minimum gap between columns.
const COLUMN: f64 = 3.0;
/// Text with less vertical distance is on the same line, such as indices.
const LINE: f64 = 0.5;
/// Lines farther apart are in different paragraphs.
const PARAGRAPH: f64 = 1.8;
/// Size ratio from which a line is a heading, or follows one.
const HEADING: f64 = 1.15;

impl TextCursor {
    /// The origin of a coordinate system with text of this size.
    pub(super) fn at(Matrix([a, b, c, d, x, y]): Matrix, size: f64) -> TextCursor {
        let length = a.hypot(b);
        let along = if length > 0.0 { (a / length, b / length) } else { (1.0, 0.0) };
        TextCursor { x, y, along, size: c.hypot(d) * size }
    }

    /// Gap between the end of a piece of text and the start of the next.
    pub(super) fn step_to(&self, next: &TextCursor) -> TextGap {
        let (x, y) = (next.x - self.x, next.y - self.y);
        let (dx, dy) = self.along;
        let size = self.size.max(next.size);
        let forward = (x * dx + y * dy) / size;
        let upward = (y * dx - x * dy) / size;
        let turned = dx * next.along.0 + dy * next.along.1 < 0.9;
        let is_resized = size > HEADING * self.size.min(next.size);
        match () {
            () if turned => TextGap::Leaf,
            () if upward.abs() <= LINE => match () {
                () if !(-1.0..=COLUMN).contains(&forward) => TextGap::Leaf,
                () if forward * size > SPACE * next.size => TextGap::Space,
                () if forward < OVER => TextGap::Over,
                () => TextGap::Inside,
            },
            () if (-PARAGRAPH..0.0).contains(&upward) && forward < COLUMN && !is_resized => TextGap::Line,
            () => TextGap::Leaf,
        }
    }
}

/// A rectangle on a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rectangle {
    left: f64,
    bottom: f64,
    right: f64,
    top: f64,
}

impl Rectangle {
    /// From any two opposite corners.
    pub(super) fn between([a, b, c, d]: [f64; 4]) -> Rectangle {
        Rectangle { left: a.min(c), bottom: b.min(d), right: a.max(c), top: b.max(d) }
    }

    pub(super) fn contains(&self, x: f64, y: f64) -> bool {
        (self.left..=self.right).contains(&x) && (self.bottom..=self.top).contains(&y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_classified() {
        let pen = |x: f64, y: f64, size: f64| TextCursor::at(Matrix([size, 0.0, 0.0, size, x, y]), 1.0);
        let end = pen(100.0, 500.0, 10.0);
        for (next, expected) in [
            (pen(100.0, 500.0, 10.0), TextGap::Inside),
            (pen(99.0, 500.0, 10.0), TextGap::Inside),
            (pen(100.8, 500.0, 10.0), TextGap::Inside),
            (pen(95.0, 500.0, 10.0), TextGap::Over),
            (pen(100.5, 503.0, 6.0), TextGap::Inside),
            (pen(102.2, 500.0, 10.0), TextGap::Space),
            (pen(140.0, 500.0, 10.0), TextGap::Leaf),
            (pen(20.0, 488.0, 10.0), TextGap::Line),
            (pen(20.0, 470.0, 10.0), TextGap::Leaf),
            (pen(20.0, 488.0, 14.0), TextGap::Leaf),
            (pen(300.0, 700.0, 10.0), TextGap::Leaf),
            (pen(f64::NAN, f64::INFINITY, 0.0), TextGap::Leaf),
            (TextCursor::at(Matrix([0.0, 10.0, -10.0, 0.0, 100.0, 500.0]), 1.0), TextGap::Leaf),
        ] {
            assert_eq!(end.step_to(&next), expected, "for {next:?}");
        }
    }

    #[test]
    fn matrices_are_applied_in_order() {
        let moved_then_doubled = Matrix::moved(1.0, 2.0).then(Matrix([2.0, 0.0, 0.0, 2.0, 0.0, 0.0]));
        assert_eq!(moved_then_doubled, Matrix([2.0, 0.0, 0.0, 2.0, 2.0, 4.0]));
        assert!(Rectangle::between([9.0, 9.0, 1.0, 1.0]).contains(5.0, 1.0));
    }
}
