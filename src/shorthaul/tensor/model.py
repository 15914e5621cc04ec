"""Operator graphs, the scratchpad accelerator they run on, and the rules a schedule is judged by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from shorthaul.core.arguments import fields_checked
from shorthaul.core.errors import InputError
from shorthaul.graphs.csr import Csr, find_cycle, from_edges, topological_order

#: The largest width, height or granularity; slices and their sums then stay exact in 64 bits.
LARGEST_SIZE: Final = 2**31 - 1
#: The largest number of elements of one tensor.
LARGEST_TENSOR: Final = 2**50
#: The largest base cost, capacity and bandwidth.
LARGEST_AMOUNT: Final = 1e15
#: Capacities and bandwidths below this would make times overflow.
SMALLEST_AMOUNT: Final = 1e-9


class OperatorType(StrEnum):
    """What an operator does, spelled as problem files spell it."""

    MATMUL = "MatMul"
    POINTWISE = "Pointwise"


@dataclass(frozen=True, slots=True)
@fields_checked
class Tensor:
    """A matrix of ``height`` rows and ``width`` columns, in elements."""

    width: int
    height: int

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.width * self.height


@dataclass(frozen=True, slots=True)
@fields_checked
class Operator:
    """One operator: ``inputs`` are tensor numbers (left and right for a MatMul), ``output`` is one tensor number.

    ``base_cost`` is the time of one native tile of the output, over the whole reduction of a MatMul.
    """

    kind: OperatorType
    inputs: tuple[int, ...]
    output: int
    base_cost: float

    @property
    def is_matmul(self) -> bool:
        """True for a MatMul, False for a Pointwise operator."""
        return self.kind is OperatorType.MATMUL


@dataclass(frozen=True, slots=True)
@fields_checked
class Machine:
    """The accelerator: fast memory of ``capacity`` elements, slow memory of ``bandwidth`` elements per unit of time.

    Compute cores work on tiles of ``native_width`` x ``native_height`` elements.
    """

    capacity: float
    bandwidth: float
    native_width: int
    native_height: int


@dataclass(frozen=True, slots=True)
@fields_checked
class Rules:
    """Where the paper and the contest's rules differ; see :data:`SPEC`, :data:`CONTEST` and :data:`CONTEST_LOOSE`."""

    name: str
    #: Without a traversal order written out, fast memory is flushed between spatial tiles.
    default_order_flushes: bool
    #: A subgraph may also retain tensors that it loads, and name a resident tensor again to keep it.
    retains_inputs: bool
    #: A tensor with a consumer inside its subgraph and one in a later subgraph is stored; otherwise it is not allowed.
    stores_shared: bool
    #: Granularities go up to the native tile (``k`` up to its width).
    granularity_is_native: bool
    #: A Pointwise that feeds the left operand of a MatMul in its subgraph needs ``w`` >= that MatMul's K, one that
    #: feeds the right operand ``h`` >= K, while ``k`` < K.
    prologues_are_whole: bool


#: The paper as written.
SPEC: Final = Rules("spec", True, True, True, False, False)
#: The final rules of the contest's organisers.
CONTEST: Final = Rules("contest", False, False, False, True, True)
#: The contest's rules before the organisers' last answers on Pointwise operators that feed a MatMul.
CONTEST_LOOSE: Final = Rules("contest-loose", False, False, False, True, False)

RULES: Final = {rules.name: rules for rules in (SPEC, CONTEST, CONTEST_LOOSE)}


