//! How long distilling a large graph takes, and how much memory.
//!
//! `cargo bench -p porthole-distill -- [--pages N] [--links N] [--seed N] [--write FILE] [--serve]`. The graph is the
//! same for the same numbers: degrees are skewed in both directions, pages lie on sites of skewed sizes. `--write`
//! leaves it in a file for others to compute on, and `--serve` measures on demand, a line at a time:
//! `scripts/bench-distill.py` uses both.

use std::cell::OnceCell;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufWriter, Write};
use std::time::{Instant, SystemTime};

use porthole_distill::{
    Distiller, Graph, Node, Options, PageRankOptions, Rho, link_weights, page_rank, walk,
};

/// Iterations of a short and of a long run; what the long one takes longer is what iterations take.
const SHORT: usize = 5;
const LONG: usize = 45;

type Link = (u32, u32);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let after = |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1));
    let number = |name: &str, default: u64| after(name).map_or(Ok(default), |n| n.parse::<u64>());
    let (pages, links) = (number("--pages", 1_000_000)?, number("--links", 10_000_000)?);
    let web = Web::new(pages, links, number("--seed", 1)?);
    if let Some(path) = after("--write") {
        web.write(path)?;
    }
    let handed_in = peak();
    let bench = Bench::new(&web)?;
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

/// Pages and links as they are handed in.
struct Web {
    nodes: Vec<Node>,
    links: Vec<Link>,
}

impl Web {
    fn new(pages: u64, links: u64, seed: u64) -> Web {
        let mut random = Random(seed);
        let node = |random: &mut Random| Node {
            site: random.below(pages / 10, 2),
            relevance: random.unit(),
            fetched: true,
        };
        let nodes = (0..pages).map(|_| node(&mut random)).collect();
        // Which page is popular has nothing to do with when it was found, or with how many links it has.
        let (sources, targets) = (random.shuffled(pages), random.shuffled(pages));
        let link = |random: &mut Random| {
            (sources[random.below(pages, 2) as usize], targets[random.below(pages, 3) as usize])
        };
        Web { nodes, links: (0..links).map(|_| link(&mut random)).collect() }
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

/// The graphs that are distilled, and what they were built from.
struct Bench<'a> {
    web: &'a Web,
    /// Every page on a site of its own and wholly relevant: HITS as everyone knows it.
    /// Built when it is needed.
    plain: OnceCell<Graph>,
    weighted: Graph,
    /// Seconds to build one.
    built: f64,
}

impl Bench<'_> {
    fn new(web: &Web) -> Result<Bench<'_>, porthole_distill::Error> {
        let start = Instant::now();
        let weighted = Graph::new(&web.nodes, &web.links, |link| *link)?;
        let built = start.elapsed().as_secs_f64();
        Ok(Bench { web, plain: OnceCell::new(), weighted, built })
    }

    fn plain(&self) -> &Graph {
        let alone = |(site, _)| Node { site: site as u64, relevance: 1.0, fetched: true };
        let nodes = || self.web.nodes.iter().enumerate().map(alone).collect::<Vec<Node>>();
        self.plain
            .get_or_init(|| Graph::new(&nodes(), &self.web.links, |link| *link).expect("as the other graph"))
    }

    /// Times and hub scores of a computation.
    fn measure(&self, what: &str) -> (Figures, Vec<f64>) {
        let whole = Options { rho: Rho::All, ..Options::default() };
        let (graph, options) = match what {
            "plain" => (self.plain(), Options { correct_inflation: false, ..whole }),
            "weighted" => (&self.weighted, whole),
            _ => (&self.weighted, Options::default()),
        };
        let run = |options: Options<'_>| {
            let start = Time::now();
            let scores = Distiller::new(graph, options).map(|distiller| distiller.scores());
            (start.until(&Time::now()), scores.expect("there are no factors"))
        };
        let (time, scores) = run(options);
        let some = |max_iterations| run(Options { tolerance: 0.0, max_iterations, ..options }).0;
        let iteration = some(SHORT).until(&some(LONG)).over((LONG - SHORT) as f64);
        (Figures { whole: time, iteration, iterations: scores.iterations }, scores.hubs)
    }

    fn measure_walk(&self) {
        let options = Options { rho: Rho::All, ..Options::default() };
        let distiller = Distiller::new(&self.weighted, options).expect("there are no factors");
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

    /// Answers lines from standard input. `plain` and `weighted` give a line of figures; with a file name behind it,
    /// the hub scores go there.
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
            let Figures { whole, iteration, iterations } = figures;
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

/// What a computation took.
struct Figures {
    whole: Time,
    iteration: Time,
    iterations: usize,
}

impl Figures {
    fn report(&self) -> String {
        let (whole, iteration) = (&self.whole, self.iteration.over(1e-3));
        format!(
            "{:.3} s ({:.3} s on processors) in {} iterations; an iteration {:.1} ms ({:.1} ms)",
            whole.wall, whole.cpu, self.iterations, iteration.wall, iteration.cpu
        )
    }
}

/// Seconds by the clock, and on processors: what is left when the machine has other work, too.
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

/// Seconds that all threads of this process were on a processor.
fn cpu() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let texts = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
    texts.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok()).sum::<f64>() / 1e9
}

/// Most memory that was in use, as the system says it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.map_or_else(|| "unknown".to_owned(), |kilobytes| format!("{}MB", kilobytes / 1024))
}

/// splitmix64.
struct Random(u64);

impl Random {
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

    /// A number below `end`, low ones the more often the higher the power.
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
