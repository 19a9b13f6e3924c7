#!/usr/bin/env python3
"""Measures the memory and the speed of one large crawl as it grows.

    scripts/bench-size.py [--web 5000000] [--pages 1000000] [--strategy porthole] [--json]

The synthetic web is generated and served as a proxy on this machine, with traps, dead links and redirects. It is larger than the
crawl, so that there are enough pages at the end. A strategy that fetches the best links first has more redirects and dead links
left then, and so the speed is also given in fetches. The figures are read from the crawl's /metrics every second;
memory is the resident memory of its process.

Required: at most 250 MB plus 40 MB per million known URLs; the last 100,000 pages at 85% or more of the speed of the first; no ten
seconds at less than 70% of the speed of the twenty before. The cost of rescoring a million queued links, when an apprentice is
trained once:

    scripts/bench-size.py --pages 130000 --strategy apprentice:train=40000,again=1000,remember=2000000

Required then: all links are rescored and reordered within 10 s and written to the table within 60 s more, at 70% or more of the
speed of the twenty seconds before. Times are measured to the second.
"""

import argparse
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

from synth_web import CRAWLED_SEED, GOOD, Synth, free_port, train

ROOT = pathlib.Path(__file__).resolve().parent.parent
STRETCH = 100_000


def main():
    options = parse_options()
    with tempfile.TemporaryDirectory(prefix="bench-size-", dir=options.workspaces) as folder:
        folder = pathlib.Path(folder)
        with Synth(options.porthole, CRAWLED_SEED, options.web, options.page_bytes) as web:
            settings = f'proxy = "http://127.0.0.1:{web.port}"\nloopback = true'
            train(options.porthole, folder / "workspace", folder / "examples", settings)
            starts = [url for topic, url in web.examples() if topic == GOOD]
            samples = crawl(options, folder / "workspace", starts)
        size = sum(file.stat().st_size for file in (folder / "workspace").rglob("*") if file.is_file())
    report(options, samples, size)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--web", type=int, default=5_000_000, help="pages of the web (default: %(default)s)")
    parser.add_argument("--page-bytes", type=int, default=9_000, help="bytes of a page (default: %(default)s)")
    parser.add_argument("--pages", type=int, default=1_000_000, help="pages to crawl (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=1_000, help="concurrent fetches (default: %(default)s)")
    parser.add_argument("--strategy", default="soft")
    parser.add_argument("--workspaces", default=ROOT / "target", help="folder for the workspace")
    parser.add_argument("--porthole", default=str(ROOT / "target/release/porthole"))
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def crawl(options, workspace, starts):
    """Crawls `options.pages` pages. Returns a sample of the figures for every second."""
    port = free_port()
    command = [options.porthole, "-C", workspace, "crawl", "--polite", "off", "--workers", options.workers]
    command += ["--patience", "0", "--json", "--strategy", options.strategy, "--metrics", f"127.0.0.1:{port}"]
    for url in starts:
        command += ["--start", url]
    errors = workspace / "errors.txt"
    samples = []
    with open(errors, "wb") as log:
        child = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=log)
        try:
            while child.poll() is None and (not samples or samples[-1]["pages"] < options.pages):
                time.sleep(1)
                if sample := look(child.pid, port, workspace / "porthole.db"):
                    samples.append(sample)
                    if len(samples) % 30 == 0:
                        say("{pages:9,.0f} pages, {known:9,.0f} URLs known, {resident:4.0f} MB".format(**sample))
        finally:
            if child.poll() is None:
                child.terminate()
            child.wait()
    if not samples or samples[-1]["pages"] < options.pages:
        sys.exit(f"error: the crawl ended early: {errors.read_text()[-2000:]}")
    return samples


