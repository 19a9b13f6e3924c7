//! `porthole explain`: why a URL was queued, fetched or skipped, and how it is scored.

mod parts;
mod story;

use std::path::Path;

use porthole_store::{About, FeedbackKind, NeighbourEvidence, RAISED, SiteFacts, StoreReader, UrlState};
use porthole_topic::Taxonomy;
use porthole_types::CanonicalUrl;
use serde::Serialize;

use self::parts::PriorityParts;
use self::story::UrlStory;
use crate::cli;
use crate::commands::classify::{PageJudge, PageJudgment};
use crate::commands::units::{moment_and_age, size};
use crate::documents::DocumentReader;
use crate::output::{self, Paint, count, grouped, plain};
use crate::sources::parse_url;
use crate::workspace::{self, Workspace, path_of};

pub(crate) fn run(root: &Path, arguments: &cli::Explain) -> anyhow::Result<()> {
    let workspace = Workspace::open(root)?;
    let url = parse_url(&arguments.url)?;
    let reader = workspace.reader()?;
    let tree = workspace::tree(&reader)?;
    let Some(about) = reader.about(&url)? else {
        return explain_unknown(&url, reader.site(url.authority())?, arguments.json);
    };
    let examples = examples(&reader, &tree, &url)?;
    let judged = judge_now(&workspace, &reader, &url, &about).unwrap_or_else(|error| {
        output::say(&format!("warning: {}", output::in_words(&error)));
        None
    });
    let parts = parts::of(&workspace, &reader, &tree, &url, &about).unwrap_or_else(|error| {
        output::say(&format!("warning: {}", output::in_words(&error)));
        None
    });
    let story = match arguments.story {
        true => Some(story::of(&workspace, &reader, &url, &about)?),
        false => None,
    };
    if arguments.json {
        return output::print_json(&UrlFacts {
            parts,
            story,
            ..UrlFacts::of(&url, &about, &tree, examples, judged)
        });
    }
    Explanation { workspace: &workspace, url: &url, about: &about, tree: &tree, examples, parts }
        .print(judged.as_ref());
    if let Some(story) = story {
        story.print();
    }
    Ok(())
}

/// The topics of which a URL is an example; crawls start at the examples of good topics.
fn examples(reader: &dyn StoreReader, tree: &Taxonomy, url: &CanonicalUrl) -> anyhow::Result<Vec<String>> {
    let examples = reader.examples(None)?.into_iter().filter(|example| example.url == url.as_str());
    Ok(examples.map(|example| path_of(tree, example.topic)).collect())
}

/// The current judgment of the page, if it is archived and there is a critic.
fn judge_now(
    workspace: &Workspace,
    reader: &dyn StoreReader,
    url: &CanonicalUrl,
    about: &About,
) -> anyhow::Result<Option<PageJudgment>> {
    let (Some(span), Ok((critic, tree))) = (about.span, workspace::critic(reader)) else { return Ok(None) };
    let page = workspace.read_page(url, span)?;
    let mut documents = DocumentReader::new();
    let document = documents.bytes(Some(url), &page.headers, &page.body);
    let mut judge = PageJudge { critic, tree, reader, all: false };
    judge.judge_document(url.as_str(), document, &documents.take_words()).map(Some)
}

/// A URL that is not in the database.
#[derive(Serialize)]
struct Unknown<'a> {
    url: &'a str,
    state: &'static str,
    site: Option<ExplainedSite>,
}

fn explain_unknown(url: &CanonicalUrl, site: Option<SiteFacts>, json: bool) -> anyhow::Result<()> {
    if json {
        let site = site.as_ref().map(ExplainedSite::of);
        return output::print_json(&Unknown { url: url.as_str(), state: "unknown", site });
    }
    output::print(&format!("{} is unknown: no fetched page links to it", plain(url.as_str())));
    match site {
        Some(site) => output::print(&format!("its site: {}", site_in_words(&site))),
        None => output::print(&format!("its site {} is unknown, too", plain(url.authority()))),
    }
    Ok(())
}

