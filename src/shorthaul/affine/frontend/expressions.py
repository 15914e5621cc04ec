"""Affine expressions and conditions of C as isl objects.

While a nest is being read, loop iterators are isl *parameters* like the program's own: spaces then align by themselves,
and an expression is a ``PwAff`` without dimensions. In the end
:func:`bound_set` and :func:`bound_map` turn iterators into dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import islpy as isl
from pycparser import c_ast, c_generator

from shorthaul.affine.frontend.constants import ROUNDED, constant
from shorthaul.affine.frontend.rewriting.trees import SHORT, UNSIGNED, words_of
from shorthaul.affine.model import Place
from shorthaul.core.errors import InputError

COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
_CURE = "write it with loop iterators, integer parameters and constants only"
_AFFINE = "sums of iterators and parameters with constant factors, and divisions by constants"


@dataclass(frozen=True)
class Names:
    """What identifiers mean inside affine expressions, and a callback for those that turn out to be parameters."""

    place: Callable[[Any], Place]
    integers: Mapping[str, int]
    iterators: Mapping[str, isl.PwAff]
    locals: Mapping[str, Any]  #: identifiers that stand for an affine expression
    written: frozenset[str]
    data: frozenset[str]
    parameters: dict[str, None] = field(default_factory=dict)  #: in the order of first use
    reached: isl.Set | None = None  #: the iterations at which expressions are evaluated, where that is known
    assumed: list[isl.Set] = field(default_factory=list)  #: what has to hold for the parameters
    kinds: Mapping[str, str] | None = None  #: types of integers; None where none is taken to leave its type

    @property
    def fixed(self) -> dict[str, int]:
        """The numbers that locals stand for."""
        found: dict[str, int] = {}
        for name, value in self.locals.items():
            number = constant(value, found)
            if number is not None and name not in self.iterators:
                found[name] = number
        return found

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers that macros and locals stand for."""
        return {**self.integers, **self.fixed}

    def assume_none(self, unwanted: isl.Set, free: Iterable[str] = ()) -> bool:
        """Note that parameters let no iteration be ``unwanted``; False, and nothing noted, if that leaves none.

        Also False if it keeps parameters ``free`` from being as large as one likes.
        """
        names = [value.get_dim_name(isl.dim_type.param, 0) for value in self.iterators.values()]
        allowed = without_iterators(unwanted, names).complement()
        reached = allowed if self.reached is None else self.reached.intersect(allowed)
        for name in self.parameters:
            if reached.find_dim_by_name(isl.dim_type.param, name) >= 0:
                reached = reached.intersect(variable(name).ge_set(integer(1)))
                if name in self.integers:
                    reached = reached.intersect(variable(name).eq_set(integer(self.integers[name])))
        if reached.is_empty() or any(_has_end(reached, name) for name in free if name not in self.integers):
            return False
        self.assumed.append(allowed)
        return True


def _has_end(params: isl.Set, name: str) -> bool:
    return not bound_set(params, [name], "").project_out_all_params().dim_max_val(0).is_infty()


def without_iterators(points: isl.Set, iterators: Iterable[str]) -> isl.Set:
    """Return the parameters for which ``points`` has an iteration."""
    for name in iterators:
        at = points.find_dim_by_name(isl.dim_type.param, name)
        if at >= 0:
            points = points.project_out(isl.dim_type.param, at, 1)
    return points


def c_text(node: Any) -> str:
    """Return ``node`` as C on one line."""
    return " ".join(c_generator.CGenerator().visit(node).split())


def not_affine(node: Any, names: Names, why: str, cure: str = "") -> InputError:
    """Return the error for an expression that is not affine."""
    place = str(names.place(node))
    return InputError(f"is not affine: {why}", place=place, value=c_text(node), allowed=_AFFINE, cure=cure or _CURE)


def integer(value: int) -> isl.PwAff:
    """Return the constant ``value`` as an affine expression."""
    return isl.PwAff.read_from_str(isl.DEFAULT_CONTEXT, f"{{ [({value})] }}")


