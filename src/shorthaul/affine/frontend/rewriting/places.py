"""Values of pointers and subscripts that walk: places in rows of arrays, as polynomials in the loops' counters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.expressions import c_text
from shorthaul.affine.frontend.polynomials import (
    Polynomial,
    atoms,
    in_c,
    number,
    plus,
    product_of,
    times,
    with_value,
)
from shorthaul.affine.frontend.rewriting.trees import copied, names_in, nodes

_TURNED = str.maketrans("<>", "><")


class StuckError(Exception):
    """A name whose value is not understood."""


@dataclass(frozen=True, slots=True)
class Value:
    """Where a pointer leads: a place in a row of an array; an integer has no array."""

    array: str
    rows: tuple[Polynomial, ...]
    place: Polynomial

    def moved(self, by: Polynomial) -> Value:
        """Return the place that lies further on."""
        return replace(self, place=plus(self.place, by))

    def atoms(self) -> set[str]:
        """Return the names that tell it."""
        return {self.array, *atoms(self.place)}.union(*map(atoms, self.rows))


class Hole(c_ast.Node):  # type: ignore[misc]
    """A polynomial in a tree, written out once all values are known."""

    __slots__ = ("coord", "name", "value")

    def __init__(self, name: str, value: Polynomial, coord: Any) -> None:
        self.name, self.value, self.coord = name, value, coord

    def children(self) -> tuple[Any, ...]:
        """Return no nodes."""
        return ()

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class Test(Hole):
    """A comparison with 0 of a value that goes with the number of iterations."""

    __slots__ = ("count", "op")

    def __init__(self, name: str, value: Polynomial, coord: Any, op: str, count: str) -> None:
        super().__init__(name, value, coord)
        self.op, self.count = op, count


class Place(c_ast.BinaryOp):  # type: ignore[misc]
    """Where a pointer leads, as a row and a place in it."""

    __slots__ = ()


def assumed(name: str, least: Polynomial, coord: Any) -> Any:
    """Return the assertion that a loop is not begun beyond its end."""
    test = c_ast.BinaryOp(">=", Hole(name, least, coord), c_ast.Constant("int", "0", coord), coord)
    return c_ast.FuncCall(c_ast.ID("assert", coord), c_ast.ExprList([test], coord), coord)


def is_pointer(kind: Any) -> bool:
    """True for the type of a pointer, or of an array."""
    return isinstance(kind, c_ast.PtrDecl | c_ast.ArrayDecl)


def is_read(node: Any) -> bool:
    """True for ``*p``."""
    return isinstance(node, c_ast.UnaryOp) and node.op == "*"


class Values:
    """The values of names that walk, as polynomials; what loops begin with is told when they have been run through."""

    def __init__(self, walkers: frozenset[str], kinds: Mapping[str, Any], first: Mapping[str, Any]) -> None:
        self.walkers, self.kinds = walkers, kinds
        self.values: dict[str, Value | None] = {}
        self.known: dict[str, Any] = {}  # names of expressions that are no polynomials
        self.members: dict[str, Any] = {}  # names of pointers in structures
        self.found: dict[str, Polynomial | None] = {}  # what unknown values are in the end
        self.counters: set[str] = set()
        self.idle: set[str] = set()  # numbers of iterations that no value needs
        self.signed: set[str] = set()  # quotients that may be negative
        for name in sorted(walkers):
            array = name if is_pointer(kinds.get(name)) else ""
            self.values[name] = Value(array, (), {} if array else {(name,): Fraction(1)})
        for name in sorted(walkers & first.keys()):
            self.values[name] = self.value(name, first[name])

    def expanded(self, value: Polynomial) -> Polynomial:
        """Return a polynomial without the unknown values that are told."""
        while special := sorted(atom for atom in atoms(value) if atom[0] in "@#" and self.found[atom] is not None):
            for atom in special:
                self.idle.discard(atom)
                value = with_value(value, atom, self.found[atom] or {})
        return value

    def told(self, hole: Hole) -> Polynomial:
        """Return the value of a hole once all is told that can be."""
        value = self.expanded(hole.value)
        if any(atom[0] in "@#" for atom in atoms(value)):
            raise StuckError(hole.name)
        return value

    def polynomial(self, node: Any) -> Polynomial:
        """Return an integer expression; what is none of sums and products is a name of its own."""
        if isinstance(node, Hole):
            return node.value
        if isinstance(node, c_ast.Cast):
            return self.polynomial(node.expr)
        if isinstance(node, c_ast.ID):
            value = self.at(node.name) if node.name in self.walkers else None
            return value.place if value is not None and not value.array else {(node.name,): Fraction(1)}
        if isinstance(node, c_ast.UnaryOp) and node.op in {"-", "+"}:
            return times(self.polynomial(node.expr), -1 if node.op == "-" else 1)
        if isinstance(node, c_ast.BinaryOp) and node.op in {"+", "-", "*"}:
            left, right = self.polynomial(node.left), self.polynomial(node.right)
            return product_of(left, right) if node.op == "*" else plus(left, right, 1 if node.op == "+" else -1)
        if isinstance(node, c_ast.Constant) and node.value.isdecimal():
            return number(int(node.value))
        for name in sorted(names_in([node]) & self.walkers):
            raise StuckError(name)
        for inner in nodes([node]):
            if isinstance(inner, Hole):
                raise StuckError(inner.name)
        text = c_text(node)
        self.known[text] = node
        return {(text,): Fraction(1)}

    def at(self, name: str) -> Value:
        """Return the value of a name that walks."""
        value = self.values.get(name)
        if value is None:
            raise StuckError(name)
        return value

    def value(self, name: str, node: Any) -> Value | None:
        """Return the value of an expression that ``name`` is set to."""
        if is_pointer(self.kinds.get(name)):
            return self.pointer(node)
        return Value("", (), self.polynomial(node))

    def pointer(self, node: Any) -> Value | None:
        """Return where a pointer leads; None if that is not understood."""
        if isinstance(node, c_ast.Cast):
            return self.pointer(node.expr)
        if isinstance(node, c_ast.ID):
            return self.at(node.name) if node.name in self.walkers else Value(node.name, (), {})
        if isinstance(node, c_ast.StructRef):
            return self._member(node)
        if isinstance(node, c_ast.UnaryOp) and node.op == "&" and isinstance(node.expr, c_ast.ArrayRef):
            return self._moved(self.pointer(node.expr.name), self.polynomial(node.expr.subscript))
        if isinstance(node, c_ast.ArrayRef) or is_read(node):
            inner, at = (node.expr, {}) if is_read(node) else (node.name, self.polynomial(node.subscript))
            found = self._moved(self.pointer(inner), at)
            return None if found is None else Value(found.array, (*found.rows, found.place), {})
        if isinstance(node, c_ast.BinaryOp) and node.op in {"+", "-"}:
            return self._moved(self.pointer(node.left), times(self.polynomial(node.right), 1 if node.op == "+" else -1))
        return None

    def _member(self, node: Any) -> Value | None:
        """Return where a pointer in a structure leads, ``g->u``; None if the structure is an element or walks."""
        whole = node
        while isinstance(whole, c_ast.StructRef):
            whole = whole.name
        if not isinstance(whole, c_ast.ID) or whole.name in self.walkers:
            return None
        text = c_text(node)
        self.known[text], self.members[text] = whole, node
        return Value(text, (), {})

    @staticmethod
    def _moved(value: Value | None, by: Polynomial) -> Value | None:
        return None if value is None else value.moved(by)

    def written(self, name: str, value: Value, coord: Any) -> Any:
        """Return a value as an expression."""
        place = Hole(name, value.place, coord)
        if not value.array:
            return place
        made: Any = copied(self.members[value.array]) if value.array in self.members else c_ast.ID(value.array, coord)
        for row in value.rows:
            made = c_ast.ArrayRef(made, Hole(name, row, coord), coord)
        return Place("+", made, place, coord)

    def forget(self, names: Set[str]) -> None:
        """Let values be unknown that are told by names that change."""
        for name, value in self.values.items():
            if value is not None and self.mentioned(value.atoms()) & names:
                self.values[name] = None

    def mentioned(self, found: Iterable[str]) -> set[str]:
        """Return the names in expressions."""
        return {name for atom in found for name in (names_in([self.known[atom]]) if atom in self.known else {atom})}

    def trips(self, test: Any, main: str, low: Polynomial, step: int) -> Polynomial | None:
        """Return how many iterations a loop has, if it does not begin beyond its end; None if that is not told."""
        if not isinstance(test, Test):
            return None
        rest = self.expanded(test.value)
        factor = rest.pop((main,), Fraction(0))
        rises = 1 if factor * step > 0 else -1
        op = test.op if rises > 0 else test.op.translate(_TURNED)
        by = abs(factor * step)
        if not by or main in atoms(rest) or op not in {"<", "<=", "!="} or (op == "!=" and by != 1):
            return None
        first = plus(rest, times(self.expanded(low), factor))
        way = plus(times(first, -rises), number(int(by) - (op != "<=")))  # by times the iterations, and less than by
        if any(value.denominator != 1 for value in (by, *way.values())):
            return None
        if not atoms(way):
            return number(max(0, math.floor(way.get((), 0) / by)))
        exact = {key: Fraction(math.floor(value / by)) for key, value in way.items() if key == () or value % by == 0}
        if exact.keys() == way.keys():
            return {key: value for key, value in exact.items() if value}
        return None if any(atom[0] in "@#" for atom in atoms(way)) else self.quotient(way, int(by))

    def quotient(self, way: Polynomial, by: int) -> Polynomial:
        """Return a quotient as C rounds it, a name of its own."""
        made = c_ast.BinaryOp("/", in_c(way, self.counters, self.known), c_ast.Constant("int", str(by)))
        text = c_text(made)
        self.known[text] = made
        if any(factor < 0 for factor in way.values()) or atoms(way) & (self.signed | self.counters):
            self.signed.add(text)
        return {(text,): Fraction(1)}

    def limit(self, test: Test, main: str) -> tuple[str, Polynomial] | None:
        """Return what a counter is compared with, and how; None if it has a factor."""
        rest = self.expanded(test.value)
        factor = rest.pop((main,), Fraction(0))
        if abs(factor) != 1 or main in atoms(rest):
            return None
        return test.op if factor > 0 else test.op.translate(_TURNED), times(rest, -factor)

    def filled(self, node: Any) -> Any:
        """Return a node, what stands for a value as an expression."""
        if not isinstance(node, Hole):
            return node
        value = self.told(node)
        if isinstance(node, Test):
            op, found = node.op, self.limit(node, node.count)
            sides = [{key: factor for key, factor in value.items() if factor > 0}]
            sides.append(plus(sides[0], value, -1))  # no difference, as those of unsigned integers are never below 0
            if found is not None:
                op, sides = found[0], [{(node.count,): Fraction(1)}, found[1]]
            elif {key for key in value if node.count in key} != {(node.count,)}:
                raise StuckError(node.name)
            made = c_ast.BinaryOp(op, *(in_c(side, self.counters, self.known) for side in sides))
        else:
            made = in_c(value, self.counters, self.known)
        for each in nodes([made]):
            each.coord = node.coord
        return made
