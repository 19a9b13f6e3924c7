"""A synthetic web over HTTP, and a workspace with a trained critic, for the scripts that measure whole crawls."""

import html
import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

GOOD = "Recreation/Cycling"
# Pages that the critic learns from belong to other synthetic webs than the one that is crawled.
CRAWLED_SEED, EXAMPLE_SEEDS = 1, range(2, 7)
LINK = re.compile(rb"""(?i)<a href=(?:'([^']*)'|"([^"]*)"|([^\s>'"]+))""")


def save_examples(porthole, examples):
    """Saves pages of every topic, in one folder per topic."""
    for seed in EXAMPLE_SEEDS:
        with Synth(porthole, seed) as web:
            for topic, url in web.examples():
                body = web.fetch(url)[1]
                folder = examples / topic
                folder.mkdir(parents=True, exist_ok=True)
                if body is not None:
                    (folder / f"{seed}-{len(os.listdir(folder))}.html").write_bytes(body)


def train(porthole, workspace, examples, fetch_settings):
    """Creates a workspace with a critic of all topics, of which `GOOD` is marked. Returns the number of topics."""
    save_examples(porthole, examples)
    topics = sum(1 for _, folders, files in os.walk(examples) if files)
    for command in [
        ["init", workspace],
        ["-C", workspace, "examples", "import", examples],
        ["-C", workspace, "topics", "mark", GOOD],
        ["-C", workspace, "train"],
    ]:
        subprocess.run([porthole, *command], check=True, capture_output=True)
    settings = workspace / "porthole.toml"
    settings.write_text(settings.read_text().replace("[fetch]\n", f"[fetch]\n{fetch_settings}\n", 1))
    shutil.rmtree(examples)
    return topics


def run(command):
    """Runs a command that must succeed."""
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def true_labels(porthole, seed, pages, page_bytes):
    """The topics of the pages of a synthetic web by their URLs."""
    web = ["--pages", pages, "--page-bytes", page_bytes, "--seed", seed]
    command = [str(part) for part in [porthole, "lab", "synth", *web, "--labels"]]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return dict(line.split("\t") for line in lines)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Child:
    """A server that runs during a `with` block, which is entered when its port answers."""

    def __init__(self, command, port):
        self.command = [str(part) for part in command]
        self.port = port

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        sys.exit(f"error: {' '.join(self.command)} does not serve")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Synth(Child):
    """A synthetic web, served as a proxy."""

    THREADS = 8

    def __init__(self, porthole, seed, pages=20_000, page_bytes=37_000):
        port = free_port()
        web = ["--pages", pages, "--page-bytes", page_bytes, "--seed", seed]
        super().__init__([porthole, "lab", "synth", *web, "--serve", f"127.0.0.1:{port}"], port)
        self.local = threading.local()
        self.slow = set()

    def fetch(self, url):
        """The URL at which redirects end, and the page there; None if there is none or if it takes too long."""
        for _ in range(6):
            host = urllib.parse.urlsplit(url).netloc
            if host in self.slow:
                return url, None
            if not hasattr(self.local, "connection"):
                self.local.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=0.5)
            try:
                self.local.connection.request("GET", url, headers={"Host": host})
                response = self.local.connection.getresponse()
                body = response.read()
            except (OSError, http.client.HTTPException):
                self.local.connection.close()
                self.slow.add(host)
                return url, None
            if not 300 <= response.status < 400:
                is_page = response.status == 200 and response.headers.get_content_type() == "text/html"
                return url, body if is_page else None
            url = urllib.parse.urljoin(url, response.headers["Location"])
        return url, None

    def listing(self):
        return self.fetch(f"http://127.0.0.1:{self.port}/")[1]

    def examples(self):
        """Pages of every topic."""
        for part in self.listing().decode().split("<h2>/")[1:]:
            topic, _, rest = part.partition("</h2>")
            for url in re.findall(r'href="([^"]*)"', rest):
                yield topic, html.unescape(url)

    def walk(self, wanted):
        """Pages in breadth-first order from the listing, the old addresses of some of them, and the listing."""
        listing = self.listing()
        pages, moved, seen = {}, {}, set()
        layer = links_of("http://index.test/", listing)
        while layer and len(pages) < wanted:
            layer = [url for url in dict.fromkeys(layer) if url not in seen and not is_trap(url)]
            seen.update(layer)
            found = self.fetch_all(layer)
            layer = []
            for url, (final, body) in found:
                if body is None or len(pages) == wanted:
                    continue
                if final != url:
                    moved[url] = final
                    seen.add(final)
                if final not in pages:
                    pages[final] = body
                    layer += links_of(final, body)
        if len(pages) < wanted:
            sys.exit(f"error: the synthetic web has only {len(pages)} pages that can be reached")
        return pages, moved, listing

    def fetch_all(self, urls):
        answers = [None] * len(urls)
        numbers = iter(range(len(urls)))
        lock = threading.Lock()

        def work():
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                answers[number] = (urls[number], self.fetch(urls[number]))

        threads = [threading.Thread(target=work) for _ in range(self.THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers


def links_of(url, body):
    hrefs = (b"".join(found) for found in LINK.findall(body))
    return [target(url, href) for href in hrefs if not href.startswith(b"mailto:")]


def target(url, href):
    link = urllib.parse.urljoin(url, html.unescape(href.decode()))
    return link.partition("#")[0].partition("?utm_source")[0]


def is_trap(url):
    return bool(re.search(r"/(calendar/|list\b|loop/)", url))
