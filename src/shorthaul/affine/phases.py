"""Phases: what must pass through fast memory between two events of which one is an ancestor of the other.

Let b be an ancestor of b', and let vertex-disjoint paths lead from vertices that exist before b (ancestors of b, inputs
that b or an ancestor of b reads) to vertices y that are read by a descendant w of b which is b' or an ancestor of it.
When b has just been computed, the last computed vertex of every path still has a reader that is computed in (b, b']:
the next vertex of the path, or w. It has to be in fast memory then, and beside b at most S - 1 are. So with n(b) paths

    loads in (b, b']  >=  n(b) - S + 1,

none of them the first load of an input. Over a sequence b_1, b_2, ... in which each event is an ancestor of the next
the intervals are disjoint in time, and the loads add up. Sequences of different lines add up if no vertex is on paths
of two of them (checked).

The events are instances of one statement in steps of its last loop, or the last vertices of its chains in steps of the
loop around these. Between two of them one more may be put, in the middle of a chain that lies between them: each half
may have to read almost everything once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import islpy as isl
import sympy

from shorthaul.affine.counting import Cardinality
from shorthaul.affine.dataflow import DataFlow
from shorthaul.affine.formulas import guarded
from shorthaul.affine.leading import S
from shorthaul.affine.lemmas import PHASES
from shorthaul.affine.limits import limited
from shorthaul.affine.notation import shown
from shorthaul.affine.parametrisation import alive_per_event, sum_over_events
from shorthaul.affine.polynomial import Polynomial
from shorthaul.affine.proof import SubBound
from shorthaul.affine.wavefront import EFFORT, Search, names_of, summed_text, ways_back

_SET = isl.dim_type.set
#: Compositions on the way back to ancestors and forward again, and on the way back along a path.
_STEPS, _TRACED = 4, 3
_MOST_PATHS = 40


@dataclass(frozen=True, slots=True)
class Phase:
    """One kind of interval b -> b' for every event e: the last vertices of the paths and all their vertices, by e.

    ``pieces`` count the paths, with floors replaced by what is below them.
    """

    pairs: isl.UnionMap
    ends: isl.UnionMap
    vertices: isl.UnionMap
    pieces: tuple[tuple[isl.Set, Polynomial], ...]
    sums: tuple[Cardinality, ...]


@dataclass(frozen=True, slots=True)
class Phases:
    """A sequence of events and the bound on the loads between them."""

    events: tuple[str, ...]
    kinds: tuple[Phase, ...]

    def at(self, sizes: dict[str, int]) -> float:
        """Return the bound at ``sizes``, which has S."""
        return float(sum(item.weight_at(sizes) for kind in self.kinds for item in kind.sums))


def phases(flow: DataFlow) -> list[Phases]:
    """Return the arguments of every statement whose instances follow one another, with and without middle events."""
    search = Search(flow)
    found: list[Phases] = []
    for statement in flow.program.statements:
        try:
            with limited(EFFORT):
                found.extend(_of_events(flow, search, statement.name))
        except isl.Error:
            continue
    return found


def _of_events(flow: DataFlow, search: Search, event: str) -> Iterator[Phases]:
    domain = isl.UnionSet.from_set(flow.program.by_name[event].domain)
    width = flow.program.by_name[event].domain.dim(_SET)
    closure = search.closure(event)
    names = [f"x{at}" for at in range(width)]
    after = [*names[:-1], f"{names[-1]} + 1"] if names else []
    if closure is not None and width > 1:  # the last vertices of the chains, if these run in the last loop
        domain = closure.range().subtract(closure.domain())
        after = [*names[:-2], f"{names[-2]} + 1", "y"]
    if not 1 <= len(after) <= 2:
        return
    step = _read(f"{{ {event}[{', '.join(names)}] -> {event}[{', '.join(after)}] }}")
    step = step.intersect_domain(domain).intersect_range(domain)
    if not (step.is_single_valued() and step.is_injective()):
        return
    exists = search.ancestors(event, steps=_STEPS)
    step = step.intersect(exists.reverse())
    if step.is_empty():
        return
    between = _between(flow, search, step)
    same = step.domain().identity()
    lines = width - 1 if closure is None or width == 1 else width - 2
    plain = _phase(search, same, step, exists, between)
    if plain is not None and _lines_apart([plain], event, width, lines):
        yield Phases((event,), (plain,))
    for name, middle in _middles(search, between):
        first = _phase(search, same, middle, exists, _between(flow, search, middle))
        later = middle.reverse().apply_range(step)
        known = middle.reverse().union(middle.reverse().apply_range(exists))
        known = known.union(search.ancestors(name, middle.range(), steps=1))
        second = _phase(search, middle, later, known, _between(flow, search, later))
        kinds = [kind for kind in (first, second) if kind is not None]
        if kinds and _lines_apart(kinds, event, width, lines):
            yield Phases((event, name), tuple(kinds))


def _read(text: str) -> isl.UnionMap:
    return isl.UnionMap.read_from_str(isl.DEFAULT_CONTEXT, text)


def _between(flow: DataFlow, search: Search, pairs: isl.UnionMap) -> isl.UnionMap:
    """Return b -> descendants of b that are b' or ancestors of b', as far as a few compositions see."""
    ends = pairs.range()
    inside = pairs
    for name in sorted(names_of(ends)):
        inside = inside.union(pairs.apply_range(search.ancestors(name, ends, steps=_STEPS)))
    inside = inside.coalesce()
    reached = front = pairs.domain().identity()
    for _ in range(2 * _STEPS):
        following = _read("{ }")
        for name in sorted(names_of(front.range()) & set(flow.program.by_name)):
            for item in flow.out_of(name):
                following = following.union(front.apply_range(isl.UnionMap.from_map(item.relation)))
        following = following.intersect(inside)
        for name in sorted(names_of(following.range())):
            closure = search.closure(name)
            if closure is not None:
                following = following.union(following.apply_range(closure).intersect(inside))
        front = following.subtract(reached).coalesce()
        if front.is_empty():
            break
        reached = reached.union(front).coalesce()
    return reached.subtract(pairs.domain().identity())


def _middles(search: Search, between: isl.UnionMap) -> Iterator[tuple[str, isl.UnionMap]]:
    """Yield statements of which one chain lies between b and b', with b -> the middle of the chain."""
    maps: list[isl.Map] = []
    between.foreach_map(maps.append)
    for item in sorted(maps, key=str):
        name = item.get_tuple_name(isl.dim_type.out)
        closure = search.closure(name)
        if closure is None:
            continue
        width = item.dim(isl.dim_type.out)
        low, high = ([f"{letter}{at}" for at in range(width)] for letter in "lh")
        halves = [f"floor(({a} + {b})/2)" for a, b in zip(low, high, strict=True)]
        half = isl.Map.read_from_str(
            isl.DEFAULT_CONTEXT, f"{{ [{', '.join(low + high)}] -> {name}[{', '.join(halves)}] }}"
        )
        first, last = item.lexmin(), item.lexmax()
        middle = isl.UnionMap.from_map(
            first.flat_range_product(last).reset_tuple_id(isl.dim_type.out).apply_range(half)
        )
        before = isl.UnionMap.from_map(first).apply_range(closure)
        after = isl.UnionMap.from_map(last).apply_range(closure.reverse())
        middle = middle.intersect(before).intersect(after).intersect(between).coalesce()
        if not middle.is_empty():
            yield name, middle