def variable(name: str) -> isl.PwAff:
    """Return the parameter (or iterator, while a nest is being read) ``name`` as an affine expression.

    Raises :class:`InputError` for the words of isl's notation.
    """
    try:
        return isl.PwAff.read_from_str(isl.DEFAULT_CONTEXT, f"[{name}] -> {{ [({name})] }}")
    except isl.Error:
        problem = "is a word that sets of integers use themselves, as min, max, mod and floor are"
        raise InputError(problem, place="identifier", value=name, cure="rename it in the C file") from None


def affine(node: Any, names: Names) -> isl.PwAff:
    """Return the value of the integer expression ``node``.

    Division and remainder round towards zero, as in C. Raises :class:`InputError` with the place if it is not affine.
    """
    if isinstance(node, c_ast.Constant):
        value = constant(node, {})
        if value is None:
            raise not_affine(node, names, "it is no integer")
        return integer(value)
    if isinstance(node, c_ast.ID):
        return _identifier(node, names)
    if isinstance(node, c_ast.Cast):
        return _kept(node, affine(node.expr, names), {*words_of(node.to_type.type)}, names)
    if isinstance(node, c_ast.UnaryOp) and node.op in {"-", "+"}:
        inner = affine(node.expr, names)
        return inner.neg() if node.op == "-" else inner
    if isinstance(node, c_ast.BinaryOp):
        return _binary(node, names)
    if isinstance(node, c_ast.TernaryOp):
        where = condition(node.cond, names)
        then, other = affine(node.iftrue, names), affine(node.iffalse, names)
        return then.intersect_params(where).union_add(other.intersect_params(where.complement()))
    if isinstance(node, c_ast.FuncCall):
        return _call(node, names)
    raise not_affine(node, names, _why(node))


def _why(node: Any) -> str:
    if isinstance(node, c_ast.ArrayRef):
        return "it reads an array"
    if isinstance(node, c_ast.UnaryOp) and node.op in {"*", "&"}:
        return "it is pointer arithmetic"
    if isinstance(node, c_ast.UnaryOp) and node.op == "sizeof":
        return "sizeof is not understood"
    if isinstance(node, c_ast.UnaryOp | c_ast.Assignment):
        return "it changes a variable"
    return "this kind of expression is not"


def _identifier(node: Any, names: Names) -> isl.PwAff:
    name = node.name
    if name in names.iterators:
        return names.iterators[name]
    if name in names.locals:
        return _kept(node, affine(names.locals[name], names), kind_of(name, names), names)
    if name in names.written:
        raise not_affine(node, names, f"{name} is assigned inside the region", "use the loop iterators and parameters")
    if name in names.data:
        raise not_affine(node, names, f"{name} is data, not an integer parameter", "declare it as int")
    names.parameters.setdefault(name)
    return variable(name)


def _kept(node: Any, value: isl.PwAff, words: set[str], names: Names) -> isl.PwAff:
    """Return a value that a type of a few bits keeps as it is."""
    bits = min((BITS[word] for word in words & BITS.keys()), default=0)
    if not bits or names.kinds is None or names.reached is None:
        return value
    least = 0 if bits == 1 or words & UNSIGNED else -(2 ** (bits - 1))
    outside = value.lt_set(integer(least)).union(value.ge_set(integer(least + 2**bits))).intersect(names.reached)
    if outside.is_empty() or names.assume_none(outside, ()):
        return value
    raise not_affine(node, names, f"values beyond {bits} bits are others", "give it a type of more bits, as int")


#: Types of a few bits.
BITS: Final = {"char": 8, "int8_t": 8, "uint8_t": 8, "short": 16, "int16_t": 16, "uint16_t": 16, "bool": 1, "_Bool": 1}

#: The most bits that a 64-bit integer can be shifted by without leaving its range.
MOST_SHIFTED: Final = 62


