//! A crawl as it runs: dots of the scatter, series, and live events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use porthole_store::StoreReader;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::sync::{OwnedSemaphorePermit, watch};
use utoipa::{IntoParams, ToSchema};

use super::DashboardState;
use super::extract::{Named, PathOf, QueryOf};
use crate::error::{Answer, ApiError};
use crate::feed::{CrawlFeed, FeedMessage};
use crate::jobs::JobReport;
use crate::trace::{CrawlSeries, Dots, code};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DotsQuery {
    /// Only fetches after this sequence number.
    after: Option<u64>,
    /// Maximum number [default: 50000].
    #[param(minimum = 1, maximum = 200_000)]
    limit: Option<u32>,
}

/// Results of fetches, in columns
#[utoipa::path(get, path = "/w/{w}/dots", params(("w" = String, Path,), DotsQuery),
    responses((status = 200, body = Dots)))]
pub(crate) async fn dots(Named(workspace): Named, QueryOf(query): QueryOf<DotsQuery>) -> Answer<Json<Dots>> {
    let limit = query.limit.unwrap_or(50_000).clamp(1, 200_000) as usize;
    workspace.read(move |workspace| Ok(workspace.trace()?.dots(query.after, limit))).await.map(Json)
}

/// A fetch.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct Dot {
    seq: u64,
    url: String,
    title: String,
    host: String,
    at: i64,
    relevance: Option<f64>,
    /// Path of the best topic.
    topic: Option<String>,
    /// As in `dots`.
    outcome: u8,
    /// Kind of the failure, if it failed.
    failure: Option<String>,
}

/// The URL of a fetch
#[utoipa::path(get, path = "/w/{w}/dot/{seq}", params(("w" = String, Path,), ("seq" = u64, Path,)),
    responses((status = 200, body = Dot)))]
pub(crate) async fn dot(
    Named(workspace): Named,
    PathOf((_, seq)): PathOf<(String, u64)>,
) -> Answer<Json<Dot>> {
    let read = workspace.read(move |workspace| {
        let found = workspace.reader.fetched_url(seq)?;
        let found = found.ok_or_else(|| ApiError::not_found(format!("there is no fetch {seq}")))?;
        let tree = workspace.tree()?;
        let best = found.point.judgment.map(|judgment| judgment.best).filter(|&best| tree.contains(best));
        let host = porthole_types::CanonicalUrl::parse(&found.url).map(|url| url.authority().to_owned());
        Ok(Dot {
            seq,
            host: host.unwrap_or_default(),
            url: found.url,
            title: found.title,
            at: found.point.at.0,
            relevance: found.point.judgment.map(|judgment| judgment.relevance),
            topic: best.map(|best| tree.path(best)),
            outcome: code(found.point.outcome),
            failure: found.failure,
        })
    });
    read.await.map(Json)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SeriesQuery {
    /// `minute`, or the length of a bucket in seconds [default: minute].
    bucket: Option<String>,
}

/// Figures of the crawl in buckets of time
#[utoipa::path(get, path = "/w/{w}/series", params(("w" = String, Path,), SeriesQuery),
    responses((status = 200, body = CrawlSeries)))]
pub(crate) async fn series(
    Named(workspace): Named,
    QueryOf(query): QueryOf<SeriesQuery>,
) -> Answer<Json<CrawlSeries>> {
    let bucket = match query.bucket.as_deref() {
        None | Some("minute") => 60_000,
        Some("hour") => 3_600_000,
        Some(number) => match number.parse::<u32>() {
            Ok(seconds @ 1..=86_400) => i64::from(seconds) * 1_000,
            _ => return Err(ApiError::bad("bucket must be minute, hour or 1 to 86400 seconds")),
        },
    };
    let read = workspace.read(move |workspace| {
        let mut series = workspace.trace()?.series(bucket);
        if let Some(last) = series.frontier.last_mut() {
            *last = Some(workspace.reader.counts()?.queued as u64);
        }
        Ok(series)
    });
    read.await.map(Json)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// The last sequence number that the client has; `Last-Event-ID` has precedence.
    after: Option<u64>,
}

