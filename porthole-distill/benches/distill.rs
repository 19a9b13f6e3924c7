//! Time and memory of distilling a large graph.
//!
//! `cargo bench -p porthole-distill -- [--pages N] [--links N] [--seed N] [--write FILE] [--serve]`. The graph is
//! determined by these numbers: degrees are skewed in both directions, pages are on sites of skewed sizes. `--write`
//! writes it to a file for other programs, and `--serve` measures on demand, a line at a time:
//! `scripts/bench-distill.py` uses both.

use std::cell::OnceCell;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufWriter, Write};
use std::time::{Instant, SystemTime};

use porthole_distill::{
    DistillGraph, DistillNode, DistillOptions, HitsDistiller, PageRankOptions, Rho, link_weights, page_rank,
    walk,
};

/// Iterations of a short and of a long run; their difference gives the time of an iteration.
const SHORT: usize = 5;
const LONG: usize = 45;

type BenchLink = (u32, u32);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let after = |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1));
    let number = |name: &str, default: u64| after(name).map_or(Ok(default), |n| n.parse::<u64>());
    let (pages, links) = (number("--pages", 1_000_000)?, number("--links", 10_000_000)?);
    let web = BenchWeb::new(pages, links, number("--seed", 1)?);
    if let Some(path) = after("--write") {
        web.write(path)?;
    }
    let handed_in = peak();
    let bench = DistillBench::new(&web)?;
    if arguments.iter().any(|argument| argument == "--serve") {
        return bench.serve();
    }
    let (links, cores) = (bench.weighted.links(), rayon::current_num_threads());
    println!("{pages} pages, {links} different links, {cores} cores; memory at most {handed_in} handed in");
    println!("graph built in {:.3} s; memory at most {} so far", bench.built, peak());
    for what in ["papers", "weighted"] {
        println!("{what:>9}: {}; memory at most {} so far", bench.measure(what).0.report(), peak());
    }
    let start = Instant::now();
    let ranks = page_rank(&bench.weighted, &PageRankOptions::default())?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        " PageRank: {seconds:.3} s in {} iterations; memory at most {} so far",
        ranks.iterations,
        peak()
    );
    println!("    plain: {}", bench.measure("plain").0.report());
    bench.measure_walk();
    println!("memory with a second graph and the walk at most {}", peak());
    Ok(())
}

/// Pages and links as passed to the distiller.
struct BenchWeb {
    nodes: Vec<DistillNode>,
    links: Vec<BenchLink>,
}

impl BenchWeb {
    fn new(pages: u64, links: u64, seed: u64) -> BenchWeb {
        let mut random = BenchRandom(seed);
        let node = |random: &mut BenchRandom| DistillNode {
            site: random.below(pages / 10, 2),
            relevance: random.unit(),
            fetched: true,
        };
        let nodes = (0..pages).map(|_| node(&mut random)).collect();
        // Popularity is independent of a page's number and of its number of links.
        let (sources, targets) = (random.shuffled(pages), random.shuffled(pages));
        let link = |random: &mut BenchRandom| {
            (sources[random.below(pages, 2) as usize], targets[random.below(pages, 3) as usize])
        };
        BenchWeb { nodes, links: (0..links).map(|_| link(&mut random)).collect() }
    }

    /// Two counts, then columns: source, target of links; site, relevance of pages.
    fn write(&self, path: &str) -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        for count in [self.nodes.len(), self.links.len()] {
            file.write_all(&(count as u64).to_le_bytes())?;
        }
        self.links.iter().try_for_each(|(src, _)| file.write_all(&src.to_le_bytes()))?;
        self.links.iter().try_for_each(|(_, dst)| file.write_all(&dst.to_le_bytes()))?;
        self.nodes.iter().try_for_each(|node| file.write_all(&(node.site as u32).to_le_bytes()))?;
        self.nodes.iter().try_for_each(|node| file.write_all(&node.relevance.to_le_bytes()))?;
        file.flush()
    }
}

/// The graphs to distil, and their pages and links.
struct DistillBench<'a> {
    web: &'a BenchWeb,
    /// Every page on a separate site and fully relevant: plain HITS. Built on demand.
    plain: OnceCell<DistillGraph>,
    weighted: DistillGraph,
    /// Seconds to build a graph.
    built: f64,
}

