//! Opens streams for URLs: name lookup, guard, proxy, TLS.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use porthole_types::{CanonicalUrl, FailureKind};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::dns::{DnsCache, DnsLimits, Resolve};
use super::fault::{Fault, within};
use super::guard::Guard;
use super::proxies::Proxies;
use super::proxy::{Proxy, ProxyKind};
use super::stream::Stream;
use super::{HttpSettings, HttpSettingsError};

/// Opens streams to the hosts of URLs.
pub(super) struct Dialer {
    dns: DnsCache,
    guard: Guard,
    proxies: Proxies,
    tls: TlsConnector,
    timeout: Duration,
}

/// A stream, and the negotiated HTTP version.
pub(super) struct Dialed {
    pub(super) stream: Stream,
    pub(super) is_http2: bool,
}

/// Maximum number of addresses of a name to try.
const MAX_ADDRESSES: usize = 4;

impl Dialer {
    pub(super) fn new(
        settings: &HttpSettings,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Self, HttpSettingsError> {
        let limits = DnsLimits {
            timeout: settings.dns_timeout,
            ttl: settings.dns_ttl,
            failure_ttl: settings.dns_failure_ttl,
            entries: settings.dns_entries,
        };
        Ok(Dialer {
            dns: DnsCache::new(resolver, limits),
            guard: Guard { allow: settings.allow.clone(), has_contact: settings.contact.is_some() },
            proxies: settings.proxies.clone(),
            tls: TlsConnector::from(Arc::new(tls_config(settings)?)),
            timeout: settings.connect_timeout,
        })
    }

    /// Opens a stream for requests to this URL, only to `address` if it is given.
    pub(super) async fn dial(&self, url: &CanonicalUrl, address: Option<IpAddr>) -> Result<Dialed, Fault> {
        let target = match (self.proxies.of(url), address) {
            (None, Some(address)) => {
                self.guard.check(address).map_err(|why| Fault::new(FailureKind::Scope, why))?;
                Target::Addresses(Arc::new([address]))
            }
            (None, None) => Target::Addresses(self.addresses(url).await?),
            (Some(proxy), _) => Target::Proxy(proxy, self.proxy_addresses(proxy, url).await?),
        };
        within(self.timeout, "no connection", self.open(url, target)).await
    }

    /// The addresses of a URL's host, all of which passed the guard.
    pub(super) async fn addresses(&self, url: &CanonicalUrl) -> Result<Arc<[IpAddr]>, Fault> {
        let host = url.host();
        if let Some(address) = literal(host) {
            self.guard.check(address).map_err(|why| Fault::new(FailureKind::Scope, why))?;
            return Ok(Arc::new([address]));
        }
        let found = self.lookup(host).await?;
        for &address in found.iter() {
            // Attackers mix a private address with public ones to reach the inside, so one bad address rejects them
            // all.
            let refusal = |why| Fault::new(FailureKind::Scope, format!("{host} is not fetched: {why}"));
            self.guard.check(address).map_err(refusal)?;
        }
        Ok(found)
    }

    async fn lookup(&self, host: &str) -> Result<Arc<[IpAddr]>, Fault> {
        let unknown = |what| Fault::new(FailureKind::Dns, format!("{host} cannot be resolved: {what}"));
        self.dns.lookup(host).await.map_err(unknown)
    }

    /// The proxy's own addresses are the user's choice and not guarded. Addresses in the URL are.
    async fn proxy_addresses(&self, proxy: &Proxy, url: &CanonicalUrl) -> Result<Arc<[IpAddr]>, Fault> {
        let host = url.host();
        let address = if host == "localhost" || host.ends_with(".localhost") {
            Some(IpAddr::from([127, 0, 0, 1]))
        } else {
            literal(host)
        };
        if let Some(address) = address {
            self.guard.check(address).map_err(|why| Fault::new(FailureKind::Scope, why))?;
        }
        match literal(&proxy.host) {
            Some(address) => Ok(Arc::new([address])),
            None => self.lookup(&proxy.host).await.map_err(|fault| proxy_unreachable(&fault)),
        }
    }

    async fn open(&self, url: &CanonicalUrl, target: Target<'_>) -> Result<Dialed, Fault> {
        let tcp = match target {
            Target::Addresses(addresses) => self.connect(&addresses, port(url)).await?,
            Target::Proxy(proxy, addresses) => {
                let mut tcp =
                    self.connect(&addresses, proxy.port).await.map_err(|fault| proxy_unreachable(&fault))?;
                if proxy.kind == ProxyKind::Socks5 || is_https(url) {
                    proxy.tunnel(&mut tcp, url.host(), port(url)).await?;
                }
                tcp
            }
        };
        if is_https(url) {
            return self.encrypt(tcp, url.host()).await;
        }
        Ok(Dialed { stream: Stream::Plain(tcp), is_http2: false })
    }

    /// Tries one address after the other, each with its share of the time.
    async fn connect(&self, addresses: &[IpAddr], port: u16) -> Result<TcpStream, Fault> {
        let tried = addresses.len().min(MAX_ADDRESSES);
        let share = self.timeout / tried.max(1) as u32;
        let mut fault = Fault::new(FailureKind::Connect, "no address to connect to");
        for &address in &addresses[..tried] {
            let socket = SocketAddr::new(address, port);
            let attempt =
                async { TcpStream::connect(socket).await.map_err(|error| Fault::of_connect(socket, &error)) };
            match within(share, &format!("no connection to {socket}"), attempt).await {
                Ok(tcp) => {
                    // Requests are small and should be sent at once.
                    let _ = tcp.set_nodelay(true);
                    return Ok(tcp);
                }
                Err(failed) => fault = failed,
            }
        }
        Err(fault)
    }

    async fn encrypt(&self, tcp: TcpStream, host: &str) -> Result<Dialed, Fault> {
        let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(name).map_err(|error| {
            Fault::new(FailureKind::Tls, format!("{host} is not a valid name for a certificate: {error}"))
        })?;
        let stream = self.tls.connect(name, tcp).await.map_err(|error| {
            let fault = Fault::of_io(&error);
            Fault { kind: FailureKind::Tls, ..fault }
        })?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok(Dialed { stream: Stream::Tls(Box::new(stream)), is_http2 })
    }
}

/// An unreachable proxy is not the site's fault.
fn proxy_unreachable(fault: &Fault) -> Fault {
    Fault::new(FailureKind::Local, format!("the proxy cannot be reached: {}", fault.detail))
}

/// Where the connection goes first.
enum Target<'a> {
    Addresses(Arc<[IpAddr]>),
    Proxy(&'a Proxy, Arc<[IpAddr]>),
}

pub(super) fn is_https(url: &CanonicalUrl) -> bool {
    url.scheme() == "https"
}

/// The IP address that a host literal denotes. A canonical URL spells each address in one way.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

pub(super) fn port(url: &CanonicalUrl) -> u16 {
    let given = url.authority()[url.host().len()..].strip_prefix(':').and_then(|port| port.parse().ok());
    given.unwrap_or(if is_https(url) { 443 } else { 80 })
}

fn tls_config(settings: &HttpSettings) -> Result<ClientConfig, HttpSettingsError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for (at, root) in settings.extra_roots.iter().enumerate() {
        roots
            .add(CertificateDer::from(root.as_slice()).into_owned())
            .map_err(|error| HttpSettingsError::Root { at, what: error.to_string() })?;
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| HttpSettingsError::Tls(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let versions: &[&[u8]] = if settings.http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
    config.alpn_protocols = versions.iter().map(|version| version.to_vec()).collect();
    Ok(config)
}