@dataclass(frozen=True)
@fields_checked
class Problem:
    """An operator graph and the machine it runs on.

    Raises :class:`InputError` (``place`` is the path in the contest's file format) for a tensor produced twice,
    shapes that do not fit, cycles, and sizes, costs or numbers out of range.

    >>> tensors = (Tensor(128, 64), Tensor(32, 128), Tensor(32, 64))
    >>> matmul = Operator(OperatorType.MATMUL, (0, 1), 2, 1000)
    >>> problem = Problem(tensors, (matmul,), Machine(20_000, 10, 128, 128))
    >>> problem.reduction(0), problem.graph_inputs, problem.graph_outputs
    (128, (0, 1), (2,))
    """

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    machine: Machine

    def __post_init__(self) -> None:
        _check_machine(self.machine)
        _check_tensors(self.tensors)
        if not self.operators:
            raise InputError("has no operator", place="op_types", allowed="at least one operator")
        for index, operator in enumerate(self.operators):
            _check_operator(self, index, operator)
        _check_producers(self)
        _check_acyclic(self)

    def _repr_html_(self) -> str:
        matmuls = sum(operator.is_matmul for operator in self.operators)
        machine = self.machine
        rows = [
            ("operators", f"{len(self.operators):,} ({matmuls:,} MatMul)"),
            ("tensors", f"{len(self.tensors):,}"),
            ("inputs and outputs", f"{len(self.graph_inputs):,} and {len(self.graph_outputs):,}"),
            ("fast memory", f"{machine.capacity:,g}"),
            ("bandwidth", f"{machine.bandwidth:,g}"),
            ("native tile", f"{machine.native_width:,} x {machine.native_height:,}"),
        ]
        cells = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows)
        return f"<table><caption>operator graph</caption>{cells}</table>"

    @cached_property
    def producer(self) -> tuple[int | None, ...]:
        """For every tensor the operator that produces it, None for graph inputs."""
        producer: list[int | None] = [None] * len(self.tensors)
        for index, operator in enumerate(self.operators):
            producer[operator.output] = index
        return tuple(producer)

    @cached_property
    def consumers(self) -> tuple[tuple[int, ...], ...]:
        """For every tensor the operators that use it, ascending, each once."""
        consumers: list[list[int]] = [[] for _ in self.tensors]
        for index, operator in enumerate(self.operators):
            for tensor in dict.fromkeys(operator.inputs):
                consumers[tensor].append(index)
        return tuple(map(tuple, consumers))

    @cached_property
    def graph_inputs(self) -> tuple[int, ...]:
        """The tensors that no operator produces; they start in slow memory."""
        return tuple(index for index, producer in enumerate(self.producer) if producer is None)

    @cached_property
    def graph_outputs(self) -> tuple[int, ...]:
        """The tensors that no operator consumes; they must end in slow memory."""
        return tuple(index for index, consumers in enumerate(self.consumers) if not consumers)

    @cached_property
    def topological_order(self) -> tuple[int, ...]:
        """The operators in an executable order, the smallest number first among those that are ready."""
        order = topological_order(_links(self))
        assert order is not None, "cycles are refused"
        return tuple(order.tolist())

    def operations(self) -> int:
        """Return the arithmetic operations of computing every tensor once: two a multiply-add, one a pointwise result.

        >>> from shorthaul.tensor.workloads.cases import example_1
        >>> example_1().operations()
        32768
        """
        sizes = [self.tensors[operator.output].size for operator in self.operators]
        return sum(
            size * (2 * self.reduction(index) if self.operators[index].is_matmul else 1)
            for index, size in enumerate(sizes)
        )

    def reduction(self, operator: int) -> int:
        """Return the length K of a MatMul's reduction: the width of its left input."""
        return self.tensors[self.operators[operator].inputs[0]].width


def _check_machine(machine: Machine) -> None:
    _check_amount(machine.capacity, "fast_memory_capacity")
    _check_amount(machine.bandwidth, "slow_memory_bandwidth")
    _check_size(machine.native_width, "native_granularity[0]")
    _check_size(machine.native_height, "native_granularity[1]")


def _check_tensors(tensors: Iterable[Tensor]) -> None:
    for index, tensor in enumerate(tensors):
        _check_size(tensor.width, f"widths[{index}]")
        _check_size(tensor.height, f"heights[{index}]")
        if tensor.size > LARGEST_TENSOR:
            raise InputError(
                f"tensor {index} has too many elements",
                place=f"heights[{index}]",
                value=f"{tensor.width} x {tensor.height}",
                allowed=f"up to {LARGEST_TENSOR} elements",
            )


def _check_size(value: int, place: str) -> None:
    if value < 1:
        raise InputError("must be positive", place=place, value=value, allowed="integers from 1")
    if value > LARGEST_SIZE:
        raise InputError("is too large", place=place, value=value, allowed=f"integers up to {LARGEST_SIZE}")


