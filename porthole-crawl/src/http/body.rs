//! Reads response bodies, within limits on size and speed.
//!
//! A large body waits for room in [`BodyMemory`]. A body that breaks off (closed too early, invalid chunks, damaged
//! compression) is kept as far as it was received and marked as truncated. If nothing of it was received, the fetch
//! fails. A body that is too slow fails in any case, because keeping it would reward the server for holding the
//! connection.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::HeaderMap;
use porthole_types::FailureKind;
use tokio::time::{Instant, sleep_until};

use super::connection::HttpConnection;
use super::decode::{DecodedBody, Decoder};
use super::fault::{Fault, cause};
use super::memory::{BodyMemory, SMALL};

/// See the fields of the same names in [`HttpSettings`](super::HttpSettings).
#[derive(Clone, Copy)]
pub(super) struct BodyLimits {
    pub(super) timeout: Duration,
    pub(super) min_rate: u64,
    pub(super) window: Duration,
    pub(super) wire: usize,
    pub(super) body: usize,
}

/// The result of reading a body.
#[derive(Default)]
pub(super) struct BodyRead {
    pub(super) bytes: Bytes,
    /// The body as it was received, if archives keep that.
    pub(super) encoded: Option<Bytes>,
    /// The end is missing.
    pub(super) is_cut: bool,
    /// The body was read to its end, so the connection can be reused.
    pub(super) is_drained: bool,
}

/// Reads a body.
pub(super) async fn read_body(
    connection: &mut HttpConnection,
    headers: &HeaderMap,
    mut incoming: Incoming,
    limits: &BodyLimits,
    memory: &BodyMemory,
) -> Result<BodyRead, Fault> {
    let expected = incoming.size_hint().lower().try_into().unwrap_or(usize::MAX);
    let mut decoder = Decoder::new(headers, limits.body, expected)?;
    let mut pace = TransferRate::new(limits);
    let mut wire = 0;
    let mut broken = None;
    let mut is_cut = false;
    let mut is_drained = false;
    let mut room = None;
    loop {
        let piece = match pace.next(connection, &mut incoming).await? {
            None => {
                is_drained = true;
                break;
            }
            Some(Err(error)) => {
                broken = Some(body_fault(&error));
                break;
            }
            // Trailers are not needed.
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
        };
        let left = limits.wire - wire;
        wire += piece.len().min(left);
        if let Err(damaged) = decoder.push(piece.slice(..piece.len().min(left))) {
            broken = Some(Fault::new(FailureKind::Protocol, damaged.0));
            break;
        }
        if piece.len() > left || decoder.is_full() {
            is_cut = true;
            break;
        }
        if room.is_none() && decoder.len() > SMALL {
            let began = Instant::now();
            room = memory.reserve(limits.body, limits.timeout).await;
            // Waiting for memory does not count against the server.
            pace.postpone(began.elapsed());
            if room.is_none() {
                is_cut = true;
                break;
            }
        }
    }
    let was_held = decoder.is_held();
    let DecodedBody { mut bytes, encoded, is_full, end } = decoder.finish();
    is_cut |= is_full;
    if was_held && bytes.len() > SMALL {
        room = memory.reserve(bytes.len(), limits.timeout).await;
        if room.is_none() {
            bytes = Bytes::copy_from_slice(&bytes[..SMALL]);
            is_cut = true;
        }
    }
    let bytes = match room {
        Some(room) => room.keep(bytes),
        None => bytes,
    };
    if let (false, None, Err(damaged)) = (is_cut, &broken, end) {
        broken = Some(Fault::new(FailureKind::Protocol, damaged.0));
    }
    match broken {
        Some(fault) if bytes.is_empty() => Err(fault),
        broken => {
            let is_cut = is_cut || broken.is_some();
            Ok(BodyRead { bytes, encoded: encoded.filter(|_| !is_cut), is_cut, is_drained })
        }
    }
}

fn body_fault(error: &hyper::Error) -> Fault {
    let ended = cause::<io::Error>(error).is_some_and(|io| io.kind() == io::ErrorKind::UnexpectedEof);
    if ended || error.is_incomplete_message() {
        return Fault::new(FailureKind::Protocol, "the body is shorter than its headers say");
    }
    Fault::of_exchange(error)
}

/// Enforces the time limit and the minimum rate.
struct TransferRate<'a> {
    limits: &'a BodyLimits,
    deadline: Instant,
    window_end: Instant,
    /// Bytes received in the current window.
    bytes: u64,
}

impl<'a> TransferRate<'a> {
    fn new(limits: &'a BodyLimits) -> Self {
        let now = Instant::now();
        TransferRate { limits, deadline: now + limits.timeout, window_end: now + limits.window, bytes: 0 }
    }

    /// Excludes a period in which nothing was read.
    fn postpone(&mut self, time: Duration) {
        self.deadline += time;
        self.window_end += time;
    }

    /// Returns the next chunk, or an error when the time is up.
    async fn next(
        &mut self,
        connection: &mut HttpConnection,
        body: &mut Incoming,
    ) -> Result<Option<hyper::Result<Frame<Bytes>>>, Fault> {
        let mut piece = pin!(connection.next_chunk(body));
        // Created only when needed: most chunks are available at once.
        let mut alarm = pin!(None);
        loop {
            let found = poll_fn(|cx| {
                if let Poll::Ready(found) = piece.as_mut().poll(cx) {
                    return Poll::Ready(Some(found));
                }
                let until = self.deadline.min(self.window_end);
                if alarm.is_none() {
                    alarm.set(Some(sleep_until(until)));
                }
                match alarm.as_mut().as_pin_mut() {
                    Some(alarm) => alarm.poll(cx).map(|()| None),
                    None => Poll::Pending,
                }
            })
            .await;
            let length = match &found {
                Some(Some(Ok(frame))) => frame.data_ref().map_or(0, |data| data.len() as u64),
                _ => 0,
            };
            self.count(length)?;
            match found {
                Some(found) => return Ok(found),
                None => alarm.set(None),
            }
        }
    }

    fn count(&mut self, bytes: u64) -> Result<(), Fault> {
        let now = Instant::now();
        self.bytes += bytes;
        if now >= self.deadline {
            let detail = format!("the body did not end within {} s", self.limits.timeout.as_secs_f64());
            return Err(Fault::new(FailureKind::Timeout, detail));
        }
        if now >= self.window_end {
            if (self.bytes as f64) < self.limits.min_rate as f64 * self.limits.window.as_secs_f64() {
                let detail = format!("the body came at less than {} bytes a second", self.limits.min_rate);
                return Err(Fault::new(FailureKind::Timeout, detail));
            }
            self.bytes = 0;
            self.window_end = now + self.limits.window;
        }
        Ok(())
    }
}
