#!/usr/bin/env python3
"""Measures how much commands slow down a running crawl.

    scripts/bench-live.py [--porthole PATH] [--commands status,queries,train] [--seconds 900] [--pages 4000000] [--json]

A crawl with 64 workers runs through a proxy on this machine that generates a web. Every answer takes a tenth of a second, so
that the crawl fetches about 400 pages per second without needing a whole core. Some hosts stall: they accept most requests and
never answer. The proxy counts the pages. The web is large enough that the topic is not exhausted: after that, the crawl would
fetch little by choice, and ratios would be meaningless.

Meanwhile commands run, one after the other, each first on a copy of the workspace and then on the workspace itself. Both
take the same CPU time from the crawl, but only the second shares its database. Required: in each window of 4 s from the start
of a command, at least 90% of the speed that the crawl had during the same command on the copy. A command that misses this is
measured three times, and the median counts, because the speed of the machine varies. In addition, there must be no window
without a page (`fewest` has the pages of the emptiest 4 s after a command), and no failure of a host that the proxy did not
cause: only hosts that stall may have timeouts.

Commands are `nothing`, `status`, `query:NAME` (`queries`: all named queries), `watch`, `mark`, `disable`, `set`, `train`
and `report`; all of them take about nine minutes. `nothing` is a control, `--version`, which opens no workspace: if it
misses, the machine is too busy for ratios (seen at a load of 8 on 2 cores), and only empty windows and failures are
meaningful. `--seconds` limits the run; commands that were not run by then count as missed. Exits with 1 if a requirement is
missed.
"""

import argparse
import asyncio
import contextlib
import dataclasses
import json
import math
import multiprocessing
import pathlib
import random
import re
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKERS, LATENCY = 64, 0.1
SITES, STALLING_SITES = 600, 12
# A site that stalls answers one of this many requests, so that the crawl does not give up on it.
STALLS_PER_ANSWER = 4
TOPICS, EXAMPLES = 12, 10
WARM_UP, WINDOW, GAP = 10, 4, 2
ENOUGH, ROUNDS = 0.9, 3
# Maximum number of windows of a command, and of seconds for the crawl to recover from it.
MOST_WINDOWS, LONGEST_RECOVERY = 8, 60
BINS_PER_SECOND = 10
# A command that shares nothing with the crawl.
CONTROL = "nothing"
# Failures of a URL that do not depend on its host.
OWN_DECISIONS = ("scope", "robots", "trap")


def main():
    options = parse_options()
    if not shutil.which(options.porthole):
        sys.exit(f"error: there is no {options.porthole}: cargo build --release -p porthole")
    with tempfile.TemporaryDirectory(prefix="bench-live-", dir=options.workspaces) as folder:
        folder = pathlib.Path(folder)
        with Web(options.pages) as web:
            workspace = train(options.porthole, folder, web)
            commands = known_commands(options, workspace)
            with crawling(options, workspace, web) as child:
                bench = Bench(options, folder, workspace, web, child)
                measured = bench.run(commands)
                # Before the crawl ends, because it then waits for requests in flight.
                web.stop_counting()
        failures = Failures.read(workspace)
    sys.exit(report(options, web, measured, failures))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=4_000_000, help="pages of the web (default: %(default)s)")
    parser.add_argument("--commands", default="nothing,status,queries,watch,mark,disable,set,train,report")
    parser.add_argument("--seconds", type=int, default=900, help="no command starts later than this (default: %(default)s)")
    parser.add_argument("--strategy", default="porthole", help="strategy of the crawl (default: %(default)s)")
    parser.add_argument("--workspaces", help="folder for the workspaces (default: the folder for temporary files)")
    parser.add_argument("--porthole", default=str(ROOT / "target/release/porthole"))
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


class Web:
    """A generated web behind a proxy in a separate process, which counts the pages that it serves."""

    def __init__(self, pages):
        self.pages_of_site = max(pages // SITES, 1)
        self.counts = multiprocessing.Array("L", 7200 * BINS_PER_SECOND, lock=False)
        self.began = time.monotonic()
        # When the crawl first reached its usual speed.
        self.going = 0.0
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.port = self.socket.getsockname()[1]

    def __enter__(self):
        # The parent's copy of the socket is closed, so that nothing is accepted once the server has ended.
        self.process = multiprocessing.get_context("fork").Process(target=serve, args=(self,), daemon=True)
        self.process.start()
        self.socket.close()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.join()

    def now(self):
        """Seconds since the start of the web."""
        return time.monotonic() - self.began

    def count(self):
        self.counts[int(self.now() * BINS_PER_SECOND)] += 1

    def stop_counting(self):
        self.counts = self.counts[: int(self.now() * BINS_PER_SECOND)]

    def pages(self, begin, end):
        """Number of pages served between two times."""
        return sum(self.counts[round(begin * BINS_PER_SECOND) : round(end * BINS_PER_SECOND)])

    def pace(self, begin, end):
        return self.pages(begin, end) / (end - begin)


def serve(web):
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    async def forever():
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Proxy(web, loop), sock=web.socket)
        await server.serve_forever()

    asyncio.run(forever())