def look(process, port, database):
    """The current figures of the crawl; None as long as there are none."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
        status = pathlib.Path(f"/proc/{process}/status").read_text()
        times = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        scoring, oldest, newest = behind(database)
    except (OSError, ValueError):
        return None
    figure = lambda name: float(re.search(rf"^porthole_{name} (\S+)$", text, re.M)[1])
    return {
        "seconds": figure("run_seconds"),
        "pages": figure("pages_total"),
        "fetches": figure("fetches_total"),
        "known": figure("urls_known"),
        "cpu_seconds": (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK"),
        "resident": int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024,
        "scoring": scoring,
        "oldest": oldest,
        "newest": newest,
    }


def behind(database):
    """Whether the queue is being rescored, and the first and last change that is not yet in the table."""
    reader = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        scoring = reader.execute("select count(*) from setting where name = 'crawl.scoring' and value <> ''").fetchone()
        changes = reader.execute("select coalesce(min(rowid), 0), coalesce(max(rowid), 0) from estimate_log").fetchone()
    finally:
        reader.close()
    return *scoring, *changes


def report(options, samples, size):
    stretches = [stretch(samples, first) for first in range(0, options.pages - STRETCH + 1, STRETCH)]
    last = samples[-1]
    peak = max(sample["resident"] for sample in samples)
    allowed = 250 + 40 * last["known"] / 1e6
    figures = {
        "stretches": stretches,
        "pages": last["pages"],
        "fetches": last["fetches"],
        "known": last["known"],
        "seconds": last["seconds"],
        "disk_gb": size / 1e9,
        "peak_rss_mb": peak,
        "allowed_rss_mb": allowed,
        "slowest": slowest(samples),
        "rescored": rescoring(samples),
        "last_to_first": stretches[-1]["pages_per_second"] / stretches[0]["pages_per_second"],
        "last_to_first_fetches": stretches[-1]["fetches_per_second"] / stretches[0]["fetches_per_second"],
        "last_to_first_cpu": stretches[-1]["pages_per_cpu_second"] / stretches[0]["pages_per_cpu_second"],
    }
    if options.json:
        print(json.dumps(figures, indent=1))
        return
    for of in stretches:
        print(
            "to {to:9,.0f}: {pages_per_second:6.0f} pages per second, {pages_per_cpu_second:6.0f} per CPU second, "
            "{fetches:.2f} fetches per page, {resident:4.0f} MB".format(**of)
        )
    print(
        "{pages:,.0f} pages ({fetches:,.0f} fetches) in {seconds:.0f} s, {known:,.0f} URLs known, {disk_gb:.1f} GB; "
        "memory {peak_rss_mb:.0f} MB (allowed {allowed_rss_mb:.0f}); the last {0:,} pages at {last_to_first:.0%} of the speed "
        "of the first, {last_to_first_fetches:.0%} in fetches, {last_to_first_cpu:.0%} of their pages per CPU second".format(STRETCH, **figures)
    )
    if found := figures["slowest"]:
        print("slowest ten seconds: from {pages:,.0f} pages on, at {ratio:.0%} of the speed before".format(**found))
    if rescored := figures["rescored"]:
        print(
            "rescored: from {pages:,.0f} pages on, {changes:,.0f} changes in {scored:.0f} s at {pace_scored:.0%} of the speed "
            "before; written to the table {swept:.0f} s later; overall {pace:.0%} of the speed before, {pace_after:.0%} "
            "of that afterwards, {pace_cpu:.0%} of the pages per CPU second".format(**rescored)
        )


def slowest(samples):
    """The ten seconds with the lowest speed relative to that of the twenty before, and the number of pages then."""
    moments = []
    for end in samples:
        middle, begin = (since(samples, end["seconds"] - seconds) for seconds in (10, 30))
        if begin:
            moments.append({"ratio": pace(middle, end) / pace(begin, middle), "pages": middle["pages"]})
    return min(moments, key=lambda moment: moment["ratio"], default=None)


def rescoring(samples):
    """The time to rescore the queue and to write it to the table; None if that did not happen or did not end."""
    during = [at for at, sample in enumerate(samples) if sample["scoring"]]
    if not during or during[0] == 0 or during[-1] + 1 == len(samples):
        return None
    begin, end = samples[during[0] - 1], samples[during[-1] + 1]
    changed = samples[during[-1]]["newest"]
    followed = lambda sample: sample["seconds"] >= end["seconds"] and (sample["oldest"] > changed or not sample["oldest"])
    table, before = next(filter(followed, samples), None), since(samples, begin["seconds"] - 20) or samples[0]
    if not table:
        return None
    return {
        "pages": begin["pages"],
        "changes": end["newest"] - begin["newest"],
        "scored": end["seconds"] - begin["seconds"],
        "swept": table["seconds"] - end["seconds"],
        "pace_scored": pace(begin, end) / pace(before, begin),
        "pace": pace(begin, table) / pace(before, begin),
        "pace_cpu": pace(begin, table, "cpu_seconds") / pace(before, begin, "cpu_seconds"),
        "pace_after": pace(begin, table) / pace(table, samples[-1]),
    }


def pace(begin, end, time="seconds"):
    return (end["pages"] - begin["pages"]) / max(end[time] - begin[time], 0.01)


def since(samples, seconds):
    """The last sample up to this time."""
    return next((sample for sample in reversed(samples) if sample["seconds"] <= seconds), None)


def stretch(samples, first):
    """The speed from a number of pages on."""
    begin, end = at(samples, first), at(samples, first + STRETCH)
    spent = {name: end[name] - begin[name] for name in ["pages", "seconds", "cpu_seconds", "fetches"]}
    return {
        "to": first + STRETCH,
        "pages_per_second": spent["pages"] / spent["seconds"],
        "pages_per_cpu_second": spent["pages"] / spent["cpu_seconds"],
        "fetches": spent["fetches"] / spent["pages"],
        "fetches_per_second": spent["fetches"] / spent["seconds"],
        "resident": end["resident"],
    }


def at(samples, pages):
    """The figures at a number of pages, interpolated between two samples."""
    before = {name: 0 for name in samples[0]}
    for sample in samples:
        if sample["pages"] >= pages > before["pages"] or pages == 0:
            break
        before = sample
    if pages == 0:
        return before
    share = (pages - before["pages"]) / (sample["pages"] - before["pages"])
    return {name: before[name] + share * (sample[name] - before[name]) for name in sample}


def say(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
