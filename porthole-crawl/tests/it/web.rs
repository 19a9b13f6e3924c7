//! A small web on loopback: many hosts, each on its own address.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use porthole_types::CanonicalUrl;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::server::read_head;

/// A host: its name, its address 127.1.0.n, and a function from paths to answers, which also gets the web's port.
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) address: u8,
    pub(crate) answer_fn: AnswerFn,
}

pub(crate) type AnswerFn = Box<dyn Fn(&str, u16) -> Answer + Send + Sync>;

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
    pub(crate) wait: Duration,
    pub(crate) is_silent: bool,
    pub(crate) retry_after: Option<Duration>,
}

impl Answer {
    fn new(status: u16, headers: &str, body: impl Into<Vec<u8>>) -> Self {
        let (headers, body) = (headers.to_owned(), body.into());
        Answer { status, headers, body, wait: Duration::ZERO, is_silent: false, retry_after: None }
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

    /// No answer: the client has to time out.
    pub(crate) fn silence() -> Self {
        Answer { is_silent: true, ..Answer::status(0) }
    }

    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.headers += &format!("Retry-After: {seconds}\r\n");
        self.retry_after = Some(Duration::from_secs(seconds));
        self
    }

    pub(crate) fn after(self, wait: Duration) -> Self {
        Answer { wait, ..self }
    }

    fn bytes(&self) -> Vec<u8> {
        let (status, headers, length) = (self.status, &self.headers, self.body.len());
        let head = format!("HTTP/1.1 {status} Said\r\nContent-Length: {length}\r\n{headers}\r\n");
        [head.as_bytes(), &self.body].concat()
    }
}

/// A web that is served until the test ends.
pub(crate) struct Web {
    pub(crate) port: u16,
    names: HashMap<String, Vec<IpAddr>>,
}

impl Web {
    pub(crate) async fn serve(hosts: Vec<Host>) -> Self {
        let address = |host: &Host| IpAddr::from([127, 1, 0, host.address]);
        let names = hosts.iter().map(|host| (host.name.clone(), vec![address(host)])).collect();
        let mut addresses: Vec<IpAddr> = hosts.iter().map(address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let listeners = listen(&addresses).await;
        let port = listeners[0].local_addr().unwrap().port();
        let answer_fn: HashMap<String, AnswerFn> =
            hosts.into_iter().map(|host| (host.name, host.answer_fn)).collect();
        let answer_fn = Arc::new(answer_fn);
        for listener in listeners {
            let answer_fn = Arc::clone(&answer_fn);
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(converse(stream, Arc::clone(&answer_fn)));
                }
            });
        }
        Web { port, names }
    }

    pub(crate) fn names(&self) -> HashMap<String, Vec<IpAddr>> {
        self.names.clone()
    }

    pub(crate) fn url(&self, host: &str, path: &str) -> CanonicalUrl {
        CanonicalUrl::parse(&format!("http://{host}:{}{path}", self.port)).unwrap()
    }
}

/// Listens on all addresses on one port that is free on each of them.
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

async fn converse(mut stream: TcpStream, answer_fn: Arc<HashMap<String, AnswerFn>>) {
    let port = stream.local_addr().unwrap().port();
    while let Some(head) = read_head(&mut stream).await {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let host = head.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        let host = host.rsplit_once(':').map_or(host, |(name, _)| name);
        if stream.write_all(&answer_fn[host](path, port).bytes()).await.is_err() {
            return;
        }
    }
}
