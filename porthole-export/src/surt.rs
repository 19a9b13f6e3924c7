//! Keys of URLs in CDXJ indexes: the host reversed, everything in lower case, without what differs from visit to visit.
//! Replay tools look URLs up by these keys, so that the rules are those of the tools, not of [`CanonicalUrl`].

use porthole_types::CanonicalUrl;

/// The key of a URL: `com,example)/path?a=1&b=2`.
pub fn surt(url: &CanonicalUrl) -> String {
    let rest = url.as_str().split_once("://").map_or("", |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
    let mut key = host_key(authority, url.as_str().starts_with("https:"));
    key.push(')');
    key.push_str(&path_key(path));
    let query = query.map(query_key).filter(|query| !query.is_empty());
    if let Some(query) = query {
        key.push('?');
        key.push_str(&query);
    }
    key
}

fn host_key(authority: &str, is_https: bool) -> String {
    let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, port)) => (name.to_owned(), port.strip_prefix(':').unwrap_or_default().to_owned()),
        None => {
            let (name, port) = host.split_once(':').unwrap_or((&host, ""));
            (name.to_owned(), port.to_owned())
        }
    };
    let mut key = without_www(&name).split('.').rev().collect::<Vec<_>>().join(",");
    let usual = if is_https { "443" } else { "80" };
    if !port.is_empty() && port != usual {
        key.push(':');
        key.push_str(&port);
    }
    key
}

/// A host without `www.`, `www2.` and the like.
fn without_www(host: &str) -> &str {
    let digits = |rest: &'_ str| rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let Some(rest) = host.strip_prefix("www") else { return host };
    rest[digits(rest)..].strip_prefix('.').unwrap_or(host)
}

fn path_key(path: &str) -> String {
    let plain = unescaped(path.as_bytes());
    let mut parts: Vec<&[u8]> = Vec::new();
    let ends_in_folder = matches!(plain.rsplit(|&b| b == b'/').next(), Some(b"" | b"." | b".."));
    for part in plain.split(|&b| b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let mut whole = b"/".to_vec();
    whole.extend(parts.join(&b'/'));
    if ends_in_folder && whole.len() > 1 {
        whole.push(b'/');
    }
    let path = without_path_session(escaped(&whole).to_ascii_lowercase());
    match path.strip_suffix('/') {
        Some(shorter) if !shorter.is_empty() => shorter.to_owned(),
        _ => path,
    }
}

/// A path without the session of ASP.NET: `/(S(…))/page.aspx`, or `/(…)/page.aspx`, with 24 letters and digits.
fn without_path_session(path: String) -> String {
    const LETTERS: usize = 24;
    let is_id = |text: &str| text.len() == LETTERS && text.bytes().all(|b| b.is_ascii_alphanumeric());
    let is_session = |part: &str| {
        let Some(inner) = part.strip_prefix('(').and_then(|part| part.strip_suffix(')')) else {
            return false;
        };
        let mut pieces = inner.split_inclusive(')');
        let is_piece = |piece: &str| {
            let piece = piece.strip_suffix(')').unwrap_or_default();
            piece.split_once('(').is_some_and(|(name, id)| {
                name.len() == 1 && name.bytes().all(|b| b.is_ascii_alphabetic()) && is_id(id)
            })
        };
        is_id(inner) || (!inner.is_empty() && pieces.all(is_piece))
    };
    let parts: Vec<&str> = path.split('/').collect();
    for (at, part) in parts.iter().enumerate().rev() {
        if is_session(part) && parts[at + 1..].join("/").find(".aspx").is_some_and(|found| found > 0) {
            return [&parts[..at], &parts[at + 1..]].concat().join("/");
        }
    }
    path
}

fn query_key(query: &str) -> String {
    let mut query = escaped(&unescaped(query.as_bytes()));
    for strip in [
        |query: &str| session(query, "jsessionid=", 32),
        |query: &str| session(query, "phpsessid=", 32),
        |query: &str| session(query, "sid=", 32),
        asp_session,
        cf_session,
    ] {
        if let Some((start, end)) = strip(&query.to_ascii_lowercase()) {
            let rest = query[end..].strip_prefix('&').unwrap_or_default();
            query = format!("{}{rest}", &query[..start]);
        }
    }
    let query = query.to_ascii_lowercase();
    if query.len() <= 1 {
        return query;
    }
    let mut arguments: Vec<(&str, Option<&str>)> = query
        .split('&')
        .map(|argument| {
            argument.split_once('=').map_or((argument, None), |(name, value)| (name, Some(value)))
        })
        .collect();
    arguments.sort_unstable();
    let written = arguments
        .iter()
        .map(|(name, value)| value.map_or_else(|| (*name).to_owned(), |value| format!("{name}={value}")));
    written.collect::<Vec<_>>().join("&")
}

/// Where the last session id with this name is, if it is an argument's end.
fn session(query: &str, name: &str, letters: usize) -> Option<(usize, usize)> {
    query.rmatch_indices(name).map(|(start, _)| (start, start + name.len() + letters)).find(
        |&(start, end)| {
            let id = query.get(start + name.len()..end);
            id.is_some_and(|id| id.bytes().all(|b| b.is_ascii_alphanumeric())) && is_end(query, end)
        },
    )
}

fn asp_session(query: &str) -> Option<(usize, usize)> {
    const NAME: &str = "aspsessionid";
    let is_letters =
        |text: Option<&str>| text.is_some_and(|text| text.bytes().all(|b| b.is_ascii_alphabetic()));
    query.rmatch_indices(NAME).map(|(start, _)| (start, start + NAME.len())).find_map(|(start, name)| {
        let (equals, end) = (name + 8, name + 8 + 1 + 24);
        let is_id = is_letters(query.get(name..equals))
            && query.get(equals..=equals) == Some("=")
            && is_letters(query.get(equals + 1..end))
            && is_end(query, end);
        is_id.then_some((start, end))
    })
}

fn cf_session(query: &str) -> Option<(usize, usize)> {
    query.rmatch_indices("cfid=").find_map(|(start, name)| {
        let id = start + name.len();
        let next = id + query[id..].find('&')?;
        let token = query[next..].strip_prefix("&cftoken=")?;
        let length = token.find('&').unwrap_or(token.len());
        (next > id && length > 0).then_some((start, query.len() - token.len() + length))
    })
}

fn is_end(query: &str, end: usize) -> bool {
    matches!(query.as_bytes().get(end), None | Some(b'&'))
}

/// Bytes with all escapes undone, and those that come out of it, too.
fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    loop {
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while at < bytes.len() {
            let digit = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(16));
            match (bytes[at], digit(at + 1), digit(at + 2)) {
                (b'%', Some(high), Some(low)) => {
                    out.push(u8::try_from(high * 16 + low).unwrap_or(b'%'));
                    at += 3;
                }
                (byte, ..) => {
                    out.push(byte);
                    at += 1;
                }
            }
        }
        if out.len() == bytes.len() {
            return out;
        }
        bytes = out;
    }
}

fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte <= 0x20 || byte >= 0x7f || byte == b'#' || byte == b'%' {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push(char::from(byte));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// URLs with the keys that the Python package `surt` 0.3.1 gives them.
    const KEYS: &str = "http://example.com/	com,example)/
https://www.example.com/	com,example)/
http://www2.example.com/a/B/?b=2&a=1	com,example)/a/b?a=1&b=2
http://example.com:80/x	com,example)/x
https://example.com:443/x	com,example)/x
http://example.com:8080/x	com,example:8080)/x
http://EXAMPLE.com/Path/Index.HTML?Q=Z&a=	com,example)/path/index.html?a=&q=z
http://example.com/a//b/../c/./d	com,example)/a/c/d
http://example.com/a/	com,example)/a
http://example.com/a/?x=1	com,example)/a?x=1
http://example.com/%7Euser/%41%20b	com,example)/~user/a%20b
http://example.com/caf%C3%A9?q=%C3%BC	com,example)/caf%c3%a9?q=%c3%bc
http://example.com/a?x=1&y=2&x=0	com,example)/a?x=0&x=1&y=2
http://192.168.1.10/a	10,1,168,192)/a
http://192.168.1.10:81/a	10,1,168,192:81)/a
http://[2001:db8::1]/a	2001:db8::1)/a
http://sub.example.co.uk/x+y?a+b=c%2Bd	uk,co,example,sub)/x+y?a+b=c+d
http://example.com/a?b&c	com,example)/a?b&c
http://example.com/a?b=c=d	com,example)/a?b=c=d
http://xn--bcher-kva.example/ü	example,xn--bcher-kva)/%c3%bc
http://example.com/a%2Fb%3Fc%23d	com,example)/a/b?c%23d
http://www.com/	com)/
http://example.com/(S(4hqa0555fwsecu455xqckv45))/default.aspx	com,example)/default.aspx
http://example.com/A?b=%2541	com,example)/a?b=a
http://example.com/x?a=1#frag	com,example)/x?a=1";

    /// Queries with the keys of the same package; canonical URLs have no such sessions.
    const QUERIES: &str = "PHPSESSID=0123456789abcdef0123456789abcdef&b=1	b=1
sid=0123456789abcdef0123456789abcdef	
cfid=1234&cftoken=5678&a=1	a=1
jsessionid=0123456789abcdef0123456789abcdef	
aspsessionidabcdefgh=abcdefghijklmnopqrstuvwx	
&&a=1&	&&&a=1
utm_source=x&a=1	a=1&utm_source=x";

    #[test]
    fn keys_are_those_of_other_tools() {
        for line in KEYS.lines() {
            let (url, key) = line.split_once('\t').unwrap();
            assert_eq!(surt(&CanonicalUrl::parse(url).unwrap()), key, "{url}");
        }
        for line in QUERIES.lines() {
            let (query, key) = line.split_once('\t').unwrap();
            assert_eq!(query_key(query), key, "{query}");
        }
    }

    #[test]
    fn any_url_has_a_key_without_spaces() {
        for url in
            ["http://a.test/%", "http://a.test/%2", "http://a.test/%25%32%35?%&é=%", "http://a.test/(("]
        {
            let key = surt(&CanonicalUrl::parse(url).unwrap());
            assert!(key.starts_with("test,a)/") && !key.contains(' '), "{url}: {key}");
        }
    }
}
