//! What a running crawl can be told. No command drains it: what is under way ends under the old rule, and what starts
//! next follows the new one.

use std::fmt;

use porthole_store::{CommandAnswer, Estimate, Policy, RAISED, StoreReader};
use porthole_types::{CanonicalUrl, Event};

use super::crawl::{CrawlError, Limits};
use super::deferred::DeferredWork;
use super::memory::Memory;
use super::messages::ToNetwork;
use super::writer::Writer;
use crate::reading::Readers;
use crate::result::{Focus, Scorer};
use crate::scope::{Scope, ScopeSettings};

/// A command, as a handle sends it or a row of `command` has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Starts no more requests until it is resumed.
    Pause,
    /// Goes on after a pause.
    Resume,
    /// Ends the crawl: what is under way is fetched again when it goes on.
    Stop,
    /// Takes work in this order from now on.
    Policy(Policy),
    /// Follows links by this strategy from now on.
    Strategy(String),
    /// Topics, marks or the critic have changed: judges by them from now on, and what is kept again.
    Refocus,
    /// So many requests at once.
    Workers(usize),
    /// Stays within this scope from now on.
    Scope(ScopeSettings),
    /// So many pages in all in this run.
    Budget(u64),
    /// Starts from these URLs, too.
    Start(Vec<CanonicalUrl>),
    /// Fetches nothing from a site, or something again.
    Site {
        /// Its host as the table `site` has it.
        host: String,
        /// Whether it is disabled.
        disabled: bool,
    },
    /// Fetches this URL before all others (V 3.7).
    Raise(CanonicalUrl),
    /// Puts this URL behind all others.
    Lower(CanonicalUrl),
    /// Finds hubs and authorities now.
    Distil,
}

impl Command {
    /// The command of a row.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(what: &str, parameters: &str) -> Result<Command, String> {
        let number = || parameters.trim().parse::<u64>().map_err(|_| format!("`{parameters}` is no number"));
        let url = |text: &str| CanonicalUrl::parse(text).map_err(|error| format!("{text}: {error}"));
        Ok(match what {
            "pause" => Command::Pause,
            "resume" => Command::Resume,
            "stop" => Command::Stop,
            "policy" => Command::Policy(Policy::parse(parameters).map_err(|error| error.to_string())?),
            "strategy" => Command::Strategy(parameters.to_owned()),
            "refocus" => Command::Refocus,
            "workers" => match usize::try_from(number()?).unwrap_or(usize::MAX) {
                workers @ 1..=MAX_WORKERS => Command::Workers(workers),
                _ => return Err(format!("workers must be between 1 and {MAX_WORKERS}")),
            },
            "scope" => Command::Scope(serde_json::from_str(parameters).map_err(|error| error.to_string())?),
            "budget" => Command::Budget(number()?),
            "start" => Command::Start(parameters.split_whitespace().map(url).collect::<Result<_, _>>()?),
            "disable" | "enable" => {
                Command::Site { host: parameters.to_owned(), disabled: what == "disable" }
            }
            "raise" => Command::Raise(url(parameters)?),
            "lower" => Command::Lower(url(parameters)?),
            "distil" => Command::Distil,
            other => return Err(format!("there is no command `{other}`")),
        })
    }

    /// The word and the parameters of its row.
    pub fn row(&self) -> (&'static str, String) {
        match self {
            Command::Pause => ("pause", String::new()),
            Command::Resume => ("resume", String::new()),
            Command::Stop => ("stop", String::new()),
            Command::Policy(policy) => ("policy", policy.to_string()),
            Command::Strategy(name) => ("strategy", name.clone()),
            Command::Refocus => ("refocus", String::new()),
            Command::Workers(workers) => ("workers", workers.to_string()),
            Command::Scope(settings) => ("scope", serde_json::to_string(settings).unwrap_or_default()),
            Command::Budget(fetches) => ("budget", fetches.to_string()),
            Command::Start(urls) => {
                ("start", urls.iter().map(CanonicalUrl::as_str).collect::<Vec<_>>().join(" "))
            }
            Command::Site { host, disabled: true } => ("disable", host.clone()),
            Command::Site { host, disabled: false } => ("enable", host.clone()),
            Command::Raise(url) => ("raise", url.to_string()),
            Command::Lower(url) => ("lower", url.to_string()),
            Command::Distil => ("distil", String::new()),
        }
    }
}

/// More requests at once are refused.
const MAX_WORKERS: usize = 4_096;

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, parameters) = self.row();
        if parameters.is_empty() { f.write_str(what) } else { write!(f, "{what} {parameters}") }
    }
}

