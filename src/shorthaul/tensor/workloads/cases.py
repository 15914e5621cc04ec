"""Built-in operator graphs: the paper's examples, and networks of real size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from shorthaul.core.cases import Case, Parameter, Value
from shorthaul.core.errors import InputError
from shorthaul.tensor.model import Machine, Operator, OperatorType, Problem, Tensor

_NATIVE: Final = 128


class GraphBuilder:
    """Makes an operator graph a tensor at a time: every method returns the number of the tensor it adds."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []

    def tensor(self, height: int, width: int) -> int:
        """Add a tensor; unless an operator is given it as output it is a graph input."""
        self.tensors.append(Tensor(width, height))
        return len(self.tensors) - 1

    def matmul(self, left: int, right: int, base_cost: float) -> int:
        """Add a MatMul and return its output."""
        output = self.tensor(self.tensors[left].height, self.tensors[right].width)
        self.operators.append(Operator(OperatorType.MATMUL, (left, right), output, base_cost))
        return output

    def pointwise(self, inputs: tuple[int, ...], base_cost: float) -> int:
        """Add a Pointwise operator and return its output."""
        first = self.tensors[inputs[0]]
        output = self.tensor(first.height, first.width)
        self.operators.append(Operator(OperatorType.POINTWISE, inputs, output, base_cost))
        return output

    def problem(self, capacity: float, bandwidth: float) -> Problem:
        """Return the graph on a machine with 128 x 128 native tiles."""
        return Problem(tuple(self.tensors), tuple(self.operators), Machine(capacity, bandwidth, _NATIVE, _NATIVE))


def _chain_of_two(size: int) -> Problem:
    graph = GraphBuilder()
    middle = graph.pointwise((graph.tensor(size, size),), 1000)
    graph.pointwise((middle,), 100)
    return graph.problem(35_000, 10)


def example_1() -> Problem:
    """Return the paper's Example 1: two Pointwise operators."""
    return _chain_of_two(128)


def example_2() -> Problem:
    """Return the paper's Example 2: the same at 256 x 256, with the capacity that its strategies need."""
    return _chain_of_two(256)


def example_3() -> Problem:
    """Return the paper's Example 3: a diamond of Pointwise operators with a skip connection."""
    graph = GraphBuilder()
    first = graph.pointwise((graph.tensor(128, 128),), 1500)
    second = graph.pointwise((first,), 1500)
    graph.pointwise((first, second), 1500)
    return graph.problem(50_000, 10)


def example_4() -> Problem:
    """Return the paper's Example 4: one MatMul whose tensors do not fit together."""
    graph = GraphBuilder()
    graph.matmul(graph.tensor(128, 128), graph.tensor(128, 128), 1500)
    return graph.problem(25_000, 10)


def example_5() -> Problem:
    """Return the paper's Example 5: a chain of two MatMuls, ``(A @ B) @ C``."""
    a, b, c, d, e = (Tensor(128, 128) for _ in range(5))
    first = Operator(OperatorType.MATMUL, (0, 1), 3, 2000)
    second = Operator(OperatorType.MATMUL, (3, 2), 4, 2000)
    return Problem((a, b, c, d, e), (first, second), Machine(45_000, 10, _NATIVE, _NATIVE))


def _machine_parameters(capacity: int, bandwidth: int) -> dict[str, Parameter]:
    return {
        "capacity": Parameter(capacity, "fast memory, in elements"),
        "bandwidth": Parameter(bandwidth, "elements per unit of time"),
    }


