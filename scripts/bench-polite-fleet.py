#!/usr/bin/env python3
"""Compares the harvest of several polite workers with that of one worker in the same time.

    scripts/bench-polite-fleet.py [--porthole PATH] [--workers 1,2] [--time 40] [--pages N] [--delay 0.5] [--requests N]
                                  [--web-pages 50000] [--seeds 21,22,23] [--topics ...] [--order all|own] [--learning all|own] [--json]

The critic is trained on pages of other synthetic webs. For each seed a synthetic web is served as a proxy on this machine, and a
topic is marked in a PostgreSQL database. Copies of this database are crawled from three pages of the topic by each number of
workers, for `--time` seconds or until `--pages` pages have been fetched in total, with `--delay` seconds between two requests to a
site and otherwise the default settings.

The output has the number of pages that count (without start pages, duplicates and pages of a trap), the number of those that are
about the topic by the labels of the synthetic web, and their share. Required, over all seeds together: each larger number of workers
has at least 90% of the share and at least 95% of the pages about the topic that the first number of workers has. Exits with 1 if a
requirement is missed. Needs Debian's PostgreSQL.
"""

import argparse
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from private_cluster import Cluster
from synth_web import Synth, run, save_examples, true_labels

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOPICS = ["/Science/Birds", "/Home/Gardening", "/Travel/Railways"]
LEAST_SHARE, LEAST_PAGES = 0.9, 0.95
PAGE_BYTES = 6_000
# Exit codes of a crawl that has reached its page limit or its time limit.
ENDED = (0, 15)


def main():
    options = parse_options()
    if not shutil.which(options.porthole):
        sys.exit(f"error: there is no {options.porthole}: cargo build --release -p porthole")
    runs = []
    with tempfile.TemporaryDirectory(prefix="bench-polite-fleet-", dir=options.workspaces) as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        save_examples(options.porthole, folder / "examples")
        with Cluster(folder, max_connections=200) as cluster:
            for number, seed in enumerate(options.seeds.split(",")):
                topic = options.topics.split(",")[number % len(options.topics.split(","))]
                for result in bench(options, folder / seed, cluster, int(seed), topic):
                    print(describe(result), file=sys.stderr, flush=True)
                    runs.append(result)
    sys.exit(report(options, runs))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--porthole", default=str(ROOT / "target/release/porthole"))
    parser.add_argument("--workers", default="1,2", help="numbers of workers, separated by commas (default: %(default)s)")
    parser.add_argument("--time", type=int, default=40, help="seconds per crawl (default: %(default)s)")
    parser.add_argument("--pages", type=int, help="pages per crawl, instead of a time limit")
    parser.add_argument("--delay", type=float, default=0.5, help="seconds between two requests to a site (default: %(default)s)")
    parser.add_argument("--requests", type=int, help="concurrent requests of all workers together (default: 64 each)")
    parser.add_argument("--web-pages", type=int, default=50_000, help="pages of the web (default: %(default)s)")
    parser.add_argument("--seeds", default="21,22,23", help="seeds of the synthetic webs (default: %(default)s)")
    parser.add_argument("--topics", default=",".join(TOPICS), help="topics, one per seed in turn (default: %(default)s)")
    parser.add_argument("--order", default="all", choices=["all", "own"], help="setting of [fleet] (default: %(default)s)")
    parser.add_argument("--learning", default="all", choices=["all", "own"], help="setting of [fleet] (default: %(default)s)")
    parser.add_argument("--workspaces", default="/dev/shm", help="folder for everything (default: %(default)s)")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def bench(options, folder, cluster, seed, topic):
    """The crawls of one seed."""
    folder.mkdir()
    labels = true_labels(options.porthole, seed, options.web_pages, PAGE_BYTES)
    with Synth(options.porthole, seed, pages=options.web_pages, page_bytes=PAGE_BYTES) as web:
        starts = [url for path, url in web.examples() if f"/{path}" == topic][:3]
        settings = (
            f'[fetch]\nproxy = "http://127.0.0.1:{web.port}"\nloopback = true\ncontact = "bench@example.org"\n'
            f"[polite]\ndelay = {options.delay}\ndelay-factor = 0\nlongest-delay = {4 * options.delay}\n"
            f'[fleet]\norder = "{options.order}"\nlearning = "{options.learning}"\n'
        )
        trained, origin = f"trained_{seed}", folder / "trained"
        run([options.porthole, "init", origin, "--db", cluster.create(trained)])
        for command in (["examples", "import", folder.parent / "examples"], ["topics", "mark", topic], ["train"]):
            run([options.porthole, "-C", origin, *command])
        for workers in map(int, options.workers.split(",")):
            database = f"crawl_{seed}_{workers}"
            cluster.sql(f"create database {database} template {trained} owner porthole")
            seconds = crawl(options, folder, cluster.url(database), workers, settings, starts)
            yield {
                "seed": seed,
                "topic": topic,
                "workers": workers,
                "seconds": seconds,
                **harvest(cluster, database, labels, topic, set(starts)),
            }
            cluster.sql(f"drop database {database} with (force)")


