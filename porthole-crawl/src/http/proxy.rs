//! HTTP proxies (absolute form for http, CONNECT for https) and SOCKS5 (RFC 1928, 1929).
//!
//! Names are resolved by the proxy, so the addresses behind them cannot be checked here: a proxy that can reach a
//! private network has to guard it. IP addresses in URLs, and `localhost`, are refused as without a proxy.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use porthole_types::FailureKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::HttpSettingsError;
use super::fault::Fault;

/// A proxy, parsed from `http://host:port` or `socks5://host:port`, optionally with `user:password@` before the host.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    pub(super) kind: ProxyKind,
    pub(super) host: String,
    pub(super) port: u16,
    login: Option<(String, String)>,
}

impl Proxy {
    /// Whether the proxy is on this machine.
    pub fn is_loopback(&self) -> bool {
        let address = self.host.trim_matches(['[', ']']).parse::<IpAddr>();
        self.host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

/// The protocol of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProxyKind {
    Http,
    Socks5,
}

impl FromStr for Proxy {
    type Err = HttpSettingsError;

    fn from_str(text: &str) -> Result<Self, HttpSettingsError> {
        Proxy::parse(text).ok_or_else(|| {
            // Keep the password out of messages.
            let shown = text.rsplit_once('@').map_or(text, |(_, place)| place);
            HttpSettingsError::Proxy(shown.to_owned())
        })
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}:{}", self.kind, self.host, self.port)
    }
}

impl Proxy {
    fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.trim_end_matches('/').split_once("://")?;
        let kind = match scheme {
            "http" => ProxyKind::Http,
            "socks5" | "socks5h" => ProxyKind::Socks5,
            _ => return None,
        };
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => (Some(login.split_once(':')?), place),
            None => (None, rest),
        };
        let login = login.map(|(user, password)| (user.to_owned(), password.to_owned()));
        if login.as_ref().is_some_and(|(user, password)| user.len() > 255 || password.len() > 255) {
            return None;
        }
        let (host, port) = place.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        (!host.is_empty()).then_some(())?;
        Some(Proxy { kind, host, port: port.parse().ok()?, login })
    }

    /// The value of `Proxy-Authorization`.
    pub(super) fn authorization(&self) -> Option<String> {
        let (user, password) = self.login.as_ref()?;
        Some(format!("Basic {}", base64(format!("{user}:{password}").as_bytes())))
    }

    /// Opens a tunnel through the proxy to `host`, which may have brackets, and `port`.
    pub(super) async fn tunnel(&self, stream: &mut TcpStream, host: &str, port: u16) -> Result<(), Fault> {
        match self.kind {
            ProxyKind::Http => self.connect(stream, host, port).await,
            ProxyKind::Socks5 => self.socks5(stream, host, port).await,
        }
    }

    async fn connect(&self, stream: &mut TcpStream, host: &str, port: u16) -> Result<(), Fault> {
        let login =
            self.authorization().map(|value| format!("Proxy-Authorization: {value}\r\n")).unwrap_or_default();
        let request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{login}\r\n");
        stream.write_all(request.as_bytes()).await.map_err(|error| broken(&error))?;
        let head = read_head(stream).await?;
        let status = head.split(' ').nth(1).unwrap_or("");
        if !head.starts_with("HTTP/1.") || !status.starts_with('2') {
            let line: String = head.lines().next().unwrap_or("").chars().take(80).collect();
            return Err(refused(&format!("answered {line:?}")));
        }
        Ok(())
    }

    async fn socks5(&self, stream: &mut TcpStream, host: &str, port: u16) -> Result<(), Fault> {
        let methods: &[u8] = if self.login.is_some() { &[5, 2, 0, 2] } else { &[5, 1, 0] };
        match exchange::<2>(stream, methods).await? {
            [5, 0] => {}
            [5, 2] => self.log_in(stream).await?,
            [5, _] => return Err(refused("requires another authentication method")),
            _ => return Err(refused("does not speak SOCKS5")),
        }
        match exchange::<4>(stream, &socks5_request(host, port)?).await? {
            [5, 0, _, kind] => skip_bound_address(stream, kind).await,
            [5, code, ..] => Err(refused(socks5_reply(code))),
            _ => Err(refused("does not speak SOCKS5")),
        }
    }

    async fn log_in(&self, stream: &mut TcpStream) -> Result<(), Fault> {
        let (user, password) = self.login.as_ref().ok_or_else(|| refused("requires a login"))?;
        let mut request = vec![1, user.len() as u8];
        request.extend_from_slice(user.as_bytes());
        request.push(password.len() as u8);
        request.extend_from_slice(password.as_bytes());
        match exchange::<2>(stream, &request).await? {
            [_, 0] => Ok(()),
            _ => Err(refused("rejected the login")),
        }
    }
}

