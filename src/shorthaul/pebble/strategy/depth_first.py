"""Every output computed anew from what it needs: a first sequence of events where nothing can be stored."""

from __future__ import annotations

import numpy as np

from shorthaul.pebble.local_search.sequences import Events, Game


def recomputed(game: Game, most: int) -> Events | None:
    """Return events that compute one output after the other, depth first, and keep nothing that is not needed for it.

    Of its operands a node has that computed first which needs most room beyond its own (Sethi and Ullman's order). None
    if that does not fit, or may take more than ``most`` events.

    >>> from shorthaul.pebble.model import Terms, from_pairs
    >>> tree = from_pairs([1] * 5, [(0, 2), (1, 2), (2, 4), (3, 4)])
    >>> recomputed(Game(tree, 3, True, Terms(store=None)), 9).nodes.tolist()
    [0, 1, 2, 3, 4]
    """
    cdag = game.cdag
    weights, starts, parents = cdag.weights.tolist(), cdag.parents.starts.tolist(), cdag.parents.targets.tolist()
    need, times, operands = weights[:], [1] * cdag.n, list[list[int]]([] for _ in range(cdag.n))
    for node in cdag.order.tolist():
        mine = sorted(parents[starts[node] : starts[node + 1]], key=lambda one: weights[one] - need[one])
        held = 0
        for operand in mine:
            need[node] = max(need[node], held + need[operand])
            held += weights[operand]
        need[node] = max(need[node], held + weights[node])
        times[node] += sum(times[operand] for operand in mine)
        operands[node] = mine
    outputs = np.flatnonzero(cdag.is_output()).tolist()
    if max(need[node] for node in outputs) > game.budget or sum(times[node] for node in outputs) > most:
        return None
    entered: list[int] = []
    held_by = [0] * cdag.n  # how many nodes under way want it kept
    for output in outputs:
        ahead = [(output, 0)]
        while ahead:
            node, at = ahead.pop()
            if at < len(operands[node]):
                operand = operands[node][at]
                ahead.append((node, at + 1))
                held_by[operand] += 1
                if held_by[operand] == 1:
                    ahead.append((operand, 0))
                continue
            entered.append(node)
            for operand in operands[node]:
                held_by[operand] -= 1
    nodes = np.array(entered, dtype=np.int64)
    return Events(nodes, cdag.given[nodes].astype(np.uint8))
