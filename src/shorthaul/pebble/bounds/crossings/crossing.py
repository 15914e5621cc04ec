"""Values that live at one moment between disjoint parts of a graph: paths from what was computed to what was not.

**Theorem.** Let D be a set of computed nodes, and A a set of nodes all of which every node of D needs, through others
or at once. Let P be paths along edges, disjoint in nodes, from nodes of A, none through D, that each end at an operand
of a node of D. In a schedule that computes no value twice, let d be the node of D that is computed first. Within the
memory of B words, the loads and stores of the nodes of P, beyond one load of every input and one store of every output,
come to at least the charge of what remains of P when B - w(d) words of it are taken out, dearest first: 2 m for a path
that starts at a computed node, m for one that starts at an input, where m is the least weight on the path.

*Proof.* Look at the moment at which d is computed. All that d needs was computed or loaded before, so every start was;
no node of D was computed before. A node on a path is computed after the one before it. So the nodes of a path that were
computed before (its start, if an input: loaded) are the first ones, up to a node v, at least the start; v is no node of
D. What follows v, the next node or the node of D at the path's end, was not computed before. It reads v, so v is not
used for the last time before this moment. Either v is in memory now, beside d: such values of all paths, which are
different nodes, weigh B - w(d) at most, the operands of d among them. Or v is not. Then it is no operand of d, what
follows is computed later, and v is loaded later. If v was computed, it was stored before, since it is not computed
again; it is no output, since it is read: store and load are both beyond what every schedule moves, 2 w(v) >= 2 m. If v
is an input (so it is the start: inputs have no operands), d needs it but does not read it itself, so some node computed
before did; it was loaded before, and this load is one more: w(v) >= m. Taking weights down to m, and charging all of a
path that starts at an input once, only lowers what is charged; and the most that B - w(d) words spare is what they
spare of paths that are charged twice, then once. As d is not known, the least w(d) is taken. Constants are computed
from nothing, once: nothing above asks for operands of a start.

**One node.** Where D is a node d with all that needs it, d itself is computed first. If no path goes through operands
of d or ends at them, the values of the paths are in memory beside d and all that d reads: B - need(d) words at most.

**Paths from their last start.** If a path meets A again, what was said holds for the rest of it from there.

**Parts add up.** What a part charges are loads and stores of the nodes of its paths (each a load or store of one node)
beyond what every schedule moves of that node, never less than 0. So the charges of parts whose paths have no nodes in
common add up; A and D may overlap, whatever their moments are, since each part has taken out a memory of its own.

Schedules in a given order are schedules; results in the room of operands are a memory larger by one result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import layers
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.crossings import path_kernels as kernels
from shorthaul.pebble.bounds.piece import Piece
from shorthaul.pebble.model import Cdag, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A lower bound on the traffic beyond inputs and outputs, and the nodes that it is about.

    ``taken`` is what :class:`path_kernels.Paths` says of each node and part; None where nothing is known.
    """

    excess: int
    nodes: IntArray
    taken: IntArray | None = None

    def pieces(self) -> list[Piece]:
        """Return the bound as one piece."""
        return [Piece(self.nodes, self.excess, self.certificate, len(self.nodes))] if self.excess else []

    def certificate(self, cdag: Cdag) -> list[dict[str, Any]]:
        """Return the parts of the certificate: by names of nodes, disjoint paths, each with the later node it leads to.

        The later nodes are D, the starts of the paths A; ``around`` is the node that all of D needs, if one is known.
        """
        if self.taken is None:
            return []
        part_of, then, around = self.taken.tolist()
        nodes = self.nodes.tolist()
        inner = {then[node] for node in nodes if part_of[then[node]] == part_of[node]}
        parts: list[dict[str, Any]] = [{"kind": "crossing", "around": None, "paths": []} for _ in set(part_of) - {-1}]
        for number, part in enumerate(parts):
            if around[number] >= 0:
                part["around"] = cdag.id_of(around[number])
        for start in nodes:
            if start not in inner:
                path = [start]
                while part_of[path[-1]] == part_of[start]:
                    path.append(then[path[-1]])
                parts[part_of[start]]["paths"].append([cdag.id_of(node) for node in path])
        return parts


def excess(cdag: Cdag, budget: int, *, search: Search) -> Found:
    """Return a lower bound on the traffic beyond inputs and outputs of any schedule that computes each value once.

    Parts are taken greedily, those first that come to most per node: around one node after the other, in the order of
    their depth, near them and then also from far away, and below them. An eighth of the nodes, drawn, is looked at
    first, then all, from the beginning.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> excess(fft(n=64, word=1), 8, search=Search()).excess
    72
    """
    best = Found(0, np.empty(0, dtype=np.int64))
    effort = (cdag.n + cdag.edges) / tuning.PASS_RATE
    if effort > search.left():
        return best
    search.spend(effort)
    depth = layers(cdag.children, cdag.order)
    # Drawn among those of one depth: in a regular numbering, every eighth node sees one part of the graph.
    drawn = search.generator().permutation(cdag.n)
    order = np.lexsort((drawn, depth))
    search = search.part(1.0, unlimited=tuning.CROSSINGS_EFFORT)
    for stride in tuning.CROSSINGS_STRIDES:
        found = _taken(cdag, budget, depth, np.ascontiguousarray(order[stride // 2 :: stride]), search)
        if found.excess > best.excess:
            best = found
    return best


def _taken(cdag: Cdag, budget: int, depth: IntArray, order: IntArray, search: Search) -> Found:
    """Return the sum of the parts that are found at the nodes of an order, with ever lower demands."""
    taken = np.full((3, cdag.n), -1, dtype=np.int64)
    paths = kernels.Paths(
        cdag.weights, cdag.given.view(np.uint8), cdag.parents.starts, cdag.parents.targets,
        cdag.children.starts, cdag.children.targets, depth, taken,
    )  # fmt: skip
    unit = float(cdag.weights.mean())
    price, work = tuning.FIRST_PRICE, 0
    while price > tuning.LAST_PRICE:
        for far, is_common in ((0, False), (tuning.CROSSINGS_FAR, False), (0, True)):
            done = False
            while not done:
                if search.expired():
                    return Found(int(paths.excess), np.flatnonzero(taken[0] >= 0), taken)
                done = kernels.advance(
                    paths, order, budget, price * unit, int(2 / price), far, is_common, tuning.ORDER_CALL
                )
                search.spend((paths.work - work) / tuning.CROSSINGS_RATE)
                work = paths.work
        price *= tuning.PRICE_DECAY
    return Found(int(paths.excess), np.flatnonzero(taken[0] >= 0), taken)
