#!/usr/bin/env python3
"""What a client on the dashboard's event stream costs the crawl.

    scripts/bench-stream.py [--porthole PATH] [--pace 200] [--window 5] [--pairs 8] [--cases own,beside] [--json]

Pages of the synthetic web are crawled without delays through a proxy on this machine, which has twice as many as are crawled and
never fails. Every answer takes so long that the crawl makes about --pace pages a second. Cases:

    own     `crawl --serve`: the dashboard is served by the crawl's process
    beside  `crawl`, and `serve` in another process

Each case is one crawl, cut into pairs of windows of --window seconds. In one window of each pair a client reads the event stream, in
the other there is none; which one comes first alternates. So the speed of the machine, which varies by a tenth from crawl to crawl,
and the growth of the database affect both. The figure is the CPU time (user and system) of the crawling process per page with a
client, compared with that without; allowed is 1.05 times, less two standard errors of the mean over pairs. The threads (own) or the
process (beside) that serve the dashboard are counted separately, too. Exits with 1 if a case is more than 5%.
"""

import argparse
import asyncio
import collections
import contextlib
import http.client
import json
import math
import multiprocessing
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from synth_web import CRAWLED_SEED, GOOD, LINK, Synth, target, train

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKERS, MOST = 64, 1.05
# Seconds before the first window, and before each.
WARM_UP, SETTLING = 5, 0.5
ADDRESS = re.compile(rb"dashboard: (http://\S+)")


