"""Statements on whole NumPy arrays as loops over their elements: products, sums, transposes, slices in steps.

``C = A @ B`` becomes an array C of zeros and three loops, ``s = np.sum(A[i, :])`` one loop, everything in Python's own
syntax, which is translated then. NumPy reads the whole right side first: where an element of the target may be read at
another place, an array of its own holds the values until all are known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from shorthaul.affine.frontend.python.array_pieces import (
    Lengths,
    View,
    constant_difference,
    in_place,
    index,
    is_new,
    is_sum,
    loaded,
    nest,
    on_arrays,
    outside_of_subscripts,
    placed,
    plus,
    reads_of,
    repeated,
    stored,
)
from shorthaul.affine.frontend.python.array_views import Views
from shorthaul.affine.frontend.python.axes import refuse_unclear_rows, refuse_unclear_stacks
from shorthaul.affine.frontend.python.pieces import base_of, copied, fail, names_in, new_extents, shape_of
from shorthaul.affine.frontend.python.row_names import without_row_names


def in_loops(function: ast.FunctionDef) -> ast.FunctionDef:
    r"""Return ``function`` with loops over elements in place of statements on whole arrays.

    >>> text = "def f(A, x, y):\n for i in range(len(A)):\n  y[i] = A[i, :] @ x[:]"
    >>> print(ast.unparse(in_loops(ast.parse(text).body[0])))
    def f(A, x, y):
        for i in range(len(A)):
            y[i] = 0.0
            for at_0 in range(A.shape[1]):
                y[i] += A[i, at_0] * x[at_0]
    """
    function = copied(function)
    ranks = Views(function).ranks
    without_row_names(function, ranks)
    refuse_unclear_rows(function, ranks)
    refuse_unclear_stacks(function, ranks)
    return _Lowering(function).lowered()


class _Lowering(Views):
    """Lowers one function."""

    def lowered(self) -> ast.FunctionDef:
        """Return the function, in which one length tells others that are equal to it."""
        self.function.body = self._block(self.function.body)
        Lengths(self.same).visit(self.function)
        return ast.fix_missing_locations(self.function)

    # -- statements

    def _block(self, items: Sequence[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for item in items:
            if isinstance(item, ast.For | ast.If | ast.While):
                item.body = self._block(item.body)
                item.orelse = self._block(item.orelse)
                result.append(item)
                continue
            self.at, self.before = item, []
            made = self._statement(item)
            result += [one if one is item else placed(one, item) for one in (*self.before, *made)]
        return result

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.Return) and node.value is not None and on_arrays(node.value):
            result = ast.Name(self.new_name("result"), ast.Store())
            setting = placed(ast.Assign([result], node.value), node)
            return [*self._statement(setting), placed(ast.Return(ast.Name(result.id, ast.Load())), node)]
        if not isinstance(node, ast.Assign | ast.AugAssign) or shape_of(node.value) or new_extents(node.value):
            return [node]
        target: ast.expr = node.targets[0] if isinstance(node, ast.Assign) else node.target
        several = isinstance(node, ast.Assign) and len(node.targets) > 1
        if several or not isinstance(target, ast.Name | ast.Subscript) or not self._has_to_be_lowered(node, target):
            return [node]
        return self._assigned(target, node.value, node.op if isinstance(node, ast.AugAssign) else None)

    def _has_to_be_lowered(self, node: ast.Assign | ast.AugAssign, target: ast.expr) -> bool:
        base, subscripts = base_of(target)
        if on_arrays(node) or not isinstance(base, ast.Name):
            return on_arrays(node)
        is_part = len(subscripts) < self.ranks.get(base.id, 0) and (subscripts or base.id in self.arguments | self.made)
        is_sliced = any(isinstance(item, ast.Slice) for item in ast.walk(node))
        whole = (item for item in outside_of_subscripts(node.value) if isinstance(item, ast.Name))
        return bool(is_part or is_sliced or any(self.ranks.get(item.id) for item in whole))

    def _assigned(
        self, target: ast.Name | ast.Subscript, value: ast.expr, operator: ast.operator | None
    ) -> list[ast.stmt]:
        """Return loops that assign ``value``; what it rests on is computed before."""
        base, _ = base_of(target)
        if not isinstance(base, ast.Name):
            fail(target, "is no element of a named array")
        new = isinstance(target, ast.Name) and target.id not in self.arguments | self.made
        own = None if new else self.view(loaded(target))
        reduced = self.reduction(value)
        if reduced is not None and operator is None and not any(item.id == base.id for item in names_in(value)):
            if new:
                self.make(base.id, reduced[0].lengths)
                own = self.view(ast.Name(base.id, ast.Load()))
            if own is not None and len(own.lengths) == len(reduced[0].lengths):
                self.equal(own.lengths, reduced[0].lengths)
                return self.summed(own, *reduced)
        view = self.view(value)
        if own is not None and own.lengths:
            self.require_numbers(
                ast.Tuple([item for item in outside_of_subscripts(value) if isinstance(item, ast.Name)])
            )
        if new:
            self._require_copy(base.id, value, view.lengths)
            self.make(base.id, view.lengths)
            own = self.view(ast.Name(base.id, ast.Load()))
        assert own is not None
        if len(view.lengths) > len(own.lengths) and ast.unparse(target) == f"{base.id}[:]":  # the whole of it
            self.note_axes(base.id, len(view.lengths))
            own = self.view(loaded(target))
        if len(view.lengths) > len(own.lengths):
            fail(self.at, "more axes are assigned than there are", "subscript the target by as many slices")
        self.equal(own.lengths, view.lengths)
        overlaps = any(
            not self._apart(target, item)
            for item in self._late(base.id, value)
            if item not in in_place(value) or ast.unparse(loaded(item)) != ast.unparse(loaded(target))
        )
        if overlaps and own.lengths:
            held = self.temporary(base.id, own.lengths)
            return [*self._elementwise(held, view, None), *self._elementwise(own, held, operator)]
        return self._elementwise(own, view, operator)

    def _require_copy(self, name: str, value: ast.expr, lengths: Sequence[ast.expr]) -> None:
        """Raise where a name is read of a part of an array, no copy, that has changed since, or is changed itself."""
        part = value
        while isinstance(part, ast.Subscript | ast.Attribute):
            part = part.value
        if not lengths or not isinstance(part, ast.Name):
            return
        begin = getattr(self.at, "lineno", 0)
        loops = [
            (item.lineno, item.end_lineno or 0)
            for item in ast.walk(self.function)
            if isinstance(item, ast.For | ast.While)
        ]
        later = [(first, last) for first, last in loops if first > begin]
        stored: dict[str, list[int]] = {name: [], part.id: []}
        for item in ast.walk(self.function):
            target: Any = item.target if isinstance(item, ast.AugAssign) and isinstance(item.target, ast.Name) else item
            root = base_of(target)[0] if isinstance(target, ast.Subscript | ast.Name) else None
            is_set = isinstance(getattr(target, "ctx", None), ast.Store) and (target is not root or target is not item)
            if isinstance(root, ast.Name) and root.id in stored and is_set:
                stored[root.id].append(target.lineno)
        reads = [item.lineno for item in names_in(self.function) if item.id == name and isinstance(item.ctx, ast.Load)]
        late = any(
            begin < line < read or any(first <= line <= last and first <= read <= last for first, last in later)
            for line in stored[part.id]
            for read in reads
        )
        own = range(self.function.lineno, (self.function.end_lineno or 0) + 1)  # called functions stand elsewhere
        late |= begin in own and any(line not in own for line in stored[part.id])
        if late or stored[name]:
            cure = f"write {ast.unparse(value)}.copy() for a copy, or the array itself"
            fail(self.at, f"{name} is a part of {part.id}, and one of both changes", cure)

    def _elementwise(self, target: View, value: View, operator: ast.operator | None) -> list[ast.stmt]:
        indices = self.along_axes(target.lengths)
        element, term = stored(target.element(indices)), value.element(repeated(value, indices))
        body: ast.stmt = ast.Assign([element], term) if operator is None else ast.AugAssign(element, operator, term)
        return nest(list(zip(indices, target.lengths, strict=True)), [body])

    # -- overlaps

    def _late(self, name: str, value: ast.expr) -> Iterator[ast.expr]:
        """Yield what is read of an array while elements are assigned: sums are computed before."""
        if isinstance(value, ast.Subscript | ast.Name):
            yield from reads_of(name, value)
        elif not is_sum(value):
            for part in ast.iter_child_nodes(value):
                if isinstance(part, ast.expr):
                    yield from self._late(name, part)

    def _apart(self, target: ast.expr, read: ast.expr) -> bool:
        """True if no element that is read is assigned."""
        (base, own), (_, other) = base_of(target), base_of(read)
        assert isinstance(base, ast.Name)
        lengths = [self.length(base.id, axis) for axis in range(self.ranks[base.id])]
        return any(
            self._never_equal(self._range(length, at, own), self._range(length, at, other))
            for at, length in enumerate(lengths)
        )

    def _range(self, length: ast.expr, axis: int, given: Sequence[ast.expr]) -> tuple[ast.expr, int, ast.expr]:
        subscripts = [item for item in given if not is_new(item)]
        item = subscripts[axis] if axis < len(subscripts) else ast.Slice()
        if not isinstance(item, ast.Slice):
            first = index(length, item)
            return first, 1, plus(first, ast.Constant(1))
        first, step, _ = self.slice_of(length, item)
        return first, step, length if item.upper is None else index(length, item.upper)

    @staticmethod
    def _never_equal(one: tuple[ast.expr, int, ast.expr], other: tuple[ast.expr, int, ast.expr]) -> bool:
        """True if two ranges (first, step, end) have no index in common, whatever the names are."""
        for a, b in ((one, other), (other, one)):
            gap = constant_difference(b[0], a[2])
            if a[1] > 0 and b[1] > 0 and gap is not None and gap >= 0:
                return True
        apart = constant_difference(one[0], other[0])
        return one[1] == other[1] > 1 and apart is not None and apart % one[1] != 0
