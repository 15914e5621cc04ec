"""Loops unrolled by hand, as the loops that they were: ``for (; k + 3 < n; k += 4)`` and what is left behind it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import islpy as isl
from pycparser import c_ast

from shorthaul.affine.frontend import polynomials as poly
from shorthaul.affine.frontend.expressions import Names, affine, bound_set, c_text, integer, variable, without_iterators
from shorthaul.affine.frontend.loops import iterations
from shorthaul.affine.frontend.rewriting import trees
from shorthaul.affine.frontend.rewriting.counting import amount, counter
from shorthaul.core.errors import InputError

_JUMPS = (c_ast.Break, c_ast.Continue, c_ast.Goto, c_ast.Return, c_ast.While, c_ast.DoWhile, c_ast.Switch)
_POINT = "sh_point"


class _Quotient(str):
    node: Any  #: a quotient or a remainder, as an atom of polynomials


def _polynomial(node: Any) -> poly.Polynomial | None:
    """Return an expression of integers as a polynomial of its names, quotients and remainders; None if it is none."""
    if isinstance(node, c_ast.Constant):
        return poly.number(int(node.value)) if node.type == "int" and node.value.isdecimal() else None
    if isinstance(node, c_ast.ID):
        return {(node.name,): Fraction(1)}
    if isinstance(node, c_ast.BinaryOp) and node.op in {"+", "-", "*"}:
        left, right = _polynomial(node.left), _polynomial(node.right)
        if left is None or right is None:
            return None
        return poly.product_of(left, right) if node.op == "*" else poly.plus(left, right, 1 if node.op == "+" else -1)
    if isinstance(node, c_ast.BinaryOp) and node.op in {"/", "%"}:
        atom = _Quotient(c_text(node))
        atom.node = node
        return {(atom,): Fraction(1)}
    return None


def _expression(value: poly.Polynomial) -> Any:
    return poly.in_c(value, set(), {name: name.node for key in value for name in key if isinstance(name, _Quotient)})


@dataclass(slots=True)
class _Alike:
    """Whether trees are the same with ``moved`` in place of ``counter``, and with other ``names`` of variables."""

    counter: str
    moved: poly.Polynomial
    names: dict[str, str] = field(default_factory=dict)

    def all(self, ones: Sequence[Any], others: Sequence[Any]) -> bool:
        """Return whether all are the same; what is learnt about names is kept if they are."""
        known = dict(self.names)
        same = len(ones) == len(others) and all(map(self.same, ones, others))
        self.names = self.names if same else known
        return same

    def same(self, one: Any, other: Any) -> bool:
        """Return whether one tree is the other with the counter moved."""
        if isinstance(one, c_ast.ArrayRef) and isinstance(other, c_ast.ArrayRef):
            return self.same(one.name, other.name) and self.equal(one.subscript, other.subscript)
        if trees.names_in([one]) == {self.counter} and None not in (_polynomial(one), _polynomial(other)):
            return self.equal(one, other)
        if type(one) is not type(other) or trees.is_name(one, self.counter):
            return False
        if isinstance(one, c_ast.ID | c_ast.Decl | c_ast.TypeDecl):
            name = "declname" if isinstance(one, c_ast.TypeDecl) else "name"
            if self.names.setdefault(getattr(one, name), getattr(other, name)) != getattr(other, name):
                return False
        children = [[child for _, child in node.children()] for node in (one, other)]
        same = all(getattr(one, name) == getattr(other, name) for name in {*one.attr_names} - {"name", "declname"})
        return same and len(children[0]) == len(children[1]) and all(map(self.same, *children))

    def equal(self, one: Any, other: Any) -> bool:
        """Return whether two subscripts have the same value, as polynomials or, where they are none, as text."""
        value, wanted = _polynomial(one), _polynomial(other)
        whole = value is None or wanted is None
        quotients = trees.names_in(
            [one] if whole else (n for n in trees.nodes([one]) if getattr(n, "op", "") in {"/", "%"})
        )
        if self.counter in quotients or any(self.names.setdefault(name, name) != name for name in quotients):
            return False
        if value is None or wanted is None:
            return c_text(one) == c_text(other)
        for name in {*poly.atoms(value)} - {self.counter}:
            value = poly.with_value(value, name, {(self.names.setdefault(name, name),): Fraction(1)})
        return poly.with_value(value, self.counter, self.moved) == wanted

    @property
    def renamed(self) -> dict[str, str]:
        """The variables that have another name in the other tree."""
        return {one: other for one, other in self.names.items() if one != other}


@dataclass(frozen=True, slots=True)
class _Leaf:
    node: Any  #: a statement that is no loop
    path: tuple[int, ...]  #: the loops around it inside of the body

    @property
    def names(self) -> set[str]:
        """What the statement reads or sets."""
        return trees.names_in([self.node]) | trees.assigned([self.node])

    @property
    def sets(self) -> set[str]:
        """The variables and arrays that the statement sets."""
        targets = [node.lvalue for node in trees.nodes([self.node]) if isinstance(node, c_ast.Assignment)]
        return trees.assigned([self.node]) | {getattr(trees.element_of(item)[0], "name", "") for item in targets}


def _leaves(items: Sequence[Any], path: tuple[int, ...] = ()) -> Iterator[_Leaf]:
    """Yield the statements that are no loops, in the order of the text, with the loops around them."""
    for item in items:
        if isinstance(item, c_ast.Compound | c_ast.For):
            is_loop = isinstance(item, c_ast.For)
            yield from _leaves(
                trees.statements_of(item.stmt if is_loop else item), (*path, id(item)) if is_loop else path
            )
        elif not isinstance(item, c_ast.Pragma | c_ast.EmptyStatement) and getattr(item, "init", item) is not None:
            yield _Leaf(item, path)


def _kept(items: Sequence[Any], wanted: Set[int]) -> list[Any]:
    """Return the statements without those that are not ``wanted`` (by identity), and without loops left empty."""
    made: list[Any] = []
    for item in items:
        is_loop = isinstance(item, c_ast.For)
        if is_loop or isinstance(item, c_ast.Compound):
            body = _kept(trees.statements_of(item.stmt if is_loop else item), wanted)
            made += [_loop(item, item.cond, item.next, body)] if is_loop and body else body
        elif id(item) in wanted:
            made.append(item)
    return made


def _loop(like: Any, cond: Any, step: Any, body: list[Any]) -> Any:
    return c_ast.For(like.init, cond, step, c_ast.Compound(body, like.coord), like.coord)


def _headers(items: Iterable[Any]) -> list[Any]:
    """Return the parts of the heads of all loops."""
    loops = [node for node in trees.nodes(items) if isinstance(node, c_ast.For)]
    return [part for loop in loops for part in (loop.init, loop.cond, loop.next) if part is not None]


def _uses(items: Iterable[Any]) -> Counter[str]:
    """Return how often each name is used."""
    return Counter(node.name for node in trees.nodes(items) if isinstance(node, c_ast.ID))


def _copies(found: list[_Leaf], name: str, count: int) -> tuple[list[list[_Leaf]], list[dict[str, str]]] | None:
    """Return the statements of each copy, and the names of the first that others have other names for."""
    tests = [_Alike(name, {(name,): Fraction(1), **poly.number(at)}) for at in range(count)]
    groups: dict[int, list[int]] = {}
    taken = set[int]()
    for with_counter in (True, False):  # those with it tell which names belong together
        for at, leaf in enumerate(found):
            if at in taken or (name in leaf.names) != with_counter:
                continue
            groups[at] = [at]
            for test in tests[1:]:
                later = (n for n in range(at + 1, len(found)) if n not in taken and found[n].path == leaf.path)
                other = next((n for n in later if test.all([leaf.node], [found[n].node])), None)
                if other is None:
                    return None
                groups[at].append(other)
                taken.add(other)
            taken.add(at)
    orders = [[groups[at][part] for at in sorted(groups)] for part in range(count)]
    parts = [[found[at] for at in order] for order in orders]
    return None if any(order != sorted(order) for order in orders) else (parts, [test.renamed for test in tests[1:]])


def _own(names: Set[str], part: Sequence[_Leaf], outside: Set[str], region: Sequence[Any]) -> bool:
    """True if variables are declared in the region, used nowhere else, and set before they are read in each turn."""
    if names & outside or not names <= {node.name for node in trees.nodes(region) if isinstance(node, c_ast.Decl)}:
        return False
    for name in names - trees.assigned(_headers(region)):
        used = [leaf for leaf in part if name in leaf.names]
        is_set = used and trees.target_of(used[0].node) == name and getattr(used[0].node, "op", "=") == "="
        value = getattr(used[0].node, "init", getattr(used[0].node, "rvalue", None)) if is_set else None
        within = all(leaf.path[: len(used[0].path)] == used[0].path for leaf in used)
        if value is None or name in trees.names_in([value]) or not within:
            return False
    return True


def _apart(array: str, one: _Leaf, other: _Leaf, moving: Set[str]) -> bool:
    """True if subscripts in one axis tell that two statements use no element of an array both, in one turn."""
    whole: list[list[list[Any]]] = []
    for leaf in (one, other):
        found = [trees.element_of(node) for node in trees.nodes([leaf.node]) if isinstance(node, c_ast.ArrayRef)]
        mine = [subscripts for root, subscripts in found if trees.is_name(root, array)]
        whole.append([item for item in mine if len(item) == max(map(len, mine))])
        if not whole[-1] or len(whole[-1]) < _uses([leaf.node])[array]:
            return False
    for left, right in itertools.product(*whole):
        pairs = [pair for pair in zip(left, right, strict=False) if not trees.names_in(pair) & moving]
        values = [(_polynomial(first), _polynomial(second)) for first, second in pairs]
        if not any(a is not None and b is not None and {*poly.plus(a, b, -1)} == {()} for a, b in values):
            return False
    return True


def _without_loads(body: Sequence[Any], region: Sequence[Any], kinds: Mapping[str, Any]) -> list[Any]:
    """Return a copy of ``body`` with elements of arrays in place of the variables that are set to them alone."""
    items = trees.copied(list(body))
    found = [*_leaves(items)]
    sets = {name for leaf in found for name in leaf.sets}
    times_set, uses = Counter(map(trees.target_of, trees.nodes(region))), _uses(region)
    gone: set[int] = set()
    for at, leaf in enumerate(found):
        name, value = str(getattr(leaf.node, "name", "")), getattr(leaf.node, "init", None)
        if not isinstance(value, c_ast.ArrayRef) or trees.names_in([value]) & sets or times_set[name] > 1:
            continue
        kind = trees.words_of(kinds.get(getattr(trees.element_of(value)[0], "name", "")))
        later = [each.node for each in found[at + 1 :] if each.path[: len(leaf.path)] == leaf.path]
        if trees.words_of(leaf.node) == kind and _uses(later)[name] == uses[name]:
            for node in later:
                _put(node, name, value)
            gone.add(id(leaf.node))
    return _kept(items, {id(leaf.node) for leaf in found} - gone)


def _put(node: Any, name: str, value: Any) -> Any:
    return trees.rewritten(node, lambda each: trees.copied(value) if trees.is_name(each, name) else each)


def _image(values: isl.Set, name: str, place: isl.PwAff) -> isl.Set:
    """Return the values of ``place`` at the iterations of the loop ``name``, as a set of one dimension."""
    points = values.intersect(variable(_POINT).eq_set(place))
    return bound_set(without_iterators(points, [name]), [_POINT], "").reset_tuple_id()


@dataclass(frozen=True, slots=True)
class _Rolling:
    region: Sequence[Any]
    kinds: Mapping[str, Any]  #: the types of what is declared
    fixed: Set[str]  #: what is never assigned

    def block(self, items: Sequence[Any], names: Names, params: isl.Set, outer: tuple[str, ...] = ()) -> list[Any]:
        """Return the statements with every unrolled loop rolled, and joined with the loop for its rest behind it."""
        made: list[Any] = []
        before: tuple[int, Any, isl.Set] | None = None
        for item in items:
            made.append(item)
            if isinstance(item, c_ast.Compound):
                made[-1] = c_ast.Compound(self.block(item.block_items or [], names, params, outer), item.coord)
            elif isinstance(item, c_ast.Decl) and item.init is not None and item.name in self.fixed:
                names = replace(names, locals={**names.locals, item.name: item.init})
            elif isinstance(item, c_ast.For):
                last, before = before, None
                with suppress(InputError, isl.Error):
                    where = (names, params, outer)
                    loop, values = iterations(item, *where)
                    inside = replace(names, iterators={**names.iterators, loop.written: variable(loop.internal)})
                    body = self.block(trees.statements_of(item.stmt), inside, values, (*outer, loop.internal))
                    node = _loop(item, item.cond, item.next, body)
                    made[-1], step = node, amount(node.next) if counter(node.next) else 0
                    name, at = loop.written, variable(loop.internal)
                    if step > 1 and (first := self.first(body, name, step)) is not None:
                        images = (_image(values, loop.internal, at.add(integer(turn))) for turn in range(step))
                        rolled = _loop(node, node.cond, node.next, first)
                        before = (len(made) - 1, rolled, reduce(isl.Set.union, images))
                        start = node.init.decls[0].init if isinstance(node.init, c_ast.DeclList) else node.init.rvalue
                        turn = c_ast.BinaryOp(
                            "%", c_ast.BinaryOp("-", c_ast.ID(name), start), c_ast.Constant("int", str(step))
                        )
                        rounded = _put(trees.copied(node.cond), name, c_ast.BinaryOp("-", c_ast.ID(name), turn))
                        checks = (self.checked(*before[1:], cond, where) for cond in (node.cond, rounded))
                        made[-1] = next(filter(None, checks), node)
                    elif last and step == 1 and (gap := self.gap(last[1], node, name)) is not None:
                        at_first = affine(_expression(poly.plus({(name,): Fraction(1)}, gap)), inside)
                        more = _image(values, loop.internal, at_first)
                        back = _expression(poly.plus({(counter(last[1].next) or "",): Fraction(1)}, gap, -1))
                        whole = self.checked(
                            last[1], last[2].union(more), _put(trees.copied(node.cond), name, back), where
                        )
                        if whole and last[2].lex_ge_set(more).intersect_params(_usual(more, *where[1:])).is_empty():
                            made[last[0]] = whole
                            made.pop()
            elif not trees.is_name(getattr(item, "name", None), "assert"):
                before = None
        return made

    def first(self, body: Sequence[Any], name: str, count: int) -> list[Any] | None:
        """Return the first of ``count`` copies that ``body`` consists of; None if it does not."""
        moving = trees.assigned(body)
        if name in trees.names_in(_headers(body)) | moving or any(
            isinstance(node, _JUMPS) for node in trees.nodes(body)
        ):
            return None
        outside = {*(_uses(self.region) - _uses(body))}
        for items in (list(body), _without_loads(body, self.region, self.kinds)):
            found = [*_leaves(items)]
            if not found or (copies := _copies(found, name, count)) is None:
                continue
            parts, renamed = copies
            mine = [{*renamed[0]}, *({*names.values()} for names in renamed)]
            used = [{name for leaf in part for name in leaf.names} for part in parts]
            apart = not any(used[a] & mine[b] for a, b in itertools.permutations(range(count), 2))
            apart = apart and all({*names} == mine[0] and len({*names.values()}) == len(names) for names in renamed)
            own = (_own(names, part, outside, self.region) for names, part in zip(mine, parts, strict=True))
            places = {id(leaf.node): at for at, leaf in enumerate(found)}
            crossing = (  # those that change places share nothing that one of them sets
                _apart(name, one, other, moving)
                for two in itertools.combinations(parts, 2)
                for one, other in itertools.product(*two)
                if {*one.path} & {*other.path} or places[id(one.node)] > places[id(other.node)]
                for name in (one.sets & other.names) | (other.sets & one.names)
            )
            if apart and all(own) and all(crossing):
                return _kept(items, {id(leaf.node) for leaf in parts[0]})
        return None

    def gap(self, first: Any, rest: Any, other: str) -> poly.Polynomial | None:
        """Return by how much a loop's counter is behind if it does what the first does; None if it does not."""
        name, mine, theirs = counter(first.next) or "", [*_leaves([first])], [*_leaves([rest])]
        gaps: list[poly.Polynomial] = [{}]
        subscripts = [[n.subscript for n in trees.nodes([x]) if isinstance(n, c_ast.ArrayRef)] for x in (first, rest)]
        for left, right in zip(*subscripts, strict=False):
            value, wanted = _polynomial(left), _polynomial(right)
            if value and wanted and value.get((name,)) == 1 and len(gaps) == 1:
                gaps.append(poly.plus(wanted, poly.with_value(value, name, {(other,): Fraction(1)}), -1))
        bodies = [
            _kept(trees.statements_of(each.stmt), {id(e.node) for e in _leaves([each])}) for each in (first, rest)
        ]
        outside = {*(_uses(self.region) - (_uses(bodies[0]) | _uses(bodies[1])))}
        for gap in gaps:
            test = _Alike(name, poly.plus({(other,): Fraction(1)}, gap))
            if other not in poly.atoms(gap) and test.all(*bodies):
                ours, yours = {*test.renamed}, {*test.renamed.values()}
                own = _own(ours, mine, outside, self.region) and _own(yours, theirs, outside, self.region)
                return gap if own and len(ours | yours) == 2 * len(test.renamed) else None
        return None

    def checked(self, rolled: Any, points: isl.Set, cond: Any, where: tuple[Names, isl.Set, tuple[str, ...]]) -> Any:
        """Return the rolled loop under a condition if its iterations are exactly ``points``, else None."""
        made = _loop(
            rolled, cond, c_ast.UnaryOp("p++", c_ast.ID(counter(rolled.next))), trees.statements_of(rolled.stmt)
        )
        with suppress(InputError, isl.Error):
            loop, values = iterations(made, *where)
            mine, usual = _image(values, loop.internal, variable(loop.internal)), _usual(points, *where[1:])
            return made if mine.intersect_params(usual).is_equal(points.intersect_params(usual)) else None
        return None


def _usual(points: isl.Set, params: isl.Set, outer: tuple[str, ...]) -> isl.Set:
    """Return the parameters that are counted: sizes of one and more."""
    for at in range(points.dim(isl.dim_type.param)):
        if (name := points.get_dim_name(isl.dim_type.param, at)) not in outer:
            params = params.intersect(variable(name).ge_set(integer(1)))
    return params


def rerolled(region: Sequence[Any], kinds: Mapping[str, Any], names: Names) -> list[Any]:
    """Return the statements of a region with one loop for each that is unrolled by hand; others are as they were."""
    loops = (node for node in trees.nodes(region) if isinstance(node, c_ast.For) and counter(node.next))
    if not any(amount(node.next) > 1 for node in loops):
        return list(region)
    rolling = _Rolling(region, kinds, {*kinds} - names.data - names.written)
    universe = isl.Set.universe(isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 0))
    return rolling.block(region, replace(names, parameters={}, assumed=[], reached=None), universe)
