"""What every plan of a network takes at least: operations that the outputs need, and bytes that have to pass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from shorthaul.core.amounts import Bound
from shorthaul.tensor.networks.bounds.phases import Amounts, phases
from shorthaul.tensor.networks.bounds.waiting import waiting
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Access, Expand, Network
from shorthaul.tensor.networks.needs import demands, together


def bound(network: Network, machine: Machine, *, brief: bool = False) -> Bound:
    """Return the lower bound on the latency of every plan of ``network`` on ``machine``, with its proof.

    A ``brief`` one leaves out what takes most of the time: the bounds by phases and by waiting.
    """
    needed, level = demands(network, machine), machine.levels[0]
    seconds, read = together(network, machine, needed)
    once, products = _moved(network, machine, needed, read)
    moved = once + products
    memory = moved / level.bandwidth_bytes_per_s
    inner = tuple(sum(demand.inner_bytes[at] for demand in needed.values()) for at in range(len(machine.ports())))
    found = Amounts(seconds["matrix"], seconds["vector"], moved, inner)
    beside, apart_by = found.seconds(machine)
    inside = ""
    if len(machine.levels) > 2:
        inside = (
            f"To every level further inside passes what each operator touches, once at least, whether tiles stay there "
            f"or not, and of a product of m n k multiplications 2 m n k / (sqrt(S + 1) - 1) words, as all its tiles "
            f"fit into S: {', '.join(f'{amount:.6g}' for amount in found.inner_bytes)} bytes, of all "
            f"together and of memories with ports of their own. "
        )
    apart = sum(apart_by.values())
    if apart_by:
        inside += f"What passes to a memory that is not double buffered comes on top of all else: {apart:.6g} s. "
    method = max(beside, key=lambda name: beside[name])
    value = apart + beside[method]
    proof = (
        f"The outputs need {found.matrix_s:.6g} s of the matrix unit and {found.vector_s:.6g} s of the vector unit, "
        f"each operation once, by as few passes of an array as there can be. Inputs and constants that are needed are "
        f"loaded once and outputs stored once, "
        f"{once:.6g} bytes; products of tensors that nobody makes, whose outputs are stored, move "
        f"{products:.6g} bytes more, since m n k multiplications with S words move "
        f"2 m n k / sqrt(S) - 2 S words at least (Smith et al. 2019). They pass {level.name} at "
        f"{level.bandwidth_bytes_per_s:.6g} bytes per second: {memory:.6g} s. {inside}Groups follow one another, and "
        f"none takes less than each of these."
    )
    values = {**beside, **apart_by}
    if brief:
        return Bound("latency_s", value, method, proof, {"values": values, "traffic_bytes": moved})
    phased = phases(network, machine, needed)
    if phased.value_s > value * (1 + 1e-12):
        value, method = phased.value_s, "phases"
        values["phases"] = value
        proof += f" {phased.proof}"
    waited = waiting(network, machine, needed, value * (1 + 1e-12))
    if waited.proof:
        value, method = waited.value_s, "waiting"
        values["waiting"] = value
        proof += f" {waited.proof}"
    return Bound("latency_s", value, method, proof, {"values": values, "traffic_bytes": moved})


def _moved(network: Network, machine: Machine, needed: Iterable[int], read: dict[int, float]) -> tuple[float, float]:
    """Return the bytes of inputs, constants and outputs that pass once, and those that products move beyond that."""
    capacity = float(machine.levels[1].capacity_bytes or 0)
    traffic = 0.0
    for number, tensor in enumerate(network.tensors):
        if tensor.role != "made":
            traffic += read.get(number, 0.0)
        elif tensor.is_output:
            traffic += tensor.elements * tensor.bits / 8
    return traffic, sum(_product(network, number, capacity, read) for number in needed)


def _product(network: Network, number: int, capacity: float, read: dict[int, float]) -> float:
    """Return the bytes that a product moves at least beyond its three matrices once; 0 for no product."""
    operator = network.operators[number]
    if operator.unit != "matrix" or len(operator.reads) != 2 or not operator.reduced or operator.barrier:
        return 0.0
    target = operator.writes[0]
    accesses = (*operator.reads, target)
    output = network.tensors[target.tensor]
    sources = [network.tensors[access.tensor] for access in operator.reads]
    alone = all(network.consumers[access.tensor] == (number,) for access in operator.reads)
    plain = all(_is_plain(access, operator.dims) for access in accesses)
    fresh = all(tensor.role != "made" for tensor in sources) and operator.reads[0].tensor != operator.reads[1].tensor
    if not (alone and plain and fresh and output.is_output):
        return 0.0
    groups = [frozenset(dim for index in access.axes for dim, _ in index.terms) for access in accesses]
    if any(sum(dim in group for group in groups) != 2 for dim in range(len(operator.dims))):
        return 0.0  # a batch, or a dimension of one factor alone
    width = min(tensor.bits for tensor in (*sources, output)) / 8
    words = capacity / width
    total = (operator.operations / operator.work) * 2 / math.sqrt(words) - 2 * words
    once = sum(read[access.tensor] for access in operator.reads) + output.elements * output.bits / 8
    return max(0.0, total * width - once)


def _is_plain(access: Access, dims: Sequence[int]) -> bool:
    """Return whether an access reaches another element at every position of its dimensions."""
    apart = all(
        index.terms == ()
        or (
            (len(index.terms), index.terms[0][1], index.divisor) == (1, 1, 1)
            and 0 <= index.offset <= size - dims[index.terms[0][0]]
        )
        for index, size in zip(access.axes, access.shape, strict=True)
    )
    return apart and not any(isinstance(step, Expand) for step in access.steps)
