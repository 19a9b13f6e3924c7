//! Long commands: crawls, trainings, exports. They go on when the page that started them is closed, and end with the
//! server.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::sync::{broadcast, watch};
use utoipa::ToSchema;

use crate::error::{Answer, ApiError};
use crate::program::{ProgramCall, ProgramRunner, error_line};

/// Jobs that may run at once.
const MOST_RUNNING: usize = 4;
/// Jobs that are remembered.
const MOST_KEPT: usize = 100;
/// Lines of progress that are kept, and their longest length.
const MOST_LINES: usize = 50;
const LONGEST_LINE: usize = 500;
/// Most bytes of a result.
const LARGEST_RESULT: u64 = 8 << 20;
/// Time for a command to end after it was asked to; then it is killed.
const TIME_TO_END: Duration = Duration::from_secs(30);

/// A long command.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct JobReport {
    pub(crate) id: u64,
    /// What it does: `crawl`, `train`, `start`, …
    pub(crate) what: String,
    /// Name of the workspace.
    pub(crate) workspace: Option<String>,
    /// The command, as a user would type it.
    pub(crate) command: String,
    pub(crate) state: JobState,
    /// Exit code, if it has ended.
    pub(crate) exit: Option<i32>,
    /// The last lines of its progress.
    pub(crate) progress: Vec<String>,
    /// The JSON that it printed at its end; of several commands, the last one.
    #[schema(value_type = Option<Object>)]
    pub(crate) result: Option<Value>,
    /// Why it failed.
    pub(crate) error: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub(crate) began: i64,
    /// When it ended.
    pub(crate) ended: Option<i64>,
}

/// State of a long command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JobState {
    Running,
    Done,
    Failed,
    Cancelled,
}

/// A job to start: its commands run one after the other, until one fails.
pub(crate) struct JobRequest {
    pub(crate) what: &'static str,
    pub(crate) workspace: Option<String>,
    pub(crate) calls: Vec<ProgramCall>,
    /// Exit codes other than 0 that are a normal end: a crawl that reached its limits.
    pub(crate) good_codes: &'static [i32],
    /// Kept until the job has ended, such as a temporary file.
    pub(crate) keep: Option<tempfile::TempPath>,
}

struct DashboardJob {
    report: Mutex<JobReport>,
    /// Told to end.
    cancel: watch::Sender<bool>,
}

/// All jobs of the server.
pub(crate) struct JobBoard {
    runner: Arc<ProgramRunner>,
    jobs: Mutex<(u64, VecDeque<Arc<DashboardJob>>)>,
    /// Reports of jobs that have changed.
    changes: broadcast::Sender<Arc<JobReport>>,
}

impl JobBoard {
    pub(crate) fn new(runner: Arc<ProgramRunner>) -> JobBoard {
        JobBoard { runner, jobs: Mutex::default(), changes: broadcast::channel(256).0 }
    }

    /// Starts a job.
    pub(crate) fn start(self: &Arc<Self>, request: JobRequest) -> Answer<JobReport> {
        let job = {
            let mut jobs = lock(&self.jobs);
            let running = jobs.1.iter().filter(|job| job.is_running()).count();
            if running >= MOST_RUNNING {
                return Err(ApiError::busy(format!("{running} jobs are running; cancel one, or wait")));
            }
            jobs.0 += 1;
            let commands: Vec<&str> = request.calls.iter().map(ProgramCall::shown).collect();
            let report = JobReport {
                id: jobs.0,
                what: request.what.to_owned(),
                workspace: request.workspace.clone(),
                command: commands.join(" && "),
                state: JobState::Running,
                exit: None,
                progress: Vec::new(),
                result: None,
                error: None,
                began: crate::trace::now().0,
                ended: None,
            };
            let job = Arc::new(DashboardJob { report: Mutex::new(report), cancel: watch::channel(false).0 });
            jobs.1.push_back(job.clone());
            while jobs.1.len() > MOST_KEPT {
                let Some(oldest) = jobs.1.iter().position(|job| !job.is_running()) else { break };
                jobs.1.remove(oldest);
            }
            job
        };
        let (board, running) = (self.clone(), job.clone());
        tokio::spawn(async move { board.run(&running, request).await });
        Ok(job.report())
    }

    /// All jobs, the newest first.
    pub(crate) fn list(&self) -> Vec<JobReport> {
        lock(&self.jobs).1.iter().rev().map(|job| job.report()).collect()
    }

    pub(crate) fn find(&self, id: u64) -> Answer<JobReport> {
        Ok(self.job(id)?.report())
    }

    /// Asks a job to end.
    pub(crate) fn cancel(&self, id: u64) -> Answer<JobReport> {
        let job = self.job(id)?;
        job.cancel.send_replace(true);
        Ok(job.report())
    }

    /// Whether a job of this kind runs in a workspace.
    pub(crate) fn is_running(&self, workspace: &str, what: &str) -> bool {
        let jobs = lock(&self.jobs);
        jobs.1.iter().any(|job| {
            let report = lock(&job.report);
            report.state == JobState::Running
                && report.what == what
                && report.workspace.as_deref() == Some(workspace)
        })
    }

