//! Small charts: lines, dots and stacked bars between two labelled axes.

use std::fmt::Write;

/// A chart with two axes.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Title of the chart.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Marks to draw.
    pub marks: Marks,
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// Scale of the axis.
    pub scale: Scale,
}

/// Scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Linear, from 0 or from a smaller minimum.
    Linear,
    /// Linear from the minimum to the maximum, for values that hardly differ.
    Close,
    /// Logarithmic; values that are not positive are dropped.
    Log,
}

/// Marks of a chart.
#[derive(Clone, Debug)]
pub enum Marks {
    /// Lines and dots.
    Points(Vec<Series>),
    /// A value with an interval in each row, from top to bottom.
    Ranges(Vec<ValueRange>),
    /// Stacked bars.
    Bars {
        /// Names of the parts.
        parts: Vec<String>,
        /// The bars.
        bars: Vec<ChartBar>,
    },
}

/// A value with an interval.
#[derive(Clone, Debug)]
pub struct ValueRange {
    /// Label of the row.
    pub name: String,
    /// The value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A series of points.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    points: Vec<(f64, f64)>,
    /// Error above and below each point; 0 for none.
    errors: Vec<f64>,
    joined: bool,
    dotted: bool,
}

/// A bar.
#[derive(Clone, Debug)]
pub struct ChartBar {
    /// Label below the bar.
    pub name: String,
    /// Heights of the parts, from the bottom.
    pub parts: Vec<f64>,
    /// Label above the bar.
    pub note: String,
}

impl Series {
    /// Dots joined by a line.
    pub fn line(name: &str, points: Vec<(f64, f64)>) -> Self {
        Series { name: name.to_owned(), points, errors: Vec::new(), joined: true, dotted: true }
    }

    /// A line without dots.
    pub fn curve(name: &str, points: Vec<(f64, f64)>) -> Self {
        Series { name: name.to_owned(), points, errors: Vec::new(), joined: true, dotted: false }
    }

    /// A line with error bars.
    pub fn with_errors(name: &str, points: Vec<(f64, f64)>, errors: Vec<f64>) -> Self {
        Series { errors, ..Series::curve(name, points) }
    }

    /// Dots.
    pub fn dots(name: &str, points: Vec<(f64, f64)>) -> Self {
        Series { name: name.to_owned(), points, errors: Vec::new(), joined: false, dotted: true }
    }
}

/// Charts in two columns, as one SVG document.
pub fn page(charts: &[Chart]) -> String {
    let rows = charts.len().div_ceil(2);
    let (width, height) = (2.0 * WIDTH, rows as f64 * HEIGHT);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (index, chart) in charts.iter().enumerate() {
        let (x, y) = ((index % 2) as f64 * WIDTH, (index / 2) as f64 * HEIGHT);
        let _ = write!(svg, "<g transform=\"translate({x} {y})\">\n{}</g>\n", draw(chart, false));
    }
    svg.push_str("</svg>\n");
    svg
}

/// One chart for an HTML page: it uses the colours of the page, and has neither legend nor title.
pub fn inline(chart: &Chart) -> String {
    let rows = if let Marks::Ranges(rows) = &chart.marks { rows.len() } else { 0 };
    // One row for every range.
    let height = if rows > 0 { rows as f64 * ROW + BELOW + 10.0 } else { HEIGHT - INLINE_TOP };
    format!(
        "<svg class=chart viewBox=\"0 0 {WIDTH} {height}\" role=img aria-label=\"{}\" font-size=\"12\">\n\
         <g transform=\"translate(0 {})\">\n{}</g></svg>\n",
        escaped(&chart.title),
        -INLINE_TOP,
        draw(chart, true)
    )
}

/// Legend symbol of the series with this number.
pub fn key(number: usize) -> String {
    let style = style(number);
    format!("<svg viewBox=\"0 0 24 8\"><path d=\"M0 4H24\" stroke-width=\"3\" {style}/></svg>")
}

impl Chart {
    /// The names of its series or parts.
    pub fn names(&self) -> Vec<&str> {
        match &self.marks {
            Marks::Points(series) => series.iter().map(|series| series.name.as_str()).collect(),
            Marks::Bars { parts, .. } => parts.iter().map(String::as_str).collect(),
            Marks::Ranges(_) => Vec::new(),
        }
    }
}

/// Height removed at the top of a chart whose legend is outside.
const INLINE_TOP: f64 = 58.0;
/// Height of a row of a chart of ranges, and of the space below the last one.
const ROW: f64 = 24.0;
const BELOW: f64 = 55.0;

/// Size of a chart, and where its axes begin and end.
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = HEIGHT - 55.0;
/// Distinguishable with colour blindness.
const COLOURS: [&str; 8] =
    ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#999999", "#000000", "#56b4e9", "#b58900"];