/// The connect request, with an IP address, or a name for the proxy to resolve.
fn socks5_request(host: &str, port: u16) -> Result<Vec<u8>, Fault> {
    let mut request = vec![5, 1, 0];
    match host.trim_start_matches('[').trim_end_matches(']').parse() {
        Ok(IpAddr::V4(v4)) => {
            request.push(1);
            request.extend_from_slice(&v4.octets());
        }
        Ok(IpAddr::V6(v6)) => {
            request.push(4);
            request.extend_from_slice(&v6.octets());
        }
        Err(_) => {
            let length = u8::try_from(host.len()).map_err(|_| refused("does not accept a name that long"))?;
            request.extend_from_slice(&[3, length]);
            request.extend_from_slice(host.as_bytes());
        }
    }
    request.extend_from_slice(&port.to_be_bytes());
    Ok(request)
}

async fn skip_bound_address(stream: &mut TcpStream, kind: u8) -> Result<(), Fault> {
    let length = match kind {
        1 => 4,
        4 => 16,
        3 => usize::from(stream.read_u8().await.map_err(|error| broken(&error))?),
        _ => return Err(refused("does not speak SOCKS5")),
    };
    let mut skipped = [0; 255 + 2];
    stream.read_exact(&mut skipped[..length + 2]).await.map_err(|error| broken(&error))?;
    Ok(())
}

async fn exchange<const N: usize>(stream: &mut TcpStream, request: &[u8]) -> Result<[u8; N], Fault> {
    stream.write_all(request).await.map_err(|error| broken(&error))?;
    let mut reply = [0; N];
    stream.read_exact(&mut reply).await.map_err(|error| broken(&error))?;
    Ok(reply)
}

/// Reads the head of the answer to CONNECT byte by byte, because TLS data follows it.
async fn read_head(stream: &mut TcpStream) -> Result<String, Fault> {
    const MAX_HEAD_BYTES: usize = 16 << 10;
    let mut head = Vec::with_capacity(256);
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == MAX_HEAD_BYTES {
            return Err(refused("answered with endless headers"));
        }
        head.push(stream.read_u8().await.map_err(|error| broken(&error))?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn socks5_reply(code: u8) -> &'static str {
    match code {
        2 => "does not allow the connection",
        3 | 4 => "cannot reach the host",
        5 => "was refused a connection",
        6 => "timed out",
        _ => "failed",
    }
}

fn refused(what: &str) -> Fault {
    Fault::new(FailureKind::Connect, format!("the proxy {what}"))
}

fn broken(error: &std::io::Error) -> Fault {
    refused(&format!("hung up: {error}"))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for digit in 0..4 {
            let is_padding = digit > group.len();
            let sign = DIGITS[(bits >> (18 - 6 * digit) & 63) as usize];
            text.push(if is_padding { '=' } else { char::from(sign) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_parsed_and_passwords_hidden() {
        for (text, shown) in [
            ("http://proxy.test:3128", "Http proxy.test:3128"),
            ("http://proxy.test:3128/", "Http proxy.test:3128"),
            ("socks5://me:secret@[::1]:1080", "Socks5 ::1:1080"),
            ("socks5h://127.0.0.1:9050", "Socks5 127.0.0.1:9050"),
        ] {
            assert_eq!(format!("{:?}", text.parse::<Proxy>().unwrap()), shown);
        }
        for text in ["proxy.test:3128", "ftp://a:1", "http://proxy.test", "http://:1", "http://me:secret@a:x"]
        {
            let error = text.parse::<Proxy>().unwrap_err().to_string();
            assert!(error.contains("is not a proxy") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn logins_are_encoded_in_base64() {
        for (text, expected) in
            [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("abcd", "YWJjZA==")]
        {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }
}
