"""An operator graph of the tensor engine as a streaming network of the dataflow engine: one firing per inference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from shorthaul.core.errors import InputError
from shorthaul.core.options import option, validate
from shorthaul.dataflow.model import MOST_TICKS, Actor, Application, Channel
from shorthaul.tensor.model import Problem

_ALLOWED: Final = "name=factor,... with factors above 0, as in t1=0.5,t2=1"


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """How operators become actors."""

    network: bool = option(False, "Write a streaming network (dataflow engine) of the operators, one actor each.")
    core_types: str = option(
        "t1=0.667,t2=1,t3=2", "With --network: core types, and how long each takes against the model's time."
    )
    element_bytes: int = option(4, "With --network: bytes of one element of a tensor.", least=1, most=64)

    def __post_init__(self) -> None:
        validate(self)

    def factors(self) -> dict[str, float]:
        """Return the factor of every core type; raises :class:`InputError`."""
        found: dict[str, float] = {}
        for item in self.core_types.split(","):
            name, _, text = (part.strip() for part in item.partition("="))
            try:
                factor = float(text)
            except ValueError:
                factor = math.nan
            if not name or name in found or not 0 < factor < 1e9:
                raise InputError("is no core type", place="--core-types", value=item, allowed=_ALLOWED)
            found[name] = factor
        return found


def network_of(problem: Problem, options: NetworkOptions, *, name: str = "operators") -> Application:
    """Return the streaming network of ``problem``: an actor per operator, a channel per tensor and consumer.

    An actor takes the time of its native tiles, rounded up to ticks, times the factor of the core type. A tensor with
    several consumers passes through a multicast actor, which takes no time. A graph input that is only ever the right
    side of MatMuls is a weight, kept where its operator runs; any other has an actor that provides it, and every graph
    output one that takes it. Raises :class:`InputError` for amounts that the dataflow engine does not count.

    >>> from shorthaul.tensor.workloads.cases import example_1
    >>> [actor.id for actor in network_of(example_1(), NetworkOptions()).actors]
    ['input0', 'op0', 'op1', 'output2']
    """
    factors = options.factors()
    idle: dict[str, int | None] = dict.fromkeys(factors, 0)
    actors = [Actor(f"input{tensor}", idle) for tensor in _streamed(problem)]
    actors += [Actor(f"op{index}", _times(problem, index, factors)) for index in range(len(problem.operators))]
    channels: list[Channel] = []
    made = [*((tensor, f"input{tensor}") for tensor in _streamed(problem))]
    made += [(operator.output, f"op{index}") for index, operator in enumerate(problem.operators)]
    for tensor, source in made:
        size = problem.tensors[tensor].size * options.element_bytes
        takers = [f"op{index}" for index in problem.consumers[tensor]]
        if not takers:
            actors.append(Actor(f"output{tensor}", idle))
            takers = [f"output{tensor}"]
        if len(takers) > 1:
            actors.append(Actor(f"multicast{tensor}", idle, "multicast"))
            channels.append(Channel(f"t{tensor}", source, f"multicast{tensor}", size))
            source = f"multicast{tensor}"
        suffix = len(takers) > 1
        channels += [
            Channel(f"t{tensor}_{number}" if suffix else f"t{tensor}", source, taker, size)
            for number, taker in enumerate(takers)
        ]
    return Application(name, tuple(actors), tuple(channels))


def _streamed(problem: Problem) -> list[int]:
    """Return the graph inputs that are no weights."""
    operators = problem.operators
    return [
        tensor
        for tensor in problem.graph_inputs
        if any(
            not operators[index].is_matmul or operators[index].inputs[0] == tensor
            for index in problem.consumers[tensor]
        )
    ]


def _times(problem: Problem, index: int, factors: dict[str, float]) -> dict[str, int | None]:
    """Return the execution time of an operator per core type, in ticks."""
    operator, machine = problem.operators[index], problem.machine
    shape = problem.tensors[operator.output]
    tiles = -(-shape.height // machine.native_height) * -(-shape.width // machine.native_width)
    times: dict[str, int | None] = {}
    for name, factor in factors.items():
        ticks = math.ceil(operator.base_cost * tiles * factor)
        if ticks > MOST_TICKS:
            raise InputError(
                "takes too many ticks",
                place=f"operator {index} on {name}",
                value=ticks,
                allowed=f"up to {MOST_TICKS}",
                cure="give smaller factors with --core-types",
            )
        times[name] = ticks
    return times
