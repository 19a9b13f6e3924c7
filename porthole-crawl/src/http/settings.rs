//! Settings of [`HttpFetch`](super::HttpFetch), with careful defaults.

use std::time::Duration;

use porthole_types::Headers;

use super::{AllowedAddresses, Proxies};

const ACCEPTED: &str = "text/html,application/xhtml+xml,text/plain;q=0.9,application/pdf;q=0.8,*/*;q=0.1";

/// What a body may be packed with.
const ENCODINGS: &str = "gzip, br, zstd";

/// Settings of [`HttpFetch`](super::HttpFetch). Every limit exists because some server needs it.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// How server operators can reach the person who crawls: a URL or a mail address, sent with every request.
    /// Without it only addresses in `allow` are fetched.
    pub contact: Option<String>,
    /// Addresses that may be fetched although they are not public.
    pub allow: AllowedAddresses,
    /// The proxies to use.
    pub proxies: Proxies,
    /// Time limit of a name lookup.
    pub dns_timeout: Duration,
    /// How long the addresses of a name are cached. The system's resolver does not report their TTL.
    pub dns_ttl: Duration,
    /// How long a failed lookup is cached.
    pub dns_failure_ttl: Duration,
    /// Maximum number of cached names.
    pub dns_entries: usize,
    /// Time limit for opening a connection, including TLS and the proxy.
    pub connect_timeout: Duration,
    /// Time limit from the request to the end of the response headers.
    pub first_byte_timeout: Duration,
    /// Time limit from the headers to the end of the body.
    pub body_timeout: Duration,
    /// Minimum transfer rate in bytes per second over each `rate_window`. Slower bodies are aborted.
    pub min_rate: u64,
    /// The window over which `min_rate` is measured.
    pub rate_window: Duration,
    /// Maximum size of all headers together, at least 8,192 bytes. The number of fields is limited to 100.
    pub max_header_bytes: usize,
    /// Maximum size of a body on the wire. Longer ones are truncated.
    pub max_wire_bytes: usize,
    /// Maximum size of a body after decompression. Longer ones are truncated.
    pub max_body_bytes: usize,
    /// Maximum size of all bodies that are being fetched or not yet read. Small ones are not counted.
    pub max_bytes_under_way: usize,
    /// Maximum number of concurrent requests. Further ones wait.
    pub max_requests: usize,
    /// Maximum number of idle connections per host.
    pub max_idle_per_host: usize,
    /// Maximum number of idle connections in total.
    pub max_idle: usize,
    /// Idle connections are not reused after this time.
    pub idle_timeout: Duration,
    /// Offer HTTP/2 to servers with TLS.
    pub http2: bool,
    /// Certificates (DER) to trust besides those of the public authorities.
    pub extra_roots: Vec<Vec<u8>>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        HttpSettings {
            contact: None,
            allow: AllowedAddresses::default(),
            proxies: Proxies::default(),
            dns_timeout: Duration::from_secs(10),
            dns_ttl: Duration::from_secs(10 * 60),
            dns_failure_ttl: Duration::from_secs(60),
            dns_entries: 100_000,
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(60),
            min_rate: 256,
            rate_window: Duration::from_secs(10),
            max_header_bytes: 64 << 10,
            max_wire_bytes: 8 << 20,
            max_body_bytes: 8 << 20,
            max_bytes_under_way: 128 << 20,
            max_requests: 1_024,
            max_idle_per_host: 64,
            max_idle: 512,
            idle_timeout: Duration::from_secs(60),
            http2: true,
            extra_roots: Vec::new(),
        }
    }
}

impl HttpSettings {
    /// How long a request can take at most.
    pub fn longest_request(&self) -> std::time::Duration {
        self.dns_timeout + self.connect_timeout + self.first_byte_timeout + self.body_timeout
    }

    /// The `User-Agent` of every request.
    pub fn user_agent(&self) -> String {
        const PRODUCT: &str = concat!("Porthole/", env!("CARGO_PKG_VERSION"));
        match &self.contact {
            Some(contact) => format!("{PRODUCT} (+{contact})"),
            None => PRODUCT.to_owned(),
        }
    }

    /// The headers that all requests have in common, in the order in which they are sent.
    pub fn request_headers(&self) -> Headers {
        let agent = self.user_agent();
        let headers = [("user-agent", agent.as_str()), ("accept", ACCEPTED), ("accept-encoding", ENCODINGS)];
        headers.into_iter().collect()
    }