class Proxy(asyncio.Protocol):
    """A connection to the proxy, with one request at a time, as in HTTP/1.1."""

    asked_of_stalling = {}

    def __init__(self, web, loop):
        self.web, self.loop, self.received = web, loop, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.received += data
        if self.received.endswith(b"\r\n\r\n"):
            url, self.received = self.received.split(b" ", 2)[1].decode("latin-1"), b""
            host, path = re.fullmatch(r"http://([^/]*)(.*)", url).groups()
            if path == "/robots.txt" or not self.stalls(host):
                self.loop.call_later(LATENCY, self.answer, host, path)

    def stalls(self, host):
        if not is_stalling(host):
            return False
        self.asked_of_stalling[host] = asked = self.asked_of_stalling.get(host, 0) + 1
        return asked % STALLS_PER_ANSWER != 0

    def answer(self, host, path):
        if path == "/robots.txt":
            status, body = "404 Not Found", b""
        else:
            status, body = "200 OK", make_page(host, path, self.web.pages_of_site)
            self.web.count()
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)


def is_stalling(host):
    return host.startswith("stall")


def vocabulary():
    """Words that all pages have, and those of each topic."""
    chance = random.Random(1)
    made_up = lambda: "".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(3)) + "k"
    return [made_up() for _ in range(800)], [[made_up() for _ in range(150)] for _ in range(TOPICS)]


COMMON, OF_TOPIC = vocabulary()


def make_text(chance, topic):
    chosen = chance.choices(COMMON, k=90) + chance.choices(OF_TOPIC[topic], k=60)
    chance.shuffle(chosen)
    return " ".join(chosen)


def make_page(host, path, pages_of_site):
    """Most pages of a site are about its topic, and most links lead to sites about that."""
    chance = random.Random(host + path)
    site = int(re.sub(r"\D", "", host) or 0)
    topic = site % TOPICS if chance.random() < 0.7 else chance.randrange(TOPICS)
    links = [f"/{chance.randrange(pages_of_site)}" for _ in range(8)]
    for _ in range(12):
        there = chance.randrange(SITES)
        if chance.random() < 0.6:
            there += (topic - there) % TOPICS
        links.append(f"http://site{there % SITES}.test/{chance.randrange(pages_of_site)}")
    anchors = "\n".join(f"<li><a href={link}>{' '.join(chance.choices(OF_TOPIC[topic], k=2))}</a>" for link in links)
    title = " ".join(chance.choices(OF_TOPIC[topic], k=3))
    return f"<html><title>{title}</title><p>{make_text(chance, topic)}\n{anchors}".encode()


def topic_path(topic):
    return f"/Group{topic % 3}/Topic{topic}"


def train(porthole, folder, web):
    """Creates a workspace with a critic, in which the first topic is good."""
    workspace, examples = folder / "workspace", folder / "examples"
    for topic in range(TOPICS):
        of_topic = examples / topic_path(topic)[1:]
        of_topic.mkdir(parents=True)
        for number in range(EXAMPLES):
            (of_topic / f"{number}.txt").write_text(make_text(random.Random(f"{topic}/{number}"), topic))
    for command in [
        ["init", workspace],
        ["-C", workspace, "examples", "import", examples],
        ["-C", workspace, "topics", "mark", topic_path(0)],
        ["-C", workspace, "train"],
    ]:
        subprocess.run([porthole, *command], check=True, capture_output=True, timeout=120)
    settings = (workspace / "porthole.toml").read_text()
    fetch = f'[fetch]\nproxy = "http://127.0.0.1:{web.port}"\nloopback = true\ncontact = "bench@example.org"\n'
    settings = settings.replace("[fetch]\n", fetch, 1)
    settings = settings.replace("[polite]\n", "[polite]\ndelay = 0.0\ndelay-factor = 0\n", 1)
    (workspace / "porthole.toml").write_text(settings)
    return workspace


