//! A small web on loopback: many hosts, each on an address that the test gives it, and a log of all that they were
//! asked. What a test proves about a crawl, it proves from this log alone.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use porthole_crawl::HttpFetch;
use porthole_types::CanonicalUrl;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::server::{Names, read_head, settings};

/// One host: its name, its address 127.1.0.n, and what it says to a path. It is told the port of the web.
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) address: u8,
    pub(crate) says: Says,
}

pub(crate) type Says = Box<dyn Fn(&str, u16) -> Answer + Send + Sync>;

pub(crate) struct Answer {
    status: u16,
    headers: String,
    body: Vec<u8>,
    wait: Duration,
    is_silent: bool,
}

impl Answer {
    fn new(status: u16, headers: &str, body: impl Into<Vec<u8>>) -> Self {
        let (headers, body) = (headers.to_owned(), body.into());
        Answer { status, headers, body, wait: Duration::ZERO, is_silent: false }
    }

    pub(crate) fn html(body: impl Into<Vec<u8>>) -> Self {
        Answer::new(200, "Content-Type: text/html\r\n", body)
    }

    pub(crate) fn text(body: impl Into<Vec<u8>>) -> Self {
        Answer::new(200, "Content-Type: text/plain\r\n", body)
    }

    pub(crate) fn status(status: u16) -> Self {
        Answer::new(status, "", "")
    }

    pub(crate) fn redirect(to: &str) -> Self {
        Answer::new(301, &format!("Location: {to}\r\n"), "")
    }

    /// Never comes: the client has to give up.
    pub(crate) fn silence() -> Self {
        Answer { is_silent: true, ..Answer::status(0) }
    }

    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.headers += &format!("Retry-After: {seconds}\r\n");
        self
    }

    pub(crate) fn after(self, wait: Duration) -> Self {
        Answer { wait, ..self }
    }

    /// Head and body but for its last byte, and that.
    fn bytes(&self) -> (Vec<u8>, Vec<u8>) {
        let (status, headers, length) = (self.status, &self.headers, self.body.len());
        let head = format!("HTTP/1.1 {status} Said\r\nContent-Length: {length}\r\n{headers}\r\n");
        let mut bytes = [head.as_bytes(), &self.body].concat();
        let last = bytes.split_off(bytes.len() - 1);
        (bytes, last)
    }
}

/// One request, as its server saw it. What the server notes late or early makes the client look better, never worse:
/// a request cannot come before it was sent, nor an answer be complete before its last byte is written.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) host: String,
    pub(crate) address: IpAddr,
    pub(crate) path: String,
    /// The whole head has been read.
    pub(crate) arrived: Instant,
    /// The last byte is about to be written, or the client is seen to have hung up. `None` while it is under way.
    pub(crate) answered: Option<Instant>,
    /// The client hung up, some time before it was seen.
    pub(crate) is_given_up: bool,
    pub(crate) retry_after: Option<Duration>,
}

impl Asked {
    pub(crate) fn took(&self) -> Duration {
        self.answered.map_or(Duration::ZERO, |answered| answered - self.arrived)
    }
}

/// A web that is being served until the test is over.
pub(crate) struct Web {
    pub(crate) port: u16,
    names: HashMap<String, Vec<IpAddr>>,
    log: Log,
}

type Log = Arc<Mutex<Vec<Asked>>>;

impl Web {
    pub(crate) async fn serve(hosts: Vec<Host>) -> Self {
        let address = |host: &Host| IpAddr::from([127, 1, 0, host.address]);
        let names = hosts.iter().map(|host| (host.name.clone(), vec![address(host)])).collect();
        let mut addresses: Vec<IpAddr> = hosts.iter().map(address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let listeners = listen(&addresses).await;
        let port = listeners[0].local_addr().unwrap().port();
        let log = Log::default();
        let says: HashMap<String, Says> = hosts.into_iter().map(|host| (host.name, host.says)).collect();
        let says = Arc::new(says);
        for listener in listeners {
            let (says, log) = (Arc::clone(&says), Arc::clone(&log));
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(converse(stream, Arc::clone(&says), Arc::clone(&log)));
                }
            });
        }
        Web { port, names, log }
    }

    pub(crate) fn names(&self) -> HashMap<String, Vec<IpAddr>> {
        self.names.clone()
    }

    pub(crate) fn fetcher(&self) -> HttpFetch {
        HttpFetch::with_resolver(settings(), Arc::new(Names(self.names()))).unwrap()
    }

    pub(crate) fn url(&self, host: &str, path: &str) -> CanonicalUrl {
        CanonicalUrl::parse(&format!("http://{host}:{}{path}", self.port)).unwrap()
    }

    pub(crate) fn log(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }
}

/// All on one port, which no address may have in use already.
async fn listen(addresses: &[IpAddr]) -> Vec<TcpListener> {
    'ports: for _ in 0..20 {
        let first = TcpListener::bind((addresses[0], 0)).await.unwrap();
        let port = first.local_addr().unwrap().port();
        let mut listeners = vec![first];
        for &address in &addresses[1..] {
            match TcpListener::bind(SocketAddr::new(address, port)).await {
                Ok(listener) => listeners.push(listener),
                Err(_) => continue 'ports,
            }
        }
        return listeners;
    }
    panic!("no port is free on all of {addresses:?}")
}

async fn converse(mut stream: TcpStream, says: Arc<HashMap<String, Says>>, log: Log) {
    let _ = stream.set_nodelay(true);
    let local = stream.local_addr().unwrap();
    while let Some(head) = read_head(&mut stream).await {
        let arrived = Instant::now();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let host = head.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        let host = host.rsplit_once(':').map_or(host, |(name, _)| name).to_owned();
        let answer = says[&host](&path, local.port());
        let retry_after = answer.headers.split_once("Retry-After: ").and_then(|(_, rest)| {
            let seconds = rest.split('\r').next()?.parse().ok()?;
            Some(Duration::from_secs(seconds))
        });
        let at = {
            let mut log = log.lock().unwrap();
            let address = local.ip();
            log.push(Asked { host, address, path, arrived, answered: None, is_given_up: false, retry_after });
            log.len() - 1
        };
        let note_end = |is_given_up: bool| {
            let asked = &mut log.lock().unwrap()[at];
            (asked.answered, asked.is_given_up) = (Some(Instant::now()), is_given_up);
        };
        tokio::time::sleep(answer.wait).await;
        if answer.is_silent {
            let _ = stream.read(&mut [0]).await;
            note_end(true);
            return;
        }
        let (most, last) = answer.bytes();
        let sent = stream.write_all(&most).await;
        note_end(sent.is_err());
        if sent.is_err() || stream.write_all(&last).await.is_err() {
            return;
        }
    }
}
