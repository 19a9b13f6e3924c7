#!/usr/bin/env python3
"""Analyses a crawl outside of Porthole: DuckDB reads its Parquet files, pandas its SQLite database.

    pip install duckdb pandas
    porthole -C WORKSPACE export parquet -o PARQUET
    examples/analysis.py WORKSPACE PARQUET

The columns are described in docs/export.md, the tables in docs/schema.md. The script only reads; it can
run during a crawl.
"""

import pathlib
import sqlite3
import sys

import duckdb
import pandas

SITES = """
    select url_host_name as site, count(*) as pages, round(avg(relevance), 2) as relevance,
           round(sum(authority), 3) as authority
    from pages group by site order by sum(relevance) desc limit 8
"""

# Harvest rate of ten consecutive parts of the crawl with the same number of pages.
OVER_TIME = """
    select part, min(fetch_time)::timestamp(0) as since, count(*) as pages,
           round(avg(coalesce(relevance, 0) * (copy_of is null)::int), 2) as harvest
    from (select *, ntile(10) over (order by fetch_time, oid) as part from pages)
    group by part order by part
"""

# Words in titles of pages of a topic, compared with all titles: logarithm of the ratio of their shares, smoothed.
WORDS = """
    with word as (
        select distinct oid, topic, unnest(string_split_regex(lower(title), '[^\\pL]+')) as word from pages
    ), counted as (
        select word, count(*) filter (topic = $topic) as here, count(*) as pages from word
        where length(word) > 2 group by word
    ), sizes as (
        select count(*) filter (topic = $topic) as here, count(*) as pages from pages
    )
    select word, counted.here as pages, counted.pages as of,
           round(ln((counted.here + 0.5) / (sizes.here + 1) / ((counted.pages + 0.5) / (sizes.pages + 1))), 2) as weight
    from counted, sizes where counted.here > 1 order by weight * sqrt(counted.here) desc, word limit 8
"""

TOPICS = """
    select path as topic, mark, count(*) as pages, round(avg(relevance), 2) as relevance
    from crawl join taxonomy using (kcid) where state = 1
    group by kcid order by pages desc limit 8
"""

# Anchor texts of links to the most relevant pages. `src` and `dst` of a link are row numbers of `crawl`.
ANCHORS = """
    select lower(anchor) as anchor, count(*) as links, count(distinct dst) as pages
    from edge join crawl on crawl.rowid = edge.dst
    where crawl.relevance > 0.9 and state = 1 and anchor is not null
    group by 1 order by links desc, anchor limit 8
"""


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    workspace, parquet = map(pathlib.Path, sys.argv[1:])
    pandas.set_option("display.width", 120)
    duckdb.sql(f"create view pages as select * from '{parquet}/*.parquet'")
    show("Sites with the most relevant pages", duckdb.sql(SITES).df())
    show("Harvest rate over time", duckdb.sql(OVER_TIME).df())
    database = sqlite3.connect(f"file:{workspace / 'porthole.db'}?mode=ro", uri=True)
    topics = pandas.read_sql(TOPICS, database)
    show("Topics with the most pages", topics)
    for topic in topics[topics["mark"].isin(["good", "subsumed"])]["topic"][:2]:
        show(f"Words of {topic} in titles", duckdb.execute(WORDS, {"topic": topic}).df())
    show("Texts of links to relevant pages", pandas.read_sql(ANCHORS, database))


def show(title, table):
    print(f"## {title}\n{table.to_string(index=False)}\n")


if __name__ == "__main__":
    main()
