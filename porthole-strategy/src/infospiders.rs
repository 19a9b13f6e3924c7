//! InfoSpiders (Menczer, Belew): a population of agents that gain energy from relevant pages.
//!
//! Each agent has energy, a list of keywords, a small neural net, and links. In its turn it follows a link, drawn by
//! softmax over its net's scores of the keywords near each link, and trains the net towards the similarity of the
//! fetched page. Energy grows by that similarity and falls by a cost; above a threshold an agent splits, at 0 it dies.
//! Our choices: an input of the net is a keyword's nearness to the link, the sum of 1 / (1 + distance) over the leaves
//! around it; the net is one layer with tanh; the cost is the mean similarity of all pages so far, so that an average
//! page leaves an agent's energy unchanged; a child takes half of the energy and every other link, its weights are
//! mutated, and it adds the most frequent new word of the page to its keywords. An agent keeps its best links. A page
//! that belongs to no agent, such as a start page, creates a new agent. If no agent has a link to follow, the best link
//! seen by any is next. Random numbers are derived from the seed, the number of turns and the link, so `choose` has no
//! side effects.

use std::collections::VecDeque;

use porthole_page::Link;
use porthole_types::{CanonicalUrl, TermId, UrlId};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::catalogue::NameError;
use crate::context_graph::frequent;
use crate::keywords::Keywords;
use crate::parameters::Parameters;
use crate::{CrawlGoal, Discipline, Selection, SourcePage, StateError, Strategy, state};

mod agent;
use agent::Agent;

/// Version of the saved format.
const FORM: u32 = 30;

/// Number of links that an agent offers at a time: some may be in flight.
const OFFERED: usize = 4;

/// A population of agents.
#[derive(Debug)]
pub struct InfoSpiders {
    settings: AgentSettings,
    seed: u64,
    keywords: Keywords,
    first_keywords: Vec<TermId>,
    /// Agents in the order of their turns.
    agents: VecDeque<Agent>,
    /// Number of agents created so far, which is the next id, and of turns so far.
    born: u64,
    turns: u64,
    /// Sum of the similarities of all pages.
    similarity: f64,
}

/// Parameters of all agents.
#[derive(Clone, Copy, Debug)]
struct AgentSettings {
    /// Maximum number of agents.
    most: usize,
    /// Greediness of softmax.
    beta: f64,
    /// Energy gained by a similarity of 1.
    gain: f64,
    /// An agent with this much energy splits; a new agent starts with half of it.
    threshold: f64,
}

impl InfoSpiders {
    /// Parameters: the maximum number of `agents`, `beta` of softmax, the `gain` of energy, and the `threshold` to
    /// split.
    pub(crate) fn new(parameters: &mut Parameters<'_>, goal: &CrawlGoal) -> Result<InfoSpiders, NameError> {
        let settings = AgentSettings {
            most: parameters.number("agents", 32, 1..=10_000)?,
            beta: parameters.number("beta", 5.0, 0.0..=1_000.0)?,
            gain: parameters.number("gain", 5.0, 0.0..=1_000.0)?,
            threshold: parameters.number("threshold", 2.0, 0.001..=1_000_000.0)?,
        };
        let (agents, keywords) = (VecDeque::new(), Keywords::new(goal));
        let (born, turns, similarity) = (0, 0, 0.0);
        let first_keywords = goal.keywords.clone();
        Ok(InfoSpiders {
            settings,
            seed: goal.seed,
            keywords,
            first_keywords,
            agents,
            born,
            turns,
            similarity,
        })
    }

    /// A pseudorandom number in 0..1, determined by the seed and `purpose`.
    fn draw(&self, purpose: &[u64]) -> f64 {
        let bytes: Vec<u8> = purpose.iter().flat_map(|number| number.to_le_bytes()).collect();
        ((xxh3_64_with_seed(&bytes, self.seed) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// An agent's links in the order in which it follows them: softmax without replacement, by Gumbel noise.
    fn preferences(&self, agent: &Agent) -> Vec<UrlId> {
        let noisy = |(url, score): (UrlId, f64)| {
            let noise = -(-self.draw(&[self.turns, agent.id, url.0]).ln()).ln();
            (self.settings.beta * score + noise, url)
        };
        let mut links: Vec<(f64, UrlId)> = agent.scored().map(noisy).collect();
        links.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        links.into_iter().take(OFFERED).map(|(_, url)| url).collect()
    }

    /// Removes and returns the agent that has this URL, the next in turn, or a new agent.
    fn owner(&mut self, url: UrlId) -> Agent {
        if let Some(place) = self.agents.iter().position(|agent| agent.has_link(url)) {
            return self.agents.remove(place).expect("it was there a moment ago");
        }
        self.born += 1;
        Agent::new(self.born, self.settings.threshold / 2.0, &self.first_keywords)
    }

    fn forget(&mut self, url: UrlId) {
        self.agents.iter_mut().for_each(|agent| agent.forget(url));
    }

    /// Splits an agent, and returns the child.
    fn split(&mut self, agent: &mut Agent, source: &SourcePage<'_>) -> Agent {
        self.born += 1;
        let id = self.born;
        let new_word = frequent(source.page, 8).into_iter().find(|word| !agent.has_keyword(*word));
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

    /// The first choices of all agents in turn, then all second choices, and so on.
    fn choose(&mut self, n: usize) -> Vec<UrlId> {
        let agents = self.agents.iter().take(n.saturating_mul(2).max(8));
        let preferences: Vec<Vec<UrlId>> = agents.map(|agent| self.preferences(agent)).collect();
        (0..OFFERED)
            .flat_map(|round| preferences.iter().filter_map(move |links| links.get(round)))
            .copied()
            .collect()
    }

    fn arrived(&mut self, source: &SourcePage<'_>) {
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
        agent.add_links(source);
        if agent.energy <= 0.0 {
            return;
        }
        let child = (agent.energy >= self.settings.threshold && self.agents.len() + 1 < self.settings.most)
            .then(|| self.split(&mut agent, source));
        self.agents.push_back(agent);
        self.agents.extend(child);
        // Start pages may have created too many agents.
        self.agents.truncate(self.settings.most);
    }

    fn settled(&mut self, url: &CanonicalUrl) {
        self.turns += 1;
        self.forget(url.id());
    }

    /// Score by an untrained agent, used when no agent has a choice.
    fn priority(&mut self, source: &SourcePage<'_>, link: &Link) -> Option<f64> {
        let near = agent::nearness(source.page, link, &self.first_keywords);
        let all: f64 = near.iter().map(|near| f64::from(*near)).sum();
        Some(all / (1.0 + all))
    }

    fn save(&self) -> Option<Vec<u8>> {
        Some(state::pack(FORM, (self.born, self.turns, self.similarity, &self.agents)))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), StateError> {
        let (born, turns, similarity, agents): (_, _, _, VecDeque<Agent>) = state::unpack(FORM, saved)?;
        state::check(agents.iter().all(Agent::is_whole))?;
        (self.born, self.turns, self.similarity, self.agents) = (born, turns, similarity, agents);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