def _matmul_cost(reduction: int) -> int:
    """Return the cost of a native tile, at 128 multiply-adds of the reduction per 500 units of time."""
    return max(1, 500 * reduction // _NATIVE)


def transformer(
    tokens: int, width: int, heads: int, hidden: int, layers: int, capacity: int, bandwidth: int
) -> Problem:
    """Return the blocks of a transformer: attention with ``heads`` heads, then a two-layer perceptron, both residual.

    Softmax and normalisation are Pointwise, as the operator set has it.
    """
    if width % heads:
        raise InputError(
            "must be a divisor of width", place="transformer-block:heads", value=heads, allowed=f"of {width}"
        )
    graph = GraphBuilder()
    x = graph.tensor(tokens, width)
    for _ in range(layers):
        normal = graph.pointwise((x,), 200)
        joined = x
        for _ in range(heads):
            joined = graph.pointwise((joined, _attention_head(graph, normal, width // heads)), 50)
        normal = graph.pointwise((joined,), 200)
        up = graph.matmul(normal, graph.tensor(width, hidden), _matmul_cost(width))
        down = graph.matmul(graph.pointwise((up,), 300), graph.tensor(hidden, width), _matmul_cost(hidden))
        x = graph.pointwise((joined, down), 50)
    return graph.problem(capacity, bandwidth)


def _attention_head(graph: GraphBuilder, x: int, head_width: int) -> int:
    """Add one head and its part of the output projection.

    Its keys are a graph input (a cache), already transposed: transposing is none of the operators.
    """
    tokens, width = graph.tensors[x].height, graph.tensors[x].width
    project = _matmul_cost(width)
    query = graph.matmul(x, graph.tensor(width, head_width), project)
    value = graph.matmul(x, graph.tensor(width, head_width), project)
    key = graph.tensor(head_width, tokens)
    scores = graph.matmul(query, key, _matmul_cost(head_width))
    mixed = graph.matmul(graph.pointwise((scores,), 400), value, _matmul_cost(tokens))
    return graph.matmul(mixed, graph.tensor(head_width, width), _matmul_cost(head_width))


def mlp(batch: int, width: int, hidden: int, layers: int, capacity: int, bandwidth: int) -> Problem:
    """Return a chain of ``layers`` layers, each a MatMul and an activation, ``hidden`` and ``width`` wide by turns."""
    graph = GraphBuilder()
    x = graph.tensor(batch, width)
    for layer in range(layers):
        size = graph.tensors[x].width
        weights = graph.tensor(size, hidden if layer % 2 == 0 else width)
        x = graph.pointwise((graph.matmul(x, weights, _matmul_cost(size)),), 200)
    return graph.problem(capacity, bandwidth)


def resnet(positions: int, channels: int, blocks: int, capacity: int, bandwidth: int) -> Problem:
    """Return bottleneck blocks with skip connections, the convolutions as matrix products over ``positions``.

    Each block narrows to a quarter of ``channels``, convolves there, widens again and adds what it started from.
    """
    if channels % 4:
        raise InputError("must be a multiple of 4", place="resnet:channels", value=channels)
    graph = GraphBuilder()
    x = graph.tensor(positions, channels)
    narrow = channels // 4
    for _ in range(blocks):
        inner = x
        for size in (narrow, narrow, channels):
            reduction = graph.tensors[inner].width
            inner = graph.matmul(inner, graph.tensor(reduction, size), _matmul_cost(reduction))
            inner = graph.pointwise((inner,), 150)
        x = graph.pointwise((x, inner), 100)
    return graph.problem(capacity, bandwidth)


def _example(number: int, summary: str, build: Callable[[], Problem]) -> Case[Problem]:
    return Case(f"example-{number}", f"the paper's Example {number}: {summary}", build, {})


def _sizes(**defaults: Value) -> dict[str, Parameter]:
    most = {"layers": 200, "blocks": 200, "heads": 64}
    return {name: Parameter(value, most=most.get(name, 65536)) for name, value in defaults.items()}


CASES: Final = (
    _example(1, "two Pointwise operators", example_1),
    _example(2, "the same at 256 x 256", example_2),
    _example(3, "spilling, recomputation or residency", example_3),
    _example(4, "a MatMul in four tiles", example_4),
    _example(5, "a chain of two MatMuls", example_5),
    Case(
        "transformer-block",
        "transformer blocks: attention and a two-layer perceptron, residual",
        transformer,
        {**_sizes(tokens=1024, width=512, heads=4, hidden=2048, layers=1), **_machine_parameters(300_000, 40)},
    ),
    Case(
        "mlp-chain",
        "a chain of perceptron layers",
        mlp,
        {**_sizes(batch=2048, width=1024, hidden=4096, layers=4), **_machine_parameters(500_000, 50)},
    ),
    Case(
        "resnet",
        "bottleneck blocks with skip connections, convolutions as matrix products",
        resnet,
        {**_sizes(positions=3136, channels=256, blocks=4), **_machine_parameters(200_000, 30)},
    ),
)
