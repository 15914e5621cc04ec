"""Pointers and subscripts that walk: ``*p++``, ``row += lda``, ``x[k++]``, as places that the loops around them tell.

Statements are run once with polynomials in the loops' counters as values. A name that a loop moves has an unknown
value at the beginning of its body; what the body adds to it, summed over the iterations before, tells it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.expressions import COMPARISONS
from shorthaul.affine.frontend.polynomials import (
    Polynomial,
    atoms,
    by_powers,
    number,
    plus,
    product_of,
    times,
    with_value,
)
from shorthaul.affine.frontend.rewriting.counting import alone, amount, counter, ends, free_names, listed, parts
from shorthaul.affine.frontend.rewriting.places import (
    Hole,
    Place,
    StuckError,
    Test,
    Value,
    Values,
    assumed,
    is_pointer,
    is_read,
)
from shorthaul.affine.frontend.rewriting.trees import (
    STEPS,
    assigned,
    copied,
    element,
    is_name,
    names_in,
    nodes,
    rewritten,
    statements_of,
    words_of,
)


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop: its counter, which begins with ``low`` and moves by ``step``, the other names that its body changes, the
    unknown values at the beginning of the body, and the number of iterations.
    """

    main: str
    step: int
    low: Polynomial
    inner: frozenset[str]
    unknown: frozenset[str]
    trips: str


def without_walking(
    items: Sequence[Any], declarations: Mapping[str, Any], first: Mapping[str, Any], only: Set[str] | None = None
) -> list[Any]:
    r"""Return statements in which elements stand for what pointers and subscripts that walk lead to.

    ``first`` are the values of names before, ``only`` the names to look at (None: all that walk). What is not
    understood stays as it is.

    >>> from pycparser import c_generator, c_parser
    >>> text = "void f(void) { double *p = a; for (i = 0; i < n; i++) for (j = 0; j < m; j++) *p++ *= x[j]; }"
    >>> (loop,) = without_walking(c_parser.CParser().parse(text).ext[0].body.block_items, {}, {})
    >>> print(c_generator.CGenerator().visit(loop).replace("\n", " "))
    for (i = 0; i < n; i++) {   for (j = 0; j < m; j++)   {     a[(i * m) + j] *= x[j];   }  }
    """
    kinds = {**declarations, **{node.name: node.type for node in nodes(items) if isinstance(node, c_ast.Decl)}}
    mains = {name for node in nodes(items) if isinstance(node, c_ast.For) and (name := _main(node))}
    walkers = _walkers(items, kinds) if only is None else frozenset(only)
    while True:
        run = _Run(walkers, mains, kinds, first)
        try:
            return run.written_out(copied(list(items)))
        except StuckError as error:
            walkers = walkers - {str(error)}
        except RecursionError:  # loops in too many levels, which is said with their place
            return list(items)


def _walkers(items: Sequence[Any], kinds: Mapping[str, Any]) -> frozenset[str]:
    """Return the pointers that are set or moved, and the integers in subscripts and headers that move."""
    loops = [node for node in nodes(items) if isinstance(node, c_ast.For)]
    counters = {name for node in loops if (name := _main(node)) and not _goes_on(node, name)}
    counters -= free_names(items)
    moved, of_data, used = set(), set(), set()
    for node in nodes(items):
        name, value = _target(node)
        if name and (value is not None or isinstance(node, c_ast.UnaryOp)):
            if not isinstance(node, c_ast.Decl) or (is_pointer(node.type) and not isinstance(value, c_ast.InitList)):
                moved.add(name)
            inside = list(nodes([] if value is None else [value]))
            used |= names_in(inside) if is_pointer(kinds.get(name)) else set()
            if any(isinstance(item, c_ast.ArrayRef | c_ast.FuncCall) or is_read(item) for item in inside):
                of_data.add(name)
        used |= names_in(
            [getattr(node, part) for part in _INDICES.get(type(node), ()) if getattr(node, part) is not None]
        )
        used |= names_in([node]) if is_read(node) else set()
    integers = {
        name for name in moved & used - counters - of_data if not {"float", "double"} & {*words_of(kinds.get(name))}
    }
    return frozenset(integers | {name for name in moved if is_pointer(kinds.get(name))})


