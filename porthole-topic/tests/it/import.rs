//! Every format: valid, damaged, and malicious input.

use std::io::{self, BufRead, BufReader, Read};
use std::time::Instant;

use porthole_page::steps;
use porthole_topic::import::{
    FoundFile, ImportEntry, ImportError, ImportedExample, ImportedTaxonomy, bookmarks, dmoz_content,
    dmoz_structure, folder, jsonl, tsv,
};
use porthole_topic::{DEEPEST, Taxonomy};
use proptest::prelude::*;

const BOOKMARKS: &[u8] = include_bytes!("../fixtures/bookmarks.html");
const SOUP: &[u8] = include_bytes!("../fixtures/bookmarks-soup.html");
const LABELS: &[u8] = include_bytes!("../fixtures/labels.tsv");
const CONTENT: &[u8] = include_bytes!("../fixtures/content.rdf.u8");
const STRUCTURE: &[u8] = include_bytes!("../fixtures/structure.rdf.u8");

fn labels(bytes: &[u8]) -> Result<ImportedTaxonomy<ImportedExample>, ImportError> {
    ImportedTaxonomy::gather(tsv(bytes))
}

fn content(bytes: &[u8]) -> Result<ImportedTaxonomy<ImportedExample>, ImportError> {
    ImportedTaxonomy::gather(dmoz_content(bytes))
}

/// One line per entry, then one per problem; checks that a taxonomy accepts every topic.
fn imported(import: Result<ImportedTaxonomy<ImportedExample>, ImportError>) -> Vec<String> {
    let import = match import {
        Ok(import) => import,
        Err(error) => return vec![format!("broken: {error}")],
    };
    let mut tree = Taxonomy::new();
    let found = import.found.iter().map(|found| {
        let topic = tree.add_path(&found.topic).unwrap();
        assert_eq!(tree.path(topic), found.topic);
        [found.url.as_str(), &found.topic, &found.title].join(" | ")
    });
    let mut lines: Vec<_> = found.collect();
    lines.extend(import.problems.iter().map(ToString::to_string));
    lines
}

fn check(import: Result<ImportedTaxonomy<ImportedExample>, ImportError>, expected: &[&str]) {
    assert_eq!(imported(import), expected);
}

#[test]
fn bookmarks_are_read_as_browsers_write_them() {
    check(
        bookmarks(BOOKMARKS),
        &[
            "http://news.example/ | / | News & weather",
            "https://owls.example/?a=1&b=2 | /Science | The snowy owl – a life",
            "http://eulen.example/k%C3%A4uze | /Science/Birds-Eulen <3 | Käuze",
            "http://quotes.example/a%3Eb | /Science/Birds-Eulen <3 | Quotes",
            "http://nameless.example/ | /Science/Unnamed | In a folder without a name",
            "http://last.example/page | / | Last",
            "line 27: `javascript:(function(){alert(\\'hello\\')})()`: the scheme `javascript` is not crawled, only http and https are",
            "line 28: `place:sort=8&maxResults=10`: the scheme `place` is not crawled, only http and https are",
            "line 29: `data:text/html,hello`: the scheme `data` is not crawled, only http and https are",
            "line 30: `file:///home/me/notes.html`: the scheme `file` is not crawled, only http and https are",
            "line 31: the bookmark `Nothing` has no address",
        ],
    );
}

#[test]
fn bookmarks_survive_broken_nesting() {
    check(
        bookmarks(SOUP),
        &[
            "http://a.example/ | /Never closed | No end tag",
            "http://b.example/ | /Never closed | One more",
            "http://c.example/ | /Never closed/Closed twice | Third",
            "http://d.example/ | / | Behind 1 < 2 all lists",
            "http://e.example/ | / | In a list without a heading",
            "line 12: a folder is closed that was not opened",
            "line 15: the file ends before all folders are closed: it may be truncated",
        ],
    );
}