def _phase(
    search: Search, begins: isl.UnionMap, pairs: isl.UnionMap, exists: isl.UnionMap, between: isl.UnionMap
) -> Phase | None:
    """Return the paths of every interval, as many as a simple search finds; ``begins``: e -> b."""
    events = pairs.domain()
    exists = exists.intersect_domain(events)
    operands = _read("{ }")
    for name in sorted(names_of(between.range())):
        operands = operands.union(between.apply_range(search.reads(name)))
    operands = operands.subtract(events.identity()).coalesce()
    ends = vertices = operands.intersect(exists).coalesce()
    waiting = operands.subtract(ends).coalesce()
    for levels in itertools.islice(ways_back(search, sorted(names_of(waiting.range())), _TRACED), _MOST_PATHS):
        found = waiting.intersect(exists.apply_range(levels[-1].reverse()))
        taken = vertices.union(events.identity())
        for level in levels:
            found = found.subtract(found.apply_range(level).intersect(taken).apply_range(level.reverse()))
        if found.is_empty():
            continue
        ends, waiting = ends.union(found).coalesce(), waiting.subtract(found).coalesce()
        for level in levels:
            vertices = vertices.union(found.apply_range(level))
        vertices = vertices.union(found).coalesce()
    if ends.is_empty():
        return None
    ends, vertices = (begins.apply_range(item).coalesce() for item in (ends, vertices))
    pieces = tuple((where, count.without_floors()) for where, count in alive_per_event(search.flow, ends))
    event = names_of(begins.domain()).pop()
    sums = tuple(sum_over_events(search.flow, event, where, count) for where, count in pieces)
    return Phase(pairs, ends, vertices, pieces, sums)


