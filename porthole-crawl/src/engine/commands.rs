//! Commands to a running crawl. A command never drains the crawl: requests in flight finish under the old rules, and
//! later ones follow the new rules.

use std::fmt;

use porthole_store::{CommandAnswer, Estimate, Policy, RAISED, StoreReader};
use porthole_strategy::Selection;
use porthole_types::{CanonicalUrl, Event};

use super::crawl::{CrawlError, Limits, Observer};
use super::deferred::DeferredWork;
use super::memory::Memory;
use super::messages::ToNetwork;
use super::writer::Writer;
use crate::reading::Readers;
use crate::result::{Focus, Scorer};
use crate::scope::{Scope, ScopeSettings};

/// A command, as sent through a handle or as a row of the table `command`.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Stop starting requests until resumed.
    Pause,
    /// Continue after a pause.
    Resume,
    /// End the crawl. URLs in flight are fetched again when it is resumed.
    Stop,
    /// Take URLs in this order from now on.
    Policy(Policy),
    /// Use this strategy from now on.
    Strategy(String),
    /// Topics, marks or the critic have changed: load them, and judge stored pages again.
    Refocus,
    /// Set the maximum number of requests in flight.
    Workers(usize),
    /// Stay within this scope from now on.
    Scope(ScopeSettings),
    /// Set the maximum number of pages in this run.
    Budget(u64),
    /// Add start URLs.
    Start(Vec<CanonicalUrl>),
    /// Disable or enable a site.
    Site {
        /// The host, as in the table `site`.
        host: String,
        /// Whether the site is disabled.
        disabled: bool,
    },
    /// Fetch this URL before all others (V 3.7).
    Raise(CanonicalUrl),
    /// Fetch this URL after all others.
    Lower(CanonicalUrl),
    /// Compute hubs and authorities now.
    Distil,
}

impl Command {
    /// Parses a row of the table `command`.
    ///
    /// # Errors
    /// A message that says what is wrong.
    pub fn parse(what: &str, parameters: &str) -> Result<Command, String> {
        let number =
            || parameters.trim().parse::<u64>().map_err(|_| format!("`{parameters}` is not a number"));
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

    /// Whether every worker executes it. What is stored in the tables, one worker stores.
    fn is_for_every_worker(&self) -> bool {
        match self {
            Command::Pause
            | Command::Resume
            | Command::Stop
            | Command::Strategy(_)
            | Command::Refocus
            | Command::Workers(_)
            | Command::Scope(_)
            | Command::Budget(_) => true,
            Command::Policy(_)
            | Command::Start(_)
            | Command::Site { .. }
            | Command::Raise(_)
            | Command::Lower(_)
            | Command::Distil => false,
        }
    }

    /// The name and parameters of the command as a row.
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

/// Larger values are refused.
const MAX_WORKERS: usize = 4_096;

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, parameters) = self.row();
        if parameters.is_empty() { f.write_str(what) } else { write!(f, "{what} {parameters}") }
    }
}

/// Creates critics and strategies for a running crawl from the current state of its workspace.
pub trait Refocus: Send {
    /// The current critic, strategy and marks. If `strategy` is given, it replaces the current one permanently.
    ///
    /// # Errors
    /// A message that says why there is none. The crawl continues unchanged.
    fn focus(&mut self, reader: &dyn StoreReader, strategy: Option<&str>) -> Result<Refocused, String>;
}

/// A new focus for a crawl.
pub struct Refocused {
    /// The judge, the strategy and the marks of topics.
    pub focus: Focus,
    /// Identifies this combination of critic, marks and strategy.
    pub critic: String,
}

