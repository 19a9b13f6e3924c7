#!/usr/bin/env python3
"""Checks archives and exports by other programs: warcio, wacz and pywb check, index, validate and replay them.

    scripts/check-archives.py [--corpora ../shared/corpora] [--pages 1200] [--rows 50000]

Schools (a recorded web) is served on this machine and crawled over HTTP. The workspace's own WARC files, an export as WARC and
one as WACZ are checked by warcio and wacz, replayed in pywb, and compared with the pages that were served. The same is done for a
crawl that was killed (SIGKILL) and resumed, and for one with zstd compression that was killed and resumed. A crawl of the exported
WARC files must give the same judgments. Parquet is read by pyarrow and DuckDB, GraphML by networkx. Then a synthetic web of --rows
pages is crawled, and every export of it must have as many rows, even if the export is killed and resumed. scripts/bench-crawl.py
measures the cost of an archive.

Needs a release build of porthole. The other programs are installed from PyPI in target/archive-tools.
"""

import argparse
import csv
import gzip
import http.server
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zipfile
import zlib

from synth_web import CRAWLED_SEED, GOOD, Child, Synth, free_port, train

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ROOT / "target/archive-tools/venv"
PACKAGES = ["warcio==1.8.1", "wacz", "pywb", "brotli", "pyarrow", "zstandard", "duckdb", "networkx"]
REPLAYED = 60
failures = []


def main():
    options = parse_options()
    if os.environ.get("ARCHIVE_TOOLS") != str(TOOLS):
        run_in_venv()
    with tempfile.TemporaryDirectory(dir=options.workspaces, prefix="check-archives-") as folder:
        folder = pathlib.Path(folder)
        if options.pages:
            check_schools(options, folder)
        if options.rows:
            check_rows(options, folder)
    if failures:
        sys.exit(f"failed: {', '.join(failures)}")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=pathlib.Path, default=ROOT / "../shared/corpora")
    parser.add_argument("--pages", type=int, default=1_200, help="pages of Schools to crawl; 0: none")
    parser.add_argument("--rows", type=int, default=50_000, help="pages of the synthetic web; 0: none")
    parser.add_argument("--only", help="only exports in this format, of those with many rows")
    parser.add_argument("--synthetic", type=pathlib.Path, help="an existing workspace with a crawl of the synthetic web")
    parser.add_argument("--workspaces", default=ROOT / "target", help="folder for the workspaces")
    parser.add_argument("--porthole", default=str(ROOT / "target/release/porthole"))
    return parser.parse_args()


def run_in_venv():
    """Installs the tools, and starts this script again with them."""
    if not (TOOLS / "bin/wayback").exists():
        subprocess.run([sys.executable, "-m", "venv", TOOLS], check=True)
        subprocess.run([TOOLS / "bin/pip", "install", "--quiet", *PACKAGES], check=True)
    os.environ["ARCHIVE_TOOLS"] = str(TOOLS)
    os.execv(TOOLS / "bin/python", [TOOLS / "bin/python", *sys.argv])


def tell(what, is_good, detail=""):
    print(f"{'ok  ' if is_good else 'FAIL'}  {what:<58} {detail}", flush=True)
    if not is_good:
        failures.append(what)


