"""Architectures of accelforge (YAML) as machine files: a chain of memories with fan-outs, down to multipliers."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from shorthaul.core.document import convert
from shorthaul.core.errors import InputError
from shorthaul.core.machines.arrays import MOST_RATE, Accelerator, OperandMemory

_OPERANDS: Final = ("input", "weight", "output")
_KINDS: Final = ("Memory", "Compute", "Container", "Fanout", "Network")
_SETS: Final = {
    "All": frozenset(_OPERANDS),
    "Nothing": frozenset[str](),
    "Intermediates": frozenset[str](),  # what one operator alone computes is no intermediate
    "Inputs": frozenset(_OPERANDS[:2]),
    "Outputs": frozenset(_OPERANDS[2:]),
    **{name: frozenset({name}) for name in _OPERANDS},
}
#: The bits of a value where a size asks for them; a machine file tells sizes in bytes.
_BITS: Final = 8
_SIGNS: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {"max": max, "min": min, "ceil": math.ceil, "floor": math.floor}

_Expression = str | float | int


class _Action(Struct):
    name: str
    energy: _Expression | None = None
    latency: _Expression | None = None
    throughput: _Expression | None = None
    bits_per_action: _Expression | None = None
    energy_scale: _Expression = 1
    latency_scale: _Expression = 1


class _Spatial(Struct):
    name: str
    fanout: _Expression = 1
    reuse: _Expression | None = None
    may_reuse: _Expression | None = None


class _Node(Struct):
    kind: str = msgspec.field(name="!")
    name: str
    size: _Expression | None = None
    tensors: dict[str, Any] = {}
    actions: list[_Action] = []
    spatial: list[_Spatial] = []
    total_latency: _Expression | None = None
    enabled: _Expression | bool = True
    component_class: str = ""
    bits_per_action: _Expression | None = None
    energy_scale: _Expression = 1
    latency_scale: _Expression = 1
    n_parallel_instances: _Expression = 1

    @property
    def is_free(self) -> bool:
        """Whether the component model takes no time and no energy."""
        return self.component_class.lower() == "dummy"


class _Arch(Struct):
    nodes: Annotated[list[_Node], Meta(min_length=3)]


class _File(Struct):
    arch: _Arch
    variables: dict[str, _Expression] = {}


@dataclass(slots=True)
class _Scope:
    """What names stand for in expressions: variables, and the operands that memories keep."""

    names: dict[str, Any] = field(default_factory=dict)

    def number(self, text: _Expression, place: str) -> float:
        """Return what an expression comes to; raises :class:`InputError`."""
        value = self._value(text, place)
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value) or value < 0:
            raise InputError("is no amount", place=place, value=text, allowed="a number of 0 or more")
        return float(value)

    def operands(self, text: _Expression, place: str) -> frozenset[str]:
        """Return the operands that an expression names; raises :class:`InputError`."""
        value = self._value(text, place)
        if not isinstance(value, frozenset):
            raise InputError("names no operands", place=place, value=text, allowed=f"of {', '.join(_SETS)}")
        return value

    def _value(self, text: _Expression, place: str) -> Any:
        try:
            return self._of(ast.parse(str(text).strip()[:1000], mode="eval").body)
        except (SyntaxError, TypeError, ValueError, ArithmeticError, LookupError, RecursionError, MemoryError):
            allowed = "numbers, + - * / **, max, min, and names of this file"
            raise InputError("cannot be worked out", place=place, value=text, allowed=allowed) from None

    def _of(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Name(id=name):
                return self.names[name]
            case ast.Attribute(value=ast.Name(), attr="bits_per_value"):
                return float(_BITS)
            case ast.Attribute(value=ast.Name(id=name), attr="tensors"):
                return self.names[name]
            case ast.IfExp(body=body):  # as for an operator that has all operands
                return self._of(body)
            case ast.UnaryOp(op=ast.Invert(), operand=inner):
                return _SETS["All"] - self._of(inner)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -self._of(inner)
            case ast.BinOp(left=left, op=sign, right=right):
                return _SIGNS[type(sign)](self._of(left), self._of(right))
            case ast.Call(func=ast.Name(id=name), args=given, keywords=[]):
                return _FUNCTIONS[name](*map(self._of, given))
        raise ValueError


def is_accelforge(value: dict[Any, Any]) -> bool:
    """Return whether a document is an architecture of accelforge."""
    return isinstance(value.get("arch"), dict) and isinstance(value["arch"].get("nodes"), list)


def machine_of_accelforge(value: dict[str, Any]) -> dict[str, Any]:
    """Return an architecture of accelforge as the document of a machine file; raises :class:`InputError`.

    Memories are taken as those of one product: what they keep, or may keep, of its input, weight and output tells to
    which level they belong. Fan-outs become sides of the array of multipliers; along one that says what it reuses, that
    operand is shared. The clock is the rate of a multiplier. Networks are left out.

    >>> reads = [{"name": "read", "throughput": "8 * 4e9"}]
    >>> far = {"!": "Memory", "name": "far", "size": "inf", "actions": reads}
    >>> near = {**far, "name": "near", "size": "1024 * 8"}
    >>> units = {"!": "Container", "name": "units", "spatial": [{"name": "X", "fanout": 4, "reuse": "input"}]}
    >>> mac = {"!": "Compute", "name": "mac", "actions": [{"name": "compute", "throughput": 1e9}]}
    >>> found = machine_of_accelforge({"arch": {"nodes": [far, near, units, mac]}})
    >>> [level["name"] for level in found["levels"]], found["compute"]["array"]
    (['far', 'near'], [{'size': 4, 'spreads': ['columns']}])
    """
    found = convert(value, _File, strict=False)
    names = [node.name for node in found.arch.nodes]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError("is there twice", place="arch.nodes", value=twice, allowed="a name of its own for every node")
    scope = _Scope({"inf": math.inf, **_SETS})
    for name, text in found.variables.items():
        scope.names[name] = scope.number(text, f"variables.{name}")
    sides: dict[str, int] = {}
    shared: dict[str, str] = {}
    above: dict[str, int] = {}  # how many sides there are down to a node
    for number, node in enumerate(found.arch.nodes):
        if node.kind not in _KINDS:
            place = f"arch.nodes[{number}]"
            raise InputError(
                "is of no kind that a machine file has", place=place, value=node.kind, allowed=", ".join(_KINDS)
            )
        for at, side in enumerate(node.spatial):
            place = f"{_place(node)}.spatial[{at}]"
            size = scope.number(side.fanout, f"{place}.fanout")
            if size != int(size) or not 1 <= size <= 2**20:
                raise InputError("is no fan-out", place=f"{place}.fanout", value=side.fanout, allowed="1 to 1048576")
            sides[f"{node.name}.{side.name}"] = int(size)
            reused = side.reuse if side.reuse is not None else side.may_reuse
            one = frozenset[str]() if reused is None else scope.operands(reused, f"{place}.reuse")
            if len(one) == 1:
                shared[f"{node.name}.{side.name}"] = next(iter(one))
        above[node.name] = len(sides)
        if node.kind == "Memory":
            scope.names[node.name] = _kept(node, scope)
    memories = [node for node in found.arch.nodes if node.kind == "Memory"]
    if not memories:
        raise InputError("has no memory", place="arch.nodes", allowed="a !Memory, and another one inside of it")
    product, vector = _units(found.arch.nodes)
    clock, unit_j = _rate(product, "compute", scope), _energy_j(product, "compute", scope)
    whole = math.prod(sides.values())
    vector_rate = float(whole)
    if vector is not None:
        copies = math.prod(list(sides.values())[: above[vector.name]])
        vector_rate = copies * _rate(vector, "compute", scope) / clock
    return Accelerator(
        name=str(value.get("name", "accelforge")),
        source="an architecture of accelforge",
        operands=_OPERANDS,
        memories={node.name: _memory(node, scope, sides, above[node.name]) for node in reversed(memories)},
        sides=sides,
        shared=shared,
        clock_hz=clock,
        vector_rate=min(vector_rate, MOST_RATE),
        unit_pj=None if unit_j is None else unit_j * 1e12,
        place="arch.nodes",
    ).document()


def _place(node: _Node) -> str:
    return f"arch.nodes.{node.name}"


def _kept(node: _Node, scope: _Scope) -> frozenset[str]:
    if not node.tensors.keys() & {"keep", "may_keep"}:
        return _SETS["All"]
    given = [(key, node.tensors[key]) for key in ("keep", "may_keep", "back") if key in node.tensors]
    return frozenset().union(*(scope.operands(text, f"{_place(node)}.tensors.{key}") for key, text in given))


def _units(nodes: list[_Node]) -> tuple[_Node, _Node | None]:
    """Return what multiplies and adds, and what does operations of two tensors where there is such a unit."""
    units = [node for node in nodes if node.kind == "Compute"]
    vectors = [node for node in units if str(node.enabled).replace(" ", "") == "len(All)==2"]
    products = [node for node in units if node not in vectors]
    if len(products) != 1 or len(vectors) > 1:
        names = [node.name for node in units]
        allowed = "one !Compute for products, and at most one more, enabled where len(All) == 2"
        raise InputError("has other units than a machine file", place="arch.nodes", value=names, allowed=allowed)
    return products[0], vectors[0] if vectors else None


def _memory(node: _Node, scope: _Scope, sides: Mapping[str, int], above: int) -> OperandMemory:
    if node.size is None:
        raise InputError("has no size", place=_place(node), cure="write it in bits, inf for one without end")
    names, operands = list(sides), tuple(name for name in _OPERANDS if name in scope.names[node.name])
    energies: dict[tuple[str, str], float | None] = {}
    for way in ("read", "write"):
        each = _energy_j(node, way, scope)
        energies |= {(way, operand): None if each is None else each * 8e12 for operand in operands}
    return OperandMemory(
        bits=min(scope.number(node.size, f"{_place(node)}.size"), 2.0**62),
        operands=operands,
        copies=math.prod(sides[name] for name in names[:above]),
        bits_per_s=_rate(node, "read", scope),
        served=frozenset(names[above:]),
        pj_per_byte=energies,
    )


def _action(node: _Node, name: str) -> _Action | None:
    return next((item for item in node.actions if item.name == name), None)


def _energy_j(node: _Node, name: str, scope: _Scope) -> float | None:
    """Return joules per bit, or per operation; None where a component model would tell them."""
    action = _action(node, name)
    if action is None or action.energy is None:
        return 0.0 if node.is_free else None
    place = f"{_place(node)}.actions.{name}"
    each = scope.number(action.energy, f"{place}.energy") * _product(node, action, "energy_scale", scope)
    return each / _bits(node, action, scope)


def _bits(node: _Node, action: _Action, scope: _Scope) -> float:
    """Return the bits of one action, by what is said of it, else of all."""
    own = action.bits_per_action if action.bits_per_action is not None else node.bits_per_action
    return max(scope.number(1 if own is None else own, f"{_place(node)}.bits_per_action"), 1e-30)


def _product(node: _Node, action: _Action, scale: str, scope: _Scope) -> float:
    """Return a scale of an action times that of all of its component."""
    return math.prod(scope.number(getattr(of, scale), f"{_place(node)}.{scale}") for of in (node, action))


def _rate(node: _Node, name: str, scope: _Scope) -> float:
    """Return bits, or operations, per second, by a throughput, the component's time or the action's."""
    action, place = _action(node, name) or _Action(name), _place(node)
    of_action = f"{place}.actions.{name}"
    bits, slower = _bits(node, action, scope), _product(node, action, "latency_scale", scope)
    slower /= max(scope.number(node.n_parallel_instances, f"{place}.n_parallel_instances"), 1e-30)
    if action.throughput is not None:
        each = scope.number(action.throughput, f"{of_action}.throughput")
        return min(bits * each / max(slower, 1e-30), MOST_RATE)
    latency = None if action.latency is None else slower * scope.number(action.latency, f"{of_action}.latency")
    if node.total_latency is not None:
        names = {f"{way}_actions": float(way == name) for way in ("read", "write", "compute")}
        names |= {f"{way}_latency": (latency or 0.0) * (way == name) for way in ("read", "write", "compute")}
        latency = _Scope({**scope.names, **names}).number(node.total_latency, f"{place}.total_latency")
    if latency is None and not node.is_free:
        cure = "write its throughput into the file: component models are not asked"
        raise InputError(f"does not say how long a {name} takes", place=place, cure=cure)
    return min(bits / latency, MOST_RATE) if latency else MOST_RATE
