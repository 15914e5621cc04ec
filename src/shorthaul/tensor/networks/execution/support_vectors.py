"""Shares of classes by support vectors: the reference of onnx couples pairs of three classes or more wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.reference.ops.aionnxml import op_svm_classifier

Array = npt.NDArray[Any]


class SVMClassifier(op_svm_classifier.SVMClassifier):  # type: ignore[misc]
    """Classes by support vectors, their shares those of all pairs."""

    op_domain = "ai.onnx.ml"

    def _probabilities(self, scores: Array, class_count_: int) -> Array:
        told, first = self._svm.atts, np.zeros((class_count_, class_count_))
        pairs = np.triu_indices(class_count_, 1)
        margins = scores * np.asarray(told.prob_a) + np.asarray(told.prob_b)
        first[pairs] = np.clip(1 / (1 + np.exp(margins)), 1e-7, 1 - 1e-7)
        first.T[pairs] = 1 - first[pairs]
        return coupled(first).astype(scores.dtype)


def coupled(first: Array) -> Array:
    """Return the shares of classes of which ``first[i, j]`` is that of ``i`` where it is ``i`` or ``j``.

    They have the least sum of (first[j, i] p_i - first[i, j] p_j)^2 (Wu, Lin and Weng 2004, their second method), as
    far as libsvm and onnxruntime go towards it.

    >>> coupled(np.array([[0, 0.75], [0.25, 0]])).round(6).tolist()
    [0.75, 0.25]
    """
    count = len(first)
    matrix = -first * first.T
    np.fill_diagonal(matrix, (first**2).sum(0))
    shares = np.full(count, 1.0 / count)
    for _ in range(max(100, count)):
        slope = matrix @ shares
        mean = shares @ slope
        if np.abs(slope - mean).max() < 0.005 / count:
            break
        for place in range(count):
            step = (mean - slope[place]) / matrix[place, place]
            shares[place] += step
            mean = (mean + step * (step * matrix[place, place] + 2 * slope[place])) / (1 + step) ** 2
            slope = (slope + step * matrix[place]) / (1 + step)
            shares /= 1 + step
    return shares
