"""Parametric lower bounds on the loads of an affine program, with proofs (Olivry et al. 2020, and further)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import sympy

from shorthaul.affine.bounds.choice import Fixed, combinations
from shorthaul.affine.bounds.lifetime import crossing_scans, intervals, layers, phases, successive_chains, wavefront
from shorthaul.affine.bounds.partition import convex_body, stencil_levels
from shorthaul.affine.bounds.partition.candidates import Candidate, Instance, candidates, instances
from shorthaul.affine.bounds.partition.merged_statements import merged
from shorthaul.affine.bounds.partition.small_parameters import small_sets
from shorthaul.affine.dependences import DataFlow, flow_dependences
from shorthaul.affine.integer_sets.counting import Cardinality, card, total
from shorthaul.affine.integer_sets.formulas import guarded
from shorthaul.affine.integer_sets.leading_term import S, leading_term
from shorthaul.affine.integer_sets.quasi_polynomial import Polynomial, symbol
from shorthaul.affine.integer_sets.short_form import Simple, simple_bound
from shorthaul.affine.model import Program
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.proofs.notation import shown
from shorthaul.affine.proofs.proof import Proof
from shorthaul.core.errors import InputError


@dataclass(frozen=True)
class AffineBound:
    """A lower bound on the words loaded by any schedule of ``program``.

    ``formula`` holds for all values of the parameters and of S >= 1; ``inputs`` counts the words read and
    never written before, ``operations`` the arithmetic operations.
    """

    program: Program
    formula: sympy.Expr
    inputs: sympy.Expr
    operations: sympy.Expr
    proof: Proof
    small: tuple[str, ...] = ()

    @cached_property
    def leading(self) -> sympy.Expr:
        """The leading term for S small against all sizes."""
        return sympy.simplify(leading_term(self.formula, self._large))

    @cached_property
    def simple(self) -> Simple | None:
        """A short form of ``formula`` for sizes above thresholds, a little below it; None where there is none."""
        return simple_bound(self.formula)

    @cached_property
    def oi_limit(self) -> sympy.Expr:
        """The limit of operations per loaded word: leading operations over the leading bound; oo if that is 0."""
        if self.leading == 0:
            return sympy.oo
        return sympy.simplify(leading_term(self.operations, self._large) / self.leading)

    @property
    def _large(self) -> tuple[str, ...]:
        return tuple(name for name in self.program.parameters if name not in self.small)

    @property
    def method(self) -> str:
        """The arguments used, in one line."""
        return ", ".join(dict.fromkeys(["compulsory loads", *(part.method for part in self.proof.parts)]))

    def latex(self) -> dict[str, str]:
        """Return every formula and the proof in LaTeX."""
        names = ("formula", "leading", "inputs", "operations", "oi_limit")
        return {**{name: sympy.latex(getattr(self, name)) for name in names}, "proof": self.proof.latex()}

    def value(self, sizes: Mapping[str, int]) -> int:
        """Return the bound in words at ``sizes`` (every parameter, and ``S``), rounded up to a whole load."""
        at = {symbol(name): sympy.Integer(value) for name, value in sizes.items()}
        return int(sympy.ceiling(self.formula.xreplace(at)))


def lower_bound(program: Program, options: BoundOptions | None = None, *, flow: DataFlow | None = None) -> AffineBound:
    """Return a lower bound on the loads of ``program`` that holds for all parameter values, with its proof.

    Raises :class:`InputError` if a parameter is called S or x0, x1, ....

    Profile ``iolb`` is the published method, corrected; ``best`` uses all proven arguments. Parameters in ``small``
    count as constants in the leading term.

    >>> from shorthaul.affine.workloads.cases import kernel
    >>> lower_bound(kernel("gemm")).leading
    2*NI*NJ*NK/sqrt(S)
    """
    options = options or BoundOptions()
    _names_are_free(program)
    flow = flow_dependences(program) if flow is None else flow
    inputs = sympy.Add(*(guarded(card(flow.inputs[name], program.context)) for name in sorted(flow.inputs)))
    small = tuple(filter(None, (name.strip() for name in (options.small or "").split(","))))
    where = instances(small, () if small else small_sets(flow))
    parts, sums = combinations(_pool(flow, options, where), flow, where, symmetric=options.profile == "best")
    extra = [sympy.Add(*(sympy.Max(0, parts[at].value, evaluate=False) for at in item)) for item in sums]
    formula = inputs + _largest(extra)
    listed = tuple(f"{item.name}: {item.text};  {shown(item.domain, program)}" for item in program.statements)
    listed += tuple(
        f"{item.reference.tag} reads {item.reference.text}: {shown(item.relation.reverse(), program)}"
        for item in flow.flows
    )
    read = tuple(f"{name}: {shown(flow.inputs[name], program)}" for name in sorted(flow.inputs))
    proof = Proof(inputs, tuple(parts), tuple(sums), formula, listed, read)
    return AffineBound(program, formula, inputs, _operations(program), proof, small)


def _pool(flow: DataFlow, options: BoundOptions, where: tuple[Instance, ...]) -> list[Candidate | Fixed]:
    """Return every argument that the profile allows."""
    symmetric = options.profile == "best"
    at = [item.sizes(flow.program.parameters) for item in where]
    levels = stencil_levels.stencils(flow)
    covered = frozenset(name for item in levels if item.covers for name in item.statements)
    alone = candidates(flow, where, symmetric=symmetric, without=covered)
    pool: list[Candidate | Fixed] = [*alone, *merged(flow, alone, where)]
    fronts = wavefront.wavefronts(flow) + (intervals.intervals(flow) if symmetric else [])
    steps = [(item, [item.at(sizes) for sizes in at]) for item in layers.layers(flow)]
    pool.extend(Fixed(layers.counted(item, flow), worths) for item, worths in steps if max(worths) > 0)
    crossed = crossing_scans.crossings(flow) if symmetric else []
    between = [*phases.phases(flow), *successive_chains.successive(flow)] if symmetric else []
    single = [(item, [item.at(sizes) for sizes in at]) for item in fronts]
    pool.extend(Fixed(wavefront.counted(item, flow), worths) for item, worths in single if max(worths) > 0)
    joined = [(item, [item.at(sizes) for sizes in at]) for item in crossed]
    pool.extend(Fixed(crossing_scans.counted(item, flow), worths) for item, worths in joined if max(worths) > 0)
    ordered = [(item, [item.at(sizes) for sizes in at]) for item in between]
    pool.extend(Fixed(phases.counted(item, flow), worths) for item, worths in ordered if max(worths) > 0)
    for found in levels:
        made = stencil_levels.counted(found, flow, balanced=symmetric)
        values = ({symbol(name): value for name, value in sizes.items()} for sizes in at)
        pool.append(Fixed(made, [float(made.value.subs(item)) for item in values]))
    bodies = convex_body.convex_bodies(flow) if options.experimental else []
    for body in (convex_body.counted(item, flow) for item in bodies):
        values = ({symbol(name): value for name, value in sizes.items()} for sizes in at)
        pool.append(Fixed(body, [float(body.value.subs(item)) for item in values]))
    return pool


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
                cure="rename the parameter in the C file",
            )


def _operations(program: Program) -> sympy.Expr:
    terms: list[sympy.Expr] = []
    for statement in program.statements:
        if statement.operations:
            count: Cardinality = total(statement.domain, Polynomial.number(statement.operations), program.context)
            terms.append(guarded(count))
    return sympy.Add(*terms)


__all__ = ["AffineBound", "S", "lower_bound"]
