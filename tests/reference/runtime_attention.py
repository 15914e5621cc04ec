"""Attention of one query after the other: the slow, obvious twin of the operators of onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def by_head(x: Array, heads: int) -> Array:
    """(batch, places, features) as (batch, heads, places, features)."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def attended(
    q: Array, k: Array, v: Array, *, bias: Array | None = None, seen: Any = None, cap: float = 0.0,
    sink: Array | None = None,
) -> Array:  # fmt: skip
    """Return (batch, places, features of all heads); ``seen(sample, query, key)`` says whether a query looks there."""
    batch, heads, places, size = q.shape
    made = np.zeros((batch, places, heads, v.shape[-1]))
    for sample, head, query in np.ndindex(batch, heads, places):
        pair = head * k.shape[1] // heads
        scores = k[sample, pair] @ q[sample, head, query] / np.sqrt(size)
        scores = cap * np.tanh(scores / cap) if cap else scores
        if bias is not None:
            scores = scores + np.broadcast_to(bias, (batch, heads, places, len(scores)))[sample, head, query]
        powers = np.exp(scores)
        if seen is not None:
            powers = powers * [bool(seen(sample, query, key)) for key in range(len(scores))]
        total = powers.sum() + (0.0 if sink is None else np.exp(sink[head]))
        made[sample, query, head] = powers / total @ v[sample, pair]
    return made.reshape(batch, places, -1)


def turned(x: Array, positions: Array, cos: Array, sin: Array, *, interleaved: bool) -> Array:
    """Return (batch, heads, places, features) with pairs of features turned by the angles of their positions."""
    made, width = x.copy(), cos.shape[1]
    for sample, head, place, pair in np.ndindex(*x.shape[:3], width):
        one, other = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + width)
        a, b = x[sample, head, place, one], x[sample, head, place, other]
        c, s = (table[positions[sample, place], pair] for table in (cos, sin))
        made[sample, head, place, one], made[sample, head, place, other] = c * a - s * b, s * a + c * b
    return made
