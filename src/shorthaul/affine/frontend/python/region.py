"""Loops of a Python function on NumPy arrays as a region in C; the file is parsed and never run.

``for i in range(n)`` becomes a loop of C, ``A[i, k]`` an element, ``n, m = A.shape`` the names of extents, a slice
``A[1:-1] = ...`` a loop over it. Places of nodes are those of the Python file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from shorthaul.affine.frontend.parser import Region, Signature
from shorthaul.affine.frontend.preprocess import Preprocessed
from shorthaul.affine.frontend.python.array_pieces import on_arrays
from shorthaul.affine.frontend.python.arrays import in_loops
from shorthaul.affine.frontend.python.makers import in_usual_words, with_constants
from shorthaul.affine.frontend.python.pieces import (
    KEYWORDS,
    NEW,
    NUMBERS,
    REALS,
    array_type,
    as_real,
    assigned_names,
    base_of,
    call_of,
    called_name,
    coord_of,
    fail,
    is_integer,
    is_test,
    is_text,
    minus,
    names_in,
    new_extents,
    number_of,
    one_of,
    shape_of,
)
from shorthaul.affine.frontend.rewriting.choices import with_conditions_kept
from shorthaul.affine.frontend.rewriting.counting import with_moves_apart
from shorthaul.affine.frontend.rewriting.exchanges import without_exchanges
from shorthaul.affine.frontend.rewriting.structures import declaration_of, free_name, loop_of, scalar_type
from shorthaul.affine.frontend.rewriting.trees import joined
from shorthaul.affine.frontend.rewriting.trees import names_in as names_of_c
from shorthaul.affine.frontend.rewriting.trees import nodes as nodes_of_c
from shorthaul.affine.frontend.rewriting.values import value_at_end
from shorthaul.affine.frontend.rewriting.walking import without_walking
from shorthaul.core.errors import InputError, unknown_name

_MATHS = {"abs": "fabs", "absolute": "fabs", "maximum": "fmax", "minimum": "fmin", "power": "pow", "float": ""}
_EXTREMES = {"min": "fmin", "max": "fmax"}
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def python_region(text: str, *, function: str | None = None) -> Region:
    """Return the region of ``function`` (of the only one that has loops, if None) in the Python source ``text``.

    Raises :class:`InputError` with line and column for wrong syntax and for what is no loop nest on arrays.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
        told = getattr(error, "msg", None) or str(error)
        cure = "correct it: 'python FILE' shows the same error"
        raise InputError(f"is not Python: {told}", place=f"line {line} column {column}", cure=cure) from None
    except MemoryError:  # so Python's parser calls what is nested too deeply
        raise RecursionError from None
    chosen = with_constants(_chosen(tree, function), tree.body)
    functions = [item for item in tree.body if isinstance(item, ast.FunctionDef) and item.name != chosen.name]
    others = [with_constants(item, tree.body) for item in functions]
    return _Translator(tree, in_loops(in_usual_words(chosen, others))).region(text)


def _chosen(tree: ast.Module, function: str | None) -> ast.FunctionDef:
    known = {item.name: item for item in tree.body if isinstance(item, ast.FunctionDef)}
    if function is not None:
        if function not in known:
            raise unknown_name("function", function, known, place="--function")
        return known[function]
    kinds = (ast.For | ast.Slice, ast.While)  # the latter are refused, with their place
    having = [[item for item in known.values() if any(isinstance(n, kind) for n in ast.walk(item))] for kind in kinds]
    having.insert(1, list(filter(on_arrays, known.values())))
    found = next(filter(None, having), [])
    if not found:
        raise InputError("has no function with loops", cure="write a function around the loop nest")
    calls = {(item.name, called_name(node)) for item in found for node in ast.walk(item) if isinstance(node, ast.Call)}
    called = {name for caller, name in calls if name != caller}
    found = [item for item in found if item.name not in called] or found
    if len(found) > 1:
        names = ", ".join(item.name for item in found)
        raise InputError("several functions have loops", value=names, cure="choose one with --function")
    return found[0]