#[test]
fn files_that_are_not_bookmarks_are_rejected() {
    let hint = "no bookmarks: the file should start with <!DOCTYPE NETSCAPE-Bookmark-file-1>; \
                let the browser export its bookmarks as HTML";
    for other in ["", "http://a.example/\t/Science\n", "{\"title\": \"Bookmarks\"}", "\u{FEFF}<p>page</p>"] {
        check(bookmarks(other.as_bytes()), &[&format!("broken: line 1: {hint}")]);
    }
    check(bookmarks(b"\n<!DOCTYPE html><dl><dt><a href=/>x</a></dl>"), &[&format!("broken: line 2: {hint}")]);
    let cut = &BOOKMARKS[..BOOKMARKS.iter().position(|&byte| byte == b'=').unwrap()];
    check(bookmarks(cut), &["broken: line 5: the file ends inside this tag: it was cut; export it again"]);
}

#[test]
fn bookmarks_that_are_not_utf8_are_read_with_a_warning() {
    check(
        bookmarks(b"<DL>\n<DT><A HREF=http://a.example/>Caf\xe9</A></DL>"),
        &[
            "http://a.example/ | / | Caf\u{FFFD}",
            "line 2: not UTF-8 from here on: invalid bytes were replaced",
        ],
    );
}

#[test]
fn folders_too_deep_are_merged() {
    let deep = format!("{}<DT><A HREF=http://a.example/>x</A>", "<DT><H3>f</H3><DL>".repeat(1000));
    let import = bookmarks(deep.as_bytes()).unwrap();
    assert_eq!(import.found[0].topic, "/f".repeat(DEEPEST));
    assert_eq!(import.problems.len(), 1000 - DEEPEST + 1);
    let long = format!("<DT><H3>{}</H3><DL>", "lång ".repeat(100)).repeat(20);
    let import = bookmarks(format!("{long}<DT><A HREF=http://a.example/>x</A>").as_bytes()).unwrap();
    assert!((800..=1000).contains(&import.found[0].topic.len()));
    assert!(Taxonomy::new().add_path(&import.found[0].topic).is_ok());
}

#[test]
fn labels_may_have_marks_comments_and_blank_lines() {
    check(
        labels(LABELS),
        &[
            "http://a.example/x | /Science/Biology | ",
            "http://a.example/x | /Music | ",
            "https://b.example/ | / | ",
            "http://f.example/ | /Café/Bar | ",
            "line 7: `ftp://c.example/`: the scheme `ftp` is not crawled, only http and https are",
            "line 8: no topic for `http://d.example/`",
            "line 9: not UTF-8",
            "line 11: `a\\u{1}b` is not a valid topic name",
        ],
    );
}

#[test]
fn files_that_are_not_labels_are_rejected() {
    check(labels(b""), &[]);
    check(
        labels(b"http://a.example/\t/a\n\nhttp://b.example/ /b\nhttp://c.example/\t/c\n"),
        &["broken: line 3: no tab in `http://b.example/ /b`: each line has to be a URL or url<TAB>topic"],
    );
    let long = vec![b'x'; 100_000];
    check(labels(&long), &["broken: line 1: longer than 65536 bytes: this is not a list of URLs"]);
    let deep = format!("http://a.example/\t{}\nhttp://a.example/\t/a\n", "/x".repeat(DEEPEST + 1));
    let import = labels(deep.as_bytes()).unwrap();
    assert_eq!((import.found.len(), import.problems.len()), (1, 1));
    assert!(import.problems[0].what.contains("too deep"));
}

#[test]
fn json_lines_are_read_as_an_export_writes_them() {
    let list = "{\"url\":\"http://a.example/\",\"status\":200,\"title\":\"A\\tpage\",\"topic\":\"/a/b\"}\n\n\
                {\"topic\":\"/c\",\"url\":\"http://c.example/\"}\n\
                {\"url\":\"http://d.example/\",\"topic\":null}\n\
                {\"url\":\"ftp://e.example/\",\"topic\":\"/e\"}\n";
    check(
        ImportedTaxonomy::gather(jsonl(list.as_bytes())),
        &[
            "http://a.example/ | /a/b | A page",
            "http://c.example/ | /c | ",
            "line 4: no topic for `http://d.example/`",
            "line 5: `ftp://e.example/`: the scheme `ftp` is not crawled, only http and https are",
        ],
    );
    for broken in
        ["[1]\n", "{\"topic\":\"/a\"}\n", "{\"url\":\"http://a.example/\"", "http://a.example/\t/a\n"]
    {
        let imported = imported(ImportedTaxonomy::gather(jsonl(broken.as_bytes())));
        assert!(imported.len() == 1 && imported[0].starts_with("broken: line 1: "), "{broken}: {imported:?}");
    }
}

