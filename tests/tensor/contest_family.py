"""Random problems like those of the scheduling contest: 4 to 152 operators in chains, residual blocks, attention,
sums of branches, or at random; sizes are powers of two, capacities and bandwidths those of its published problems."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from shorthaul.tensor.model import Problem
from shorthaul.tensor.workloads.cases import GraphBuilder

#: Capacity and bandwidth of the five published problems.
MACHINES = ((60_000, 20), (30_000, 15), (250_000, 25), (600_000, 50), (500_000, 100))
SIZES = (128, 256, 512, 1024, 2048, 4096)
#: The contest's number of operators: the published ones, and between.
COUNTS = (4, 5, 7, 10, 14, 19, 24, 32, 40, 48, 63, 80, 103, 128, 152)

Style = Callable[["Family"], None]


class Family:
    """One random problem in the making: sizes and costs drawn once, so that blocks repeat."""

    def __init__(self, random: Random, operators: int) -> None:
        self.random = random
        self.count = operators
        self.graph = GraphBuilder()
        self.rows, self.width, self.hidden = (random.choice(SIZES) for _ in range(3))
        self.matmul_cost = random.choice((1000, 2000, 5000, 10_000))
        self.pointwise_cost = random.choice((100, 200, 500))
        self.left = operators

    def matmul(self, left: int, right: int) -> int:
        self.left -= 1
        return self.graph.matmul(left, right, self.matmul_cost)

    def pointwise(self, *inputs: int) -> int:
        self.left -= 1
        return self.graph.pointwise(inputs, self.pointwise_cost)

    def times(self, tensor: int, width: int) -> int:
        """Multiply by weights of its own."""
        return self.matmul(tensor, self.graph.tensor(self.graph.tensors[tensor].width, width))

    def input(self, height: int, width: int) -> int:
        return self.graph.tensor(height, width)

    def finish(self, tensor: int) -> None:
        """Add pointwise operators until the number of operators is right."""
        while self.left > 0:
            tensor = self.pointwise(tensor)


def chain(family: Family) -> None:
    """MatMuls, most of them followed by a Pointwise."""
    tensor = family.input(family.rows, family.width)
    while family.left > 0:
        tensor = family.times(tensor, family.random.choice((family.width, family.hidden)))
        if family.left and family.random.random() < 0.7:
            tensor = family.pointwise(tensor)


def residual(family: Family) -> None:
    """Two-layer perceptrons, each added to what came before it."""
    tensor = family.input(family.rows, family.width)
    while family.left >= 4:
        hidden = family.pointwise(family.times(tensor, family.hidden))
        tensor = family.pointwise(family.times(hidden, family.width), tensor)
    family.finish(tensor)


def attention(family: Family) -> None:
    """Heads that project one input three times, multiply, and are summed."""
    tensor = family.input(family.rows, family.width)
    width = family.random.choice((128, 256))
    while family.left >= 7:
        joined = tensor
        for _ in range(family.random.choice((1, 2, 4))):
            if family.left < 7:
                break
            keys = family.input(width, family.rows)  # transposed keys come from elsewhere
            scores = family.pointwise(family.matmul(family.times(tensor, width), keys))
            values = family.times(tensor, width)
            head = family.times(family.matmul(scores, values), family.width)
            joined = family.pointwise(joined, head)
        tensor = joined
    family.finish(tensor)


def branches(family: Family) -> None:
    """Chains of MatMuls on inputs of their own, some sharing weights, summed one after the other."""
    random, graph = family.random, family.graph
    depth = random.choice((1, 2, 3))
    inner = [random.choice((family.width, family.hidden)) for _ in range(depth)]
    shared = [random.random() < 0.4 for _ in range(depth)]
    shapes = [family.width, *inner[:-1], 128]
    weights = [graph.tensor(shapes[i], shapes[i + 1]) for i in range(depth)]
    ends = []
    while family.left >= 2 * depth + 2 or not ends:
        tensor = family.input(family.rows, family.width)
        for i in range(depth):
            tensor = family.matmul(tensor, weights[i]) if shared[i] else family.times(tensor, shapes[i + 1])
        ends.append(tensor)
        if len(ends) > 1 and family.left < len(ends) + depth:
            break
    total = ends[0]
    for end in ends[1:]:
        total = family.pointwise(total, end)
    family.finish(total)


def mixture(family: Family) -> None:
    """Two kinds of blocks on one input, all summed: experts of two layers, and single projections."""
    tensor = family.input(family.rows, family.width)
    total = family.times(tensor, family.width)
    while family.left >= 4:
        if family.random.random() < 0.5:
            hidden = family.pointwise(family.times(tensor, family.hidden))
            total = family.pointwise(total, family.times(hidden, family.width))
        else:
            total = family.pointwise(total, family.times(tensor, family.width))
    family.finish(total)


def anything(family: Family) -> None:
    """Operators at random, on tensors at random, most of them recent."""
    random, graph = family.random, family.graph
    sizes = random.sample(SIZES, 2)
    made = [family.input(random.choice(sizes), random.choice(sizes)) for _ in range(3)]
    while family.left:
        recent = random.choice(made[-6:] if random.random() < 0.8 else made)
        if random.random() < 0.5:
            made.append(family.times(recent, random.choice(sizes)))
        else:
            shape = graph.tensors[recent]
            same = [t for t in made if graph.tensors[t] == shape and t != recent]
            made.append(family.pointwise(recent, random.choice(same)) if same else family.pointwise(recent))


STYLES: tuple[Style, ...] = (chain, residual, attention, branches, mixture, anything)


def contest_problem(seed: int) -> Problem:
    """Return the problem of a seed; styles and sizes take turns, so that any 24 seeds in a row hold all of them."""
    random = Random(f"contest family {seed}")
    operators = COUNTS[(seed * 7) % len(COUNTS)]
    family = Family(random, operators)
    STYLES[seed % len(STYLES)](family)
    return family.graph.problem(*random.choice(MACHINES))
