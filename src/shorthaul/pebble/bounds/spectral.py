"""The spectral bound without recomputation (Jain and Zaharia 2020), with weights."""

from __future__ import annotations

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.model import Cdag


def excess(cdag: Cdag, budget: int, *, search: Search) -> int:
    """Return a lower bound on the traffic beyond inputs and outputs of any schedule that computes each value once.

    Any order of the computed values cuts into k segments of n / k values or more. A segment reads what earlier ones
    made for it, but for what the fast memory holds at its start, and leaves what later ones read, but for what it
    holds at its end. An edge weighted by its tail's weight over the tail's out-degree counts no value more than once,
    so the crossing edges, a quadratic form of the Laplacian at least n / k times the sum of its k least eigenvalues,
    less 2 (k - 1) budgets, bound the traffic. Inputs are left out: they are never stored. 0 if that takes longer than
    the search may.
    """
    computed = np.flatnonzero(~cdag.is_input())
    n = len(computed)
    effort = n**3 / tuning.EIGENVALUE_RATE
    if not 2 <= n <= tuning.MOST_FOR_EIGENVALUES or effort > search.left():
        return 0
    search.spend(effort)
    number = np.full(cdag.n, -1, dtype=np.int64)
    number[computed] = np.arange(n)
    sources, targets = cdag.edge_arrays()
    inner = number[sources] >= 0
    tails, heads = number[sources[inner]], number[targets[inner]]
    strength = cdag.weights[computed][tails] / np.bincount(tails, minlength=n)[tails]
    laplacian = np.zeros((n, n))
    np.add.at(laplacian, (tails, tails), strength)
    np.add.at(laplacian, (heads, heads), strength)
    np.add.at(laplacian, (tails, heads), -strength)
    np.add.at(laplacian, (heads, tails), -strength)
    sums = np.cumsum(np.maximum(np.linalg.eigvalsh(laplacian), 0.0))
    parts = np.arange(1, n + 1)
    bounds = (n // parts) * sums - 2 * budget * (parts - 1)
    # Rounding of the eigenvalues must not lift the bound over an integer.
    return max(0, int(np.ceil(bounds.max() - 1e-6 * (1.0 + float(sums[-1])))))
