#!/usr/bin/env python3
"""Attacks a crawl with hostile servers, host names and files, and checks that pages of good hosts are still fetched.

    scripts/besiege.py [--porthole PATH] [--list] [NAME...]

The pace is the number of requests in ten seconds to each of ten good hosts at `delay = 0.5`, as the mean over the hosts. It
is measured once without an attack (about 19) and then in a crawl of the same hosts and the attacking ones. The crawl withstands
an attack if the pace stays at 90% or more. Attacks on the archive, the database or a victim's address have another criterion,
which the last column names. If an attack did not take place, because the crawl never reached it, it counts as successful, since
nothing was shown. Without NAMEs, all attacks run one after the other, in about six minutes. Exits with 1 if one succeeds.

Everything happens in Linux namespaces that end with the script: a network that has only a loopback device, and a private mount
over /etc/resolv.conf, so that the DNS server of this script answers, or does not answer, all lookups of the crawl. No file of
the machine is changed. `unshare` (util-linux) must be allowed to create user namespaces. `clock-back` needs a C compiler, `cc`;
without one it is skipped.
"""

import argparse
import asyncio
import base64
import concurrent.futures
import contextlib
import dataclasses
import fcntl
import functools
import gzip
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER_VARIABLE = "BESIEGE_FOLDER"
GOOD_HOSTS = 10
DELAY = 0.5
WARM_UP, WINDOW = 5, 10
ENOUGH = 0.9
# A run that takes longer than this is killed.
LONGEST_RUN = 900
NAMESERVER = "127.0.0.53"
OWL = "owl nest plumage wings barn hunts prey chicks eggs talons feathers hoot roost beak perch fledgling".split()
BREAD = "dough oven flour yeast crust knead bake loaf butter salt sourdough rise crumb baker toast wheat".split()
COMMON = "time place people small large day night year old new often many region known found part".split()


