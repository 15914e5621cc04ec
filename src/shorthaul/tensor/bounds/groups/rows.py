"""The rows of the linear program over groups of operators."""

from __future__ import annotations

from shorthaul.tensor.bounds.groups.cutting import Taking
from shorthaul.tensor.bounds.groups.ordering import UNORDERED, Ordering
from shorthaul.tensor.model import Problem, Rules, Tensor


class Rows:
    """The rows of the linear program: cover by operator, link by operator and tensor, hand over by tensor.

    ``support`` and ``succession`` are rows of what their order asks of groups. ``cut`` are rows by which parts of
    groups take from others, ``weight`` those by shape of outputs whose prices are the weights of compute in parts.
    Where rules let tensors stay for any number of groups, none is handed over: those ``fitting`` are there for nothing.
    """

    def __init__(
        self, problem: Problem, rules: Rules, later: frozenset[int] = frozenset(), ordering: Ordering = UNORDERED
    ) -> None:
        #: Whether a group may store what its own operators take, and whether what it retains serves as what it stores.
        self.stores_shared, self.keeps_for_all = rules.stores_shared, rules.retains_inputs
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
        #: Tensors that may be found resident.
        self.fitting = [
            tensor
            for tensor, users in enumerate(problem.consumers)
            if set(users) - later and problem.tensors[tensor].size <= capacity
            if rules.retains_inputs or problem.producer[tensor] is not None
        ]
        handed = [] if rules.retains_inputs else self.fitting
        self.hand_over = {tensor: begin + number for number, tensor in enumerate(handed)}
        begin += len(handed)
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
