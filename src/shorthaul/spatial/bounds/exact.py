"""Small trees solved exactly: what no layout undercuts, and one that takes no more."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Bound
from shorthaul.core.search import Search
from shorthaul.core.searching.cp_sat import solve_model
from shorthaul.spatial.bounds.energy import energy_bound
from shorthaul.spatial.bounds.placing import find_layout
from shorthaul.spatial.layout.cost_kernels import edge_energy
from shorthaul.spatial.layout.stored_tree import StoredTree
from shorthaul.spatial.model import Tree

#: Effort for each layout of so many hops that is searched for before CP-SAT is asked: 7.5 million search nodes.
_PLACING_EFFORT: Final = 3.0
#: Vertices times processors up to which CP-SAT is asked: 100 vertices on a square, where the questions are written in
#: some seconds.
_MOST_MODELLED: Final = 10_000


def solve(stored: StoredTree, search: Search, effort: float) -> tuple[StoredTree, Bound]:
    """Return the best layout that so much effort finds, and how much energy it proves that every layout takes.

    A layout of as many hops as the bound is searched for; if there is none the bound is one hop higher. Where that
    takes too long CP-SAT is asked.
    """
    bound = energy_bound(Tree(stored.parent), stored.grid, stored.vertex)
    least, best = int(bound.value), edge_energy(stored.parent, stored.x, stored.y)[0]
    part = search.within(effort)
    while least < best and not part.expired():
        is_settled, found = find_layout(stored, least, part.within(_PLACING_EFFORT))
        if not is_settled and stored.n * stored.grid.cells <= _MOST_MODELLED and not part.expired():
            is_settled, found = ask_cp_sat(stored, least, part)
        if not is_settled:
            break
        if found is not None:
            stored, best = found, least
            search.keep(best, found)
        else:
            least += 1
        search.report(best=best, bound=least, what="exact")
    if least == bound.value:
        return stored, bound
    proof = f"All layouts on {stored.grid} of less than {least} hops were searched through: there is none."
    values = {**bound.details["values"], "exact": least}
    return stored, replace(bound, value=least, method="exact", proof=proof, details={**bound.details, "values": values})


def ask_cp_sat(stored: StoredTree, most: int, search: Search) -> tuple[bool, StoredTree | None]:
    """Return whether CP-SAT tells if a layout takes at most ``most`` hops, and the layout if one does."""
    from ortools.sat.python import cp_model

    model = _Model(stored, most)
    status, solver = solve_model(model.cp, search)
    if status in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return True, model.found(solver)
    return status == cp_model.INFEASIBLE, None


class _Model:
    """The layouts of at most ``most`` hops: ``at[v][c]`` says whether vertex v is on cell c.

    Several leaves below a vertex are one group, as nobody can tell them apart: ``leaves[v][c]`` says whether one of
    those of v is on cell c. ``longer[v][k]`` says whether the edge above v is longer than k + 1 hops, ``far[v][k]`` how
    many of those to its leaves are.
    """

    def __init__(self, stored: StoredTree, most: int) -> None:
        from ortools.sat.python import cp_model

        self.stored = stored
        grid, parents = stored.grid, stored.parent.tolist()
        is_parent = set(parents)
        below: dict[int, list[int]] = {}
        for v, parent in enumerate(parents):
            if parent >= 0 and v not in is_parent:
                below.setdefault(parent, []).append(v)
        self.below = {v: kids for v, kids in below.items() if len(kids) > 1}
        self.inner = sorted({*range(stored.n)}.difference(*self.below.values()))
        self.cp = cp_model.CpModel()
        spare = most - sum(parent >= 0 for parent in parents)
        levels = min(spare, grid.width + grid.height - 3)
        self.at = {v: self._cells() for v in self.inner}
        self.leaves = {v: self._cells() for v in self.below}
        self.longer = {v: [self.cp.new_bool_var("") for _ in range(levels)] for v in self.inner if parents[v] >= 0}
        self.far = {
            v: [self.cp.new_int_var(0, min(len(kids), spare), "") for _ in range(levels)]
            for v, kids in self.below.items()
        }
        for cells in self.at.values():
            self.cp.add_exactly_one(cells)
        for v, cells in self.leaves.items():
            self.cp.add(sum(cells) == len(self.below[v]))
        for held in zip(*self.at.values(), *self.leaves.values(), strict=True):
            self.cp.add_at_most_one(held)
        further = itertools.chain.from_iterable((*self.longer.values(), *self.far.values()))
        self.cp.add(sum(further) <= spare)
        y, x = np.divmod(np.arange(grid.cells), grid.width)
        hops = np.abs(x[:, None] - x) + np.abs(y[:, None] - y)
        self._lengths(hops, levels)
        self._stars(hops, levels)
        self._colours()
        self._mirrored()

    def _cells(self) -> list[Any]:
        return [self.cp.new_bool_var("") for _ in range(self.stored.grid.cells)]

    def _lengths(self, hops: npt.NDArray[np.int64], levels: int) -> None:
        """Let an edge that is not longer than k hops join cells that are at most k hops apart."""
        for edge in (*self.longer.values(), *self.far.values()):
            for one, next_one in itertools.pairwise(edge):
                self.cp.add(one >= next_one)
        for k in range(levels + 1):
            near = [np.flatnonzero((row > 0) & (row <= k + 1)).tolist() for row in hops]
            for v, edge in self.longer.items():
                longer = edge[k : k + 1]
                for end, other in itertools.permutations((v, int(self.stored.parent[v]))):
                    for cell, cells in enumerate(near):
                        self.cp.add_bool_or([*longer, ~self.at[end][cell], *(self.at[other][c] for c in cells)])
            for v, far in self.far.items():
                for cell, cells in enumerate(near):
                    found = sum(self.leaves[v][c] for c in cells) + sum(far[k : k + 1])
                    self.cp.add(found >= len(self.below[v])).only_enforce_if(self.at[v][cell])

    def _stars(self, hops: npt.NDArray[np.int64], levels: int) -> None:
        """Let no more neighbours be within k hops of a vertex than there are cells: implied, and it spares search."""
        for v in self.inner:
            edges = [self.longer[u] for u in self.inner if u in self.longer and v in (u, self.stored.parent[u])]
            neighbours = len(edges) + len(self.below.get(v, ()))
            for k in range(levels):
                lacking = neighbours - (hops <= k + 1).sum(axis=1) + 1
                if lacking.max() > 0:
                    longer = sum(edge[k] for edge in edges) + (self.far[v][k] if v in self.far else 0)
                    some = np.flatnonzero(lacking > 0).tolist()
                    self.cp.add(longer >= sum(int(lacking[cell]) * self.at[v][cell] for cell in some))

    def _colours(self) -> None:
        """Let edges of one hop join a black and a white cell, of a chessboard: implied, and it spares search."""
        grid = self.stored.grid
        black = [c for c in range(grid.cells) if sum(divmod(c, grid.width)) % 2 == 0]
        ours = {v: sum(cells[c] for c in black) for v, cells in self.at.items()}
        for v, edge in self.longer.items():
            longer, both = sum(edge[:1]), ours[v] + ours[int(self.stored.parent[v])]
            self.cp.add(both <= 1 + longer)
            self.cp.add(both >= 1 - longer)
        for v, cells in self.leaves.items():
            far, both = sum(self.far[v][:1]), sum(cells[c] for c in black) + len(self.below[v]) * ours[v]
            self.cp.add(both <= len(self.below[v]) + far)
            self.cp.add(both >= len(self.below[v]) - far)

    def _mirrored(self) -> None:
        """Keep the vertex of most neighbours in one quarter, or eighth, of the grid: mirrored layouts cost the same."""
        grid, parents = self.stored.grid, self.stored.parent
        hub = int((np.bincount(parents[parents >= 0], minlength=self.stored.n) + (parents >= 0)).argmax())
        for cell in range(grid.cells):
            y, x = divmod(cell, grid.width)
            if 2 * x >= grid.width or 2 * y >= grid.height or (grid.width == grid.height and y > x):
                self.cp.add(self.at[hub][cell] == 0)

    def found(self, solver: Any) -> StoredTree:
        """Return the layout that the solver found."""
        cell = np.empty(self.stored.n, np.int64)
        for v, cells in self.at.items():
            cell[v] = next(c for c, here in enumerate(cells) if solver.value(here))
        for v, cells in self.leaves.items():
            cell[self.below[v]] = [c for c, here in enumerate(cells) if solver.value(here)]
        y, x = np.divmod(cell, self.stored.grid.width)
        return replace(self.stored, x=x.astype(np.int32), y=y.astype(np.int32))
