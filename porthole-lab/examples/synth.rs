//! Prints the figures of a synthetic web, how fast its pages are made and served, and one page to look at:
//! `cargo run --release -p porthole-lab --example synth -- [PAGES] [PAGE_BYTES]`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use porthole_crawl::Request;
use porthole_lab::synth::{ServeOptions, SynthParams, SyntheticWeb, serve};
use porthole_types::{ManualClock, TopicId};

fn main() {
    let mut arguments = std::env::args().skip(1).map_while(|text| text.parse().ok());
    let defaults = SynthParams::default();
    let pages = arguments.next().unwrap_or(defaults.pages);
    let page_bytes = arguments.next().unwrap_or(defaults.page_bytes);
    let params = SynthParams { pages, page_bytes, ..defaults };
    let begun = Instant::now();
    let web = SyntheticWeb::new(params, Arc::new(ManualClock::default())).expect("valid parameters");
    println!("laid out in {:?}", begun.elapsed());
    let begun = Instant::now();
    for (label, value) in web.stats().rows() {
        println!("{label:70} {value}");
    }
    println!("figures in {:?}", begun.elapsed());
    let requests: Vec<Request> =
        web.examples(TopicId::ROOT, 2_000, 7).into_iter().map(Request::get).collect();
    in_memory(&web, &requests);
    over_http(Arc::new(web), &requests);
}

fn in_memory(web: &SyntheticWeb, requests: &[Request]) {
    let begun = Instant::now();
    let sizes = requests.iter().map(|request| web.answer(request).map_or(0, |response| response.body.len()));
    report("in memory", requests.len(), sizes.sum(), begun.elapsed());
    if let Ok(response) = web.answer(&requests[0]) {
        println!("\n{}\n{}", requests[0].url, String::from_utf8_lossy(&response.body));
    }
}

/// One client and one connection, a request at a time: server and client share the time.
fn over_http(web: Arc<SyntheticWeb>, requests: &[Request]) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = runtime.block_on(serve(web, loopback, ServeOptions::default())).expect("a free port");
    let stream = TcpStream::connect(server.addr()).expect("the server is there");
    stream.set_nodelay(true).expect("a socket");
    let mut stream = BufReader::with_capacity(1 << 16, stream);
    let begun = Instant::now();
    let bytes = requests.iter().map(|request| fetch(&mut stream, request)).sum();
    report("over http", requests.len(), bytes, begun.elapsed());
    runtime.block_on(server.shutdown());
}

fn fetch(stream: &mut BufReader<TcpStream>, request: &Request) -> usize {
    let text = format!("GET {} HTTP/1.1\r\n\r\n", request.url);
    stream.get_mut().write_all(text.as_bytes()).expect("an open connection");
    let (mut line, mut length) = (String::new(), 0);
    while line != "\r\n" {
        line.clear();
        stream.read_line(&mut line).expect("a header line");
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().expect("a number");
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("the whole body");
    length
}

fn report(how: &str, pages: usize, bytes: usize, time: Duration) {
    let each = time / u32::try_from(pages).expect("a few thousand");
    println!("{pages} content pages {how}, {} bytes on average, {each:?} each", bytes / pages);
}