def main():
    options = parse_options()
    if options.list:
        for name, attack in ATTACKS.items():
            print(f"{name:18}{attack.__doc__.splitlines()[0]}")
    elif FOLDER_VARIABLE in os.environ:
        sys.exit(besiege(options, pathlib.Path(os.environ[FOLDER_VARIABLE])))
    else:
        sys.exit(run_in_namespaces(options))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attacks", nargs="*", metavar="NAME", help="attacks to run (default: all)")
    parser.add_argument("--porthole", default=str(ROOT / "target/release/porthole"))
    parser.add_argument("--strategy", default="soft", help="strategy of the crawl (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="name the attacks")
    options = parser.parse_args()
    if unknown := set(options.attacks) - set(ATTACKS):
        parser.error(f"{unknown.pop()}: there is {', '.join(ATTACKS)}")
    options.attacks = options.attacks or list(ATTACKS)
    return options


def run_in_namespaces(options):
    """Runs this script again in a network that reaches only this machine; all its processes end with it."""
    if not shutil.which(options.porthole):
        sys.exit(f"error: there is no {options.porthole}: cargo build --release -p porthole")
    unshare = ["unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode:
        sys.exit("error: user namespaces are needed: install util-linux, or run as root where they are allowed")
    with tempfile.TemporaryDirectory(prefix="besiege-") as folder:
        inside = os.environ | {FOLDER_VARIABLE: folder}
        child = subprocess.Popen([*unshare, sys.executable, *sys.argv], env=inside)
        try:
            return child.wait(LONGEST_RUN)
        except subprocess.TimeoutExpired:
            sys.exit(f"error: not done after {LONGEST_RUN} s")
        finally:
            child.kill()
            child.wait()


def besiege(options, folder):
    """Runs the attacks, inside the namespaces. Returns the exit code."""
    own_network(folder)
    web, names = Web(), Names()
    with serving(web, names):
        siege = Siege(options, folder, web, names)
        print(f"{'attack':18}{'point':>6}{'undisturbed':>13}{'attacked':>10}  verdict", flush=True)
        results = []
        for name in options.attacks:
            web.forget()
            names.asked.clear()
            results.append(ATTACKS[name](siege))
            print(results[-1].in_words(name), flush=True)
    return int(any(result.passed is False for result in results))


def own_network(folder):
    """Starts the loopback device of the new network, and directs lookups to our own nameserver."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up_and_running = 0x1 | 0x40
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", up_and_running))  # SIOCSIFFLAGS
    for path, text in [
        ("/etc/resolv.conf", f"nameserver {NAMESERVER}\n"),
        ("/etc/nsswitch.conf", "hosts: files dns\n"),
    ]:
        ours = folder / path.replace("/", "_")
        ours.write_text(text)
        if os.path.exists(path):
            subprocess.run(["mount", "--bind", ours, path], check=True)


@dataclasses.dataclass
class Answer:
    """A server's answer to a request."""

    body: bytes
    status: str = "200 OK"
    headers: str = "Content-Type: text/html\r\n"
    # Bytes per second; 0: all at once.
    rate: int = 0


NOT_FOUND = Answer(b"nothing here", "404 Not Found")


class Web:
    """All hosts, on port 80 of every address. Good hosts exist from the beginning, others are added."""

    # A port on which only one address listens.
    SINGLE = ("127.9.0.1", 81)

    def __init__(self):
        self.forget()

    def forget(self):
        """Removes all hosts except the good ones, and all recorded requests."""
        self.requests = []
        self.hosts = {}

    def add(self, host, answer):
        """Adds a host. `answer` maps a path to an `Answer`."""
        self.hosts[host] = answer

    async def talk(self, reader, writer):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                path = head.split(" ", 2)[1]
                host = re.search(r"(?im)^host: *([^:\s]*)", head)[1]
                self.requests.append((time.monotonic(), host, path))
                await self.write(writer, self.answer(host, path))
        writer.close()

    def answer(self, host, path):
        if answer := self.hosts.get(host):
            return answer(path)
        if re.fullmatch(r"good\d+\.test", host):
            return good_page(host, path)
        return NOT_FOUND

    async def write(self, writer, answer):
        length = len(answer.body)
        writer.write(f"HTTP/1.1 {answer.status}\r\n{answer.headers}Content-Length: {length}\r\n\r\n".encode())
        for begin in range(0, length, answer.rate or length or 1):
            writer.write(answer.body[begin : begin + (answer.rate or length)])
            await writer.drain()
            if answer.rate:
                await asyncio.sleep(1)

    def moments(self, hosts, path=None, since=0.0):
        """Times of the requests to hosts, for one path or for all."""
        return [at for at, host, what in self.requests if host in hosts and path in (None, what) and at >= since]

    def pace(self, begin, end):
        """Number of requests to a good host between two times, as the mean over these hosts."""
        inside = [host for at, host, _ in self.requests if begin <= at < end and host.startswith("good")]
        return len(inside) / GOOD_HOSTS


class Names(asyncio.DatagramProtocol):
    """A DNS server. Names with `dead` in them are never answered."""

    def __init__(self):
        # Names that were looked up.
        self.asked = set()

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, packet, sender):
        name, end = read_name(packet)
        self.asked.add(name)
        addresses = addresses_of(name)
        if addresses is None:
            return
        kind = struct.unpack_from(">H", packet, end)[0]
        # 1 is A; no host here has another kind of address.
        addresses = addresses if kind == 1 else []
        head = packet[:2] + struct.pack(">HHHHH", 0x8180, 1, len(addresses), 0, 0)
        record = struct.pack(">HHHIH", 0xC00C, 1, 1, 60, 4)
        answers = b"".join(record + socket.inet_aton(address) for address in addresses)
        self.transport.sendto(head + packet[12 : end + 4] + answers, sender)


def read_name(packet):
    """The name that a DNS packet asks for, and where it ends."""
    labels, at = [], 12
    while length := packet[at]:
        labels.append(packet[at + 1 : at + 1 + length].decode("latin-1"))
        at += length + 1
    return ".".join(labels).lower(), at + 1


def addresses_of(name):
    """The addresses of a name; None: no answer at all. Each good host has its own network and domain."""
    if "dead" in name:
        return None
    if found := re.fullmatch(r"good(\d+)\.test", name):
        return [f"127.1.{found[1]}.1"]
    if found := re.fullmatch(r"two(\d+)\.test", name):
        # At the first address, nothing listens on this port.
        return [f"127.8.{int(found[1]) % 250}.{int(found[1]) // 250 + 1}", Web.SINGLE[0]]
    number = zlib.crc32(name.encode())
    return [f"127.2.{number % 250}.{number // 250 % 250 + 1}"]


@contextlib.contextmanager
def serving(web, names):
    """Runs the servers in a thread."""
    loop = asyncio.new_event_loop()

    async def listen():
        for address in [("0.0.0.0", 80), Web.SINGLE]:
            await asyncio.start_server(web.talk, *address, backlog=1000, limit=1 << 20)
        await loop.create_datagram_endpoint(lambda: names, (NAMESERVER, 53))

    loop.run_until_complete(listen())
    loop.set_exception_handler(lambda *_: None)
    threading.Thread(target=loop.run_forever, daemon=True).start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(loop.stop)


def page(text, links, title="a page"):
    anchors = "\n".join(f"<a href={link}>more</a>" for link in links)
    return Answer(f"<html><title>{title}</title><p>{text}</p>\n{anchors}".encode())


def words(chance, *shares):
    """A text with a given number of words from each list, and some words that occur on no other page.

    All words of a list occur equally often, so that the critic gives each of them the same weight."""
    chosen = []
    for of, count in shares:
        chosen += of * (count // len(of)) + chance.sample(of, count % len(of))
    chosen += [f"w{chance.randrange(10**8)}" for _ in range(20)]
    chance.shuffle(chosen)
    return " ".join(chosen)


@functools.cache
def owl_text(number=0):
    return words(random.Random(number), (OWL, 80), (COMMON, 20))


def good_page(host, path):
    """A page with links to its own host. Links of pages that are clearly about owls have a higher priority."""
    if path == "/robots.txt":
        return NOT_FOUND
    number = int(re.sub(r"\D", "", path) or 0)
    text = words(random.Random(host + path), (OWL, 6), (BREAD, 4), (COMMON, 64))
    return page(text, [f"/page/{5 * number + link}" for link in range(1, 6)])


@dataclasses.dataclass
class Result:
    """The result of an attack."""

    point: str
    # None if the attack was skipped.
    passed: bool | None
    undisturbed: float | None = None
    attacked: float | None = None
    note: str = ""

    def only_if(self, took_place):
        """This result, or a failure if the attack did not take place."""
        if self.passed and not took_place:
            return dataclasses.replace(self, passed=False, note=f"the attack did not take place {self.note}".strip())
        return self

    def in_words(self, name):
        figure = lambda pace: "-" if pace is None else f"{pace:.1f}"
        verdict = {True: "held", False: "BROKE", None: "skipped"}[self.passed]
        note = f": {self.note}" if self.note else ""
        return f"{name:18}{self.point:>6}{figure(self.undisturbed):>13}{figure(self.attacked):>10}  {verdict}{note}"


class Siege:
    """The web, and a trained workspace of which every attack gets a copy."""

    def __init__(self, options, folder, web, names):
        self.options, self.folder, self.web, self.names = options, folder, web, names
        self.trained = folder / "trained"
        self.train()

    def train(self):
        examples = self.folder / "examples"
        for topic, of, other in [("Owls", OWL, BREAD), ("Bread", BREAD, OWL)]:
            (examples / topic).mkdir(parents=True)
            for number in range(12):
                # Words of the other topic also occur, so that no single word decides.
                text = words(random.Random(f"{topic}{number}"), (of, 48), (other, 16), (COMMON, 32))
                (examples / topic / f"{number}.txt").write_text(text)
        for command in [
            ["init", self.trained],
            ["-C", self.trained, "examples", "import", examples],
            ["-C", self.trained, "topics", "mark", "/Owls"],
            ["-C", self.trained, "train"],
        ]:
            subprocess.run([self.options.porthole, *command], check=True, capture_output=True, timeout=60)

    @contextlib.contextmanager
    def workspace(self, delay=DELAY):
        """Creates a copy of the workspace."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="workspace-", dir=self.folder))
        try:
            shutil.copytree(self.trained, folder, dirs_exist_ok=True)
            settings = (folder / "porthole.toml").read_text().replace("[fetch]\n", "[fetch]\nloopback = true\n", 1)
            (folder / "porthole.toml").write_text(settings.replace("[polite]\n", f"[polite]\ndelay = {delay}\n", 1))
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def crawl(self, workspace, starts, *more, strategy=None, environment=None):
        """A crawl that ends with the block."""
        command = [self.options.porthole, "-C", workspace, "crawl", "--strategy", strategy or self.options.strategy]
        command += ["--patience", "0", "--time", "120s", *more]
        for url in starts:
            command += ["--start", url]
        with open(workspace / "log.txt", "ab") as log:
            child = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | (environment or {}))
            try:
                yield child
            finally:
                stop(child)

    def run(self, *command):
        """Runs a command with a time limit. Returns its exit code and output."""
        done = subprocess.run([self.options.porthole, *command], capture_output=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    @functools.cached_property
    def undisturbed(self):
        with self.workspace() as workspace, self.crawl(workspace, GOOD_STARTS):
            pace = self.pace(WARM_UP)
        if pace < 10:
            sys.exit(f"error: the undisturbed pace is {pace}; this machine is too busy")
        self.web.requests.clear()
        return pace

    def pace(self, warm_up=WARM_UP):
        time.sleep(warm_up)
        begin = time.monotonic()
        time.sleep(WINDOW)
        return self.web.pace(begin, begin + WINDOW)

    def attack(self, point, starts, took_place, warm_up=WARM_UP):
        """Crawls the good hosts together with these starts, compares the pace, and checks that the attack took place."""
        undisturbed = self.undisturbed
        with self.workspace() as workspace, self.crawl(workspace, GOOD_STARTS + starts) as child:
            attacked = self.pace(warm_up)
            ended = end_in_words(child)
        result = Result(point, not ended and attacked >= ENOUGH * undisturbed, undisturbed, attacked, ended)
        return result.only_if(took_place())


GOOD_STARTS = [f"http://good{number}.test/" for number in range(GOOD_HOSTS)]


def stop(child):
    """Ends a crawl by SIGINT, and by SIGKILL if that takes too long."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            child.kill()
    child.wait()


def end_in_words(child):
    """How a crawl ended that should still run; empty if it runs."""
    code = child.poll()
    if code is None:
        return ""
    return f"the crawl was killed by {signal.Signals(-code).name}" if code < 0 else f"the crawl ended with {code}"


def gzip_members(siege):
    """G1: 6,000 empty gzip members as a page, as a robots.txt and as an example."""
    body = gzip.compress(b"") * 6000
    bomb = Answer(body, headers="Content-Type: text/html\r\nContent-Encoding: gzip\r\n")
    siege.web.add("members.test", lambda path: NOT_FOUND if path == "/robots.txt" else bomb)
    siege.web.add("rules.test", lambda path: bomb if path == "/robots.txt" else NOT_FOUND)
    met = lambda: siege.web.moments(["members.test"], "/") and siege.web.moments(["rules.test"], "/robots.txt")
    result = siege.attack("G1", ["http://members.test/", "http://rules.test/"], met)
    with siege.workspace() as workspace:
        code, _ = siege.run("-C", workspace, "examples", "add", "/Owls", "http://members.test/")
    if code < 0:
        result.passed = False
        result.note += f"; examples add was killed by {signal.Signals(-code).name}"
    return result


def deadly_page(siege):
    """G1: a page that crashes the process is dropped after some crashes, and no other page is."""
    undisturbed, deaths, most = siege.undisturbed, 0, 6
    siege.web.add("fatal.test", lambda path: NOT_FOUND if path == "/robots.txt" else Answer(b"x" * 60, rate=1))
    with siege.workspace() as workspace:
        while deaths < most:
            with siege.crawl(workspace, GOOD_STARTS + ["http://fatal.test/"]) as child:
                began = time.monotonic()
                while time.monotonic() < began + 6 and not siege.web.moments(["fatal.test"], "/", began):
                    time.sleep(0.1)
                if not siege.web.moments(["fatal.test"], "/", began):
                    pace = siege.pace(0)
                    passed = pace >= ENOUGH * undisturbed and not end_in_words(child)
                    return Result("G1", passed, undisturbed, pace, f"dropped after {deaths} crashes").only_if(deaths)
                # It has been requested, and the crawl has had time to record that.
                time.sleep(1)
                child.kill()
                child.wait()
                deaths += 1
    return Result("G1", False, undisturbed, None, f"requested again after each of {most} crashes")


def long_values(siege):
    """G2: a robots rule of 490,000 characters, a title of 7 MB, a Content-Type of 60 KB; at most 50 MB may be stored."""
    rules = b"User-agent: *\nDisallow: /f" + b"*" * 490_000
    siege.web.add("rules.test", lambda path: Answer(rules, headers="") if path == "/robots.txt" else links)
    links = page(owl_text(), [f"/f{number}" for number in range(2000)])
    title = page(owl_text(1), [], title="owl " * 1_750_000)
    siege.web.add("title.test", lambda path: NOT_FOUND if path == "/robots.txt" else title)
    kind = Answer(b"?", headers=f"Content-Type: application/{'x' * 60_000}\r\n")
    siege.web.add("kind.test", lambda path: NOT_FOUND if path == "/robots.txt" else kind)
    undisturbed = siege.undisturbed
    starts = ["http://rules.test/", "http://title.test/", "http://kind.test/"]
    with siege.workspace() as workspace:
        with siege.crawl(workspace, GOOD_STARTS + starts) as child:
            pace = siege.pace()
            ended = end_in_words(child)
        stored = sum(file.stat().st_size for file in workspace.glob("porthole.db*")) / 1e6
        longest = longest_values(workspace)
        printed = max(len(siege.run("-C", workspace, "explain", url)[1]) for url in [*starts, "http://rules.test/f1"])
    held = stored < 50 and max(longest.values()) <= 10_000 and printed <= 20_000
    passed = held and not ended and pace >= ENOUGH * undisturbed
    values = ", ".join(f"{column} {length:,}" for column, length in longest.items())
    note = f"database {stored:.0f} MB, longest {values}; explain prints {printed:,} bytes {ended}".strip()
    met = all(siege.web.moments([host], "/") for host in ["rules.test", "title.test", "kind.test"])
    return Result("G2", passed, undisturbed, pace, note).only_if(met)


def longest_values(workspace):
    with contextlib.closing(open_database(workspace)) as reader:
        columns = ["detail", "title"]
        lengths = ", ".join(f"coalesce(max(length({column})), 0)" for column in columns)
        return dict(zip(columns, reader.execute(f"select {lengths} from crawl").fetchone()))


def open_database(workspace):
    return sqlite3.connect(f"file:{workspace / 'porthole.db'}?mode=ro", uri=True, timeout=10)


def dead_names(siege):
    """G3: a page with links to 3,000 names, each in its own domain, for which no nameserver answers."""
    return dead_hosts(siege, [f"dead{number}.test" for number in range(3000)])


def dead_subdomains(siege):
    """G3: the same, with all names below one domain."""
    return dead_hosts(siege, [f"w{number}.dead.test" for number in range(3000)])


def dead_hosts(siege, names):
    starts = hub_of(siege, [f"http://{name}/" for name in names])
    return siege.attack("G3", starts, lambda: siege.names.asked.intersection(names))


def slow_addresses(siege):
    """G3: 300 addresses in 250 networks that send 300 bytes per second."""
    addresses = [f"127.3.{number % 250}.{number // 250 + 1}" for number in range(300)]
    return slow_hosts(siege, addresses, lambda path: NOT_FOUND if path == "/robots.txt" else SLOW)


def slow_network(siege):
    """G3: 250 addresses in one network that send 300 bytes per second, also for robots.txt."""
    return slow_hosts(siege, [f"127.4.0.{number + 1}" for number in range(250)], lambda path: SLOW)


SLOW = Answer(b"owl " * 15_000, rate=300)


def slow_hosts(siege, addresses, answer):
    for address in addresses:
        siege.web.add(address, answer)
    starts = hub_of(siege, [f"http://{address}/" for address in addresses])
    return siege.attack("G3", starts, lambda: siege.web.moments(addresses))


def hub_of(siege, links):
    """A start page with these links."""
    siege.web.add("hub.test", lambda path: NOT_FOUND if path == "/robots.txt" else page(owl_text(), links))
    return ["http://hub.test/"]


def large_site(siege):
    """G4: a site with 200,000 links that are better than those of all others; the pace is that from second 32 on."""
    # 10,000 links are read per page. URLs of a good host that were taken before last for half a minute.
    lists = [page(owl_text(part), [f"/x/{part}/{number}" for number in range(10_000)]) for part in range(20)]

    def answer(path):
        if path == "/robots.txt":
            return NOT_FOUND
        found = re.fullmatch(r"/list(\d+)", path)
        return lists[int(found[1])] if found else page(owl_text(path), [])

    siege.web.add("large.test", answer)
    # At least 100,000 links must have been found.
    met = lambda: sum(path.startswith("/list") for _, _, path in siege.web.requests) >= 15
    return siege.attack("G4", [f"http://large.test/list{part}" for part in range(20)], met, warm_up=32)


def power_cut(siege):
    """G5: 3,000 bytes are missing at the end of the archive. The crawl continues, and no row refers to another page's record."""
    # The default strategy reads archived pages when it resumes, soft focus does not.
    with concurrent.futures.ThreadPoolExecutor() as both:
        results = list(both.map(functools.partial(resume_after_power_cut, siege), ["soft", "porthole"]))
    notes = [note for _, note in results]
    return Result("G5", all(passed for passed, _ in results), note=f"soft: {notes[0]}; porthole: {notes[1]}")


def resume_after_power_cut(siege, strategy):
    """Whether a crawl resumes correctly, and a note about it."""
    with siege.workspace() as workspace:
        with siege.crawl(workspace, GOOD_STARTS, strategy=strategy) as child:
            time.sleep(8)
            child.kill()
        segment = last_segment(workspace)
        os.truncate(segment, segment.stat().st_size - 3000)
        before = count_fetches(workspace)
        for _ in range(2):
            with siege.crawl(workspace, GOOD_STARTS, strategy=strategy) as child:
                time.sleep(5)
                if ended := end_in_words(child):
                    log = (workspace / "log.txt").read_text(errors="replace").split("\n")
                    return False, f"{ended} ({[line for line in log if line][-1]})"
        wrong, right = misplaced_rows(workspace)
        fetches = count_fetches(workspace) - before
    return fetches > 0 and not wrong, f"{fetches} fetches, {wrong} of {wrong + right} rows refer to another page"


def count_fetches(workspace):
    with contextlib.closing(open_database(workspace)) as reader:
        return reader.execute("select count(*) from crawl where state = 1").fetchone()[0]


def last_segment(workspace):
    return max(path for path in (workspace / "pages").iterdir() if path.name.endswith(".warc.gz"))


def misplaced_rows(workspace):
    """The number of rows that refer to another page's record or into the middle of one, and the number of the others.

    A row without a record is no error: a power cut may have lost it."""
    segments = {int(re.search(r"\d+", path.name)[0]): path.read_bytes() for path in (workspace / "pages").glob("*.warc.gz")}
    with contextlib.closing(open_database(workspace)) as reader:
        rows = reader.execute('select url, segment, "offset", length from crawl where segment is not null').fetchall()
    record = lambda segment, begin, length: segments.get(segment, b"")[begin : begin + length]
    verdicts = [is_record_of(url, record(*span)) for url, *span in rows]
    return verdicts.count(False), verdicts.count(True)


def is_record_of(url, packed):
    """Whether it is the record of a URL; None if there is no record."""
    if not packed:
        return None
    try:
        head = zlib.decompressobj(31).decompress(packed, 4096).decode("latin-1")
    except zlib.error:
        return False
    return re.search(r"(?im)^warc-target-uri: *<?([^>\s]*)", head + "\nwarc-target-uri: \n")[1] == url


def wildcard_rules(siege):
    """G6: 23,500 robots rules with wildcards, and 5,000 long URLs that the shortest of them forbids."""
    rules = "".join(f"Disallow: /*a*b*{number:05}\n" for number in range(23_499))
    rules = Answer(f"User-agent: *\nDisallow: /f\n{rules}".encode(), headers="Content-Type: text/plain\r\n")
    links = page(owl_text(), [f"/f{number}/{'ab' * 700}" for number in range(5000)])
    siege.web.add("wild.test", lambda path: rules if path == "/robots.txt" else links)
    return siege.attack("G6", ["http://wild.test/"], lambda: siege.web.moments(["wild.test"], "/"))


def flipped_byte(siege):
    """G7: a flipped byte at 1 MB and 2,000 bytes missing at the end. The rest of the archive must be kept."""
    siege.web.add("fat.test", fat_page)
    with siege.workspace(delay=0) as workspace:
        with siege.crawl(workspace, ["http://fat.test/0"], "--polite", "off", "--pages", "60") as child:
            child.wait(60)
        segment = last_segment(workspace)
        size = segment.stat().st_size
        if size < 2_000_000:
            return Result("G7", True, note=f"(the archive has only {size:,} bytes)").only_if(False)
        with open(segment, "r+b") as file:
            file.seek(1_000_000)
            byte = file.read(1)[0]
            file.seek(1_000_000)
            file.write(bytes([byte ^ 0x55]))
            file.truncate(size - 2000)
        with siege.crawl(workspace, ["http://fat.test/1000"], "--polite", "off", "--pages", "5") as child:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(20)
            ended = end_in_words(child) or "the crawl did not end"
        left = sum(path.stat().st_size for path in segment.parent.iterdir())
    note = f"{left / 1e6:.1f} of {size / 1e6:.1f} MB are left; {ended}"
    return Result("G7", left >= 0.95 * size, note=note)


def fat_page(path):
    """A page of 100 KB that compresses badly."""
    number = int(re.sub(r"\D", "", path) or 0)
    noise = base64.b64encode(random.Random(number).randbytes(75_000)).decode()
    return page(owl_text(number) + " " + noise, [f"/{2 * number + link}" for link in (1, 2)])


def two_addresses(siege):
    """G8: 300 names with a closed address and then a victim's. At `delay = 2` the victim may get one request every 2 s."""
    pages = lambda path: NOT_FOUND if path == "/robots.txt" else page(owl_text(path), [f"{path}{link}" for link in range(5)])
    names = [f"two{number}.test" for number in range(300)]
    for name in names:
        siege.web.add(name, pages)
    delay, seconds = 2, 10
    with siege.workspace(delay) as workspace:
        with siege.crawl(workspace, hub_of(siege, [f"http://{name}:{Web.SINGLE[1]}/" for name in names])):
            until = time.monotonic() + 20
            while time.monotonic() < until and not siege.web.moments(names):
                time.sleep(0.05)
            time.sleep(seconds)
    moments = siege.web.moments(names)
    asked = sum(at < moments[0] + seconds for at in moments)
    # No request to the victim is also good, if the names were looked up.
    result = Result("G8", asked <= seconds / delay + 2, note=f"{asked} requests to one address in {seconds} s")
    return result.only_if(siege.names.asked.intersection(names))


# A library that is loaded before the C library. The offset of the clock, in seconds, is read from a file. libfaketime cannot be
# used: it allocates memory while it starts, and the allocator asks for the time while that starts.
OTHER_CLOCK = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = syscall(SYS_clock_gettime, clock, now);
    char text[32] = "";
    int file = result || clock != CLOCK_REALTIME ? -1 : open(getenv("CLOCK_OFFSET_FILE"), O_RDONLY);
    if (file < 0) return result;
    if (read(file, text, sizeof text - 1) > 0) now->tv_sec += atol(text);
    close(file);
    return result;
}
"""


def clock_back(siege):
    """G10: the clock is set back an hour."""
    library = build_clock(siege.folder)
    if not library:
        return Result("G10", None, note="there is no C compiler")
    undisturbed, offset = siege.undisturbed, siege.folder / "clock"
    offset.write_text("0")
    environment = {"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(offset)}
    with siege.workspace() as workspace, siege.crawl(workspace, GOOD_STARTS, environment=environment) as child:
        before = siege.pace()
        offset.write_text("-3600")
        pace = siege.pace(1)
        ended = end_in_words(child)
        is_loaded = not ended and is_set_back(child.pid, environment)
    passed = not ended and pace >= ENOUGH * undisturbed
    result = Result("G10", passed, undisturbed, pace, f"{before:.1f} before the clock was set back {ended}".strip())
    return result.only_if(is_loaded)


def build_clock(folder):
    """The path of the library, or None if there is no compiler."""
    if not shutil.which("cc"):
        return None
    library = folder / "other-clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", library], input=OTHER_CLOCK, text=True, check=True)
    return library


def is_set_back(process, environment):
    """Whether a process has loaded the library, and the library works."""
    shown = subprocess.run(["date", "+%s"], env=os.environ | environment, capture_output=True, timeout=10).stdout
    return "other-clock" in maps_of(process) and abs(int(shown) - time.time() + 3600) < 60


def maps_of(process):
    # Processes of a new namespace have other ids in the /proc of the old one.
    with contextlib.suppress(OSError):
        for status in pathlib.Path("/proc").glob("[0-9]*/status"):
            if re.search(rf"(?m)^NSpid:.*\t{process}$", status.read_text()):
                return (status.parent / "maps").read_text()
    return ""


ATTACKS = {
    "gzip-members": gzip_members,
    "deadly-page": deadly_page,
    "long-values": long_values,
    "dead-names": dead_names,
    "dead-subdomains": dead_subdomains,
    "slow-addresses": slow_addresses,
    "slow-network": slow_network,
    "large-site": large_site,
    "power-cut": power_cut,
    "wildcard-rules": wildcard_rules,
    "flipped-byte": flipped_byte,
    "two-addresses": two_addresses,
    "clock-back": clock_back,
}


if __name__ == "__main__":
    main()