/// Attributes of a series: the page may define its own colours; after the last colour, lines are dashed.
fn style(number: usize) -> String {
    let (colour, round) = (number % COLOURS.len(), number / COLOURS.len());
    let dash = ["", ";stroke-dasharray:7 4", ";stroke-dasharray:2 3"][round.min(2)];
    let plain = COLOURS[colour];
    format!("stroke=\"{plain}\" style=\"stroke:var(--s{colour},{plain}){dash}\"")
}

/// The same for filled shapes.
fn fill(number: usize) -> String {
    let colour = number % COLOURS.len();
    let plain = COLOURS[colour];
    format!("fill=\"{plain}\" style=\"fill:var(--s{colour},{plain})\"")
}

/// Maps values to coordinates on one axis.
struct Ruler {
    scale: Scale,
    range: (f64, f64),
    places: (f64, f64),
}

impl Ruler {
    fn new(scale: Scale, values: impl Iterator<Item = f64> + Clone, places: (f64, f64)) -> Self {
        let most = values.clone().fold(f64::NEG_INFINITY, f64::max);
        let least_of_all = values.clone().fold(f64::INFINITY, f64::min);
        let lowest = values.clone().fold(0.0, f64::min);
        let least = values.filter(|&value| value > 0.0).fold(f64::INFINITY, f64::min);
        let range = match scale {
            Scale::Linear => {
                let end = if lowest < 0.0 { 0.0 } else { 1.0 };
                (lowest * 1.08, if most > 0.0 { most * 1.08 } else { end })
            }
            Scale::Close => close(least_of_all, most),
            Scale::Log if least.is_finite() => (
                10f64.powf(least.log10().floor()),
                10f64.powf(most.log10().ceil().max(least.log10().floor() + 1.0)),
            ),
            Scale::Log => (1.0, 10.0),
        };
        Ruler { scale, range, places }
    }

    fn place(&self, value: f64) -> f64 {
        let of = |value: f64| match self.scale {
            Scale::Linear | Scale::Close => value,
            Scale::Log => value.log10(),
        };
        let share = (of(value) - of(self.range.0)) / (of(self.range.1) - of(self.range.0));
        self.places.0 + share * (self.places.1 - self.places.0)
    }

    fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale != Scale::Log || value > 0.0)
    }

    fn ticks(&self) -> Vec<f64> {
        let (from, to) = self.range;
        match self.scale {
            Scale::Log => {
                let powers = from.log10().round() as i32..=to.log10().round() as i32;
                powers.map(|power| 10f64.powi(power)).collect()
            }
            Scale::Linear | Scale::Close => Ruler::steps(from, to),
        }
    }

    /// About five round numbers in a range; 0 is included if it is in the range.
    fn steps(from: f64, to: f64) -> Vec<f64> {
        if to <= from {
            return vec![from];
        }
        let rough = (to - from) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 2.5, 5.0, 10.0].map(|step| step * power).into_iter().find(|&step| step >= rough);
        let step = step.unwrap_or(rough);
        let first = (from / step).ceil() as i32;
        (first..).map(|count| f64::from(count) * step).take_while(|&tick| tick <= to).collect()
    }
}

/// A range with a margin on both sides.
fn close(least: f64, most: f64) -> (f64, f64) {
    let room = 0.04 * (most - least);
    match room > 0.0 && room.is_finite() {
        true => (least - room, most + room),
        false if least.is_finite() => (least - 0.5, least + 0.5),
        false => (0.0, 1.0),
    }
}

fn draw(chart: &Chart, is_inline: bool) -> String {
    let mut svg = String::new();
    if !is_inline {
        svg += &text(WIDTH / 2.0, 22.0, "middle", "font-size=\"14\" font-weight=\"bold\"", &chart.title);
        svg += &legend(chart.names().into_iter());
    }
    if let Marks::Ranges(rows) = &chart.marks {
        return svg + &draw_ranges(chart, rows);
    }
    svg += &text((LEFT + RIGHT) / 2.0, HEIGHT - 12.0, "middle", "", &chart.x.label);
    let turned = format!("transform=\"rotate(-90 16 {y})\"", y = (TOP + BOTTOM) / 2.0);
    svg += &text(16.0, (TOP + BOTTOM) / 2.0, "middle", &turned, &chart.y.label);
    svg += &match &chart.marks {
        Marks::Points(series) => draw_series(chart, series),
        Marks::Bars { bars, .. } => draw_bars(chart, bars),
        Marks::Ranges(_) => String::new(),
    };
    svg += &format!("<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" fill=\"none\" stroke=\"currentColor\"/>\n");
    svg
}

