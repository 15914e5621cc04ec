"""Subgraphs as sets of operators, and what each costs in its surroundings. Sets are bit masks: bit i is number i."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shorthaul.tensor.cost_model.granularity import Execution, Granularities
from shorthaul.tensor.cost_model.profile import profile_of
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.tuning import GRANULARITIES_PER_EFFORT


def bits(mask: int) -> Iterator[int]:
    """Yield the numbers in a bit mask, ascending.

    >>> list(bits(0b10110))
    [1, 2, 4]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mask_of(numbers: Iterable[int]) -> int:
    """Return the bit mask of ``numbers``."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


class Group(NamedTuple):
    """A set of operators executed together, and its tensors, as bit masks.

    ``needs`` are its inputs that some other group has to produce, ``makes`` the tensors produced that some operator
    consumes; ``sinks`` are produced and not consumed inside, ``inner`` are produced and consumed inside;
    ``is_connected`` by tensors produced inside.
    """

    operators: int
    produced: int
    inputs: int
    needs: tuple[int, ...]
    makes: tuple[int, ...]
    sinks: int
    inner: int
    is_connected: bool


class Groups:
    """Every group and execution that a search has asked for, worked out once."""

    def __init__(self, problem: Problem, rules: Rules) -> None:
        self.problem = problem
        self.rules = rules
        self.granularities = Granularities(problem.machine, rules)
        self.capacity = problem.machine.capacity
        self.size = [tensor.size for tensor in problem.tensors]
        self.output = [operator.output for operator in problem.operators]
        self.sources = [mask_of(operator.inputs) for operator in problem.operators]
        self.graph_inputs = mask_of(problem.graph_inputs)
        self.consumed = mask_of(t for t, consumers in enumerate(problem.consumers) if consumers)
        self.all_operators = (1 << len(problem.operators)) - 1
        #: The operators that share a produced tensor with each one.
        self.neighbours = [
            mask_of(problem.consumers[operator.output])
            | mask_of(source for tensor in operator.inputs if (source := problem.producer[tensor]) is not None)
            for operator in problem.operators
        ]
        self.known = _Known(self)
        self._executions: dict[tuple[int, int, int, int], Execution | None] = {}

    def group(self, operators: int) -> Group:
        """Return the group of a set of operators."""
        return self.known[operators]

    def made(self, operators: int) -> Group:
        """Work out the group of a set of operators."""
        produced = consumed = 0
        for index in bits(operators):
            produced |= 1 << self.output[index]
            consumed |= self.sources[index]
        inputs = consumed & ~produced
        return Group(
            operators=operators,
            produced=produced,
            inputs=inputs,
            needs=tuple(bits(inputs & ~self.graph_inputs)),
            makes=tuple(bits(produced & self.consumed)),
            sinks=produced & ~consumed,
            inner=produced & consumed,
            is_connected=self.part(operators) == operators,
        )

    def part(self, operators: int) -> int:
        """Return the connected part of ``operators`` that holds the smallest one."""
        part = frontier = operators & -operators
        while frontier:
            found = 0
            for index in bits(frontier):
                found |= self.neighbours[index]
            frontier = found & operators & ~part
            part |= frontier
        return part

    def parts(self, operators: int) -> list[int]:
        """Return ``operators`` in connected parts, by their smallest operator."""
        found = []
        while operators:
            found.append(self.part(operators))
            operators ^= found[-1]
        return found

    def total_size(self, tensors: int) -> int:
        """Return the elements of all ``tensors``."""
        return sum(self.size[tensor] for tensor in bits(tensors))

    @property
    def tried(self) -> int:
        """The number of different executions asked for."""
        return len(self._executions)

    @property
    def work(self) -> float:
        """The effort spent on granularities."""
        return self.granularities.searched / GRANULARITIES_PER_EFFORT

    def execution(self, operators: int, resident: int, retained: int, shared: int) -> Execution | None:
        """Return the best execution of a group, None if it has none.

        ``resident`` and ``retained`` are the tensors in fast memory before and after it, ``shared`` those that it
        stores although it consumes them.
        """
        key = (operators, resident, retained, shared)
        try:
            return self._executions[key]
        except KeyError:
            found = self._executions[key] = self._execute(*key)
            return found

    def outputs(self, operators: int, retained: int, shared: int) -> int:
        """Return the tensors that a group stores or retains."""
        group = self.group(operators)
        return group.sinks | (retained & group.produced) | shared

    def _execute(self, operators: int, resident: int, retained: int, shared: int) -> Execution | None:
        group = self.group(operators)
        if not group.is_connected:
            return None
        outputs = list(bits(self.outputs(operators, retained, shared)))
        tensors = self.problem.tensors
        if any(tensors[tensor] != tensors[outputs[0]] for tensor in outputs):
            return None
        inside = frozenset(bits(operators))
        profile = profile_of(self.problem, inside, outputs, frozenset(bits(resident)), frozenset(bits(retained)))
        return self.granularities.best(profile)


class _Known(dict[int, Group]):
    """Groups by their operators, worked out when they are first asked for (a look-up costs no Python call)."""

    def __init__(self, groups: Groups) -> None:
        super().__init__()
        self._groups = groups

    def __missing__(self, operators: int) -> Group:
        made = self[operators] = self._groups.made(operators)
        return made
