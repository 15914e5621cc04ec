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

**Readers of a node.** D may be the readers of any node and what needs these, and A what all the readers need: more than
what the node needs, as where column after column is summed up, and each sum is read by all rows.

**Paths from their last start.** If a path meets A again, what was said holds for the rest of it from there.

**Parts add up.** What a part charges are loads and stores of the nodes of its paths (each a load or store of one node)
beyond what every schedule moves of that node, never less than 0. So the charges of parts whose paths have no nodes in
common add up; A and D may overlap, whatever their moments are, since each part has taken out a memory of its own. So
do shares of charges of parts that have nodes in common, as long as the shares of no node exceed 1: let part p with the
share y_p charge c_p; then the sum of y_p c_p is at most the sum over p of y_p times what the nodes of p move beyond,
which is the sum over all nodes of what they move times the shares that they are in, 1 at most.

Schedules in a given order are schedules; results in the room of operands are a memory larger by one result.

**Accumulated values.** Where a value adds its operands one by one, and may be stored and loaded meanwhile, let paths go
from nodes of A to nodes of D, disjoint in nodes, these ends among them, and look at the moment before the first node of
D adds its last operand. Each start is complete by then (an input: loaded), each end is not; so some node u of a path is
complete, and the next one, v, is not. If v has added u, v is begun, and goes on later; if not, u is read later. The one
or the other is in memory, or is loaded later, and was stored before unless it is an input: not for the last time, since
v is not complete. What u or v moves counts as above, with B words taken out; where D is a node d with all that needs
it, and no path goes through d, it is beside d right after it is complete: B - w(d) words.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import layers
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds.crossings import packing, part_kernels, path_kernels
from shorthaul.pebble.bounds.crossings.part import Part
from shorthaul.pebble.bounds.piece import Piece
from shorthaul.pebble.model import Cdag, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A lower bound on the traffic beyond inputs and outputs, and the parts that it sums up, with their shares."""

    excess: int
    pieces: tuple[tuple[Piece, Fraction], ...] = ()

    def known(self) -> list[Piece]:
        """Return pieces for sums with others: each part, or all of them if that is too many and they are disjoint."""
        if sum(piece.size for piece, _ in self.pieces) <= tuning.MOST_SHARED:
            return [piece for piece, _ in self.pieces]
        if any(share < 1 for _, share in self.pieces):
            return []
        nodes = np.concatenate([piece.nodes for piece, _ in self.pieces])
        return [Piece(nodes, self.excess, self._shown, len(nodes))]

    def _shown(self, cdag: Cdag) -> list[dict[str, Any]]:
        return [part for piece, _ in self.pieces if piece.shown is not None for part in piece.shown(cdag)]


def excess(cdag: Cdag, budget: int, *, search: Search, partial: bool = False) -> Found:
    """Return a lower bound on the traffic beyond inputs and outputs of any schedule that computes each value once.

    With ``partial`` values are accumulated.

    Disjoint parts are taken greedily, those first that come to most per node: around one node after the other, those
    that many read first, then in the order of their depth, and below nodes. An eighth of the nodes, drawn, is
    looked at first, then all, from the beginning. The parts found, and others that share nodes with them, are then
    given the shares that come to most.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> excess(fft(n=64, word=1), 8, search=Search()).excess
    72
    """
    effort = (cdag.n + cdag.edges) / tuning.PASS_RATE
    if effort > search.left():
        return Found(0)
    search.spend(effort)
    depth = layers(cdag.children, cdag.order)
    # Drawn among those of one depth: in a regular numbering, every eighth node sees one part of the graph.
    drawn = search.generator().permutation(cdag.n)
    order = np.lexsort((drawn, depth))
    # What many read is needed by much: such nodes are few, and most passes by them.
    often = np.lexsort((drawn, -np.where(cdag.given, 0, cdag.children.degrees())))
    often = often[: max(tuning.CROSSINGS_PROBE, cdag.n // tuning.CROSSINGS_PROBE)]
    often = often[np.lexsort((drawn[often], depth[often]))]
    search = search.part(1.0, unlimited=tuning.CROSSINGS_EFFORT)
    apart = search.part(tuning.DISJOINT_SHARE if search.left() > tuning.LEAST_FLOWS * cdag.n else 1.0)
    parts: list[Part] = []
    for stride in tuning.CROSSINGS_STRIDES:
        found = _taken(cdag, budget, depth, np.ascontiguousarray(order[stride // 2 :: stride]), often, apart, partial)
        parts = max(parts, found, key=_sum)
    disjoint = Found(_sum(parts), tuple((part.piece(), Fraction(1)) for part in parts))
    shared = packing.shared(cdag, budget, parts, search=search, partial=partial)
    unit = int(np.gcd.reduce(cdag.weights))
    total = sum((share * part.moved for part, share in shared), Fraction(0))
    moved = -(-total // unit) * unit
    return Found(moved, tuple((part.piece(), share) for part, share in shared)) if moved > disjoint.excess else disjoint


def _sum(parts: list[Part]) -> int:
    return sum(part.moved for part in parts)


def _taken(
    cdag: Cdag, budget: int, depth: IntArray, order: IntArray, often: IntArray, search: Search, partial: bool
) -> list[Part]:  # fmt: skip
    """Return disjoint parts that are found at the nodes of an order, with ever lower demands.

    Paths around nodes go around those ``often`` read first. Most demands are too high or too low, which few nodes tell;
    and some take long for what they bring.
    """
    taken = np.full((4, cdag.n), -1, dtype=np.int64)
    paths = path_kernels.Paths(
        cdag.weights, cdag.given.view(np.uint8), cdag.parents.starts, cdag.parents.targets,
        cdag.children.starts, cdag.children.targets, depth, taken, partial,
    )  # fmt: skip
    few = max(1, len(often) // tuning.CROSSINGS_PROBE)
    unit, price = float(cdag.weights.mean()), tuning.FIRST_PRICE
    while price > tuning.LAST_PRICE and not search.expired():
        for is_common in (False, True):
            kind = (budget, price * unit, int(2 / price), is_common)
            nodes = order if is_common else np.append(often, order)
            step = max(1, len(nodes) // tuning.CROSSINGS_PROBE)
            tried = nodes[::step] if is_common else np.append(often[::few], nodes[::step])
            if not _is_worth(paths, tried[_spread(len(tried))], kind, search):
                continue
            began, found, left = search.spent(), 0, search.left()
            for at in range(0, len(nodes), step):
                found += _advanced(paths, nodes[at : at + step], kind, search)
                took = search.spent() - began
                if took > tuning.CROSSINGS_PATIENCE * left:
                    enough = tuning.CROSSINGS_WORTH * price * int(cdag.weights[taken[0] < 0].sum())
                    if found * left < took * enough:
                        break
        price *= tuning.PRICE_DECAY
    return _parts(taken)


def _spread(count: int) -> IntArray:
    """Return the numbers below ``count``, the first ones of which lie far apart: by their bits read backwards."""
    bits = max(1, (count - 1).bit_length())
    numbers = np.array([int(f"{at:0{bits}b}"[::-1], 2) for at in range(1 << bits)], dtype=np.int64)
    return numbers[numbers < count]


def _is_worth(
    paths: path_kernels.Paths, tried: IntArray, kind: tuple[int, float, int, bool], search: Search
) -> bool:  # fmt: skip
    """Return whether there is a part of a kind at one of some nodes; where they take long, the first few tell."""
    began, most = search.spent(), tuning.CROSSINGS_PROBE_PART * search.left()
    for at in range(len(tried)):
        if at >= tuning.CROSSINGS_FEWEST and search.spent() - began > most:
            break
        if _advanced(paths, tried[at : at + 1], kind, search):
            return True
    return False


def _advanced(paths: path_kernels.Paths, nodes: IntArray, kind: tuple[int, float, int, bool], search: Search) -> int:
    """Look for parts of a kind at some nodes, as far as the effort goes; return what those found come to."""
    known, done = paths.excess, False
    while not (done or search.expired()):
        work = paths.work
        done = part_kernels.advance(paths, nodes, *kind, tuning.ORDER_CALL)
        search.spend((paths.work - work) / tuning.CROSSINGS_RATE)
    found: int = paths.excess - known
    return found


def _parts(taken: IntArray) -> list[Part]:
    part_of, then, around, moved = taken
    nodes = np.argsort(part_of, kind="stable")[int((part_of < 0).sum()) :]
    groups = np.split(nodes, np.flatnonzero(np.diff(part_of[nodes])) + 1) if len(nodes) else []
    return [Part(group, then[group], int(moved[at]), int(around[at])) for at, group in enumerate(groups)]
