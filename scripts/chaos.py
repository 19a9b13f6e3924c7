#!/usr/bin/env python3
"""Checks that a crawl by several workers on one PostgreSQL stays correct when workers are killed and stopped.

    scripts/chaos.py [--porthole PATH] [--workers 4] [--seconds 600] [--pages 200000] [--every 5] [--seed 1] [--latency 0.03]
                     [--no-hubs] [--compare 60] [--keep]

Four workers crawl a generated web through proxies on this machine, one for each worker, so that the web knows which worker makes a
request. Every few seconds one of them is killed (SIGKILL) and started again, or stopped (SIGSTOP) until its session with the
database has ended and then continued. Once, PostgreSQL itself is killed and started again. A reader holds a REPEATABLE READ snapshot
as long as it can. After `--seconds` the workers run undisturbed until nothing is left to fetch. Hubs are computed and visited again;
a trigger records every URL that the crawl queues again, to distinguish these visits from duplicate results.

With `--compare N` the crawl first runs undisturbed three times for N seconds, without, with and again without the reader, and the
pages per second of each run are printed.

Then the log of the web and the tables must show:
 - no URL is lost: the URLs in the tables are those that the pages link to, and none is left in the queue;
 - no URL was fetched twice, except hubs that were queued again, and URLs whose fetch was not committed because a worker or PostgreSQL
   was killed or the worker was stopped; every URL has one result, and one more for each time that it was queued again;
 - no worker made a request after another one had taken over the shard, except requests that were being sent when it was stopped;
 - no site had two requests at the same time, with the same exception;
 - rows are numbered without gaps, and the counts are those of the tables.
Exits with 1 if one of these does not hold. Needs Debian's PostgreSQL; everything runs on this machine.
"""

import argparse
import asyncio
import bisect
import collections
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SITES, REQUESTS = 400, 12
SESSION, TAKEOVER = 3, 3
# A request counts as "being sent" if it arrives within this many seconds after its worker was stopped or continued.
DISPATCH = 0.25
LINK = re.compile(rb"<a href=(\S+?)>")


def main():
    options = parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if not shutil.which(options.porthole):
        sys.exit(f"error: there is no {options.porthole}: cargo build --release -p porthole")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="porthole-chaos-"))
    os.chmod(folder, 0o755)
    cluster = Cluster(folder / "pg")
    try:
        with Web(folder / "web.log", options) as web:
            fleet = Fleet(options, folder, cluster, web)
            fleet.crawl()
            failures = check(options, fleet, web)
    finally:
        cluster.stop()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failures else 0)


def parse_options():
    parser = option_parser(__doc__, workers=4, pages=200_000, latency=0.03)
    parser.add_argument("--seconds", type=int, default=600, help="time with kills and stops (default: %(default)s)")
    parser.add_argument("--every", type=float, default=5, help="seconds between two of them (default: %(default)s)")
    parser.add_argument("--compare", type=int, default=0, metavar="SECONDS", help="first measure the cost of the reader, for N seconds per run")
    return parser.parse_args()


