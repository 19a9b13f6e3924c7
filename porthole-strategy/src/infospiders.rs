//! InfoSpiders (Menczer, Belew): a population of agents that live on what they find.
//!
//! Each agent has energy, a list of keywords, a small net, and the links that it knows. When it is its turn, it follows a link,
//! drawn by softmax over what its net makes of the keywords near each link, and learns: the net is moved towards the
//! similarity of the page that came. Energy grows by that similarity and falls by a cost; above a threshold an agent
//! splits, at 0 it dies.
//! Decided here: an input of the net is a keyword's nearness to the link, the sum of 1 / (1 + distance) over the leaves around it; the net is
//! one layer with tanh; the cost is the mean similarity of all pages so far, so that an average page keeps an agent where it is; a
//! child takes half of the energy and every other link, its weights are changed a little, and it learns the most frequent new word of
//! the page as a keyword. An agent keeps its best links. A page that no agent was after, such as a start, brings a new agent
//! into being, and when none has a link to follow, the best that was seen by any is next. Draws come from the seed, the number of turns and the
//! link, so nothing follows from being asked.

use std::collections::VecDeque;

use porthole_page::Link;
use porthole_types::{CanonicalUrl, TermId, UrlId};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::catalogue::NameError;
use crate::context_graph::frequent;
use crate::keywords::Keywords;
use crate::parameters::Parameters;
use crate::{Aim, Discipline, Selection, Source, StateError, Strategy, state};

mod agent;
use agent::Agent;

/// The form of what is saved.
const FORM: u32 = 30;

/// Links that an agent offers when it is asked: some may be under way.
const OFFERED: usize = 4;

/// A population of agents.
#[derive(Debug)]
pub struct InfoSpiders {
    settings: Settings,
    seed: u64,
    keywords: Keywords,
    first_keywords: Vec<TermId>,
    /// In the order of their turns.
    agents: VecDeque<Agent>,
    /// Agents so far, which numbers them, and turns so far.
    born: u64,
    turns: u64,
    /// What all pages were like, added up.
    similarity: f64,
}

/// How agents live.
#[derive(Clone, Copy, Debug)]
struct Settings {
    /// Agents at most.
    most: usize,
    /// How greedy softmax is.
    beta: f64,
    /// What similarity is worth in energy.
    gain: f64,
    /// An agent with so much energy splits; it is born with half of that.
    threshold: f64,
}

impl InfoSpiders {
    /// Parameters: `agents` at most, `beta` of softmax, `gain` of energy, and the `threshold` to split.
    pub(crate) fn new(parameters: &mut Parameters<'_>, aim: &Aim) -> Result<InfoSpiders, NameError> {
        let settings = Settings {
            most: parameters.number("agents", 32, 1..=10_000)?,
            beta: parameters.number("beta", 5.0, 0.0..=1_000.0)?,
            gain: parameters.number("gain", 5.0, 0.0..=1_000.0)?,
            threshold: parameters.number("threshold", 2.0, 0.001..=1_000_000.0)?,
        };
        let (agents, keywords) = (VecDeque::new(), Keywords::new(aim));
        let (born, turns, similarity) = (0, 0, 0.0);
        let first_keywords = aim.keywords.clone();
        Ok(InfoSpiders {
            settings,
            seed: aim.seed,
            keywords,
            first_keywords,
            agents,
            born,
            turns,
            similarity,
        })
    }

    /// A number in 0..1 for a purpose.
    fn draw(&self, purpose: &[u64]) -> f64 {
        let bytes: Vec<u8> = purpose.iter().flat_map(|number| number.to_le_bytes()).collect();
        ((xxh3_64_with_seed(&bytes, self.seed) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// An agent's links in the order in which it would follow them: softmax without putting back, by Gumbel noise.
    fn preferences(&self, agent: &Agent) -> Vec<UrlId> {
        let noisy = |(url, score): (UrlId, f64)| {
            let noise = -(-self.draw(&[self.turns, agent.id, url.0]).ln()).ln();
            (self.settings.beta * score + noise, url)
        };
        let mut links: Vec<(f64, UrlId)> = agent.scored().map(noisy).collect();
        links.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        links.into_iter().take(OFFERED).map(|(_, url)| url).collect()
    }

    /// The agent whose page it is: the next in turn that is after it, or a new one.
    fn owner(&mut self, url: UrlId) -> Agent {
        if let Some(place) = self.agents.iter().position(|agent| agent.is_after(url)) {
            return self.agents.remove(place).expect("it was there a moment ago");
        }
        self.born += 1;
        Agent::new(self.born, self.settings.threshold / 2.0, &self.first_keywords)
    }

    fn forget(&mut self, url: UrlId) {
        self.agents.iter_mut().for_each(|agent| agent.forget(url));
    }

    /// Splits what an agent has with a child.
    fn split(&mut self, agent: &mut Agent, source: &Source<'_>) -> Agent {
        self.born += 1;
        let id = self.born;
        let new_word = frequent(source.page, 8).into_iter().find(|word| !agent.knows(*word));
        agent.split(id, new_word, |place| self.draw(&[id, place]) - 0.5)
    }
}

impl Strategy for InfoSpiders {
    fn name(&self) -> &str {
        "infospiders"
    }

    fn discipline(&self) -> Discipline {
        Discipline { selection: Selection::Own, ..Discipline::default() }
    }

    /// All first choices in turn, then all second ones, and so on.
    fn choose(&mut self, n: usize) -> Vec<UrlId> {
        let agents = self.agents.iter().take(n.saturating_mul(2).max(8));
        let preferences: Vec<Vec<UrlId>> = agents.map(|agent| self.preferences(agent)).collect();
        (0..OFFERED)
            .flat_map(|round| preferences.iter().filter_map(move |links| links.get(round)))
            .copied()
            .collect()
    }

    fn arrived(&mut self, source: &Source<'_>) {
        let url = source.url.id();
        let similarity = self.keywords.cosine(source.page.terms());
        self.turns += 1;
        self.similarity += similarity;
        let cost = self.similarity / self.turns as f64;
        let mut agent = self.owner(url);
        agent.learn(url, similarity);
        agent.energy += self.settings.gain * (similarity - cost);
        self.forget(url);
        agent.forget(url);
        agent.look_at(source);
        if agent.energy <= 0.0 {
            return;
        }
        let child = (agent.energy >= self.settings.threshold && self.agents.len() + 1 < self.settings.most)
            .then(|| self.split(&mut agent, source));
        self.agents.push_back(agent);
        self.agents.extend(child);
        // Agents that starts brought into being may be too many.
        self.agents.truncate(self.settings.most);
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.turns += 1;
        self.forget(url.id());
    }

    /// What an agent without experience makes of it, for the time when no agent has a choice.
    fn priority(&mut self, source: &Source<'_>, link: &Link) -> Option<f64> {
        let near = agent::nearness(source.page, link, &self.first_keywords);
        let all: f64 = near.iter().map(|near| f64::from(*near)).sum();
        Some(all / (1.0 + all))
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(state::save(FORM, (self.born, self.turns, self.similarity, &self.agents)))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let (born, turns, similarity, agents): (_, _, _, VecDeque<Agent>) = state::restore(FORM, saved)?;
        state::check(agents.iter().all(Agent::is_whole))?;
        (self.born, self.turns, self.similarity, self.agents) = (born, turns, similarity, agents);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