def _binary(node: Any, names: Names) -> isl.PwAff:
    if node.op in {"+", "-"}:
        left, right = affine(node.left, names), affine(node.right, names)
        return left.add(right) if node.op == "+" else left.sub(right)
    if node.op == "*":
        fixed = names.fixed
        for factor, other in ((node.left, node.right), (node.right, node.left)):
            value = constant(factor, fixed)
            if value is None and constant(other, fixed) is None:
                value = constant(factor, names.numbers)  # a macro counts as its number only where it has to
            if value is not None:
                return affine(other, names).scale_val(isl.Val(str(value)))
            if isinstance(factor, c_ast.Constant):
                raise not_affine(factor, names, "it is no integer", "write fractions as divisions by integers: n / 2")
        raise not_affine(
            node, names, "two unknowns are multiplied", "let one factor be a constant, as a macro or number"
        )
    if node.op in {"/", "%", "<<", ">>"}:
        return _divided(node, names)
    if node.op in {"&", "^"}:
        return _bits(node, names)
    raise not_affine(node, names, f"the operator {node.op} is not")


def _divided(node: Any, names: Names) -> isl.PwAff:
    """Return a quotient, a remainder, or an integer that is shifted."""
    divisor = constant(node.right, names.numbers)
    if divisor is None and node.op in {"/", "%"}:
        return _by_unknown(node, names)
    if divisor is None or divisor <= 0:
        cure = "divide by a positive integer, written as a number or an integer macro"
        raise not_affine(node, names, "the right side has to be a positive constant", cure)
    left = affine(node.left, names)
    if node.op in {"/", "%", ">>"} and _below_zero(node.left, left, names) is not None:
        if node.op != "%" or divisor & (divisor - 1):
            raise _wraps(node, names)
        return left.mod_val(isl.Val(str(divisor)))
    if node.op in {"<<", ">>"} and divisor > MOST_SHIFTED:
        raise not_affine(node, names, "no integer has this many bits", f"shift by at most {MOST_SHIFTED}")
    if node.op == "<<":
        return left.scale_val(isl.Val(2**divisor))
    if node.op == ">>":
        return left.scale_down_val(isl.Val(2**divisor)).floor()
    return left.tdiv_q(integer(divisor)) if node.op == "/" else left.tdiv_r(integer(divisor))


def _bits(node: Any, names: Names) -> isl.PwAff:
    """Return ``x & (2^k - 1)``, a remainder, ``x & -2^k``, x without it, or ``x ^ 1``, the neighbour in a pair."""
    for side, other in ((node.right, node.left), (node.left, node.right)):
        mask = constant(side, names.numbers)
        if mask is not None and mask < 0 and not -mask & (-mask - 1) and node.op == "&":
            value = affine(other, names)
            return value.sub(value.mod_val(isl.Val(str(-mask))))
        if mask is None or mask <= 0 or mask & (mask + 1):
            continue
        value = affine(other, names)
        rest = value.mod_val(isl.Val(str(mask + 1)))
        if node.op == "&":
            return rest
        if mask == 1:
            return value.add(integer(1)).sub(rest.scale_val(isl.Val(2)))
    raise not_affine(
        node, names, f"the operator {node.op} is not", "x & 1, x & 3 ..., x & ~1, x & ~3 ... and x ^ 1 are understood"
    )


#: The quotients that a division by a parameter may have.
_QUOTIENTS: Final = range(-2, 4)


def _by_unknown(node: Any, names: Names, *, floors: bool = False) -> isl.PwAff:
    """Return ``a / n`` or ``a % n`` where few quotients are possible, as in ``(i + 1) % n`` for i < n."""
    left, divisor = affine(node.left, names), affine(node.right, names)
    if _below_zero(node.left, left, names) is not None:
        raise _wraps(node, names)
    covered = isl.Set.read_from_str(isl.DEFAULT_CONTEXT, "{ : 1 = 0 }")
    result: isl.PwAff | None = None
    for quotient in _QUOTIENTS:
        first = divisor.scale_val(isl.Val(quotient))
        if floors or quotient >= 0:
            where = left.ge_set(first).intersect(left.lt_set(first.add(divisor)))
        else:  # C rounds towards zero
            where = left.le_set(first).intersect(left.gt_set(first.sub(divisor)))
        if not floors and quotient == 0:
            where = left.gt_set(divisor.neg()).intersect(left.lt_set(divisor))
        value = integer(quotient) if node.op == "/" else left.sub(first)
        piece = value.intersect_params(where)
        result = piece if result is None else result.union_add(piece)
        covered = covered.union(where)
    if result is None or names.reached is None or not names.reached.is_subset(covered):
        few = "the right side has to be a positive constant, unless the quotient is one of few"
        cure = f"make the divisor a number, as in '#define {c_text(node.right)} 32' above the function"
        raise not_affine(node, names, few, cure)
    return result.intersect_params(names.reached).coalesce()


