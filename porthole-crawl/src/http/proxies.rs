//! Chooses the proxy for each request.

use std::net::IpAddr;

use porthole_types::CanonicalUrl;

use super::dial::{is_https, port};
use super::{AllowedAddresses, HttpSettingsError, Proxy};

/// The proxies of a crawl: one for all requests, or those of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<Proxy>,
    https: Option<Proxy>,
    direct: Vec<DirectHost>,
    /// Whether loopback is reached without a proxy.
    is_loopback_direct: bool,
}

/// An entry of `NO_PROXY`: hosts that are reached without a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
enum DirectHost {
    All,
    /// A domain with its subdomains, optionally only on one port.
    Domain(String, Option<u16>),
    Addresses(AllowedAddresses),
}

impl Proxies {
    /// Uses one proxy for all requests.
    pub fn all(proxy: Proxy) -> Proxies {
        Proxies { http: Some(proxy.clone()), https: Some(proxy), ..Proxies::default() }
    }

    /// Reads the variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, in lower or upper case. Loopback
    /// is reached without a proxy.
    pub fn of_environment(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Proxies, (String, HttpSettingsError)> {
        let value = |name: &str| {
            let names = [name.to_owned(), name.to_ascii_uppercase()];
            names.into_iter().find_map(|name| {
                let value = variable(&name)?.trim().to_owned();
                (!value.is_empty()).then_some((name, value))
            })
        };
        let proxy = |name: &str| {
            let Some((name, text)) = value(name).or_else(|| value("all_proxy")) else { return Ok(None) };
            let text = if text.contains("://") { text } else { format!("http://{text}") };
            text.parse().map(Some).map_err(|error| (name, error))
        };
        let hosts = value("no_proxy").map(|(_, list)| list).unwrap_or_default();
        Ok(Proxies {
            http: proxy("http_proxy")?,
            https: proxy("https_proxy")?,
            direct: hosts.split([',', ' ']).filter_map(DirectHost::parse).collect(),
            is_loopback_direct: true,
        })
    }

    /// The same, except that addresses of this machine and of private networks are reached without a proxy.
    #[must_use]
    pub fn sparing_own_network(mut self) -> Proxies {
        self.direct.push(DirectHost::Addresses(AllowedAddresses::own_network()));
        Proxies { is_loopback_direct: true, ..self }
    }

    /// Whether there is no proxy.
    pub fn is_empty(&self) -> bool {
        self.http.is_none() && self.https.is_none()
    }

    /// The distinct proxies.
    pub fn iter(&self) -> impl Iterator<Item = &Proxy> {
        let https = self.https.iter().filter(|&https| self.http.as_ref() != Some(https));
        self.http.iter().chain(https)
    }

    /// The proxy for a URL.
    pub(super) fn of(&self, url: &CanonicalUrl) -> Option<&Proxy> {
        let proxy = if is_https(url) { self.https.as_ref() } else { self.http.as_ref() };
        proxy.filter(|_| !self.is_direct(url))
    }

    fn is_direct(&self, url: &CanonicalUrl) -> bool {
        let host = url.host();
        let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        let is_loopback = host == "localhost" || address.is_some_and(|address| address.is_loopback());
        let matches = |direct: &DirectHost| direct.matches(host, port(url), address);
        self.is_loopback_direct && is_loopback || self.direct.iter().any(matches)
    }
}

impl DirectHost {
    fn parse(text: &str) -> Option<DirectHost> {
        match text {
            "" => None,
            "*" => Some(DirectHost::All),
            _ => {
                if text != "loopback"
                    && let Ok(addresses) = text.trim_matches(['[', ']']).parse()
                {
                    return Some(DirectHost::Addresses(addresses));
                }
                let (domain, port) = match text.rsplit_once(':') {
                    Some((domain, port)) => (domain, Some(port.parse().ok()?)),
                    None => (text, None),
                };
                let domain = domain.trim_start_matches("*.").trim_start_matches('.');
                Some(DirectHost::Domain(domain.to_ascii_lowercase(), port))
            }
        }
    }

    fn matches(&self, host: &str, at: u16, address: Option<IpAddr>) -> bool {
        match self {
            DirectHost::All => true,
            DirectHost::Domain(domain, port) => {
                let is_below = host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.ends_with('.'));
                (host == domain || is_below) && port.is_none_or(|port| port == at)
            }
            DirectHost::Addresses(addresses) => address.is_some_and(|address| addresses.contains(address)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which proxy an environment selects for each URL.
    fn check(environment: &[(&str, &str)], expected: &[(&str, Option<&str>)]) {
        let variable = |name: &str| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let proxies = Proxies::of_environment(variable).unwrap();
        for (url, proxy) in expected {
            let used = proxies.of(&CanonicalUrl::parse(url).unwrap()).map(|proxy| format!("{proxy:?}"));
            assert_eq!(used.as_deref(), *proxy, "{environment:?} {url}");
        }
    }

    #[test]
    fn the_environment_names_proxies_by_scheme() {
        let proxy = Some("Http proxy.test:3128");
        check(&[], &[("http://a.test/", None), ("https://a.test/", None)]);
        check(&[("HTTP_PROXY", "")], &[("http://a.test/", None)]);
        check(
            &[("HTTP_PROXY", "http://proxy.test:3128/")],
            &[("http://a.test/", proxy), ("https://a.test/", None)],
        );
        check(&[("https_proxy", "proxy.test:3128")], &[("http://a.test/", None), ("https://a.test/", proxy)]);
        check(
            &[("ALL_PROXY", "socks5://127.0.0.1:9050"), ("http_proxy", "http://proxy.test:3128")],
            &[("http://a.test/", proxy), ("https://a.test/", Some("Socks5 127.0.0.1:9050"))],
        );
    }

    #[test]
    fn some_hosts_are_reached_without_a_proxy() {
        let through = Some("Http proxy.test:3128");
        check(
            &[
                ("all_proxy", "http://proxy.test:3128"),
                ("NO_PROXY", "corp.test, .intra.test,10.0.0.0/8,b.test:8080"),
            ],
            &[
                ("http://a.test/", through),
                ("http://corp.test/", None),
                ("https://www.corp.test/", None),
                ("http://mycorp.test/", through),
                ("http://x.intra.test/", None),
                ("http://10.1.2.3/", None),
                ("http://11.1.2.3/", through),
                ("http://b.test:8080/", None),
                ("http://b.test/", through),
                ("http://localhost/", None),
                ("http://127.0.0.1:8080/", None),
                ("http://[::1]/", None),
            ],
        );
        check(&[("all_proxy", "http://proxy.test:3128"), ("no_proxy", "*")], &[("http://a.test/", None)]);
    }

    #[test]
    fn an_invalid_variable_is_named() {
        let variable = |name: &str| (name == "HTTPS_PROXY").then(|| "https://proxy.test:3128".to_owned());
        let (name, error) = Proxies::of_environment(variable).unwrap_err();
        assert_eq!(name, "HTTPS_PROXY");
        assert!(error.to_string().contains("is not a proxy"), "{error}");
    }
}
