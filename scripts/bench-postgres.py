#!/usr/bin/env python3
"""Measures the store on PostgreSQL, on a private cluster that this script starts and ends.

    scripts/bench-postgres.py [--only probes|distiller|crawl] [--rounds 3] [--corpora ../shared/corpora]

probes     BulkProbe and SingleProbe inside the database, for shared buffers of several sizes (the paper: 10 times as fast)
distiller  the join and the walk inside the database (the paper: 3 times as fast)
crawl      a replay of Schools on SQLite and on PostgreSQL in turn: pages per second, CPU time of the program and of the server;
           rows, bytes and written log per page

Needs a release build of porthole and Debian's postgresql.
"""

import argparse
import json
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib

from private_cluster import Cluster

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The smallest size that PostgreSQL accepts, and larger ones.
BUFFERS = ["128kB", "2MB", "16MB", "256MB"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["probes", "distiller", "crawl"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=2000, help="topics of the generated taxonomy (probes)")
    parser.add_argument("--documents", type=int, default=400, help="documents that are classified (probes)")
    parser.add_argument("--pages", type=int, default=5000, help="pages of the crawl that is distilled")
    parser.add_argument("--buffers", nargs="*", default=BUFFERS)
    parser.add_argument("--corpora", type=pathlib.Path, default=ROOT / "../shared/corpora")
    parser.add_argument("--topic", default="/Science/Biology/Birds")
    parser.add_argument("--workspaces", default=ROOT / "target", help="folder for workspaces and the cluster")
    parser.add_argument("--porthole", default=str(ROOT / "target/release/porthole"))
    options = parser.parse_args()
    if not pathlib.Path(options.porthole).exists():
        sys.exit(f"error: {options.porthole} is missing; run cargo build --release")
    for name, measure in (("probes", probes), ("distiller", distiller), ("crawl", crawl)):
        if options.only in (None, name):
            measure(options)


def run(options, *arguments, codes=(0,)):
    command = [options.porthole, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(f"error: {' '.join(command)}: {done.stderr[-2000:]}")
    return done.stdout


def probes(options):
    print("## BulkProbe and SingleProbe\n")
    print("| shared buffers | of STAT | SingleProbe STAT, ms (blocks read) | SingleProbe BLOB | BulkProbe | BLOB / Bulk: time, blocks |")
    print("|---|---|---|---|---|---|", flush=True)
    for number, buffers in enumerate(options.buffers):
        with Cluster(shared_buffers=buffers, fsync="off") as cluster:
            url = cluster.create(f"probes{number}")
            figures = json.loads(
                run(options, "lab", "bench", "classifier", "--db", url, "--nodes", options.nodes, "--documents", options.documents, "--json")
            )
        size = figures["size"]
        of = {variant["name"]: variant["cost"] for variant in figures["variants"]}
        cell = lambda cost: f"{cost['micros'] / 1e3:.2f} ({cost['misses']:.0f})"
        stat, blob, bulk = (of[name] for name in ("SingleProbe (STAT)", "SingleProbe (BLOB)", "BulkProbe"))
        share = size["cache_bytes"] / size["stat_bytes"]
        times, blocks = blob["micros"] / bulk["micros"], blob["misses"] / max(bulk["misses"], 1e-9)
        print(
            f"| {buffers} | {share:.1%} of {size['stat_bytes'] / 1e6:.0f} MB | {cell(stat)} | {cell(blob)} | {cell(bulk)} "
            f"| {times:.1f}, {blocks:.1f} |",
            flush=True,
        )
        if figures["disagreement"] > 1e-6:
            sys.exit(f"error: the variants differ by {figures['disagreement']}")


def distiller(options):
    print("\n## The distiller\n")
    print("| engine | walk, ms | join, ms | walk / join | native in memory, ms | largest difference |")
    print("|---|---|---|---|---|---|", flush=True)
    arguments = ["lab", "bench", "distiller", "--json", "--pages", options.pages, "--rounds", options.rounds]
    with Cluster(fsync="off") as cluster:
        url = cluster.create("distiller")
        for engine, more in (("PostgreSQL", ["--db", url]), ("SQLite", [])):
            figures = json.loads(run(options, *arguments, *more))
            of = {variant["name"]: variant for variant in figures["variants"]}
            walk = of["edge walk in the database"]["finding"]
            join = of["joins in the database"]["finding"]
            native = of["native"]["finding"]
            print(
                f"| {engine} | {walk:.0f} | {join:.0f} | {walk / join:.1f} | {native:.1f} | {figures['disagreement']:.0e} |",
                flush=True,
            )
            print(f"<!-- {figures['pages']} pages, {figures['links']} links -->", flush=True)


def crawl(options):
    print("\n## A crawl of Schools\n")
    web = options.corpora / "schools.warc.gz"
    if not web.exists():
        sys.exit(f"error: {web} is missing; give the folder with --corpora")
    lines = (options.corpora / "schools.labels.tsv").read_text().splitlines(keepends=True)
    with tempfile.TemporaryDirectory(dir=options.workspaces, prefix="bench-pg-") as folder, Cluster(
        folder=None, shared_buffers="256MB"
    ) as cluster:
        folder = pathlib.Path(folder)
        labels = folder / "labels.tsv"
        labels.write_text("".join(line for line in lines if zlib.crc32(line.split("\t")[0].encode()) % 10 == 0))
        found = {"SQLite": [], "PostgreSQL": []}
        sizes = None
        for number in range(options.rounds):
            for engine in found:
                workspace = folder / f"{engine}{number}"
                database = f"crawl{number}"
                arguments = ["init", workspace]
                if engine == "PostgreSQL":
                    arguments += ["--db", cluster.create(database)]
                run(options, *arguments)
                run(options, "-C", workspace, "examples", "import", labels, "--web", web)
                run(options, "-C", workspace, "train")
                run(options, "-C", workspace, "topics", "mark", options.topic)
                found[engine].append(one_crawl(options, cluster, workspace, web))
                if engine == "PostgreSQL":
                    sizes = table_sizes(cluster, database, found[engine][-1]["pages"])
                shutil.rmtree(workspace / "pages")
        print("| engine | pages | pages per second | CPU per page, ms: program | server | log per page, kB |")
        print("|---|---|---|---|---|---|")
        for engine, rounds in found.items():
            median = lambda name: statistics.median(one[name] for one in rounds)
            print(
                f"| {engine} | {median('pages'):.0f} | {median('rate'):.0f} | {median('program') * 1e3:.2f} "
                f"| {median('server') * 1e3:.2f} | {median('log') / 1e3:.1f} |"
            )
        print("\n| table | rows per page | bytes per row | bytes per page |\n|---|---|---|---|")
        for name, rows, a_row, a_page in sizes:
            print(f"| {name} | {rows:.2f} | {a_row:.0f} | {a_page:.0f} |")
        print(f"| all | | | {sum(size[3] for size in sizes):.0f} |")


def one_crawl(options, cluster, workspace, web):
    """Crawls the whole web, one page at a time, as in experiments."""
    arguments = ["-C", workspace, "crawl", "--web", web, "--strategy", "soft", "--patience", "0", "--json"]
    log = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
    server, written = cluster.cpu_seconds(), int(cluster.ask(log)[0][0])
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    run(options, *arguments, codes=(0, 60))
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    status = json.loads(run(options, "-C", workspace, "status", "--json"))
    pages = status["pages"] if "pages" in status else status["fetched"]
    program = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "pages": pages,
        "rate": pages / seconds,
        "program": program / pages,
        "server": (cluster.cpu_seconds() - server) / pages,
        "log": (int(cluster.ask(log)[0][0]) - written) / pages,
    }


def table_sizes(cluster, database, pages):
    sizes = []
    names = cluster.ask("select relname from pg_stat_user_tables order by pg_total_relation_size(relid) desc", database)
    for (name,) in names:
        rows, total = cluster.ask(f'select count(*), pg_total_relation_size(\'"{name}"\') from "{name}"', database)[0]
        rows, total = int(rows), int(total)
        if rows and total / pages >= 1:
            sizes.append((name, rows / pages, total / rows, total / pages))
    return sizes


if __name__ == "__main__":
    main()
