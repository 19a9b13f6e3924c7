//! Classifies network errors.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use porthole_types::{CanonicalUrl, FailureKind};

use crate::FetchError;

/// A failure that is not yet attached to a URL.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) kind: FailureKind,
    pub(super) detail: String,
    /// The server closed the connection without an answer, as it may do with an idle one at any time.
    pub(super) is_closed: bool,
}

impl Fault {
    pub(super) fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Fault { kind, detail: detail.into(), is_closed: false }
    }

    pub(super) fn about(self, url: &CanonicalUrl) -> FetchError {
        FetchError { url: url.clone(), kind: self.kind, detail: self.detail }
    }

    /// Classifies an error of hyper. A broken connection may be temporary; invalid HTTP is not.
    pub(super) fn of_exchange(error: &hyper::Error) -> Self {
        // hyper offers a method for this only with its server feature. A test pins the message.
        if error.is_parse() && error.to_string().contains("too large") {
            return Fault::headers_too_large();
        }
        if let Some(cause) = cause::<io::Error>(error) {
            // HTTP/2 reports an end without GOAWAY as a reset. A real reset comes from the system.
            let is_end = matches!(
                cause.kind(),
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
            );
            let is_closed = is_end && cause.raw_os_error().is_none();
            return Fault { is_closed, ..Fault::of_io(cause) };
        }
        let closed = |detail: &str| Fault { is_closed: true, ..Fault::new(FailureKind::Connect, detail) };
        if error.is_incomplete_message() {
            return closed("the connection was closed before the answer was complete");
        }
        if error.is_canceled() || error.is_closed() {
            return closed("the connection was closed before an answer came");
        }
        let what = innermost(error);
        // These are the messages of HTTP/2 error codes, pinned by a test. Such a request may be retried later.
        match RETRYABLE.iter().any(|words| what.contains(words)) {
            true => Fault::new(FailureKind::Connect, format!("not now: {what}")),
            false => Fault::new(FailureKind::Protocol, format!("not an HTTP answer: {what}")),
        }
    }

    /// Classifies a failure to connect. Some causes are on this machine.
    pub(super) fn of_connect(socket: SocketAddr, error: &io::Error) -> Self {
        let kind = if is_local(error) { FailureKind::Local } else { FailureKind::Connect };
        Fault::new(kind, format!("no connection to {socket}: {error}"))
    }

    pub(super) fn headers_too_large() -> Self {
        Fault::new(FailureKind::Size, "the headers are larger than allowed")
    }

    pub(super) fn of_io(error: &io::Error) -> Self {
        if let Some(tls) = cause::<tokio_rustls::rustls::Error>(error) {
            return Fault::of_tls(tls);
        }
        // hyper reports invalid chunks as I/O errors.
        let kind = match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => FailureKind::Protocol,
            _ => FailureKind::Connect,
        };
        Fault::new(kind, format!("the connection broke: {}", innermost(error)))
    }

    pub(super) fn of_tls(error: &tokio_rustls::rustls::Error) -> Self {
        use tokio_rustls::rustls::Error;
        let detail = match error {
            Error::InvalidMessage(_) => format!("the server does not speak TLS: {error}"),
            _ => format!("tls: {error}"),
        };
        Fault::new(FailureKind::Tls, detail)
    }
}

/// `REFUSED_STREAM`, `ENHANCE_YOUR_CALM`, and `GOAWAY` with `NO_ERROR`.
const RETRYABLE: [&str; 3] = ["refused stream", "excessive load", "not a result of an error"];

/// Whether nothing could be sent from this machine: no route, no free port, no free file descriptor.
fn is_local(error: &io::Error) -> bool {
    /// ENFILE and EMFILE, which have no `ErrorKind`.
    const NO_DESCRIPTOR: [i32; 2] = [23, 24];
    let is_kind = matches!(
        error.kind(),
        io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::AddrNotAvailable
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::OutOfMemory
    );
    is_kind || cfg!(unix) && error.raw_os_error().is_some_and(|code| NO_DESCRIPTOR.contains(&code))
}

/// Runs a step with a time limit. The error names the step.
pub(super) async fn within<T>(
    limit: Duration,
    what: &str,
    step: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    match tokio::time::timeout(limit, step).await {
        Ok(result) => result,
        Err(_) => Err(Fault::new(FailureKind::Timeout, format!("{what} within {} s", limit.as_secs_f64()))),
    }
}

/// The first cause of type `E`. An `io::Error` hides the error it wraps from `source`.
pub(super) fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        next = wrapped(error);
    }
    None
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(next) = wrapped(last) {
        last = next;
    }
    last.to_string()
}

fn wrapped<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(carried) => Some(carried),
        None => error.source(),
    }
}
