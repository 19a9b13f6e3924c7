#!/usr/bin/env python3
"""One crawl by one, two and four worker processes on one PostgreSQL, against one process on SQLite.

    scripts/bench-fleet.py [--porthole PATH] [--web FILE.warc.gz] [--labels FILE.tsv] [--topic /Science/Biology/Birds] [--workers 1,2,4]
                           [--rounds 1] [--order all|own] [--learning all|own] [--finished 0]

Every crawl replays the same recorded web to its end. Shown are: the URLs that were fetched and those that only one of the two
crawls fetched (that with the workers, or that on SQLite), those that were fetched twice, the mean relevance of the first 200, 500 and
1,000 pages, and fetches a second. On two quiet cores the first worker fetches many of the first 200 pages before the others have begun,
so that the later figures show more of the order of the fleet. Exits with 1 if the sets differ or a URL was fetched twice. The critic learns from a few labelled pages of each topic.
`--order` and `--learning` are the settings of `[fleet]`.

With `--finished N` every crawl on PostgreSQL is also made in a database with N other finished URLs, which shows whether the queue is as fast as at the
start. They are queued and then finished by SQL, a part after the other, since a crawl of so many pages takes hours. Seconds are then those from the first
to the last fetch, without the time in which the workers read the tables, which is shown as well. Exits with 1 if the mean of the rounds is below 80%.
Needs Debian's PostgreSQL.
"""

import argparse
import collections
import json
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from chaos import Cluster

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPORA = ROOT.parent / "shared/corpora"
EXAMPLES, FIRST, LEAST_SPEED = 6, [200, 500, 1000], 0.8
# Finished URLs are written in as many parts.
PARTS = 10


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--porthole", default=str(ROOT / "target/release/porthole"))
    parser.add_argument("--web", default=str(CORPORA / "schools.warc.gz"))
    parser.add_argument("--labels", default=str(CORPORA / "schools.labels.tsv"))
    parser.add_argument("--topic", default="/Science/Biology/Birds")
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--order", default="all", choices=["all", "own"])
    parser.add_argument("--learning", default="all", choices=["all", "own"])
    parser.add_argument("--finished", type=int, default=0, metavar="N")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-fleet-"))
    folder.chmod(0o755)
    cluster = Cluster(folder / "pg")
    try:
        bench = Bench(options, folder, cluster)
        alone = bench.on_sqlite()
        show("SQLite", alone, alone)
        is_same, speeds = True, collections.defaultdict(list)
        for number in range(options.rounds):
            for workers in map(int, options.workers.split(",")):
                for finished in [options.finished, 0] if options.finished else [0]:
                    found = bench.with_workers(workers, f"{number}x{finished}", finished)
                    name = f"{workers} workers" if workers > 1 else "1 worker"
                    show(f"{name}, {finished} finished" if finished else name, found, alone)
                    is_same &= set(found.urls) == set(alone.urls) and len(set(found.urls)) == len(found.urls)
                    speeds[workers, finished].append(len(found.urls) / found.seconds)
        is_fast = compare_speeds(speeds) if options.finished else True
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if is_same and is_fast else 1)


def compare_speeds(speeds):
    """Whether the queue is fast enough beside finished URLs."""
    is_fast = True
    for (workers, finished), rounds in speeds.items():
        if finished:
            share = statistics.mean(rounds) / statistics.mean(speeds[workers, 0])
            print(f"{workers} workers: {share:.0%} of the speed at the start (at least {LEAST_SPEED:.0%})")
            is_fast &= share >= LEAST_SPEED
    return is_fast


Crawled = collections.namedtuple("Crawled", "urls harvest seconds")


def show(name, found, alone):
    relevance = ", ".join(
        f"{own:.3f} ({own / of_alone - 1:+.1%}) at {pages}" for pages, own, of_alone in zip(FIRST, found.harvest, alone.harvest)
    )
    more, fewer = len(set(found.urls) - set(alone.urls)), len(set(alone.urls) - set(found.urls))
    print(
        f"{name:10} {len(found.urls)} fetches, +{more} -{fewer} URLs, {len(found.urls) - len(set(found.urls))} twice; "
        f"mean relevance {relevance}; "
        f"{len(found.urls) / found.seconds:.0f} fetches/s",
        flush=True,
    )


