"""Choose the pattern databases of the exact search, and the weight of each in the sum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.packing_lp import Packing
from shorthaul.pebble.bounds.part_packing import Pool
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.states.pattern_database_kernels import Patterns
from shorthaul.pebble.states.pattern_databases import NO_PATTERNS, PartTable, assembled, table_of

#: Shares are counted in parts of this.
_WHOLE = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """Tables for the search, and the bound on the traffic beyond inputs and outputs that they prove at its start."""

    patterns: Patterns
    excess: int


def chosen(cdag: Cdag, budget: int, *, search: Search) -> Chosen:
    """Return tables of parts that together say much, found in the time given.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import mvm
    >>> chosen(mvm(m=2, n=3, word=1), 3, search=Search()).excess
    9
    """
    return _Tabulated(cdag, budget, False, search).best()


class _Tabulated(Pool):
    """Parts that were tabulated."""

    def __init__(self, cdag: Cdag, budget: int, recompute: bool, search: Search) -> None:
        super().__init__(cdag, budget, recompute, search)
        self._largest = tuning.LARGEST_PATTERN
        self._tables: dict[frozenset[int], PartTable] = {}

    def _value(self, nodes: frozenset[int], share: float = 0.0) -> int:  # noqa: ARG002 -- tables take no search
        """Return what a part costs from the start; 0 too if its table would be too large."""
        known = self._values.get(nodes)
        if known is not None:
            return known
        table = None
        if len(nodes) <= tuning.LARGEST_PATTERN:
            table = table_of(self._cdag, sorted(nodes), self._budget, most=tuning.MOST_ENTRIES, search=self._search)
        if table is not None:
            self._tables[nodes] = table
        self._values[nodes] = 0 if table is None else table.start * self._unit
        return self._values[nodes]

    def best(self) -> Chosen:
        """Return the tables of the best packing when nothing better comes for long, or time is up."""
        self._add_windows()
        packing = best = self._packing()
        size, waited = tuning.FIRST_PATTERN, 0
        while not self._search.expired() and waited < tuning.PATTERN_PATIENCE:
            self._grow_batch(packing, size)
            packing = self._packing()
            waited += 1
            if packing.total > best.total:
                best, waited = packing, 0
            size = min(tuning.LARGEST_PATTERN, size + 2)
        return self._assembled(best)

    def _assembled(self, packing: Packing) -> Chosen:
        chosen = self._chosen()
        shares = [share * _WHOLE // packing.whole for share in packing.shares]
        used = [(self._tables[part], share) for part, share in zip(chosen, shares, strict=False) if share]
        if not used:
            return Chosen(NO_PATTERNS, 0)
        row = np.array([[share for _, share in used]], dtype=np.int64)
        tables = [table for table, _ in used]
        worth = sum(table.start * share for table, share in used)
        return Chosen(assembled(self._cdag.n, tables, row, _WHOLE), -(-worth // _WHOLE) * self._unit)
