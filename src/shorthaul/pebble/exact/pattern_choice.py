"""Choose the pattern databases of the exact search, and the weight of each in the sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shorthaul.core.search import Search
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.packing_lp import Packing
from shorthaul.pebble.bounds.part_packing import Game, Pool
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.states.pattern_database_kernels import Patterns
from shorthaul.pebble.states.pattern_databases import NO_PATTERNS, PartTable, assembled, table_of

#: Shares are counted in parts of this.
_WHOLE = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """Tables for searches from the start and from the end, and the bound beyond inputs and outputs that they prove."""

    from_start: Patterns
    from_end: Patterns
    excess: int


#: No tables.
NOTHING = Chosen(NO_PATTERNS, NO_PATTERNS, 0)


class Tables(Pool):
    """Parts that were tabulated, and the best sum of them so far.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import mvm
    >>> Tables(mvm(m=2, n=3, word=1), 3, search=Search()).chosen(Search()).excess
    9
    """

    def __init__(self, cdag: Cdag, budget: int, *, search: Search) -> None:
        super().__init__(Game(cdag, budget, recompute=False, goal=None), search)
        self._largest = tuning.LARGEST_PATTERN
        self._tables: dict[frozenset[int], PartTable] = {}
        self._size = 0
        self._best: Packing | None = None

    def _value(self, nodes: frozenset[int]) -> int:
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

    def chosen(self, search: Search) -> Chosen:
        """Return the tables of the best packing when nothing better comes for long, or time is up.

        It goes on where it ended.
        """
        self._search = search
        if self._size == 0:
            self._add_windows()
            self._size = tuning.FIRST_PATTERN
        packing = self._packing()
        best = packing if self._best is None or packing.total > self._best.total else self._best
        waited = 0
        while not search.expired() and waited < tuning.PATTERN_PATIENCE:
            self._grow_batch(packing, self._size)
            packing = self._packing()
            waited += 1
            if packing.total > best.total:
                best, waited = packing, 0
            self._size = min(tuning.LARGEST_PATTERN, self._size + 2)
        self._best = best
        return self._assembled(best)

    def _assembled(self, packing: Packing) -> Chosen:
        shares = [share * _WHOLE // packing.whole for share in packing.shares]
        used = [(part, share) for part, share in zip(self._chosen(), shares, strict=False) if share]
        forwards = [(self._tables[part], share) for part, share in used]
        backwards = [(self._against_time(part), share) for part, share in used]
        worth = sum(table.start * share for table, share in forwards)
        return Chosen(
            self._patterns(forwards),
            self._patterns([(table, share) for table, share in backwards if table is not None]),
            -(-worth // _WHOLE) * self._unit,
        )

    def _against_time(self, part: frozenset[int]) -> PartTable | None:
        most = tuning.TIMES_AGAINST_TIME * tuning.MOST_ENTRIES
        return table_of(self._cdag, sorted(part), self._budget, most=most, search=self._search, from_end=True)

    def _patterns(self, used: Sequence[tuple[PartTable, int]]) -> Patterns:
        if not used:
            return NO_PATTERNS
        return assembled(self._cdag.n, [table for table, _ in used], [share for _, share in used], _WHOLE)
