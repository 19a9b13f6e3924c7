#!/usr/bin/env python3
"""Measures what hubs recover: pages of the topic that a crawl finds with `+hubs` and not without, in the same number of fetches.

    scripts/hub-recovery.py [--porthole PROGRAM] [--strategy soft] [--out DIR] -- ARGUMENTS OF `porthole lab run`

for example

    scripts/hub-recovery.py -- --web webkb.warc.gz --labels webkb.labels.tsv --topics /course,/student --at 200,1000

Runs the experiment with the strategy and with its `+hubs` variant, from the same start pages, and compares the recorded fetches at
each number of `--at` by the true labels. Prints the mean number of pages of the topic without and with hubs, of those that only the
crawl with hubs has (recovered), and of those that only the other has (lost). Crawls that are already in the folder are not repeated.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile


def traces(folder):
    """For every crawl, the URLs that count, in fetch order, each with whether it is about the topic."""
    for path in sorted((folder / "traces").iterdir()):
        lines = path.read_text().splitlines()
        outcome = json.loads(lines[0].removeprefix("# "))
        cells = (line.split("\t") for line in lines[3:])
        counted = [(cell[1], cell[4] == "about") for cell in cells if cell[4] in ("about", "other")]
        yield (outcome["topic"], outcome["sample"], outcome["strategy"]), counted


def about(counted, at):
    return {url for url, is_about in counted[:at] if is_about}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--porthole", default="target/release/porthole")
    parser.add_argument("--strategy", default="soft")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("experiment", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        compare(options, options.out or pathlib.Path(scratch))


def compare(options, folder):
    plain, hubs = options.strategy, f"{options.strategy}+hubs"
    experiment = [argument for argument in options.experiment if argument != "--"]
    command = [options.porthole, "lab", "run", *experiment, "--strategies", f"{plain},{hubs}", "--out", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    crawls = dict(traces(folder))
    ends = [int(at) for at in json.loads((folder / "results.jsonl").read_text().splitlines()[0])["harvest"]]
    print(f"{'topic':<40} {'fetches':>7} {'crawls':>6} {'without':>8} {'with':>8} {'recovered':>9} {'lost':>6}")
    sums = collections.defaultdict(lambda: [0] * 5)
    for (topic, sample, strategy), counted in crawls.items():
        if strategy != plain:
            continue
        boosted = crawls[topic, sample, hubs]
        for at in ends:
            before, after = about(counted, at), about(boosted, at)
            row = [1, len(before), len(after), len(after - before), len(before - after)]
            for name in (topic, "all"):
                sums[name, at] = [a + b for a, b in zip(sums[name, at], row)]
    for (topic, at), (count, *found) in sorted(sums.items(), key=lambda item: (item[0][0] == "all", item[0])):
        without, having, recovered, lost = (value / count for value in found)
        print(f"{topic:<40} {at:>7} {count:>6} {without:>8.1f} {having:>8.1f} {recovered:>9.1f} {lost:>6.1f}")


if __name__ == "__main__":
    sys.exit(main())