/// Draws rows from top to bottom, each with its name above its line.
fn draw_ranges(chart: &Chart, rows: &[ValueRange]) -> String {
    let all = || rows.iter().flat_map(|row| [row.low, row.value, row.high]);
    let (least, most) =
        all().fold((0.0_f64, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let wide = (most - least).max(1e-9);
    let (left, right) = (NAMES, RIGHT);
    let place = |value: f64| left + (value - least + 0.04 * wide) / (1.08 * wide) * (right - left);
    let top = INLINE_TOP + 6.0;
    let bottom = top + rows.len() as f64 * ROW;
    let mut svg = String::new();
    for tick in Ruler::steps(least, most) {
        let x = place(tick);
        let grey = if tick == 0.0 { "currentColor" } else { GRID };
        let _ = writeln!(svg, "<path d=\"M{x:.1} {top}V{bottom}\" stroke=\"{grey}\"/>");
        svg += &text(x, bottom + 16.0, "middle", "font-size=\"11\"", &number(tick));
    }
    svg += &text((left + right) / 2.0, bottom + 36.0, "middle", "", &chart.x.label);
    for (at, row) in rows.iter().enumerate() {
        let y = top + (at as f64 + 0.5) * ROW;
        svg += &text(left - 8.0, y + 4.0, "end", "", &row.name);
        let (low, high, value) = (place(row.low), place(row.high), place(row.value));
        let _ = writeln!(
            svg,
            "<path d=\"M{low:.1} {y:.1}H{high:.1}M{low:.1} {:.1}v8M{high:.1} {:.1}v8\" stroke-width=\"2\" \
             {}/><circle cx=\"{value:.1}\" cy=\"{y:.1}\" r=\"4.5\" {}/>",
            y - 4.0,
            y - 4.0,
            style(1),
            fill(1)
        );
    }
    svg
}

/// Right edge of the names in a chart of ranges.
const NAMES: f64 = 150.0;
const GRID: &str = "#88888844";

fn draw_series(chart: &Chart, series: &[Series]) -> String {
    let all = || series.iter().flat_map(|series| series.points.iter());
    let x = Ruler::new(chart.x.scale, all().map(|point| point.0), (LEFT, RIGHT));
    let y = Ruler::new(chart.y.scale, all().map(|point| point.1), (BOTTOM, TOP));
    let mut svg = ticks_x(&x) + &ticks_y(&y);
    for (at, series) in series.iter().enumerate() {
        let shown = series.points.iter().filter(|point| x.shows(point.0) && y.shows(point.1));
        let places: Vec<_> = shown.map(|point| (x.place(point.0), y.place(point.1))).collect();
        if series.joined {
            let path: Vec<_> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke-width=\"2\" {}/>",
                path.join(" "),
                style(at)
            );
        }
        for ((across, up), error) in
            series.points.iter().zip(&series.errors).filter(|(_, error)| **error > 0.0)
        {
            // Clipped at the axes.
            let (low, high) = (up - error, (up + error).min(y.range.1));
            let low = if y.scale == Scale::Log { low } else { low.max(y.range.0) };
            if x.shows(*across) && y.shows(low) && y.shows(high) {
                let (at_x, low, high) = (x.place(*across), y.place(low), y.place(high));
                let _ = writeln!(svg, "<path d=\"M{at_x:.1} {low:.1}V{high:.1}\" {}/>", style(at));
            }
        }
        for (x, y) in places.into_iter().filter(|_| series.dotted) {
            let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" {}/>", fill(at));
        }
    }
    svg
}

fn draw_bars(chart: &Chart, bars: &[ChartBar]) -> String {
    let heights = bars.iter().map(|bar| bar.parts.iter().sum::<f64>());
    let y = Ruler::new(chart.y.scale, heights, (BOTTOM, TOP));
    let mut svg = ticks_y(&y);
    let slot = (RIGHT - LEFT) / bars.len().max(1) as f64;
    for (index, bar) in bars.iter().enumerate() {
        let middle = LEFT + (index as f64 + 0.5) * slot;
        let (left, width, mut below) = (middle - slot * 0.3, slot * 0.6, 0.0);
        for (at, part) in bar.parts.iter().enumerate() {
            let (from, to) = (y.place(below), y.place(below + part));
            below += part;
            let height = from - to;
            let _ = writeln!(
                svg,
                "<rect x=\"{left:.1}\" y=\"{to:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
                 {}/>",
                fill(at)
            );
        }
        svg += &text(middle, y.place(below) - 5.0, "middle", "font-size=\"11\"", &bar.note);
        svg += &text(middle, BOTTOM + 16.0, "middle", "font-size=\"11\"", &bar.name);
    }
    svg
}

fn ticks_x(ruler: &Ruler) -> String {
    let tick = |value: f64| {
        let x = ruler.place(value);
        let line = format!("<path d=\"M{x:.1} {TOP}V{}\" stroke=\"{GRID}\"/>\n", BOTTOM + 4.0);
        line + &text(x, BOTTOM + 18.0, "middle", "font-size=\"11\"", &number(value))
    };
    ruler.ticks().into_iter().map(tick).collect()
}

