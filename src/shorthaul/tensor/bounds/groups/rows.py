"""The rows of the linear program over groups of operators."""

from __future__ import annotations

from shorthaul.tensor.bounds.groups.cutting import Taking
from shorthaul.tensor.bounds.groups.ordering import UNORDERED, Ordering
from shorthaul.tensor.model import Problem, Tensor


class Rows:
    """The rows of the linear program: cover by operator, link by operator and tensor, hand over by tensor.

    ``support`` and ``succession`` are rows of what their order asks of groups. ``cut`` are rows by which parts of
    groups take from others, ``weight`` those by shape of outputs whose prices are the weights of compute in parts.
    """

    def __init__(self, problem: Problem, later: frozenset[int] = frozenset(), ordering: Ordering = UNORDERED) -> None:
        self.cover = [index for index in range(len(problem.operators)) if index not in later]
        pairs = [
            (index, tensor)
            for index, operator in enumerate(problem.operators)
            for tensor in dict.fromkeys(operator.inputs)
            if problem.producer[tensor] is not None
        ]
        begin = len(self.cover)
        self.link = {pair: begin + number for number, pair in enumerate(pairs)}
        begin += len(pairs)
        self.first_support = begin
        self.support = {deeds: begin + number for number, deeds in enumerate(ordering.supports)}
        begin += len(self.support)
        self.asked = begin  # rows before this ask for something
        capacity = problem.machine.capacity
        inner = [
            t for t, users in enumerate(problem.consumers) if set(users) - later and problem.producer[t] is not None
        ]
        fitting = [tensor for tensor in inner if problem.tensors[tensor].size <= capacity]
        self.hand_over = {tensor: begin + number for number, tensor in enumerate(fitting)}
        begin += len(fitting)
        self.succession = {sets: begin + number for number, sets in enumerate(ordering.successions)}
        self.cut: dict[Taking, int] = {}
        self.weight: dict[Tensor, int] = {}
        self.others = begin + len(self.succession)  #: the number of rows but those of parts

    @property
    def number(self) -> int:
        """The number of rows."""
        return self.others + len(self.cut) + len(self.weight)

    @property
    def prices(self) -> int:
        """The number of rows but those of weights, which come last."""
        return self.others + len(self.cut)

    def weigh(self, problem: Problem) -> None:
        """Add the rows of weights."""
        shapes = dict.fromkeys(problem.tensors[operator.output] for operator in problem.operators)
        self.weight = {shape: self.prices + number for number, shape in enumerate(shapes)}
