"""Paths of the data-flow graph that end in one statement: broadcasts and chains (Olivry et al. 2020, Sec. 5.2).

Going backwards from an instance p of the statement, every path gives one vertex per level (the value read, the value
that one read, ...), each an affine function of p. A path ends

* as a *broadcast* at the first vertex whose function has a kernel: many instances share it;
* as a *chain* when it returns to the statement itself at p - delta, or, in a sum over several loops, at the instance
  before p that adds to the same element.

Functions that are affine only by pieces are split, so that one path is affine on the whole of its domain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import islpy as isl

from shorthaul.affine.bounds.partition.windows import Window
from shorthaul.affine.effort import step
from shorthaul.affine.integer_sets.dependences import DataFlow, Flow
from shorthaul.affine.integer_sets.subspaces import Subspace, kernel, span, unit
from shorthaul.affine.tuning import CHEAP_STEP

_IN, _PARAM, _DIV, _SET = isl.dim_type.in_, isl.dim_type.param, isl.dim_type.div, isl.dim_type.set
#: The most paths into a statement, the steps of one up to which all are found, and the most steps of one.
_MOST, _LONG, _LONGEST = 64, 4, 12


@dataclass(frozen=True, slots=True)
class Step:
    """One affine piece of one flow, turned round: ``function`` maps consuming instances to what they read."""

    source: str | None
    sink: str
    reference: str
    function: isl.Map
    matrix: tuple[tuple[int, ...], ...]
    shift: tuple[int, ...] | None

    @property
    def is_input(self) -> bool:
        """True if the value read is an input."""
        return self.source is None


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """A path that ends in ``statement``.

    ``levels`` map the instances of ``domain`` to the vertices of the path, nearest first; the last one is the source.
    ``kernel`` is the kernel of the projection: of the source's function for a broadcast, the line along ``delta`` for
    a chain, the loops of the sum where it is ``summed``. ``references`` are the tags of the reads along the path.
    With a ``window`` its classes are those of a finer projection.
    """

    statement: str
    domain: isl.Set
    levels: tuple[isl.UnionMap, ...]
    kernel: Subspace
    references: tuple[str, ...]
    source: str
    is_input: bool
    delta: tuple[int, ...] | None = None
    summed: bool = False
    window: Window | None = None

    @property
    def classes(self) -> Subspace:
        """The kernel of the projection whose classes are counted."""
        return self.kernel if self.window is None else self.window.finer

    @property
    def is_chain(self) -> bool:
        """True for a chain."""
        return self.summed or self.delta is not None

    def kind(self) -> str:
        """Return what kind of path it is, in words."""
        if self.summed:
            return "chain of a sum over several loops"
        return f"chain along {self.delta}" if self.is_chain else f"broadcast from {self.source}"

    def text(self) -> str:
        """Return the path as a reader sees it."""
        return f"{self.kind()} by {' <- '.join(self.references)}"


def paths_into(flow: DataFlow, statement: str) -> tuple[Path, ...]:
    """Return the broadcast and chain paths that end in ``statement``, shortest first, at most ``_MOST`` of them."""
    key = paths_into, statement
    if key not in flow.known:
        flow.known[key] = _paths_into(flow, statement)
    found: tuple[Path, ...] = flow.known[key]
    return found


def _paths_into(flow: DataFlow, statement: str) -> tuple[Path, ...]:
    domain = flow.program.by_name[statement].domain
    identity = isl.Map.identity(domain.get_space().map_from_set()).intersect_domain(domain)
    steps: dict[str, tuple[Step, ...]] = {}
    found: list[Path] = list(_sums(flow, statement))
    front: list[tuple[str, isl.Map, tuple[isl.Map, ...], tuple[str, ...], tuple[str, ...]]]
    front = [(statement, identity, (), (), ())]
    reached: set[str] = set()
    for length in range(1, _LONGEST + 1):
        following = []
        for current, function, levels, references, visited in front:
            if current not in steps:
                steps[current] = affine_steps(flow, current)
            for last in steps[current]:
                step(CHEAP_STEP)
                composed = function.apply_range(last.function).coalesce()
                if composed.is_empty():
                    continue
                end = str(composed)
                if length > _LONG and end in reached:
                    continue
                reached.add(end)
                path = _ended(flow, statement, last, composed, levels, references)
                if path is not None:
                    found.append(path)
                elif last.source is not None and last.source != statement and last.source not in visited:
                    matrix = affine_piece(composed)
                    if matrix is not None and not kernel(matrix[0], domain.dim(_SET)):
                        following.append(
                            (
                                last.source,
                                composed,
                                (*levels, composed),
                                (*references, last.reference),
                                (*visited, last.source),
                            )
                        )
            if len(found) >= _MOST:
                return tuple(found[:_MOST])
        front = following[: 4 * _MOST]
    return tuple(found)


def _sums(flow: DataFlow, name: str) -> Iterator[Path]:
    """Yield the chains of sums over several loops: instances that differ by steps of the sum are one line.

    The element may be a scalar: what the steps span tells which instances add to one and the same sum.
    """
    write = flow.program.by_name[name].write.relation
    for item in flow.into(name):
        if item.source == name and item.reference.relation.is_equal(write):
            space = _steps_of(item.relation)
            if len(space) > 1:
                whole = with_starts(flow, name, item.reference.tag)
                domain = _domain_of(whole, name)
                yield Path(name, domain, (whole,), space, (item.reference.tag,), name, False, summed=True)


def _steps_of(relation: isl.Map) -> Subspace:
    """Return a space that holds the differences of all instances in relation, whatever the parameters."""
    deltas = relation.deltas()
    deltas = deltas.project_out(_PARAM, 0, deltas.dim(_PARAM))
    zero = isl.Set.universe(deltas.get_space())
    for at in range(deltas.dim(_SET)):
        zero = zero.fix_val(_SET, at, 0)
    rows = [
        [item.get_coefficient_val(_SET, at).to_python() for at in range(deltas.dim(_SET))]
        for item in deltas.union(zero).affine_hull().get_constraints()
        if item.is_equality() and not item.get_aff().dim(_DIV)
    ]
    return kernel(rows, deltas.dim(_SET))


def _ended(
    flow: DataFlow,
    statement: str,
    last: Step,
    composed: isl.Map,
    levels: tuple[isl.Map, ...],
    references: tuple[str, ...],
) -> Path | None:
    affine = affine_piece(composed)
    if affine is None:
        return None
    matrix, shift = affine
    dimensions = composed.dim(_IN)
    space = kernel(matrix, dimensions) if matrix else span(unit(dimensions))
    maps = tuple(isl.UnionMap.from_map(level) for level in (*levels, composed))
    tags = (*references, last.reference)
    source = composed.get_tuple_name(isl.dim_type.out)
    if last.source == statement and matrix == unit(dimensions):
        if shift is None or not any(shift):
            return None
        delta = tuple(-value for value in shift)
        domain = composed.domain()
        if len(maps) == 1:
            whole = with_starts(flow, statement, last.reference)
            if _one_line_per_vertex(whole, statement, delta):
                maps, domain = (whole,), _domain_of(whole, statement)
        return Path(statement, domain, maps, span([delta]), tags, source, False, delta)
    if space:
        return Path(statement, composed.domain(), maps, space, tags, source, last.is_input)
    return None


def with_starts(flow: DataFlow, statement: str, reference: str) -> isl.UnionMap:
    """Return what every instance reads by ``reference``, whichever statement or input it comes from."""
    relation = None
    for item in flow.into(statement):
        if item.reference.tag == reference:
            turned = isl.UnionMap.from_map(item.relation.reverse())
            relation = turned if relation is None else relation.union(turned)
    assert relation is not None
    return relation


def _one_line_per_vertex(relation: isl.UnionMap, statement: str, delta: tuple[int, ...]) -> bool:
    """True if every vertex read is read by instances of one line along ``delta`` only."""
    names = [f"x{at}" for at in range(len(delta))]
    rows = kernel([delta], len(delta))
    values = [" + ".join(f"{factor}*{name}" for factor, name in zip(row, names, strict=True)) for row in rows]
    text = f"{{ {statement}[{', '.join(names)}] -> [{', '.join(values)}] }}"
    lines = isl.UnionMap(text)
    return bool(relation.reverse().apply_range(lines).is_single_valued())


def _domain_of(relation: isl.UnionMap, statement: str) -> isl.Set:
    sets: list[isl.Set] = []
    relation.domain().foreach_set(sets.append)
    return next(item for item in sets if item.get_tuple_name() == statement).coalesce()


def affine_steps(flow: DataFlow, sink: str) -> tuple[Step, ...]:
    """Return every flow into ``sink`` as functions that are affine on the whole of their domain."""
    result: list[Step] = []
    for item in flow.into(sink):
        result.extend(_pieces(item))
    return tuple(result)


def _pieces(flow: Flow) -> list[Step]:
    turned = flow.relation.reverse()
    if not turned.is_single_valued():
        return []
    pieces: list[tuple[isl.Set, isl.MultiAff]] = []
    function = isl.PwMultiAff.from_map(turned).coalesce()
    function.foreach_piece(lambda where, value: pieces.append((where, value)))
    result = []
    for where, value in pieces:
        relation = isl.Map.from_multi_aff(value).intersect_domain(where)
        for key in (isl.dim_type.out, _IN):
            relation = relation.set_tuple_name(key, turned.get_tuple_name(key))
        affine = affine_of(value)
        if affine is not None:
            result.append(Step(flow.source, flow.sink, flow.reference.tag, relation, *affine))
    return result


def affine_piece(relation: isl.Map) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...] | None] | None:
    """Return matrix and shift of a function that is affine on its domain; None if it is affine only by pieces."""
    pieces: list[tuple[isl.Set, isl.MultiAff]] = []
    isl.PwMultiAff.from_map(relation).coalesce().foreach_piece(lambda where, value: pieces.append((where, value)))
    found = {affine_of(value) for _, value in pieces}
    return found.pop() if len(found) == 1 else None


def affine_of(value: isl.MultiAff) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...] | None] | None:
    """Return the integer matrix and the constant shift (None if it depends on parameters); None with divisions."""
    rows: list[tuple[int, ...]] = []
    shift: list[int] = []
    parametric = False
    for at in range(value.dim(isl.dim_type.out)):
        affine = value.get_aff(at)
        if affine.dim(_DIV) or affine.get_denominator_val().to_python() != 1:
            return None
        rows.append(tuple(affine.get_coefficient_val(_IN, k).to_python() for k in range(affine.dim(_IN))))
        shift.append(affine.get_constant_val().to_python())
        parametric |= any(affine.get_coefficient_val(_PARAM, k).to_python() for k in range(affine.dim(_PARAM)))
    return tuple(rows), None if parametric else tuple(shift)