/// Live events: `dots`, `lag`, `reset`, `status`, `event`, `command`, `job`, `end`
#[utoipa::path(get, path = "/w/{w}/events", params(("w" = String, Path,), EventsQuery),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
pub(crate) async fn events(
    State(state): State<Arc<DashboardState>>,
    Named(workspace): Named,
    QueryOf(query): QueryOf<EventsQuery>,
    headers: HeaderMap,
) -> Answer<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let Ok(place) = state.listeners.clone().try_acquire_owned() else {
        return Err(ApiError::busy("too many pages listen to events; close some"));
    };
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok()).or(query.after);
    // Before the current state is read, so that nothing is missed between the two.
    let feed = CrawlFeed::follow(&workspace, &state.jobs, state.end.clone());
    let jobs = state.jobs.clone();
    let name = workspace.name.clone();
    let (last, status) = workspace
        .read(move |workspace| {
            let last = workspace.trace()?.last();
            Ok((last, super::status::of(workspace, &jobs)?))
        })
        .await?;
    let mut first = vec![FeedMessage::new("status", None, &status)];
    if let Some(seen) = seen.filter(|&seen| seen < last) {
        first.push(FeedMessage::lag(seen, last));
    }
    let listener = EventListener {
        first: first.into_iter(),
        feed,
        jobs: state.jobs.follow(),
        end: state.end.clone(),
        workspace: name,
        sent: last,
        is_behind: false,
        is_over: false,
        _place: place,
    };
    let messages = stream::unfold(listener, |mut listener| async move {
        let message = listener.next().await?;
        Some((Ok(listener.event(&message)), listener))
    });
    Ok(Sse::new(messages).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
}

/// A client that listens to events.
struct EventListener {
    /// The state when it came.
    first: std::vec::IntoIter<FeedMessage>,
    feed: Receiver<FeedMessage>,
    jobs: Receiver<Arc<JobReport>>,
    end: watch::Receiver<bool>,
    workspace: String,
    /// The last sequence number that it was told of.
    sent: u64,
    /// Whether it missed messages.
    is_behind: bool,
    is_over: bool,
    _place: OwnedSemaphorePermit,
}

impl EventListener {
    /// The next message; `None` after the last one.
    async fn next(&mut self) -> Option<FeedMessage> {
        if let Some(message) = self.first.next() {
            return Some(message);
        }
        if self.is_over {
            return None;
        }
        loop {
            let message = tokio::select! {
                biased;
                _ = self.end.wait_for(|&is_over| is_over) => None,
                job = self.jobs.recv() => match job {
                    Ok(job) if job.workspace.as_deref().is_none_or(|name| name == self.workspace) => {
                        return Some(FeedMessage::new("job", None, &*job));
                    }
                    _ => continue,
                },
                message = self.feed.recv() => Some(message),
            };
            match message {
                None => {
                    self.is_over = true;
                    return Some(FeedMessage::new("end", None, &serde_json::json!({})));
                }
                Some(Err(RecvError::Lagged(_))) => self.is_behind = true,
                Some(Err(RecvError::Closed)) => return None,
                Some(Ok(message)) => {
                    if let Some(message) = self.in_order(message) {
                        return Some(message);
                    }
                }
            }
        }
    }

    /// A message as this client needs it: without dots that it has, and with a hint if it missed some.
    fn in_order(&mut self, message: FeedMessage) -> Option<FeedMessage> {
        let Some(last) = message.last else { return Some(message) };
        let from = std::mem::replace(&mut self.sent, last);
        let is_behind = std::mem::take(&mut self.is_behind);
        match message.event {
            "reset" => Some(message),
            _ if last <= from => {
                self.sent = from;
                None
            }
            _ if is_behind => Some(FeedMessage::lag(from, last)),
            _ => Some(message),
        }
    }

    fn event(&self, message: &FeedMessage) -> Event {
        let event = Event::default().event(message.event).data(&*message.data);
        match message.last {
            Some(last) => event.id(last.to_string()),
            None => event,
        }
    }
}