def porthole(options, *arguments, codes=(0, 60)):  # 60: the crawl has no URLs left
    command = [options.porthole, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(f"error: {' '.join(command)}: {done.stderr[-2000:]}")
    return done.stdout


def tool(name, *arguments, cwd=None):
    """Runs a tool. Returns whether it succeeds, and its output."""
    done = subprocess.run([TOOLS / "bin" / name, *map(str, arguments)], capture_output=True, text=True, cwd=cwd)
    return done.returncode == 0, done.stdout + done.stderr


def rows(workspace, sql):
    reader = sqlite3.connect(f"file:{workspace / 'porthole.db'}?mode=ro", uri=True)
    try:
        return reader.execute(sql).fetchall()
    finally:
        reader.close()


# A recorded web over HTTP


def encoded(url, body):
    """A body with the content encoding in which its URL is served."""
    import brotli

    encoding = [None, "gzip", "br"][zlib.crc32(url.encode()) % 3] if body else None
    pack = {None: bytes, "gzip": gzip.compress, "br": brotli.compress}[encoding]
    return encoding, pack(body)


class RecordedServer:
    """A proxy that answers from a WARC file: a third of the pages as they are, a third with gzip, a third with brotli."""

    def __init__(self, path):
        from warcio.archiveiterator import ArchiveIterator

        self.pages = {}
        with open(path, "rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type == "response":
                    head = record.http_headers
                    kind = head.get_header("Content-Type", "text/html")
                    place = head.get_header("Location")
                    answer = int(head.get_statuscode()), kind, place, record.content_stream().read()
                    self.pages[record.rec_headers.get_header("WARC-Target-URI")] = answer

    def __enter__(self):
        pages = self.pages

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                status, kind, place, body = pages.get(self.path, (404, "text/plain", None, b""))
                encoding, body = encoded(self.path, body)
                head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                head += f"Content-Encoding: {encoding}\r\n" if encoding else ""
                head += f"Location: {place}\r\n" if place else ""
                self.wfile.write(head.encode() + b"\r\n" + body)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                """Ignores errors: the connections of a killed crawl are reset."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()


def check_schools(options, folder):
    recording = options.corpora / "schools.warc.gz"
    trained = train_schools(options, folder, recording)
    with RecordedServer(recording) as web:
        for name, check, settings in CRAWLS:
            workspace = folder / name.replace(" ", "-")
            shutil.copytree(trained, workspace)
            (workspace / "porthole.toml").write_text(over_http(web) + settings)
            check(options, workspace, name)
            check_archive(options, workspace, web, name)
            check_round_trip(options, workspace, trained, folder / f"{workspace.name}-again", name)
        check_tables(options, folder / "crawl")


def over_http(web):
    return f'[fetch]\nproxy = "http://127.0.0.1:{web.port}"\nloopback = true\n'


def train_schools(options, folder, recording):
    """Creates a workspace with a critic trained on a tenth of the labelled pages."""
    lines = (options.corpora / "schools.labels.tsv").read_text().splitlines(keepends=True)
    labels = folder / "labels.tsv"
    labels.write_text("".join(line for line in lines if zlib.crc32(line.split("\t")[0].encode()) % 10 == 0))
    trained = folder / "trained"
    porthole(options, "init", trained)
    porthole(options, "-C", trained, "examples", "import", labels, "--web", recording)
    porthole(options, "-C", trained, "topics", "mark", "/Science/Biology/Birds")
    porthole(options, "-C", trained, "train")
    return trained


CRAWL = ["crawl", "--polite", "off", "--patience", "0", "--strategy", "breadth", "--json"]


def check_crawl(options, workspace, _):
    porthole(options, "-C", workspace, *CRAWL, "--pages", options.pages)


def check_killed(options, workspace, name):
    command = [options.porthole, "-C", workspace, *CRAWL, "--pages", options.pages]
    crawl = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    segments = lambda: [path for path in (workspace / "pages").glob("00000.*") if path.stat().st_size > 1_000_000]
    while crawl.poll() is None and not segments():
        time.sleep(0.02)
    crawl.send_signal(signal.SIGKILL)
    crawl.wait()
    known = rows(workspace, "select count(*) from crawl where state = 1")[0][0]
    [segment] = segments()
    good, _ = tool("warcio", "check", *for_warcio([segment]))
    tell(f"{name}: warcio check before it is resumed", good, f"{known} pages, {segment.stat().st_size:,} bytes")
    left = options.pages - known
    porthole(options, "-C", workspace, *CRAWL, "--pages", max(left, 1))


CRAWLS = [("crawl", check_crawl, ""), ("killed crawl", check_killed, ""),
          ("zstd crawl", check_killed, '[archive]\ncompression = "zstd"\n')]


def for_warcio(paths):
    """The files in a form that warcio reads: zstd files are decompressed, by another program than ours."""
    import zstandard

    plain = []
    for path in paths:
        if path.suffix == ".zst":
            to = path.parent.parent / f"{path.name}.plain.warc"
            with open(path, "rb") as file, open(to, "wb") as out, zstandard.ZstdDecompressor().stream_reader(
                    file, read_across_frames=True) as stream:
                shutil.copyfileobj(stream, out)
            path = to
        plain.append(path)
    return plain


def check_archive(options, workspace, web, name):
    """Checks the archive of a workspace and its exports."""
    own = for_warcio(sorted((workspace / "pages").glob("*.warc.*")))
    pages = rows(workspace, "select count(*) from crawl where state = 1")[0][0]
    kinds = check_warcs(f"{name}: archive", own)
    tell(f"{name}: a request for every response", kinds["request"] == kinds["response"], dict(kinds))
    warcs = workspace / "warcs"
    porthole(options, "-C", workspace, "export", "warc", "-o", warcs, "--size", "4MB")
    kinds = check_warcs(f"{name}: export warc", sorted(warcs.glob("*.warc.gz")))
    tell(f"{name}: every page is exported", kinds["metadata"] == pages, f"{pages} pages, {kinds['request']} requests")
    cdxj = workspace / "pages.cdxj"
    porthole(options, "-C", workspace, "export", "cdxj", "-o", cdxj)
    lines = cdxj.read_text().splitlines()
    tell(f"{name}: cdxj lists responses only", len(lines) == kinds["response"] + kinds["revisit"], f"{len(lines)} lines")
    wacz = workspace / "crawl.wacz"
    porthole(options, "-C", workspace, "export", "wacz", "-o", wacz, "--size", "4MB")
    good, said = tool("wacz", "validate", "-f", wacz)
    tell(f"{name}: wacz validate", good, f"{wacz.stat().st_size:,} bytes" if good else said[-300:])
    replay(workspace, web, f"{name}: pywb replays the WARC files", sorted(warcs.glob("*.warc.gz")), [])
    replay(workspace, web, f"{name}: pywb replays the WACZ file", [wacz], ["--unpack-wacz"])


def check_warcs(what, paths):
    """Checks WARC files by warcio. Returns the number of records of each kind."""
    from collections import Counter

    kinds = Counter()
    good, said = tool("warcio", "check", *paths)
    tell(f"{what}: warcio check", good, f"{len(paths)} files" if good else said[-300:])
    good, said = tool("warcio", "index", "-f", "warc-type", *paths)
    for line in said.splitlines():
        kinds[json.loads(line)["warc-type"]] += 1
    tell(f"{what}: warcio index", good, f"{sum(kinds.values()):,} records")
    return kinds


def replay(workspace, web, what, files, more):
    """Replays some pages in pywb, and compares their bodies with those that were served."""
    with tempfile.TemporaryDirectory(dir=workspace) as folder:
        tool("wb-manager", "init", "web", cwd=folder)
        good, said = tool("wb-manager", "add", *more, "web", *files, cwd=folder)
        if not good:
            return tell(what, False, said[-300:])
        fetched = rows(workspace, "select url from crawl where state = 1 order by oid")
        urls = [url for (url,) in fetched[:: max(1, len(fetched) // REPLAYED)]]
        port, same = free_port(), 0
        with Child(["env", "-C", folder, TOOLS / "bin/wayback", "-b", "127.0.0.1", "-p", port], port):
            for url in urls:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/web/2id_/{url}") as answer:
                    same += answer.read() == web.pages[url][3]
        tell(what, same == len(urls), f"{same} of {len(urls)} bodies are equal")


def check_round_trip(options, workspace, trained, again, name):
    shutil.copytree(trained, again)
    web = [part for path in sorted((workspace / "warcs").glob("*.warc.gz")) for part in ("--web", path)]
    porthole(options, "-C", again, "crawl", *web, "--strategy", "breadth", "--patience", "0", "--json")
    judged = "select url, relevance, kcid from crawl where state = 1"
    first, second = ({url: rest for url, *rest in rows(place, judged)} for place in (workspace, again))
    same = sum(second.get(url) == rest for url, rest in first.items())
    tell(f"{name}: the exported WARC crawled again: the same judgments", same == len(first) == len(second),
         f"{same} of {len(first)} pages")


def check_tables(options, workspace):
    """Checks types and rows of the tables in pyarrow, DuckDB and networkx."""
    import duckdb
    import networkx
    import pyarrow.parquet

    pages = rows(workspace, "select count(*) from crawl where state = 1")[0][0]
    parquet, graphml = workspace / "parquet", workspace / "graph.graphml"
    porthole(options, "-C", workspace, "export", "parquet", "-o", parquet)
    table = pyarrow.parquet.read_table(parquet)
    types = {field.name: str(field.type) for field in table.schema}
    wrong = {name: types.get(name) for name, (wanted, _) in PARQUET_TYPES.items() if types.get(name) != wanted}
    tell("parquet: types and rows in pyarrow", not wrong and table.num_rows == pages, wrong or f"{len(types)} columns")
    described = duckdb.sql(f"describe select * from '{parquet}/*.parquet'").fetchall()
    types = {name: kind for name, kind, *_ in described}
    wrong = {name: types.get(name) for name, (_, wanted) in PARQUET_TYPES.items() if types.get(name) != wanted}
    count = duckdb.sql(f"select count(*) from '{parquet}/*.parquet' where fetch_time > '2020-01-01'").fetchall()[0][0]
    tell("parquet: types and rows in DuckDB", not wrong and count == pages, wrong or f"{count} rows")
    porthole(options, "-C", workspace, "export", "graph", "-o", graphml)
    graph = networkx.read_graphml(graphml)
    kinds = {type(facts.get("relevance", 0.0)) for _, facts in graph.nodes(data=True)}
    links = rows(workspace, "select count(*) from edge join crawl a on a.rowid = src join crawl b on b.rowid = dst "
                            "where a.state = 1 and b.state = 1")[0][0]
    tell("graphml in networkx", len(graph) == pages and kinds == {float} and graph.number_of_edges() == links,
         f"{len(graph)} nodes, {graph.number_of_edges()} of {links} edges")


# Types in pyarrow and in DuckDB.
PARQUET_TYPES = {
    "url": ("string", "VARCHAR"),
    "url_port": ("int32", "INTEGER"),
    "fetch_time": ("timestamp[ms, tz=UTC]", "TIMESTAMP WITH TIME ZONE"),
    "fetch_status": ("int32", "INTEGER"),
    "warc_record_offset": ("int64", "BIGINT"),
    "warc_record_length": ("int64", "BIGINT"),
    "relevance": ("double", "DOUBLE"),
    "authority": ("double", "DOUBLE"),
    "oid": ("int64", "BIGINT"),
}


# Exports of many rows


def check_rows(options, folder):
    workspace = options.synthetic or crawl_synthetic(options, folder)
    wanted = rows(workspace, "select count(*) from crawl where state = 1")[0][0]
    tell("synthetic web", wanted >= options.rows, f"{wanted:,} pages")
    for name, arguments, count in EXPORTS:
        if options.only not in (None, arguments[0]):
            continue
        whole, cut = folder / f"whole{name}", folder / f"cut{name}"
        export = ["-C", workspace, "export", *arguments, "-o"]
        before = cpu()
        porthole(options, *export, whole)
        used = cpu() - before
        found = count(whole)
        kills = kill_and_resume(options, export, cut, size(whole))
        again = count(cut)
        detail = f"{found:,} rows, {used:.1f} s of CPU; killed {kills} times: {again:,} rows"
        tell(f"export {arguments[0]}", found == again == wanted, detail)
        for path in (whole, cut):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def crawl_synthetic(options, folder):
    workspace = folder / "synthetic"
    with Synth(options.porthole, CRAWLED_SEED, options.rows * 2, 3_000) as web:
        settings = f'proxy = "http://127.0.0.1:{web.port}"\nloopback = true'
        train(options.porthole, workspace, folder / "examples", settings)
        starts = [part for topic, url in web.examples() for part in ("--start", url) if topic == GOOD]
        # Top hubs are fetched more than once, and count each time.
        pages = options.rows + options.rows // 50
        porthole(options, "-C", workspace, *CRAWL, "--workers", 300, "--pages", pages, *starts)
    return workspace


def cpu():
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def size(path):
    return sum(file.stat().st_size for file in path.rglob("*")) if path.is_dir() else path.stat().st_size


def kill_and_resume(options, export, to, whole):
    """Runs an export and kills it when a third and two thirds are written. Returns how many kills succeeded."""
    kills = 0
    for share in (0.33, 0.66):
        run = subprocess.Popen([options.porthole, *map(str, export), str(to)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        parts = lambda: sum(map(size_now, to.parent.glob(f"{to.name}*")))
        while run.poll() is None and parts() < share * whole:
            time.sleep(0.005)
        if run.poll() is None:
            run.send_signal(signal.SIGKILL)
            kills += 1
        run.wait()
    if not to.exists() or kills:
        porthole(options, *export, to)
    return kills


def size_now(path):
    """The size of a file or folder that another process is writing."""
    try:
        return size(path)
    except FileNotFoundError:
        return 0


def count_lines(path):
    with open(path, "rb") as file:
        return sum(1 for _ in file)


def count_csv(path):
    with open(path, newline="") as file:
        return sum(1 for _ in csv.DictReader(file))


def count_pages(path):
    from warcio.archiveiterator import ArchiveIterator

    with open(path, "rb") as file:
        return sum(record.rec_type == "metadata" for record in ArchiveIterator(file))


def count_wacz(path):
    with zipfile.ZipFile(path) as wacz:
        return len(wacz.read("pages/pages.jsonl").splitlines()) - 1


def count_parquet(path):
    import pyarrow.parquet

    files = path.glob("*.parquet") if path.is_dir() else [path]
    return sum(pyarrow.parquet.ParquetFile(file).metadata.num_rows for file in files)


def count_nodes(path):
    return len(re.findall(rb"<node ", path.read_bytes()))


# Ending of the output, arguments, and how its rows are counted.
EXPORTS = [
    (".jsonl", ["jsonl"], count_lines),
    (".csv", ["csv"], count_csv),
    (".cdxj", ["cdxj", "--min-relevance", "0"], count_lines),  # without redirects
    (".parquet", ["parquet"], count_parquet),
    ("-parquet", ["parquet", "--size", "1MB"], count_parquet),  # a folder
    (".warc.gz", ["warc"], count_pages),
    (".wacz", ["wacz"], count_wacz),
    (".graphml", ["graph"], count_nodes),
    (".md", ["markdown"], lambda folder: sum(1 for _ in folder.rglob("*.md"))),
    (".txt", ["text"], lambda folder: sum(1 for _ in folder.rglob("*.txt"))),
]


if __name__ == "__main__":
    main()
