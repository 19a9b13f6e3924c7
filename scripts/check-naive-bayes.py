#!/usr/bin/env python3
"""Checks that Porthole's naive Bayes has the same log probabilities as scikit-learn's on the same counts.

    scripts/check-naive-bayes.py [PORTHOLE]

Generates documents of three topics, trains Porthole on them (add one, every occurrence, all terms, no calibration), and
compares the tables TAXONOMY and STAT, and the judgments of unseen documents, with MultinomialNB on the same
counts. Needs scikit-learn and xxhash from PyPI, and a build of porthole.
"""

import collections
import json
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

import numpy
import xxhash
from sklearn.naive_bayes import MultinomialNB

TOPICS = ["astronomy", "botany", "cycling"]
# Words that are neither English nor stop words and have no ending that a stemmer removes: each is counted as written.
WORDS = [f"zq{a}{b}x{c}k" for a in "bdfgh" for b in "aou" for c in "bdfghm"]


def made_up(seed, each):
    """Documents as (topic, words): words common to all topics, and words that are more frequent in one."""
    chance = random.Random(seed)
    documents = []
    for number, topic in enumerate(TOPICS):
        leaning = [8 if index % len(TOPICS) == number else 1 for index in range(len(WORDS) - 5)]
        for _ in range(each + number * 7):
            documents.append((topic, chance.choices(WORDS[:-5], leaning, k=chance.randrange(5, 120))))
    return documents


def term(word):
    return xxhash.xxh3_64_intdigest(word.encode()) & 0xFFFFFFFF


def counted(documents):
    """Counts as a matrix over the words that occur."""
    words = sorted({word for _, text in documents for word in text})
    places = {word: place for place, word in enumerate(words)}
    return words, lambda texts: numpy.array([row(text, places) for text in texts])


def row(text, places):
    counts = collections.Counter(word for word in text if word in places)
    return [counts[word] for word in places]


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    porthole = sys.argv[1] if len(sys.argv) > 1 else str(root / "target/release/porthole")
    training, unseen = made_up(1, 3), made_up(2, 10)
    words, matrix = counted(training)
    theirs = MultinomialNB(alpha=1.0).fit(matrix([text for _, text in training]), [topic for topic, _ in training])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for number, (topic, text) in enumerate(training):
            file = folder / "texts" / topic / f"{number}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(" ".join(text))
        run = lambda *words: subprocess.run([porthole, *words], check=True, capture_output=True, text=True).stdout
        space = str(folder / "space")
        run("init", space)
        run("-C", space, "examples", "import", str(folder / "texts"))
        run("-C", space, "train", "--smoothing", "1", "--counting", "each", "--features", "1000000",
            "--no-calibration", "--tables")
        compare_tables(folder / "space" / "porthole.db", theirs, words)
        compare_judgments(run, folder, space, theirs, matrix, unseen)


def compare_tables(database, theirs, words):
    db = sqlite3.connect(database)
    nodes = {name: (kcid, prior, denom) for kcid, name, prior, denom in
             db.execute("select kcid, name, logprior, logdenom from taxonomy where pcid is not null")}
    worst = 0.0
    for number, topic in enumerate(theirs.classes_):
        kcid, prior, denom = nodes[topic]
        worst = max(worst, abs(prior - theirs.class_log_prior_[number]))
        stat = dict(db.execute("select tid, logtheta from stat where kcid = ?", [kcid]))
        for place, word in enumerate(words):
            # A term that never occurs with the topic has no row: it costs logdenom (V 2.1.1).
            ours = stat.get(term(word), -denom)
            worst = max(worst, abs(ours - theirs.feature_log_prob_[number][place]))
    rows = db.execute("select count(*) from stat").fetchone()[0]
    check(f"priors and {len(words)} x {len(nodes)} log probabilities ({rows} rows of STAT)", worst)


def compare_judgments(run, folder, space, theirs, matrix, unseen):
    files = []
    for number, (_, text) in enumerate(unseen):
        files.append(folder / f"unseen-{number}.txt")
        files[-1].write_text(" ".join(text))
    expected = theirs.predict_log_proba(matrix([text for _, text in unseen]))
    judged = json.loads(run("-C", space, "classify", "--json", "--all", *map(str, files)))
    worst = 0.0
    for ours, logs in zip(judged, expected):
        found = {topic["topic"].strip("/"): topic["probability"] for topic in ours["all"]}
        for topic, log in zip(theirs.classes_, logs):
            worst = max(worst, abs(found[topic] - numpy.exp(log)))
    check(f"probabilities of {len(unseen)} unseen documents", worst)


def check(what, worst):
    print(f"{what}: the largest difference is {worst:.1e}")
    if worst > 1e-6:
        sys.exit("that is more than 1e-6")


if __name__ == "__main__":
    main()
