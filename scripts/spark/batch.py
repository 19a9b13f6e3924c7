#!/usr/bin/env python3
"""Batch work of a crawl on Apache Spark: the distiller (UpdateAuth, UpdateHubs), BulkProbe and the named queries.

    porthole -C owls train --critic naive-bayes --shape tree --tables
    porthole -C owls documents                 both for BulkProbe: they fill STAT and DOCUMENT
    porthole -C owls export tables -o tables
    scripts/spark/batch.py tables --out results [--master local[2]] [--topic /Science/Biology/Birds]
    scripts/spark/batch.py tables --compare owls [--compare owls-on-postgresql] [--porthole target/release/porthole]

The statements are those that the program runs inside SQLite and PostgreSQL; they are exported with the tables, in batch.json. They
are changed for Spark as follows: parameters become values, `insert into` becomes a view, `as materialized` is removed, a recursive
`union` becomes `union all` (topics are a tree), and a limit that is a query is computed first.

--out writes hubs, auth and bulk_probe as Parquet files, and the queries as JSON lines. --compare (may be repeated) runs the program
on a workspace: it computes hubs and authorities with each of its engines and runs BulkProbe and the queries in its database. The
largest differences are printed; more than 1e-6 is an error. The workspaces must have the crawl that was exported.

Needs Java 17 and pyspark, for example:

    apt-get install openjdk-17-jre-headless
    python3 -m venv target/venv-spark && target/venv-spark/bin/pip install pyspark
    target/venv-spark/bin/python scripts/spark/batch.py …
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TABLES = "crawl edge site fetch revisit upkeep host feedback hubs auth taxonomy stat document factor hub_factor alias".split()
WORK = ["distiller", "probe", "queries"]
ALLOWED = 1e-6


def main():
    options = parse_options()
    check_needs()
    batch = json.loads((options.tables / "batch.json").read_text())
    spark = session(options)
    for name in TABLES:
        spark.read.parquet(str(options.tables / name)).createOrReplaceTempView(f"`{name}`")
    for name in ("link", "page", "tried"):
        spark.sql(batch["statements"][name]).createOrReplaceTempView(name)
    hubs, authorities, judged, answers = {}, {}, {}, {}
    if "distiller" in options.only:
        began = time.monotonic()
        hubs, authorities, iterations = distill(spark, batch)
        print(f"distiller: {len(hubs)} hubs, {len(authorities)} authorities, {iterations} iterations, {took(began)}", flush=True)
    if "probe" in options.only:
        began = time.monotonic()
        judged = bulk_probe(spark, batch, options.nodes)
        print(f"BulkProbe: {len(judged)} judgments, {took(began)}", flush=True)
    if "queries" in options.only:
        began = time.monotonic()
        answers = queries(spark, batch, options.topic)
        print(f"queries: {len(answers)}, {took(began)}", flush=True)
    if options.out:
        write(spark, options.out, hubs, authorities, judged, answers)
    worst = 0.0
    for workspace in options.compare:
        worst = max(worst, compare(options, batch, workspace, hubs, authorities, judged, answers))
    spark.stop()
    if worst > ALLOWED:
        sys.exit(f"error: the largest difference is {worst:.1e}")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=pathlib.Path, help="folder of `porthole export tables`")
    parser.add_argument("--out", type=pathlib.Path, help="folder for the results; must not exist")
    parser.add_argument("--compare", type=pathlib.Path, action="append", default=[], metavar="WORKSPACE")
    parser.add_argument("--topic", help="topic for queries that need one [default: the first good one]")
    parser.add_argument("--only", nargs="*", choices=WORK, default=WORK)
    parser.add_argument("--nodes", type=int, help="BulkProbe at the first N nodes only [default: all]")
    parser.add_argument("--master", default="local[2]", help="master of Spark")
    parser.add_argument("--partitions", type=int, default=4, help="partitions of shuffled data")
    parser.add_argument("--memory", default="2g", help="memory of the driver")
    parser.add_argument("--porthole", default=str(ROOT / "target/release/porthole"))
    return parser.parse_args()


def check_needs():
    """Exits with a list of what is missing, if anything is."""
    missing = []
    java = os.environ.get("JAVA_HOME") and pathlib.Path(os.environ["JAVA_HOME"], "bin/java") or shutil.which("java")
    version = java and subprocess.run([str(java), "-version"], capture_output=True, text=True).stderr
    found = re.search(r'version "(\d+)', version or "")
    if not found or int(found[1]) < 17:
        missing.append("Java 17 or newer: apt-get install openjdk-17-jre-headless")
    try:
        import pyspark  # noqa: F401
    except ImportError:
        missing.append(f"pyspark: {sys.executable} -m pip install pyspark (in a virtual environment)")
    if missing:
        sys.exit("error: missing\n  " + "\n  ".join(missing))


def session(options):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(options.master).appName("porthole")
    settings = {
        "spark.sql.ansi.enabled": "true",
        "spark.sql.ansi.doubleQuotedIdentifiers": "true",
        "spark.sql.shuffle.partitions": options.partitions,
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": options.memory,
        "spark.ui.enabled": "false",
        "spark.sql.crossJoin.enabled": "true",
    }
    for name, value in settings.items():
        builder = builder.config(name, str(value))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def took(began):
    return f"{time.monotonic() - began:.1f} s"


def bound(sql, *values):
    """A statement with values in place of ?1, ?2 and so on."""
    for number, value in enumerate(values, 1):
        literal = f"cast('{value!r}' as double)" if isinstance(value, float) else f"{value}L"
        sql = sql.replace(f"?{number}", literal)
    return sql


def filled(spark, sql, *values):
    """Runs `insert into TABLE(COLUMNS) select …`; the rows become the view TABLE."""
    table, columns, select = re.match(r"\s*insert into (\w+)\(([^)]*)\)(.*)", sql, re.S).groups()
    frame = spark.sql(bound(select, *values)).toDF(*(column.strip() for column in columns.split(",")))
    # Computed once; a cluster would write it to its file system here.
    frame = frame.localCheckpoint()
    frame.createOrReplaceTempView(table)
    return frame


def distill(spark, batch):
    """UpdateAuth and UpdateHubs in turn until both have converged."""
    statements = batch["statements"]
    filled(spark, statements["judged"], batch["rho"])
    for name in ("counting", "from_site", "to_site", "weighed", "hub"):
        filled(spark, statements[name])
    spark.sql("select oid, score from hub where false").createOrReplaceTempView("authority")
    iterations, change = 0, float("inf")
    if spark.table("hub").isEmpty():
        return {}, {}, 0
    while change > batch["tolerance"] and iterations < batch["max_iterations"]:
        changes = [step(spark, statements["update_auth"], "authority"), step(spark, statements["update_hubs"], "hub")]
        change, iterations = max(changes), iterations + 1
    scores = lambda table: {row.oid: row.score for row in spark.table(table).collect()}
    return scores("hub"), scores("authority"), iterations


def step(spark, sql, table):
    """Replaces the scores of one side by the new ones, scaled to a sum of 1. Returns the change."""
    filled(spark, sql)
    total = spark.sql("select sum(score) as total from next").first().total
    if not total:
        return 0.0
    frame = spark.sql(f"select oid, score / cast('{total!r}' as double) as score from next").localCheckpoint()
    frame.createOrReplaceTempView("fresh")
    change = spark.sql(
        f"select sum(abs(fresh.score - coalesce({table}.score, 0))) as moved from fresh left join {table} on {table}.oid = fresh.oid"
    ).first().moved
    frame.createOrReplaceTempView(table)
    return change


def nodes_with_statistics(taxonomy):
    """Nodes whose children all have statistics."""
    parents = {row["pcid"] for row in taxonomy if row["pcid"] is not None}
    untrained = {row["pcid"] for row in taxonomy if row["logprior"] is None}
    return sorted(parents - untrained)


def bulk_probe(spark, batch, most):
    """BulkProbe at every node for all documents: (node, document, child) to the logarithm of the unnormalised probability."""
    taxonomy = [row.asDict() for row in spark.sql("select kcid, pcid, logprior from taxonomy").collect()]
    first, last = spark.sql("select min(did), max(did) from document").first()
    judged = {}
    if first is None:
        return judged
    for node in nodes_with_statistics(taxonomy)[:most]:
        for did, kcid, log in spark.sql(bound(batch["statements"]["bulk_probe"], node, first, last)).collect():
            judged[node, did, kcid] = log
    return judged


def queries(spark, batch, path):
    """The named queries: name to the columns and rows of the answer."""
    topics = {row.path: row.kcid for row in spark.sql("select path, kcid from taxonomy").collect()}
    good = [row.path for row in spark.sql("select path from taxonomy where mark = 'good' order by kcid").collect()]
    path = path or (good[0] if good else "/")
    answers = {}
    for name, query in batch["queries"].items():
        values = {key: path if default is None else default for key, default in query["parameters"].items()}
        sql = re.sub(r":(\w+)", lambda found: str(topics.get(values[found[1]], values[found[1]])), query["sql"])
        sql = sql.replace("as materialized", "as")
        sql = re.sub(r"\bunion\b(?!\s+all)", "union all", sql)
        limit = re.search(r"limit \((select .*? from \w+)\)", sql, re.S)
        if limit:
            sql = sql.replace(limit[0], f"limit {int(spark.sql(limit[1]).first()[0])}")
        frame = spark.sql(sql)
        answers[name] = frame.columns, [list(row) for row in frame.collect()], values
    return answers


def write(spark, out, hubs, authorities, judged, answers):
    out.mkdir(parents=True)
    for name, scores in (("hubs", hubs), ("auth", authorities)):
        spark.createDataFrame(list(scores.items()), "oid long, score double").write.parquet(str(out / name))
    rows = [(*key, log) for key, log in judged.items()]
    spark.createDataFrame(rows, "pcid int, did long, kcid int, log double").write.parquet(str(out / "bulk_probe"))
    for name, (columns, rows, _) in answers.items():
        lines = (json.dumps(dict(zip(columns, row)), default=float) for row in rows)
        (out / f"{name}.jsonl").write_text("".join(line + "\n" for line in lines))


def compare(options, batch, workspace, hubs, authorities, judged, answers):
    """Prints the largest differences from a workspace. Returns the largest of all."""
    run = lambda *arguments: program(options, "-C", workspace, *arguments)
    url = workspace / "porthole.url"
    engine = "PostgreSQL" if url.exists() else "SQLite"
    worst = 0.0
    for how in ("native", "walk", "sql") if hubs else ():
        run("distill", "--engine", how)
        ours = {table: dict(rows_of(workspace, f"select oid, score from {table}")) for table in ("hubs", "auth")}
        found = max(difference(hubs, ours["hubs"]), difference(authorities, ours["auth"]))
        print(f"{engine}, distill --engine {how}: {len(ours['hubs'])} hubs, largest difference {found:.1e}", flush=True)
        worst = max(worst, found)
    if judged:
        theirs = bulk_probe_of(workspace, batch, {key[0] for key in judged})
        if judged.keys() != theirs.keys():
            sys.exit(f"error: {engine} has {len(theirs)} judgments, Spark {len(judged)}")
        found = max(abs(judged[key] - log) / max(abs(log), 1.0) for key, log in theirs.items())
        print(f"{engine}, BulkProbe: {len(theirs)} judgments, largest relative difference {found:.1e}", flush=True)
        worst = max(worst, found)
    same = 0
    for name, (columns, rows, values) in answers.items():
        answer = json.loads(run("query", name, "--json", *(f"{name}={value}" for name, value in values.items())))
        ours = [list(row.values()) for row in answer]
        found = answers_differ(rows, ours)
        if found > ALLOWED:
            print(f"{engine}, query {name}: the answers differ: {rows[:2]} {ours[:2]}")
        same += found <= ALLOWED
        worst = max(worst, found)
    if answers:
        print(f"{engine}, queries: {same} of {len(answers)} answers are the same", flush=True)
    return worst


def program(options, *arguments):
    command = [options.porthole, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)}: {done.stderr[-2000:]}")
    return done.stdout


def difference(one, other):
    """The largest difference of two sets of scores; one that is missing is 0."""
    return max((abs(one.get(oid, 0.0) - other.get(oid, 0.0)) for oid in one.keys() | other.keys()), default=0.0)


def rows_of(workspace, sql):
    """Rows of numbers from the database of a workspace."""
    url = workspace / "porthole.url"
    if not url.exists():
        return sqlite3.connect(f"file:{workspace / 'porthole.db'}?mode=ro", uri=True).execute(sql).fetchall()
    if not shutil.which("psql"):
        sys.exit("error: missing\n  psql: apt-get install postgresql-client")
    command = ["psql", "-XqAt", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-c", sql, url.read_text().strip()]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {sql}: {done.stderr}")
    number = lambda text: int(text) if text.lstrip("-").isdigit() else float(text)
    return [tuple(map(number, line.split("\t"))) for line in done.stdout.splitlines()]


def bulk_probe_of(workspace, batch, nodes):
    """The same statement in the database of a workspace."""
    judged = {}
    for node in nodes:
        sql = batch["statements"]["bulk_probe"].replace("?1", str(node))
        sql = sql.replace("?2", str(1 - 2**63)).replace("?3", str(2**63 - 1))
        judged |= {(node, did, kcid): log for did, kcid, log in rows_of(workspace, sql)}
    return judged


def answers_differ(one, other):
    """The largest difference of numbers; infinite if anything else differs."""
    if len(one) != len(other):
        return float("inf")
    most = 0.0
    for left, right in zip(sum(one, []), sum(other, [])):
        is_number = [isinstance(value, (int, float)) or hasattr(value, "as_tuple") for value in (left, right)]
        if all(is_number):
            most = max(most, abs(float(left) - float(right)) / max(abs(float(right)), 1.0))
        elif left != right:
            return float("inf")
    return most


if __name__ == "__main__":
    main()
