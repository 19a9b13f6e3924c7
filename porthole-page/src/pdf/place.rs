//! Where text is on a page, and what a step from one piece of it to the next means.

/// How a coordinate system lies in another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Matrix(pub(super) [f64; 6]);

impl Matrix {
    pub(super) const SAME: Matrix = Matrix([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    pub(super) fn moved(x: f64, y: f64) -> Matrix {
        Matrix([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// First this one, then the other.
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

/// A place on the page, with the direction and the size of the text there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pen {
    pub(super) x: f64,
    pub(super) y: f64,
    /// The direction of writing, of length 1.
    along: (f64, f64),
    pub(super) size: f64,
}

/// What lies between two pieces of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing.
    Inside,
    /// The next goes over the last: an accent and its letter.
    Over,
    Space,
    Line,
    /// Something else begins: a column, a heading, a paragraph that stands apart.
    Leaf,
}

/// A gap that is wider than this part of the size is a space: less than the narrowest that typesetters leave between
/// words, more than they move letters apart.
const SPACE: f64 = 0.1;
/// Text that goes so far back is drawn over what is there.
const OVER: f64 = -0.15;
/// A gap that is wider is one between columns.
const COLUMN: f64 = 3.0;
/// Text that is less far up or down stands on the same line: indices do.
const LINE: f64 = 0.5;
/// Lines that are farther apart belong to different paragraphs.
const PARAGRAPH: f64 = 1.8;
/// A line that is so much larger or smaller is a heading, or follows one.
const HEADING: f64 = 1.15;

impl Pen {
    /// At the origin of this coordinate system, in which the text has this size.
    pub(super) fn at(Matrix([a, b, c, d, x, y]): Matrix, size: f64) -> Pen {
        let length = a.hypot(b);
        let along = if length > 0.0 { (a / length, b / length) } else { (1.0, 0.0) };
        Pen { x, y, along, size: c.hypot(d) * size }
    }

    /// What is between the end of a piece of text and the start of the next.
    pub(super) fn step_to(&self, next: &Pen) -> Step {
        let (x, y) = (next.x - self.x, next.y - self.y);
        let (dx, dy) = self.along;
        let size = self.size.max(next.size);
        let forward = (x * dx + y * dy) / size;
        let upward = (y * dx - x * dy) / size;
        let turned = dx * next.along.0 + dy * next.along.1 < 0.9;
        let is_resized = size > HEADING * self.size.min(next.size);
        match () {
            () if turned => Step::Leaf,
            () if upward.abs() <= LINE => match () {
                () if !(-1.0..=COLUMN).contains(&forward) => Step::Leaf,
                () if forward * size > SPACE * next.size => Step::Space,
                () if forward < OVER => Step::Over,
                () => Step::Inside,
            },
            () if (-PARAGRAPH..0.0).contains(&upward) && forward < COLUMN && !is_resized => Step::Line,
            () => Step::Leaf,
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
    /// Between any two opposite corners.
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
    fn steps_say_what_is_between() {
        let pen = |x: f64, y: f64, size: f64| Pen::at(Matrix([size, 0.0, 0.0, size, x, y]), 1.0);
        let end = pen(100.0, 500.0, 10.0);
        for (next, expected) in [
            (pen(100.0, 500.0, 10.0), Step::Inside),
            (pen(99.0, 500.0, 10.0), Step::Inside),
            (pen(100.8, 500.0, 10.0), Step::Inside),
            (pen(95.0, 500.0, 10.0), Step::Over),
            (pen(100.5, 503.0, 6.0), Step::Inside),
            (pen(102.2, 500.0, 10.0), Step::Space),
            (pen(140.0, 500.0, 10.0), Step::Leaf),
            (pen(20.0, 488.0, 10.0), Step::Line),
            (pen(20.0, 470.0, 10.0), Step::Leaf),
            (pen(20.0, 488.0, 14.0), Step::Leaf),
            (pen(300.0, 700.0, 10.0), Step::Leaf),
            (pen(f64::NAN, f64::INFINITY, 0.0), Step::Leaf),
            (Pen::at(Matrix([0.0, 10.0, -10.0, 0.0, 100.0, 500.0]), 1.0), Step::Leaf),
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