def main():
    options = parse_options()
    if not shutil.which(options.porthole):
        sys.exit(f"error: there is no {options.porthole}: cargo build --release -p porthole")
    with tempfile.TemporaryDirectory(prefix="bench-stream-", dir=options.workspaces) as folder:
        folder = pathlib.Path(folder)
        wanted = 2 * options.pace * math.ceil(WARM_UP + 2 * options.pairs * options.window)
        with Synth(options.porthole, CRAWLED_SEED, 3 * wanted // 2, options.page_bytes) as synth:
            pages, moved, _ = synth.walk(wanted)
            starts = [url for topic, url in synth.examples() if topic == GOOD]
        with Web(pages, moved, options.pace) as web:
            trained = folder / "trained"
            train(options.porthole, trained, folder / "examples", f'proxy = "http://127.0.0.1:{web.port}"\nloopback = true')
            bench = Bench(options, folder, trained, starts, web)
            say(f"load {os.getloadavg()[0]:.1f}")
            windows = {case: bench.crawl(case) for case in options.cases.split(",")}
    sys.exit(report(options, windows))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pace", type=int, default=200, help="pages a second (default: %(default)s)")
    parser.add_argument("--window", type=float, default=5, help="seconds of a window (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=8, help="pairs of windows of a crawl (default: %(default)s)")
    parser.add_argument("--page-bytes", type=int, default=37_000, help="bytes of a page (default: %(default)s)")
    parser.add_argument("--cases", default="own,beside", help="default: %(default)s")
    parser.add_argument("--strategy", default="porthole", help="of the crawl (default: %(default)s)")
    parser.add_argument("--workspaces", default="/dev/shm", help="folder for the workspaces (default: %(default)s)")
    parser.add_argument("--porthole", default=str(ROOT / "target/release/porthole"))
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


class Web:
    """Pages of the synthetic web behind a proxy in a process of its own, which counts the pages that it has answered with."""

    def __init__(self, pages, moved, pace):
        known = set(pages) | set(moved)
        self.answers = {url: ("200 OK", "Content-Type: text/html\r\n", closed(url, body, known)) for url, body in pages.items()}
        self.answers |= {url: ("301 Moved", f"Location: {to}\r\n", b"") for url, to in moved.items()}
        self.wait = WORKERS / pace
        self.answered = multiprocessing.Value("q", 0)
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.port = self.socket.getsockname()[1]

    def __enter__(self):
        # The parent's copy of the socket is closed, so that nothing is accepted once the server has ended.
        self.process = multiprocessing.get_context("fork").Process(target=self.serve, daemon=True)
        self.process.start()
        self.socket.close()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.join()

    def serve(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)

        async def forever():
            loop = asyncio.get_running_loop()
            server = await loop.create_server(lambda: Connection(self, loop), sock=self.socket)
            await server.serve_forever()

        asyncio.run(forever())


def closed(url, body, known):
    """The page without links that lead out of the known pages: every crawl makes the same fetches, and none fails."""
    is_known = lambda found: target(url, b"".join(group or b"" for group in found.groups())) in known
    return LINK.sub(lambda found: found[0] if is_known(found) else b"<a", body)


class Connection(asyncio.Protocol):
    """A connection to the proxy. It has one request under way at a time, as HTTP/1.1 clients do."""

    def __init__(self, web, loop):
        self.web, self.loop, self.received = web, loop, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.received += data
        if self.received.endswith(b"\r\n\r\n"):
            url, self.received = self.received.split(b" ", 2)[1].decode("latin-1"), b""
            self.loop.call_later(self.web.wait, self.answer, url)

    def answer(self, url):
        status, header, body = self.web.answers.get(url, ("404 Not Found", "", b""))
        self.web.answered.value += bool(body)
        self.transport.write(f"HTTP/1.1 {status}\r\n{header}Content-Length: {len(body)}\r\n\r\n".encode() + body)


class Client(threading.Thread):
    """Reads the event stream until it is closed, and counts the dots that it is told of."""

    def __init__(self, address, workspace):
        super().__init__(daemon=True)
        parts = urllib.parse.urlsplit(address)
        token = urllib.parse.parse_qs(parts.query)["token"][0]
        self.dots = 0
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
        self.connection.request("GET", f"/api/v1/w/{workspace}/events", headers=headers)
        self.socket = self.connection.sock
        self.response = self.connection.getresponse()
        if self.response.status != 200:
            sys.exit(f"error: the event stream answers {self.response.status}")
        self.start()

    def run(self):
        event = b""
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            while line := self.response.readline():
                if line.startswith(b"event: "):
                    event = line[7:].strip()
                elif line.startswith(b"data: ") and event == b"dots":
                    self.dots += len(json.loads(line[6:])["seq"])
                elif line.startswith(b"data: ") and event == b"lag":
                    lag = json.loads(line[6:])
                    self.dots += lag["to"] - lag["from"]

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.join(10)


# One window: whether there was a client, pages that were served, and CPU seconds of the crawl and of what serves the dashboard.
Window = collections.namedtuple("Window", "watched pages cpu serving")


class Bench:
    def __init__(self, options, folder, trained, starts, web):
        self.options, self.folder, self.trained, self.starts, self.web = options, folder, trained, starts, web

    def crawl(self, case):
        """The windows of one crawl, in pairs."""
        workspace = self.folder / "crawled"
        shutil.copytree(self.trained, workspace)
        server, log = None, self.folder / "log.txt"
        command = [self.options.porthole, "-C", workspace, "crawl", "--polite", "off", "--workers", WORKERS, "--patience", "0"]
        command += ["--strategy", self.options.strategy]
        for url in self.starts:
            command += ["--start", url]
        if case == "own":
            command.append("--serve=127.0.0.1:0")
        else:
            server = start([self.options.porthole, "serve", workspace, "--listen", "127.0.0.1:0"], self.folder / "server.txt")
        child = start(command, log)
        try:
            address = address_in(self.folder / "server.txt", server) if server else address_in(log, child)
            time.sleep(WARM_UP)
            windows = []
            for number in range(2 * self.options.pairs):
                # The client comes first in every other pair: without, with, with, without, …
                client = Client(address, workspace.name) if number % 4 in (1, 2) else None
                windows.append(self.window(child, server, client))
                say("{} client {!s:5} {} pages, {:.1f} µs a page, what serves {:.1f} µs a page".format(
                    case, bool(client), windows[-1].pages, *per_page(windows[-1])))
            if child.poll() is not None:
                sys.exit(f"error: the crawl has ended: {log.read_text()[-2000:]}")
        finally:
            for process in filter(None, [child, server]):
                process.send_signal(signal.SIGINT)
                process.wait(60)
        shutil.rmtree(workspace)
        return windows

    def window(self, child, server, client):
        """One window. A moment passes first, in which a client that came or went has had its effect."""
        time.sleep(SETTLING)
        dots = client.dots if client else 0
        before = self.web.answered.value, cpu_of(child), serving_cpu(child, server)
        time.sleep(self.options.window)
        pages, cpu, serving = self.web.answered.value, cpu_of(child), serving_cpu(child, server)
        pages -= before[0]
        # A thread that has ended is not among them any more.
        serving = sum(of_thread - before[2].get(thread, 0) for thread, of_thread in serving.items())
        if client:
            client.close()
            if client.dots - dots < 0.8 * pages:
                sys.exit(f"error: the client heard of {client.dots - dots} of {pages} pages")
        return Window(bool(client), pages, cpu - before[1], serving)


def start(command, output):
    with open(output, "wb") as to:
        return subprocess.Popen([str(part) for part in command], stdout=to, stderr=to)


def cpu_of(process):
    """The CPU seconds that a process has taken."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def serving_cpu(child, server):
    """The CPU seconds of each thread of the crawl, or of the other process, that serves the dashboard."""
    seconds = {}
    for thread in pathlib.Path(f"/proc/{(server or child).pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            if server or thread.joinpath("comm").read_text().strip() == "dashboard":
                seconds[thread.name] = int(thread.joinpath("schedstat").read_text().split()[0]) / 1e9
    return seconds


def per_page(window):
    """Microseconds of the crawl, and of what serves the dashboard, per page."""
    return window.cpu / window.pages * 1e6, window.serving / window.pages * 1e6


def address_in(output, child):
    """The address of the dashboard, as soon as it was printed."""
    for _ in range(1000):
        if found := ADDRESS.search(output.read_bytes()):
            return found[1].decode()
        if child.poll() is not None:
            break
        threading.Event().wait(0.01)
    sys.exit(f"error: no dashboard: {output.read_text()[-2000:]}")


def report(options, windows):
    is_missed = False
    for case, of_case in windows.items():
        pairs = [sorted(pair, key=lambda window: window.watched) for pair in zip(of_case[::2], of_case[1::2])]
        (alone, served_alone), (watched, served) = (
            [statistics.mean(column) for column in zip(*(per_page(pair[side]) for pair in pairs))] for side in (0, 1)
        )
        differences = [per_page(pair[1])[0] - per_page(pair[0])[0] for pair in pairs]
        error = statistics.stdev(differences) / len(pairs) ** 0.5 / alone
        is_missed |= watched / alone - 2 * error > MOST
        if not options.json:
            print(
                f"{case:6} {alone:6.1f} µs a page without a client, {watched:6.1f} with one: {watched / alone:.3f} times "
                f"(standard error {error:.3f}); what serves takes {served_alone:.1f} and {served:.1f} µs a page"
            )
    if options.json:
        print(json.dumps({case: [window._asdict() for window in of_case] for case, of_case in windows.items()}))
    return int(is_missed)


def say(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
