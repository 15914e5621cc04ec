"""How much work one exact solve may still do: counted, so that the same seed gives the same answer, and clocked."""

from __future__ import annotations

from typing import Any

from shorthaul.core.search import Search

#: CP-SAT's limit on the clock where there is none.
_NO_LIMIT_S = 1e7


class Allowance:
    """Work left, in seconds of a nominal machine; an outer ``budget`` (time limit, Ctrl-C) ends it early.

    >>> allowance = Allowance(2.0)
    >>> allowance.spend(1.5)
    >>> allowance.left_s, allowance.is_over
    (0.5, False)
    """

    def __init__(self, seconds: float, search: Search | None = None) -> None:
        self.left_s = seconds
        self._search = search
        self._whole: Allowance | None = None

    @property
    def is_over(self) -> bool:
        """True once the work is used up, the time limit has passed, or Ctrl-C was pressed."""
        return self.left_s <= 0 or (self._search is not None and self._search.expired())

    def spend(self, seconds: float) -> None:
        """Note that work was done."""
        self.left_s -= seconds
        if self._whole is not None:
            self._whole.spend(seconds)

    def part(self, seconds: float) -> Allowance:
        """Return an allowance of so much of what is left; work that is spent of it is spent here too."""
        part = Allowance(min(seconds, self.left_s), self._search)
        part._whole = self
        return part

    def solve(self, model: Any) -> tuple[int, Any]:
        """Solve a CP-SAT model on one worker within what is left; return the status and the solver."""
        from ortools.sat.python import cp_model

        solver = cp_model.CpSolver()
        solver.parameters.max_deterministic_time = max(0.01, self.left_s)
        clock = _NO_LIMIT_S if self._search is None else self._search.remaining_s()
        solver.parameters.max_time_in_seconds = min(_NO_LIMIT_S, max(0.01, clock))
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        status = solver.solve(model)
        self.spend(solver.response_proto.deterministic_time)
        return status, solver