    /// The same for an endpoint that the user named. It may be on this machine or in a private network, and is reached
    /// there without a proxy; what it names is not reached by these settings. It has to answer soon and briefly.
    #[must_use]
    pub fn for_endpoint(self) -> HttpSettings {
        HttpSettings {
            allow: self.allow.and(AllowedAddresses::own_network()),
            proxies: self.proxies.sparing_own_network(),
            first_byte_timeout: Duration::from_secs(20),
            body_timeout: Duration::from_secs(20),
            max_wire_bytes: 2 << 20,
            max_body_bytes: 2 << 20,
            ..self
        }
    }

    pub(super) fn check(&self) -> Result<(), HttpSettingsError> {
        let contact = self.contact.as_deref();
        if let Some(contact) = contact
            && !is_contact(contact)
        {
            return Err(HttpSettingsError::Contact(contact.to_owned()));
        }
        if !self.proxies.is_empty() && contact.is_none() {
            return Err(HttpSettingsError::NoContact);
        }
        let some = [
            ("max_requests", self.max_requests),
            ("max_wire_bytes", self.max_wire_bytes),
            ("max_body_bytes", self.max_body_bytes),
            ("max_bytes_under_way", self.max_bytes_under_way),
            ("dns_entries", self.dns_entries),
        ];
        if let Some((name, _)) = some.into_iter().find(|&(_, value)| value == 0) {
            return Err(HttpSettingsError::Zero(name));
        }
        if self.max_header_bytes < MIN_HEADER_BYTES {
            return Err(HttpSettingsError::Headers(self.max_header_bytes));
        }
        Ok(())
    }
}

/// hyper's read buffer. It accepts no smaller limit.
const MIN_HEADER_BYTES: usize = 8_192;

/// An invalid setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpSettingsError {
    /// Not a usable contact.
    #[error("`{0}` is not a contact: give a web or mail address in ASCII")]
    Contact(String),
    /// A proxy reaches the open web, so it needs a contact.
    #[error("set a contact first: a proxy reaches the open web")]
    NoContact,
    /// A limit of 0.
    #[error("{0} must not be 0")]
    Zero(&'static str),
    /// Too small a limit on headers.
    #[error("max_header_bytes is {0}; it must be {MIN_HEADER_BYTES} or more")]
    Headers(usize),
    /// Not a list of address ranges.
    #[error("`{0}` is not an address range: write `loopback`, `10.0.0.0/8` or `fd00::/8`")]
    Range(String),
    /// Not a proxy.
    #[error("`{0}` is not a proxy: write `http://host:port` or `socks5://user:password@host:port`")]
    Proxy(String),
    /// Not a certificate.
    #[error("extra root {at}: {what}")]
    Root {
        /// Its index, from 0.
        at: usize,
        /// What is wrong with it.
        what: String,
    },
    /// TLS cannot be set up.
    #[error("tls: {0}")]
    Tls(String),
}

fn is_contact(text: &str) -> bool {
    let plain = text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'(' | b')' | b'\\'));
    plain && text.len() <= 200 && (text.contains('@') || text.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_settings_are_named() {
        let check = |change: fn(&mut HttpSettings), words: &str| {
            let mut settings = HttpSettings::default();
            change(&mut settings);
            let error = settings.check().unwrap_err().to_string();
            assert!(error.contains(words), "{error:?} does not contain {words:?}");
        };
        check(|s| s.contact = Some("me".into()), "web or mail address");
        check(|s| s.contact = Some("a@b.c\r\nX: y".into()), "not a contact");
        check(|s| s.proxies = Proxies::all("http://127.0.0.1:1".parse().unwrap()), "set a contact first");
        check(|s| s.max_requests = 0, "max_requests");
        check(|s| s.max_header_bytes = 100, "8192");
        assert_eq!(HttpSettings::default().check(), Ok(()));
    }

    #[test]
    fn the_user_agent_names_the_contact() {
        let settings = HttpSettings { contact: Some("https://a.test/bot".into()), ..HttpSettings::default() };
        assert!(settings.user_agent().starts_with("Porthole/"));
        assert!(settings.user_agent().ends_with(" (+https://a.test/bot)"));
    }
}