class Bench:
    def __init__(self, options, folder, cluster):
        self.options, self.folder, self.cluster = options, folder, cluster
        self.examples = folder / "examples.tsv"
        taken = collections.Counter()
        lines = []
        for line in pathlib.Path(options.labels).read_text().splitlines():
            url, topic = line.split("\t")[:2]
            taken[topic] += 1
            if taken[topic] <= EXAMPLES:
                lines.append(f"{url}\t{topic}\n")
        self.examples.write_text("".join(lines))

    def porthole(self, *arguments):
        done = subprocess.run([self.options.porthole, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{arguments}: {done.stderr}")

    def train(self, workspace):
        here = ["-C", workspace]
        self.porthole(*here, "examples", "import", self.examples, "--web", self.options.web)
        self.porthole(*here, "topics", "mark", self.options.topic)
        self.porthole(*here, "train")

    def crawl(self, workspaces):
        began = time.monotonic()
        command = ["crawl", "--web", self.options.web, "--patience", "0", "--no-hubs", "--archive", "none"]
        run = lambda workspace: subprocess.Popen(
            [self.options.porthole, "-C", str(workspace), *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        for child in [run(workspace) for workspace in workspaces]:
            said = child.communicate()[1]
            if child.returncode:
                sys.exit(said.decode())
        return time.monotonic() - began

    def crawled(self, rows, seconds):
        """Rows in the order of the fetches: URL, state, relevance."""
        pages = [float(relevance) for _, state, relevance in rows if int(state) == 1]
        return Crawled([url for url, *_ in rows], [statistics.mean(pages[:first]) for first in FIRST], seconds)

    SQL = 'select url, state, relevance from "fetch" join crawl on crawl.rowid = "fetch".row order by "fetch".seq'

    def on_sqlite(self):
        workspace = self.folder / "alone"
        self.porthole("init", workspace)
        self.train(workspace)
        seconds = self.crawl([workspace])
        with sqlite3.connect(workspace / "porthole.db") as database:
            return self.crawled(database.execute(self.SQL).fetchall(), seconds)

    def with_workers(self, workers, suffix, finished):
        name = f"fleet{workers}x{suffix}"
        self.cluster.ask(f"create database {name} owner porthole", "postgres", "admin")
        url = self.cluster.url.rsplit("/", 1)[0] + f"/{name}"
        folders = [self.folder / f"{name}-{worker}" for worker in range(workers)]
        self.porthole("init", folders[0], "--db", url)
        self.train(folders[0])
        for folder in folders[1:]:
            self.porthole("init", folder, "--db", url, "--join")
        for folder in folders:
            settings = folder / "porthole.toml"
            text = settings.read_text() if settings.exists() else ""
            fleet = f'[fleet]\norder = "{self.options.order}"\nlearning = "{self.options.learning}"\n'
            settings.write_text(text.replace("[fleet]", fleet, 1) if "[fleet]" in text else text + fleet)
        if finished:
            self.fill(name, finished)
        seconds = self.crawl(folders)
        sql = f"select json_agg(json_build_array(url, state, relevance)) from ({self.SQL}) as fetched"
        rows = json.loads(self.cluster.ask(sql, name))
        if self.options.finished:
            times = "select (max(lastvisited) - min(lastvisited)) / 1e3 from crawl where url not like '%.filled.test/%'"
            before, seconds = seconds, float(self.cluster.ask(times, name))
            size = self.cluster.ask("select pg_size_pretty(pg_total_relation_size('crawl'))", name)
            print(f"  crawl has {size}; {before - seconds:.1f} s beside fetching", flush=True)
            rows = [row for row in rows if ".filled.test/" not in row[0]]
        return self.crawled(rows, seconds)

    def fill(self, name, urls):
        """Adds finished URLs of 10,000 sites. Their rows are updated once and the old versions removed, as by autovacuum."""
        ask = lambda sql: self.cluster.ask(sql, name, "admin")
        sid = "hashint8extended(site, 7)"
        ask(
            f"insert into site(rowid, sid, host, serverload) select site, {sid}, 'site' || site || '.filled.test', 0"
            " from generate_series(1, 10000) as site"
        )
        for part in range(PARTS):
            rows = f"{part * urls // PARTS + 1} and {(part + 1) * urls // PARTS}"
            series = f"generate_series({rows.replace(' and ', ', ')}) as n"
            ask(
                "insert into crawl(rowid, oid, url, sid, relevance, priority, numtries, state)"
                f" select n, hashint8extended(n, 1), 'http://site' || site || '.filled.test/' || n, {sid}, 0.5, 0.5, 0, 0"
                f" from {series}, lateral (select n % 10000 + 1 as site) as which"
            )
            ask(
                "update crawl set state = 1, numtries = 1, lastvisited = 1, kcid = 0, seq = rowid - 1, status = 200, title = 'filled',"
                f" bytes = 1000, terms = 100, simhash = rowid where rowid between {rows}"
            )
            ask(f'insert into "fetch"(seq, row) select n - 1, n from {series}')
            ask("vacuum analyze crawl")
        ask(f"insert into setting values ('crawl.next_seq', '{urls}') on conflict (name) do update set value = excluded.value")
        ask("delete from counts")
        ask(f"insert into counts values ({urls}, 0, {urls}, 0, 0, 0, 0, 0, 0, 10000, 0, 0)")
        ask("vacuum analyze")


if __name__ == "__main__":
    main()
