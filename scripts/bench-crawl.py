#!/usr/bin/env python3
"""Compares a whole crawl by Porthole with the crate `spider` and with Scrapy, on the same pages over HTTP on this machine.

    scripts/bench-crawl.py [--pages 10000] [--rounds 5] [--only porthole,spider] [--plain] [--json]
    scripts/bench-crawl.py --archives [--strategy porthole]

The pages are those of a synthetic web, moved to one host, with all links rewritten to pages of that host. nginx serves them from
memory: compressed (gzip, level 6) to clients that accept it, as web servers do, or uncompressed with `--plain`. Porthole judges,
archives and stores every page; the others fetch it, extract its links and discard it. Rounds are
interleaved. CPU seconds are user and system time of the crawler's process alone.

`spider` and `scrapy` have their default settings, `spider_bare` and `scrapy_bare` have every optional part switched off. Needs
nginx, a release build of porthole, cargo (`spider` is built in target/peers) and PyPI (Scrapy is installed in a virtual environment
there).

With `--archives` only Porthole crawls the pages: without an archive, with one compressed by gzip (the default), and with one
compressed by zstd. `index` is the CPU time of `porthole search` to fill the full-text index after such a crawl.
"""

import argparse
import collections
import concurrent.futures
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from synth_web import CRAWLED_SEED, LINK, Child, Synth, free_port, target, train

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ROOT / "target/peers"
# The peers with default settings, and with every optional part switched off.
CRAWLERS = ["porthole", "spider", "spider_bare", "scrapy", "scrapy_bare"]
# Kinds of archives: options of `porthole crawl`, and settings under `[archive]`.
ARCHIVES = {
    "no_archive": (["--archive", "none"], ""),
    "gzip": ([], ""),
    "zstd": ([], 'compression = "zstd"\n'),
}
NGINX = """
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 60;
    keepalive_requests 1000000;
    open_file_cache max=100000 inactive=10m;
    gzip_static {compressed};
    types {{ text/html html; }}
    client_body_temp_path {folder}/tmp; proxy_temp_path {folder}/tmp; fastcgi_temp_path {folder}/tmp;
    uwsgi_temp_path {folder}/tmp; scgi_temp_path {folder}/tmp;
    server {{ listen 127.0.0.1:{port}; root {pages}; }}
}}
"""


def main():
    options = parse_options()
    crawlers = list(ARCHIVES) if options.archives else options.only.split(",")
    if unknown := set(crawlers) - set(CRAWLERS) - set(ARCHIVES):
        sys.exit(f"error: --only {unknown.pop()}: there is {', '.join(CRAWLERS)}")
    for needed, what in [("nginx", "install nginx-light"), (options.porthole, "cargo build --release -p porthole")]:
        if not shutil.which(needed):
            sys.exit(f"error: there is no {needed}: {what}")
    build_peers(crawlers)
    with tempfile.TemporaryDirectory(prefix="porthole-bench-", dir="/dev/shm") as folder:
        # If the superuser starts nginx, its workers run as another user.
        os.chmod(folder, 0o755)
        bench = Bench(options, pathlib.Path(folder))
        with bench.serving():
            if options.serve:
                say(f"{bench.start}, workspace {bench.trained}; Ctrl-C ends it")
                signal.pause()
            runs = bench.run(crawlers)
    report(options, bench, runs)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=10_000, help="pages of the host")
    parser.add_argument("--scrapy-pages", type=int, default=3_000, help="maximum number of pages for Scrapy, which is slow")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=64, help="concurrent fetches")
    parser.add_argument("--only", default=",".join(CRAWLERS), help="crawlers, separated by commas")
    parser.add_argument("--plain", action="store_true", help="serve the pages uncompressed")
    parser.add_argument("--archives", action="store_true", help="compare ways to archive pages instead of crawlers")
    parser.add_argument("--strategy", default="soft", help="strategy of porthole; the peers have none (default: %(default)s)")
    parser.add_argument("--crawl-option", action="append", default=[], help="additional option of porthole crawl, as in =--no-archive")
    parser.add_argument("--workspaces", default=ROOT / "target", help="folder for Porthole's workspaces")
    parser.add_argument("--porthole", default=str(ROOT / "target/release/porthole"))
    parser.add_argument("--serve", action="store_true", help="only serve the pages, to run crawlers by hand")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def build_peers(crawlers):
    for crawler, features in [("spider", ["--features", "as-it-comes"]), ("spider_bare", [])]:
        if crawler in crawlers:
            command = ["cargo", "build", "--release", "--locked", "--quiet", "--target-dir", PEERS / crawler]
            subprocess.run([*command, *features], cwd=ROOT / "scripts/peers/spider", check=True)
    if {"scrapy", "scrapy_bare"} & set(crawlers) and not (PEERS / "venv/bin/scrapy").exists():
        subprocess.run([sys.executable, "-m", "venv", PEERS / "venv"], check=True)
        subprocess.run([PEERS / "venv/bin/pip", "install", "--quiet", "scrapy"], check=True)