def kind_of(name: str, names: Names) -> set[str]:
    """Return the words of an integer's type."""
    return {*(names.kinds or {}).get(name, "").split()}


def _is_unsigned(words: set[str]) -> bool:
    return bool(words & UNSIGNED) and not words & SHORT


def is_unsigned(node: Any, names: Names) -> bool:
    """Return whether an expression is computed without a sign."""
    if isinstance(node, c_ast.Cast):
        return _is_unsigned({*words_of(node.to_type.type)})
    if isinstance(node, c_ast.ID):
        inner = names.locals.get(node.name) if node.name not in names.iterators else None
        return _is_unsigned(kind_of(node.name, names)) or (inner is not None and is_unsigned(inner, names))
    if isinstance(node, c_ast.BinaryOp):
        sides = [node.left] if node.op in {"<<", ">>"} else [node.left, node.right]
        return node.op not in {"&&", "||"} and any(is_unsigned(item, names) for item in sides)
    if isinstance(node, c_ast.UnaryOp):
        return node.op == "sizeof" or is_unsigned(node.expr, names)
    return isinstance(node, c_ast.Constant) and node.type != "string" and "u" in node.value.lower()


def _below_zero(node: Any, value: isl.PwAff, names: Names) -> isl.Set | None:
    """Return where the value of an expression without a sign would fall below 0; None if that need not be."""
    if names.kinds is None or names.reached is None or not is_unsigned(node, names):
        return None
    found = value.lt_set(integer(0)).intersect(names.reached)
    for name in names.parameters:
        found = found.intersect(variable(name).ge_set(integer(1)))
    return None if found.is_empty() or names.assume_none(found, names.parameters) else found


def _wraps(node: Any, names: Names) -> InputError:
    problem = "a number without a sign falls below 0, and is the largest ones then"
    return not_affine(node, names, problem, "give it a sign, or add the divisor before: (i + n - 1) % n")


_ROUNDED_DOWN = {"floord": "/", "floor_div": "/", "floor_mod": "%"}
_EXTREMES = {name: name.lower().removeprefix("i") for name in ("min", "max", "MIN", "MAX", "imin", "imax")}


def _call(node: Any, names: Names) -> isl.PwAff:
    name = getattr(node.name, "name", "")
    arguments = node.args.exprs if node.args is not None else []
    if name in _EXTREMES and len(arguments) == 2:
        left, right = (affine(argument, names) for argument in arguments)
        return left.min(right) if _EXTREMES[name] == "min" else left.max(right)
    if name in ROUNDED and len(arguments) == 2:
        divisor = constant(arguments[1], names.numbers)
        if divisor is None and name in _ROUNDED_DOWN:
            return _by_unknown(c_ast.BinaryOp(_ROUNDED_DOWN[name], *arguments, node.coord), names, floors=True)
        if divisor is not None and divisor > 0:
            value = affine(arguments[0], names)
            quotient = value.scale_down_val(isl.Val(str(divisor)))
            if ROUNDED[name] == "mod":
                return value.mod_val(isl.Val(str(divisor)))
            return quotient.floor() if ROUNDED[name] == "floor" else quotient.ceil()
    raise not_affine(node, names, "it calls a function", "min, max, floord and ceild are understood")


