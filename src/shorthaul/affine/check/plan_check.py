"""Replay of a plan: is it an order of all instances that respects every dependence, and how many loads does it need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.affine.check.execution import Execution, Vertex, contains, execute, fixed, ranked
from shorthaul.affine.check.loads_kernels import least_loads
from shorthaul.affine.model import Program
from shorthaul.affine.plan import Plan
from shorthaul.core.amounts import Cost
from shorthaul.core.check import CheckReport, Violation

IntArray = npt.NDArray[np.int64]
_MOST_VIOLATIONS = 20


def check_plan(program: Program, plan: Plan) -> CheckReport:
    """Return every violation of ``plan``, and the loads it needs if the most values stay in fast memory.

    Rules: ``unknown-statement``, ``not-an-instance``, ``executed-twice``, ``missing-instance``, ``before-operand``,
    ``over-capacity``.
    """
    violations: list[Violation] = []
    number = {name: at for at, name in enumerate(program.by_name)}
    known = np.array([number.get(name, -1) for name in plan.names], dtype=np.int64)
    violations += [
        Violation("unknown-statement", "names", f"the program has no statement {name!r}")
        for name in plan.names
        if name not in number
    ]
    if violations:
        return CheckReport(tuple(violations))
    statement = known[plan.statements]
    rows = _rows_of(program, plan, statement, violations)
    if rows is None or violations:
        return CheckReport(tuple(violations[:_MOST_VIOLATIONS]))
    execution = execute(program, plan.sizes, [item for item, _ in rows])
    order = np.empty(len(plan), dtype=np.int64)
    for (_, positions), ranks in zip(rows, execution.ranks, strict=True):
        order[positions] = ranks
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    violations += _too_early(execution, position)
    if violations:
        return CheckReport(tuple(violations[:_MOST_VIOLATIONS]))
    vertices, widths = order + execution.inputs, _widths(program, execution)
    found: dict[int, IntArray] = {}
    for words in (plan.fast_memory, *plan.levels):
        found[words] = totals = np.zeros(2, dtype=np.int64)
        wrong = least_loads(vertices, execution.starts, execution.operands, words, widths, totals)
        if wrong >= 0:
            vertex = int(vertices[wrong])
            need = int(execution.starts[vertex + 1] - execution.starts[vertex]) + 1
            name = _shown(execution.instance(vertex - execution.inputs))
            return CheckReport((Violation("over-capacity", f"order[{wrong}]", f"{name} does not fit", need, words),))
    loads, width = found[plan.fast_memory].tolist()
    details: dict[str, Any] = {"inputs": execution.inputs, "order": len(plan)}
    if plan.levels:
        details["levels"] = [{"S": words, "loads_words": int(totals[0])} for words, totals in found.items()]
    return CheckReport((), Cost(loads_words=loads, loads_bytes=width), details=details)


def _widths(program: Program, execution: Execution) -> IntArray:
    """Return the bytes of every vertex: of the element that it is or that it writes."""
    written = np.array([program.arrays[item.write.array].element_bytes for item in program.statements], dtype=np.int64)
    given = [np.full(len(found), program.arrays[name].element_bytes) for name, found in execution.elements]
    return np.concatenate([*given, written[execution.statement]])


def _rows_of(
    program: Program, plan: Plan, statement: IntArray, violations: list[Violation]
) -> list[tuple[IntArray, IntArray]] | None:
    """Return per statement its iterations and their positions in the plan; note what is wrong with them."""
    result = []
    for at, item in enumerate(program.statements):
        positions = np.flatnonzero(statement == at)
        rows = plan.iterations[positions, : len(item.iterators)]
        domain = fixed(item.domain, plan.sizes)
        for k in positions[~contains(domain, rows)][:_MOST_VIOLATIONS].tolist():
            wrong = _shown((item.name, tuple(plan.iterations[k, : len(item.iterators)].tolist())))
            violations.append(Violation("not-an-instance", f"order[{k}]", f"{wrong} is not executed by the program"))
        distinct = len(ranked(rows)[0])
        expected = domain.count_val().to_python()
        if distinct < len(rows):
            message = f"{len(rows) - distinct} instances of {item.name} are executed again"
            violations.append(Violation("executed-twice", item.name, message))
        elif not violations and len(rows) < expected:
            message = f"instances of {item.name} are missing"
            violations.append(Violation("missing-instance", item.name, message, expected, len(rows)))
        result.append((rows, positions))
    return result


def _too_early(execution: Execution, position: IntArray) -> list[Violation]:
    sinks = np.repeat(np.arange(len(execution.starts) - 1), np.diff(execution.starts)) - execution.inputs
    sources = execution.operands - execution.inputs
    inner = sources >= 0
    wrong = np.flatnonzero(inner)[position[sources[inner]] > position[sinks[inner]]]
    result = []
    for edge in wrong[:_MOST_VIOLATIONS].tolist():
        names = [_shown(execution.instance(int(ends[edge]))) for ends in (sinks, sources)]
        place = f"order[{int(position[sinks[edge]])}]"
        result.append(Violation("before-operand", place, f"{names[0]} is executed before its operand {names[1]}"))
    return result


def _shown(vertex: Vertex) -> str:
    return f"{vertex[0]}[{', '.join(map(str, vertex[1]))}]"


def same_cdag(program: Program, sizes: Mapping[str, int], edges: set[tuple[str, str]], inputs: set[str]) -> list[str]:
    """Compare dependences, as pairs of labels (operand, user), with execution; return what differs, in words."""
    execution = execute(program, sizes)
    labels = [_shown(vertex) for vertex in execution.vertices()]
    sinks = np.repeat(np.arange(len(labels)), np.diff(execution.starts)).tolist()
    true = {(labels[a], labels[b]) for a, b in zip(execution.operands.tolist(), sinks, strict=True)}
    true_inputs = set(labels[: execution.inputs])
    problems = [f"a dependence is missing: {a} -> {b}" for a, b in sorted(true - edges)[:3]]
    problems += [f"a dependence does not exist: {a} -> {b}" for a, b in sorted(edges - true)[:3]]
    problems += [f"an input is missing: {name}" for name in sorted(true_inputs - inputs)[:3]]
    problems += [f"this is no input: {name}" for name in sorted(inputs - true_inputs)[:3]]
    return problems
