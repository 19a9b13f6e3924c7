//! Classes of linked pages by relaxation labelling, the hypertext classifier that W 3.1 refers to (Chakrabarti, Dom and
//! Indyk, 1998): a page's class depends on its text and on the classes of its neighbours, which in turn depend on theirs.
//!
//! A page `i` with text probabilities `t_i` and neighbours `N_i` has
//!
//! ```text
//! ln p_i(c) = ln t_i(c) / temperature + weight |N_i|^-damping Σ_j ln Σ_c' p_j(c') Pr(c' | c, direction) + constant
//! ```
//!
//! The sum over `c'` uses the probabilities of the round before. `Pr(c' | c, direction)` is how often a page of class `c`
//! links to, or is linked from, a page of class `c'`; it is counted from labelled pages ([`ClassLinks`]). Temperature,
//! weight and damping are fitted to held-out pages ([`RelaxationOptions::fit`]): neighbours are linked by choice, so they
//! are less evidence than if they were independent.

/// Pages with their links, and the probabilities of their classes by their text alone.
#[derive(Clone, Debug)]
pub struct ClassGraph {
    classes: usize,
    /// By page: the pages that it links to, and those that link to it.
    neighbours: Vec<[Vec<u32>; 2]>,
    /// By page and class.
    text: Vec<f64>,
    /// The class of pages that are known.
    known: Vec<Option<u16>>,
}

/// How often pages of two classes are linked: the logarithm is not taken, since classes of neighbours are uncertain.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassLinks {
    classes: usize,
    /// By direction, class of the page, and class of the neighbour.
    shares: [Vec<f64>; 2],
    /// Share of each class.
    prior: Vec<f64>,
}

/// How text and neighbours are combined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelaxationOptions {
    /// Divides the logarithms of the text's probabilities: above 1 where the critic is too sure.
    pub temperature: f64,
    /// Weight of the neighbours.
    pub weight: f64,
    /// Exponent by which many neighbours count less: 1 for their mean, 0 for their sum.
    pub damping: f64,
    /// Number of rounds.
    pub rounds: usize,
}

/// Least probability of a class: no evidence excludes one.
const LEAST: f64 = 1e-6;

/// Links of each pair of classes that are assumed before any were seen, as a share of all.
const SMOOTHING: f64 = 1.0;

impl ClassGraph {
    /// Pages by number: their probabilities by text, all of the same length, and their class if it is known; and links
    /// between them.
    ///
    /// # Panics
    /// If a link names an unknown page, or if probabilities differ in length.
    pub fn new(pages: &[(Vec<f64>, Option<u16>)], links: &[(u32, u32)]) -> Self {
        let classes = pages.first().map_or(0, |(text, _)| text.len());
        assert!(pages.iter().all(|(text, _)| text.len() == classes), "one probability a class");
        let mut neighbours = vec![[Vec::new(), Vec::new()]; pages.len()];
        for &(from, to) in links.iter().filter(|(from, to)| from != to) {
            neighbours[from as usize][0].push(to);
            neighbours[to as usize][1].push(from);
        }
        for list in neighbours.iter_mut().flatten() {
            list.sort_unstable();
            list.dedup();
        }
        ClassGraph {
            classes,
            neighbours,
            text: pages.iter().flat_map(|(text, _)| text.iter().copied()).collect(),
            known: pages.iter().map(|(_, known)| *known).collect(),
        }
    }

    /// Number of pages.
    pub fn pages(&self) -> usize {
        self.known.len()
    }

    /// Whether a page has neighbours.
    pub fn has_neighbours(&self, page: usize) -> bool {
        self.neighbours[page].iter().any(|list| !list.is_empty())
    }

    /// Probabilities by text alone; known pages have their class.
    fn by_text(&self, temperature: f64) -> Vec<f64> {
        let mut all = self.text.clone();
        for (page, own) in all.chunks_mut(self.classes.max(1)).enumerate() {
            match self.known[page] {
                Some(class) => is_only(own, class.into()),
                None => {
                    own.iter_mut().for_each(|value| *value = value.max(LEAST).ln() / temperature);
                    normalise_logs(own);
                }
            }
        }
        all
    }