impl Writer<'_> {
    /// Executes a command, and stores the state that follows. Returns its answer, or the reason why it failed.
    pub(super) fn execute(
        &mut self,
        command: &Command,
        refocus: &mut dyn Refocus,
    ) -> Result<Result<String, String>, CrawlError> {
        self.restart_alarms_at(command);
        let done = self.apply(command, refocus)?;
        self.store_vitals_now()?;
        Ok(done)
    }

    fn apply(
        &mut self,
        command: &Command,
        refocus: &mut dyn Refocus,
    ) -> Result<Result<String, String>, CrawlError> {
        Ok(Ok(match command {
            Command::Pause => {
                if !self.run.is_paused {
                    self.run.held_up.push(Some("paused; `porthole resume` continues the crawl".to_owned()));
                }
                self.pause(true);
                "paused; requests in flight will finish".to_owned()
            }
            Command::Resume => {
                self.pause(false);
                "resumed".to_owned()
            }
            Command::Stop => "stopping".to_owned(),
            Command::Policy(policy) => {
                self.store.set_policy(policy)?;
                format!("URLs are taken in the order {policy}")
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
                    match self.requeue_admitted()? {
                        0 => "the new scope applies to requests from now on".to_owned(),
                        urls => format!(
                            "the new scope applies to requests from now on; {urls} URLs that it admits and the \
                             one before did not are queued again"
                        ),
                    }
                }
            },
            Command::Budget(pages) => {
                self.set_budget(*pages)?;
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

    /// Sends the limits on fetches and workers to the network half, if they have changed.
    pub(super) fn send_limits(&mut self) {
        let Limits { fetches, pages, workers, .. } = self.run.limits;
        // A fetch that yielded no page may be replaced by another.
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
            Ok(done) if done.told > 0 => {
                Ok(Ok(format!("{url} gets the priority {priority} from its worker, if it is queued")))
            }
            Ok(_) => Ok(Err(format!("{url} is not queued"))),
            Err(porthole_store::Error::UnknownUrl(_)) => Ok(Err(format!("{url} is not known"))),
            Err(error) => Err(error.into()),
        }
    }

    /// Replaces the judge and the strategy, and starts judging stored pages again.
    fn refocus(
        &mut self,
        refocus: &mut dyn Refocus,
        strategy: Option<&str>,
    ) -> Result<Result<String, String>, CrawlError> {
        let Refocused { focus, critic } = match refocus.focus(&*self.store.reader(), strategy) {
            Ok(refocused) => refocused,
            Err(why) => return Ok(Err(format!("the crawl continues unchanged: {why}"))),
        };
        let Focus { judge, strategy, marks } = focus;
        let name = strategy.name().to_owned();
        if self.store.worker().is_some() && strategy.discipline().selection != Selection::Best {
            let why = "chooses URLs by itself, which several workers cannot; start a crawl with it";
            return Ok(Err(format!("the crawl continues unchanged: {name} {why}")));
        }
        let rejudge_with = judge.try_clone();
        self.judge = Some(judge);
        self.scorer = Some(Scorer { strategy, marks });
        self.memory = Memory::fresh();
        self.run.discipline =
            self.scorer.as_ref().map(|scorer| scorer.strategy.discipline()).unwrap_or_default();
        self.store.bound(self.run.discipline.bound)?;
        self.run.deferred = DeferredWork::new(self, self.run.is_threaded)?;
        self.run.rejudging = match rejudge_with {
            None => None,
            Some(rejudge_with) => {
                let kept = self.judge.take();
                let rejudging = self.rejudging(&critic, Some(rejudge_with))?;
                self.judge = kept;
                rejudging
            }
        };
        self.restart_readers();
        Ok(Ok(match &self.run.rejudging {
            Some(_) => {
                format!("new pages are judged and scored by {name}; stored pages are judged again")
            }
            None => format!("new pages are judged and scored by {name}"),
        }))
    }

    /// Starts readers with the current judge and scope. The old ones finish their queues.
    fn restart_readers(&mut self) {
        let judge = match self.judge.take() {
            Some(judge) => Some(judge),
            None => self.run.readers.as_mut().and_then(Readers::clone_judge),
        };
        self.judge = judge;
        let reader = self.new_reader();
        let readers = Readers::start(reader, self.run.limits.workers.max(2));
        if let Some(old) = self.run.readers.replace(readers) {
            self.run.old_readers.push(old);
        }
    }

    /// Executes the commands that other processes have queued. Returns whether the crawl is to stop.
    pub(super) fn execute_queued(&mut self, refocus: &mut dyn Refocus) -> Result<bool, CrawlError> {
        let mut should_stop = false;
        // Every worker executes what concerns all, and one of them answers.
        let rows = match self.store.worker() {
            None => self.store.open_commands()?,
            Some(_) => self.store.commands_after(self.run.last_command)?,
        };
        for row in rows {
            self.run.last_command = row.id;
            let is_leader = self.store.is_leader();
            let done = match Command::parse(&row.what, &row.parameters) {
                Ok(command) if is_leader || command.is_for_every_worker() => {
                    should_stop |= command == Command::Stop;
                    self.execute(&command, refocus)?
                }
                Ok(_) => continue,
                Err(why) => Err(why),
            };
            if !is_leader || row.answer.is_some() {
                continue;
            }
            self.record_command(format!("{} {}", row.what, row.parameters).trim_end(), &done)?;
            let at = self.clock.now();
            let (failed, outcome) = match done {
                Ok(outcome) => (false, outcome),
                Err(why) => (true, why),
            };
            self.store.answer_command(row.id, &CommandAnswer { at, failed, outcome })?;
        }
        Ok(should_stop)
    }

    /// Records a command and its answer in the table `event`.
    pub(super) fn record_command(
        &mut self,
        command: &str,
        done: &Result<String, String>,
    ) -> Result<(), CrawlError> {
        let (Ok(outcome) | Err(outcome)) = done;
        self.record_event("command", &format!("{command}: {outcome}"))
    }

    /// Appends a row to the table `event`.
    pub(super) fn record_event(&mut self, kind: &str, detail: &str) -> Result<(), CrawlError> {
        let event = Event { at: self.clock.now(), kind: kind.to_owned(), detail: detail.to_owned() };
        self.record_events(vec![event])
    }

    /// Appends rows to the table `event`, in one transaction. The observer is told of them in the next turn.
    pub(super) fn record_events(&mut self, mut events: Vec<Event>) -> Result<(), CrawlError> {
        self.store.append(&events)?;
        self.run.recorded.append(&mut events);
        Ok(())
    }

    /// Tells the observer of the events since the last call.
    pub(super) fn report_events(&mut self, observer: &mut dyn Observer) {
        for event in std::mem::take(&mut self.run.recorded) {
            observer.recorded(&event);
        }
    }

    /// A description of the run's settings, for the table `event`.
    pub(super) fn describe_run(&self) -> String {
        let Limits { workers, pages, .. } = self.run.limits;
        let strategy = self.scorer.as_ref().map_or("none", |scorer| scorer.strategy.name());
        let pages = if pages == u64::MAX { "no page limit".to_owned() } else { format!("{pages} pages") };
        format!("strategy {strategy}, {workers} workers, {pages}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_survive_a_round_trip_through_a_row() {
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
