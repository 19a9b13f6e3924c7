#!/usr/bin/env python3
"""Compares the distiller with scipy's sparse products and igraph's hub_score, in one run on the same graph.

    scripts/bench-distill.py [--rounds N] [--pages N] [--links N] [--only plain|weighted]

Needs scipy, numpy and igraph from PyPI, for example:

    python3 -m venv target/venv-distill && target/venv-distill/bin/pip install scipy numpy igraph
    target/venv-distill/bin/python scripts/bench-distill.py

Rounds are interleaved; the table has the median wall time and CPU time of each variant, and the ratios within rounds.
plain: every page is on its own site, and all pages are relevant. weighted: with relevance, without links inside a site,
with the correction for inflation; for scipy, both weights are in the matrices.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import igraph
import numpy as np
import scipy.sparse as sparse

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRODUCTS = 10


class Ours:
    """The benchmark of the crate, as a process that measures on request."""

    def __init__(self, program, graph, arguments, threads=None):
        environment = dict(os.environ, **({"RAYON_NUM_THREADS": str(threads)} if threads else {}))
        command = [program, "--serve", *arguments, *(["--write", str(graph)] if graph else [])]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        self.ready = self.process.stdout.readline().split()

    def measure(self, what, scores=""):
        print(what, scores, file=self.process.stdin, flush=True)
        *figures, iterations, peak = self.process.stdout.readline().split()
        whole, whole_cpu, iteration, iteration_cpu = map(float, figures)
        return (whole, whole_cpu), (iteration, iteration_cpu), int(iterations), peak

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def program():
    """Builds the benchmark. Returns its path."""
    command = ["cargo", "bench", "-q", "-p", "porthole-distill", "--bench", "distill", "--no-run", "--message-format=json"]
    lines = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    found = [json.loads(line).get("executable") for line in lines if '"executable":"' in line]
    return found[-1]


def read(path):
    """The graph: pages, sources, targets, sites, relevance."""
    data = path.read_bytes()
    pages, links = (int(count) for count in np.frombuffer(data, "<u8", 2))
    columns = [("<u4", links), ("<u4", links), ("<u4", pages), ("<f8", pages)]
    found, at = [], 16
    for kind, count in columns:
        found.append(np.frombuffer(data, kind, count, at).copy())
        at += found[-1].nbytes
    return pages, *found


def matrices(pages, sources, targets, sites, relevance):
    """A with ones, and E_F and E_B with relevance and the correction for inflation."""
    keys = np.unique(sources.astype(np.int64) * pages + targets)
    u, v = keys // pages, keys % pages
    plain = sparse.csr_matrix((np.ones(len(u))[u != v], (u[u != v], v[u != v])), shape=(pages, pages))
    across = sites[u] != sites[v]
    u, v = u[across], v[across]
    k, l = counts(sites[u].astype(np.int64) * pages + v), counts(u * pages + sites[v])
    fwd = sparse.csr_matrix((relevance[v] / k, (u, v)), shape=(pages, pages))
    rev = sparse.csr_matrix((relevance[u] / l, (u, v)), shape=(pages, pages))
    return plain, fwd, rev


def counts(keys):
    """For each key, how often it occurs in total."""
    _, inverse, count = np.unique(keys, return_inverse=True, return_counts=True)
    return count[inverse]


def timed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return (time.perf_counter() - wall, time.process_time() - cpu), result


def products(fwd, rev):
    """The two matrix products of an iteration."""
    hubs = np.full(fwd.shape[0], 1 / fwd.shape[0])
    turned = fwd.T

    def work():
        for _ in range(PRODUCTS):
            rev @ (turned @ hubs)

    wall, cpu = timed(work)[0]
    return wall / PRODUCTS, cpu / PRODUCTS


def reference(fwd, rev, tolerance=1e-14):
    """Hub scores, converged to machine precision."""
    hubs, change = np.full(fwd.shape[0], 1 / fwd.shape[0]), 1
    for _ in range(1000):
        new = rev @ (fwd.T @ hubs)
        new /= new.sum()
        hubs, change = new, np.abs(new - hubs).sum()
        if change < tolerance:
            break
    return hubs


def table(rows):
    for name, values in rows.items():
        wall, cpu = (statistics.median(value[which] for value in values) for which in (0, 1))
        print(f"{name:<42} {wall * 1e3:>10.1f} ms {cpu * 1e3:>10.1f} ms CPU")


def ratio(rows, theirs, ours):
    ratios = [[a[which] / b[which] for a, b in zip(rows[theirs], rows[ours])] for which in (0, 1)]
    wall, cpu = ([f"{value:.2f}" for value in (statistics.median(r), min(r), max(r))] for r in ratios)
    print(f"{theirs} / {ours}: {wall[0]} ({wall[1]}-{wall[2]}) in wall time, {cpu[0]} ({cpu[1]}-{cpu[2]}) in CPU time")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pages", default="1000000")
    parser.add_argument("--links", default="10000000")
    parser.add_argument("--only", choices=["plain", "weighted"])
    options = parser.parse_args()
    warnings.simplefilter("ignore", RuntimeWarning)
    with tempfile.TemporaryDirectory() as folder:
        run(options, pathlib.Path(folder))


def run(options, folder):
    executable, arguments = program(), ["--pages", options.pages, "--links", options.links]
    ours = Ours(executable, folder / "graph", arguments)
    alone = Ours(executable, None, arguments, threads=1)
    plain, fwd, rev = matrices(*read(folder / "graph"))
    whole = igraph.Graph(n=plain.shape[0], edges=np.stack(plain.nonzero(), 1), directed=True)
    same = igraph.ARPACKOptions()
    same.tol = 1e-9
    print(f"{plain.shape[0]} pages, {plain.nnz} links ({fwd.nnz} weighted), load {os.getloadavg()[0]:.1f}")
    rows, errors = {}, {}
    pairs = {"plain": (plain, plain), "weighted": (fwd, rev)}
    pairs = {what: pair for what, pair in pairs.items() if options.only in (None, what)}
    truth = {what: reference(*pair) for what, pair in pairs.items()}

    def note(name, value):
        rows.setdefault(name, []).append(value)

    for _ in range(options.rounds):
        for what, pair in pairs.items():
            for who, server in {"ours": ours, "ours, 1 core": alone}.items():
                total, iteration, iterations, peak = server.measure(what, folder / "scores")
                note(f"{what}: {who}, iteration", iteration)
                note(f"{what}: {who}, whole", total)
                scores = np.fromfile(folder / "scores", "<f8")
                errors[f"{what}: {who}"] = (np.abs(scores - truth[what]).sum(), iterations, peak)
            note(f"{what}: scipy, products", products(*pair))
        if "plain" not in pairs:
            continue
        taken, scores = timed(lambda: np.array(whole.hub_score(arpack_options=same)))
        note("plain: igraph, whole", taken)
        errors["plain: igraph"] = (np.abs(scores / scores.sum() - truth["plain"]).sum(), "unknown", "unknown")
    print(f"graph built by us in {float(ours.ready[1]):.3f} s")
    table(rows)
    for what in truth:
        for who in ("ours", "ours, 1 core"):
            ratio(rows, f"{what}: scipy, products", f"{what}: {who}, iteration")
    for who in ("ours", "ours, 1 core") if "plain" in pairs else ():
        ratio(rows, "plain: igraph, whole", f"plain: {who}, whole")
    for name, (error, iterations, peak) in errors.items():
        print(f"{name}: total error {error:.1e}; {iterations} iterations; peak memory {peak}")
    ours.end()
    alone.end()
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    sys.exit(main())