#[test]
fn entries_before_an_error_can_be_streamed_but_not_gathered() {
    let mut stream = tsv(&b"http://a.example/\t/a\nbroken\nhttp://c.example/\t/c\n"[..]);
    assert!(matches!(stream.next(), Some(Ok(ImportEntry::Found(_)))));
    assert!(matches!(stream.next(), Some(Err(ImportError::Broken { line: 2, .. }))));
    assert!(stream.next().is_none());
}

#[test]
fn a_failing_reader_is_reported_with_the_line() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is on fire"))
        }
    }
    let list = BufReader::new(b"http://a.example/\t/a\n".chain(Fails));
    check(ImportedTaxonomy::gather(tsv(list)), &["broken: line 2: cannot read: the disk is on fire"]);
    let rdf = BufReader::new(b"<RDF>\n\n".chain(Fails));
    check(ImportedTaxonomy::gather(dmoz_content(rdf)), &["broken: line 3: cannot read: the disk is on fire"]);
}

#[test]
fn folders_are_topics() {
    let paths = [
        "Science/Biology/owl.html",
        "Science/Biology/Barn Owl.TXT",
        "comp.graphics/38758",
        "README.md",
        "./Music//notes.htm",
        "Science/.owl.html.swp",
        ".git/config.txt",
        "Science/owl.jpeg",
        "../secret.txt",
        "/etc/passwd",
        "Science/",
        "",
    ];
    let import = folder(paths);
    let found: Vec<_> =
        import.found.iter().map(|FoundFile { path, topic }| (path.as_str(), topic.as_str())).collect();
    let expected = [
        ("Science/Biology/owl.html", "/Science/Biology"),
        ("Science/Biology/Barn Owl.TXT", "/Science/Biology"),
        ("comp.graphics/38758", "/comp.graphics"),
        ("README.md", "/"),
        ("./Music//notes.htm", "/Music"),
    ];
    assert_eq!(found, expected);
    let problems: Vec<_> = import.problems.iter().map(ToString::to_string).collect();
    let expected = [
        "`Science/.owl.html.swp`: hidden",
        "`.git/config.txt`: hidden",
        "`Science/owl.jpeg`: not a text or HTML file by its extension",
        "`../secret.txt`: not a path below the folder",
        "`/etc/passwd`: not a path below the folder",
        "`Science/`: not a text or HTML file by its extension",
        "``: not a text or HTML file by its extension",
    ];
    assert_eq!(problems, expected);
}

#[test]
fn the_open_directory_s_pages_are_read() {
    check(
        content(CONTENT),
        &[
            "http://www.toonhound.example/ | /Arts/Animation | Toonhound",
            "http://enculturation.example/a?x=1&y=2 | /Arts/Animation/Rock_&_Roll | Rock & Roll <3 AT&T Café",
            "http://no-topic.example/ | /Arts/Animation | Under & over",
            "http://top.example/ | / | ",
            "line 25: `news:alt.animation`: the scheme `news` is not crawled, only http and https are",
            "line 29: a page without an address",
        ],
    );
}

#[test]
fn the_open_directory_s_topics_are_read() {
    let import = ImportedTaxonomy::gather(dmoz_structure(STRUCTURE)).unwrap();
    let topics = import.found.iter().map(|topic| (topic.topic.as_str(), topic.catid, topic.narrow.join(" ")));
    let expected = [
        ("/", Some(1), "/Arts /Regional /World".to_owned()),
        ("/Arts", Some(2), "/Arts/Rock_&_Roll".to_owned()),
        ("/Arts/Rock_&_Roll", None, String::new()),
    ];
    assert_eq!(topics.collect::<Vec<_>>(), expected);
    assert_eq!(import.problems[0].to_string(), "line 24: a topic without an id");
}