def option_parser(description, workers, pages, latency):
    """Options that scripts which crawl the generated web with several workers share, with these defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--porthole", default=str(root / "target/release/porthole"))
    parser.add_argument("--workers", type=int, default=workers)
    parser.add_argument("--pages", type=int, default=pages, help="pages of the web (default: %(default)s)")
    parser.add_argument("--latency", type=float, default=latency, help="seconds until the web answers (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-hubs", action="store_true", help="compute no hubs, so that no page is visited again")
    parser.add_argument("--keep", action="store_true", help="keep the folder")
    return parser


def say(text):
    print(text, flush=True)


class Cluster:
    """A private PostgreSQL in a folder."""

    def __init__(self, folder):
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        if not programs:
            sys.exit("error: no PostgreSQL: apt-get install postgresql")
        self.bin, self.folder = programs[-1], folder
        folder.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups", "--"] if os.getuid() == 0 else []
        if self.user:
            shutil.chown(folder, "postgres")
        init = [self.bin / "initdb", "-D", folder / "data", "-U", "admin", "-A", "trust", "-E", "UTF8", "--locale=C"]
        subprocess.run([*self.user, *init], check=True, capture_output=True)
        self.start()
        self.ask("create role porthole login", "postgres", "admin")
        self.ask("create database chaos owner porthole", "postgres", "admin")
        self.url = f"postgres://porthole@127.0.0.1:{self.port}/chaos"

    def start(self):
        command = [self.bin / "postgres", "-D", self.folder / "data", "-p", str(self.port), "-c", "listen_addresses=127.0.0.1"]
        command += ["-c", "unix_socket_directories=", "-c", "max_connections=200"]
        self.process = subprocess.Popen([*self.user, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(300):
            if self.ask("select 1", "postgres", "admin", check=False) == "1":
                return
            time.sleep(0.1)
        sys.exit("error: PostgreSQL did not start")

    def kill(self):
        """Kills it, as a crash would, and starts it again."""
        postmaster = int((self.folder / "data/postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGKILL)
        self.process.wait()
        time.sleep(2)
        (self.folder / "data/postmaster.pid").unlink(missing_ok=True)
        self.start()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()

    def ask(self, sql, database="chaos", role="porthole", check=True):
        url = f"postgres://{role}@127.0.0.1:{self.port}/{database}"
        asked = subprocess.run([self.bin / "psql", "-XqAt", "-c", sql, url], capture_output=True, text=True)
        if check and asked.returncode:
            raise RuntimeError(asked.stderr)
        return asked.stdout.strip()

    def rows(self, sql):
        return [line.split("|") for line in self.ask(sql).splitlines()]


class Web:
    """A generated web behind one proxy for each worker, in a separate process, which logs every request."""

    def __init__(self, log, options):
        self.log, self.latency, self.pages_of_site = log, options.latency, max(options.pages // SITES, 1)
        self.sockets = [socket.create_server(("127.0.0.1", 0), backlog=1000) for _ in range(options.workers)]
        self.ports = [listening.getsockname()[1] for listening in self.sockets]

    def __enter__(self):
        self.process = multiprocessing.get_context("fork").Process(target=serve, args=(self,), daemon=True)
        self.process.start()
        for listening in self.sockets:
            listening.close()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.join()

    def requests(self):
        """Start, end, worker, host and path of every request for a page, in the order of their starts."""
        found = []
        for line in self.log.read_text().splitlines():
            begin, end, worker, host, path = line.split(" ")
            found.append((float(begin), float(end), int(worker), host, path))
        return sorted(found)


def serve(web):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log = web.log.open("a", buffering=1)

    async def forever():
        loop = asyncio.get_running_loop()
        servers = []
        for worker, listening in enumerate(web.sockets):
            make = lambda worker=worker: Proxy(web, loop, log, worker)
            servers.append(await loop.create_server(make, sock=listening))
        await asyncio.gather(*(server.serve_forever() for server in servers))

    asyncio.run(forever())


class Proxy(asyncio.Protocol):
    """A connection to a proxy, with one request at a time, as in HTTP/1.1."""

    def __init__(self, web, loop, log, worker):
        self.web, self.loop, self.log, self.worker, self.received = web, loop, log, worker, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.received += data
        if self.received.endswith(b"\r\n\r\n"):
            url, self.received = self.received.split(b" ", 2)[1].decode("latin-1"), b""
            host, path = re.fullmatch(r"http://([^/]*)(.*)", url).groups()
            self.loop.call_later(self.web.latency, self.answer, time.time(), host, path)

    def answer(self, began, host, path):
        if path == "/robots.txt":
            status, body = "404 Not Found", b""
        else:
            status, body = "200 OK", make_page(host, path, self.web.pages_of_site)
            self.log.write(f"{began} {time.time()} {self.worker} {host} {path}\n")
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)


WORDS = [
    "".join(random.Random(number).choice("bdfgklmnprstvz") + random.Random(number + 7).choice("aeiou") for _ in range(3))
    + str(number)
    for number in range(2_000)
]


def make_page(host, path, pages_of_site):
    chance = random.Random(host + path)
    site = int(re.sub(r"\D", "", host))
    number = int(path[1:] or 0)
    links = [f"/{(number + 1) % pages_of_site}", f"/{chance.randrange(pages_of_site)}"]
    links.append(f"http://site{(site + 1) % SITES}.test/{number}")
    links += [f"http://site{chance.randrange(SITES)}.test/{chance.randrange(pages_of_site)}" for _ in range(6)]
    anchors = "\n".join(f"<li><a href={link}>{chance.choice(WORDS)}</a>" for link in links)
    text = " ".join(chance.choices(WORDS, k=120))
    return f"<html><title>{chance.choice(WORDS)}</title><p>{text}\n{anchors}".encode()


def reachable(pages_of_site):
    """All URLs that can be reached from the first page of the first site."""
    first = ("site0.test", "/0")
    known, waiting = {first}, [first]
    while waiting:
        host, path = waiting.pop()
        for link in LINK.findall(make_page(host, path, pages_of_site)):
            link = link.decode()
            there = re.fullmatch(r"http://([^/]*)(.*)", link)
            target = there.groups() if there else (host, link)
            if target not in known:
                known.add(target)
                waiting.append(target)
    return known


class Fleet:
    """The workers, the kills and stops, and the owner of every shard over time."""

    # Host of the proxies.
    HOST = "127.0.0.1"

    def __init__(self, options, folder, cluster, web):
        self.options, self.folder, self.cluster, self.web = options, folder, cluster, web
        self.chance = random.Random(options.seed)
        self.workers = [None] * options.workers
        # Times at which a worker lost uncommitted work: (from, until, worker or None for all).
        self.cuts = []
        # For every shard: times and owners.
        self.owners = collections.defaultdict(list)
        self.counts = collections.Counter()

    def porthole(self, *arguments):
        subprocess.run([self.options.porthole, *map(str, arguments)], check=True, capture_output=True, timeout=120)

    def train(self):
        examples = self.folder / "examples"
        for topic in ("One", "Two"):
            (examples / topic).mkdir(parents=True)
            for number in range(8):
                text = random.Random(f"{topic}{number}").choices(WORDS[: 1_000] if topic == "One" else WORDS[1_000 :], k=150)
                (examples / topic / f"{number}.txt").write_text(" ".join(text))
        self.porthole("init", self.folder / "w0", "--db", self.cluster.url)
        first = ["-C", self.folder / "w0"]
        self.porthole(*first, "examples", "import", examples)
        self.porthole(*first, "topics", "mark", "/One")
        self.porthole(*first, "train")
        for worker in range(1, self.options.workers):
            self.porthole("init", self.folder / f"w{worker}", "--db", self.cluster.url, "--join")
        for worker, port in enumerate(self.web.ports):
            (self.folder / f"w{worker}" / "porthole.toml").write_text(
                f'[fetch]\nproxy = "http://{self.HOST}:{port}"\nloopback = true\ncontact = "chaos@example.org"\n'
                f"[polite]\ndelay = 0.0\ndelay-factor = 0\nlongest-delay = 0.1\n"
                f'[fleet]\nsession = "{SESSION}s"\ntakeover = "{TAKEOVER}s"\n'
            )

    def note_requeued(self):
        """Creates a trigger that records which URLs are queued again, and when."""
        self.cluster.ask(
            "create table requeued_at(oid bigint not null, at double precision not null);"
            "create function note_requeued() returns trigger language plpgsql as $$ begin"
            " insert into requeued_at values (new.oid, extract(epoch from clock_timestamp())); return null; end $$;"
            "create trigger note_requeued after update of state on crawl for each row"
            " when (old.state <> 0 and new.state = 0) execute function note_requeued()"
        )

    def inside(self, worker):
        """The beginning of a worker's command line."""
        return []

    def start(self, worker):
        command = [*self.inside(worker), self.options.porthole, "-C", self.folder / f"w{worker}", "crawl", "--workers", str(REQUESTS)]
        command += ["--patience", "0", "--strategy", "breadth", "--start", "http://site0.test/0"]
        command += ["--no-hubs"] if self.options.no_hubs else []
        log = (self.folder / f"w{worker}.log").open("ab")
        self.workers[worker] = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log)

    def look(self):
        now = time.time()
        for shard, owner in self.cluster.rows("select id, coalesce(owner, -1) from shard"):
            history = self.owners[int(shard)]
            if not history or history[-1][1] != int(owner):
                history.append((now, int(owner)))

    def is_alive(self, worker):
        sql = f"select count(*) from pg_locks where locktype = 'advisory' and classid = 1886351989 and objid = {worker}"
        return self.cluster.ask(sql) == "1"

    def crawl(self):
        """Crawls the web to its end. No worker is left behind."""
        try:
            self.train()
            self.note_requeued()
            self.run()
        finally:
            self.stop()

    def stop(self):
        """Ends all workers, also those that are stopped."""
        for process in filter(None, self.workers):
            process.kill()
            process.wait()

    def kill(self, worker):
        began = time.time()
        self.workers[worker].kill()
        self.workers[worker].wait()
        self.cuts.append((began, time.time(), worker))
        self.counts["kills"] += 1
        time.sleep(self.chance.choice([0, 0, 1, SESSION + TAKEOVER + 1]))
        self.start(worker)

    def pause(self, worker):
        began = time.time()
        self.workers[worker].send_signal(signal.SIGSTOP)
        while self.is_alive(worker) and time.time() - began < 30:
            time.sleep(0.2)
            self.look()
        time.sleep(self.chance.choice([0, 1, TAKEOVER + 1]))
        self.workers[worker].send_signal(signal.SIGCONT)
        self.cuts.append((began, time.time(), worker))
        self.counts["stops"] += 1

    def kill_server(self):
        began = time.time()
        self.cluster.kill()
        self.cuts.append((began, time.time(), None))
        self.counts["kills of PostgreSQL"] += 1

    def snapshot(self):
        """A reader with a snapshot of the tables."""
        command = [self.cluster.bin / "psql", "-XqAt", self.cluster.url]
        reader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        reader.stdin.write(b"begin isolation level repeatable read; select count(*) from crawl;\n")
        reader.stdin.flush()
        return reader

    def compare(self):
        """Measures pages per second without, with and again without a reader."""
        time.sleep(10)
        rates = []
        for has_reader in (False, True, False):
            reader = self.snapshot() if has_reader else None
            before, began = self.fetched(), time.time()
            while time.time() - began < self.options.compare:
                self.look()
                time.sleep(0.2)
            rates.append((self.fetched() - before) / (time.time() - began))
            if reader:
                reader.kill()
                reader.wait()
        if any(worker.poll() is not None for worker in self.workers):
            sys.exit("error: the web was crawled to its end during the comparison; give more --pages")
        cost = 1 - rates[1] / ((rates[0] + rates[2]) / 2)
        say("pages per second without, with, without the reader: " + ", ".join(f"{rate:.0f}" for rate in rates) + f"; it costs {cost:.0%}")

    def fetched(self):
        return int(self.cluster.ask('select count(*) from "fetch"'))

    def run(self):
        for worker in range(self.options.workers):
            self.start(worker)
        if self.options.compare:
            self.compare()
        reader = self.snapshot()
        began = time.time()
        until, server_at = began + self.options.seconds, began + self.options.seconds / 2
        act_at = began + self.options.every
        while any(worker.poll() is None for worker in self.workers):
            self.look()
            now = time.time()
            if now >= until + 900:
                sys.exit("error: the crawl does not end")
            for worker, process in enumerate(self.workers):
                if process.poll() not in (None, 0):
                    say(f"worker {worker} ended with {process.returncode}; see w{worker}.log")
                    self.counts["ended with an error"] += 1
                    self.start(worker)
            if now < until and now >= server_at:
                server_at = float("inf")
                self.kill_server()
                reader.kill()
                reader.wait()
                reader = self.snapshot()
            elif now < until and now >= act_at:
                running = [worker for worker, process in enumerate(self.workers) if process.poll() is None]
                self.chance.choice([self.kill, self.pause])(self.chance.choice(running))
                act_at = time.time() + self.options.every
            time.sleep(0.2)
        reader.kill()
        reader.wait()
        self.seconds = time.time() - began


