"""CP-SAT within the effort and the time that a search has."""

from __future__ import annotations

from typing import Any

from shorthaul.core.search import Search

#: CP-SAT's deterministic time per effort: 0.3 of it pass in a second of one core of the machine of our benchmarks.
_TIME_PER_EFFORT = 0.3
#: CP-SAT's limit in seconds where there is none.
_NO_LIMIT_S = 1e7


def solve_model(model: Any, search: Search) -> tuple[int, Any]:
    """Solve a CP-SAT model on one worker with the effort that is left; return the status and the solver."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.max_deterministic_time = max(0.01, search.left()) * _TIME_PER_EFFORT
    solver.parameters.max_time_in_seconds = min(_NO_LIMIT_S, max(0.01, search.remaining_s()))
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    status = solver.solve(model)
    search.spend(solver.response_proto.deterministic_time / _TIME_PER_EFFORT)
    return status, solver
