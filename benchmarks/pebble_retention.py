"""Recomputation beside the published program of retention intervals (MOCCASIN, Bartan and others, ICML 2023).

    python benchmarks/pebble_retention.py [--seconds 60] [--effort 20] [--seeds 11] [--nodes 250 500] [--given FOLDER]

The program is written from the paper's description, with OR-Tools CP-SAT. Values are computed for the first time in
the given order, each ending a stage; in every stage any earlier value may be computed again, those of a stage along the
given order. A value is retained in two intervals at most. An interval starts where it is computed; each operand has an
interval that started before and does not end before. What the intervals that run at a time weigh fits into the budget
(a cumulative constraint). The first phase lowers the peak from the given order until it is within the budget, the
second what is computed. Both together get ``--seconds`` of processor time and one thread, in which the solver's
searches take turns: on 100 and 250 nodes that was better than its usual search. The plan is checked as every plan is.

Beside it: plans in the given and in a free order. All are in percent beyond computing every value once.
"""

from __future__ import annotations

import argparse
import json
import math
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from ortools.sat.python import cp_model
from pebble_rematerialisation import NO_SLOW_MEMORY, SHARES, layered, measured, peak, read

from shorthaul.pebble import Cdag, check, plan_of
from shorthaul.pebble.plan import Move

TARGET = Path(__file__).parent / "results" / "pebble_retention.json"


class Program:
    """The program of a graph in the order 0, 1, 2, ...: an event is its stage and its place in that, as one number."""

    def __init__(self, cdag: Cdag, budget: int) -> None:
        n, model = cdag.n, cp_model.CpModel()
        self.cdag, self.budget, self.model, self.width = cdag, budget, model, n
        last, unit = n * n - 1, int(np.gcd.reduce(cdag.weights))
        self.weights, self.room = (cdag.weights // unit).tolist(), budget // unit
        self.first = [node * n + node for node in range(n)]
        self.ends = [model.new_int_var(first, last, "") for first in self.first]
        self.again = [model.new_bool_var("") for _ in range(n)]
        self.stage = [model.new_int_var(min(node + 1, n - 1), n - 1, "") for node in range(n)]
        self.starts_2 = [n * self.stage[node] + node for node in range(n)]
        self.ends_2 = [model.new_int_var(first, last, "") for first in self.first]
        self.intervals, self.hints = [], []
        for node in range(n):
            size, size_2 = model.new_int_var(1, last + 1, ""), model.new_int_var(1, last + 1, "")
            read = max(
                (self.first[other] for other in cdag.children.neighbours(node).tolist()), default=self.first[node]
            )
            stage = min(node + 1, n - 1)
            given = (read, 0, stage, n * stage + node, read + 1 - self.first[node], 1)
            variables = (self.ends[node], self.again[node], self.stage[node], self.ends_2[node], size, size_2)
            self.hints += zip(variables, given, strict=True)
            self.intervals.append(model.new_interval_var(self.first[node], size, self.ends[node] + 1, ""))
            second = (self.starts_2[node], size_2, self.ends_2[node] + 1, self.again[node], "")
            self.intervals.append(model.new_optional_interval_var(*second))
            model.add(self.starts_2[node] > self.ends[node]).only_enforce_if(self.again[node])
            for parent in cdag.parents.neighbours(node).tolist():
                self._reads(node, parent)

    def _reads(self, node: int, parent: int) -> None:
        """Let both intervals of ``node`` start within one of ``parent``."""
        for start, needed in ((self.first[node], []), (self.starts_2[node], [self.again[node]])):
            by_second = self.model.new_bool_var("")
            self.hints.append((by_second, 0))
            in_first, in_second = [*needed, ~by_second], [*needed, by_second]
            self.model.add(self.ends[parent] >= start).only_enforce_if(in_first)
            self.model.add(self.starts_2[parent] + 1 <= start).only_enforce_if(in_second)
            self.model.add(self.ends_2[parent] >= start).only_enforce_if(in_second)
            self.model.add_implication(by_second, self.again[parent])

    def solved(self, seconds: float) -> list[tuple[Move, int]] | None:
        """Return the moves of the best plan, None if there is none after so much processor time."""
        began, model, demands = time.process_time(), self.model, [w for w in self.weights for _ in range(2)]
        held = self._held()
        capacity = model.new_int_var(self.room, max(held, self.room), "")
        model.add_cumulative(self.intervals, demands, capacity)
        for variable, value in [*self.hints, (capacity, held)]:
            model.add_hint(variable, value)
        model.minimize(capacity)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.interleave_search = True
        values = None
        for phase in range(2):
            left = seconds - (time.process_time() - began)
            status = _solve(solver, model, left, self.room if phase == 0 else None)
            if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) and (phase or solver.value(capacity) <= self.room):
                values = list(solver.response_proto.solution)
            if values is None or phase:
                break
            model.clear_hints()
            for at, value in enumerate(values):
                model.add_hint(model.get_int_var_from_proto_index(at), value)
            model.add(capacity <= self.room)
            model.minimize(sum(int(cost) * again for cost, again in zip(self.cdag.compute, self.again, strict=True)))
        return None if values is None else self._moves(values)

    def _held(self) -> int:
        return peak(self.cdag) // int(np.gcd.reduce(self.cdag.weights))

    def _moves(self, values: list[int]) -> list[tuple[Move, int]]:
        events = []
        for node in range(self.cdag.n):
            stays = [(self.first[node], values[self.ends[node].index])]
            if values[self.again[node].index]:
                stays.append((values[self.stage[node].index] * self.width + node, values[self.ends_2[node].index]))
            for start, end in stays:
                events += [(start, 0, Move.COMPUTE, node), (end, 1, Move.DELETE, node)]
        return [(move, node) for _, _, move, node in sorted(events)]