#[test]
fn historic_bad_bytes_are_reported_and_the_import_continues() {
    let page = |url: &str, title: &[u8]| {
        let mut page = format!("<ExternalPage about=\"{url}\">\n<d:Title>").into_bytes();
        page.extend_from_slice(title);
        page.extend_from_slice(b"</d:Title>\n<topic>Top/Arts</topic></ExternalPage>\n");
        page
    };
    let mut file = b"<RDF>\n".to_vec();
    file.extend(page("http://a.example/", b"Caf\xe9 \x03 bar"));
    file.extend(page("http://b.example/", b"bell \x07 and null \x00"));
    file.extend(page("http://c.example/", "Käuze".as_bytes()));
    file.extend(b"</RDF>\n\xC3");
    let expected = [
        "http://a.example/ | /Arts | Caf\u{FFFD} bar",
        "http://b.example/ | /Arts | bell and null",
        "http://c.example/ | /Arts | Käuze",
        "line 3: bytes that are not UTF-8 were replaced",
        "line 6: control characters were replaced by spaces",
        "line 12: bytes that are not UTF-8 were replaced",
    ];
    check(content(&file), &expected);
    // For any chunking: a character may be split.
    check(ImportedTaxonomy::gather(dmoz_content(Bytewise(&file))), &expected);
}

#[test]
fn files_that_are_not_a_directory_are_rejected() {
    let cut = "the file ends in the middle: it was cut; get it again";
    for (file, line, what) in [
        ("", 1, "not an Open Directory file: it has no RDF element"),
        ("http://a.example/\t/a\n", 2, "not an Open Directory file: it has no RDF element"),
        ("\n<html></html>", 2, "not an Open Directory file: its root is `html`, not RDF"),
        (
            "<RDF>\n<Topic>\n</RDF>",
            3,
            "not well-formed XML: ill-formed document: expected `</Topic>`, but `</RDF>` was found",
        ),
        ("<RDF>\n<Topic r:id=\"x\">\n", 3, cut),
        ("<RDF>\n<Topic r:id=\"x\"/>\n", 3, cut),
        ("<RDF></RDF>\n<RDF></RDF>", 2, "unexpected content after the end of the document"),
    ] {
        check(content(file.as_bytes()), &[&format!("broken: line {line}: {what}")]);
    }
    for end in 1..CONTENT.len() - 8 {
        assert!(content(&CONTENT[..end]).is_err(), "cut at {end}");
    }
    let deep = format!("<RDF>{}", "<Topic>".repeat(1000));
    check(content(deep.as_bytes()), &["broken: line 1: more than 64 elements inside each other"]);
}

#[test]
fn a_record_without_end_is_rejected() {
    let endless = BufReader::new(b"<RDF><Topic r:id=\"".chain(io::repeat(b'x')));
    let expected = "broken: line 1: no record ends within 16 MiB: this is not an Open Directory file";
    check(ImportedTaxonomy::gather(dmoz_content(endless)), &[expected]);
    let endless = BufReader::new(b"<RDF><Topic r:id='x'>".chain(io::repeat(b'\n')));
    assert!(ImportedTaxonomy::gather(dmoz_structure(endless)).is_err());
}

/// A reader that returns one byte at a time.
struct Bytewise<'a>(&'a [u8]);

impl Read for Bytewise<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = self.fill_buf()?.read(into)?;
        self.consume(size);
        Ok(size)
    }
}

impl BufRead for Bytewise<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(&self.0[..self.0.len().min(1)])
    }

    fn consume(&mut self, size: usize) {
        self.0 = &self.0[size..];
    }
}