class Bench:
    """The pages, their server, and a trained workspace, of which every run of Porthole gets a copy."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.pages = folder / "pages"
        self.trained = folder / "trained"
        # In a separate process: the memory of a parent at the start of a child counts in the child's peak memory.
        with concurrent.futures.ProcessPoolExecutor(1) as elsewhere:
            self.figures = elsewhere.submit(make_pages, options.porthole, options.pages, self.pages).result()
        topics = train(options.porthole, self.trained, folder / "examples", "loopback = true")
        self.figures["topics"] = topics
        say("{pages} pages of {mean_bytes:.0f} bytes ({mean_compressed_bytes:.0f} compressed) and {mean_links:.1f} links;"
            " {topics} topics".format(**self.figures))
        self.port = free_port()
        self.start = f"http://127.0.0.1:{self.port}/index.html"

    def serving(self):
        (self.folder / "tmp").mkdir()
        settings = self.folder / "nginx.conf"
        compressed = "off" if self.options.plain else "on"
        settings.write_text(NGINX.format(folder=self.folder, port=self.port, pages=self.pages, compressed=compressed))
        return Child(["nginx", "-e", self.folder / "error.log", "-c", settings], self.port)

    def run(self, crawlers):
        """Runs of every crawler, round by round."""
        runs = collections.defaultdict(list)
        for number in range(self.options.rounds):
            for name in crawlers:
                run = self.porthole(name) if name in ARCHIVES else getattr(self, name)()
                expected = min(self.figures["pages"], self.options.scrapy_pages if "scrapy" in name else 1 << 60)
                if run["pages"] < 0.99 * expected:
                    sys.exit(f"error: {name} fetched {run['pages']} of {expected} pages; nothing can be compared")
                runs[name].append(run)
                say(f"round {number + 1} {name:11}" + in_words(run))
        return runs

    def porthole(self, archive="gzip"):
        """One crawl. If archives are compared, also the CPU time to fill the full-text index of its pages."""
        arguments, settings = ARCHIVES[archive]
        workspace = pathlib.Path(tempfile.mkdtemp(prefix="bench-crawl-", dir=self.options.workspaces))
        try:
            shutil.copytree(self.trained, workspace, dirs_exist_ok=True)
            options = ["--polite", "off", "--workers", self.options.workers, "--pages", self.figures["pages"]]
            options += ["--start", self.start, "--patience", "0", "--json", "--strategy", self.options.strategy]
            options += self.options.crawl_option + arguments
            file = workspace / "porthole.toml"
            file.write_text(file.read_text().replace("[archive]\n", f"[archive]\n{settings}", 1))
            run = measure([self.options.porthole, "-C", workspace, "crawl", *options])
            run["bytes_per_page"] = sum(path.stat().st_size for path in workspace.glob("pages/*")) / run["pages"]
            if self.options.archives and archive == "gzip":
                index = measure([self.options.porthole, "-C", workspace, "search", "--json", "anything"], run["pages"])
                run["index_ms_per_page"] = 1e3 / index["pages_per_cpu_second"]
            return run
        finally:
            shutil.rmtree(workspace)

    def spider(self):
        return self.run_spider("spider")

    def spider_bare(self):
        return self.run_spider("spider_bare")

    def run_spider(self, build):
        return measure([PEERS / build / "release/spider-run", self.start, self.options.workers])

    def scrapy(self):
        return self.run_scrapy("as-it-comes")

    def scrapy_bare(self):
        return self.run_scrapy("bare")

    def run_scrapy(self, manner):
        script = ROOT / "scripts/peers/scrapy_run.py"
        options = [self.start, self.options.workers, self.options.scrapy_pages, manner]
        return measure([PEERS / "venv/bin/python", script, *options])


def make_pages(porthole, wanted, folder):
    """Writes pages of the synthetic web as files of one host. Returns their figures."""
    with Synth(porthole, CRAWLED_SEED) as web:
        pages, moved, listing = web.walk(wanted - 1)
    local = {url: local_name(url) for url in pages}
    names = sorted(set(local.values()))
    if len(names) < len(pages):
        sys.exit("error: two pages of the synthetic web got the same name")
    local |= {old: local[new] for old, new in moved.items() if new in local}
    size = packed_size = links = 0
    for url, body in [*pages.items(), ("http://index.test/", listing)]:
        body, count = rewrite(url, body, local, names)
        path = folder / local.get(url, "index.html")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        packed = gzip.compress(body, 6)
        path.with_name(path.name + ".gz").write_bytes(packed)
        size += len(body)
        packed_size += len(packed)
        links += count
    return {
        "pages": wanted,
        "mean_bytes": size / wanted,
        "mean_compressed_bytes": packed_size / wanted,
        "mean_links": links / wanted,
    }


def measure(command, pages=None):
    """Runs a crawler. Returns its output and the resources of its process. If `pages` is given, the output is not parsed."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        child = subprocess.Popen([str(part) for part in command], stdout=output, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if child.returncode:
            sys.exit(f"error: {command[0]} ended with {child.returncode}: {errors.read().decode()[-2000:]}")
        pages = pages or json.loads(output.read())["pages"]
    cpu = usage.ru_utime + usage.ru_stime
    return {
        "pages": pages,
        "wall_seconds": wall,
        "user_seconds": usage.ru_utime,
        "system_seconds": usage.ru_stime,
        "pages_per_second": pages / wall,
        "pages_per_cpu_second": pages / cpu,
        "peak_rss_mb": usage.ru_maxrss / 1024,
    }