#: Where names are subscripts and limits.
_INDICES = {
    c_ast.ArrayRef: ("subscript",),
    c_ast.For: ("init", "cond", "next"),
    c_ast.While: ("cond",),
    c_ast.DoWhile: ("cond",),
}


def _target(node: Any) -> tuple[str, Any]:
    """Return the name that a declaration, an assignment or a step changes, and what it adds or sets."""
    if isinstance(node, c_ast.UnaryOp) and node.op in STEPS and isinstance(node.expr, c_ast.ID):
        return node.expr.name, None
    if isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.ID):
        return node.lvalue.name, node.rvalue
    return _set(node)


def _inits(node: Any) -> list[Any]:
    items = node.init.decls if isinstance(node.init, c_ast.DeclList) else parts(node.init)
    return [each for item in items for each in alone(item)]


def _set(item: Any) -> tuple[str, Any]:
    """Return the name that a declaration or an assignment sets, and its value."""
    if isinstance(item, c_ast.Decl):
        return item.name, item.init
    is_set = isinstance(item, c_ast.Assignment) and item.op == "=" and isinstance(item.lvalue, c_ast.ID)
    return (item.lvalue.name, item.rvalue) if is_set else ("", None)


def _main(node: Any) -> str | None:
    """Return the counter of a for loop: it is set, tested and moved by a number."""
    if node.cond is None:
        return None
    given = {name for name, value in map(_set, _inits(node)) if value is not None}
    moving = {counter(item) for item in parts(node.next)}
    tested = (item.name for item in nodes([node.cond]) if isinstance(item, c_ast.ID))
    return next((name for name in tested if name in given & moving), None)


def _goes_on(node: Any, main: str) -> bool:
    """True if a loop begins with the value that its counter has."""
    return any(name == main and main in names_in([value]) for name, value in map(_set, _inits(node)))


