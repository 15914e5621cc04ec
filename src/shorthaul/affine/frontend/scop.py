"""From the syntax tree of a scop region to a :class:`Program`: domains, schedules and accesses as integer sets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import islpy as isl
from pycparser import c_ast

from shorthaul.affine.frontend.accesses import (
    Access,
    accumulation,
    count_operations,
    data_reads,
    has_effect,
    reads_one_of,
    subscripted,
    unlike,
)
from shorthaul.affine.frontend.code_text import code_text, fragments
from shorthaul.affine.frontend.constants import constant, numbers_in_control
from shorthaul.affine.frontend.delinearise import subscripts_of
from shorthaul.affine.frontend.einsum import einsum_loops, is_einsum
from shorthaul.affine.frontend.expressions import (
    Names,
    assume,
    bound_map,
    bound_set,
    c_text,
    condition,
    integer,
    named_dims,
    variable,
)
from shorthaul.affine.frontend.extents import complete_extents, refuse_from_end, refuse_outside
from shorthaul.affine.frontend.loops import by_factors, from_failure_on, iterations
from shorthaul.affine.frontend.parser import Region, parse
from shorthaul.affine.frontend.phases import phases
from shorthaul.affine.frontend.python.pieces import is_python
from shorthaul.affine.frontend.python.region import python_region
from shorthaul.affine.frontend.rewriting.choices import choices
from shorthaul.affine.frontend.rewriting.counting import ends
from shorthaul.affine.frontend.rewriting.jumps import require_static_control
from shorthaul.affine.frontend.rewriting.scopes import names_as_written
from shorthaul.affine.frontend.rewriting.trees import statements_of
from shorthaul.affine.frontend.rolling.unrolled import rerolled
from shorthaul.affine.frontend.symbols import Symbols, depth, element_bytes, extents, symbols
from shorthaul.affine.integer_sets.divisions import without_divisions
from shorthaul.affine.integer_sets.redundant_loops import independent, without
from shorthaul.affine.model import Array, Program, Reference, Statement
from shorthaul.core.arguments import public
from shorthaul.core.document import decode_text, suffix_of
from shorthaul.core.errors import InputError


def load(path: Path, data: bytes, function: str | None = None) -> Program:
    """Return the program in the C file ``path`` with content ``data``; errors name the file."""
    try:
        return program_from_text(decode_text(data, file=path), function=function, file=path)
    except InputError as error:
        raise error.in_file(path) from None


@public
def program_from_text(text: str, *, function: str | None = None, file: Path | None = None) -> Program:
    """Return the program in the source ``text``: loops in C or Python, or a sum of products such as ``"bqd,bkd->bqk"``.

    Parameters
    ----------
    text : str
        C source with one ``#pragma scop`` region or one function with loops, a Python function with loops on NumPy
        arrays, or such a sum.
    function : str | None
        The function that is meant, if the source has several.
    file : Path | None
        The name that messages give the source.

    Returns
    -------
    Program
        Its statements, arrays and parameters.

    Raises
    ------
    InputError
        If something is no C, not affine or no static control: line, column, expression and cure.

    Examples
    --------
    >>> source = '''void scale(int n, double a[n]) {
    ... #pragma scop
    ...   for (int i = 0; i < n; i++) a[i] *= 2.0;
    ... #pragma endscop
    ... }'''
    >>> print(program_from_text(source).statements[0].domain)
    [n] -> { S0[i] : 0 <= i < n }
    """
    try:
        if is_python(text, "" if file is None else suffix_of(file)):
            return _built(python_region(text, function=function), text)
        source = einsum_loops(text) if is_einsum(text) else text
        with names_as_written((region := parse(source, function=function, file=file)).renamed):
            return _built(region, source)
    except RecursionError:
        raise InputError("is nested too deeply", allowed="a few hundred levels") from None


def _built(region: Region, text: str) -> Program:
    """Return the program, with macros as numbers where it is one for these alone: ``in[y * STRIDE + k]``."""
    macros = region.text.integers
    numbers, more = (numbers_in_control(region.body, macros, subscripts=subscripts) for subscripts in (False, True))
    try:
        return _Builder(region, numbers).build(text)
    except InputError:
        if more != numbers:
            with suppress(InputError):
                return _Builder(region, more).build(text)
        raise


_NONE: Final = isl.Set.read_from_str(isl.DEFAULT_CONTEXT, "{ : false }")
#: A header beside the file, which is not read and may declare arrays.
_LOCAL_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"', re.MULTILINE)


@dataclass(frozen=True)
class _Scope:
    """Where the walk stands: the iterations reached so far and the time prefix; ``counts`` number the iterations."""

    params: isl.Set
    iterators: tuple[str, ...] = ()
    env: Mapping[str, isl.PwAff] = field(default_factory=dict)
    locals: Mapping[str, Any] = field(default_factory=dict)
    time: tuple[isl.PwAff | int, ...] = ()
    counts: tuple[isl.PwAff, ...] = ()

    def loop(self, at: int) -> tuple[int, ...]:
        """Return the places in time of the loop of an iterator and of the loops around it, which no other loop has."""
        return tuple(place for place in self.time[: 2 * at + 1] if isinstance(place, int))


@dataclass(frozen=True)
class _Draft:
    """A statement whose accesses still are syntax."""

    scope: _Scope
    write: Access
    reads: tuple[Access, ...]
    node: Any
    operations: int
    value: Any
    operator: str


class _Builder:
    """Walks one region."""

    def __init__(self, region: Region, numbers: Mapping[str, int]) -> None:
        self.region = region
        self.symbols: Symbols = symbols(region)
        given = {name: c_ast.Constant("int", str(value)) for name, value in numbers.items()}
        self.constants: Mapping[str, Any] = {**given, **self.symbols.constants}
        self.parameters: dict[str, None] = {}
        self.drafts: list[_Draft] = []
        self.assumed: list[isl.Set] = []
        self.broken: isl.Set | None = None  #: where the loop around has ended in this iteration, None in no loop

    def names(self, scope: _Scope) -> Names:
        """Return what identifiers mean in ``scope``."""
        return Names(
            place=self.region.place,
            integers=self.region.text.integers,
            iterators=scope.env,
            locals=scope.locals,
            written=self.symbols.written,
            data=self.symbols.data,
            parameters=self.parameters,
            reached=scope.params,
            assumed=self.assumed,
            kinds=self.symbols.kinds,
        )

    def build(self, text: str) -> Program:
        """Return the program."""
        self.source = text
        scope = _Scope(isl.Set.read_from_str(isl.DEFAULT_CONTEXT, "{ : }"), locals=self.constants)
        self.block(rerolled(self.region.body, self.symbols.declared, self.names(scope)), scope)
        if not self.drafts:
            first, told = self.region.body[0], "the region has no assignment that is executed"
            cure = "let its loops reach one; where there are pragmas, put it between them"
            raise InputError(told, place=str(self.region.place(first)), value=c_text(first)[:80], cure=cure)
        elements = self.elements()
        for draft, access in self.accesses() if self.region.counts_from_end else ():
            refuse_from_end(access, elements[id(access)], self.names(draft.scope))
        # a parameter of an inner nest must not bear the name of an iterator of another one
        parameters = tuple(self.parameters)
        context = self.context(parameters)
        statements = tuple(self.statements(elements, context.get_space()))
        self.within_extents(elements)  # last: isl drops redundant constraints of the sets it looks at
        integers = self.region.text.integers
        defaults = {name: integers[name] for name in parameters if name in integers}
        arrays = self.arrays(elements)
        complete_extents(self.symbols.declared, arrays, statements)
        code = code_text(self.region, self.symbols, parameters, tuple(arrays))
        return Program(self.region.function, parameters, context, statements, arrays, defaults, text, code)

    def context(self, parameters: Sequence[str]) -> isl.Set:
        """Return the parameter values, all at least 1, for which the region is this program."""
        given = ", ".join(parameters)
        result = isl.Set.read_from_str(isl.DEFAULT_CONTEXT, f"[{given}] -> {{ : }}")
        positive = " and ".join(f"{name} >= 1" for name in parameters) or "true"
        usual = isl.Set.read_from_str(isl.DEFAULT_CONTEXT, f"[{given}] -> {{ : {positive} }}")
        for where in self.assumed:
            result = result.intersect(where)
        return result.gist(usual).coalesce()

    # -- the walk

    def block(self, items: Sequence[Any], scope: _Scope, position: int = 0) -> int:
        """Walk the statements of a block in order, from ``position`` in time; return the next free position."""
        for item in items:
            if self.broken is not None and not self.broken.is_empty():
                scope = replace(scope, params=scope.params.subtract(self.broken))
            if isinstance(item, c_ast.Decl | c_ast.DeclList):
                for declaration in item.decls if isinstance(item, c_ast.DeclList) else [item]:
                    scope, position = self.declaration(declaration, scope, position)
            elif isinstance(item, c_ast.Compound):
                position = self.block(item.block_items or [], scope, position)
            elif isinstance(item, c_ast.For):
                position = self.loop(item, scope, position)
            elif isinstance(item, c_ast.If):
                position = self.branch(item, scope, position)
            elif isinstance(item, c_ast.Break) and self.broken is not None:
                self.broken |= scope.params
            elif isinstance(item, c_ast.DoWhile) and constant(item.cond, {}) == 0:  # as macros have it
                position = self.block([item.stmt], scope, position)
            elif not isinstance(item, c_ast.Pragma | c_ast.EmptyStatement):
                require_static_control(item, self.place(item))
                position = self.expression(item, scope, position)
        return position

    def place(self, node: Any) -> str:
        """Return the place of ``node`` as text."""
        return str(self.region.place(node))

    def declaration(self, node: Any, scope: _Scope, position: int) -> tuple[_Scope, int]:
        """An initialised local is an assignment; an integer that is never assigned again is a name for its value."""
        if node.init is None or node.name in self.symbols.loops:  # a loop sets its iterator itself
            return scope, position
        if node.name in self.symbols.data or node.name in self.symbols.written:
            setting = c_ast.Assignment("=", c_ast.ID(node.name, node.coord), node.init, node.coord)
            return scope, position + self.assign(setting, scope, position)
        return replace(scope, locals={**scope.locals, node.name: node.init}), position

    def loop(self, node: Any, scope: _Scope, position: int) -> int:
        """Walk one for loop; return the next free position."""
        factors = by_factors(node, self.names(scope))
        if factors is not None:
            named = replace(scope, locals={**scope.locals, factors.name: factors.value})
            return self.loop(factors.loops, named, position)
        name, values = iterations(node, self.names(scope), scope.params, scope.iterators)
        body = statements_of(node.stmt)
        if ends(node.stmt, c_ast.Break):
            values = self.until_broken(body, name, values, scope)
        apart, around = phases(body, name, values), self.broken
        outer = replace(scope, env={known: value for known, value in scope.env.items() if known != name.written})
        if counter := apart[0].counter:
            outer = replace(
                outer,
                iterators=(*scope.iterators, counter.internal),
                env={**outer.env, counter.written: variable(counter.internal)},
                time=(*scope.time, position, counter.value),
                counts=(*scope.counts, counter.count),
            )
        after = 0 if counter else position
        for phase in apart:
            self.broken = _NONE
            known = scope.locals if phase.value is None else {**scope.locals, name.written: phase.value}
            after = self.block(body, replace(outer, params=phase.reached, locals=known), after)
        self.broken = around
        return position + 1 if counter else after

    def until_broken(self, body: Sequence[Any], name: Any, values: isl.Set, scope: _Scope) -> isl.Set:
        """Return the iterations of a loop up to the first that breaks, by a walk whose statements are forgotten."""
        drafts, around, self.broken = len(self.drafts), self.broken, _NONE
        env = {**scope.env, name.written: variable(name.internal)}
        self.block(body, replace(scope, params=values, env=env, iterators=(*scope.iterators, name.internal)))
        step = 1 if name.value.is_equal(variable(name.internal)) else -1
        later = from_failure_on(self.broken, name.internal, step, after=True)
        self.broken = around
        del self.drafts[drafts:]
        return values.subtract(later)

    def branch(self, node: Any, scope: _Scope, position: int) -> int:
        """Walk an if; return the next free position. One on data is a choice for everything that it assigns."""
        try:
            where = condition(node.cond, self.names(scope))
        except InputError as error:
            data = self.symbols.data | (self.symbols.written - self.symbols.loops)
            if not reads_one_of(node.cond, data):
                raise
            made = choices(node, lambda part: not reads_one_of(part, data))
            if made is not None:
                return self.block(made, scope, position)
            raise InputError(
                "the condition depends on data, and more than assignments depend on it",
                place=self.place(node.cond),
                value=c_text(node.cond),
                allowed="assignments of which at most one changes the condition",
                cure="write choices between values as ternaries: x = c ? a : b",
            ) from error
        for taken, body in ((where, node.iftrue), (where.complement(), node.iffalse)):
            if body is not None:
                position = self.block([body], replace(scope, params=scope.params.intersect(taken)), position)
        return position

    def expression(self, node: Any, scope: _Scope, position: int) -> int:
        """Walk an expression statement; return the next free position."""
        node = node.expr if isinstance(node, c_ast.Cast) else node
        if isinstance(node, c_ast.ExprList):
            for item in node.exprs:
                position = self.expression(item, scope, position)
            return position
        if isinstance(node, c_ast.Assignment):
            return position + self.assign(node, scope, position)
        if isinstance(node, c_ast.FuncCall) and getattr(node.name, "name", "") == "assert" and node.args is not None:
            assume(node.args.exprs[0], self.names(scope))
            return position
        if not has_effect(node):
            return position  # a statement without effect, such as (void)x;
        problem, cure = "is no assignment", "keep loops, ifs and assignments only, in place of goto too"
        if isinstance(node, c_ast.FuncCall):
            problem, cure = "a call may have side effects", "write out what the function assigns"
        raise InputError(problem, place=self.place(node), value=c_text(node), allowed="assignments", cure=cure)

    def assign(self, node: Any, scope: _Scope, position: int) -> int:
        """Emit an assignment, the inner ones of a chain first; return how many statements it made."""
        made, value = 0, node.rvalue
        if isinstance(value, c_ast.Assignment):
            made = self.assign(value, scope, position)
            value = value.lvalue
        self.emit(node.lvalue, value, replace(scope, time=(*scope.time, position + made)), node)
        return made + 1

    def emit(self, target: Any, value: Any, scope: _Scope, node: Any) -> None:
        """Note one statement."""
        names, compound, name = self.names(scope), node.op != "=", getattr(target, "name", None)
        if isinstance(target, c_ast.ID) and (name in scope.env or name in scope.locals.keys() & self.symbols.loops):
            raise InputError(
                "a loop iterator is assigned in the loop",
                place=self.place(node),
                value=c_text(node),
                cure="change it in the loop's header only, by a constant step",
            )
        if scope.params.is_empty():
            return  # never executed, whatever the parameters are
        write = subscripted(target, scope.params, names)
        reads = [*([write] if compound else []), *data_reads(value, scope.params, names, self.symbols)]
        operations = count_operations(value) + (1 if compound else 0)
        self.drafts.append(_Draft(scope, write, tuple(reads), node, operations, value, node.op))

    # -- from drafts to the program

    def accesses(self) -> Iterator[tuple[_Draft, Access]]:
        """Yield every access with its draft."""
        for draft in self.drafts:
            for access in (draft.write, *draft.reads):
                yield draft, access

    def elements(self) -> dict[int, tuple[isl.PwAff, ...]]:
        """Return the subscripts of every access (by ``id``), flattened ones taken apart."""
        by_array: dict[str, list[tuple[Access, Names]]] = {}
        for draft, access in self.accesses():
            by_array.setdefault(access.array, []).append((access, self.names(draft.scope)))
        result: dict[int, tuple[isl.PwAff, ...]] = {}
        for array, uses in by_array.items():
            counts = {len(access.subscripts) for access, _ in uses}
            if len(counts) > 1:
                raise unlike(array, [access for access, _ in uses], self.symbols.declared.get(array), self.place)
            known = array in self.symbols.declared or _LOCAL_HEADER.search(self.source)
            if counts != {0} and not known:
                raise InputError(
                    f"{array} is not declared",
                    place=self.place(uses[0][0].node),
                    value=c_text(uses[0][0].node),
                    cure=f"declare it, for example as a parameter of the function: double {array}[...]",
                )
            declared = depth(self.symbols.declared.get(array))
            if declared and counts != {declared}:
                raise InputError(
                    f"{array} is declared with {declared} and used with {counts.pop()} subscripts",
                    place=self.place(uses[0][0].node),
                    value=c_text(uses[0][0].node),
                    cure="subscript an array as it is declared",
                )
            result.update(subscripts_of(uses))
        return result

    def within_extents(self, elements: Mapping[int, tuple[isl.PwAff, ...]]) -> None:
        """Refuse accesses that are outside of their array whatever the parameters are."""
        names = self.names(_Scope(isl.Set.read_from_str(isl.DEFAULT_CONTEXT, "{ : }"), locals=self.constants))
        for draft, access in self.accesses():
            declared = self.symbols.declared.get(access.array)
            refuse_outside(declared, access, elements[id(access)], names, draft.scope.iterators, draft.scope.locals)

    def statements(self, elements: dict[int, tuple[isl.PwAff, ...]], space: isl.Space) -> Iterator[Statement]:
        """Yield the statements. In time, a loop that is a coordinate of none of them has numbers without gaps.

        So the loops over tiles need no remainders, with which isl finds wrong maxima.
        """
        length = max(len(draft.scope.time) for draft in self.drafts)
        domains = [bound_set(item.scope.params, item.scope.iterators, f"S{at}") for at, item in enumerate(self.drafts)]
        kept = [independent(domain) for domain in domains]
        needed = {item.scope.loop(at) for item, mine in zip(self.drafts, kept, strict=True) for at in mine}
        for number, (draft, domain, mine) in enumerate(zip(self.drafts, domains, kept, strict=True)):
            scope = draft.scope
            time = list(scope.time)
            for at, count in enumerate(scope.counts):
                if scope.loop(at) not in needed:
                    time[2 * at + 1] = count
            time += [0] * (length - len(time))
            times = [integer(value) if isinstance(value, int) else value for value in time]
            schedule = bound_map(scope.params, times, scope.iterators, f"S{number}", "")
            yield self.statement(f"S{number}", draft, elements, domain, mine, schedule, space)

    def statement(
        self,
        name: str,
        draft: _Draft,
        elements: dict[int, tuple[isl.PwAff, ...]],
        domain: isl.Set,
        kept: Sequence[int],
        schedule: isl.Map,
        space: isl.Space,
    ) -> Statement:
        """Return one statement with its sets, without the iterators that are not ``kept``."""
        scope = draft.scope
        fewer = without(named_dims(domain, scope.iterators, isl.dim_type.set), isl.dim_type.set, kept).align_params(
            space
        )
        fewer = without_divisions(fewer, isl.Set.universe(fewer.get_space())).coalesce()

        def reduced(found: isl.Map) -> isl.Map:
            named = named_dims(found, scope.iterators, isl.dim_type.in_)
            return without(named, isl.dim_type.in_, kept).align_params(space).coalesce()

        def relation(access: Access) -> isl.Map:
            found = reduced(bound_map(access.params, elements[id(access)], scope.iterators, name, access.array))
            return without_divisions(found, isl.Map.universe(found.get_space()).intersect_domain(fewer)).coalesce()

        reads: list[Reference] = []
        tags: dict[str, str] = {}
        written, own, place = relation(draft.write), 0, self.region.place
        for access in draft.reads:
            item = relation(access)
            own += access.array == draft.write.array and item.is_equal(written)
            same = (
                at for at, known in enumerate(reads) if known.array == access.array and item.is_equal(known.relation)
            )
            at = next(same, len(reads))
            tags[c_text(access.node)] = tag = f"{name}.r{at}"
            if at < len(reads):
                reads[at] = replace(reads[at], sure=reads[at].sure or access.sure)
                continue
            reads.append(Reference(tag, access.array, item, c_text(access.node), place(access.node), access.sure))
        left_out = [at for at in range(len(scope.iterators)) if at not in kept]
        implied = tuple(
            (loop, reduced(bound_map(scope.params, [variable(loop)], scope.iterators, name, "")))
            for loop in (scope.iterators[at] for at in left_out)
        )
        write = Reference(f"{name}.w", draft.write.array, written, c_text(draft.write.node), place(draft.write.node))
        return Statement(
            name=name,
            text=c_text(draft.node),
            place=place(draft.node),
            iterators=tuple(scope.iterators[at] for at in kept),
            times=tuple(2 * at + 1 for at in kept),
            domain=fewer,
            schedule=reduced(schedule),
            reads=tuple(reads),
            write=write,
            operations=draft.operations,
            code=fragments(draft.write.node, draft.operator, draft.value, self.names(scope), tags, name),
            implied=implied,
            accumulates=accumulation(draft.write.node, draft.value, draft.operator) if own == 1 else "",
        )

    def arrays(self, elements: dict[int, tuple[isl.PwAff, ...]]) -> dict[str, Array]:
        """Return every array and scalar that is accessed."""
        result: dict[str, Array] = {}
        for _, access in self.accesses():
            declared = self.symbols.declared.get(access.array)
            dimensions = len(elements[id(access)])
            result[access.array] = Array(access.array, dimensions, extents(declared), element_bytes(declared))
        return dict(sorted(result.items()))
