"""The order in which operators are decided, where a certificate names none."""

from __future__ import annotations

from shorthaul.tensor.model import Problem


def takers_first(problem: Problem) -> list[int]:
    """Return the operators, takers before makers; of those that may follow, the one whose taker came last.

    Of its makers the one with the fewest operators above it comes first.
    """
    above: list[set[int]] = [set() for _ in problem.operators]
    for index in problem.topological_order:
        for tensor in problem.operators[index].inputs:
            maker = problem.producer[tensor]
            if maker is not None:
                above[index] |= above[maker] | {maker}
    waiting = {index: set(problem.consumers[operator.output]) for index, operator in enumerate(problem.operators)}
    order: list[int] = []
    recent = dict.fromkeys(waiting, -1)
    while waiting:
        ready = [index for index, takers in waiting.items() if not takers]
        chosen = max(ready, key=lambda index: (recent[index], -len(above[index])))
        del waiting[chosen]
        for tensor in problem.operators[chosen].inputs:
            maker = problem.producer[tensor]
            if maker is not None:
                waiting[maker].discard(chosen)
                recent[maker] = len(order)
        order.append(chosen)
    return order