def _lines_apart(kinds: Sequence[Phase], event: str, width: int, lines: int) -> bool:
    """True if no vertex is on paths of two lines of events, which the first ``lines`` coordinates tell apart."""
    if not lines:
        return True
    names = [f"x{at}" for at in range(width)]
    line = _read(f"{{ {event}[{', '.join(names)}] -> [{', '.join(names[:lines])}] }}")
    together = _read("{ }")
    for kind in kinds:
        together = together.union(kind.vertices.reverse().apply_range(line))
    return bool(together.is_single_valued())


def counted(item: Phases, flow: DataFlow) -> SubBound:
    """Return the argument with its numbers as formulas, valid for all values of the parameters."""
    program = flow.program
    facts: dict[str, sympy.Expr] = {}
    middle = f", and between two of them one in the middle of a chain of {item.events[1]}" if item.events[1:] else ""
    steps = [
        f"Events: vertices of {item.events[0]} in steps of a loop (of chains, the last ones){middle}.",
        "b -> b' are two events that follow one another; each b is an ancestor of its b' (by compositions of flows).",
        f"x0, x1, ... are the coordinates of the vertex of {item.events[0]} with which the interval is listed.",
    ]
    spill = None
    for number, kind in enumerate(item.kinds):
        steps.append(f"intervals {number}: b -> b' in {shown(kind.pairs, program)}")
        steps.append(f"  last vertices of the paths: {shown(kind.ends, program)}")
        steps.append(f"  all vertices of the paths: {shown(kind.vertices, program)}")
        steps.append(
            "  A last vertex is read by a descendant of b that is b' or an ancestor of b'. It, or the first vertex of "
            "its path, is an ancestor of b or an input that one reads. No vertex is on two paths or is b (checked)."
        )
        for at, ((where, count), part) in enumerate(zip(kind.pieces, kind.sums, strict=True)):
            facts[f"n of intervals {number}, piece {at}"] = count.sympy()
            steps.append(f"  piece {at}: {summed_text(where, count.sympy(), guarded(part))}")
        found = kind.vertices.range()
        spill = found if spill is None else spill.union(found)
    steps.append(
        "Lemma (phases): at least n - S + 1 loads of path vertices in each interval, and the intervals add up;"
    )
    steps.append("lines of events (by the outer loops) share no path vertex, so they add up as well.")
    assert spill is not None
    return SubBound(
        "phases",
        item.events,
        "; ".join(shown(kind.ends.domain(), program) for kind in item.kinds),
        sympy.Add(*(guarded(part) for kind in item.kinds for part in kind.sums)),
        spill.coalesce(),
        shown(spill, program),
        {**facts, "per interval": sympy.Symbol("n") - S + 1},
        tuple(steps),
        (PHASES,),
    )