/// Makes critics and strategies for a running crawl from what its workspace says now.
pub trait Refocus: Send {
    /// The critic, the strategy and the marks of now; another strategy, if one is named, from now on.
    ///
    /// # Errors
    /// Why there is none, in words; the crawl goes on as before.
    fn focus(&mut self, reader: &dyn StoreReader, strategy: Option<&str>) -> Result<Refocused, String>;
}

/// What a crawl is after from now on.
pub struct Refocused {
    /// Who judges, who scores, and what topics mean.
    pub focus: Focus,
    /// Tells this critic with these marks and this strategy from others.
    pub critic: String,
}

impl Writer<'_> {
    /// Carries out a command: what it answers, or why it could not be done.
    pub(super) fn carry_out(
        &mut self,
        command: &Command,
        refocus: &mut dyn Refocus,
    ) -> Result<Result<String, String>, CrawlError> {
        Ok(Ok(match command {
            Command::Pause => {
                self.pause(true);
                "paused; what is under way comes to its end".to_owned()
            }
            Command::Resume => {
                self.pause(false);
                "resumed".to_owned()
            }
            Command::Stop => "stopping".to_owned(),
            Command::Policy(policy) => {
                self.store.set_policy(policy)?;
                format!("work is taken in the order {policy}")
            }
            Command::Strategy(name) => return self.refocus(refocus, Some(name)),
            Command::Refocus => return self.refocus(refocus, None),
            Command::Workers(workers) => {
                self.run.limits.workers = *workers;
                self.send_limits();
                format!("at most {workers} requests at once")
            }
            Command::Scope(settings) => match Scope::new(settings) {
                Err(error) => return Ok(Err(error.to_string())),
                Ok(scope) => {
                    let rules = self.admission.scope.rules;
                    self.admission.scope = scope.with_page_rules(rules).into();
                    self.restart_readers();
                    "what is offered from now on is within the new scope".to_owned()
                }
            },
            Command::Budget(pages) => {
                self.run.limits.pages = *pages;
                self.send_limits();
                format!("at most {pages} pages in this run")
            }
            Command::Start(urls) => {
                let new = self.add_starts(urls)?;
                format!("{new} of {} start URLs are new", urls.len())
            }
            Command::Site { host, disabled } => {
                self.store.switch_sites(&[(host, *disabled)])?;
                format!("{host} is {}", if *disabled { "disabled" } else { "enabled" })
            }
            Command::Raise(url) => return self.set_priority(url, 2.0 * RAISED),
            Command::Lower(url) => return self.set_priority(url, -RAISED),
            Command::Distil => match self.distil_now() {
                true => "a distillation has begun".to_owned(),
                false => return Ok(Err("this crawl does not distil: run it without --no-hubs".to_owned())),
            },
        }))
    }

    pub(super) fn pause(&mut self, is_paused: bool) {
        if self.run.is_paused && !is_paused {
            self.run.held_up.push(None);
        }
        self.run.is_paused = is_paused;
        self.send(ToNetwork::Pause(is_paused));
    }

    /// Tells the network half how many fetches may be begun in all.
    pub(super) fn send_limits(&mut self) {
        let Limits { fetches, pages, workers, .. } = self.run.limits;
        // A fetch that brought no page leaves room for another one.
        let fetches = fetches.min(pages.saturating_add(self.run.no_pages));
        if self.run.sent_limits != Some((fetches, workers)) {
            self.run.sent_limits = Some((fetches, workers));
            self.send(ToNetwork::Limits { fetches, workers });
        }
    }

    fn set_priority(
        &mut self,
        url: &CanonicalUrl,
        priority: f64,
    ) -> Result<Result<String, String>, CrawlError> {
        let (oid, relevance) = (url.id(), 1.0);
        let estimate = [Estimate { oid, relevance, priority }];
        let batch = porthole_store::Batch { estimates: &estimate, ..Default::default() };
        match self.store.commit(&batch) {
            Ok(done) if done.believed > 0 => Ok(Ok(format!("{url} has the priority {priority}"))),
            Ok(_) => Ok(Err(format!("{url} is not queued"))),
            Err(porthole_store::Error::UnknownUrl(_)) => Ok(Err(format!("{url} is not known"))),
            Err(error) => Err(error.into()),
        }
    }

    /// Judges and scores otherwise from now on.
    fn refocus(
        &mut self,
        refocus: &mut dyn Refocus,
        strategy: Option<&str>,
    ) -> Result<Result<String, String>, CrawlError> {
        let Refocused { focus, critic } = match refocus.focus(&*self.store.reader(), strategy) {
            Ok(refocused) => refocused,
            Err(why) => return Ok(Err(format!("the crawl goes on as before: {why}"))),
        };
        let Focus { judge, strategy, marks } = focus;
        let name = strategy.name().to_owned();
        let second = judge.try_clone();
        self.judge = Some(judge);
        self.scorer = Some(Scorer { strategy, marks });
        self.memory = Memory::anew();
        self.run.discipline =
            self.scorer.as_ref().map(|scorer| scorer.strategy.discipline()).unwrap_or_default();
        self.store.bound(self.run.discipline.bound)?;
        self.run.deferred = DeferredWork::new(self, self.run.is_threaded)?;
        self.run.rejudging = match second {
            None => None,
            Some(second) => {
                let kept = self.judge.take();
                let rejudging = self.rejudging(&critic, Some(second))?;
                self.judge = kept;
                rejudging
            }
        };
        self.restart_readers();
        Ok(Ok(match &self.run.rejudging {
            Some(_) => {
                format!("new pages are judged and scored by {name}; those that are kept are judged again")
            }
            None => format!("new pages are judged and scored by {name}"),
        }))
    }

    /// New readers, with the judge and the scope of now; the old ones end with what they have.
    fn restart_readers(&mut self) {
        let judge = match self.judge.take() {
            Some(judge) => Some(judge),
            None => self.run.readers.as_mut().and_then(Readers::another_judge),
        };
        self.judge = judge;
        let reader = self.new_reader();
        let readers = Readers::start(reader, self.run.limits.workers.max(2));
        if let Some(old) = self.run.readers.replace(readers) {
            self.run.old_readers.push(old);
        }
    }

    /// Carries out the commands that other processes have appended; whether one of them was to stop.
    pub(super) fn carry_out_rows(&mut self, refocus: &mut dyn Refocus) -> Result<bool, CrawlError> {
        let mut stops = false;
        for row in self.store.open_commands()? {
            let done = match Command::parse(&row.what, &row.parameters) {
                Ok(command) => {
                    stops |= command == Command::Stop;
                    self.carry_out(&command, refocus)?
                }
                Err(why) => Err(why),
            };
            self.note_command(format!("{} {}", row.what, row.parameters).trim_end(), &done)?;
            let at = self.clock.now();
            let (failed, outcome) = match done {
                Ok(outcome) => (false, outcome),
                Err(why) => (true, why),
            };
            self.store.answer_command(row.id, &CommandAnswer { at, failed, outcome })?;
        }
        Ok(stops)
    }

    /// Appends a command and its answer to the table `event`.
    pub(super) fn note_command(
        &mut self,
        command: &str,
        done: &Result<String, String>,
    ) -> Result<(), CrawlError> {
        let (Ok(outcome) | Err(outcome)) = done;
        self.note("command", &format!("{command}: {outcome}"))
    }

    /// Appends a row to the table `event`, for people who look later what happened.
    pub(super) fn note(&mut self, kind: &str, detail: &str) -> Result<(), CrawlError> {
        let event = Event { at: self.clock.now(), kind: kind.to_owned(), detail: detail.to_owned() };
        Ok(self.store.append(&[event])?)
    }

    /// How the run is set up, in words.
    pub(super) fn run_in_words(&self) -> String {
        let Limits { workers, pages, .. } = self.run.limits;
        let strategy = self.scorer.as_ref().map_or("none", |scorer| scorer.strategy.name());
        let pages = if pages == u64::MAX { "no limit of pages".to_owned() } else { format!("{pages} pages") };
        format!("strategy {strategy}, {workers} workers, {pages}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_the_same_after_a_row() {
        let url = |path: &str| CanonicalUrl::parse(&format!("http://a.test/{path}")).unwrap();
        let scope =
            ScopeSettings { domains: vec!["a.test".into()], max_depth: Some(3), ..Default::default() };
        let commands = [
            Command::Pause,
            Command::Resume,
            Command::Stop,
            Command::Policy(Policy::parse("refresh").unwrap()),
            Command::Strategy("best-16:rank=kwpr".into()),
            Command::Refocus,
            Command::Workers(7),
            Command::Scope(scope),
            Command::Budget(100),
            Command::Start(vec![url("1"), url("2?a=b")]),
            Command::Site { host: "a.test:8080".into(), disabled: true },
            Command::Site { host: "a.test".into(), disabled: false },
            Command::Raise(url("1")),
            Command::Lower(url("2")),
            Command::Distil,
        ];
        for command in commands {
            let (what, parameters) = command.row();
            assert_eq!(Command::parse(what, &parameters), Ok(command));
        }
        for (what, parameters) in [("fly", ""), ("workers", "0"), ("workers", "x"), ("raise", "nonsense")] {
            assert!(Command::parse(what, parameters).is_err(), "{what} {parameters}");
        }
    }
}