def _check_amount(value: float, place: str, *, zero: bool = False) -> None:
    low = "at least 0" if zero else "above 0"
    if not (value >= 0 if zero else value > 0):  # also refuses NaN
        raise InputError(f"must be {low}", place=place, value=value, allowed=f"numbers {low}")
    if not zero and value < SMALLEST_AMOUNT:
        raise InputError("is too small", place=place, value=value, allowed=f"numbers from {SMALLEST_AMOUNT:g}")
    if value > LARGEST_AMOUNT:
        raise InputError("is too large", place=place, value=value, allowed=f"numbers up to {LARGEST_AMOUNT:g}")


def _check_operator(problem: Problem, index: int, operator: Operator) -> None:
    _check_amount(operator.base_cost, f"base_costs[{index}]", zero=True)
    known = f"tensors 0 to {len(problem.tensors) - 1}"
    for position, tensor in enumerate(operator.inputs):
        if not 0 <= tensor < len(problem.tensors):
            raise InputError("no such tensor", place=f"inputs[{index}][{position}]", value=tensor, allowed=known)
    if not 0 <= operator.output < len(problem.tensors):
        raise InputError("no such tensor", place=f"outputs[{index}][0]", value=operator.output, allowed=known)
    if operator.is_matmul:
        _check_matmul(problem, index, operator)
    else:
        _check_pointwise(problem, index, operator)


def _check_matmul(problem: Problem, index: int, operator: Operator) -> None:
    place = f"inputs[{index}]"
    if len(operator.inputs) != 2:
        raise InputError("a MatMul needs two inputs", place=place, value=list(operator.inputs), allowed="[left, right]")
    left, right = (problem.tensors[tensor] for tensor in operator.inputs)
    output = problem.tensors[operator.output]
    shapes = f"{_shape(left)} times {_shape(right)} gives {_shape(output)}"
    if left.width != right.height:
        raise InputError(
            "the left input's width is not the right input's height",
            place=place,
            value=shapes,
            allowed=f"a right input of height {left.width}",
        )
    if (output.height, output.width) != (left.height, right.width):
        raise InputError(
            "the output's shape does not fit the MatMul",
            place=f"outputs[{index}]",
            value=shapes,
            allowed=f"an output of {_shape(Tensor(right.width, left.height))}",
        )


def _check_pointwise(problem: Problem, index: int, operator: Operator) -> None:
    if not operator.inputs:
        raise InputError("a Pointwise operator needs an input", place=f"inputs[{index}]", value=[])
    output = problem.tensors[operator.output]
    for position, tensor in enumerate(operator.inputs):
        if problem.tensors[tensor] != output:
            raise InputError(
                "a Pointwise input has another shape than the output",
                place=f"inputs[{index}][{position}]",
                value=f"tensor {tensor} of {_shape(problem.tensors[tensor])}",
                allowed=f"tensors of {_shape(output)}",
            )


def _shape(tensor: Tensor) -> str:
    return f"{tensor.height} rows x {tensor.width} columns"


def _check_producers(problem: Problem) -> None:
    first: dict[int, int] = {}
    for index, operator in enumerate(problem.operators):
        if operator.output in first:
            raise InputError(
                f"tensor {operator.output} is produced by operator {first[operator.output]} already",
                place=f"outputs[{index}][0]",
                value=operator.output,
                allowed="one producer for every tensor",
            )
        first[operator.output] = index


def _links(problem: Problem) -> Csr:
    """Return who takes what which operator makes."""
    links = ((problem.producer[t], index) for index, op in enumerate(problem.operators) for t in set(op.inputs))
    return from_edges(len(problem.operators), ((maker, taker) for maker, taker in links if maker is not None))


def _check_acyclic(problem: Problem) -> None:
    cycle = find_cycle(_links(problem))
    if cycle:
        raise InputError(
            "the operators form a cycle",
            place=f"inputs[{cycle[0]}]",
            value=" -> ".join(f"operator {index}" for index in [*cycle, cycle[0]]),
            allowed="graphs without cycles",
        )
