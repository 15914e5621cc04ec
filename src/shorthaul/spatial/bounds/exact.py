"""Small trees solved exactly: what no layout undercuts, and one that takes no more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shorthaul.core.amounts import Bound
from shorthaul.core.search import Search
from shorthaul.core.searching.cp_sat import solve_model
from shorthaul.spatial.bounds.energy import energy_bound, star_sums
from shorthaul.spatial.layout.cost_kernels import edge_energy
from shorthaul.spatial.layout.stored_tree import StoredTree
from shorthaul.spatial.model import Tree


def solve(stored: StoredTree, search: Search, effort: float) -> tuple[StoredTree, Bound]:
    """Return the best layout that so much effort finds, and how much energy it proves that every layout takes.

    CP-SAT is asked for a layout of as many hops as the bound. If there is none the bound is one hop higher.
    """
    bound = energy_bound(Tree(stored.parent), stored.grid)
    least, best = int(bound.value), edge_energy(stored.parent, stored.x, stored.y)[0]
    part = search.within(effort)
    while least < best and not part.expired():
        is_settled, found = _ask(_Model(stored, least), part)
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
    proof = f"CP-SAT finds no layout on {stored.grid} of less than {least} hops."
    values = {**bound.details["values"], "exact": least}
    return stored, replace(bound, value=least, method="exact", proof=proof, details={**bound.details, "values": values})


def _ask(model: _Model, search: Search) -> tuple[bool, StoredTree | None]:
    """Return whether CP-SAT settled the question, and the layout if it found one."""
    from ortools.sat.python import cp_model

    status, solver = solve_model(model.cp, search)
    if status in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return True, model.found(solver)
    return status == cp_model.INFEASIBLE, None


class _Model:
    """The layouts of at most ``most`` hops: ``at[v][c]`` says whether vertex v is on cell c.

    ``longer[v][k]`` says whether the edge above v is longer than k + 1 hops.
    """

    def __init__(self, stored: StoredTree, most: int) -> None:
        from ortools.sat.python import cp_model

        self.stored = stored
        grid, parents = stored.grid, stored.parent.tolist()
        self.cp = cp_model.CpModel()
        spare = most - sum(parent >= 0 for parent in parents)
        levels = min(spare, grid.width + grid.height - 3)
        self.at: list[list[Any]] = [[self.cp.new_bool_var("") for _ in range(grid.cells)] for _ in parents]
        self.longer: list[list[Any]] = [
            [self.cp.new_bool_var("") for _ in range(levels if parent >= 0 else 0)] for parent in parents
        ]
        for cells in self.at:
            self.cp.add_exactly_one(cells)
        for held in zip(*self.at, strict=True):
            self.cp.add_at_most_one(held)
        self.cp.add(sum(itself for edge in self.longer for itself in edge) <= spare)
        self._lengths(levels)
        self._colours()
        self._stars()
        self._mirrored()

    def _lengths(self, levels: int) -> None:
        """Let an edge that is not longer than k hops join cells that are at most k hops apart."""
        y, x = np.divmod(np.arange(self.stored.grid.cells), self.stored.grid.width)
        hops = np.abs(x[:, None] - x) + np.abs(y[:, None] - y)
        for k in range(levels + 1):
            near = [np.flatnonzero((row > 0) & (row <= k + 1)).tolist() for row in hops]
            for v, parent in enumerate(self.stored.parent.tolist()):
                if parent < 0:
                    continue
                if 0 < k < levels:
                    self.cp.add_implication(self.longer[v][k], self.longer[v][k - 1])
                longer = self.longer[v][k : k + 1]
                for end, other in ((v, parent), (parent, v)):
                    for cell, cells in enumerate(near):
                        self.cp.add_bool_or([*longer, ~self.at[end][cell], *(self.at[other][c] for c in cells)])

    def _colours(self) -> None:
        """Let edges of one hop join a black and a white cell, of a chessboard: implied, and it spares search."""
        grid = self.stored.grid
        black = [sum(cells[c] for c in range(grid.cells) if sum(divmod(c, grid.width)) % 2 == 0) for cells in self.at]
        for v, parent in enumerate(self.stored.parent.tolist()):
            if parent >= 0:
                longer = sum(self.longer[v][:1])
                self.cp.add(black[v] + black[parent] <= 1 + longer)
                self.cp.add(black[v] + black[parent] >= 1 - longer)

    def _stars(self) -> None:
        """Let the edges of a vertex be as long together as those of a star: implied, and it spares search."""
        parents = self.stored.parent
        for v in range(self.stored.n):
            edges = [*np.flatnonzero(parents == v).tolist(), *([v] if parents[v] >= 0 else [])]
            spare = int(star_sums(max(len(edges), 1), 1, 1)[len(edges)]) - len(edges)
            if spare > 0:
                self.cp.add(sum(itself for edge in edges for itself in self.longer[edge]) >= spare)

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
        cell = np.array([next(c for c, here in enumerate(cells) if solver.value(here)) for cells in self.at])
        y, x = np.divmod(cell, self.stored.grid.width)
        return replace(self.stored, x=x.astype(np.int32), y=y.astype(np.int32))