/// All facts about a URL, for JSON; times are in milliseconds since 1970.
#[derive(Serialize)]
struct UrlFacts<'a> {
    url: &'a str,
    state: &'static str,
    relevance: f64,
    priority: f64,
    numtries: u32,
    lastvisited: Option<i64>,
    seq: Option<u64>,
    topic: Option<String>,
    title: &'a str,
    language: &'a str,
    bytes: Option<u64>,
    status: Option<u16>,
    failure: Option<ExplainedFailure<'a>>,
    not_before: Option<i64>,
    /// Number of queued URLs before it.
    rank: Option<u64>,
    /// Topics of which it is an example.
    examples: Vec<String>,
    parents: Vec<ExplainedParent<'a>>,
    links_in: u64,
    links_out: u64,
    leads_to: Option<&'a str>,
    site: ExplainedSite,
    kept: Option<ArchiveLocation>,
    hub: Option<f64>,
    auth: Option<f64>,
    neighbourhood: Option<ExplainedNeighbours>,
    feedback: Vec<ExplainedFeedback>,
    /// The critic's current judgment of the page.
    judged: Option<PageJudgment>,
    /// Contributions to the priority of a queued URL.
    parts: Option<PriorityParts>,
    /// With `--story`.
    #[serde(skip_serializing_if = "Option::is_none")]
    story: Option<UrlStory>,
}

#[derive(Serialize)]
struct ExplainedFailure<'a> {
    kind: &'a str,
    detail: &'a str,
}

#[derive(Serialize)]
struct ExplainedParent<'a> {
    url: &'a str,
    relevance: f64,
    seq: Option<u64>,
    discovered: i64,
}

#[derive(Serialize)]
struct ExplainedSite {
    host: String,
    serverload: u64,
    disabled: bool,
}

#[derive(Serialize)]
struct ArchiveLocation {
    segment: u32,
    offset: u64,
    length: u32,
}

/// Relevance of the page combined with that of its neighbours.
#[derive(Serialize)]
struct ExplainedNeighbours {
    relevance: f64,
    sites: u32,
    evidence: f64,
}

#[derive(Serialize)]
struct ExplainedFeedback {
    kind: &'static str,
    useful: bool,
    at: i64,
}

impl ExplainedNeighbours {
    fn of(found: &NeighbourEvidence) -> ExplainedNeighbours {
        ExplainedNeighbours { relevance: found.relevance, sites: found.sites, evidence: found.evidence }
    }
}

impl ExplainedSite {
    fn of(site: &SiteFacts) -> ExplainedSite {
        ExplainedSite { host: site.host.clone(), serverload: site.serverload, disabled: site.disabled }
    }
}

impl<'a> UrlFacts<'a> {
    fn of(
        url: &'a CanonicalUrl,
        about: &'a About,
        tree: &Taxonomy,
        examples: Vec<String>,
        judged: Option<PageJudgment>,
    ) -> Self {
        let parents = about.parents.iter().map(|parent| ExplainedParent {
            url: &parent.url,
            relevance: parent.relevance,
            seq: parent.seq,
            discovered: parent.discovered.0,
        });
        let words = about.feedback.iter().map(|word| ExplainedFeedback {
            kind: word.kind.name(),
            useful: word.useful,
            at: word.at.0,
        });
        UrlFacts {
            url: url.as_str(),
            state: about.state.name(),
            relevance: about.relevance,
            priority: about.priority,
            numtries: about.numtries,
            lastvisited: about.last_visited.map(|at| at.0),
            seq: about.seq,
            topic: about.best.map(|topic| path_of(tree, topic)),
            title: &about.title,
            language: &about.language,
            bytes: about.bytes,
            status: about.status,
            failure: about.failure.as_ref().map(|(kind, detail)| ExplainedFailure { kind, detail }),
            not_before: about.not_before.map(|at| at.0),
            rank: about.rank,
            examples,
            parents: parents.collect(),
            links_in: about.links_in,
            links_out: about.links_out,
            leads_to: about.leads_to.as_deref(),
            site: ExplainedSite::of(&about.site),
            kept: about.span.map(|span| ArchiveLocation {
                segment: span.segment,
                offset: span.offset,
                length: span.length,
            }),
            hub: about.hub,
            auth: about.auth,
            neighbourhood: about.neighbourhood.as_ref().map(ExplainedNeighbours::of),
            feedback: words.collect(),
            judged,
            parts: None,
            story: None,
        }
    }
}

