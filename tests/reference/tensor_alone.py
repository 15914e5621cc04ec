"""The schedule that everybody has: one operator per subgraph, nothing kept between, each as well as it can be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shorthaul.core.errors import NoPlanError
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.model import Operator, Problem, Rules, Tensor
from shorthaul.tensor.plan import Granularity, Plan, Subgraph

#: A replay of more steps than this is not tried while there is a granularity that fits with fewer.
_MOST_STEPS = 1 << 20


def one_operator_per_subgraph(problem: Problem, rules: Rules) -> Plan:
    """Return the plan that runs every operator alone, with its best granularity among powers of two and full lengths.

    Every tensor is loaded from slow memory and stored there; tiles run in raster order, or along a snake where that is
    faster. Raises :class:`NoPlanError` if one operator alone does not fit.
    """
    best: dict[object, Subgraph] = {}
    subgraphs = []
    for index in problem.topological_order:
        operator = problem.operators[index]
        shapes = tuple(problem.tensors[tensor] for tensor in operator.inputs)
        names = tuple(operator.inputs.index(tensor) for tensor in operator.inputs)
        key = (operator.kind, shapes, names, problem.tensors[operator.output], operator.base_cost)
        if key not in best:
            best[key] = _best_alone(problem, rules, index)
        subgraphs.append(replace(best[key], operators=(index,)))
    return Plan(tuple(subgraphs))


def _best_alone(problem: Problem, rules: Rules, index: int) -> Subgraph:
    alone = _alone(problem, problem.operators[index])
    output = alone.tensors[alone.operators[0].output]
    best: Subgraph | None = None
    for granularity in _granularities(alone, rules):
        if best is not None and best.latency is not None and _latency_floor(alone, granularity) >= best.latency:
            continue
        if best is not None and _steps(alone, granularity) > _MOST_STEPS:
            break
        for traversal in _traversals(output, granularity, rules):
            subgraph = Subgraph((0,), granularity, traversal=traversal)
            found = replay(alone, Plan((subgraph,)), rules).subgraphs[0]
            assert found is not None
            if best is None or best.latency is None or found.latency < best.latency:
                best = replace(subgraph, latency=found.latency)
    if best is None:
        raise NoPlanError(
            f"no plan found: operator {index} alone needs more than {problem.machine.capacity:g} elements"
        )
    return best


def _alone(problem: Problem, operator: Operator) -> Problem:
    """Return the problem of this operator alone."""
    numbers = {tensor: number for number, tensor in enumerate(dict.fromkeys((*operator.inputs, operator.output)))}
    tensors = tuple(problem.tensors[tensor] for tensor in numbers)
    inputs = tuple(numbers[tensor] for tensor in operator.inputs)
    return Problem(tensors, (replace(operator, inputs=inputs, output=numbers[operator.output]),), problem.machine)


def _granularities(alone: Problem, rules: Rules) -> Iterator[Granularity]:
    """Yield the granularities that fit, those with the fewest steps first."""
    operator, machine = alone.operators[0], alone.machine
    output = alone.tensors[operator.output]
    native = (machine.native_width, machine.native_height) if rules.granularity_is_native else (None, None)
    widths, heights = _lengths(output.width, native[0]), _lengths(output.height, native[1])
    depths = _lengths(alone.reduction(0), native[0]) if operator.is_matmul else [1]
    every = [Granularity(w, h, k) for w in widths for h in heights for k in depths]
    fitting = [size for size in every if _working_set(alone, size) <= machine.capacity]
    yield from sorted(fitting, key=lambda size: (_steps(alone, size), size.w, size.h, size.k))


def _lengths(length: int, most: int | None) -> list[int]:
    """Return the powers of two below ``length``, and ``length`` itself, up to ``most``."""
    powers = [1 << exponent for exponent in range(length.bit_length()) if 1 << exponent < length]
    limit = length if most is None else min(most, length)
    return sorted({value for value in [*powers, length, limit] if value <= limit})


def _steps(alone: Problem, size: Granularity) -> int:
    output = alone.tensors[alone.operators[0].output]
    per_tile = -(-alone.reduction(0) // size.k) if alone.operators[0].is_matmul else 1
    return -(-output.width // size.w) * -(-output.height // size.h) * per_tile


def _working_set(alone: Problem, size: Granularity) -> int:
    operator = alone.operators[0]
    tile = size.w * size.h
    if not operator.is_matmul:
        return tile * (1 + len(set(operator.inputs)))
    # Slices of one tensor may coincide (A @ A): then this is above what is held, never below.
    return tile + size.k * (size.w + size.h)


def _latency_floor(alone: Problem, size: Granularity) -> float:
    """Return a lower bound on the latency: whole tiles pay whole native tiles, slices come again in every tile."""
    operator, machine = alone.operators[0], alone.machine
    output = alone.tensors[operator.output]
    rows, columns = -(-output.height // size.h), -(-output.width // size.w)
    passes = -(-size.w // machine.native_width) * -(-size.h // machine.native_height)
    compute = operator.base_cost * (output.width // size.w) * (output.height // size.h) * passes
    inputs = [alone.tensors[tensor].size for tensor in operator.inputs]
    if operator.is_matmul and size.k < alone.reduction(0):
        # Consecutive steps have other parts of the reduction: nothing is reused between them.
        inputs = [inputs[0] * columns, inputs[1] * rows]
    loads = sum(inputs) if len(set(operator.inputs)) == len(inputs) else max(inputs)
    return max(compute, (loads + output.size) / machine.bandwidth)


def _traversals(output: Tensor, size: Granularity, rules: Rules) -> Iterator[tuple[int, ...] | None]:
    """Yield the default order, the same written out where that saves flushes, and the snake that turns in every row."""
    yield None
    rows, columns = -(-output.height // size.h), -(-output.width // size.w)
    if rows * columns == 1:
        return
    if rules.default_order_flushes:
        yield tuple(range(rows * columns))
    if min(rows, columns) > 1:
        lines = (range(row * columns, (row + 1) * columns) for row in range(rows))
        yield tuple(tile for row, line in enumerate(lines) for tile in (line if row % 2 == 0 else reversed(line)))
