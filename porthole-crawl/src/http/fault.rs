//! What went wrong, in a class and in words.

use std::error::Error;
use std::io;
use std::time::Duration;

use porthole_types::{CanonicalUrl, FailureKind};

use crate::FetchError;

/// A failure before it is known which URL it is about.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) kind: FailureKind,
    pub(super) detail: String,
}

impl Fault {
    pub(super) fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Fault { kind, detail: detail.into() }
    }

    pub(super) fn about(self, url: &CanonicalUrl) -> FetchError {
        FetchError { url: url.clone(), kind: self.kind, detail: self.detail }
    }

    /// What hyper says of a connection. A break is told from nonsense: the first may pass, the second will not.
    pub(super) fn of_exchange(error: &hyper::Error) -> Self {
        // The method that tells this comes only with hyper's server; a test holds us to the words.
        if error.is_parse() && error.to_string().contains("too large") {
            return Fault::headers_too_large();
        }
        if let Some(cause) = cause::<io::Error>(error) {
            return Fault::of_io(cause);
        }
        if error.is_incomplete_message() {
            return Fault::new(
                FailureKind::Connect,
                "the connection was closed before the answer was complete",
            );
        }
        if error.is_canceled() || error.is_closed() {
            return Fault::new(FailureKind::Connect, "the connection was closed before an answer came");
        }
        Fault::new(FailureKind::Protocol, format!("not an HTTP answer: {}", innermost(error)))
    }

    pub(super) fn headers_too_large() -> Self {
        Fault::new(FailureKind::Size, "the headers are larger than allowed")
    }

    pub(super) fn of_io(error: &io::Error) -> Self {
        if let Some(tls) = cause::<tokio_rustls::rustls::Error>(error) {
            return Fault::of_tls(tls);
        }
        // hyper reports what is wrong with chunks as errors of I/O.
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

/// A step that takes too long fails, and says which it was.
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

/// The first error of a kind among the causes. An `io::Error` hides the one it carries from `source`.
pub(super) fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        next = inside(error);
    }
    None
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(next) = inside(last) {
        last = next;
    }
    last.to_string()
}

fn inside<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(carried) => Some(carried),
        None => error.source(),
    }
}