/// Prints the facts about a URL as text.
struct Explanation<'a> {
    workspace: &'a Workspace,
    url: &'a CanonicalUrl,
    about: &'a About,
    tree: &'a Taxonomy,
    examples: Vec<String>,
    parts: Option<PriorityParts>,
}

impl Explanation<'_> {
    fn print(&self, judged: Option<&PageJudgment>) {
        if !self.about.title.is_empty() {
            output::print(&Paint::Strong.on(&plain(&self.about.title)));
        }
        output::print(&Paint::Faint.on(&plain(self.url.as_str())));
        output::print("");
        line("state", &self.state());
        for more in self.last_response() {
            line("", &more);
        }
        line("score", &self.score());
        if let Some(found) = &about_neighbours(self.about) {
            line("", found);
        }
        if let Some(parts) = &self.parts {
            print_parts(parts);
        }
        self.print_parents();
        line("site", &site_in_words(&self.about.site));
        for word in &self.about.feedback {
            let useful = if word.useful { "useful" } else { "useless" };
            let what = if word.kind == FeedbackKind::Page {
                String::new()
            } else {
                format!(" as a {}", word.kind.name())
            };
            line("marked", &format!("{useful}{what}, {}", moment_and_age(word.at)));
        }
        for (score, name) in [(self.about.hub, "hub"), (self.about.auth, "authority")] {
            if let Some(score) = score {
                line(name, &format!("{score:.6}"));
            }
        }
        if let Some(judged) = judged {
            self.print_judged(judged);
        }
    }

    /// The state, with its reason.
    fn state(&self) -> String {
        let about = self.about;
        let name = Paint::Strong.on(about.state.name());
        let (kind, detail) = about.failure.clone().unwrap_or_default();
        let why = reason(&kind, &plain(&detail));
        match about.state {
            UrlState::Queued => format!("{name}{}", self.when_next()),
            UrlState::Fetched => format!("{name}{}", self.fetch()),
            UrlState::Redirected => {
                let target = about.leads_to.as_deref().unwrap_or("another URL");
                format!("{name} to {}{}", plain(target), self.fetch())
            }
            UrlState::Dead => format!("{name}: {why}; no retry"),
            UrlState::Skipped => format!("{name}: {why}"),
            UrlState::Evicted => format!("{name}: the bounded queue was full of better URLs"),
            UrlState::Rejected => format!("{name}: the strategy follows no link to it"),
        }
    }

    /// When a queued URL will be fetched.
    fn when_next(&self) -> String {
        let about = self.about;
        if about.site.disabled {
            return ", but its site is disabled; enable it with `porthole sites enable HOST`".to_owned();
        }
        let place = match about.rank {
            Some(0) => "; next in the queue".to_owned(),
            Some(rank) => format!("; {} before it", verb(rank, "URL", "comes", "come")),
            None => String::new(),
        };
        match about.not_before {
            Some(at) => format!(" for a retry, not before {}", moment_and_age(at)),
            None => place,
        }
    }

    /// Sequence number and time of the last fetch.
    fn fetch(&self) -> String {
        let seq =
            self.about.seq.map_or_else(String::new, |seq| format!(" as no. {}", grouped(&seq.to_string())));
        let at = self.about.last_visited.map_or_else(String::new, |at| format!(", {}", moment_and_age(at)));
        format!("{seq}{at}")
    }

    /// The result of the last try.
    fn last_response(&self) -> Vec<String> {
        let about = self.about;
        let mut lines = Vec::new();
        if let (UrlState::Queued, Some((kind, detail))) = (about.state, &about.failure) {
            let tries = count(about.numtries as usize, "time");
            lines.push(format!(
                "tried {tries}{}; last failure: {}",
                self.fetch(),
                reason(kind, &plain(detail))
            ));
        }
        let mut facts = Vec::new();
        if let Some(status) = about.status.filter(|&status| status != 0) {
            facts.push(format!("HTTP {status}"));
        }
        if about.state == UrlState::Fetched {
            facts.extend(about.bytes.map(size));
            facts.extend((!about.language.is_empty()).then(|| format!("language {}", about.language)));
            facts.push(match about.span {
                Some(span) => {
                    let file = self.workspace.segment(span);
                    let name = file.file_name().unwrap_or_default().to_string_lossy();
                    format!("archived in pages/{name} at {}", span.offset)
                }
                None => "not archived".to_owned(),
            });
        }
        if !facts.is_empty() {
            lines.push(facts.join(", "));
        }
        lines
    }

    fn score(&self) -> String {
        let about = self.about;
        let topic = about.best.map_or_else(String::new, |best| {
            format!("; best topic {}", Paint::Strong.on(&path_of(self.tree, best)))
        });
        let what = match about.state {
            UrlState::Fetched => "relevance",
            _ if about.parents.is_empty() => "estimated relevance",
            _ => "relevance estimated from the linking pages",
        };
        let priority = if about.priority > RAISED {
            "raised above all others, since a top hub links to it".to_owned()
        } else {
            format!("{:.3}", about.priority)
        };
        format!("{what}: {:.3}; priority {priority}{topic}", about.relevance)
    }

    /// The pages that link to the URL, or why it was queued without a link.
    fn print_parents(&self) {
        let about = self.about;
        for topic in &self.examples {
            line("found", &format!("example of {topic}"));
        }
        if about.parents.is_empty() && self.examples.is_empty() {
            line("found", "as a start URL or in a sitemap; no fetched page links to it");
        }
        if !about.parents.is_empty() {
            let links = verb(about.links_in, "link", "leads", "lead");
            line("found", &format!("{links} to it; the most relevant linking pages:"));
            for parent in &about.parents {
                let seq =
                    parent.seq.map_or_else(String::new, |seq| format!("no. {}", grouped(&seq.to_string())));
                line("", &format!("{:.3}  {seq:>9}  {}", parent.relevance, plain(&parent.url)));
            }
        }
        if about.state == UrlState::Fetched {
            line("links", &format!("{} on the page", many(about.links_out, "link")));
        }
    }

    fn print_judged(&self, judged: &PageJudgment) {
        judged.print_judgment(self.tree);
        if let Some(now) = judged.relevance
            && (now - self.about.relevance).abs() > 0.005
        {
            output::print(&Paint::Faint.on(
                "\nthe stored relevance differs: topics, marks or examples have changed since the fetch",
            ));
        }
    }
}