@contextlib.contextmanager
def crawling(options, workspace, web):
    """A crawl that ends with the block."""
    command = [options.porthole, "-C", workspace, "crawl", "--workers", str(WORKERS), "--patience", "0"]
    command += ["--strategy", options.strategy, "--time", f"{options.seconds + 120}s"]
    for site in range(0, 10 * TOPICS, TOPICS):
        command += ["--start", f"http://site{site}.test/0"]
    for site in range(STALLING_SITES):
        for number in range(8):
            # The number of the site gives its topic, and the first topic is good.
            command += ["--start", f"http://stall{site * TOPICS}.test/{number}"]
    with open(workspace / "log.txt", "wb") as log:
        child = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield child
            if child.poll() is not None:
                sys.exit(f"error: the crawl ended early: {(workspace / 'log.txt').read_text()[-2000:]}")
        finally:
            stop(child)


def stop(child):
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
    child.wait()


@dataclasses.dataclass
class Command:
    """A command: its arguments are new in every round, because nothing can be marked twice."""

    name: str
    arguments: object
    # Minimum number of windows: the changes by a command keep the crawl busy after the command has ended.
    windows: int = 1
    # Whether it is expected to fail on the copy, where no crawl runs.
    needs_crawl: bool = False
    skipped: str = ""


def known_commands(options, workspace):
    """The commands that `--commands` selects."""
    commands = {
        # The same number of windows as other commands, so that their minimum is comparable.
        CONTROL: Command(CONTROL, lambda _: ["--version"], windows=3),
        "status": Command("status", lambda _: ["status"]),
        "watch": Command("watch", lambda _: ["query", "progress", "--watch", "--every", "1s", "--times", "6"]),
        "mark": Command("mark", lambda number: ["topics", "mark", topic_path(number + 1)], windows=3),
        "disable": Command("disable", lambda number: ["sites", "disable", f"site{(number + 1) * TOPICS}.test"], windows=2),
        "set": Command("set", lambda number: ["set", "strategy", ["soft", "porthole"][number % 2]], windows=2, needs_crawl=True),
        # Without new examples, it would not train at all.
        "train": Command("train", lambda number: ["train", "--smoothing", f"0.{number + 1}"], windows=3),
        "report": Command("report", lambda _: ["report"]),
    }
    if subprocess.run([options.porthole, "set", "--help"], capture_output=True).returncode:
        commands["set"].skipped = "this porthole has no such command"
    named = list(named_queries(options.porthole, workspace))
    commands |= {query.name: query for query in named}
    wanted = options.commands.replace("queries", ",".join(query.name for query in named)).split(",")
    if unknown := set(wanted) - set(commands):
        sys.exit(f"error: --commands {unknown.pop()}: there is queries, {', '.join(commands)}")
    return [commands[name] for name in wanted]


def named_queries(porthole, workspace):
    listing = subprocess.run([porthole, "-C", workspace, "query", "--list", "--json"], check=True, capture_output=True)
    for query in json.loads(listing.stdout):
        needed = [given["name"] for given in query["parameters"] if given["default"] is None]
        arguments = ["query", query["name"]]
        arguments += [f"{name}={topic_path(number)}" for number, name in enumerate(needed)]
        yield Command(f"query:{query['name']}", lambda _, arguments=arguments: arguments)


@dataclasses.dataclass
class Round:
    """One run of a command on the copy and on the workspace: pages per second by window, and its duration."""

    began: float
    copy: list
    live: list
    copy_took: float
    live_took: float
    problem: str

    def ratios(self):
        """Ratio of speeds in each window; the run on the workspace may have more windows than the one on the copy."""
        beside = self.copy + [statistics.mean(self.copy)] * (len(self.live) - len(self.copy))
        return [live / max(copy, 0.01) for live, copy in zip(self.live, beside)]


@dataclasses.dataclass
class Measured:
    """All rounds of a command."""

    name: str
    rounds: list = dataclasses.field(default_factory=list)
    # Seconds until the crawl had recovered its speed.
    recovery: float = 0.0
    # Pages in the emptiest window from its start until then.
    fewest: float = math.inf
    not_run: str = ""

    def ratio(self):
        """The lowest of the windows, in the median of the rounds."""
        return statistics.median(min(of.ratios()) for of in self.rounds)

    def is_missed(self):
        return not self.rounds or not self.fewest or self.ratio() < ENOUGH or any(of.problem for of in self.rounds)