def check(options, fleet, web):
    cluster, requests = fleet.cluster, web.requests()
    failures = []

    def expect(is_so, text):
        if not is_so:
            failures.append(text)
            say(f"FAILED: {text}")

    wanted = {f"http://{host}{path}" for host, path in reachable(web.pages_of_site)}
    rows = cluster.rows("select url, state, numtries, coalesce(failure, ''), oid from crawl")
    requeued = collections.defaultdict(list)
    for oid, at in cluster.rows("select oid, at from requeued_at order by at"):
        requeued[oid].append(float(at))
    requeued = {row[0]: requeued[row[4]] for row in rows if row[4] in requeued}
    known = {row[0] for row in rows}
    skipped = {row[0] for row in rows if row[3] in ("trap", "scope")}
    expect(known <= wanted, f"{len(known - wanted)} URLs are known that no page links to")
    lost = wanted - known
    expect(not lost or skipped, f"{len(lost)} URLs are lost, such as {sorted(lost)[:3]}")
    left = [row[0] for row in rows if row[1] == "0"]
    expect(not left, f"{len(left)} URLs are left in the queue, such as {left[:3]}")
    several = [row[0] for row in rows if int(row[2]) > 1 + len(requeued.get(row[0], []))]
    expect(not several, f"{len(several)} URLs have more results than visits that were queued, such as {several[:3]}")
    visited = sum(int(row[2]) > 1 for row in rows)
    asked = {f"http://{host}{path}" for *_, host, path in requests}
    never = [row[0] for row in rows if row[1] == "1" and row[0] not in asked]
    expect(not never, f"{len(never)} pages in the tables were never requested")

    def is_excused(begin, worker, until, url=None):
        """Whether a worker lost an uncommitted fetch before another request, or the URL was queued again."""
        if any(begin <= at <= until for at in requeued.get(f"http://{url}", [])):
            return True
        return any(begin - 1 <= end and start <= until and who in (None, worker) for start, end, who in fleet.cuts)

    by_url = collections.defaultdict(list)
    for begin, end, worker, host, path in requests:
        by_url[host + path].append((begin, end, worker))
    again = {url: times for url, times in by_url.items() if len(times) > 1}
    bad = [
        url
        for url, times in again.items()
        for (begin, _, worker), (later, *_) in zip(times, times[1:])
        if not is_excused(begin, worker, later, url)
    ]
    expect(not bad, f"{len(bad)} URLs were requested again without a kill in between, such as {bad[:3]}")

    shards = {host: int(shard) for host, shard in cluster.rows("select host, (sid >> 56) & 255 from site")}

    def is_dispatch(begin, worker):
        moments = [moment for start, end, who in fleet.cuts if who == worker for moment in (start, end)]
        return any(0 <= begin - moment <= DISPATCH for moment in moments)

    late = dispatched = 0
    for begin, _, worker, host, path in requests:
        history = fleet.owners[shards[host]]
        at = bisect.bisect([since for since, _ in history], begin)
        # Owners are sampled a few times a second: the one seen before and after the request is the owner.
        before = history[at - 1][1] if at else -1
        is_steady = at == 0 or begin - history[at - 1][0] > 0.5
        if before not in (-1, worker) and is_steady and at:
            # It may have got the shard since the last sample.
            soon = at < len(history) and history[at][1] == worker and history[at][0] - begin < 5
            if soon:
                continue
            if is_dispatch(begin, worker):
                dispatched += 1
            else:
                late += 1
                say(f"  {host}{path} by {worker} at {begin:.2f}: {history[max(at - 2, 0):at + 2]}")
    expect(late == 0, f"{late} requests came from a worker that did not own the shard")

    together = 0
    last = {}
    for begin, end, worker, host, path in requests:
        if host in last:
            before_end, before_worker, before_begin = last[host]
            if begin < before_end and not is_excused(before_begin, before_worker, begin):
                together += 1
        last[host] = max(last.get(host, (0,)), (end, worker, begin))
    expect(together == 0, f"{together} requests were made while another one to the same site was in flight")

    for table in ("crawl", "edge", "site"):
        gaps = cluster.ask(f"select coalesce(max(rowid), 0) - count(*) from {table}")
        expect(gaps == "0", f"{table} has {gaps} gaps")
    states = ", ".join(f"count(*) filter (where state = {state})" for state in range(5))
    counted = cluster.ask("select known, queued, fetched, redirected, dead, skipped, links from counts")
    found = cluster.ask(f"select count(*), {states}, (select count(*) from edge) from crawl")
    expect(counted == found, f"the counts are {counted}, the tables have {found}")
    doubles = cluster.ask("select count(*) from (select src, dst from edge group by src, dst having count(*) > 1) as twice")
    expect(doubles == "0", f"{doubles} links are in the table twice")

    done = ", ".join(f"{count} {what}" for what, count in sorted(fleet.counts.items()))
    say(
        f"{len(requests)} requests for {len(by_url)} URLs in {fleet.seconds:.0f} s by {options.workers} workers; {done}; "
        f"{sum(len(times) - 1 for times in again.values())} repeated requests, {dispatched} while being stopped, "
        f"{len(skipped)} URLs refused, {visited} URLs visited again; {'FAILED' if failures else 'all checks hold'}"
    )
    return failures


if __name__ == "__main__":
    main()
