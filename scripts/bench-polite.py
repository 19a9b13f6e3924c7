#!/usr/bin/env python3
"""Compares the harvest and the time of polite crawls with those of a crawl that makes one fetch at a time without delays.

    scripts/bench-polite.py [--porthole PATH] [--pages 500] [--web-pages 200000] [--seeds 21,22,23] [--topics ...] [--json]

For each seed a synthetic web is served as a proxy on this machine. `porthole start` creates a workspace from three pages of a topic;
three copies of it are crawled:

    wait    the default settings: 64 workers, delays of 2 s
    fill    the same with `idle = "fill"`: free workers fetch the best link that is allowed at the moment
    single  one worker, without delays

The true share is the share of pages about the topic, by the labels of the synthetic web, among the pages that count (without start
pages, duplicates and pages of a trap). Required of `wait`, over all crawls together: at least 80% of the share of `single`, in at
most three times the time of `fill`. Exits with 1 if a requirement is missed.
"""

import argparse
import json
import pathlib
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time

from synth_web import Synth, run, true_labels

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOPICS = ["/Science/Birds", "/Home/Gardening", "/Travel/Railways"]
LEAST_SHARE, MOST_TIME = 0.8, 3.0
# Options of `porthole crawl`, and lines that are added to porthole.toml.
CRAWLS = {
    "wait": ([], ""),
    "fill": ([], '[crawl]\nidle = "fill"\n'),
    "single": (["--workers", 1, "--polite", "off"], ""),
}


def main():
    options = parse_options()
    if not shutil.which(options.porthole):
        sys.exit(f"error: there is no {options.porthole}: cargo build --release -p porthole")
    runs = []
    for number, seed in enumerate(options.seeds.split(",")):
        topic = options.topics.split(",")[number % len(options.topics.split(","))]
        with tempfile.TemporaryDirectory(prefix="bench-polite-", dir=options.workspaces) as folder:
            runs += bench(options, pathlib.Path(folder), int(seed), topic)
    sys.exit(report(options, runs))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--porthole", default=str(ROOT / "target/release/porthole"))
    parser.add_argument("--pages", type=int, default=500, help="pages per crawl (default: %(default)s)")
    parser.add_argument("--web-pages", type=int, default=200_000, help="pages of the web (default: %(default)s)")
    parser.add_argument("--seeds", default="21,22,23", help="seeds of the synthetic webs (default: %(default)s)")
    parser.add_argument("--topics", default=",".join(TOPICS), help="topics, one per seed in turn (default: %(default)s)")
    parser.add_argument("--workspaces", default="/dev/shm", help="folder for the workspaces (default: %(default)s)")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def bench(options, folder, seed, topic):
    """The crawls of one seed."""
    labels = true_labels(options.porthole, seed, options.web_pages, 9_000)
    with Synth(options.porthole, seed, pages=options.web_pages, page_bytes=9_000) as web:
        starts = [url for path, url in web.examples() if f"/{path}" == topic]
        trained = folder / "trained"
        run([options.porthole, "init", trained])
        settings = trained / "porthole.toml"
        fetch = f'[fetch]\nproxy = "http://127.0.0.1:{web.port}"\nloopback = true\ncontact = "bench@example.org"\n'
        settings.write_text(fetch)
        run([options.porthole, "start", *starts, trained, "--yes", "--no-crawl"])
        for name, (arguments, more) in CRAWLS.items():
            workspace = folder / name
            shutil.copytree(trained, workspace)
            (workspace / "porthole.toml").write_text(fetch + more)
            began = time.perf_counter()
            run([options.porthole, "-C", workspace, "crawl", "--pages", options.pages, *arguments])
            seconds = time.perf_counter() - began
            share, pages = true_share(workspace, labels, topic, set(starts))
            result = {"seed": seed, "topic": topic, "crawl": name, "share": share, "pages": pages, "seconds": seconds}
            print(f"seed {seed} {topic} {name:6} true share {share:.3f} of {pages} pages in {seconds:.1f} s", file=sys.stderr)
            yield result
            shutil.rmtree(workspace)


def true_share(workspace, labels, topic, starts):
    """The share of pages about the topic among those that count, and the number of those."""
    database = sqlite3.connect(f"file:{workspace / 'porthole.db'}?mode=ro", uri=True)
    fetched = [url for (url,) in database.execute("SELECT url FROM crawl WHERE state = 1")]
    counted = [labels[url] for url in fetched if url in labels and url not in starts]
    return sum(label == topic for label in counted) / max(len(counted), 1), len(counted)


def report(options, runs):
    of = lambda name, figure: [run[figure] for run in runs if run["crawl"] == name]
    share = statistics.mean(of("wait", "share")) / statistics.mean(of("single", "share"))
    slowdown = sum(of("wait", "seconds")) / sum(of("fill", "seconds"))
    if options.json:
        print(json.dumps({"runs": runs, "share_of_single": share, "times_fill": slowdown}))
    else:
        print("crawl    true share   seconds")
        for name in CRAWLS:
            print(f"{name:8} {statistics.mean(of(name, 'share')):10.3f} {statistics.mean(of(name, 'seconds')):9.1f}")
        print(f"wait has {share:.1%} of the share of single (at least {LEAST_SHARE:.0%}),")
        print(f"in {slowdown:.2f} times the time of fill (at most {MOST_TIME:g})")
    return int(share < LEAST_SHARE or slowdown > MOST_TIME)


if __name__ == "__main__":
    main()