def crawl(options, folder, url, workers, settings, starts):
    """Crawls with this many processes. Returns the seconds that it took."""
    folders = [folder / f"{workers}-{worker}" for worker in range(workers)]
    for workspace in folders:
        run([options.porthole, "init", workspace, "--db", url, "--join"])
        (workspace / "porthole.toml").write_text(settings)
    limit = ["--pages", options.pages] if options.pages else ["--time", f"{options.time}s"]
    if options.requests:
        limit += ["--workers", max(options.requests // workers, 1)]
    start = [part for url in starts for part in ("--start", url)]
    began = time.perf_counter()
    commands = [[options.porthole, "-C", workspace, "crawl", *limit, *start] for workspace in folders]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    children = [subprocess.Popen([str(part) for part in command], **quiet) for command in commands]
    for child in children:
        said = child.communicate()[1]
        if child.returncode not in ENDED:
            sys.exit(f"error: a crawl ended with {child.returncode}: {said.decode()}")
    seconds = time.perf_counter() - began
    for workspace in folders:
        shutil.rmtree(workspace)
    return seconds


def harvest(cluster, database, labels, topic, starts):
    """The pages that count, those of them about the topic, and how many pages each worker fetched."""
    fetched = cluster.ask("select url, segment / 1048576 from crawl where state = 1", database)
    counted = [labels[url] for url, _ in fetched if url in labels and url not in starts]
    by_worker = collections.Counter(worker for _, worker in fetched)
    return {
        "pages": len(counted),
        "good": sum(label == topic for label in counted),
        "by_worker": sorted(by_worker.values(), reverse=True),
    }


def describe(run):
    share = run["good"] / max(run["pages"], 1)
    by_worker = " + ".join(map(str, run["by_worker"]))
    return (
        f"seed {run['seed']} {run['topic']} {run['workers']} workers: {run['good']} of {run['pages']} pages about the topic ({share:.3f}) "
        f"in {run['seconds']:.1f} s; fetched {by_worker}"
    )


def report(options, runs):
    numbers = list(map(int, options.workers.split(",")))
    sums = {number: [sum(run[figure] for run in runs if run["workers"] == number) for figure in ("good", "pages")] for number in numbers}
    if options.json:
        print(json.dumps(runs))
    else:
        print("workers   about the topic   pages   share")
        for number, (good, pages) in sums.items():
            print(f"{number:7} {good:17} {pages:7} {good / max(pages, 1):7.3f}")
    (first_good, first_pages), *others = sums.values()
    is_missed = False
    for good, pages in others:
        share = good / max(pages, 1) / max(first_good / max(first_pages, 1), 1e-9)
        of_first = good / max(first_good, 1)
        print(f"{share:.1%} of the share (at least {LEAST_SHARE:.0%}), {of_first:.1%} of the pages about the topic (at least {LEAST_PAGES:.0%})", file=sys.stderr)
        is_missed |= share < LEAST_SHARE or of_first < LEAST_PAGES
    return int(is_missed)


if __name__ == "__main__":
    main()
