#!/usr/bin/env python3
"""What a client on the dashboard's event stream costs the crawl.

    scripts/bench-stream.py [--porthole PATH] [--pace 200] [--pages 2500] [--rounds 5] [--cases own,beside] [--json]

Pages of the synthetic web are crawled without delays through a proxy on this machine, which has 2.5 times as many as are crawled and
never fails. `--pace 200` lets every answer take so long that the crawl makes some 200 pages a second, `--pace 0` gives them at
once. Cases:

    own     `crawl --serve`: the dashboard is served by the crawl's process
    beside  `crawl`, and `serve` in another process

Each is crawled without a client and with one that reads the event stream from the first page to the last, in turn, for some
rounds. Figures are the CPU time (user and system) of the crawling process a page, less what a crawl of one page takes. Allowed:
with a client 1.05 times that without. CPU time varies by a tenth from run to run on some machines, more than a client costs. So
the threads that serve the dashboard are also counted by themselves, by the scheduler: what they take is the whole of what `own`
adds to a crawl, and the part of it that comes with the client is what counts. The server of `beside` is another process and adds
nothing to the crawl's own time, so there the crawl's time itself counts, less two standard errors. Exits with 1 if a case is more
than 5%.
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
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
ADDRESS = re.compile(rb"dashboard: (http://\S+)")


def main():
    options = parse_options()
    if not shutil.which(options.porthole):
        sys.exit(f"error: there is no {options.porthole}: cargo build --release -p porthole")
    with tempfile.TemporaryDirectory(prefix="bench-stream-", dir=options.workspaces) as folder:
        folder = pathlib.Path(folder)
        with Synth(options.porthole, CRAWLED_SEED, 3 * options.pages, options.page_bytes) as synth:
            pages, moved, _ = synth.walk(5 * options.pages // 2)
            starts = [url for topic, url in synth.examples() if topic == GOOD]
        with Web(pages, moved, options.pace) as web:
            trained = folder / "trained"
            train(options.porthole, trained, folder / "examples", f'proxy = "http://127.0.0.1:{web.port}"\nloopback = true')
            runs = Bench(options, folder, trained, starts).run()
    sys.exit(report(options, runs))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pace", type=int, default=200, help="pages a second, 0 for as many as possible (default: %(default)s)")
    parser.add_argument("--pages", type=int, default=2_500, help="pages of a crawl (default: %(default)s)")
    parser.add_argument("--page-bytes", type=int, default=37_000, help="bytes of a page (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--cases", default="own,beside", help="default: %(default)s")
    parser.add_argument("--strategy", default="porthole", help="of the crawl (default: %(default)s)")
    parser.add_argument("--workspaces", default="/dev/shm", help="folder for the workspaces (default: %(default)s)")
    parser.add_argument("--porthole", default=str(ROOT / "target/release/porthole"))
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


class Web:
    """Pages of the synthetic web behind a proxy in a process of its own. Every answer takes as long as the pace says."""

    def __init__(self, pages, moved, pace):
        known = set(pages) | set(moved)
        self.answers = {url: ("200 OK", "Content-Type: text/html\r\n", closed(url, body, known)) for url, body in pages.items()}
        self.answers |= {url: ("301 Moved", f"Location: {to}\r\n", b"") for url, to in moved.items()}
        self.wait = WORKERS / pace if pace else 0
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
        self.transport.write(f"HTTP/1.1 {status}\r\n{header}Content-Length: {len(body)}\r\n\r\n".encode() + body)


class Client(threading.Thread):
    """Reads the event stream until it ends, and counts the dots that it is told of."""

    def __init__(self, address, workspace):
        super().__init__(daemon=True)
        parts = urllib.parse.urlsplit(address)
        token = urllib.parse.parse_qs(parts.query)["token"][0]
        self.dots, self.messages = 0, 0
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
        self.connection.request("GET", f"/api/v1/w/{workspace}/events", headers=headers)
        self.response = self.connection.getresponse()
        if self.response.status != 200:
            sys.exit(f"error: the event stream answers {self.response.status}")
        self.start()

    def run(self):
        event = b""
        try:
            while line := self.response.readline():
                if line.startswith(b"event: "):
                    event = line[7:].strip()
                elif line.startswith(b"data: "):
                    self.messages += 1
                    if event == b"dots":
                        self.dots += len(json.loads(line[6:])["seq"])
                    elif event == b"lag":
                        lag = json.loads(line[6:])
                        self.dots += lag["to"] - lag["from"]
        except (OSError, http.client.HTTPException, ValueError):
            pass


class Bench:
    def __init__(self, options, folder, trained, starts):
        self.options, self.folder, self.trained, self.starts = options, folder, trained, starts

    def run(self):
        say(f"load {os.getloadavg()[0]:.1f}")
        # What a crawl takes before its first page.
        once = {case: self.crawl(case, False, ["--pages", 1])["cpu"] for case in self.options.cases.split(",")}
        runs = []
        for number in range(self.options.rounds):
            for case in self.options.cases.split(","):
                # Every other round begins with the client, so that no drift of the machine is on one side.
                for is_watched in [False, True] if number % 2 == 0 else [True, False]:
                    of = self.crawl(case, is_watched, ["--pages", self.options.pages])
                    cpu, serving = (of["cpu"] - once[case]) / of["pages"] * 1e6, of["serving"] / of["pages"] * 1e6
                    run = {"round": number, "case": case, "watched": is_watched, "cpu_us": cpu, "serving_us": serving}
                    runs.append(run | {"pages": of["pages"], "fetches": of["fetches"], "dots": of["dots"]})
                    say(
                        "round {round} {case:6} client {watched!s:5} {cpu_us:6.1f} µs a page, {pages} pages, {fetches} fetches, "
                        "{dots} dots, the server {serving_us:.1f} µs a page".format(**runs[-1])
                    )
        return runs

    def crawl(self, case, is_watched, until):
        """One crawl: CPU seconds of its process and of the server beside it, pages, fetches, dots that the client heard of."""
        workspace = self.folder / "crawled"
        shutil.copytree(self.trained, workspace)
        server, client, log = None, None, self.folder / "log.txt"
        command = [self.options.porthole, "-C", workspace, "crawl", "--polite", "off", "--workers", WORKERS, "--patience", "0"]
        command += ["--strategy", self.options.strategy, *until]
        for url in self.starts:
            command += ["--start", url]
        try:
            if case == "own":
                command.append("--serve=127.0.0.1:0")
            else:
                server = start([self.options.porthole, "serve", workspace, "--listen", "127.0.0.1:0"], self.folder / "server.txt")
                address = address_in(self.folder / "server.txt", server)
                client = Client(address, workspace.name) if is_watched else None
            child = start(command, log)
            if case == "own":
                address = address_in(log, child)
                client = Client(address, workspace.name) if is_watched else None
            usage, status, serving = watch(child)
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode != 0:
                sys.exit(f"error: the crawl ended with {child.returncode}: {log.read_text()[-2000:]}")
        finally:
            server_cpu = end(server)
        with contextlib.closing(sqlite3.connect(workspace / "porthole.db")) as database:
            fetches, = database.execute("select count(*) from fetch").fetchone()
            pages, = database.execute("select count(*) from crawl where state = 1").fetchone()
        shutil.rmtree(workspace)
        if client:
            client.join(10)
            if client.dots < 0.9 * fetches:
                sys.exit(f"error: the client heard of {client.dots} of {fetches} fetches")
        cpu = usage.ru_utime + usage.ru_stime
        return {"cpu": cpu, "serving": serving or server_cpu, "pages": pages, "fetches": fetches, "dots": client.dots if client else 0}


def start(command, output):
    with open(output, "wb") as to:
        return subprocess.Popen([str(part) for part in command], stdout=to, stderr=to)


def watch(child):
    """Waits for a crawl. Its CPU time, its status, and the CPU seconds of its threads that serve the dashboard."""
    seconds = {}
    while True:
        for thread in pathlib.Path(f"/proc/{child.pid}/task").glob("*"):
            with contextlib.suppress(OSError):
                if thread.joinpath("comm").read_text().strip() == "dashboard":
                    seconds[thread.name] = int(thread.joinpath("schedstat").read_text().split()[0]) / 1e9
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            return usage, status, sum(seconds.values())
        time.sleep(0.1)


def end(server):
    """Ends a server. The CPU seconds that it took."""
    if server is None:
        return 0.0
    server.send_signal(signal.SIGINT)
    _, status, usage = os.wait4(server.pid, 0)
    server.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def address_in(output, child):
    """The address of the dashboard, as soon as it was printed."""
    for _ in range(1000):
        if found := ADDRESS.search(output.read_bytes()):
            return found[1].decode()
        if child.poll() is not None:
            break
        threading.Event().wait(0.01)
    sys.exit(f"error: no dashboard: {output.read_text()[-2000:]}")


def report(options, runs):
    shares = {}
    for case in options.cases.split(","):
        of = lambda is_watched, name: [run[name] for run in runs if (run["case"], run["watched"]) == (case, is_watched)]
        alone, watched = of(False, "cpu_us"), of(True, "cpu_us")
        ratio = statistics.mean(watched) / statistics.mean(alone)
        squares = [statistics.variance(some) / len(some) / statistics.mean(some) ** 2 for some in (alone, watched) if len(some) > 1]
        serving = statistics.mean(of(True, "serving_us")) - statistics.mean(of(False, "serving_us"))
        error = ratio * sum(squares) ** 0.5
        shares[case] = serving / statistics.mean(alone) if case == "own" else ratio - 1 - 2 * error
        if not options.json:
            print(
                f"{case:6} {statistics.mean(alone):6.1f} µs a page without a client, {statistics.mean(watched):6.1f} with one: "
                f"{ratio:.3f} times (standard error {error:.3f}); the stream itself {serving:.1f} µs a page"
            )
    if options.json:
        print(json.dumps({"runs": runs, "shares": shares}))
    return int(any(share > MOST - 1 for share in shares.values()))


def say(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
