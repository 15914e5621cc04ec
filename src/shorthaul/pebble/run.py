"""Plans executed on real numbers, through a fast memory that holds the values themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.pebble.model import Cdag, Terms
from shorthaul.pebble.plan import Move, Plan
from shorthaul.pebble.structured import matrix_vector
from shorthaul.pebble.structured import wavelet as dwt
from shorthaul.pebble.structured.forest import as_forest

FloatArray = npt.NDArray[np.float64]
Operation = Callable[[int, list[float]], float]

#: Results may differ from the direct ones by this much, relative to the largest of them (see :class:`Execution`).
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Execution:
    """What came out: ``outputs`` (values by output node, ascending), the direct result, and their distance.

    ``kernel`` says what was computed; ``error`` is the largest difference relative to the largest direct value, that of
    these inputs or of the same without signs.
    """

    kernel: str
    outputs: FloatArray
    expected: FloatArray
    error: float

    @property
    def agrees(self) -> bool:
        """True if the outputs are the direct result up to rounding."""
        return self.error <= TOLERANCE


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """What the nodes of a CDAG compute: ``operation(node, operands)``, and the direct result for given inputs."""

    name: str
    operation: Operation
    direct: Callable[[FloatArray], FloatArray]


def kernel_of(cdag: Cdag) -> Kernel:
    """Return the kernel that ``cdag`` is: a wavelet transform, a matrix-vector product, else weighted sums.

    For other graphs, every node is a sum of its operands with coefficients from the node's index, and a constant a
    number from its index, evaluated directly in topological order.
    """
    if dwt.recognise(cdag) is not None:
        return _haar(cdag)
    mvm = matrix_vector.recognise(cdag)
    return _sums(cdag) if mvm is None else _matrix_vector(cdag, mvm)


def execute(cdag: Cdag, plan: Plan, budget: int | None, data: FloatArray, terms: Terms | None = None) -> Execution:
    """Execute ``plan`` with the numbers ``data`` (by input node, ascending; shape (inputs,)).

    Only values in fast memory are read; the weight there is watched. Without stores, outputs are taken where they are
    computed; in place, a result takes the room of an operand that is dropped in the next move; partial values are
    weighted sums. Raises :class:`InputError` if the plan reads what is not there, exceeds ``budget`` or leaves an
    output out, if ``data`` has the wrong size, or if it leads to numbers beyond double precision.
    """
    inputs = cdag.inputs()
    if data.shape != inputs.shape:
        raise InputError("has the wrong size", place="data", value=len(data), allowed=f"{len(inputs)} numbers")
    terms = terms or Terms()
    kernel = _sums(cdag) if terms.partial else kernel_of(cdag)
    slow = dict(zip(inputs.tolist(), data.tolist(), strict=True))
    memory = _Memory(cdag, kernel.operation, slow, budget)
    memory.play(plan, in_place=terms.in_place)
    if terms.store is None:
        slow.update(memory.computed)
    missing = next((node for node in cdag.outputs().tolist() if node not in slow), None)
    if missing is not None:
        raise InputError("leaves an output out", place="plan", value=cdag.id_of(missing), cure="check the plan first")
    outputs = np.array([slow[node] for node in cdag.outputs().tolist()])
    with np.errstate(over="ignore", invalid="ignore"):  # told below
        expected, of_sizes = kernel.direct(data), kernel.direct(np.abs(data))
    if not np.isfinite([outputs, expected, of_sizes]).all():
        cure = "give numbers of smaller size"
        raise InputError(
            "lead to results beyond double precision", place="data", value=float(np.abs(data).max()), cure=cure
        )
    # Terms that cancel leave the rounding of what they were, in another order another one.
    scale = float(np.abs([expected, of_sizes]).max(initial=0.0)) or 1.0
    return Execution(kernel.name, outputs, expected, float(np.abs(outputs - expected).max()) / scale)


class _Memory:
    """A fast memory of numbers over the slow one."""

    def __init__(self, cdag: Cdag, operation: Operation, slow: dict[int, float], budget: int | None) -> None:
        self._cdag = cdag
        self._operation = operation
        self._slow = slow
        self._fast: dict[int, float] = {}
        self._left: set[int] = set()
        self._added: dict[int, int] = {}
        self.computed: dict[int, float] = {}
        self._weights = cdag.weights.tolist()
        self._room = float("inf") if budget is None else budget

    def play(self, plan: Plan, *, in_place: bool) -> None:
        starts, parents = self._cdag.parents.starts.tolist(), self._cdag.parents.targets.tolist()
        given = self._cdag.given.tolist()
        for time, (kind, node) in enumerate(zip(plan.kinds.tolist(), plan.nodes.tolist(), strict=True)):
            if kind == Move.LOAD:
                self._put(time, node, self._read(self._slow, node, time))
            elif kind == Move.STORE:
                self._slow[node] = self._read(self._fast, node, time)
            elif kind == Move.COMPUTE:
                operands = parents[starts[node] : starts[node + 1]]
                if given[node]:
                    self._refuse(time, node, "is an input and cannot be computed")
                value = self._operation(node, [self._read(self._fast, p, time) for p in operands])
                if in_place and time + 1 < len(plan) and plan.kinds[time + 1] == Move.DELETE:
                    self._make_room(int(plan.nodes[time + 1]), node, operands)
                self._put(time, node, value)
                self.computed[node] = self._fast[node]
            elif node in self._left:
                self._left.remove(node)
            elif kind == Move.ACCUMULATE:
                self._accumulate(time, node)
            else:
                self._read(self._fast, node, time)
                del self._fast[node]
                self._room += self._weights[node]

    def _accumulate(self, time: int, edge: int) -> None:
        """Add one term of a weighted sum to a value, which comes into being with the first."""
        parents = self._cdag.parents
        source, node = int(parents.targets[edge]), int(np.searchsorted(parents.starts, edge, side="right")) - 1
        if self._added.get(source, 0) < parents.starts[source + 1] - parents.starts[source]:
            self._refuse(time, source, "is not complete")
        term = _term(node, edge - int(parents.starts[node]), self._read(self._fast, source, time))
        begun = self._read(self._fast, node, time) if node in self._added else 0.0
        self._added[node] = self._added.get(node, 0) + 1
        self._slow.pop(node, None)
        count = int(parents.starts[node + 1] - parents.starts[node])
        self._put(time, node, begun + term / (3 * count))
        self.computed[node] = self._fast[node]

    def _make_room(self, leaving: int, node: int, operands: list[int]) -> None:
        """Let an operand go before its deletion, where the result fits into its room."""
        if leaving in operands and self._weights[leaving] >= self._weights[node] and node not in self._fast:
            del self._fast[leaving]
            self._room += self._weights[leaving]
            self._left.add(leaving)

    def _put(self, time: int, node: int, value: float) -> None:
        if node not in self._fast:
            self._room -= self._weights[node]
            if self._room < 0:
                self._refuse(time, node, "does not fit in fast memory")
        self._fast[node] = value

    def _read(self, memory: dict[int, float], node: int, time: int) -> float:
        if node not in memory:
            self._refuse(time, node, f"is not in {'fast' if memory is self._fast else 'slow'} memory")
        return memory[node]

    def _refuse(self, time: int, node: int, problem: str) -> None:
        raise InputError(
            problem, place=f"move {time}", value=f"node {self._cdag.id_of(node)}", cure="see the verb 'check'"
        )


def _haar(cdag: Cdag) -> Kernel:
    """Averages (a + b) / sqrt 2 and coefficients (a - b) / sqrt 2; among outputs alone the first is the average."""
    forest = as_forest(cdag)
    assert forest is not None  # recognised before
    is_average = np.zeros(cdag.n, dtype=bool)
    is_average[forest.order] = True
    scale = 1 / np.sqrt(2.0)

    def operation(node: int, operands: list[float]) -> float:
        a, b = operands
        return float((a + b if is_average[node] else a - b) * scale)

    def direct(data: FloatArray) -> FloatArray:
        value = np.zeros(cdag.n)
        value[cdag.inputs()] = data
        starts = cdag.parents.starts
        level = forest.order[~np.isin(cdag.parents.targets[starts[forest.order]], forest.order)]
        reader = np.full(cdag.n, -1, dtype=np.int64)
        for child, parent in zip(
            np.repeat(np.arange(cdag.n), forest.parents.degrees()).tolist(),
            forest.parents.targets.tolist(),
            strict=True,
        ):
            reader[parent] = child
        while len(level):
            left, right = (value[cdag.parents.targets[starts[level] + side]] for side in (0, 1))
            value[level] = (left + right) / np.sqrt(2.0)
            value[forest.twins.targets[forest.twins.starts[level]]] = (left - right) / np.sqrt(2.0)
            above = np.unique(reader[level])
            level = above[above >= 0]
        return value[cdag.outputs()]

    return Kernel("Haar wavelet transform", operation, direct)


def _matrix_vector(cdag: Cdag, mvm: matrix_vector.Mvm) -> Kernel:
    is_product = np.zeros(cdag.n, dtype=bool)
    is_product[mvm.products] = True

    def operation(node: int, operands: list[float]) -> float:
        a, b = operands
        return a * b if is_product[node] else a + b

    def direct(data: FloatArray) -> FloatArray:
        value = np.zeros(cdag.n)
        value[cdag.inputs()] = data
        value[mvm.sums[:, -1]] = value[mvm.matrix] @ value[mvm.vector]
        return value[cdag.outputs()]

    return Kernel("matrix-vector product", operation, direct)


def _term(node: int, operand: int, value: float) -> float:
    """Return what an operand adds to a weighted sum, before the sum is divided."""
    return (1 + (7 * node + 3 * operand) % 5) * value


def _sums(cdag: Cdag) -> Kernel:
    def operation(node: int, operands: list[float]) -> float:
        if not operands:
            return 1.0 + node % 5
        return sum(_term(node, i, value) for i, value in enumerate(operands)) / (3 * len(operands))

    def direct(data: FloatArray) -> FloatArray:
        value = np.zeros(cdag.n)
        value[cdag.inputs()] = data
        for node in cdag.order[~cdag.given[cdag.order]].tolist():
            value[node] = operation(node, value[cdag.parents.neighbours(node)].tolist())
        return value[cdag.outputs()]

    return Kernel("weighted sums", operation, direct)