    /// Receives the reports of jobs as they change.
    pub(crate) fn follow(&self) -> broadcast::Receiver<Arc<JobReport>> {
        self.changes.subscribe()
    }

    /// Ends all jobs and waits for them.
    pub(crate) async fn end(&self) {
        let jobs: Vec<Arc<DashboardJob>> = lock(&self.jobs).1.iter().cloned().collect();
        for job in &jobs {
            job.cancel.send_replace(true);
        }
        let mut changes = self.follow();
        let all_ended = async {
            while jobs.iter().any(|job| job.is_running()) {
                let _ = tokio::time::timeout(Duration::from_millis(200), changes.recv()).await;
            }
        };
        let _ = tokio::time::timeout(TIME_TO_END + Duration::from_secs(5), all_ended).await;
    }

    fn job(&self, id: u64) -> Answer<Arc<DashboardJob>> {
        let jobs = lock(&self.jobs);
        let job = jobs.1.iter().find(|job| lock(&job.report).id == id);
        job.cloned().ok_or_else(|| ApiError::not_found(format!("there is no job {id}")))
    }

    async fn run(&self, job: &Arc<DashboardJob>, request: JobRequest) {
        let mut error = None;
        for call in &request.calls {
            match self.run_call(job, call).await {
                Err(failed) => error = Some(failed.message().to_owned()),
                Ok(Some(code)) if code == 0 || request.good_codes.contains(&code) => continue,
                Ok(_) => {
                    let report = lock(&job.report);
                    let said = error_line(report.progress.iter().map(String::as_str));
                    error = Some(said.unwrap_or_else(|| "the command failed".to_owned()));
                }
            }
            break;
        }
        {
            let mut report = lock(&job.report);
            report.state = match error {
                _ if *job.cancel.borrow() => JobState::Cancelled,
                None => JobState::Done,
                Some(_) => JobState::Failed,
            };
            report.error = error;
            report.ended = Some(crate::trace::now().0);
        }
        drop(request.keep);
        self.announce(job);
    }

    /// Runs one command of a job. Returns its exit code; `None` if it was killed or not started.
    async fn run_call(&self, job: &Arc<DashboardJob>, call: &ProgramCall) -> Answer<Option<i32>> {
        let mut cancel = job.cancel.subscribe();
        if *cancel.borrow() {
            return Ok(None);
        }
        let mut child = self.runner.start(call)?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let result = child.stdout.take().map(|stdout| tokio::spawn(read_result(stdout)));
        let stderr = child.stderr.take();
        let lines = async {
            if let Some(stderr) = stderr {
                self.read_lines(job, stderr).await;
            }
        };
        let ended = async {
            tokio::select! {
                status = child.wait() => return status,
                _ = cancel.wait_for(|&is_cancelled| is_cancelled) => {}
            }
            if let Some(pid) = pid {
                let _ = kill_process(pid, Signal::TERM);
            }
            match tokio::time::timeout(TIME_TO_END, child.wait()).await {
                Ok(status) => status,
                Err(_) => {
                    child.start_kill()?;
                    child.wait().await
                }
            }
        };
        let ((), status) = tokio::join!(lines, ended);
        let status = status.map_err(|error| ApiError::internal(error.to_string()))?;
        let text = match result {
            Some(result) => result.await.unwrap_or_default(),
            None => String::new(),
        };
        let mut report = lock(&job.report);
        report.exit = status.code();
        match serde_json::from_str(&text) {
            Ok(value) => report.result = Some(value),
            Err(_) => {
                report.progress.extend(text.lines().map(shortened));
                let surplus = report.progress.len().saturating_sub(MOST_LINES);
                report.progress.drain(..surplus);
            }
        }
        Ok(status.code())
    }

    /// Keeps the last lines of a command's progress.
    async fn read_lines(&self, job: &Arc<DashboardJob>, from: impl AsyncRead + Unpin) {
        let mut lines = BufReader::new(from);
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut limited = (&mut lines).take(64 << 10);
            if !matches!(limited.read_until(b'\n', &mut line).await, Ok(read) if read > 0) {
                return;
            }
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end();
            if text.is_empty() {
                continue;
            }
            {
                let mut report = lock(&job.report);
                report.progress.push(shortened(text));
                let surplus = report.progress.len().saturating_sub(MOST_LINES);
                report.progress.drain(..surplus);
            }
            self.announce(job);
        }
    }

    fn announce(&self, job: &DashboardJob) {
        let _ = self.changes.send(Arc::new(job.report()));
    }
}

impl DashboardJob {
    fn report(&self) -> JobReport {
        lock(&self.report).clone()
    }

    fn is_running(&self) -> bool {
        lock(&self.report).state == JobState::Running
    }
}

async fn read_result(from: impl AsyncRead + Unpin) -> String {
    let mut bytes = Vec::new();
    let mut limited = from.take(LARGEST_RESULT);
    let _ = limited.read_to_end(&mut bytes).await;
    // What follows is dropped, so that the command does not wait for a reader.
    let _ = tokio::io::copy(&mut limited.into_inner(), &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

fn shortened(line: &str) -> String {
    line.chars().take(LONGEST_LINE).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