class _Run(Values):
    """One run through the statements."""

    def __init__(
        self, walkers: frozenset[str], mains: Set[str], kinds: Mapping[str, Any], first: Mapping[str, Any]
    ) -> None:
        super().__init__(walkers, kinds, first)
        self.mains = mains
        self.assumptions: dict[str, Any] = {}  # on numbers of iterations

    def written_out(self, items: list[Any]) -> list[Any]:
        """Return the statements with values in place of names that walk."""
        made = rewritten(c_ast.Compound(self.block(items)), self.filled)
        idle = {id(self.assumptions[tag]) for tag in self.idle}
        for node in nodes([made]):
            if isinstance(node, c_ast.Compound):
                node.block_items = [item for item in node.block_items or [] if id(item) not in idle]
        return list(made.block_items)

    # -- statements

    def block(self, items: Sequence[Any]) -> list[Any]:
        """Run through statements; return what is left of them."""
        return [made for item in items for made in self.statement(item)]

    def inside(self, node: Any) -> Any:
        """Run through a statement of its own, whose declarations end with it."""
        items = statements_of(node)
        outer = {item.name: self.values.get(item.name) for item in items if isinstance(item, c_ast.Decl)}
        made = c_ast.Compound(self.block(items), getattr(node, "coord", None))
        self.forget(outer.keys() - self.walkers)
        self.values |= {name: value for name, value in outer.items() if name in self.walkers}
        return made

    def statement(self, node: Any) -> list[Any]:
        """Run through one statement; return what is left of it."""
        if isinstance(node, c_ast.Compound):
            return [self.inside(node)]
        if isinstance(node, c_ast.DeclList | c_ast.ExprList):
            return self.block(node.decls if isinstance(node, c_ast.DeclList) else node.exprs)
        if isinstance(node, c_ast.For):
            return self.loop(node)
        if isinstance(node, c_ast.If):
            return [self.branch(node)]
        if isinstance(node, c_ast.While | c_ast.DoWhile) and (tested := names_in([node.cond]) & self.walkers):
            return self._counted_anew(node, tested)
        if isinstance(node, c_ast.While | c_ast.DoWhile | c_ast.Switch):
            self._refuse(assigned([node]) | names_in([node]))
            self.forget(assigned([node]))
            return [node]
        name, value = _target(node)
        if name in self.walkers:
            self.step(node, name, value)
            return []
        made = self.expression(node)
        self.forget(assigned([node]))
        return [made]

    def step(self, node: Any, name: str, value: Any) -> None:
        """Set or move a name."""
        if isinstance(node, c_ast.UnaryOp):
            self.values[name] = self.at(name).moved(number(STEPS[node.op]))
        elif getattr(node, "op", "=") != "=":
            if node.op not in {"+=", "-="}:
                raise StuckError(name)
            self.values[name] = self.at(name).moved(times(self.polynomial(value), 1 if node.op == "+=" else -1))
        else:
            while isinstance(value, c_ast.Assignment) and value.op == "=":  # p = q = a
                self.statement(value)
                value = value.lvalue
            self.values[name] = None if value is None else self.value(name, value)

    def expression(self, node: Any) -> Any:
        """Return an expression with values in place of names, which it moves."""
        found = [each.name for each in nodes([node]) if isinstance(each, c_ast.ID) and each.name in self.walkers]
        steps = [each for each in nodes([node]) if isinstance(each, c_ast.UnaryOp) and each.op in {*STEPS, "&"}]
        moving = {each.expr.name for each in steps if isinstance(each.expr, c_ast.ID)} & self.walkers
        for each in nodes([node]):
            is_choice = isinstance(each, c_ast.TernaryOp) or getattr(each, "op", "") in {"&&", "||"}
            inner = names_in([each]) & moving if is_choice else set()
            if isinstance(each, c_ast.Assignment) and isinstance(each.lvalue, c_ast.ID):
                inner.add(each.lvalue.name)
            self._refuse(inner)
        pointed = {each.expr.name for each in steps if each.op == "&" and isinstance(each.expr, c_ast.ID)}
        self._refuse(pointed | {name for name in moving if found.count(name) > 1})
        before = dict(self.values)
        for each in steps:
            if isinstance(each.expr, c_ast.ID) and each.expr.name in moving:
                self.values[each.expr.name] = self.at(each.expr.name).moved(number(STEPS[each.op]))
                if not each.op.startswith("p"):
                    before[each.expr.name] = self.values[each.expr.name]

        def change(each: Any) -> Any:
            if isinstance(each, c_ast.UnaryOp) and each.op in STEPS and isinstance(each.expr, c_ast.BinaryOp | Hole):
                return each.expr
            if isinstance(each, c_ast.ID) and each.name in self.walkers:
                value = before.get(each.name)
                if value is None:
                    raise StuckError(each.name)
                return self.written(each.name, value, each.coord)
            sides = (each.left, each.right) if isinstance(each, c_ast.BinaryOp) else ()
            if sides and each.op in {*COMPARISONS, "-"} and all(isinstance(side, Place) for side in sides):
                return c_ast.BinaryOp(each.op, *(side.right for side in sides), each.coord)
            made = element(each)
            if made is not each and isinstance(made, c_ast.ArrayRef):
                holes = [item for item in nodes([made.subscript]) if isinstance(item, Hole)]
                if holes and not names_in([made.subscript]) & self.walkers:
                    made.subscript = self._joined(holes[0].name, made.subscript)
            return made

        return rewritten(node, change)

    def _joined(self, name: str, node: Any) -> Any:
        """Return a subscript of several terms as one polynomial."""
        if isinstance(node, c_ast.BinaryOp) and node.op == "+":
            left, right = self._joined(name, node.left), self._joined(name, node.right)
            plain = [item for item in (left, right) if not isinstance(item, Hole)]
            if not any(isinstance(each, Hole) for each in nodes(plain)):
                return Hole(name, plus(self.polynomial(left), self.polynomial(right)), node.coord)
            return c_ast.BinaryOp("+", left, right, node.coord)
        return node

    def _refuse(self, names: Set[str]) -> None:
        for name in sorted(names & self.walkers):
            raise StuckError(name)

    def branch(self, node: Any) -> Any:
        """Run through both branches; what differs after them is unknown."""
        node.cond = self.expression(node.cond)
        before = dict(self.values)
        node.iftrue = self.inside(node.iftrue)
        then, self.values = self.values, before
        if node.iffalse is not None:
            node.iffalse = self.inside(node.iffalse)
        self.values = {name: value if then.get(name) == value else None for name, value in self.values.items()}
        return node

    # -- loops

    def loop(self, node: Any, count: str = "") -> list[Any]:
        """Run through a for loop; ``count`` is a counter made for a loop whose condition is on names that walk."""
        main = count or _main(node)
        goes_on = main in self.walkers and (is_pointer(self.kinds.get(main)) or _goes_on(node, str(main)))
        if main is None or goes_on:
            tested = names_in([] if node.cond is None else [node.cond]) & self.walkers
            if tested:
                return self._counted_anew(node, tested)
            self._refuse(assigned([node]) | names_in([node]))
            self.forget(assigned([node]))
            return [node]
        inner = assigned([node.stmt])
        self._refuse(inner & {main})
        starts = {name: value for name, value in map(_set, _inits(node)) if name == main}
        self.counters.add(main)
        low = self.polynomial(starts[main])
        others = [item for item in _inits(node) if _set(item)[0] != main and self._is_needed(_set(item)[0], node)]
        kept = [*self.block(others), self._first(node, main)]
        inner |= assigned(parts(node.next))
        moved = sorted(inner & self.walkers - {main})
        before = {name: self.values.get(name) for name in moved}
        self.forget((inner | {main}) - {*moved})
        if main in self.walkers:
            self.values[main] = Value("", (), {(main,): Fraction(1)})
        names = {name: f"@{len(self.found) + at}" for at, name in enumerate(moved)}
        self.found |= dict.fromkeys((*names.values(), *(f"{tag}r" for tag in names.values())))
        for name, value in before.items():
            self.values[name] = None if value is None else self._unknown(value, names[name])
        node.cond = self.expression(node.cond)
        test = self._test(copied(node.cond), main)
        if count:
            node.cond = node.cond if test is None else test
        node.stmt = self.inside(node.stmt)
        step = next(item for item in parts(node.next) if counter(item) == main)
        rest = self.block([item for item in parts(node.next) if item is not step])
        node.next = listed([step, *rest])
        node.init = c_ast.DeclList(kept, node.coord) if isinstance(node.init, c_ast.DeclList) else listed(kept)
        after = [node]
        tag = f"#{len(self.found)}"
        self.found[tag] = None
        turn = _Loop(main, amount(step), low, frozenset(inner - {main} - self.walkers), frozenset(names.values()), tag)
        for name in moved:
            self.values[name] = self._around(turn, names[name], before[name], self.values[name])
        is_once = isinstance(test, c_ast.BinaryOp)  # as do loops have it
        trips = self.trips(test.right if is_once else test, main, low, turn.step)
        if trips is not None and (self.mentioned(atoms(trips)) & (turn.inner | {main}) or ends(node.stmt, c_ast.Break)):
            trips = None
        if trips is not None and is_once and not atoms(trips):
            trips = number(max(1, trips.get((), 0)))
        least = plus(trips or {}, number(-int(is_once)))
        self.found[tag] = trips
        may_fail = any(factor < 0 for factor in least.values()) or atoms(least) & (self.signed | self.counters)
        if trips is not None and may_fail:
            self.idle.add(tag)
            self.assumptions[tag] = assumed(main, least, node.coord)
            after.append(self.assumptions[tag])
        self.forget((inner - self.walkers) | {main})
        if main in self.walkers:
            is_told = trips is not None and not self.mentioned(atoms(low)) & (inner | {main})
            end = plus(low, {(tag,): Fraction(turn.step)})
            self.values[main] = Value("", (), end) if is_told else None
        return after

    def _is_needed(self, name: str, loop: Any) -> bool:
        """True if what a header sets is not the counter of inner loops, which set it themselves."""
        return (
            name in self.walkers
            or name not in self.mains
            or name in free_names([each for each in (loop.stmt, loop.cond) if each is not None])
        )

    def _first(self, node: Any, main: str) -> Any:
        """Return the item of a header that sets its counter."""
        item = next(item for item in _inits(node) if _set(item)[0] == main)
        if isinstance(item, c_ast.Decl):
            item.init = self.expression(item.init)
        else:
            item.rvalue = self.expression(item.rvalue)
        return item

    def _unknown(self, value: Value, tag: str) -> Value:
        """Return a value at the beginning of a body that moves it, in rows of a known length by whole ones, too."""
        rows = value.rows
        if rows and self._length(value) is not None:
            rows = (*rows[:-1], plus(rows[-1], {(f"{tag}r",): Fraction(1)}))
        return replace(value, rows=rows, place={(tag,): Fraction(1)})

    def _length(self, value: Value) -> Polynomial | None:
        """Return the length of the row that a pointer walks in."""
        kind: Any = self.kinds.get(value.array)
        for _ in value.rows:
            kind = kind.type if is_pointer(kind) else None
        is_known = isinstance(kind, c_ast.ArrayDecl) and kind.dim is not None
        return self.polynomial(kind.dim) if is_known else None

    def _around(self, turn: _Loop, tag: str, before: Value | None, end: Value | None) -> Value | None:
        """Note the value at the beginning of an iteration; return the value after the loop."""
        if before is None or end is None:
            return None
        expected = self._unknown(before, tag)
        if (before.array, before.rows, before.place) == (end.array, end.rows, end.place):  # set anew, to the same
            if not self.mentioned(before.atoms()) & turn.inner:
                self.found[tag], self.found[f"{tag}r"] = before.place, {}
            return before
        by = plus(end.place, expected.place, -1)
        start = with_value(before.place, turn.main, turn.low)
        for atom in sorted(name for name in atoms(by) if name[0] == "#"):
            self.idle.discard(atom)
            if (found := self.found[atom]) is None:
                return None
            by = with_value(by, atom, found)
        told = {*atoms(by), *atoms(start)}.union(*map(atoms, before.rows))
        hidden = {atom for atom in told - {turn.main} if turn.main in self.mentioned([atom])}
        by_rows = any(turn.main in atoms(row) for row in before.rows)
        if (end.array, end.rows) != (expected.array, expected.rows) or told & turn.unknown or hidden or by_rows:
            return None
        powers = [*by_powers(by, turn.main), {}]
        if self.mentioned(told) & turn.inner or len(powers) > 3:
            return None
        done = times(plus({(turn.main,): Fraction(1)}, turn.low, -1), Fraction(1, turn.step))
        length = self._length(before) if before.rows else None
        in_rows = length is not None and by == length

        def after(count: Polynomial) -> tuple[Polynomial, Polynomial]:
            pairs = times(product_of(count, plus(count, number(1), -1)), Fraction(turn.step, 2))
            total = product_of(powers[0], count)
            total = plus(total, product_of(powers[1], plus(product_of(turn.low, count), pairs)))
            return (count, start) if in_rows else ({}, plus(start, total))

        self.found[f"{tag}r"], self.found[tag] = after(done)
        whole = after({(turn.trips,): Fraction(1)}) if by else ({}, start)
        rows = (*before.rows[:-1], plus(before.rows[-1], whole[0])) if before.rows else ()
        return Value(before.array, rows, whole[1])

    def _counted_anew(self, node: Any, walkers: Set[str]) -> list[Any]:
        """Run through a loop whose condition is on names that walk, as one that counts its iterations."""
        taken = {*self.kinds, *names_in([node]), *self.counters}
        main = min(walkers & assigned([node]), default=min(walkers))
        name = next(made for at in range(len(taken) + 1) if (made := f"{main}_{at}") not in taken)
        count, steps = c_ast.ID(name, node.coord), []
        if isinstance(node, c_ast.For):
            before, steps = self.block(_inits(node)), parts(node.next)
        else:
            before = []
        first = c_ast.Assignment("=", count, c_ast.Constant("int", "0"), node.coord)
        cond = node.cond
        if isinstance(node, c_ast.DoWhile):  # once at least
            cond = c_ast.BinaryOp("||", c_ast.BinaryOp("==", count, c_ast.Constant("int", "0")), cond, node.coord)
        moves = c_ast.ExprList([c_ast.UnaryOp("p++", count, node.coord), *steps], node.coord)
        return [*before, *self.loop(c_ast.For(first, cond, moves, node.stmt, node.coord), name)]

    def _test(self, node: Any, count: str) -> Any:
        """Return a condition as one on a counter: a :class:`Test`, one of do loops, or None."""
        if isinstance(node, c_ast.BinaryOp) and node.op == "||" and is_name(getattr(node.left, "left", None), count):
            return c_ast.BinaryOp("||", node.left, self._test(node.right, count), node.coord)
        op, sides = "!=", [node]
        if isinstance(node, c_ast.BinaryOp) and node.op in COMPARISONS:
            op, sides = node.op, [node.left, node.right]
        elif isinstance(node, c_ast.BinaryOp) and node.op in {"&&", "||"}:
            return None
        name = next((each.name for each in nodes([node]) if isinstance(each, Hole)), count)
        first, *rest = map(self.polynomial, sides)
        return Test(name, plus(first, rest[0], -1) if rest else first, node.coord, op, count)
