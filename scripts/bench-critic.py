#!/usr/bin/env python3
"""Compares the critic with scikit-learn in one run on the same texts: 20 Newsgroups by date, from raw text to group.

    scripts/bench-critic.py [CORPORA] [PORTHOLE]

Needs scikit-learn and zstandard from PyPI, and a release build of porthole. Rounds are interleaved; times are CPU
seconds on one core.
"""

import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import time

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"

import zstandard
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

ROUNDS = 5


def texts(corpora):
    """The texts and groups of both parts."""
    parts = {"train": ([], []), "test": ([], [])}
    packed = (corpora / "newsgroups20.tar.zst").open("rb")
    archive = io.BytesIO(zstandard.ZstdDecompressor().stream_reader(packed).read())
    for member in tarfile.open(fileobj=archive):
        if member.isfile():
            _, part, group, _ = member.name.rsplit("/", 3)
            found = parts[part.removeprefix("20news-bydate-")]
            found[0].append(archive_text(archive, member))
            found[1].append(group)
    return parts


def archive_text(archive, member):
    archive.seek(member.offset_data)
    return archive.read(member.size).decode("latin-1")


def theirs(parts):
    """One round: CPU seconds to train and to judge, and the accuracy."""
    started = time.process_time()
    vectorizer = CountVectorizer()
    model = MultinomialNB().fit(vectorizer.fit_transform(parts["train"][0]), parts["train"][1])
    trained = time.process_time()
    found = model.predict(vectorizer.transform(parts["test"][0]))
    judged = time.process_time()
    accuracy = sum(a == b for a, b in zip(found, parts["test"][1])) / len(found)
    return {"train": trained - started, "judge": judged - trained, "accuracy": accuracy}


def ours(porthole, corpora):
    command = [porthole, "lab", "bench", "critic", "--corpora", corpora, "--rounds", "1", "--json"]
    [round] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["rounds"]
    return {"train": round["train_cpu_seconds"], "judge": round["judge_cpu_seconds"], "accuracy": round["accuracy"]}


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    corpora = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else root / "../shared/corpora")
    porthole = sys.argv[2] if len(sys.argv) > 2 else root / "target/release/porthole"
    parts = texts(corpora)
    print(f"{len(parts['train'][0])} articles to train on, {len(parts['test'][0])} to judge; load {os.getloadavg()[0]:.1f}")
    print(f"{'':8}{'train, CPU s':>24}{'judge, CPU s':>24}{'accuracy':>20}")
    ratios = {"train": [], "judge": []}
    for number in range(ROUNDS):
        their, our = theirs(parts), ours(porthole, corpora)
        for what in ratios:
            ratios[what].append(their[what] / our[what])
        cells = [f"{their[what]:.2f} / {our[what]:.2f} = {their[what] / our[what]:.1f}x" for what in ratios]
        print(f"round {number + 1}:{cells[0]:>24}{cells[1]:>24}{their['accuracy']:>11.4f} {our['accuracy']:.4f}")
    for what, found in ratios.items():
        found.sort()
        print(f"{what}: {found[len(found) // 2]:.1f} times scikit-learn's documents per CPU second (median of {ROUNDS})")


if __name__ == "__main__":
    main()
