"""Parametric lower bounds on the loads of an affine program, with proofs (Olivry et al. 2020, and further)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations as combinations_of
from math import inf

import islpy as isl
import sympy

from shorthaul.affine.bounds import columns, cones, coupled, hourglass
from shorthaul.affine.bounds.at_sizes import (
    Argued,
    added_sums,
    chosen_at,
    is_best_exact,
    made_for,
    tuned_parts,
    worth_of,
)
from shorthaul.affine.bounds.choice import Family, Fixed, combinations
from shorthaul.affine.bounds.graphs import Graph, graphs
from shorthaul.affine.bounds.lifetime import (
    alternating_layers,
    crossing_scans,
    intervals,
    layers,
    moments,
    phases,
    rounds,
    single_events,
    wavefront,
)
from shorthaul.affine.bounds.lifetime.read_again import in_partitions, in_phases
from shorthaul.affine.bounds.lifetime.remaining import remaining
from shorthaul.affine.bounds.partition import stencil_levels
from shorthaul.affine.bounds.partition.candidates import Candidate, Instance, instances, with_ends
from shorthaul.affine.bounds.partition.merged_statements import groups_of_statements, partitions
from shorthaul.affine.bounds.partition.small_parameters import small_sets
from shorthaul.affine.bounds.reassociated import reassociated
from shorthaul.affine.bounds.sums import waiting_sums
from shorthaul.affine.effort import OutOfEffortError, charged_to, limited, until_out_of_effort
from shorthaul.affine.integer_sets.counting import Cardinality, LongFormulaError, card, count_formula, total
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.integer_sets.leading_term import S, leading_term, simplified
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial, number_at, symbol
from shorthaul.affine.integer_sets.short_form import Simple, simple_bound
from shorthaul.affine.model import Program
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import BOTH_BRANCHES, MODEL, ONE_BRANCH, REASSOCIATED_MODEL, Proof, SubBound
from shorthaul.affine.tuning import (
    FAMILY_SHARE,
    FITTED_SHARE,
    INPUT_OPERATIONS,
    INPUTS_EFFORT,
    KNOWN_SHARE,
    LEAST_GAIN,
    LEAST_LARGE,
    MADE_SHARE,
    MOST_CONTRIBUTIONS,
    MOST_COUNT_PIECES,
    MOST_IN_VAIN,
    MOST_PRINTED_PIECES,
    POOL_SHARE,
    PROMISE_KEPT,
    WAITING_EFFORT,
    WORTH_WRITING,
)
from shorthaul.core.errors import InputError
from shorthaul.core.search import LEAST_PART, Search

_SET = isl.dim_type.set

#: The formulas of a bound, as they are printed.
FORMULAS = ("formula", "leading", "inputs", "operations", "oi_limit")


@dataclass(frozen=True)
class AffineBound:
    """A lower bound on the words loaded by any schedule of ``program``.

    ``formula`` holds for all values of the parameters and of S >= 1; ``inputs`` counts the words read and
    never written before, ``operations`` the arithmetic operations: None if the search ended before they were counted.
    """

    program: Program
    formula: sympy.Expr
    inputs: sympy.Expr
    operations: sympy.Expr | None
    proof: Proof
    small: tuple[str, ...] = ()
    general: sympy.Expr | None = None  #: ``formula`` without arguments made for given sizes, if it has any
    argued: tuple[Argued, ...] = field(default=(), repr=False, compare=False)
    at: Mapping[str, int] | None = None  #: sizes, S among them, that the leading term and the short form suit

    @cached_property
    def leading(self) -> sympy.Expr:
        """The leading term for S small against all sizes, of about equal sizes or in the proportions of those given."""
        like = self.at and {name: self.at[name] for name in self._large}
        return simplified(leading_term(self._for_all_sizes, self._large, like))

    @cached_property
    def simple(self) -> Simple | None:
        """A short form of ``formula``, a little below it, for sizes above thresholds; None where there is none.

        It holds at the sizes given, if any does.
        """
        made = simple_bound(self._for_all_sizes)
        if self.at is None or made is None or made.holds_at(self.at):
            return made
        near = simple_bound(self._for_all_sizes, self.at)
        return near if near is not None and near.holds_at(self.at) else made

    @cached_property
    def oi_limit(self) -> sympy.Expr:
        """The limit of operations per loaded word: leading operations over the leading bound; oo if that is 0."""
        if self.leading == 0 or self.operations is None:
            return sympy.oo
        return simplified(leading_term(self.operations, self._large) / self.leading)

    @property
    def _for_all_sizes(self) -> sympy.Expr:
        return self.formula if self.general is None else self.general

    @property
    def _large(self) -> tuple[str, ...]:
        return tuple(name for name in self.program.parameters if name not in self.small)

    @property
    def method(self) -> str:
        """The arguments used, in one line."""
        return ", ".join(dict.fromkeys(["compulsory loads", *(part.method for part in self.proof.parts)]))

    def latex(self) -> dict[str, str]:
        """Return every formula and the proof in LaTeX."""
        names = [name for name in FORMULAS if getattr(self, name) is not None]
        return {**{name: sympy.latex(getattr(self, name)) for name in names}, "proof": self.proof.latex()}

    def value(self, sizes: Mapping[str, int]) -> int:
        """Return the bound in words at ``sizes`` (every parameter, and ``S``), rounded up to a whole load."""
        at = {symbol(name): sympy.Integer(value) for name, value in sizes.items()}
        return int(sympy.ceiling(self.formula.xreplace(at)))


def lower_bound(
    program: Program,
    options: BoundOptions | None = None,
    *,
    flow: DataFlow | None = None,
    search: Search | None = None,
    share: float = 1.0,
    sizes: Mapping[str, int] | None = None,
    keep: Callable[[AffineBound], None] = lambda _: None,
) -> AffineBound:
    """Return a lower bound on the loads of ``program`` that holds for all parameter values, with its proof.

    Raises :class:`InputError` if a parameter is called S or x0, x1, .... Arguments take up to ``share`` of what
    ``search`` has left; with ``sizes`` (S among them) they are also made for these. Where the search ends early the
    bound is that of the arguments found so far: of the inputs alone, or 0,
    if there are none. ``keep`` takes what is proven on the way.

    Profile ``iolb`` is the published method, corrected; ``best`` uses all proven arguments. With ``reassociate`` the
    bound holds for any order and tree of sums, products, max and min. Parameters in ``small``
    count as constants in the leading term.

    >>> from shorthaul.affine.workloads.cases import kernel
    >>> lower_bound(kernel("gemm")).leading
    2*NI*NJ*NK/sqrt(S)
    """
    options = options or BoundOptions()
    search = search or Search()
    _names_are_free(program)
    small = tuple(filter(None, (name.strip() for name in (options.small or "").split(","))))
    with charged_to(search):
        try:
            flow = flow_dependences(program) if flow is None else flow
        except OutOfEffortError:
            none = sympy.Integer(0)
            return AffineBound(program, none, none, None, Proof(none, (), (), none), small)
        with charged_to(search.beside(INPUTS_EFFORT)):  # a bound whose effort others have spent has these at least
            inputs = sympy.Add(*until_out_of_effort(_inputs(flow, name) for name in sorted(flow.inputs)))
        operations = _operations(program)
    search = search.part(share)
    finding = search if sizes is None else search.part(1 - FITTED_SHARE)
    with charged_to(finding):
        own = reassociated(flow) if options.reassociate else [Graph(flow)]
        known = until_out_of_effort(more for item in own for more in graphs(item)) if options.profile == "best" else own
    parts: list[SubBound] = []
    sums: list[tuple[int, ...]] = []
    argued: list[Argued] = []
    for at, graph in enumerate(known):
        before = _added(parts, sums)
        part = finding.part(_share(known[at:]))
        made, added = _argued(graph, options, small, sizes, part, before, len(parts))
        sums += [tuple(len(parts) + number for number in item) for item in added]
        argued.append(made)
        parts += [made.in_program(item) for item in made.parts]
    sums = [item for item in sums if item] or [()]
    formula = inputs + _largest(_added(parts, sums))
    listed = tuple(f"{item.name}: {item.text};  {set_text(item.domain, program)}" for item in program.statements)
    listed += tuple(
        f"{item.reference.tag} reads {item.reference.text}: {set_text(item.relation.reverse(), program)}"
        for item in flow.flows
    )
    read = tuple(f"{name}: {set_text(flow.inputs[name], program)}" for name in sorted(flow.inputs))
    model = REASSOCIATED_MODEL if options.reassociate else MODEL
    model += ONE_BRANCH if options.one_branch else BOTH_BRANCHES if program.has_choices() else ""
    proof = Proof(inputs, tuple(parts), tuple(sums), formula, listed, read, model)
    general = AffineBound(program, formula, inputs, operations, proof, small, argued=tuple(argued), at=sizes)
    keep(general)
    return general if sizes is None or options.profile != "best" else fitted(general, sizes, search)


def fitted(found: AffineBound, sizes: Mapping[str, int], search: Search) -> AffineBound:
    """Return the bound with the arguments that can be made for ``sizes`` (S among them) beside those for all sizes."""
    sums = found.proof.sums
    with charged_to(search):
        parts, tuned, instead = tuned_parts(found.proof.parts, sums, sizes)
        known = partial(chosen_at, instead=instead, parts=parts, sums=[*sums, *tuned], sizes=sizes)
        is_clear = any(until_out_of_effort(is_best_exact(item, sizes) for item in found.argued))
    choosing, before = search if is_clear else search.part(KNOWN_SHARE), search.spent()
    with charged_to(choosing):
        others = [known(argued) for argued in found.argued]
    again = inf if choosing.expired() else search.spent() - before  # a choice with more takes about as much
    made = []
    for at in range(len(found.argued)):
        share = min(max(MADE_SHARE[0], 1 - again / max(search.left(), LEAST_PART)), MADE_SHARE[1])
        share *= _share([item.graph for item in found.argued[at:]])
        with charged_to(search.part(share)):
            made.append(until_out_of_effort(made_for(found.argued[at], sizes)))
    with charged_to(search):
        others = [
            max(one, known(argued, made=items), key=worth_of)
            for one, argued, items in zip(others, found.argued, made, strict=True)
        ]
    for argued, chosen in zip(found.argued, others, strict=True):
        tuned += added_sums(argued, chosen, parts, [*sums, *tuned], sizes)
    if not tuned:
        return found
    formula = found.inputs + _largest(_added(parts, [*sums, *tuned]))
    proof = replace(found.proof, parts=tuple(parts), sums=(*sums, *tuned), formula=formula)
    return replace(found, formula=formula, proof=proof, general=found.formula)


def _share(left: Sequence[Graph]) -> float:
    """Return the share of the effort for the first of the graphs that are left: more for later ones, with less in them.

    What copies of values hide from the first ones is told of the last ones.
    """
    return 1 / (len(left) + 1) if len(left) > 1 else 1.0


def _added(parts: Sequence[SubBound], sums: Sequence[tuple[int, ...]]) -> list[sympy.Expr]:
    """Return the sums of the parts where they are positive."""
    return [sympy.Add(*(sympy.Max(0, parts[at].value, evaluate=False) for at in item)) for item in sums]


#: Arguments on what is alive at a time, in the order of the proof; and in the order in which they are tried.
_LAYERS = Family(layers.layers, layers.sub_bound)
_ALTERNATING = Family(alternating_layers.alternating_layers, alternating_layers.sub_bound)
_WAVEFRONTS = Family(wavefront.wavefronts, wavefront.sub_bound)
_INTERVALS = Family(intervals.intervals, wavefront.sub_bound)
_CROSSINGS = Family(crossing_scans.crossings, crossing_scans.sub_bound)
_PHASES = Family(phases.phases, phases.sub_bound, rest=remaining)
_SINGLE = Family(single_events.phases_of_single_events, phases.sub_bound, rest=remaining)
_ROUNDS = Family(rounds.rounds, phases.sub_bound, rest=remaining)
_HOURGLASSES = Family(hourglass.hourglasses, hourglass.sub_bound, has_value=False)
_CONES = Family(cones.cones, cones.sub_bound, has_value=False)
_LISTED = (_LAYERS, _ALTERNATING, _WAVEFRONTS, _INTERVALS, _CROSSINGS, _PHASES, _SINGLE, _ROUNDS)
_TRIED = (_CROSSINGS, _WAVEFRONTS, _LAYERS, _ALTERNATING, _INTERVALS, _PHASES, _SINGLE, _ROUNDS)
_PUBLISHED = (_LAYERS, _WAVEFRONTS)
_BALANCED = partial(stencil_levels.sub_bound, balanced=True)
_COUPLED = Family(coupled.coupled, _BALANCED, has_value=False)
_WAITING_SUMS = Family(waiting_sums.waiting_sums, waiting_sums.sub_bound, has_value=False)


def _argued(
    graph: Graph,
    options: BoundOptions,
    small: tuple[str, ...],
    given: Mapping[str, int] | None,
    search: Search,
    before: Sequence[sympy.Expr],
    first: int,
) -> tuple[Argued, list[tuple[int, ...]]]:
    """Return the arguments on one graph, and which of them add up.

    Of a graph that stands for the program's, these are sums that somewhere are larger than those of ``before``.
    """
    flow = replace(graph.flow)  # nothing is known of it from other searches
    graph, finding = replace(graph, flow=flow), search.part(POOL_SHARE)
    with charged_to(finding):
        sets = () if small else until_out_of_effort(small_sets(flow))
    where = instances(small, sets)
    pool = _waiting(flow, where, finding) if graph.only_waits else _pool(flow, options, where, given, finding)
    with charged_to(search):
        parts, sums = combinations(pool, flow, where, symmetric=options.profile == "best")
        if not graph.is_whole:
            at = [item.sizes(graph.flow.program.parameters) for item in where]
            sums = [item for item in sums if _is_larger(graph.times * _added(parts, [item])[0], before, at)]
            used = sorted({number for item in sums for number in item})
            parts, sums = [parts[number] for number in used], [tuple(map(used.index, item)) for item in sums]
    return Argued(graph, tuple(pool), tuple(parts), first), sums


def _is_larger(value: sympy.Expr, others: Sequence[sympy.Expr], where: Sequence[Mapping[str, int]]) -> bool:
    """True if a formula has a value that is larger than those of all others at some sizes."""
    for sizes in where:
        if number_at(value, sizes) > LEAST_GAIN * max((number_at(item, sizes) for item in others), default=0.0):
            return True
    return False


def _pool(
    flow: DataFlow,
    options: BoundOptions,
    where: tuple[Instance, ...],
    given: Mapping[str, int] | None,
    search: Search,
) -> list[Candidate | Fixed]:
    """Return every argument that the profile allows and the search finds in time; quick families are tried first.

    Each takes up to FAMILY_SHARE of what is left, the last one all. Where phases between single vertices promise more
    than partitions they come before all, with a share of their promise.
    """
    symmetric = options.profile == "best"
    count = partial(stencil_levels.sub_bound, balanced=symmetric)

    def found(family: Family, share: float = FAMILY_SHARE) -> list[Fixed]:
        with charged_to(search.part(share)):
            return until_out_of_effort(family.arguments(flow, where))

    sizes = given or where[0].sizes(flow.program.parameters)
    with charged_to(search):
        promise = until_out_of_effort(item(flow, sizes) for item in (in_phases, in_partitions)) if symmetric else []
    early: dict[Family, list[Fixed]] = {}
    if promise and promise[0] > promise[-1]:
        early = _phases_first(flow, where, given, promise[0], search.part(promise[0] / sum(promise)))
    with charged_to(search.beside(WAITING_EFFORT)):
        sums = until_out_of_effort(_WAITING_SUMS.arguments(flow, where)) if symmetric else []
    fields = found(_COUPLED) if symmetric else []
    together = frozenset(name for item in fields for name in item.item.statements)
    levels = found(Family(partial(columns.stencils, without=together), count, has_value=False))
    doubled = found(_CONES) if symmetric else []
    if symmetric and rounds.are_in_steps(flow):
        with charged_to(search.beside(WAITING_EFFORT)):
            early |= {_ROUNDS: until_out_of_effort(_ROUNDS.arguments(flow, where))}
    covered = frozenset(name for item in levels if item.item.covers for name in item.item.statements)
    with charged_to(search.part(FAMILY_SHARE)):
        pool = partitions(flow, where, sizes, symmetric=symmetric, without=covered)
        known = {id(item): item for item in pool}
        pool = list(with_ends(pool, flow)) if symmetric else pool
    with charged_to(search.part(FAMILY_SHARE)):
        until_out_of_effort(item.count() for item in _best_of_statements(pool, sizes))
    necks = found(_HOURGLASSES) if symmetric else []
    tried = [family for family in _TRIED if (symmetric or family in _PUBLISHED) and family not in early]
    lifetime = early | {family: found(family, 1.0 if family is tried[-1] else FAMILY_SHARE) for family in tried}
    listed = [item for family in _LISTED for item in lifetime.get(family, ())]
    if symmetric and _PHASES not in early:  # groups of statements that were not reached, with what the others have left
        with charged_to(search):
            groups = groups_of_statements(flow, where, sizes, symmetric=True, without=covered)
            late = list(with_ends((item for item in groups if id(item) not in known), flow))
            until_out_of_effort(item.count() for item in _best_of_statements(late, sizes))
            pool += late
    return [*pool, *listed, *levels, *fields, *necks, *doubled, *sums]


def _phases_first(
    flow: DataFlow, where: tuple[Instance, ...], given: Mapping[str, int] | None, promise: float, search: Search
) -> dict[Family, list[Fixed]]:
    """Return phases of a program of which these promise most, of every kind until one keeps what may be expected of it.

    Their formulas are made at once. Those between moments at given sizes are remembered.
    """
    sizes = given or where[0].sizes(flow.program.parameters)
    best, found = 0.0, dict[Family, list[Fixed]]()
    for family, share, enough in ((_SINGLE, 1.0, PROMISE_KEPT[0]), (_PHASES, FAMILY_SHARE, PROMISE_KEPT[1])):
        kept, in_vain = found.setdefault(family, []), 0
        with charged_to(search.part(share)), suppress(OutOfEffortError):
            for item in family.arguments(flow, where) if best < PROMISE_KEPT[1] * promise else ():
                kept.append(item)
                in_vain += 1
                if item.most_at(sizes) > LEAST_GAIN * best:
                    best, in_vain = item.most_at(sizes), 0
                    item.count()
                elif best >= enough * promise and in_vain == MOST_IN_VAIN:
                    break
    if given is not None and best < PROMISE_KEPT[1] * promise:
        with charged_to(search):
            moments.moments(flow, given)
    return found


def _best_of_statements(pool: Sequence[Candidate], sizes: Mapping[str, int]) -> list[Candidate]:
    """Return the argument of every statement that is worth most at the sizes, those of hardly any worth left out.

    Their formulas are made at once: what is found later may leave no effort for them.
    """
    best: dict[str, Candidate] = {}
    for item in sorted(pool, key=lambda item: -item.most_at(sizes)):
        best.setdefault(item.argument.parts[0].statement, item)
    found = list(best.values())
    return [item for item in found if item.most_at(sizes) > WORTH_WRITING * found[0].most_at(sizes)]


def _waiting(flow: DataFlow, where: tuple[Instance, ...], search: Search) -> list[Candidate | Fixed]:
    """Return the arguments on what waits at one event."""
    with charged_to(search):
        return list(until_out_of_effort(_WAVEFRONTS.arguments(flow, where)))


def _largest(sums: Sequence[sympy.Expr]) -> sympy.Expr:
    """Return the largest of sums of parts that count where they are positive."""
    if len(sums) == 1:
        return sums[0]
    if all(isinstance(item, sympy.Max) for item in sums):  # one part each: Max(0, a) and Max(0, b) are Max(0, a, b)
        return sympy.Max(*dict.fromkeys(value for item in sums for value in item.args), evaluate=False)
    return sympy.Max(*sums, evaluate=False)


def _names_are_free(program: Program) -> None:
    """Raise :class:`InputError` for parameters that bear a name of the proof: S, and x0, x1, ... for coordinates."""
    for name in program.parameters:
        if name == "S" or re.fullmatch(r"x\d+", name):
            raise InputError(
                "is a name that bounds use themselves: S the fast memory, x0, x1, ... coordinates",
                place="parameter",
                value=name,
                cure="rename the parameter in the file",
            )


def _inputs(flow: DataFlow, array: str) -> sympy.Expr:
    """Return a formula for the inputs in ``array``: all, or where that is too long those of some iterations.

    These are the ones where some loops are in their first iteration, as few as make it short.
    """
    context = flow.program.context
    every = _short_count(flow.inputs[array], context, MOST_PRINTED_PIECES)
    if every is not None:
        return every
    at = dict.fromkeys(flow.program.parameters, LEAST_LARGE)
    reads = [item.relation.reverse() for item in flow.flows if item.source is None and item.reference.array == array]
    for fixed in range(1, 1 + max(item.dim(isl.dim_type.in_) for item in reads)):
        choices = (
            (item, loops) for item in reads for loops in combinations_of(range(item.dim(isl.dim_type.in_)), fixed)
        )
        counts = [
            _short_count(_first(relation, loops).range(), context, MOST_COUNT_PIECES) for relation, loops in choices
        ]
        if found := [item for item in counts if item is not None]:
            return max(found, key=lambda item: number_at(item, at))
    return sympy.Integer(0)


def _short_count(points: isl.Set, context: isl.Set, pieces: int) -> sympy.Expr | None:
    """Return a formula for the number of points, None where it or the set has more pieces or isl takes too long."""
    if points.n_basic_set() > pieces:
        return None
    try:
        with limited(INPUT_OPERATIONS):
            count = card(points, context, most=MOST_CONTRIBUTIONS).positive()
            return count.expression() if len(count.pieces) <= pieces else None
    except OutOfEffortError:
        raise
    except isl.Error:
        return None


def _first(relation: isl.Map, loops: Sequence[int]) -> isl.Map:
    """Return the relation where some dimensions of its domain have the least value that they have anywhere."""
    kept = relation.domain()
    for at in loops:
        line = kept.project_out(_SET, at + 1, kept.dim(_SET) - at - 1).project_out(_SET, 0, at).lexmin()
        rest = isl.Map.from_domain_and_range(kept, line).equate(isl.dim_type.in_, at, isl.dim_type.out, 0)
        kept = rest.domain()
    return relation.intersect_domain(kept)


def _operations(program: Program) -> sympy.Expr | None:
    """Return the number of arithmetic operations, None if the search ends before they are counted."""
    terms: list[sympy.Expr] = []
    try:
        for statement in program.statements:
            if statement.operations:
                count: Cardinality = total(statement.domain, Polynomial.number(statement.operations), program.context)
                terms.append(count_formula(count))
    except (OutOfEffortError, LongFormulaError):
        return None
    return sympy.Add(*terms)


__all__ = ["AffineBound", "S", "lower_bound"]