def report(options, bench, runs):
    medians = {
        name: {what: statistics.median(run[what] for run in of) for what in of[0]} for name, of in runs.items()
    }
    # Ratios are those of runs in the same round, because the speed of the machine varies.
    ratios = {
        peer: statistics.median(
            ours["pages_per_cpu_second"] / theirs["pages_per_cpu_second"]
            for ours, theirs in zip(runs["porthole"], runs[peer])
        )
        for peer in CRAWLERS[1:]
        if peer in runs and "porthole" in runs
    }
    if options.archives:
        return report_archives(options, medians, runs)
    if options.json:
        figures = {"web": bench.figures, "workers": options.workers, "median": medians, "porthole_to": ratios}
        print(json.dumps(figures | {"runs": runs}, indent=1))
        return
    print(f"median of {options.rounds} rounds, {options.workers} fetches at once:")
    for name, median in medians.items():
        print(f"  {name:11}" + in_words(median))
    for peer, ratio in ratios.items():
        print(f"pages per CPU second, porthole / {peer}: {ratio:.2f}")


def report_archives(options, medians, runs):
    """Prints pages per CPU second and per second, compared with the crawl without an archive in the same round."""

    def fewer(name, what):
        shares = sorted(1 - run[what] / bare[what] for run, bare in zip(runs[name], runs["no_archive"]))
        return f"{statistics.median(shares):6.1%} ({shares[0]:.1%} to {shares[-1]:.1%})"

    if options.json:
        return print(json.dumps({"median": medians, "runs": runs}, indent=1))
    print(f"{options.rounds} rounds, {options.workers} fetches at once, strategy {options.strategy}; median and range:")
    for name, median in medians.items():
        print(f"  {name:11}{1e6 / median['pages_per_cpu_second']:7.0f} us of CPU per page,"
              f" {median['pages_per_second']:6.0f} pages a second, {median['bytes_per_page']:7.0f} bytes in the archive")
        if name != "no_archive":
            print(f"             fewer pages per CPU second: {fewer(name, 'pages_per_cpu_second')},"
                  f" per second: {fewer(name, 'pages_per_second')}")
    print(f"  index      {1e3 * medians['gzip']['index_ms_per_page']:7.0f} us of CPU per page, after the crawl")


def in_words(run):
    return (
        "{pages:7.0f} pages{pages_per_second:8.0f} a second{pages_per_cpu_second:8.0f} a CPU second "
        "({user_seconds:.2f} s user, {system_seconds:.2f} s system), {peak_rss_mb:.0f} MB".format(**run)
    )


def local_name(url):
    """The path of a page on the one host: a valid file name, and unique even if case is ignored."""
    name = re.sub(r"[^a-z0-9/._-]+", "-", url.removeprefix("http://").lower())
    return re.sub(r"(/|\.html?)?$", "", name, count=1) + ".html"


def rewrite(url, body, local, names):
    """The page with its links rewritten to the one host, and their number. A link to a missing page leads to another one."""
    count = 0

    def replace(found):
        nonlocal count
        href = found[found.lastindex]
        if href.startswith(b"mailto:"):
            return found[0]
        count += 1
        link = target(url, href)
        name = local.get(link) or names[sum(link.encode()) * 7919 % len(names)]
        start = found.start(found.lastindex) - found.start()
        return found[0][:start] + b"/" + name.encode() + found[0][start + len(href) :]

    return LINK.sub(replace, body), count


def say(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