def _solve(solver: cp_model.CpSolver, model: cp_model.CpModel, seconds: float, enough: int | None) -> Any:
    """Solve within so much processor time, the time of the watching thread included, or until the goal is reached."""
    until, done = time.process_time() + seconds, threading.Event()

    class Watch(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            if enough is not None and self.objective_value <= enough:
                self.stop_search()

    def watch() -> None:
        while not done.wait(0.2):
            if time.process_time() > until:
                solver.stop_search()

    threading.Thread(target=watch, daemon=True).start()
    status = solver.solve(model, Watch())
    done.set()
    return status


def published(cdag: Cdag, share: float, seconds: float) -> dict[str, Any]:
    """Return what the program pays beyond computing everything once, checked."""
    budget, once, began = math.ceil(share * peak(cdag)), int(cdag.compute.sum()), time.process_time()
    moves = Program(cdag, budget).solved(seconds)
    spent = round(time.process_time() - began, 1)
    if moves is None:
        return {"overhead": None, "cpu_s": spent}
    asked = {"recompute": True, "order": "given", **NO_SLOW_MEMORY}
    report = check(cdag, plan_of(moves), budget=budget, effort=0.01, **asked)
    assert report.check is not None
    assert not report.check.violations, report.check.violations[:3]
    return {"overhead": round(100 * (report.cost["total"] / once - 1), 4), "cpu_s": spent}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--effort", type=float, default=20.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12])
    parser.add_argument("--nodes", type=int, nargs="+", default=[250, 500, 1000])
    parser.add_argument("--given", type=Path)
    asked = parser.parse_args()
    graphs = [layered(n, np.random.default_rng(seed)) for seed in asked.seeds for n in asked.nodes]
    if asked.given:
        graphs = [read(path) for path in sorted(asked.given.glob("*.json"))]
    rows = []
    for cdag in graphs:
        for share in SHARES:
            row: dict[str, Any] = {"graph": cdag.name, "edges": cdag.edges, "share": share}
            if asked.seconds > 0:
                row["published"] = published(cdag, share, asked.seconds)
            for order in ("given", "free"):
                ours = measured(cdag, share, order, asked.effort)
                row[order] = {key: ours[key] for key in ("overhead", "bound", "cpu_s") if key in ours}
            rows.append(row)
            print(json.dumps(row), flush=True)
    if asked.given is None:
        document = {"seconds": asked.seconds, "effort": asked.effort, "seeds": asked.seeds, "graphs": rows}
        TARGET.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