fn ticks_y(ruler: &Ruler) -> String {
    let tick = |value: f64| {
        let y = ruler.place(value);
        let line = format!("<path d=\"M{} {y:.1}H{RIGHT}\" stroke=\"{GRID}\"/>\n", LEFT - 4.0);
        line + &text(LEFT - 7.0, y + 4.0, "end", "font-size=\"11\"", &number(value))
    };
    ruler.ticks().into_iter().map(tick).collect()
}

/// Names next to their colours, below the title, on two lines if needed.
fn legend<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let (mut svg, mut x, mut y) = (String::new(), LEFT, 31.0);
    for (at, name) in names.enumerate() {
        let width = 34.0 + 6.6 * name.chars().count() as f64;
        if x + width > WIDTH && x > LEFT {
            (x, y) = (LEFT, y + 18.0);
        }
        let _ = writeln!(svg, "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"11\" height=\"11\" {}/>", fill(at));
        svg += &text(x + 16.0, y + 10.0, "start", "", name);
        x += width;
    }
    svg
}

fn text(x: f64, y: f64, anchor: &str, more: &str, words: &str) -> String {
    let words = escaped(words);
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {more}>{words}</text>\n")
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// A tick label without rounding noise.
fn number(value: f64) -> String {
    let rounded = format!("{value:.4}");
    let short = rounded.trim_end_matches('0').trim_end_matches('.');
    if short.is_empty() { "0".to_owned() } else { short.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        for (scale, values, ticks) in [
            (Scale::Linear, vec![0.3, 9.0], vec![0.0, 2.0, 4.0, 6.0, 8.0]),
            (Scale::Linear, vec![0.0], vec![0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]),
            (Scale::Linear, vec![-0.3, 0.5], vec![-0.2, 0.0, 0.2, 0.4]),
            (Scale::Close, vec![-4.0, 4.0], vec![-4.0, -2.0, 0.0, 2.0, 4.0]),
            (
                Scale::Close,
                vec![0.91, 0.91],
                vec![0.6000000000000001, 0.8, 1.0, 1.2000000000000002, 1.4000000000000001],
            ),
            (Scale::Close, vec![], vec![0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]),
            (Scale::Log, vec![3.0, 0.0, 250.0], vec![1.0, 10.0, 100.0, 1000.0]),
            (Scale::Log, vec![], vec![1.0, 10.0]),
        ] {
            assert_eq!(Ruler::new(scale, values.iter().copied(), (0.0, 1.0)).ticks(), ticks, "{values:?}");
        }
    }

    #[test]
    fn an_empty_range_has_one_tick() {
        assert_eq!(Ruler::steps(0.0, 0.0), [0.0]);
        let axis = || Axis { label: String::new(), scale: Scale::Linear };
        let empty = Chart { title: String::new(), x: axis(), y: axis(), marks: Marks::Ranges(Vec::new()) };
        assert!(!inline(&empty).contains("NaN"));
    }

    #[test]
    fn a_chart_has_every_label_and_escapes_markup() {
        let axis = |label: &str, scale| Axis { label: label.into(), scale };
        let points = Chart {
            title: "a < b & c".into(),
            x: axis("right", Scale::Log),
            y: axis("up", Scale::Linear),
            marks: Marks::Points(vec![Series::line("one", vec![(0.0, 1.0), (1.0, 2.0), (10.0, 3.0)])]),
        };
        let bar = ChartBar { name: "first".into(), parts: vec![1.0, 2.0], note: "3 in all".into() };
        let bars = Chart {
            marks: Marks::Bars { parts: vec!["low".into(), "high".into()], bars: vec![bar] },
            ..points.clone()
        };
        let svg = page(&[points.clone(), bars.clone()]);
        for word in ["a &lt; b &amp; c", "right", "up", "one", "first", "3 in all", "low", "high"] {
            assert!(svg.contains(word), "{word}");
        }
        let lines = vec![(1.0, 4.0), (2.0, 5.0), (3.0, 0.5)];
        let errors = Series::with_errors("two", lines, vec![1.0, 0.0, 2.0]);
        let with_errors =
            Chart { x: axis("x", Scale::Linear), marks: Marks::Points(vec![errors]), ..points.clone() };
        // A zero error is not drawn, and no error bar reaches below the axis.
        let drawn = inline(&with_errors);
        assert_eq!(drawn.matches("V").count() - drawn.matches(&format!(" {TOP}V")).count(), 2, "{drawn}");
        assert!(drawn.contains(&format!(" {BOTTOM:.1}V")), "{drawn}");
        let svg = page(&[points, bars]);
        // Values without a logarithm are dropped.
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