    fn of<'a>(&self, all: &'a [f64], page: u32) -> &'a [f64] {
        &all[page as usize * self.classes..][..self.classes]
    }

    /// The classes of all pages, by page and class.
    pub fn relax(&self, links: &ClassLinks, options: &RelaxationOptions) -> Vec<f64> {
        let text = self.by_text(options.temperature);
        let mut now = text.clone();
        for _ in 0..options.rounds {
            now = self.round(&now, &text, links, options);
        }
        now
    }

    /// The same without the pages' own text: neighbours alone, which have their own text and that of their neighbours.
    pub fn by_neighbours(&self, links: &ClassLinks, options: &RelaxationOptions) -> Vec<f64> {
        let both = self.relax(links, options);
        let prior: Vec<f64> = links.prior.repeat(self.pages());
        self.round(&both, &prior, links, options)
    }

    /// Mean of -ln of the probability of a page's right classes.
    pub fn log_loss(&self, found: &[f64], right: &[(u32, Vec<u16>)]) -> f64 {
        let one = |(page, classes): &(u32, Vec<u16>)| {
            let own = self.of(found, *page);
            -classes.iter().map(|class| own[*class as usize]).sum::<f64>().max(LEAST).ln()
        };
        right.iter().map(one).sum::<f64>() / right.len().max(1) as f64
    }

    /// Share of pages whose most probable class is right.
    pub fn accuracy(&self, found: &[f64], right: &[(u32, Vec<u16>)]) -> f64 {
        let is_right = |(page, classes): &&(u32, Vec<u16>)| {
            let own = self.of(found, *page);
            let best = (0..own.len()).max_by(|a, b| own[*a].total_cmp(&own[*b]));
            best.is_some_and(|best| classes.iter().any(|class| usize::from(*class) == best))
        };
        right.iter().filter(is_right).count() as f64 / right.len().max(1) as f64
    }

    fn round(&self, now: &[f64], own: &[f64], links: &ClassLinks, options: &RelaxationOptions) -> Vec<f64> {
        let mut next = vec![0.0; now.len()];
        for (page, new) in next.chunks_mut(self.classes.max(1)).enumerate() {
            if let Some(class) = self.known[page] {
                is_only(new, class.into());
                continue;
            }
            let [to, from] = &self.neighbours[page];
            let count = (to.len() + from.len()) as f64;
            for (direction, list) in [to, from].into_iter().enumerate() {
                for &neighbour in list {
                    links.add_evidence(direction, self.of(now, neighbour), new);
                }
            }
            let scale = if count > 0.0 { options.weight * count.powf(-options.damping) } else { 0.0 };
            for (value, own) in new.iter_mut().zip(self.of(own, page as u32)) {
                *value = own.max(LEAST).ln() + scale * *value;
            }
            normalise_logs(new);
        }
        next
    }
}

impl ClassLinks {
    /// Counts the links of known pages. A neighbour that is not known counts for each class by its text.
    pub fn count(graph: &ClassGraph) -> Self {
        let classes = graph.classes;
        let text = graph.by_text(1.0);
        let mut shares = [vec![0.0; classes * classes], vec![0.0; classes * classes]];
        let mut prior = vec![SMOOTHING; classes];
        for (page, class) in
            graph.known.iter().enumerate().filter_map(|(page, known)| Some((page, (*known)?)))
        {
            prior[class as usize] += 1.0;
            for (list, shares) in graph.neighbours[page].iter().zip(&mut shares) {
                let row = &mut shares[class as usize * classes..][..classes];
                for &neighbour in list {
                    row.iter_mut().zip(graph.of(&text, neighbour)).for_each(|(sum, value)| *sum += value);
                }
            }
        }
        let all: f64 = prior.iter().sum();
        prior.iter_mut().for_each(|share| *share /= all);
        for row in shares.iter_mut().flat_map(|shares| shares.chunks_mut(classes.max(1))) {
            // Smoothed towards the classes of all pages.
            row.iter_mut().zip(&prior).for_each(|(sum, prior)| *sum += SMOOTHING * prior);
            let all: f64 = row.iter().sum();
            row.iter_mut().for_each(|share| *share /= all);
        }
        ClassLinks { classes, shares, prior }
    }

