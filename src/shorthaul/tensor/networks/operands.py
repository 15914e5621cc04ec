"""Which operand of an operator each of its accesses is, and which memories of a level a tensor takes place in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shorthaul.tensor.networks.array import roles
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Network, Operator

INPUTS: Final = 0
WEIGHTS: Final = 1
OUTPUTS: Final = 2


def operands_of(operator: Operator) -> tuple[int, ...]:
    """Return, by read, which operand it is: of a product, what spans a column is a weight, all else an input.

    >>> from shorthaul.tensor.networks.model import Access, Index
    >>> a, b, c = (Access(t, (Index(((i, 1),)), Index(((j, 1),))), ()) for t, i, j in [(0, 0, 2), (1, 2, 1), (2, 0, 1)])
    >>> operands_of(Operator("product", "MatMul", (10, 100, 1000), ("m", "n", "k"), (a, b), (c,), 2.0, "matrix"))
    (0, 1)
    """
    if operator.unit != "matrix":
        return (INPUTS,) * len(operator.reads)
    columns = {dim for dim, role in enumerate(roles(operator)) if role == "columns"}
    spanned = [{dim for index in access.axes for dim, _ in index.terms} for access in operator.reads]
    return tuple(WEIGHTS if dims & columns else INPUTS for dims in spanned)


def wider_sums(network: Network, machine: Machine, number: int) -> float:
    """Return how many times the bits of its output the sums of an operator have while they go on."""
    operator = network.operators[number]
    output = max((network.tensors[access.tensor].bits for access in operator.writes), default=1)
    return machine.sums_are_wider(operator.unit, network.bits(number), output)


def homes(network: Network, machine: Machine, tensor: int, readers: Sequence[int]) -> tuple[int, ...]:
    """Return the memories next to the outermost in which a tensor takes place that is made: of its readers as well."""
    served = machine.served(1)
    found = {served[OUTPUTS]: None}
    for number in readers:
        operator = network.operators[number]
        for access, operand in zip(operator.reads, operands_of(operator), strict=True):
            if access.tensor == tensor:
                found[served[operand]] = None
    return tuple(memory for memory in found if memory is not None)


def bytes_beside(network: Network, machine: Machine, tensor: int) -> float:
    """Return the bytes that a tensor held whole takes of the level next to the outermost, for all that lies beside it.

    A memory of the level is full before the level is: there a byte counts as the same part of the whole level.
    """
    taken = homes(network, machine, tensor, network.consumers[tensor])
    rooms, whole = machine.capacities(1), float(machine.levels[1].capacity_bytes or 0)
    return network.tensors[tensor].bytes * max(len(taken), *(whole / rooms[memory] for memory in taken))
