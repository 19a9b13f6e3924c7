//! What a live crawl asks of the network, with the defaults of a careful guest.

use std::time::Duration;

use super::{AllowedAddresses, Proxies};

/// How [`HttpFetch`](super::HttpFetch) behaves. Every limit exists because some server on the web needs it.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// How the people who run servers reach the one who crawls: a URL or a mail address, sent with every request.
    /// Without it only addresses in `allow` are fetched.
    pub contact: Option<String>,
    /// Addresses that may be fetched although they are not on the open web.
    pub allow: AllowedAddresses,
    /// The proxies that requests go through.
    pub proxies: Proxies,
    /// Finding the addresses of a name.
    pub dns_timeout: Duration,
    /// How long the addresses of a name are believed. The system's resolver does not tell their own time to live.
    pub dns_ttl: Duration,
    /// How long a name that has no address is not asked for again.
    pub dns_failure_ttl: Duration,
    /// Names whose addresses are remembered.
    pub dns_entries: usize,
    /// From the first packet to a connection over which a request can be sent, with TLS and the proxy.
    pub connect_timeout: Duration,
    /// From the request to the last of the headers.
    pub first_byte_timeout: Duration,
    /// From the headers to the last byte of the body.
    pub body_timeout: Duration,
    /// A body that brings fewer bytes a second than this, over a whole `rate_window`, is given up.
    pub min_rate: u64,
    /// What `min_rate` is measured over.
    pub rate_window: Duration,
    /// Bytes of all headers together; at least 8,192. There are never more than 100 fields.
    pub max_header_bytes: usize,
    /// Bytes of a body as it is sent; a longer one is cut.
    pub max_wire_bytes: usize,
    /// Bytes of a body after decompression; a longer one is cut.
    pub max_body_bytes: usize,
    /// Bytes of all bodies that are being fetched, or were and have not been read; small ones are not counted.
    pub max_bytes_under_way: usize,
    /// Requests under way at the same time; further ones wait.
    pub max_requests: usize,
    /// Connections kept open for further requests, of one host.
    pub max_idle_per_host: usize,
    /// Connections kept open for further requests, of all hosts.
    pub max_idle: usize,
    /// A connection that was not used for this long is not used again.
    pub idle_timeout: Duration,
    /// Offer HTTP/2 to servers with TLS.
    pub http2: bool,
    /// Certificates (DER) that are trusted besides those of the public authorities.
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
    /// The `User-Agent` of every request.
    pub fn user_agent(&self) -> String {
        const PRODUCT: &str = concat!("Porthole/", env!("CARGO_PKG_VERSION"));
        match &self.contact {
            Some(contact) => format!("{PRODUCT} (+{contact})"),
            None => PRODUCT.to_owned(),
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
        if self.max_header_bytes < LEAST_HEADER_BYTES {
            return Err(HttpSettingsError::Headers(self.max_header_bytes));
        }
        Ok(())
    }
}

/// What hyper reads at once; it takes no smaller limit.
const LEAST_HEADER_BYTES: usize = 8_192;

/// Settings that make no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpSettingsError {
    /// A contact that cannot be reached or sent.
    #[error("`{0}` is no contact: give a web or mail address, in plain letters")]
    Contact(String),
    /// A proxy leads anywhere.
    #[error("set a contact first: a proxy leads to the open web")]
    NoContact,
    /// A limit under which nothing works.
    #[error("{0} must not be 0")]
    Zero(&'static str),
    /// Too small a limit for headers.
    #[error("max_header_bytes is {0}; it must be {LEAST_HEADER_BYTES} or more")]
    Headers(usize),
    /// Not what [`AllowedAddresses`] reads.
    #[error("`{0}` is no range of addresses: write `loopback`, `10.0.0.0/8` or `fd00::/8`")]
    Range(String),
    /// Not what [`Proxy`] reads.
    #[error("`{0}` is no proxy: write `http://host:port` or `socks5://user:password@host:port`")]
    Proxy(String),
    /// Not a certificate.
    #[error("extra root {at}: {what}")]
    Root {
        /// Which one, from 0.
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
    fn settings_are_checked_in_words() {
        let check = |change: fn(&mut HttpSettings), words: &str| {
            let mut settings = HttpSettings::default();
            change(&mut settings);
            let error = settings.check().unwrap_err().to_string();
            assert!(error.contains(words), "{error:?} does not say {words:?}");
        };
        check(|s| s.contact = Some("me".into()), "web or mail address");
        check(|s| s.contact = Some("a@b.c\r\nX: y".into()), "no contact");
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
