"""What each node waits for, counted afresh from what is computed and where values are: the plain twin of the scheduler's
running counts in `scheduled_memory_kernels`."""

from __future__ import annotations

from shorthaul.pebble.model import Cdag


def counts(cdag: Cdag, done: set[int], red: set[int]) -> dict[str, list[int]]:
    """Return per uncomputed node its absent parents and growth, per node its uncomputed children and sole waiters.

    Entries of computed nodes are 0 where they have no meaning.
    """
    weights = cdag.weights.tolist()
    parents = [cdag.parents.neighbours(v).tolist() for v in range(cdag.n)]
    children = [[c for c in cdag.children.neighbours(v).tolist() if c not in done] for v in range(cdag.n)]
    absent = [[p for p in parents[v] if p not in red] if v not in done else [] for v in range(cdag.n)]
    growth = [
        (weights[v] if cdag.children.neighbours(v).size else 0)
        - sum(weights[p] for p in parents[v] if len(children[p]) == 1)
        for v in range(cdag.n)
    ]
    return {
        "absent": [len(missing) for missing in absent],
        "left": [len(left) for left in children],
        "net": [0 if v in done else growth[v] for v in range(cdag.n)],
        "solo": [sum(absent[c] == [v] for c in children[v]) for v in range(cdag.n)],
    }
