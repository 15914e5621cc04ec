"""The graph of a program: its statements, and the values between them."""

from __future__ import annotations

from collections import Counter

from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.core.figure import Network, Node

#: Nodes of a drawn graph of statements and arrays; more cannot be read.
_MOST_NODES = 120


def drawn_data_flow(flow: DataFlow | None) -> tuple[Network, ...]:
    """Return the statements and the arrays that they read first, each after what it takes values from.

    A statement that takes values from itself or from a later one, in an iteration before, has that said under the
    mouse. None if there are too many of them to be read.
    """
    if flow is None or len(flow.program.statements) + len(flow.inputs) > _MOST_NODES:
        return ()
    taken: dict[str, set[str]] = {item.name: set() for item in flow.program.statements}
    for item in flow.flows:
        taken[item.sink].add(item.reference.array if item.source is None else item.source)
    arrays = sorted({source for sources in taken.values() for source in sources} - taken.keys())
    column, height = dict.fromkeys(arrays, 0), Counter({0: len(arrays)})
    nodes = [Node(name, name, 0, row, "input", "circle", f"array {name}") for row, name in enumerate(arrays)]
    for statement in flow.program.statements:
        earlier = taken[statement.name] & column.keys()
        later = sorted(taken[statement.name] - column.keys())
        at = column[statement.name] = 1 + max((column[source] for source in earlier), default=0)
        again = f"; takes values of earlier iterations from {', '.join(later)}" if later else ""
        hover = f"{statement.place}: {statement.text}{again}"
        label = f"{statement.name} writes {statement.write.array}"
        nodes.append(Node(statement.name, label, at, height[at], "statement", "square", hover))
        height[at] += 1
    edges = [(source, sink) for sink, sources in taken.items() for source in sorted(sources - {sink})]
    return (Network("Values between statements", tuple(nodes), tuple(edges)),)