fn line(label: &str, text: &str) {
    output::print(&format!("{} {text}", Paint::Faint.on(&format!("{label:<9}"))));
}

/// Prints the contributions to a score, the largest first.
fn print_parts(parts: &PriorityParts) {
    line("parts", &format!("by strategy {}, for the link on {}", parts.strategy, plain(&parts.on)));
    let mut sorted: Vec<_> = parts.parts.iter().filter(|part| part.adds != 0.0).collect();
    sorted.sort_by(|a, b| b.adds.abs().total_cmp(&a.adds.abs()));
    for part in sorted {
        let paint = if part.adds > 0.0 { Paint::Good } else { Paint::Faint };
        line("", &format!("{} {}", paint.on(&format!("{:+7.3}", part.adds)), plain(&part.what)));
    }
}

/// A number of things with the verb: "1 URL comes", "2 URLs come".
fn verb(number: u64, noun: &str, one: &str, several: &str) -> String {
    format!("{} {}", many(number, noun), if number == 1 { one } else { several })
}

fn many(number: u64, noun: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

/// A failure as text: its kind and the stored detail.
fn reason(kind: &str, detail: &str) -> String {
    let what = match kind {
        "robots" => "disallowed by robots.txt",
        "scope" => "outside the scope of the crawl",
        "trap" => "a crawler trap",
        "dns" => "the host name does not resolve",
        "connect" => "the connection failed or broke",
        "tls" => "TLS failed",
        "timeout" => "timeout",
        "status" => "the server refused the request",
        "size" => "larger than the size limit",
        "type" => "unsupported content type",
        "protocol" => "invalid HTTP response",
        other => other,
    };
    if detail.is_empty() { what.to_owned() } else { format!("{what} ({detail})") }
}

fn site_in_words(site: &SiteFacts) -> String {
    let fetched = many(site.serverload, "URL");
    let disabled = if site.disabled { ", disabled" } else { "" };
    format!("{}, {fetched} fetched{disabled}", plain(&site.host))
}

fn about_neighbours(about: &About) -> Option<String> {
    let NeighbourEvidence { relevance, sites, evidence, .. } = about.neighbourhood?;
    Some(format!(
        "relevance with neighbours: {relevance:.3}; their mean relevance is {evidence:.3}, on {}",
        count(sites as usize, "site")
    ))
}