#: Comparisons the other way round.
_TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def _without_distance(node: Any) -> Any:
    """Return ``|x| < y`` as ``x < y && -x < y``, any other comparison as it is."""
    for inner, other, op in ((node.left, node.right, node.op), (node.right, node.left, _TURNED[node.op])):
        is_call = isinstance(inner, c_ast.FuncCall) and getattr(inner.name, "name", "") in {"abs", "labs", "llabs"}
        if is_call and inner.args is not None and len(inner.args.exprs) == 1:
            if op == "!=":
                equal = c_ast.BinaryOp("==", node.left, node.right, node.coord)
                return c_ast.UnaryOp("!", equal, node.coord)
            value = inner.args.exprs[0]
            signs = [c_ast.BinaryOp(op, item, other, node.coord) for item in (value, c_ast.UnaryOp("-", value))]
            joined = c_ast.BinaryOp("&&" if op in {"<", "<="} else "||", *signs, node.coord)
            positive = c_ast.BinaryOp(">=", other, c_ast.Constant("int", "0"), node.coord)
            return c_ast.BinaryOp("&&", positive, joined, node.coord) if op == "==" else joined
    return node


def condition(node: Any, names: Names) -> isl.Set:
    """Return the parameter set on which the condition ``node`` holds; raises :class:`InputError` if not affine."""
    if isinstance(node, c_ast.BinaryOp) and node.op in {"&&", "||"}:
        left, right = condition(node.left, names), condition(node.right, names)
        return left.intersect(right) if node.op == "&&" else left.union(right)
    if isinstance(node, c_ast.UnaryOp) and node.op == "!":
        return condition(node.expr, names).complement()
    if isinstance(node, c_ast.BinaryOp) and node.op in COMPARISONS:
        node = _without_distance(node)
        if node.op not in COMPARISONS:
            return condition(node, names)
        left, right = affine(node.left, names), affine(node.right, names)
        holds = {
            "<": left.lt_set,
            "<=": left.le_set,
            ">": left.gt_set,
            ">=": left.ge_set,
            "==": left.eq_set,
            "!=": left.ne_set,
        }[node.op](right)
        small, large = (left, right) if node.op in {"<", "<="} else (right, left)
        wraps = node.op not in {"==", "!="} and _below_zero(node, small.min(large), names) is not None
        if not wraps:
            return holds
        # what is below 0 is larger than all that is not
        negative, others = (item.lt_set(integer(0)) for item in (large, small))
        same = negative.intersect(others).union(negative.complement().intersect(others.complement()))
        return holds.intersect(same).union(negative.subtract(others))
    return affine(node, names).ne_set(integer(0))


def assume(node: Any, names: Names) -> None:
    """Note what parameters have to fulfil for an assertion to hold; one on data says nothing of them."""
    try:
        holds = condition(node, names)
    except InputError:
        return
    if names.reached is not None and not names.assume_none(names.reached.subtract(holds)):
        cure = "correct the assertion, or the loops around it"
        raise InputError("the assertion never holds", place=str(names.place(node)), value=c_text(node), cure=cure)


def bound_set(params: isl.Set, iterators: Sequence[str], name: str) -> isl.Set:
    """Return the parameter set ``params`` as the set ``name[iterators]``."""
    result = isl.Set.from_params(params)
    for position, iterator in enumerate(iterators):
        result = _moved(result, isl.dim_type.set, position, iterator)
    return result.set_tuple_name(name)


def bound_map(params: isl.Set, values: Sequence[isl.PwAff], iterators: Sequence[str], name: str, array: str) -> isl.Map:
    """Return the map ``name[iterators] -> array[values]`` on the parameter set ``params``."""
    element = isl.Set.from_params(params)
    for value in values:
        element = element.flat_product(isl.Set.from_pw_aff(value))
    result = isl.Map.from_range(element)
    for position, iterator in enumerate(iterators):
        result = _moved(result, isl.dim_type.in_, position, iterator)
    result = result.set_tuple_name(isl.dim_type.in_, name)
    return result.set_tuple_name(isl.dim_type.out, array) if array else result


def _moved(item: Any, kind: isl.dim_type, position: int, iterator: str) -> Any:
    found = item.find_dim_by_name(isl.dim_type.param, iterator)
    if found < 0:  # an iterator that no constraint mentions
        return item.insert_dims(kind, position, 1).set_dim_name(kind, position, iterator)
    return item.move_dims(kind, position, isl.dim_type.param, found, 1)


def named_dims(item: Any, names: Sequence[str], kind: isl.dim_type) -> Any:
    """Return a set or a map whose first dimensions of a kind have ``names``."""
    for position, name in enumerate(names):
        item = item.set_dim_name(kind, position, name)
    return item
