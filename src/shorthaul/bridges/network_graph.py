"""Networks of the tensor engine as computation DAGs: a node per stored tensor."""

from __future__ import annotations

import math

import numpy as np

from shorthaul.pebble.model import Cdag, build
from shorthaul.tensor.networks.model import Network


def cdag_of_network(network: Network) -> Cdag:
    """Return the CDAG of a network: tensors weigh their bytes, computing one costs the operations of its operators.

    Views are no nodes. Weights and inputs of the model are inputs. Of an operator with several results the first one
    costs all operations. What leads to no result of the model is left out.
    """
    parents: dict[int, dict[int, None]] = {}
    cost = [0.0] * len(network.tensors)
    for operator in network.operators:
        for access in operator.writes:
            own = {read.tensor: None for read in operator.reads if read.tensor != access.tensor}
            parents.setdefault(access.tensor, {}).update(own)
        if operator.writes:
            cost[operator.writes[0].tensor] += operator.operations
    needed = {number for number in parents if network.tensors[number].is_output} or set(parents)
    waiting = list(needed)
    while waiting:
        fresh = set(parents.get(waiting.pop(), ())) - needed
        needed |= fresh
        waiting += fresh
    kept = sorted(needed)
    edges = [(parent, number) for number in kept for parent in parents.get(number, ())]
    index = {number: at for at, number in enumerate(kept)}
    return build(
        [max(network.tensors[number].bytes, 1) for number in kept],
        [index[start] for start, _ in edges],
        [index[stop] for _, stop in edges],
        given=np.array([network.tensors[number].role != "made" for number in kept]),
        kept=np.array([network.tensors[number].is_output for number in kept]),
        compute=[math.ceil(cost[number]) for number in kept],
        ids=[network.tensors[number].name for number in kept],
        name=network.name,
    )
