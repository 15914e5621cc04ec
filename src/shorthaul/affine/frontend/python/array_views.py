"""Expressions on whole NumPy arrays, element by element: slices, transposes, products and sums along axes."""

from __future__ import annotations

import ast
import copy
import string
from collections.abc import Sequence
from typing import Any

from shorthaul.affine.frontend.python.array_pieces import (
    MODULES,
    SUMS,
    Lengths,
    View,
    divided,
    index,
    is_array_operation,
    is_new,
    is_one,
    is_outer,
    is_shape,
    less,
    name_of,
    nest,
    plus,
    repeated,
    replaced,
    stored,
    subscript,
    times,
)
from shorthaul.affine.frontend.python.axes import least_axes, told_axes
from shorthaul.affine.frontend.python.pieces import (
    REALS,
    base_of,
    called_name,
    copied,
    fail,
    names_in,
    new_extents,
    number_of,
    shape_of,
)

#: The axes of a sum, its loops with their lengths, which are inside, the term at both, and how terms are joined.
_Sum = tuple[View, list[tuple[ast.expr, ast.expr]], str]


class Views:
    """The array expressions of one function; what they rest on is computed in statements ``before``."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.function = copied(function)
        self.ranks: dict[str, int] = {}
        self.known = {item.id for item in names_in(function)} | {item.arg for item in function.args.args}
        self.arguments = {item.arg for item in function.args.args}
        types = {item.arg: item.annotation for item in function.args.args if item.annotation is not None}
        self.numbers = {name for name, kind in types.items() if ast.unparse(kind) in REALS | {"int"}}
        for node in ast.walk(function):  # what limits loops, subscripts and conditions are integers
            asked = {ast.For: "iter", ast.Subscript: "slice", ast.If: "test", ast.While: "test"}.get(type(node))
            self.numbers |= set() if asked is None else {item.id for item in names_in(getattr(node, asked))}
        self.named: set[str] = set()  #: lengths that have a name
        self.same: dict[str, ast.expr] = {}  #: lengths that are equal to others, by their text
        self.made: set[str] = set()
        self.lengths: dict[str, tuple[ast.expr, ...]] = {}  #: of arrays that are made here
        self.before: list[ast.stmt] = []
        self.at: ast.stmt = function
        for node in ast.walk(function):
            self._note(node)
        for name, count in told_axes(function, self.ranks, self.numbers).items():
            self.note_axes(name, count)

    def _note(self, node: ast.AST) -> None:
        """Note how many axes an array has, as far as one node says it."""
        for name, count in least_axes(node):
            self.note_axes(name, count)
        if isinstance(node, ast.Attribute) and node.attr == "T" and isinstance(node.value, ast.Name):
            self.note_axes(node.value.id, 2)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and shape_of(node.value):
            array, axis = shape_of(node.value) or ("", 0)
            count = len(node.targets[0].elts) if axis is None else 0
            self.note_axes(array, count)
            names = [item.id if isinstance(item, ast.Name) else "" for item in node.targets[0].elts[:count]]
            self.named |= {f"{array}.shape[{at}]" for at, name in enumerate(names) if name != "_"}
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and shape_of(node.value):
            array, axis = shape_of(node.value) or ("", 0)
            self.named.add(f"{array}.shape[{axis}]")
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and new_extents(node.value):
            self.made.add(node.targets[0].id)
            self.note_axes(node.targets[0].id, len(new_extents(node.value) or []))
        elif isinstance(node, ast.Call) and called_name(node) == "roll" and node.args:
            named = (item.value for item in node.keywords if item.arg == "axis")
            axis = number_of(next(iter((*node.args[2:], *named)), ast.Constant(0)))
            if isinstance(node.args[0], ast.Name) and axis is not None:
                self.note_axes(node.args[0].id, axis + 1 if axis >= 0 else -axis)
        elif isinstance(node, ast.Call) and called_name(node) == "einsum" and isinstance(node.args[0], ast.Constant):
            for text, item in zip(str(node.args[0].value).split("->")[0].split(","), node.args[1:], strict=False):
                if isinstance(item, ast.Name):
                    self.note_axes(item.id, len(text.strip().replace("...", "")))

    def note_axes(self, name: str, count: int) -> None:
        """Note that an array has ``count`` axes at least."""
        if count:
            self.ranks[name] = max(count, self.ranks.get(name, 0))

    def make(self, name: str, lengths: Sequence[ast.expr]) -> None:
        """Note a new array, and make it; its extents follow from what is accessed where they change in loops."""
        self.made.add(name)
        if not lengths:
            return
        self.note_axes(name, len(lengths))
        self.lengths[name] = tuple(lengths)
        fixed = self._plain_names()
        shape = [item if all(one.id in fixed for one in names_in(item)) else ast.Constant(None) for item in lengths]
        maker = ast.Attribute(ast.Name("np", ast.Load()), "empty", ast.Load())
        call = ast.Call(maker, [ast.Tuple(shape, ast.Load())], [])
        self.before.append(ast.Assign([ast.Name(name, ast.Store())], call))

    def _plain_names(self) -> set[str]:
        """Return names that do not change in loops."""
        loops = (item.target for item in ast.walk(self.function) if isinstance(item, ast.For))
        steps = (item.target for item in ast.walk(self.function) if isinstance(item, ast.AugAssign))
        counted = {item.id for item in steps if isinstance(item, ast.Name)} & self.numbers
        return self.known - counted - {item.id for item in loops if isinstance(item, ast.Name)}

    def temporary(self, word: str, lengths: Sequence[ast.expr]) -> View:
        """Return an array of its own, or a number."""
        name = self.new_name(word)
        self.make(name, lengths)
        if not lengths:
            return View((), lambda _: ast.Name(name, ast.Load()))
        return View(tuple(lengths), lambda at: subscript(name, at))

    def new_name(self, word: str) -> str:
        """Return a name that is not in use."""
        number = 0
        while (name := f"{word}_{number}" if number or word != "result" else word) in self.known:
            number += 1
        self.known.add(name)
        return name

    def along_axes(self, lengths: Sequence[ast.expr]) -> list[ast.expr]:
        """Return indices along axes, 0 where there is one element."""
        names = self._indices(len(lengths))
        return [ast.Constant(0) if is_one(length) else item for item, length in zip(names, lengths, strict=True)]

    def _indices(self, count: int, start: int = 0) -> list[ast.expr]:
        return [ast.Name(f"at_{start + at}", ast.Load()) for at in range(count)]

    def view(self, node: ast.expr) -> View:
        """Return an expression element by element; sums inside of it are computed before."""
        if isinstance(node, ast.Call) and is_array_operation(node) and self._called(node)[0] == "mean":
            return self._mean(node)
        reduced = self.reduction(node)
        if reduced is not None:
            held = self.temporary("sum", reduced[0].lengths)
            self.before += self.summed(held, *reduced)
            return held
        if isinstance(node, ast.Attribute) and node.attr == "T":
            return self._across(node.value)
        if isinstance(node, ast.Call) and called_name(node) == "transpose" and len(node.args) == 1:
            return self._across(node.args[0])
        if is_outer(node):
            first, second = map(self.view, node.args)  # type: ignore[attr-defined]
            return View(
                (*first.lengths, *second.lengths),
                lambda at: ast.BinOp(first.element(at[:1]), ast.Mult(), second.element(at[1:])),
            )
        if isinstance(node, ast.Call) and called_name(node) == "roll":
            return self._rolled(node)
        base, subscripts = base_of(node)
        if shape_of(node) is None and (subscripts or isinstance(base, ast.Name)):
            whole = self._whole(base.id) if isinstance(base, ast.Name) else self.view(base)
            if whole.lengths:
                return self._part(whole, subscripts)
        return self._mapped(node)

    def _mapped(self, node: ast.expr) -> View:
        """Return an elementwise operation on what the parts of an expression are."""
        if isinstance(node, ast.Constant | ast.Name) or shape_of(node) is not None:
            return View((), lambda _: node)
        fields = ("left", "right", "operand", "test", "body", "orelse", "values", "comparators", "args")
        if isinstance(node, ast.Call) and node.keywords:
            fail(node, "the call is not understood", "write out what the function does")
        views: dict[str, Any] = {}
        for name in fields:
            part = getattr(node, name, None)
            if isinstance(part, list):
                views[name] = [self.view(item) for item in part]
            elif part is not None:
                views[name] = self.view(part)
        parts = [item for found in views.values() for item in (found if isinstance(found, list) else [found])]
        lengths: tuple[ast.expr, ...] = ()
        if any(item.lengths for item in parts):
            lengths = self._broadcast([item.lengths for item in parts])
            self.require_numbers(node)

        def element(at: Sequence[ast.expr]) -> ast.expr:
            made = copy.copy(node)

            def one(view: View) -> ast.expr:
                return view.element(repeated(view, at))

            for name, found in views.items():
                setattr(made, name, [one(item) for item in found] if isinstance(found, list) else one(found))
            return made

        return View(lengths, element)

    def require_numbers(self, node: ast.AST) -> None:
        """Raise for arguments beside arrays that may be arrays too."""
        for item in ast.iter_child_nodes(node):
            if isinstance(item, ast.Name) and item.id in self.arguments - self.numbers and not self.ranks.get(item.id):
                cure = f"write {item.id}[:] for an array, '{item.id}: float' in the function's head for a number"
                fail(item, f"{item.id} may be an array or a number", cure)

    def _across(self, node: ast.expr) -> View:
        inner = self.view(node)
        return View(inner.lengths[::-1], lambda at: inner.element(at[::-1]))

    def _rolled(self, node: ast.Call) -> View:
        """Return what ``np.roll`` by a number along one axis moves around."""
        options = {item.arg: item.value for item in node.keywords}
        given = [*node.args, *(options.pop(name) for name in ("shift", "axis") if name in options)]
        view = self.view(given[0]) if given else View((), lambda _: node)
        by, axis, *_ = [*map(number_of, given[1:]), 0 if len(view.lengths) == 1 else None, None]
        if by is None or axis is None or options or not 2 <= len(given) <= 3 or not view.lengths:
            fail(node, "the roll is not understood", "roll by a number along one axis, np.roll(A, 1, axis=0)")
        axis %= len(view.lengths)
        length = view.lengths[axis]

        def element(at: Sequence[ast.expr]) -> ast.expr:
            moved = plus(at[axis], ast.Constant(-by))
            is_inside = (
                ast.Compare(at[axis], [ast.GtE()], [ast.Constant(by)])
                if by > 0
                else ast.Compare(at[axis], [ast.Lt()], [plus(length, ast.Constant(by))])
            )
            around = plus(moved, length) if by > 0 else less(moved, length)
            return view.element([*at[:axis], ast.IfExp(is_inside, moved, around), *at[axis + 1 :]])

        return view if by == 0 else View(view.lengths, element)

    def _whole(self, name: str) -> View:
        """Return all elements of an array, no axes for a number."""
        lengths = tuple(self.length(name, axis) for axis in range(self.ranks.get(name, 0)))
        return View(lengths, lambda at: subscript(name, at) if at else ast.Name(name, ast.Load()))

    def _part(self, whole: View, subscripts: Sequence[ast.expr]) -> View:
        """Return the elements that slices choose."""
        given = [*subscripts, *[ast.Slice()] * (len(whole.lengths) - sum(not is_new(item) for item in subscripts))]
        axis = 0
        lengths: list[ast.expr] = []
        places: list[tuple[ast.expr, int | None] | None] = []
        for item in given:
            if is_new(item):
                lengths.append(ast.Constant(1))
                places.append(None)
                continue
            if isinstance(item, ast.Slice):
                first, step, length = self.slice_of(whole.lengths[axis], item)
                lengths.append(length)
                places.append((first, step))
            else:
                places.append((index(whole.lengths[axis], item), None))
            axis += 1

        def element(at: Sequence[ast.expr]) -> ast.expr:
            left, found = list(at), []
            for place in places:
                if place is None:
                    left.pop(0)
                elif place[1] is None:
                    found.append(place[0])
                else:
                    found.append(plus(place[0], times(left.pop(0), place[1])))
            return whole.element(found)

        return View(tuple(lengths), element)

    def slice_of(self, whole: ast.expr, item: ast.Slice) -> tuple[ast.expr, int, ast.expr]:
        """Return the first index, the step and the length of a slice of an axis."""
        step = 1 if item.step is None else number_of(item.step)
        if step is None or step == 0 or (step < 0 and (item.lower, item.upper) != (None, None)):
            cure = "write the loop over range(first, end, step)"
            fail(item.step or self.at, "the slice's step is not understood", cure)
        assert step is not None
        if step < 0:
            return plus(whole, ast.Constant(-1)), step, divided(whole, -step)
        first = ast.Constant(0) if item.lower is None else index(whole, item.lower)
        end = whole if item.upper is None else index(whole, item.upper)
        return first, step, divided(less(end, first), step)

    def length(self, name: str, axis: int) -> ast.expr:
        """Return the length of an axis."""
        if name in self.lengths:
            if axis >= len(self.lengths[name]):
                fail(self.at, f"{name} has {len(self.lengths[name])} axes and more subscripts", "leave out some")
            return self.lengths[name][axis]
        shape = ast.Attribute(ast.Name(name, ast.Load()), "shape", ast.Load())
        length: ast.expr = ast.Subscript(shape, ast.Constant(axis), ast.Load())
        while (text := ast.unparse(length)) in self.same:
            length = self.same[text]
        return length

    def equal(self, some: Sequence[ast.expr], others: Sequence[ast.expr]) -> None:
        """Note that axes are equally long, the last ones of both: a length with a name tells the other one."""
        for both in zip(reversed(some), reversed(others), strict=False):
            one, other = (Lengths(self.same).visit(copied(item)) for item in both)
            for known, told in ((one, other), (other, one)):
                text = ast.unparse(told)
                if is_shape(told) and text not in self.named and not is_one(known) and text not in ast.unparse(known):
                    self.same[text] = known
                    break

    def _broadcast(self, shapes: Sequence[Sequence[ast.expr]]) -> tuple[ast.expr, ...]:
        most = max(shapes, key=len)
        result = list(most)
        for other in shapes:
            self.equal(most, other)
            for at in range(1, len(other) + 1):
                if is_one(result[-at]):
                    result[-at] = other[-at]
        return tuple(result)

    # -- sums

    def reduction(self, node: ast.expr) -> _Sum | None:
        """Return what a sum along axes is: its axes, the loops inside, the term at them, and which kind; or None."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return self._product(self.view(node.left), self.view(node.right), node)
        if not isinstance(node, ast.Call) or not is_array_operation(node):
            return None
        name, arguments = self._called(node)
        if name == "einsum":
            return self._einsum(node, arguments)
        if name in {"dot", "matmul", "inner", "vdot"} and len(arguments) == 2:
            return self._product(self.view(arguments[0]), self.view(arguments[1]), node)
        if name not in SUMS or name == "mean" or len(arguments) not in {1, 2}:
            return None
        return self._along(node, name, arguments)

    def _mean(self, node: ast.Call) -> View:
        """Return the sum over the number of its terms."""
        assert isinstance(node.func, ast.Attribute)
        summed = copied(node)
        summed.func.attr = "sum"  # type: ignore[attr-defined]
        value, loops, *_ = self._along(summed, *self._called(summed))
        held = self.temporary("sum", value.lengths)
        self.before += self.summed(held, value, loops, "sum")
        number = loops[0][1]
        for _, length in loops[1:]:
            number = ast.BinOp(number, ast.Mult(), length)
        return View(held.lengths, lambda at: ast.BinOp(held.element(at), ast.Div(), number))

    def _called(self, node: ast.Call) -> tuple[str, list[ast.expr]]:
        """Return the name and the arguments of a function or a method."""
        assert isinstance(node.func, ast.Attribute)
        of_module = isinstance(node.func.value, ast.Name) and node.func.value.id in MODULES
        return node.func.attr, [*([] if of_module else [node.func.value]), *node.args]

    def _along(self, node: ast.Call, name: str, arguments: list[ast.expr]) -> _Sum:
        options = {item.arg: item.value for item in node.keywords}
        if not arguments:
            fail(node, "is a sum of nothing", "sum an array, np.sum(A, axis=1)")
        axis = arguments[1] if len(arguments) == 2 else options.pop("axis", None)
        kept = options.pop("keepdims", None)
        view = self.view(arguments[0])
        number = None if axis is None else number_of(axis)
        if not view.lengths:
            cure = "name its extents, as in n, m = x.shape, or write x[:] for a vector"
            fail(arguments[0], "nothing tells how many axes it has, of which a sum is taken", cure)
        if options or (axis is not None and number is None):
            fail(node, "the sum along axes is not understood", "sum along one axis or all, np.sum(A, axis=1)")
        rank = len(view.lengths)
        if number is not None and not -rank <= number < rank:
            fail(node, f"an array of axes 0 to {rank - 1} is summed along another one", "count axes from 0")
        inside = range(rank) if number is None else [number % rank]
        loops = self._indices(len(inside), rank)
        outer = [at for at in range(rank) if at not in inside]
        held = kept is not None and ast.unparse(kept) == "True"
        lengths = [ast.Constant(1) if at in inside else view.lengths[at] for at in range(rank) if held or at in outer]

        def term(at: Sequence[ast.expr]) -> ast.expr:
            own = list(at)
            found = []
            for place in range(rank):
                if place in inside:
                    found.append(loops[list(inside).index(place)])
                    if held:
                        own.pop(0)
                else:
                    found.append(own.pop(0))
            return view.element(found)

        return View(tuple(lengths), term), [(loops[n], view.lengths[at]) for n, at in enumerate(inside)], SUMS[name]

    def _product(self, first: View, second: View, node: ast.expr) -> _Sum:
        for item in (first, second):
            if not 1 <= len(item.lengths) <= 2:
                cure = "say how many axes: x[:] for a vector, A[:, :] for a matrix"
                fail(node, "is a product of arrays of which axes are not known, or of more than two axes", cure)
        rows, columns = len(first.lengths) - 1, len(second.lengths) - 1
        loop = self._indices(1, rows + columns)
        self.equal(first.lengths[-1:], second.lengths[:1])

        def term(at: Sequence[ast.expr]) -> ast.expr:
            return ast.BinOp(
                first.element([*at[:rows], *loop]), ast.Mult(), second.element([*loop, *at[rows : rows + columns]])
            )

        lengths = (*first.lengths[:rows], *second.lengths[1:])
        return View(lengths, term), [(loop[0], first.lengths[-1])], "sum"

    def _einsum(self, node: ast.Call, arguments: list[ast.expr]) -> _Sum:
        text = str(arguments[0].value) if isinstance(arguments[0], ast.Constant) else ""
        left, arrow, right = text.replace(" ", "").partition("->")
        parts, views = left.split(","), [self.view(item) for item in arguments[1:]]
        free = [item for item in string.ascii_letters if item not in text][:10]
        shared = [len(view.lengths) + 3 - len(part) for part, view in zip(parts, views, strict=False) if "..." in part]
        dots, named = "".join(free[: max(shared, default=0)]), text.replace("...", free[0])
        if shared and min(shared) < 1:
            fail(node, "nothing tells which axes the dots stand for", f"name the shapes, or the axis: '{named}'")
        spread = (dots[len(part) - 3 - len(view.lengths) :] for part, view in zip(parts, views, strict=False))
        parts = [part.replace("...", one) for part, one in zip(parts, spread, strict=False)]
        letters = "".join(parts)
        once = "".join(sorted({item for item in letters if letters.count(item) == 1 and item not in dots}))
        right = right.replace("...", dots) if arrow else dots + once
        fits = len(parts) == len(views) and all(
            len(part) == len(view.lengths) for part, view in zip(parts, views, strict=False)
        )
        if not fits or not letters.isalpha() or not set(right) <= set(letters) or node.keywords:
            fail(node, "the subscripts of einsum are not understood", "one letter per axis: 'ij,jk->ik'")
        lengths: dict[str, ast.expr] = {}
        for part, view in zip(parts, views, strict=True):
            for letter, length in zip(part, view.lengths, strict=True):
                self.equal([lengths.setdefault(letter, length)], [length])
        inside = [item for item in dict.fromkeys(letters) if item not in right]
        loops = dict(zip(inside, self._indices(len(inside), len(right)), strict=True))

        def term(at: Sequence[ast.expr]) -> ast.expr:
            where = {**loops, **dict(zip(right, at, strict=True))}
            found = [view.element([where[item] for item in part]) for part, view in zip(parts, views, strict=True)]
            result = found[0]
            for item in found[1:]:
                result = ast.BinOp(result, ast.Mult(), item)
            return result

        made = View(tuple(lengths[item] for item in right), term)
        return made, [(loops[item], lengths[item]) for item in inside], "sum"

    def summed(
        self, target: View, value: View, loops: Sequence[tuple[ast.expr, ast.expr]], kind: str
    ) -> list[ast.stmt]:
        """Return the loops of a sum."""
        indices = self.along_axes(value.lengths)
        element, term = target.element(indices), value.element(indices)
        if not loops:
            body: list[ast.stmt] = [ast.Assign([stored(element)], term)]
        elif kind in {"max", "min"}:
            start = replaced(term, {name_of(at): ast.Constant(0) for at, _ in loops})
            most = ast.Call(ast.Name(kind, ast.Load()), [element, term], [])
            body = [ast.Assign([stored(element)], start), *nest(loops, [ast.Assign([stored(element)], most)])]
        else:
            first = ast.Constant(0.0 if kind == "sum" else 1.0)
            operator = ast.Add() if kind == "sum" else ast.Mult()
            body = [
                ast.Assign([stored(element)], first),
                *nest(loops, [ast.AugAssign(stored(element), operator, term)]),
            ]
        return nest(list(zip(indices, value.lengths, strict=True)), body)
