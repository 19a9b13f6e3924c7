//! Results of the benchmark as numbers, tables and charts.

use serde::Serialize;

use porthole_report::svg::{Axis, Chart, ChartBar, Marks, Scale, Series};

/// V Fig. 8 (a), (b) and (c).
#[derive(Clone, Debug, Serialize)]
pub struct ClassifierFigures {
    /// Sizes of the data.
    pub size: BenchSize,
    /// (a): each variant with a cache of 5% of STAT, or that of the server.
    pub variants: Vec<ClassifierVariant>,
    /// (b): from a small cache to one that holds STAT.
    pub sweep: Vec<CacheSweepPoint>,
    /// (c): BulkProbe at several nodes on several sets of documents.
    pub output: Vec<OutputPoint>,
    /// The line through (c).
    pub fit: LineFit,
    /// Largest relative difference in log Pr\[ci | c0, d\] between the variants.
    pub disagreement: f64,
}

/// Sizes of the benchmark's data.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct BenchSize {
    /// Topics.
    pub nodes: usize,
    /// Nodes that have to be evaluated to know R(d).
    pub path_nodes: usize,
    /// Bytes of STAT.
    pub stat_bytes: u64,
    /// Bytes of BLOB.
    pub blob_bytes: u64,
    /// Bytes of the cache in (a).
    pub cache_bytes: u64,
    /// Documents that BulkProbe judges together.
    pub documents: usize,
    /// Distinct terms of a document, on average.
    pub terms: f64,
}

/// One implementation of R(d).
#[derive(Clone, Debug, Serialize)]
pub struct ClassifierVariant {
    /// Name of the variant.
    pub name: &'static str,
    /// Number of documents that it was measured on.
    pub documents: usize,
    /// Total cost.
    pub cost: DocumentCost,
    /// Microseconds per document for reading the statistics, included in the cost: probes, or the whole join.
    pub probe: f64,
    /// Microseconds a document for reading its terms; part of the join in BulkProbe.
    pub scan: f64,
    /// Microseconds a document for everything else.
    pub cpu: f64,
}

/// Cost of a document.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct DocumentCost {
    /// Microseconds.
    pub micros: f64,
    /// Page cache misses; `None` if the system does not count reads.
    pub misses: Option<f64>,
}

/// Both variants at one cache size.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CacheSweepPoint {
    /// Size of the cache as a share of STAT.
    pub cache: f64,
    /// SingleProbe over BLOB.
    pub single: DocumentCost,
    /// BulkProbe.
    pub bulk: DocumentCost,
}

/// BulkProbe at one node.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OutputPoint {
    /// The node.
    pub topic: u16,
    /// Its children.
    pub children: usize,
    /// The documents.
    pub documents: usize,
    /// Milliseconds.
    pub millis: f64,
}

/// A straight line through points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LineFit {
    /// Milliseconds a thousand rows of output.
    pub slope: f64,
    /// Milliseconds without output.
    pub intercept: f64,
    /// Share of the variance that the line explains.
    pub r2: f64,
}

/// A figure as a table.
#[derive(Clone, Debug)]
pub struct FigureTable {
    /// Title of the figure.
    pub title: String,
    /// Names of the columns.
    pub head: Vec<&'static str>,
    /// Rows; all cells but the first are numbers.
    pub rows: Vec<Vec<String>>,
}

impl BenchSize {
    /// Size of the cache in (a) as a share of STAT, in percent.
    pub fn cache_share(&self) -> String {
        format!("{:.0}%", 100.0 * self.cache_bytes as f64 / self.stat_bytes.max(1) as f64)
    }
}

impl OutputPoint {
    /// Size of the output, |{ci}| x |{d}|.
    pub fn output(&self) -> usize {
        self.children * self.documents
    }
}

impl LineFit {
    /// Least squares line through points (thousands of rows, milliseconds).
    pub fn of(points: &[(f64, f64)]) -> LineFit {
        let n = points.len() as f64;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(&|point| point.0), mean(&|point| point.1));
        let xx = mean(&|point| (point.0 - x).powi(2));
        let yy = mean(&|point| (point.1 - y).powi(2));
        let xy = mean(&|point| (point.0 - x) * (point.1 - y));
        let slope = xy / xx;
        LineFit { slope, intercept: y - slope * x, r2: xy * xy / (xx * yy) }
    }
}

impl ClassifierFigures {
    /// Ratio of the misses a document of the better SingleProbe to those of BulkProbe, in (a).
    pub fn fewer_misses(&self) -> Option<f64> {
        let misses = |name: &str| {
            let of_name = self.variants.iter().filter(|variant| variant.name.starts_with(name));
            of_name.filter_map(|variant| variant.cost.misses).reduce(f64::min)
        };
        Some(misses("SingleProbe")? / misses("BulkProbe")?)
    }

    /// The three figures as tables.
    pub fn tables(&self) -> Vec<FigureTable> {
        vec![self.variants_table(), self.sweep_table(), self.output_table()]
    }

    /// The figures as an SVG.
    pub fn svg(&self) -> String {
        porthole_report::svg::page(&[
            self.variants_chart(),
            self.misses_chart(),
            self.time_chart(),
            self.output_chart(),
        ])
    }