class Bench:
    """Runs commands while a crawl runs."""

    def __init__(self, options, folder, workspace, web, child):
        self.options, self.web, self.child = options, web, child
        self.workspace, self.copy, self.folder = workspace, folder / "copy", folder
        self.began = web.now()

    def run(self, commands):
        time.sleep(WARM_UP)
        self.web.going = self.web.now()
        self.usual = self.web.pace(self.began + WARM_UP - WINDOW, self.began + WARM_UP)
        say(f"{self.usual:.0f} pages per second before the first command")
        if self.usual < 50:
            sys.exit(f"error: the crawl does not reach its usual speed: {(self.workspace / 'log.txt').read_text()[-2000:]}")
        measured = [self.measure(command) for command in commands]
        time.sleep(WINDOW)
        return measured

    def measure(self, command):
        measured = Measured(command.name, not_run=command.skipped)
        # Once one round has missed, all rounds are run; stopping at the first good one would bias the result.
        is_wanted = lambda: not measured.rounds or len(measured.rounds) > 1 or measured.is_missed()
        while not command.skipped and len(measured.rounds) < ROUNDS and is_wanted():
            if self.web.now() - self.began > self.options.seconds:
                measured.not_run = "time is up"
                break
            measured.rounds.append(self.round(command, len(measured.rounds)))
            measured.recovery = max(measured.recovery, self.recover())
            found = emptiest(self.web, measured.rounds[-1].began, self.web.now())
            measured.fewest = min(measured.fewest, found["pages"])
            say(f"{self.web.now():5.0f} s  {command.name}: {min(measured.rounds[-1].ratios()):.2f}")
            if not measured.fewest:
                # This is not noise: no repetition is needed.
                break
        return measured

    def round(self, command, number):
        arguments = command.arguments(number)
        refresh_copy(self.workspace, self.copy)
        time.sleep(1)
        _, copy, copy_took, copy_problem = self.beside(self.copy, arguments, command.windows)
        time.sleep(GAP)
        began, live, live_took, problem = self.beside(self.workspace, arguments, max(command.windows, len(copy)))
        if command.needs_crawl:
            copy_problem = ""
        return Round(began, copy, live, copy_took, live_took, problem or copy_problem)

    def beside(self, workspace, arguments, least_windows):
        """Runs a command. Returns its start, the crawl's speed by window until its end, its duration, and its error."""
        began, paces, took = self.web.now(), [], None
        with open(self.folder / "output.txt", "w+b") as output:
            command = [self.options.porthole, "-C", workspace, *arguments]
            child = subprocess.Popen(command, stdout=output, stderr=output)
            try:
                while len(paces) < least_windows or took is None and len(paces) < MOST_WINDOWS:
                    end = began + (len(paces) + 1) * WINDOW
                    ended = wait(child, self.web, began, end)
                    took = took or ended
                    paces.append(self.web.pace(end - WINDOW, end))
            finally:
                child.kill()
                child.wait()
            output.seek(0)
            problem = "" if child.returncode == 0 else f"ended with {child.returncode}: {output.read()[-200:]!r}"
        return began, paces, took or MOST_WINDOWS * WINDOW, problem

    def recover(self):
        """Waits until the crawl has recovered its speed. Returns the seconds that it took."""
        began = self.web.now()
        while self.web.now() < began + LONGEST_RECOVERY and self.child.poll() is None:
            time.sleep(0.5 if self.web.now() > began + 0.5 else GAP)
            if self.web.pace(self.web.now() - 2, self.web.now()) > 0.7 * self.usual:
                break
        return max(self.web.now() - began - GAP, 0)


def wait(child, web, began, end):
    """Waits until a window has ended. Returns the duration of the command if it ended in the window."""
    took = None
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(max(end - web.now(), 0))
        took = web.now() - began
    time.sleep(max(end - web.now(), 0))
    return took


def refresh_copy(workspace, copy):
    """Updates the copy to the present state of the workspace, without blocking the crawl's writes."""
    (copy / "pages").mkdir(parents=True, exist_ok=True)
    for file in copy.glob("porthole.db*"):
        file.unlink()
    with contextlib.closing(open_database(workspace)) as source:
        with contextlib.closing(sqlite3.connect(copy / "porthole.db")) as target:
            source.backup(target)
    shutil.copy(workspace / "porthole.toml", copy)
    for segment in (workspace / "pages").iterdir():
        append_rest(segment, copy / "pages" / segment.name)


def append_rest(source, target):
    """Copies new bytes of the segments, which only grow."""
    with open(source, "rb") as rest, open(target, "ab") as grown:
        rest.seek(grown.tell())
        shutil.copyfileobj(rest, grown, 1 << 20)


