#!/usr/bin/env python3
"""Fits the model that finds the main content of pages, and writes its weights.

    cargo run --release --target-dir target/peers --manifest-path scripts/peers/main-content/Cargo.toml -- CORPORA features FILE
    scripts/fit-main-content.py FILE > porthole-page/src/main_content/weights.rs

Needs numpy and scipy from PyPI. A logistic regression over blocks of text: a block is main content if most of its words are
part of the true main text. It is fitted to half of the pages; four-fold cross-validation on them is printed to stderr.
"""
import sys

import numpy as np
from scipy.optimize import minimize

HEAD = 5  # page, is_fitted, words, share in the main text, words of the main text
RIDGE = 300.0
STEPS = 150


def fit(features, is_main, weights):
    mean, deviation = features.mean(0), features.std(0)
    deviation[deviation < 1e-6] = 1e9
    scaled = ((features - mean) / deviation).astype(np.float32)
    weights = (weights / weights.mean()).astype(np.float32)
    signs = np.where(is_main, 1, -1).astype(np.float32)
    count = len(signs)

    def loss(beta):
        margins = (scaled @ beta[:-1].astype(np.float32) + np.float32(beta[-1])) * signs
        slopes = -signs * weights / (1 + np.exp(margins))
        value = (weights * np.logaddexp(0, -margins)).sum() / count + RIDGE / count / 2 * (beta[:-1] ** 2).sum()
        return float(value), np.append(scaled.T @ slopes / count + RIDGE / count * beta[:-1], slopes.sum() / count)

    beta = minimize(loss, np.zeros(features.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x
    slopes = beta[:-1] / deviation
    return slopes, beta[-1] - (slopes * mean).sum()


def mean_f1(page, words, share, truth, chosen):
    ids, inverse = np.unique(page, return_inverse=True)
    wanted = np.zeros(len(ids))
    wanted[inverse] = truth
    common = np.minimum(np.bincount(inverse, words * share * chosen, len(ids)), wanted)
    found = np.bincount(inverse, words * chosen, len(ids))
    return (2 * common / np.maximum(found + wanted, 1)).mean()


def main():
    rows = np.fromfile(sys.argv[1], dtype="<f4")
    width = int(sys.argv[2]) if len(sys.argv) > 2 else 136
    rows = rows.reshape(-1, width)
    rows = rows[rows[:, 1] == 1]
    page, _, words, share, truth = rows[:, :HEAD].T
    features, is_main = rows[:, HEAD:], share >= 0.5
    # Every page has the same weight, whatever its length, and no block has more than half of it.
    weights = np.minimum(words / np.maximum(truth, 50), 0.5) + 0.002

    fold = (page.astype(int) * 7919) % 4
    scores = np.zeros(len(page))
    for each in range(4):
        train, test = fold != each, fold == each
        slopes, intercept = fit(features[train], is_main[train], weights[train])
        scores[test] = features[test] @ slopes + intercept
    best = max(np.arange(-1.5, 0.5, 0.1), key=lambda at: mean_f1(page, words, share, truth, scores > at))
    f1 = mean_f1(page, words, share, truth, scores > best)
    print(f"cross-validation: F1 about {f1:.4f} at a threshold of {best:.1f}", file=sys.stderr)

    slopes, intercept = fit(features, is_main, weights)
    print("//! Weights of the model of main content, written by `scripts/fit-main-content.py`: fitted to 340 pages of the Web")
    print("//! Content Extraction Benchmark (WCXB, CC-BY-4.0).")
    print("\nuse super::features::FEATURES;\n")
    print("/// A block with a higher score is main content.")
    print(f"pub(crate) const THRESHOLD: f32 = {best - intercept:.4f};\n")
    print("/// The weight of each feature.\n#[rustfmt::skip]")
    print("pub(crate) const WEIGHTS: [f32; FEATURES] = [")
    for start in range(0, len(slopes), 10):
        print("    " + " ".join(f"{slope:.4f}," for slope in slopes[start : start + 10]))
    print("];")


main()
