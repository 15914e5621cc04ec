"""An operator graph of the tensor engine as a streaming network of the dataflow engine: one firing per inference."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from shorthaul.core.errors import InputError
from shorthaul.core.options import FILE_OR_NAME, SIZES, Options, option
from shorthaul.dataflow.model import MOST_TICKS, Actor, Application, Channel
from shorthaul.tensor.model import Problem
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Network

_ALLOWED: Final = "name=factor,... with factors above 0, as in t1=0.5,t2=1"
_MACHINE: Final = (
    "With --network, of an ONNX model: any operators, with their names, their bytes, and the times of the units of "
    "this machine: a file, or a name of 'shorthaul machines'."
)
#: Units of time, the finest first.
_UNITS: Final[tuple[tuple[Literal["s", "ms", "us", "ns"], float], ...]] = (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3))


@dataclass(frozen=True, slots=True)
class NetworkOptions(Options):
    """How operators become actors."""

    network: bool = option(False, "Write a streaming network (dataflow engine) of the operators, one actor each.")
    core_types: str = option(
        "t1=0.667,t2=1,t3=2", "With --network: core types, and how long each takes against the model's time."
    )
    element_bytes: int = option(4, "With --network: bytes of one element of a tensor.", least=1, most=64)
    machine: str | None = option(None, _MACHINE, form=FILE_OR_NAME)
    dim: str | None = option(None, "With --machine: sizes of symbolic dimensions, as in batch=8.", form=SIZES)

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
    made = [(tensor, f"input{tensor}") for tensor in _streamed(problem)]
    made += [(operator.output, f"op{index}") for index, operator in enumerate(problem.operators)]
    tokens = []
    for tensor, source in made:
        takers = [f"op{index}" for index in problem.consumers[tensor]]
        size = problem.tensors[tensor].size * options.element_bytes
        tokens.append(_Token(str(tensor), source, size, takers or [f"output{tensor}"]))
    return _application(name, actors, tokens, idle, "us")


def network_of_model(network: Network, machine: Machine, options: NetworkOptions) -> Application:
    """Return the streaming network of an ONNX model: an actor per operator, with its name, a channel per tensor read.

    An actor takes the time of its operations on its unit of ``machine``, rounded up to ticks, times the factor of the
    core type. Constants are kept where their operator runs; every input has an actor that provides it, every output
    one that takes it. Raises :class:`InputError` for amounts that the dataflow engine does not count.
    """
    factors = options.factors()
    idle: dict[str, int | None] = dict.fromkeys(factors, 0)
    seconds = [
        item.operations * machine.seconds_per_operation(item.unit, network.bits(number))
        for number, item in enumerate(network.operators)
    ]
    longest = max(seconds, default=0.0) * max(factors.values())
    unit, tick = next((pair for pair in _UNITS if longest <= MOST_TICKS * pair[1]), ("s", 1.0))
    if longest > MOST_TICKS * tick:
        cure = "give smaller factors with --core-types"
        raise InputError("takes too many ticks", place="operators", value=f"{longest:.3g} s", cure=cure)
    wanted = [item.name for item in network.operators]
    wanted += [f"{end} {tensor.name}" for tensor in network.tensors for end in ("input", "output", "multicast")]
    names = _apart(wanted)
    ids, ends = names[: len(seconds)], names[len(seconds) :]
    actors, tokens = [], []
    for number, tensor in enumerate(network.tensors):
        takers = [ids[reader] for reader in network.consumers[number]]
        given, taken, several = ends[3 * number : 3 * number + 3]
        if tensor.role == "constant" or not (takers or tensor.is_output):
            continue
        if tensor.role == "input":
            actors.append(Actor(given, idle))
        source = given if tensor.role == "input" else ids[network.producer[number]]
        takers += [taken] if tensor.is_output else []
        tokens.append(_Token(tensor.name, source, tensor.bytes, takers, several))
    for name, time in zip(ids, seconds, strict=True):
        actors.append(Actor(name, {kind: math.ceil(time * factor / tick) for kind, factor in factors.items()}))
    return _application(network.name, actors, tokens, idle, unit)


class _Token(NamedTuple):
    """What an actor makes and others take, under a name of its own, in bytes."""

    name: str
    source: str
    size: int
    takers: list[str]
    multicast: str = ""


def _application(
    name: str,
    actors: list[Actor],
    tokens: Sequence[_Token],
    idle: dict[str, int | None],
    unit: Literal["s", "ms", "us", "ns"],
) -> Application:
    """Return a network of actors, and of those that take what is left and pass on what several take."""
    known, channels = {actor.id for actor in actors}, []
    for label, source, size, takers, several in tokens:
        missing = [taker for taker in takers if taker not in known]
        actors += [Actor(taker, idle) for taker in missing]
        known.update(missing)
        if len(takers) > 1:
            multicast = several or f"multicast{label}"
            actors.append(Actor(multicast, idle, "multicast"))
            channels.append(Channel(f"t{label}", source, multicast, size))
            source = multicast
        numbers = [f"_{number}" for number in range(len(takers))] if len(takers) > 1 else [""]
        channels += [Channel(f"t{label}{n}", source, taker, size) for n, taker in zip(numbers, takers, strict=True)]
    ids = _apart([channel.id for channel in channels])
    found = [replace(channel, id=one) for channel, one in zip(channels, ids, strict=True)]
    return Application(name, tuple(actors), tuple(found), unit)


def _apart(names: Sequence[str]) -> list[str]:
    """Return names of which no two are alike: later ones get a number."""
    used: dict[str, None] = {}
    for name in names:
        numbered = (name if at == 1 else f"{name}#{at}" for at in itertools.count(1))
        used[next(one for one in numbered if one not in used)] = None
    return list(used)


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