def open_database(workspace):
    return sqlite3.connect(f"file:{workspace / 'porthole.db'}?mode=ro", uri=True, timeout=30)


@dataclasses.dataclass
class Failures:
    """Failed URLs in the database."""

    # Timeouts of hosts that stall, and failures that follow from them.
    caused: int
    # All others: (kind, a detail, URLs).
    not_caused: list

    @staticmethod
    def read(workspace):
        decisions = ", ".join(f"'{kind}'" for kind in OWN_DECISIONS)
        caused = "failure in ('timeout', 'connect') and url glob 'http://stall*'"
        failed = f"from crawl where failure is not null and failure not in ({decisions})"
        with contextlib.closing(open_database(workspace)) as reader:
            count = reader.execute(f"select count(*) {failed} and {caused}").fetchone()[0]
            others = f"select failure, min(url || ': ' || detail), count(*) {failed} and not ({caused}) group by failure"
            return Failures(count, reader.execute(others).fetchall())


def report(options, web, measured, failures):
    """Prints the figures. Returns the exit code."""
    empty = emptiest(web, web.going, len(web.counts) / BINS_PER_SECOND)
    missed = [of.name for of in measured if of.is_missed() and of.not_run != "this porthole has no such command"]
    if options.json:
        seconds = by_second(web)
        figures = {"commands": [dataclasses.asdict(of) for of in measured], "pages_by_second": seconds}
        figures |= {"emptiest_window": empty, "failures": dataclasses.asdict(failures), "missed": missed}
        print(json.dumps(figures, indent=1))
    else:
        print_table(measured)
        print_seconds(web, measured)
        print("emptiest {0} s: {pages} pages, from second {second:.0f} on".format(WINDOW, **empty))
        print(f"URLs that failed because their host stalls: {failures.caused}")
        for kind, detail, count in failures.not_caused:
            print(f"URLs that failed although the proxy did not cause it: {count} {kind}, as in {detail}")
        if CONTROL in missed:
            print(f"`{CONTROL}` also missed: the machine is too busy for ratios; only empty windows and failures count")
        print(f"missed: {', '.join(missed) or '-'}")
    return int(bool(missed or failures.not_caused or not empty["pages"]))


def print_table(measured):
    columns = [("copy", 7), ("live", 7), ("ratio", 7), ("took, copy", 12), ("live", 8), ("recovered", 11), ("fewest", 8)]
    print(f"{'pages per second during':27}" + "".join(f"{name:>{width}}" for name, width in columns) + "  verdict")
    for of in measured:
        if not of.rounds:
            print(f"{of.name:27}  not run: {of.not_run}")
            continue
        shown = sorted(of.rounds, key=lambda one: min(one.ratios()))[(len(of.rounds) - 1) // 2]
        copy, live = statistics.mean(shown.copy), statistics.mean(shown.live)
        verdict = next((one.problem for one in of.rounds if one.problem), "MISSED" if of.is_missed() else "kept")
        verdict += f" ({len(of.rounds)} rounds)" if len(of.rounds) > 1 else ""
        print(
            f"{of.name:27}{copy:7.0f}{live:7.0f}{of.ratio():7.2f}{shown.copy_took:10.1f} s{shown.live_took:6.1f} s"
            f"{of.recovery:9.0f} s{of.fewest:8.0f}  {verdict}"
        )


def by_second(web):
    counts = web.counts
    return [sum(counts[at : at + BINS_PER_SECOND]) for at in range(0, len(counts), BINS_PER_SECOND)]


def print_seconds(web, measured):
    """Prints the pages of every second, 20 per line, with the commands that began in each line."""
    print("pages in each second, and the commands that began then")
    seconds = by_second(web)
    for begin in range(0, len(seconds), 20):
        began = [of.name for of in measured for one in of.rounds if begin <= one.began < begin + 20]
        print(f"{begin:5} " + "".join(f"{pages:5}" for pages in seconds[begin : begin + 20]) + "  " + ", ".join(began))


def emptiest(web, begin, end):
    """The window with the fewest pages between two times."""
    width, counts = WINDOW * BINS_PER_SECOND, web.counts
    begin, end = round(begin * BINS_PER_SECOND), round(end * BINS_PER_SECOND)
    windows = [(sum(counts[at : at + width]), at) for at in range(begin, end - width + 1)]
    pages, at = min(windows, default=(0, 0))
    return {"pages": pages, "second": at / BINS_PER_SECOND}


def say(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
