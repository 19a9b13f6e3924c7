#!/usr/bin/env python3
"""Creates the expected optima for the tests of the logistic solver: scripts/make-logistic-golden.py FILE.

Needs scikit-learn from PyPI. The bias is a feature that is 1 in every row, penalised like all others, as in the
solver, so that both have the same optimum.
"""

import sys

import numpy as np
from sklearn.linear_model import LogisticRegression

ROWS, FEATURES, CLASSES = 48, 7, 3
STRENGTHS = [0.5, 10.0, 100.0]


def main(path):
    random = np.random.default_rng(7)
    # Sparse, rounded so that the file has the exact values, and with labels that are not linearly separable.
    values = np.round(random.gamma(1.0, 0.5, (ROWS, FEATURES)) * (random.random((ROWS, FEATURES)) < 0.5), 3)
    hidden = random.normal(size=(FEATURES, CLASSES))
    labels = (values @ hidden + random.gumbel(size=(ROWS, CLASSES))).argmax(axis=1)
    weights = random.choice([0.5, 1.0, 2.0], ROWS)
    with open(path, "w") as out:
        for row, label, weight in zip(values, labels, weights):
            cells = " ".join(f"{at}:{value:g}" for at, value in enumerate(row) if value)
            print(f"row\t{label}\t{weight:g}\t{cells}", file=out)
        for strength in STRENGTHS:
            print(f"strength\t{strength:g}", file=out)
            for line in optimum(values, labels, weights, strength):
                print("weights", *(f"{value:.9f}" for value in line), sep="\t", file=out)


def optimum(values, labels, weights, strength):
    """Weights by feature and class, the bias as the last feature."""
    with_bias = np.hstack([values, np.ones((ROWS, 1))])
    model = LogisticRegression(C=strength, fit_intercept=False, solver="newton-cg", tol=1e-12, max_iter=10_000)
    model.fit(with_bias, labels, sample_weight=weights)
    return model.coef_.T


if __name__ == "__main__":
    main(*sys.argv[1:])