/// Random bytes with tokens of the formats.
fn soup(words: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        8 => prop::sample::select(words).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

const HTML: &[&str] = &[
    "<DL>",
    "</DL>",
    "<DT>",
    "<H3>",
    "</H3>",
    "<A HREF=\"http://a.example/\">",
    "<a href=x>",
    "</A>",
    "<!--",
    "-->",
    "<!DOCTYPE NETSCAPE-Bookmark-file-1>",
    "&amp;",
    "&",
    "é",
    "<",
    ">",
    "\"",
    "'",
    "=",
    "/",
    " ",
    "\n",
    "<A HREF=",
    "x",
];

const XML: &[&str] = &[
    "<RDF>",
    "</RDF>",
    "<Topic r:id=\"Top/A\">",
    "</Topic>",
    "<ExternalPage about=\"http://a.example/\">",
    "</ExternalPage>",
    "<d:Title>",
    "</d:Title>",
    "<topic>",
    "</topic>",
    "Top/A/B",
    "<narrow r:resource='Top/C'/>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<?xml",
    "?>",
    "<!DOCTYPE",
    "&amp;",
    "&",
    ";",
    "<",
    ">",
    "\"",
    "\n",
    "é",
    "x",
];

const TABS: &[&str] =
    &["http://a.example/", "\t", "\t", "/A/B", "\n", "\r\n", "#", " ", "é", "\u{FEFF}", "/"];

proptest! {
    #[test]
    fn any_bytes_give_valid_topics_or_an_error(
        html in soup(HTML), xml in soup(XML), tabs in soup(TABS), noise in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        for bytes in [&html, &noise] {
            imported(bookmarks(bytes));
        }
        for bytes in [&tabs, &noise] {
            imported(labels(bytes));
        }
        for bytes in [&xml, &noise] {
            prop_assert_eq!(imported(content(bytes)), imported(ImportedTaxonomy::gather(dmoz_content(Bytewise(bytes)))));
            let _ = ImportedTaxonomy::gather(dmoz_structure(bytes.as_slice()));
        }
        folder([String::from_utf8_lossy(&noise), String::from_utf8_lossy(&tabs)]);
    }

    #[test]
    fn written_labels_are_read_back(
        pages in prop::collection::vec(("[a-z]{1,8}", prop::collection::vec("[A-Za-z_é]{1,8}", 0..4)), 0..20),
    ) {
        let topic = |names: &[String]| format!("/{}", names.join("/"));
        let line = |(page, names): &(String, Vec<String>)| format!("http://{page}.example/\t{}\n", topic(names));
        let import = labels(pages.iter().map(line).collect::<String>().as_bytes()).unwrap();
        prop_assert!(import.problems.is_empty());
        prop_assert_eq!(import.found.len(), pages.len());
        for (found, (page, names)) in import.found.iter().zip(&pages) {
            prop_assert_eq!(found.url.as_str(), format!("http://{page}.example/"));
            prop_assert_eq!(&found.topic, &topic(names));
        }
    }
}

/// Reads a file with one of the importers.
type ReadAll = fn(&[u8]);

#[test]
fn attacks_take_linear_time() {
    let attacks = [
        "<",
        "<a",
        "<a ",
        "<a href=\"",
        "<a href='x' \"",
        "<a =",
        "<!--",
        "<!-- --",
        "<DL>",
        "</DL>",
        "<H3>",
        "<DT><H3>folder</H3><DL>",
        "<A HREF=x>",
        "<A HREF=http://a.example/>",
        "&",
        "&amp",
        "&#",
        "\" ",
        "<b a=\"\"",
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>",
        "\t\n",
        "a\tb\n",
        "#",
        "<![CDATA[",
        "<!DOCTYPE",
        "<!DOCTYPE [",
        "\u{1}",
        "\u{1}\n",
        "</RDF>",
        "<Topic>",
        "<Topic/>",
        "<Topic><catid>",
        "<d:Title>&</d:Title>",
        "<?",
        "]]",
        "-",
        "\r",
    ];
    for start in
        ["<DL>", "<DL><A HREF=x>", "<DL><A HREF=\"", "<RDF>", "<RDF><ExternalPage><d:Title>", "<RDF a=\"", ""]
    {
        for attack in attacks {
            let file = |size: usize| format!("{start}{}", attack.repeat(size / attack.len())).into_bytes();
            let [small, large] = [1 << 15, 1 << 16].map(file);
            let readers: [(&str, ReadAll); 4] = [
                ("bookmarks", |bytes| drop(bookmarks(bytes))),
                ("labels", |bytes| drop(labels(bytes))),
                ("content", |bytes| drop(content(bytes))),
                ("folder", |bytes| drop(folder([String::from_utf8_lossy(bytes)]))),
            ];
            for (name, read) in readers {
                let steps_of = |bytes: &[u8]| {
                    steps::take();
                    read(bytes);
                    steps::take()
                };
                let (few, many) = (steps_of(&small), steps_of(&large));
                let what = format!("{name} of {start:?} and many {attack:?}");
                let is_counted = name == "folder" || (few > 0) == cfg!(debug_assertions);
                assert!(is_counted, "{what}: steps are counted in debug builds");
                // Twice the size: 2 if linear, 4 if quadratic.
                assert!(many * 10 <= few * 22 + 1_000, "{what}: {few} steps, and {many} at twice the size");
            }
        }
    }
}

/// A reader of a large file that is generated part by part, never in memory as a whole.
struct Parts<F> {
    part: Vec<u8>,
    at: usize,
    number: usize,
    make: F,
}

impl<F: FnMut(usize) -> Option<String>> Parts<F> {
    fn new(make: F) -> BufReader<Self> {
        BufReader::with_capacity(1 << 16, Parts { part: Vec::new(), at: 0, number: 0, make })
    }
}

impl<F: FnMut(usize) -> Option<String>> Read for Parts<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.part.len() {
            self.part = (self.make)(self.number).unwrap_or_default().into_bytes();
            self.number += 1;
            self.at = 0;
        }
        let size = (&self.part[self.at..]).read(into)?;
        self.at += size;
        Ok(size)
    }
}