    fn variants_table(&self) -> FigureTable {
        let title = format!("(a) a document, cache of {} of STAT", self.size.cache_share());
        let head = vec!["variant", "documents", "misses", "\u{b5}s", "probe", "scan", "cpu"];
        let row = |variant: &ClassifierVariant| {
            let numbers = [variant.cost.micros, variant.probe, variant.scan, variant.cpu].map(short);
            let mut row = vec![variant.name.to_owned(), variant.documents.to_string(), misses(variant.cost)];
            row.extend(numbers);
            row
        };
        FigureTable { title, head, rows: self.variants.iter().map(row).collect() }
    }

    fn sweep_table(&self) -> FigureTable {
        let title =
            "(b) a document, by size of the cache: SingleProbe after others, BulkProbe from an empty cache"
                .to_owned();
        let head = vec!["cache / STAT", "SingleProbe misses", "\u{b5}s", "BulkProbe misses", "\u{b5}s"];
        let row = |point: &CacheSweepPoint| {
            vec![
                format!("{:.0}%", point.cache * 100.0),
                misses(point.single),
                short(point.single.micros),
                misses(point.bulk),
                short(point.bulk.micros),
            ]
        };
        FigureTable { title, head, rows: self.sweep.iter().map(row).collect() }
    }

    fn output_table(&self) -> FigureTable {
        let LineFit { slope, intercept, r2 } = self.fit;
        let title = format!(
            "(c) BulkProbe by output size: {slope:.2} ms a thousand rows + {intercept:.1} ms, r\u{b2} = {r2:.3}"
        );
        let head = vec!["topic", "children", "documents", "output rows", "ms"];
        let row = |point: &OutputPoint| {
            let numbers = [usize::from(point.topic), point.children, point.documents, point.output()];
            let mut row: Vec<_> = numbers.iter().map(ToString::to_string).collect();
            row.push(short(point.millis));
            row
        };
        FigureTable { title, head, rows: self.output.iter().map(row).collect() }
    }

    fn variants_chart(&self) -> Chart {
        let bar = |variant: &ClassifierVariant| ChartBar {
            name: variant.name.to_owned(),
            parts: [variant.probe, variant.scan, variant.cpu].map(|micros| micros / 1e3).to_vec(),
            note: variant.cost.misses.map_or_else(String::new, |misses| format!("{} misses", short(misses))),
        };
        let parts = ["reading statistics", "reading the document", "arithmetic"].map(str::to_owned).to_vec();
        Chart {
            title: format!("(a) time a document, cache of {} of STAT", self.size.cache_share()),
            x: Axis { label: "variant".into(), scale: Scale::Linear },
            y: Axis { label: "milliseconds a document".into(), scale: Scale::Linear },
            marks: Marks::Bars { parts, bars: self.variants.iter().map(bar).collect() },
        }
    }

    fn misses_chart(&self) -> Chart {
        self.sweep_chart("(b) misses by cache", "page misses a document", |cost| cost.misses)
    }

    fn time_chart(&self) -> Chart {
        self.sweep_chart("(b) time by cache", "milliseconds a document", |cost| Some(cost.micros / 1e3))
    }

    fn sweep_chart(&self, title: &str, label: &str, value: impl Fn(DocumentCost) -> Option<f64>) -> Chart {
        let points = |of: &dyn Fn(&CacheSweepPoint) -> DocumentCost| {
            let point = |point: &CacheSweepPoint| Some((point.cache * 100.0, value(of(point))?));
            self.sweep.iter().filter_map(point).collect()
        };
        Chart {
            title: title.into(),
            x: Axis { label: "cache, % of STAT".into(), scale: Scale::Log },
            y: Axis { label: label.into(), scale: Scale::Log },
            marks: Marks::Points(vec![
                Series::line("SingleProbe (BLOB)", points(&|point| point.single)),
                Series::line("BulkProbe", points(&|point| point.bulk)),
            ]),
        }
    }

    fn output_chart(&self) -> Chart {
        let points: Vec<_> =
            self.output.iter().map(|point| (point.output() as f64 / 1e3, point.millis)).collect();
        let most = points.iter().map(|point| point.0).fold(0.0, f64::max);
        let line = [0.0, most].map(|x| (x, self.fit.intercept + self.fit.slope * x));
        Chart {
            title: format!("(c) BulkProbe by output size, r\u{b2} = {:.3}", self.fit.r2),
            x: Axis { label: "thousands of output rows, |{ci}| \u{d7} |{d}|".into(), scale: Scale::Linear },
            y: Axis { label: "milliseconds".into(), scale: Scale::Linear },
            marks: Marks::Points(vec![
                Series::dots("a node and a set of documents", points),
                Series::line("least squares", line.to_vec()),
            ]),
        }
    }
}

fn misses(cost: DocumentCost) -> String {
    cost.misses.map_or_else(|| "?".to_owned(), short)
}

/// A number with three significant digits.
fn short(number: f64) -> String {
    let digits = if number >= 100.0 {
        0
    } else if number >= 10.0 {
        1
    } else {
        2
    };
    format!("{number:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_computed_least_squares_line() {
        let exact = LineFit::of(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]);
        assert_eq!(exact, LineFit { slope: 2.0, intercept: 1.0, r2: 1.0 });
        // By hand: slope 3/2, through (1, 7/3); residues 1/6, -1/3, 1/6 of a variance of 14/9.
        let loose = LineFit::of(&[(0.0, 1.0), (1.0, 2.0), (2.0, 4.0)]);
        assert!((loose.slope - 1.5).abs() < 1e-12 && (loose.intercept - 5.0 / 6.0).abs() < 1e-12);
        assert!((loose.r2 - 27.0 / 28.0).abs() < 1e-12, "{}", loose.r2);
    }
}
