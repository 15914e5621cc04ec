"""The best lower bound on the traffic of any CDAG, with the argument that proves it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from shorthaul.core.amounts import Bound
from shorthaul.core.files.columns import MOST_JSON_ENTRIES
from shorthaul.core.search import Search
from shorthaul.core.searching.tasks import run_tasks
from shorthaul.pebble import tuning
from shorthaul.pebble.bounds import gathers, moments, part_packing, successors, wavefront
from shorthaul.pebble.bounds import segments as bound_segments
from shorthaul.pebble.bounds.crossings import crossing
from shorthaul.pebble.bounds.grids import histories
from shorthaul.pebble.bounds.piece import Piece
from shorthaul.pebble.bounds.tables import table_cuts
from shorthaul.pebble.model import Cdag, require_budget

#: Searches of more computations, or values with more than one reader or a reader and operands, have no certificate.
_MOST_SHOWN = 64

_PROOFS = {
    "algorithmic": "Every input is loaded and every output stored at least once (Proposition 2.4).",
    "wavefront": (
        "Every input is loaded and every output stored at least once. Beyond that: while a node is computed, every "
        "value computed before it and read after it, other than its operands, is in the room they leave or is loaded "
        "later, and stored too unless it is an input. The least weight of such values over all sets that may have been "
        "computed by then is a minimum cut. No value is computed twice."
    ),
    "moments": (
        "Every input is loaded and every output stored at least once. Beyond that: nodes of one depth form a level. "
        "When the first node of a level is computed, nothing deeper is, but all that every node of the level needs. "
        "Between the first nodes of two levels, the second one's ancestors below the first level are computed; what "
        "they read and every node of the first level needs is in the room that the first one leaves, or loaded in "
        "between, and stored before unless it is an input. Loads in different stretches between such moments add up."
    ),
    "successors": (
        "Every input is loaded and every output stored at least once. Beyond that: take nodes that need much, or all. "
        "Each is computed right after another one of them, no two after the same. What it reads of them and of inputs "
        "is what that one read or is, was in the room beside, or is loaded in between, and stored before unless it is "
        "an input. Whichever is computed after which, this comes to at least the bound, by prices of an assignment. No "
        "value is computed twice."
    ),
    "gathers": (
        "Every input is loaded and every output stored at least once. Beyond that: cut a schedule after every q-th sum "
        "of products. What the products between two cuts are made of is loaded there, was in the room beside the last "
        "sum, is a sum there or read by the last one. They have as many operands each as q products that hang "
        "together at least. A product of a later sum is stored and loaded, or takes room at a cut; what such products "
        "share is bounded too. The mean over the q ways to cut holds. No value is computed twice."
    ),
    "crossings": (
        "Every input is loaded and every output stored at least once. Beyond that: take nodes that all need the same "
        "values, and disjoint paths from these values to them. When the first of the nodes is computed, the values "
        "were, and each path holds one that is read later. What is not in the room beside the first node is loaded "
        "later, and stored before unless it is an input. Paths of several such parts have no node in common, so their "
        "loads and stores add up; so do shares of parts of which no node gives more than itself. No value is "
        "computed twice."
    ),
    "accumulated": (
        "Every input is loaded and every output stored at least once. Beyond that: take disjoint paths from nodes that "
        "a node needs to nodes that need it. When it has added its last operand, each start is complete and each end "
        "is not; so on each path a complete node is read later, or one that is begun goes on later. What is not in the "
        "room beside is loaded later, and stored before unless it is an input. Shares of such parts of which no node "
        "gives more than itself add up. No value is computed twice."
    ),
    "grids": (
        "Every input is loaded and every output stored at least once. Beyond that: the graph holds levels of cells in "
        "boxes, each of which reads its own cell and those beside it a level below. Cut a schedule after every q-th of "
        "these nodes, before the next one takes its room. What those between two cuts read of others, and leave for "
        "others, is in fast memory at a cut, or loaded or stored in between. Sets of cells have a least neighbourhood "
        "by their size (pushed down along the axes, slice upon slice), so q nodes read and leave a number that is "
        "known. No value is computed twice."
    ),
    "tables": (
        "Every input is loaded and every output stored at least once. Beyond that: nodes have different places of a "
        "table, and read those one step before them along its axes, themselves or by way of links. Cut a schedule "
        "after every q-th of them, before the next one takes its room beside its operands. What those between two cuts "
        "read of others, and leave for others, is in fast memory at a cut, or loaded or stored in between. It is known "
        "how many places q of them have before and after them at least; letters of rows and columns that they read are "
        "loaded or there too. No value is computed twice."
    ),
    "S-partition": (
        "Every input is loaded and every output stored at least once. The graph is a network, or holds sums of "
        "products. Of a network it is known how many values a given number of words can compute. Cut a schedule into "
        "segments of T loaded words each, from its end. What a segment computes depends on the words in fast memory at "
        "its start and the T loaded ones; so each computes at most M values, the first with its fewer loads fewer in "
        "proportion, and T N / M words are loaded for N values (Hong and Kung). Of a stencil, segments of T words "
        "loaded or stored read and leave at most two budgets and T words together. Of sums of products, it is known "
        "how many operands so many terms of so many sums have (Loomis and Whitney). Cut a schedule after every Q-th "
        "term: the operands between two cuts, and partial values from before, were in fast memory at the first, "
        "beside what the term there read for the last time, or are loaded. Or all that is in memory as a term is "
        "computed pays a rent: stays of operands that share terms, and sums of terms nearby, else stored and loaded."
    ),
    "parts": (
        "Every input is loaded and every output stored at least once. Beyond that: strike the moves of all nodes "
        "outside a part of the graph out of a schedule, and what is left is a schedule of the part, in which operands "
        "from outside may still take room. So the part's nodes are loaded and stored at least as much as in its "
        "cheapest schedule, found by exhaustive search, or as its wavefront says. Every load and store "
        "moves one node, so the bounds of parts add up, each in its share, as long as no node has shares above one in "
        "all."
    ),
}


def uncertified(method: str) -> dict[str, Any]:
    """Return what a certificate says of a bound by a method that has none.

    >>> uncertified("exhausted search")
    {'kind': 'exhaustive', 'method': 'exhausted search'}
    """
    is_exhaustive = any(name in method for name in ("exhausted", "parts"))
    return {"kind": "exhaustive" if is_exhaustive else "formula", "method": method}


def _certified(cdag: Cdag, sums: Iterable[Sequence[tuple[Piece, Fraction]]]) -> tuple[int, list[dict[str, Any]]]:
    """Return what the sum of shares that proves most moves beyond inputs and outputs, and the parts that certify it."""
    told, best = Fraction(0), list[tuple[Piece, Fraction]]()
    for pieces in sums:
        certified = [(piece, share) for piece, share in pieces if piece.shown is not None]
        value = sum((share * piece.excess for piece, share in certified), Fraction(0))
        if value > told and sum(piece.size for piece, _ in certified) <= MOST_JSON_ENTRIES:
            told, best = value, certified
    parts: list[dict[str, Any]] = [{"kind": "algorithmic"}]
    for piece, share in best:
        shared = {} if share == 1 else {"share": [share.numerator, share.denominator]}
        parts += [{**part, **shared} for part in piece.shown(cdag)] if piece.shown is not None else []
    unit = int(np.gcd.reduce(cdag.weights))
    return -(-told // unit) * unit, parts


def _certificate(
    cdag: Cdag, sums: Iterable[Sequence[tuple[Piece, Fraction]]], excess: int, method: str
) -> dict[str, Any]:
    """Return the certificate of the sum of shares that proves most, and what the best ``method`` proves beyond that."""
    told, parts = _certified(cdag, sums)
    return {"parts": [*parts, uncertified(method)] if excess > told else parts}


def bound_of_program(cdag: Cdag, budget: int, *, search: Search) -> Bound | None:
    """Return the bound of the program that the graph was made from, None if there is none. No value is computed twice.

    It is derived whatever effort ``search`` has: what is derived depends on the program and on the memory alone, as
    long as the deadline does not come first.
    """
    if cdag.origin is None:
        return None
    width = int(cdag.weights.min())
    loaded = cdag.origin.least_loaded(budget, width, search.part(tuning.ORIGIN_SHARE).beside(tuning.ORIGIN_EFFORT))
    if loaded is None:
        return None
    words, proof, shown = loaded
    value = width * words + int(cdag.weights[cdag.is_output()].sum())
    parts = [{"kind": "algorithmic"}, {"kind": "program", "words": words, "bound": shown}]
    told = f"Every output is stored at least once. {proof}"
    return Bound("traffic", value, "program", told, {"certificate": {"parts": parts}})


def accumulated_bound(cdag: Cdag, budget: int, *, search: Search) -> Bound:
    """Return a lower bound on the traffic where values are accumulated operand by operand, with its certificate.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> accumulated_bound(fft(n=16, word=1), 3, search=Search(effort=0.1)).value
    52
    """
    found = crossing.excess(cdag, budget, search=search, partial=True)
    details = {"certificate": _certificate(cdag, [found.pieces], found.excess, "crossings")}
    return Bound("traffic", cdag.algorithmic_bound() + found.excess, "crossings", _PROOFS["accumulated"], details)


def best_bound(
    cdag: Cdag,
    budget: int,
    *,
    recompute: bool = False,
    search: Search | None = None,
    goal: int | None = None,
    known: Bound | None = None,
    proving: Search | None = None,
) -> Bound:
    """Return the best lower bound on the traffic of schedules within ``budget`` that no search of the whole proves.

    With ``recompute`` only bounds that hold for values computed again are taken. ``goal`` is the traffic of a plan: no
    more time is spent on a bound that has reached it. ``known`` is a bound to begin with. ``proving`` is the search
    that keeps bounds as they are found.
    ``details["bounds"]`` lists all bounds, ``details["parts"]`` the number of nodes, bound and share of the parts,
    ``details["certificate"]`` what proves most that has a certificate, and which bound is higher.
    Raises :class:`InfeasibleError` if some node cannot be computed.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import fft
    >>> found = best_bound(fft(n=8, word=1), 3)
    >>> found.value, found.method
    (40, 'parts')
    """
    require_budget(cdag, budget)
    search = search or Search()
    least = cdag.algorithmic_bound()

    def keep(*sums: Sequence[tuple[Piece, Fraction]]) -> None:
        if proving is not None:
            told, shown = _certified(cdag, sums)
            bound = {"of": "traffic", "value": least + told, "certificate": {"parts": shown}}
            proving.keep(-least - told, bound, proves=True)

    values: dict[str, float] = {"algorithmic": least}
    proofs = dict(_PROOFS)
    if known is not None:
        values[known.method], proofs[known.method] = known.value, known.proof
    next_to, grids, tables = successors.Found(0), histories.Found(0, ()), table_cuts.Found(0, ())
    # First: these need little, or where there are any say most.
    segments = bound_segments.excess(cdag, budget, recompute=recompute, search=search.part(tuning.SEGMENTS_SHARE))
    values["S-partition"] = least + segments.excess
    if not recompute:
        tables = table_cuts.excess(cdag, budget, search=search.part(tuning.TABLES_BOUND_SHARE))
        values["tables"] = least + tables.excess
        taken = np.concatenate([np.empty(0, np.int64), *(piece.nodes for piece in segments.pieces)])
        next_to = successors.excess(cdag, budget, search=search.part(tuning.SUCCESSORS_SHARE), taken=taken)
        grids = histories.excess(cdag, budget, search=search.part(tuning.GRIDS_SHARE))
        values["grids"] = least + grids.excess
    keep(*map(_whole, (segments.pieces, next_to.pieces[:1], grids.pieces, tables.pieces)))
    argued = _tried_beside(replace(cdag, origin=None), budget, recompute, search)
    between, sums, crossed, cuts = argued.between, argued.sums, argued.crossed, argued.cuts
    values["moments"] = least + between.excess
    if not recompute:
        values |= {"gathers": least + sums.excess, "successors": least + next_to.excess}
        values |= {"crossings": least + crossed.excess, "wavefront": least + cuts.excess}
    certified = [grids.pieces, tables.pieces, segments.pieces, between.pieces(), sums.pieces(), cuts.pieces]
    sums_of_pieces = [crossed.pieces, *map(_whole, [*certified, next_to.pieces[:1]])]
    keep(*sums_of_pieces)
    details: dict[str, Any] = {"bounds": values}
    in_shares: tuple[tuple[Piece, Fraction], ...] = ()
    if goal is None or max(values.values()) < goal:
        beyond = None if goal is None else goal - least
        of_all = (*cuts.pieces, *segments.pieces, *grids.pieces, *tables.pieces, *crossed.known())
        of_all += (*between.pieces(), *sums.pieces(), *next_to.pieces)
        packed = part_packing.excess(
            cdag, budget, search=search, recompute=recompute, goal=beyond, known=of_all, keep=keep
        )
        values["parts"], in_shares = least + packed.excess, packed.pieces
        details["parts"] = [
            {"nodes": nodes, "bound": value, "share": share, "times": times}
            for (nodes, value, share), times in Counter(packed.parts).items()
        ]
    method = max(values, key=lambda name: values[name])
    details["certificate"] = (
        known.details["certificate"]
        if known is not None and method == known.method and "certificate" in known.details
        else _certificate(cdag, [*sums_of_pieces, in_shares], int(values[method]) - least, method)
    )
    return Bound("traffic", values[method], method, proofs[method], details)


def _whole(pieces: Iterable[Piece]) -> list[tuple[Piece, Fraction]]:
    return [(piece, Fraction(1)) for piece in pieces]


@dataclass(slots=True)
class _Argued:
    """What arguments about the whole graph prove; nothing those that are not tried."""

    between: moments.Found = field(default_factory=lambda: moments.Found(0, np.empty(0, dtype=np.int64)))
    sums: gathers.Found = field(default_factory=lambda: gathers.Found(0, np.empty(0, dtype=np.int64)))
    crossed: crossing.Found = field(default_factory=lambda: crossing.Found(0))
    cuts: wavefront.Found = field(default_factory=lambda: wavefront.Found(0, ()))


@dataclass(frozen=True, slots=True)
class _Arguments:
    """Arguments that are to be tried: those by paths that cross a moment, or all others, or both."""

    cdag: Cdag
    budget: int
    recompute: bool
    crossings: bool
    others: bool


def _tried(task: _Arguments, search: Search) -> _Argued:
    """Return what arguments prove; each has its share of what those before it have left."""
    cdag, budget, recompute, found = task.cdag, task.budget, task.recompute, _Argued()
    if task.others:
        part = search.part(tuning.MOMENTS_SHARE)
        found.between = moments.excess(cdag, budget, recompute=recompute, search=part)
    if task.others and not recompute:
        found.sums = gathers.excess(cdag, budget, search=search.part(tuning.MOMENTS_SHARE))
    if task.crossings:
        part = search.part(tuning.CROSSINGS_SHARE if task.others else 1.0)
        found.crossed = crossing.excess(cdag, budget, search=part)
    if task.others and not recompute:
        found.cuts = wavefront.excess(cdag, budget, search=search.part(tuning.WAVEFRONTS_SHARE))
    return found


def _tried_beside(cdag: Cdag, budget: int, recompute: bool, search: Search) -> _Argued:
    """Return what all arguments prove: on large graphs, crossings beside the others."""
    if recompute or cdag.n <= tuning.MOST_FOR_EXACT:
        return _tried(_Arguments(cdag, budget, recompute, not recompute, True), search)
    tasks = [_Arguments(cdag, budget, False, crossings, not crossings) for crossings in (False, True)]
    weights = [len(tasks) * (1 - tuning.CROSSINGS_SHARE), len(tasks) * tuning.CROSSINGS_SHARE]
    part = search.part(tuning.ARGUMENTS_SHARE)
    found = dict(run_tasks(_tried, tasks, search=part, weights=weights))
    argued = found.get(0, _Argued())
    argued.crossed = found.get(1, argued).crossed
    return argued


def exhausted(cdag: Cdag, first: Bound, value: int, *, proven_optimal: bool, recompute: bool) -> Bound:
    """Return the bound of a search that covered all schedules below ``value``, which is above the ``first`` bound."""
    least = cdag.algorithmic_bound()
    how = "may compute values again" if recompute else "compute no value twice"
    if proven_optimal:
        end = "was completed up to the optimum"
    else:
        end = "excluded all lower costs: what it left open cannot end below the bound"
    left_out = "positions that another reaches as cheaply"
    if not recompute:
        left_out += ", by itself or turned by an automorphism of the graph, and positions from which parts of the graph"
        left_out += " alone, whose cheapest ways on are tabulated and add up, take the cost to the bound"
    proof = f"A search over all schedules that {how} {end}. It left out only {left_out}."
    parts = first.details.get("certificate", {"parts": [{"kind": "algorithmic"}]})["parts"]
    shared = np.count_nonzero(cdag.children.degrees() + ~cdag.given > 1)
    if max(shared, np.count_nonzero(~cdag.given)) <= _MOST_SHOWN and not recompute:
        parts = [{"kind": "algorithmic"}, {"kind": "exhaustion", "nodes": None, "moved": value - least}]
    else:
        parts = [part for part in parts if part["kind"] not in ("formula", "exhaustive")]
        parts.append(uncertified("exhausted search"))
    return Bound("traffic", value, "exhausted search", proof, {"certificate": {"parts": parts}})