impl DistillBench<'_> {
    fn new(web: &BenchWeb) -> Result<DistillBench<'_>, porthole_distill::Error> {
        let start = Instant::now();
        let weighted = DistillGraph::new(&web.nodes, &web.links, |link| *link)?;
        let built = start.elapsed().as_secs_f64();
        Ok(DistillBench { web, plain: OnceCell::new(), weighted, built })
    }

    fn plain(&self) -> &DistillGraph {
        let alone = |(site, _)| DistillNode { site: site as u64, relevance: 1.0, fetched: true };
        let nodes = || self.web.nodes.iter().enumerate().map(alone).collect::<Vec<DistillNode>>();
        self.plain.get_or_init(|| {
            DistillGraph::new(&nodes(), &self.web.links, |link| *link).expect("as the other graph")
        })
    }

    /// Times and hub scores of a computation.
    fn measure(&self, what: &str) -> (Timing, Vec<f64>) {
        let whole = DistillOptions { rho: Rho::All, ..DistillOptions::default() };
        let (graph, options) = match what {
            "plain" => (self.plain(), DistillOptions { correct_inflation: false, ..whole }),
            "weighted" => (&self.weighted, whole),
            _ => (&self.weighted, DistillOptions::default()),
        };
        let run = |options: DistillOptions<'_>| {
            let start = Time::now();
            let scores = HitsDistiller::new(graph, options).map(|distiller| distiller.scores());
            (start.until(&Time::now()), scores.expect("there are no factors"))
        };
        let (time, scores) = run(options);
        let some = |max_iterations| run(DistillOptions { tolerance: 0.0, max_iterations, ..options }).0;
        let iteration = some(SHORT).until(&some(LONG)).over((LONG - SHORT) as f64);
        (Timing { whole: time, iteration, iterations: scores.iterations }, scores.hubs)
    }

    fn measure_walk(&self) {
        let options = DistillOptions { rho: Rho::All, ..DistillOptions::default() };
        let distiller = HitsDistiller::new(&self.weighted, options).expect("there are no factors");
        let start = Instant::now();
        let weights = link_weights(&distiller, &self.web.links, |link| *link);
        let weighed = start.elapsed().as_secs_f64();
        let scores = walk(&distiller, &self.web.links, &weights, |link| *link);
        let walked = start.elapsed().as_secs_f64() - weighed;
        let iteration = walked * 1e3 / scores.iterations as f64;
        println!(
            "     walk: {weighed:.3} s for weights, {walked:.3} s in {} iterations; an iteration {iteration:.1} ms",
            scores.iterations
        );
    }

    /// Answers lines from standard input. `plain` and `weighted` return a line of timings; with a file name after it,
    /// the hub scores are written there.
    fn serve(&self) -> Result<(), Box<dyn Error>> {
        println!("ready {} {}", self.built, peak());
        for line in std::io::stdin().lock().lines() {
            let line = line?;
            let (what, path) = line.split_once(' ').unwrap_or((&line, ""));
            let (figures, hubs) = self.measure(what);
            if !path.is_empty() {
                let mut file = BufWriter::new(File::create(path)?);
                hubs.iter().try_for_each(|score| file.write_all(&score.to_le_bytes()))?;
                file.flush()?;
            }
            let Timing { whole, iteration, iterations } = figures;
            println!(
                "{} {} {} {} {iterations} {}",
                whole.wall,
                whole.cpu,
                iteration.wall,
                iteration.cpu,
                peak()
            );
        }
        Ok(())
    }
}

/// Timings of a computation.
struct Timing {
    whole: Time,
    iteration: Time,
    iterations: usize,
}

impl Timing {
    fn report(&self) -> String {
        let (whole, iteration) = (&self.whole, self.iteration.over(1e-3));
        format!(
            "{:.3} s ({:.3} s on processors) in {} iterations; an iteration {:.1} ms ({:.1} ms)",
            whole.wall, whole.cpu, self.iterations, iteration.wall, iteration.cpu
        )
    }
}

/// Wall clock and CPU seconds; the latter are meaningful on a busy machine.
struct Time {
    wall: f64,
    cpu: f64,
}

impl Time {
    fn now() -> Time {
        let since = |since: SystemTime| since.elapsed().map_or(0.0, |elapsed| elapsed.as_secs_f64());
        Time { wall: since(SystemTime::UNIX_EPOCH), cpu: cpu() }
    }

    fn until(&self, end: &Time) -> Time {
        Time { wall: end.wall - self.wall, cpu: end.cpu - self.cpu }
    }

    fn over(&self, parts: f64) -> Time {
        Time { wall: self.wall / parts, cpu: self.cpu / parts }
    }
}

/// CPU seconds of all threads of this process.
fn cpu() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let texts = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
    texts.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok()).sum::<f64>() / 1e9
}

/// Peak memory, as reported by the system.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.map_or_else(|| "unknown".to_owned(), |kilobytes| format!("{}MB", kilobytes / 1024))
}

/// splitmix64.
struct BenchRandom(u64);

impl BenchRandom {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below `end`; a higher power favours low numbers.
    fn below(&mut self, end: u64, power: i32) -> u64 {
        (self.unit().powi(power) * end as f64) as u64
    }

    fn shuffled(&mut self, count: u64) -> Vec<u32> {
        let mut all: Vec<u32> = (0..count as u32).collect();
        for at in (1..all.len()).rev() {
            all.swap(at, self.below(at as u64 + 1, 1) as usize);
        }
        all
    }
}