fn list_of(lines: usize) -> impl BufRead {
    Parts::new(move |number| {
        let line = || {
            format!(
                "http://s{}.example/pages/{number}.html\t/A{}/B{}\n",
                number % 64,
                number % 7,
                number % 77
            )
        };
        (number < lines).then(line)
    })
}

fn directory_of(pages: usize) -> impl BufRead {
    Parts::new(move |number| {
        match number {
        0 => Some("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<RDF xmlns:d=\"http://purl.org/dc/elements/1.0/\">\n".to_owned()),
        _ if number <= pages => Some(format!(
            "  <ExternalPage about=\"http://www.s{}.example/{number}/\">\n    <d:Title>Page number {number} &amp; more</d:Title>\n    \
             <d:Description>What an editor of the directory wrote about this page, a sentence or two.</d:Description>\n    \
             <topic>Top/Arts{}/Movies{}/Titles</topic>\n  </ExternalPage>\n",
            number % 1000, number % 16, number % 1000,
        )),
        _ if number == pages + 1 => Some("</RDF>\n".to_owned()),
        _ => None,
    }
    })
}

fn count<T>(entries: impl Iterator<Item = Result<ImportEntry<T>, ImportError>>) -> usize {
    entries.filter(|entry| matches!(entry, Ok(ImportEntry::Found(_)))).count()
}

#[test]
fn long_files_stream() {
    assert_eq!(count(tsv(list_of(200_000))), 200_000);
    assert_eq!(count(dmoz_content(directory_of(10_000))), 10_000);
}

/// Prints the speed: `cargo test --release -p porthole-topic -- --ignored --nocapture huge_files`.
#[test]
#[ignore = "measures; some hundred megabytes"]
fn huge_files_stream_in_bounded_memory() {
    measure(
        "TSV",
        2_000_000,
        |lines| io::copy(&mut list_of(lines), &mut io::sink()),
        |lines| count(tsv(list_of(lines))),
    );
    measure(
        "DMOZ",
        800_000,
        |pages| io::copy(&mut directory_of(pages), &mut io::sink()),
        |pages| count(dmoz_content(directory_of(pages))),
    );
}

fn measure(name: &str, size: usize, bytes: impl Fn(usize) -> io::Result<u64>, read: impl Fn(usize) -> usize) {
    let before = Instant::now();
    let bytes = bytes(size).unwrap() as f64 / 1e6;
    let making = before.elapsed();
    let peak = peak_memory();
    assert_eq!(read(size), size);
    let reading = before.elapsed().saturating_sub(making * 2);
    let more = peak_memory() - peak;
    println!(
        "{name}: {bytes:.0} MB, {:.0} MB/s, {more:.1} MB more at the peak",
        bytes / reading.as_secs_f64()
    );
    assert!(more < 16.0);
}

/// Peak memory in megabytes; 0 if the system does not provide it.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}

#[test]
fn labels_of_the_corpora_are_read_without_a_problem() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpora");
    let corpora = std::env::var("CORPORA").unwrap_or_else(|_| here.to_owned());
    for (name, lines) in [("schools", 5260), ("webkb", 8209)] {
        let path = format!("{corpora}/{name}.labels.tsv");
        let Ok(bytes) = std::fs::read(&path) else {
            eprintln!("skipped: there is no {path}");
            continue;
        };
        let import = labels(&bytes).unwrap();
        assert_eq!((import.found.len(), import.problems.len()), (lines, 0), "{:?}", import.problems.first());
    }
}
