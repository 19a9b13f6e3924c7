//! One HTTP connection, driven by its user.
//!
//! hyper splits a connection into a handle and a future that moves the bytes. That future is polled together with the
//! request instead of in its own task: there are no thread switches between them, an idle connection costs no task,
//! and dropping a connection closes it.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::{http1, http2};
use hyper::rt::Executor;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;

use super::dial::Dialed;

/// A connection that handles one request at a time.
pub(super) struct HttpConnection {
    handle: RequestSender,
    /// Moves the bytes. `None` once the connection is closed.
    driver: Option<Driver>,
    /// Background tasks of HTTP/2, aborted with the connection.
    tasks: Tasks,
}

enum RequestSender {
    One(http1::SendRequest<RequestBody>),
    Two(http2::SendRequest<RequestBody>),
}

type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// Flow-control window of an HTTP/2 stream and of the connection, in bytes.
const WINDOW: u32 = 256 << 10;

impl HttpConnection {
    pub(super) async fn open(dialed: Dialed, max_header_bytes: usize) -> hyper::Result<Self> {
        let io = TokioIo::new(dialed.stream);
        let tasks = Tasks::default();
        let (handle, driver): (RequestSender, Driver) = if dialed.is_http2 {
            let (handle, driver) = http2::Builder::new(tasks.clone())
                .initial_stream_window_size(WINDOW)
                .initial_connection_window_size(WINDOW)
                .max_header_list_size(max_header_bytes.try_into().unwrap_or(u32::MAX))
                .handshake(io)
                .await?;
            (RequestSender::Two(handle), Box::pin(driver))
        } else {
            let (handle, driver) = http1::Builder::new()
                .max_buf_size(max_header_bytes)
                // Be as lenient as browsers towards broken servers.
                .allow_spaces_after_header_name_in_responses(true)
                .allow_obsolete_multiline_headers_in_responses(true)
                .ignore_invalid_headers_in_responses(true)
                .handshake(io)
                .await?;
            (RequestSender::One(handle), Box::pin(driver))
        };
        Ok(HttpConnection { handle, driver: Some(driver), tasks })
    }

    pub(super) fn is_http2(&self) -> bool {
        matches!(self.handle, RequestSender::Two(_))
    }

    /// Whether an idle connection still looks usable, as far as can be told without sending.
    pub(super) async fn is_alive(&mut self) -> bool {
        let driver = &mut self.driver;
        poll_fn(|cx| {
            drive(driver, cx);
            Poll::Ready(())
        })
        .await;
        self.driver.is_some()
            && match &self.handle {
                RequestSender::One(handle) => handle.is_ready(),
                RequestSender::Two(handle) => handle.is_ready(),
            }
    }

    /// Sends a request and waits for the response headers.
    pub(super) async fn send(&mut self, request: Request<RequestBody>) -> hyper::Result<Response<Incoming>> {
        match &mut self.handle {
            RequestSender::One(handle) => driven(handle.send_request(request), &mut self.driver).await,
            RequestSender::Two(handle) => driven(handle.send_request(request), &mut self.driver).await,
        }
    }

    /// Returns the next chunk of a body.
    pub(super) async fn next_chunk(&mut self, body: &mut Incoming) -> Option<hyper::Result<Frame<Bytes>>> {
        let driver = &mut self.driver;
        poll_fn(|cx| {
            let mut body = Pin::new(&mut *body);
            if let Poll::Ready(frame) = body.as_mut().poll_frame(cx) {
                return Poll::Ready(frame);
            }
            drive(driver, cx);
            body.poll_frame(cx)
        })
        .await
    }
}

impl Drop for HttpConnection {
    fn drop(&mut self) {
        // The tasks may hold the set that they are in, so dropping it is not enough.
        self.tasks.0.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

async fn driven<T>(
    answer: impl Future<Output = hyper::Result<T>>,
    driver: &mut Option<Driver>,
) -> hyper::Result<T> {
    let mut answer = pin!(answer);
    poll_fn(|cx| {
        drive(driver, cx);
        answer.as_mut().poll(cx)
    })
    .await
}

/// Drives the connection. Its errors are returned by the request or body that they affect.
fn drive(driver: &mut Option<Driver>, cx: &mut Context<'_>) {
    if let Some(running) = driver
        && running.as_mut().poll(cx).is_ready()
    {
        *driver = None;
    }
}

/// The background tasks of an HTTP/2 connection.
#[derive(Clone, Default)]
struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for Tasks {
    fn execute(&self, task: F) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async {
            task.await;
        });
    }
}

/// The body of a request; that of a GET request is empty.
#[derive(Default)]
pub(super) struct RequestBody(pub(super) Option<Bytes>);

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
