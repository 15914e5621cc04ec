"""CP-SAT within the effort and the time that a search has."""

from __future__ import annotations

from concurrent.futures import wait
from typing import Any, Final

from shorthaul.core.search import Search
from shorthaul.core.searching.threads import Threads

#: CP-SAT's deterministic time per effort: 0.3 of it pass in a second of one core of the machine of our benchmarks.
_TIME_PER_EFFORT = 0.3
#: CP-SAT's limit in seconds where there is none.
_NO_LIMIT_S = 1e7
#: How often a search is asked whether it was stopped, in seconds.
_LOOK_S: Final = 0.05


def solve_model(model: Any, search: Search) -> tuple[int, Any]:
    """Solve a CP-SAT model on one worker with the effort that is left; return the status and the solver."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.max_deterministic_time = max(0.01, search.left()) * _TIME_PER_EFFORT
    solver.parameters.max_time_in_seconds = min(_NO_LIMIT_S, max(0.01, search.remaining_s()))
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    status = run_solver(solver, model, search)
    search.spend(solver.response_proto.deterministic_time / _TIME_PER_EFFORT)
    return status, solver


def run_solver(solver: Any, model: Any, search: Search) -> int:
    """Return the status of a solver of CP-SAT, which ends with what it has when ``search`` is stopped.

    It runs beside this thread, which only so hears of signals and of memory that runs out.
    """
    solver.parameters.catch_sigint_signal = False  # the search would not know of it, and go on
    with Threads(1) as beside:
        solving = beside.submit(solver.solve, model)
        try:
            while not wait([solving], _LOOK_S).done:
                if search.interrupted:
                    solver.stop_search()
        finally:
            while not wait([solving], 0).done:  # it may not have begun: then it does not hear
                solver.stop_search()
                wait([solving], _LOOK_S)
    status: int = solving.result()
    return status
