#!/usr/bin/env python3
"""Measures `porthole search`: how often the right page is found, the time of a search, and the size of the index.

    scripts/bench-search.py [--corpora ../shared/corpora] [--pages 50000] [--seed 1]

Schools (a recorded web) is crawled completely. Then 50 titles of articles are searched for (goal: the article is among the first 3
in 90% of the searches), and 50 anchor texts of links to an article that differ from its title (goal: among the first 10 in 70%).
Both are random samples: published results are those of seed 1; use other seeds for tuning. Then a synthetic web is crawled over
HTTP on this machine, and searched for titles of its pages (goal: a median of 20 ms for the whole command).

Needs a release build of porthole.
"""

import argparse
import json
import pathlib
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import zlib

from synth_web import CRAWLED_SEED, GOOD, Synth, train

ROOT = pathlib.Path(__file__).resolve().parent.parent
DRAWN = 50


def main():
    options = parse_options()
    with tempfile.TemporaryDirectory(dir=options.workspaces, prefix="bench-search-") as folder:
        folder = pathlib.Path(folder)
        if options.corpora:
            workspace = options.schools or crawl_schools(options, folder / "schools")
            measure_finding(options, workspace)
        if options.pages:
            workspace = options.synthetic or crawl_synthetic(options, folder / "synthetic")
            measure_time(options, workspace)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=pathlib.Path, default=ROOT / "../shared/corpora")
    parser.add_argument("--pages", type=int, default=50_000, help="pages of the synthetic web; 0: none")
    parser.add_argument("--seed", type=int, default=1, help="random seed of the searches")
    parser.add_argument("--schools", type=pathlib.Path, help="an existing workspace with a crawl of Schools")
    parser.add_argument("--synthetic", type=pathlib.Path, help="an existing workspace with a crawl of the synthetic web")
    parser.add_argument("--workspaces", default=ROOT / "target", help="folder for the workspaces")
    parser.add_argument("--porthole", default=str(ROOT / "target/release/porthole"))
    return parser.parse_args()


def run(options, *arguments):
    command = [options.porthole, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 60):  # 60: the crawl has no URLs left
        sys.exit(f"error: {' '.join(command)}: {done.stderr[-2000:]}")
    return done.stdout


def crawl_schools(options, workspace):
    """Trains a critic on a tenth of the labelled pages, and crawls everything."""
    web = options.corpora / "schools.warc.gz"
    lines = (options.corpora / "schools.labels.tsv").read_text().splitlines(keepends=True)
    labels = workspace.with_suffix(".tsv")
    labels.write_text("".join(line for line in lines if zlib.crc32(line.split("\t")[0].encode()) % 10 == 0))
    run(options, "init", workspace)
    run(options, "-C", workspace, "examples", "import", labels, "--web", web)
    run(options, "-C", workspace, "topics", "mark", "/Science/Biology/Birds")
    run(options, "-C", workspace, "train")
    run(options, "-C", workspace, "crawl", "--web", web, "--strategy", "breadth", "--patience", "0", "--json")
    run(options, "-C", workspace, "distill")
    return workspace


def crawl_synthetic(options, workspace):
    with Synth(options.porthole, CRAWLED_SEED, options.pages * 2, 9_000) as web:
        settings = f'proxy = "http://127.0.0.1:{web.port}"\nloopback = true'
        train(options.porthole, workspace, workspace.with_suffix(".examples"), settings)
        starts = [part for topic, url in web.examples() for part in ("--start", url) if topic == GOOD]
        crawl = ["crawl", "--polite", "off", "--workers", 200, "--patience", "0", "--strategy", "breadth", "--json"]
        run(options, "-C", workspace, *crawl, "--pages", options.pages, *starts)
    return workspace


def fill(options, workspace):
    """Updates the index, and prints its time and size."""
    began = time.monotonic()
    answer = json.loads(run(options, "-C", workspace, "search", "--json", "anything"))
    took, pages = time.monotonic() - began, answer["index"]["pages"]
    size = sum(file.stat().st_size for file in workspace.glob("porthole-readers.db*"))
    archive = sum(file.stat().st_size for file in (workspace / "pages").glob("*"))
    print(f"  index: {pages:,} pages in {took:.1f} s ({pages / took:.0f}/s), {size / pages:,.0f} bytes per page "
          f"(archive: {archive / pages:,.0f})")


def search(options, workspace, words, limit):
    """The URLs that are found, and the wall time and CPU time of the command in milliseconds."""
    used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    began, before = time.monotonic(), used()
    out = run(options, "-C", workspace, "search", "--no-update", "--json", "--limit", limit, "--", words)
    took = (time.monotonic() - began) * 1e3, (used() - before) * 1e3
    return [page["url"] for page in json.loads(out)["pages"]], took


def rows(workspace, sql):
    reader = sqlite3.connect(f"file:{workspace / 'porthole.db'}?mode=ro", uri=True)
    try:
        return reader.execute(sql).fetchall()
    finally:
        reader.close()


def measure_finding(options, workspace):
    print("schools")
    fill(options, workspace)
    pages = rows(workspace, "select rowid, url, title from crawl where state = 1 and copy_of is null and title <> '' "
                            "and url like '%/wp/%' order by oid")
    titles = {row: (url, title) for row, url, title in pages}
    anchors = sorted({(dst, anchor) for dst, anchor in rows(workspace, "select dst, anchor from edge where anchor is not null")
                      if dst in titles and any(c.isalpha() for c in anchor)
                      and anchor.casefold() != titles[dst][1].casefold()})
    draw = random.Random(options.seed)
    by_title = [(title, url) for _, url, title in draw.sample(pages, DRAWN)]
    by_anchor = [(anchor, titles[dst][0]) for dst, anchor in draw.sample(anchors, DRAWN)]
    for what, drawn, first, wanted in [("titles", by_title, 3, 0.9), ("anchor texts", by_anchor, 10, 0.7)]:
        times, missed = [], []
        for words, url in drawn:
            found, took = search(options, workspace, words, first)
            times.append(took)
            if url not in found:
                missed.append(words)
        share = 1 - len(missed) / len(drawn)
        print(f"  {what}: among the first {first} in {share:.0%} (goal: {wanted:.0%}), "
              f"{at_median(times)}")
        if missed:
            print(f"    missed: {', '.join(missed)}")


def measure_time(options, workspace):
    print("synthetic web")
    fill(options, workspace)
    titles = [title for (title,) in rows(workspace, "select title from crawl where state = 1 and title <> '' order by oid")]
    times = [search(options, workspace, words, 10)[1] for words in random.Random(options.seed).sample(titles, DRAWN)]
    print(f"  titles: {at_median(times)} (goal: 20 ms)")


def at_median(times):
    clock, processor = (statistics.median(column) for column in zip(*times))
    return f"median of {clock:.1f} ms wall time for the whole command, {processor:.1f} ms CPU time"


if __name__ == "__main__":
    main()