    /// Adds ln Pr(neighbour | class) for each class of the page.
    fn add_evidence(&self, direction: usize, neighbour: &[f64], sums: &mut [f64]) {
        for (row, sum) in self.shares[direction].chunks(self.classes).zip(sums) {
            let likely: f64 = row.iter().zip(neighbour).map(|(share, value)| share * value).sum();
            *sum += likely.max(LEAST).ln();
        }
    }
}

impl RelaxationOptions {
    /// By the text alone.
    pub const TEXT: RelaxationOptions =
        RelaxationOptions { temperature: 1.0, weight: 0.0, damping: 0.5, rounds: 0 };

    /// Number of rounds; more change next to nothing.
    const ROUNDS: usize = 4;

    /// The options with the least log loss on some pages, whose right classes are given.
    pub fn fit(graph: &ClassGraph, links: &ClassLinks, right: &[(u32, Vec<u16>)]) -> RelaxationOptions {
        let text = RelaxationOptions::fit_text(graph, links, right);
        let all = [text].into_iter().chain(RelaxationOptions::candidates(text.temperature));
        least(all, |options| graph.log_loss(&graph.relax(links, options), right))
    }

    /// The same for neighbours alone ([`ClassGraph::by_neighbours`]).
    pub fn fit_neighbours(
        graph: &ClassGraph,
        links: &ClassLinks,
        right: &[(u32, Vec<u16>)],
    ) -> RelaxationOptions {
        let text = RelaxationOptions::fit_text(graph, links, right);
        let all = RelaxationOptions::candidates(text.temperature);
        least(all, |options| graph.log_loss(&graph.by_neighbours(links, options), right))
    }

    /// The temperature of the text alone.
    pub fn fit_text(graph: &ClassGraph, links: &ClassLinks, right: &[(u32, Vec<u16>)]) -> RelaxationOptions {
        let all = [0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0]
            .map(|temperature| RelaxationOptions { temperature, ..RelaxationOptions::TEXT });
        least(all, |options| graph.log_loss(&graph.relax(links, options), right))
    }

    fn candidates(temperature: f64) -> impl Iterator<Item = RelaxationOptions> {
        let rounds = RelaxationOptions::ROUNDS;
        let warmer = [1.0, 1.5, 2.5].map(|factor| factor * temperature);
        let weights = [0.25, 0.5, 1.0, 2.0, 4.0];
        warmer.into_iter().flat_map(move |temperature| {
            weights.into_iter().flat_map(move |weight| {
                let with = move |damping| RelaxationOptions { temperature, weight, damping, rounds };
                [0.5, 1.0].map(with)
            })
        })
    }
}

/// The options with the least loss; the first of equal ones.
fn least(
    all: impl IntoIterator<Item = RelaxationOptions>,
    loss: impl Fn(&RelaxationOptions) -> f64,
) -> RelaxationOptions {
    let scored = all.into_iter().map(|options| (loss(&options), options));
    let best = scored.reduce(|best, other| if other.0 < best.0 { other } else { best });
    best.map_or(RelaxationOptions::TEXT, |(_, options)| options)
}

fn is_only(values: &mut [f64], class: usize) {
    values.fill(0.0);
    values[class] = 1.0;
}

/// Turns logarithms into probabilities.
fn normalise_logs(values: &mut [f64]) {
    let most = values.iter().copied().fold(f64::MIN, f64::max);
    values.iter_mut().for_each(|value| *value = (*value - most).exp());
    let all: f64 = values.iter().sum();
    values.iter_mut().for_each(|value| *value /= all);
}