class _Translator:
    """Translates one function."""

    def __init__(self, tree: ast.Module, function: ast.FunctionDef) -> None:
        self.function = function
        self.arguments = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
        self.globals = {
            target.id: item.value.value
            for item in tree.body
            if isinstance(item, ast.Assign) and isinstance(item.value, ast.Constant) and type(item.value.value) is int
            for target in item.targets
            if isinstance(target, ast.Name)
        }
        self.axes: dict[str, int] = {}  #: array -> number of its axes
        self.extents: dict[tuple[str, int], Any] = {}  #: (array, axis) -> its extent in C
        self.sizes: dict[str, None] = {}  #: names of extents
        self.made: dict[str, None] = {}  #: arrays made in the function
        self.indices: set[str] = set()
        self.assigned: dict[str, int] = {}
        self.counted: dict[str, ast.stmt] = {}  #: integers that are assigned several times
        self.whiles: dict[int, ast.While] = {}  #: by their lines
        self.value_name, self.value_kind = "", "double"  #: of what is returned
        self.given: list[str] = []  #: what is returned with others
        self.exchanged: dict[str, ast.stmt] = {}  #: names of what arrays were before they changed places
        self._survey()
        for name in {*self.arguments, *self.assigned} & self.globals.keys():
            del self.globals[name]

    def region(self, source: str) -> Region:
        """Return the whole function."""
        items = self.block(self.function.body, outermost=True)
        scalars = [name for name in self.assigned if name not in self.axes and name not in {*self.indices, *self.sizes}]
        scalars = [name for name in scalars if name not in {*self.arguments, *self.given}]
        local = [declaration_of(name, scalar_type(name, "double")) for name in scalars]
        arrays = {
            name: array_type(name, [self.extents.get((name, at)) for at in range(self.axes[name])])
            for name in self.axes
        }
        integers = [name for name in self.arguments if name in self.indices]
        declarations = {name: scalar_type(name, "int") for name in dict.fromkeys([*self.sizes, *integers])}
        for name in (*self.arguments, *self.made, *self.given):
            if name not in declarations:
                declarations[name] = arrays.get(name) or scalar_type(name, "double")
        if self.value_name:
            declarations[self.value_name] = scalar_type(self.value_name, self.value_kind)
        if not items:
            fail(self.function, "the function has no loops")
        unknown = self._annotated({"np.ndarray", "numpy.ndarray"}) & names_of_c(items) - self.axes.keys()
        for name in sorted(unknown):
            fail(self.function, f"nothing tells how many axes {name} has", f"write n, m = {name}.shape first")
        items = self.counted_out(without_exchanges(items, declarations, {}), declarations)
        for name, node in self.exchanged.items():
            if name in names_of_c(items):
                cure = "let arrays change places in loops alone, under no condition, the same ones in the same way"
                fail(node, "several arrays are assigned at once", cure)
        own = frozenset(name for name in self.arguments if name not in self.axes)
        made, value = value_at_end(self.value_name, [*local, *items], declarations)
        made = with_conditions_kept(made, {*declarations, *self.assigned})
        kept, kind = "" if value in self.arguments else value, declarations.get(self.value_name)
        text = Preprocessed(tuple(source.splitlines()), self.globals, ())
        signature = Signature((), own, value=value, local=kept, kind=kind)
        return Region(self.function.name, tuple(made), declarations, {}, text, {}, {}, signature, counts_from_end=True)

    def counted_out(self, items: list[Any], declarations: dict[str, Any]) -> list[Any]:
        """Return statements with values in place of the integers that they count."""
        if not self.counted and not self.whiles:
            return items
        targets = {
            name.id for loop in ast.walk(self.function) if isinstance(loop, ast.For) for name in names_in(loop.target)
        }
        made = without_walking(with_moves_apart(items), declarations, {}, self.counted.keys() - targets)
        for loop in nodes_of_c(made):
            if isinstance(loop, c_ast.While):
                self.refuse_while(self.whiles[loop.coord.line])
        for name, node in self.counted.items():
            if name in names_of_c(made):
                fail(node, f"the integer {name} is assigned several times", "use iterators and sizes in subscripts")
        return made

    def _survey(self) -> None:
        for node in ast.walk(self.function):
            if isinstance(node, ast.While):
                self._tested(node)
            if isinstance(node, ast.Subscript):
                self._subscripted(node)
            elif isinstance(node, ast.For):
                self.indices |= {inner.id for part in (node.target, node.iter) for inner in names_in(part)}
            elif isinstance(node, ast.Assign):
                self._defined(node)
            elif isinstance(node, ast.If | ast.IfExp):
                asked = {inner.id for inner in names_in(node.test)}
                self.indices |= asked & set(self.arguments) - self._annotated(REALS)
            for target in assigned_names(node):
                self.assigned[target] = self.assigned.get(target, 0) + 1
        self._follow_indices()
        self.indices -= {"range", "reversed", "len", "min", "max", *self.axes}
        for name in (*self.arguments, *self.assigned):
            if name in KEYWORDS:
                fail(self.function, f"{name} is a word of C", "rename it")

    def _tested(self, node: ast.While) -> None:
        """Note as integers what a while loop tests if it counts one of them."""
        asked = {inner.id for inner in names_in(node.test)}
        steps = [
            item
            for item in ast.walk(node)
            if isinstance(item, ast.AugAssign | ast.Assign)
            for value in [item.value]
            if number_of(value.right if isinstance(value, ast.BinOp) and isinstance(item, ast.Assign) else value)
        ]
        if node.orelse or not asked & {name for item in steps for name in assigned_names(item)}:
            self.refuse_while(node)
        self.indices |= asked

    @staticmethod
    def refuse_while(node: ast.While) -> None:
        """Raise for a while loop that counts nothing."""
        fail(node, "a while loop is not static control", "write it as a for loop over a range")

    def _follow_indices(self) -> None:
        """Note as integers what the integers of subscripts, limits and conditions are computed from."""
        count = -1
        while count < len(self.indices):
            count = len(self.indices)
            for node in ast.walk(self.function):
                if isinstance(node, ast.Assign) and {*assigned_names(node)} & self.indices and not shape_of(node.value):
                    self.indices |= {item.id for item in names_in(node.value)}

    def _annotated(self, types: set[str]) -> set[str]:
        """Return the arguments whose annotation is one of ``types``."""
        given = (*self.function.args.posonlyargs, *self.function.args.args)
        return {item.arg for item in given if item.annotation is not None and ast.unparse(item.annotation) in types}

    def _subscripted(self, node: ast.Subscript) -> None:
        base, subscripts = base_of(node)
        for item in subscripts:
            self.indices |= {inner.id for inner in names_in(item)}
        if isinstance(base, ast.Name):
            self.axes[base.id] = max(self.axes.get(base.id, 0), len(subscripts))

    def _defined(self, node: ast.Assign) -> None:
        """Note the names of extents, and arrays that are made."""
        value, target = node.value, node.targets[0]
        shape = shape_of(value)
        if shape is not None:
            array, axis = shape
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            if axis is None and isinstance(target, ast.Name):
                fail(node, "a shape is given one name", "name every extent: n, m = A.shape")
            for at, item in enumerate(names):
                if not isinstance(item, ast.Name):
                    fail(node, "an extent has no name", "name every extent: n, m = A.shape")
                place = (array, at if axis is None else axis)
                if item.id == "_":  # not used
                    continue
                if item.id in self.arguments:
                    fail(node, f"{item.id} is an argument and an extent", "give the extent another name")
                self.sizes[item.id] = None
                self.indices.add(item.id)
                self.extents.setdefault(place, c_ast.ID(item.id, coord_of(item)))
            if axis is None:
                self.axes[array] = max(self.axes.get(array, 0), len(names))
        elif new_extents(value) is not None and isinstance(target, ast.Name):
            shapes = new_extents(value) or []
            self.made[target.id] = None
            self.axes[target.id] = len(shapes)
            self.indices |= {inner.id for item in shapes for inner in names_in(item)}

    def extent(self, array: str, axis: int, node: Any) -> Any:
        """Return the extent of an array in C: as the function names it, or a parameter ``A_0`` of its own."""
        if (array, axis) not in self.extents:
            name = free_name(f"{array}_{axis}", {**self.axes, **self.assigned, **dict.fromkeys(self.arguments)})
            self.sizes[name] = None
            self.extents[array, axis] = c_ast.ID(name, coord_of(node))
        return self.extents[array, axis]

    # -- statements

    def block(self, items: Sequence[ast.stmt], *, outermost: bool = False) -> list[Any]:
        """Return statements in C."""
        result: list[Any] = []
        for item in items:
            if isinstance(item, ast.Return):
                if not outermost or item is not items[-1]:
                    fail(item, "return is not static control", "let the function return at its end only")
                result += self.returned(item)
            elif isinstance(item, ast.For):
                result.append(self.loop(item))
            elif isinstance(item, ast.While):
                self.whiles[item.lineno] = item
                test, body = self.value(item.test, index=True), c_ast.Compound(self.block(item.body), coord_of(item))
                result.append(c_ast.While(test, body, coord_of(item)))
            elif isinstance(item, ast.If):
                other = c_ast.Compound(self.block(item.orelse)) if item.orelse else None
                then = c_ast.Compound(self.block(item.body))
                result.append(c_ast.If(self.value(item.test, index=True), then, other, coord_of(item)))
            elif isinstance(item, ast.Assign | ast.AugAssign | ast.AnnAssign):
                result += self.assignment(item)
            elif isinstance(item, ast.Continue | ast.Break):
                result.append((c_ast.Continue if isinstance(item, ast.Continue) else c_ast.Break)(coord_of(item)))
            elif isinstance(item, ast.With | ast.Try):
                fail(item, "is not static control")
            elif not is_text(item) and not isinstance(item, ast.Pass | ast.Assert | ast.Import | ast.ImportFrom):
                fail(item, "is no loop, condition or assignment")
        return result

    def returned(self, node: ast.Return) -> list[Any]:
        """Return an assignment of the number that the function returns; arrays are arguments."""
        if isinstance(node.value, ast.Tuple):  # numbers among several values are variables of the caller
            self.given = [name.id for name in node.value.elts if isinstance(name, ast.Name)]
        value, arrays = node.value, ast.Tuple | ast.Dict | ast.List | ast.Constant
        if value is None or isinstance(value, arrays) or (isinstance(value, ast.Name) and value.id in self.axes):
            return []
        self.value_name = free_name(f"{self.function.name}_value", dict.fromkeys([*self.arguments, *self.assigned]))
        is_index = isinstance(value, ast.Name) and value.id in self.indices
        self.value_kind, at = "int" if is_index else "double", coord_of(node)
        return [c_ast.Assignment("=", c_ast.ID(self.value_name, at), self.value(value, index=is_index), at)]

    def loop(self, node: ast.For) -> Any:
        """Return a loop over a range."""
        call, backwards = node.iter, False
        if isinstance(call, ast.Call) and called_name(call) == "reversed" and len(call.args) == 1:
            call, backwards = call.args[0], True
        if not isinstance(call, ast.Call) or called_name(call) != "range" or not 1 <= len(call.args) <= 3:
            fail(node.iter, "is no range", "loop over range(start, end, step), reversed or not")
        if not isinstance(node.target, ast.Name) or node.orelse:
            fail(node, "is no plain loop", "give the loop one iterator and no else")
        name, at = node.target.id, coord_of(node)
        values = [self.value(item, index=True) for item in call.args]
        start, end = (c_ast.Constant("int", "0", at), values[0]) if len(values) == 1 else values[:2]
        step = 1 if len(values) < 3 else number_of(call.args[2])
        if step in (None, 0) or (backwards and step != 1):
            fail(call, "the loop's step is not understood", "step by an integer other than 0, reversed only by 1")
        assert step is not None
        if backwards:
            start, end, step = minus(end, 1), minus(start, 1), -1
        body = c_ast.Compound(self.block(node.body), at)
        return loop_of(name, start, end, step, body, at)

    def assignment(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> list[Any]:
        """Return an assignment, nothing for names of extents."""
        if isinstance(node, ast.AnnAssign) and node.value is None:
            return []
        assert node.value is not None
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if shape_of(node.value) is not None:
            return []
        shapes = new_extents(node.value)
        if shapes is not None and isinstance(targets[0], ast.Name):
            return self.new_array(targets[0], node.value, shapes)
        operator = "="
        if isinstance(node, ast.AugAssign):
            found = _OPERATORS.get(type(node.op))
            operator = f"{found}=" if found else fail(node, "the operator is not understood", "write it out")
        target = targets[0]
        if len(targets) == 1 and isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            return self.exchange(node, target, node.value)
        if len(targets) > 1 or not isinstance(target, ast.Name | ast.Subscript):
            fail(node, "several values are assigned at once", "write one assignment per line")
        if isinstance(target, ast.Name) and target.id in self.indices:
            value = self.value(node.value, index=True)
            if self.assigned[target.id] > 1 or operator != "=":
                self.counted.setdefault(target.id, node)
                return [c_ast.Assignment(operator, c_ast.ID(target.id, coord_of(node)), value, coord_of(node))]
            return [declaration_of(target.id, scalar_type(target.id, "int"), value, coord_of(node))]
        if isinstance(target, ast.Name) and target.id in self.axes and isinstance(node.value, ast.Call):
            fail(node.value, f"is no array {target.id} that is understood", "write out what the function does")
        return [c_ast.Assignment(operator, self.value(target), self.value(node.value), coord_of(node))]

    def exchange(self, node: ast.stmt, target: ast.Tuple, value: ast.Tuple) -> list[Any]:
        """Return ``u, v = v, u``, arrays that change places, as pointers of C do."""
        at, both = coord_of(node), (target.elts, value.elts)
        taken, given = ([item.id for item in items if isinstance(item, ast.Name)] for items in both)
        plain = [len(taken), len(given)] == [len(items) for items in both]
        if not plain or sorted(given) != sorted({*taken}) or not {*taken} <= self.axes.keys():
            fail(node, "several values are assigned at once", "write one assignment per line")
        before = {name: f"{name}_before" for name in given}
        self.exchanged |= dict.fromkeys(before.values(), node)
        kinds = {name: array_type(before[name], [None] * self.axes[name]) for name in given}
        kept = [declaration_of(before[name], kinds[name], c_ast.ID(name, at), at) for name in given]
        pairs = zip(taken, given, strict=True)
        return [*kept, *(c_ast.Assignment("=", c_ast.ID(a, at), c_ast.ID(before[b], at), at) for a, b in pairs)]

    def new_array(self, target: ast.Name, call: ast.expr, shapes: Sequence[ast.expr]) -> list[Any]:
        """Return the zeros of a new array."""
        at = coord_of(target)
        for axis, item in enumerate(shapes):
            self.extents.setdefault((target.id, axis), self.value(item, index=True))
        assert isinstance(call, ast.Call)
        if not NEW[called_name(call)]:
            return []
        names = [f"at_{axis}" for axis in range(len(shapes))]
        element: Any = c_ast.ID(target.id, at)
        for name in names:
            element = c_ast.ArrayRef(element, c_ast.ID(name, at), at)
        result: Any = c_ast.Assignment("=", element, c_ast.Constant("double", "0.0", at), at)
        for axis in reversed(range(len(shapes))):
            zero = c_ast.Constant("int", "0", at)
            result = loop_of(names[axis], zero, self.extents[target.id, axis], 1, result, at)
        return [result]

    # -- expressions

    def index(self, node: ast.expr, array: str, axis: int) -> Any:
        """Return a subscript: counted from the end where it is a number below 0."""
        number = number_of(node)
        if number is None or number >= 0:
            return self.value(node, index=True)
        return minus(self.extent(array, axis, node), -number)

    def element(self, node: ast.expr) -> Any:
        """Return an element of an array."""
        base, subscripts = base_of(node)
        if not isinstance(base, ast.Name):
            fail(node, "is no element of a named array")
        if len(subscripts) < self.axes[base.id] or any(isinstance(item, ast.Slice) for item in subscripts):
            fail(node, f"has {self.axes[base.id]} axes where one element is meant", "subscript it in full")
        made: Any = c_ast.ID(base.id, coord_of(node))
        for axis, item in enumerate(subscripts):
            made = c_ast.ArrayRef(made, self.index(item, base.id, axis), coord_of(node))
        return made

    def value(self, node: ast.expr, *, index: bool = False) -> Any:
        """Return an expression in C; ``index``: an integer that subscripts, limits or conditions use."""
        at = coord_of(node)

        def inner(item: ast.expr) -> Any:
            return self.value(item, index=index)

        shape = shape_of(node)
        if shape is not None and shape[1] is not None:
            return self.extent(shape[0], shape[1], node)
        if isinstance(node, ast.Subscript) or (isinstance(node, ast.Name) and node.id in self.axes):
            return self.element(node)
        if isinstance(node, ast.Name):
            self.require_known(node)
            return c_ast.ID(node.id, at)
        if isinstance(node, ast.Constant) and type(node.value) in {int, float}:
            return c_ast.Constant("int" if type(node.value) is int else "double", repr(node.value), at)
        if isinstance(node, ast.BinOp):
            return self.operation(node, inner, index=index)
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Invert):
            sign = "!" if isinstance(node.op, ast.Not) else "-" if isinstance(node.op, ast.USub) else "+"
            return c_ast.UnaryOp(sign, inner(node.operand), at)
        if isinstance(node, ast.BoolOp):
            make = joined if index or all(map(is_test, node.values)) else one_of
            return make([inner(item) for item in node.values], "&&" if isinstance(node.op, ast.And) else "||", at)
        if isinstance(node, ast.Compare) and all(type(op) in _COMPARED for op in node.ops):
            values = [inner(item) for item in (node.left, *node.comparators)]
            pairs = zip(node.ops, values, values[1:], strict=False)
            return joined([c_ast.BinaryOp(_COMPARED[type(op)], a, b, at) for op, a, b in pairs], "&&", at)
        if isinstance(node, ast.IfExp):
            return c_ast.TernaryOp(self.value(node.test, index=True), inner(node.body), inner(node.orelse), at)
        if isinstance(node, ast.Call):
            return self.call(node, [inner(item) for item in node.args], index=index)
        if isinstance(node, ast.Attribute) and node.attr in NUMBERS:
            return c_ast.Constant("double", NUMBERS[node.attr], at)
        return fail(node, "is not understood", "use numbers, elements, + - * / ** and mathematical functions")

    def operation(self, node: ast.BinOp, inner: Any, *, index: bool) -> Any:
        """Return a binary operation; quotients of integers round down, as in Python."""
        left, right, at = inner(node.left), inner(node.right), coord_of(node)
        if (index or is_integer(node, {*self.indices, *self.sizes})) and isinstance(node.op, ast.FloorDiv | ast.Mod):
            name = "floord" if isinstance(node.op, ast.FloorDiv) else "floor_mod"
            return call_of(name, [left, right], at)
        if index and isinstance(node.op, ast.Div):
            fail(node, "is no integer", "divide integers by //")
        if index and isinstance(node.op, ast.BitAnd | ast.BitXor):
            return c_ast.BinaryOp("&" if isinstance(node.op, ast.BitAnd) else "^", left, right, at)
        if isinstance(node.op, ast.Div) and not any(
            isinstance(item, ast.Subscript) for item in (node.left, node.right)
        ):
            return c_ast.BinaryOp("/", as_real(left), right, at)
        if isinstance(node.op, ast.Pow) and not index:
            return call_of("pow", [left, right], at)
        if type(node.op) not in _OPERATORS:
            fail(node, "the operator is not understood", "use + - * / and **, in subscripts + - * // and %")
        return c_ast.BinaryOp(_OPERATORS[type(node.op)], left, right, at)

    def call(self, node: ast.Call, values: list[Any], *, index: bool) -> Any:
        """Return a call of a mathematical function."""
        name, at = called_name(node), coord_of(node)
        if node.keywords or not name or not values:
            fail(node, "the call is not understood", "write out what the function does")
        if name in _EXTREMES:
            chosen = name if index else _EXTREMES[name]
            result = values[0]
            for item in values[1:]:
                result = call_of(chosen, [result, item], at)
            return result
        mapped = re.sub(r"^arc", "a", _MATHS.get(name, name))
        return call_of(mapped, values, at) if mapped else values[0]

    def require_known(self, node: ast.Name) -> None:
        """Raise for a name that nothing defines."""
        known = {*self.arguments, *self.assigned, *self.globals, *self.sizes}
        if node.id not in known:
            place = f"line {node.lineno} column {node.col_offset + 1}"
            raise unknown_name("name", node.id, known, place=place)
