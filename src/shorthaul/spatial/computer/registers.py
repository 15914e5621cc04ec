"""Registers: one element per node, which only the processor that holds it can read and write.

A program names nodes by a :class:`Selection`, made from what the nodes hold themselves. Reading a register there gives
:class:`Values`; what is computed element by element stays with the nodes that hold it. Everything that exists counts as
memory until the program lets go of it: registers, values, and a byte for being in a selection.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from types import NotImplementedType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from shorthaul.spatial.computer.elements import BY_ELEMENT, COMPARISONS, UFUNCS, Array, by_element, rows, size_of
from shorthaul.spatial.computer.memory import NUMBERS, MachineError, Memory, constant, made, sealed
from shorthaul.spatial.computer.operators import Operator, combining

Index = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.intp]  # NumPy converts others first, every time


@sealed
class Nodes:
    """Nodes that processors host; each has its own element of every register made for them."""

    __slots__ = ("_all", "_host", "_memory", "_name", "_seen", "_share", "_turn")

    def _of(self, memory: Memory, host: Index, name: str) -> Self:
        self._memory = memory
        self._host = host
        self._share = int(np.bincount(host, minlength=1).max(initial=1))
        self._seen: Array | None = None
        self._turn = 0
        self._all: Selection | None = None
        self._name = name
        return self

    @property
    def name(self) -> str:
        """What errors call them."""
        return self._name

    @property
    def count(self) -> int:
        """How many nodes there are, which everybody knows."""
        return len(self._host)

    @property
    def all(self) -> Selection:
        """All nodes."""
        if self._all is None:
            self._all = made(Selection)._of(self, np.arange(len(self._host)))
        return self._all

    def register(self, fill: Any = 0, dtype: Any = np.int64, *, width: int = 1, name: str = "") -> Register:
        """Return a new register of every node, filled with one number, or with ``width`` numbers.

        Raises :class:`MachineError` if ``fill`` differs from node to node (see :meth:`Machine.load`), and
        :class:`InfeasibleError` if a processor would hold more words than it has.
        """
        if (kind := np.dtype(dtype)).kind not in NUMBERS:
            raise MachineError("holds no numbers", place=f"register {name!r}", value=kind, allowed="numbers of a type")
        given = np.asarray(fill)
        if isinstance(fill, Register | Values) or given.shape not in {(), (width,)} or width < 1:
            shown = f"shape {given.shape} for the {len(self._host)} {self.name}"
            raise MachineError(
                "begins with one value for all", place=f"register {name!r}", value=shown,
                cure="give what differs from node to node by load(), where it is counted as given",
            )  # fmt: skip
        self._memory.constants += width
        shape = (len(self._host),) if width == 1 else (len(self._host), width)
        return made(Register)._of(self, np.full(shape, constant(given, kind, name)), name)

    def place(self, node: int) -> str:
        """Return how an error calls the processor of a node."""
        host = int(self._host[node])
        return f"processor {host}" if self.name == "processors" else f"processor {host} (of {self.name}: {node})"

    def _fresh(self) -> tuple[Array, int]:
        """Return scratch space in which no number has been seen in this turn, and the turn."""
        if self._seen is None:
            self._seen = np.zeros(len(self._host), np.int32)
        self._turn += 1
        return self._seen, self._turn


@sealed
class Selection:
    """Nodes that know that they are in it: all, or those of another selection for which something holds."""

    __slots__ = ("_base", "_index", "_positions", "_share", "_space")

    def _of(
        self, space: Nodes, index: Numbers, base: Selection | None = None, positions: Numbers | None = None
    ) -> Self:
        self._share = 0
        space._memory.hold(space._share)
        self._share = space._share
        self._space = space
        self._index = index
        self._base = base
        self._positions = positions
        return self

    def __del__(self) -> None:
        if getattr(self, "_share", 0):
            self._space._memory.release(self._share)
            self._share = 0
            del self._index

    def __bool__(self) -> bool:
        """Whether any node is left: what the host program may know, to end a loop. Every question is counted."""
        self._space._memory.looks += 1
        return len(self._index) > 0

    def __iter__(self) -> Any:
        raise MachineError("a selection cannot be listed: a processor does not know who else is in it")

    __len__ = __iter__

    @property
    def nodes(self) -> Nodes:
        """The nodes that these belong to."""
        return self._space

    @property
    def number(self) -> Values:
        """The number of every node, which it knows."""
        return made(Values)._of(self, self._index.astype(np.int32), "number")

    @property
    def processor(self) -> Values:
        """The number of the processor that hosts every node."""
        return made(Values)._of(self, _picked(self._space._host, self), "processor")

    def where(self, condition: Values | Register) -> Selection:
        """Return the nodes whose own value of ``condition`` is true."""
        held = np.asarray(_operand(condition, self))
        if held.dtype != np.bool_ or held.ndim != 1:
            raise MachineError("is not true or false", place="where", value=held.dtype)
        positions = held.nonzero()[0]
        index = positions if self is self._space._all else self._index[positions]
        return made(Selection)._of(self._space, index, self, positions)

    def __or__(self, other: Selection) -> Selection:
        """Return the nodes of either."""
        if other._space is not self._space:
            raise MachineError(f"{self._space.name} and {other._space.name} cannot be in one selection")
        for one, rest in ((self, other), (other, self)):
            if len(rest._index) == 0:  # a new one, as the host could tell the same one
                return made(Selection)._of(one._space, one._index, one._base, one._positions)
        seen, turn = self._space._fresh()
        seen[self._index] = turn
        added = other._index[(seen[other._index] != turn).nonzero()[0]]
        return made(Selection)._of(self._space, np.concatenate([self._index, added]))

    def _steps_from(self, base: Selection) -> Numbers | None:
        """Return the positions of these nodes in ``base``, from which they were chosen; None if they were not."""
        positions, at = self._positions, self._base
        while at is not None and positions is not None:
            if at is base:
                return positions
            positions = None if at._positions is None else at._positions[positions]
            at = at._base
        return None


class _Local(NDArrayOperatorsMixin):
    """What registers and values have in common: NumPy's element-by-element functions, and no others."""

    __slots__ = ()
    if TYPE_CHECKING:
        _name: str
        _data: Array

        def _holders(self) -> Selection: ...
        def _overwrite(self, data: Array) -> None: ...
        def _binary(self, other: Any) -> Values: ...
        def _unary(self) -> Values: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _binary
        __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _binary
        __pow__ = __lshift__ = __rshift__ = _binary
        __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _binary
        __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _binary
        __neg__ = __invert__ = __abs__ = _unary

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a number."""
        return self._data.dtype

    @property
    def width(self) -> int:
        """Numbers of an element."""
        return 1 if self._data.ndim == 1 else self._data.shape[1]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        out = keywords.pop("out", None)
        if method != "__call__" or type(ufunc) is not np.ufunc or ufunc not in BY_ELEMENT:
            name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
            raise _unreadable(self._name, f"{name}() works on the elements of many processors")
        if set(keywords) - {"dtype", "casting"} or (out is not None and out[0] is not self):
            raise MachineError("takes no arrays of the host", place=ufunc.__name__, value=[*keywords, "out"])
        return _applied(ufunc, inputs, None if out is None else self, **keywords)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Values | NotImplementedType:
        if function is np.where and len(args) == 3 and not kwargs:
            nodes = next(one for one in args if isinstance(one, _Local))._holders()
            return made(Values)._of(nodes, np.where(*rows([_operand(one, nodes) for one in args])), self._name)
        raise _unreadable(self._name, f"{function.__name__}() works on the elements of many processors")

    def __array__(self, *_: Any, **__: Any) -> Array:
        raise _unreadable(self._name, "an array of all elements is nowhere")

    def __iter__(self) -> Any:
        raise _unreadable(self._name, "the elements cannot be listed")

    def __bool__(self) -> bool:
        raise _unreadable(self._name, "whether it is true differs from processor to processor")

    def __len__(self) -> int:
        raise _unreadable(self._name, "who else holds an element is not known")

    __hash__ = None  # type: ignore[assignment]


def _operator(ufunc: np.ufunc, number: int) -> Callable[..., Any]:
    """Return the operator of a function: for number 0 as such, for 1 with operands exchanged, for 2 in place."""

    def operate(self: _Local, other: Any) -> Any:
        return _applied(ufunc, (other, self) if number == 1 else (self, other), self if number == 2 else None)

    return operate


for _name, _ufunc in UFUNCS.items():  # as NumPy's mixin has them, without its detours
    for _number, _place in enumerate(("", "r", "i") if _ufunc not in COMPARISONS else ("",)):
        setattr(_Local, f"__{_place}{_name}__", _operator(_ufunc, _number))


@sealed
class Values(_Local):
    """What the nodes of a selection hold at the moment, one value each, for as long as the program keeps it."""

    __slots__ = ("_data", "_held", "_name", "_nodes")

    def _of(self, nodes: Selection, data: Array, name: str) -> Self:
        self._held = 0
        if data.dtype.kind not in NUMBERS:
            raise MachineError("are no numbers", place=f"values of {name!r}", value=data.dtype)
        size = size_of(data) * nodes._space._share
        nodes._space._memory.hold(size)
        self._held = size
        self._nodes = nodes
        self._data = data
        self._name = name
        return self

    def __del__(self) -> None:
        if getattr(self, "_held", 0):  # not where its making failed
            self._nodes._space._memory.release(self._held)
            self._held = 0
            del self._data

    def __repr__(self) -> str:
        return f"values of {self._name!r} on {self._nodes._space.name}"

    def _holders(self) -> Selection:
        return self._nodes

    def _overwrite(self, data: Array) -> None:  # others may share the old array
        self._data = data

    def __getitem__(self, nodes: Selection) -> Values:
        """Return the values of some of the nodes."""
        return as_values(self, _selection(nodes, self._name))

    def astype(self, dtype: Any) -> Values:
        """Return the values as numbers of another type."""
        with np.errstate(all="ignore"):
            found = self._data.astype(dtype)
        if found.shape != self._data.shape:
            raise MachineError("is no type of a number", place=f"values of {self._name!r}", value=dtype)
        return made(Values)._of(self._nodes, found, self._name)

    def word(self, number: int) -> Values:
        """Return one of the numbers of every value that has several."""
        which = int(index(number))
        if self._data.ndim == 1 or not 0 <= which < self.width:
            raise MachineError("is no number of a value", place=f"values of {self._name!r}", value=number)
        return made(Values)._of(self._nodes, self._data[:, which].copy(), self._name)

    def combined(self, operator: Operator, later: Values) -> Values:
        """Return ``operator`` applied to each of these values and the same node's value of ``later``.

        Raises :class:`MachineError` if the operator looks at more than the two values.
        """
        apply = combining(operator, self._nodes._space._memory)
        found = apply(self._data, as_values(later, self._nodes)._data)
        return made(Values)._of(self._nodes, found, self._name)


@sealed
class Register(_Local):
    """A register: one element per node, which that node's processor alone reads and writes.

    ``register[selection]`` are the elements of these nodes, and ``register[selection] = values`` writes them, where
    ``values`` is a number or what the same nodes hold. ``register[values]`` are the elements of the nodes that
    ``values`` number, if they are on the same processors.
    """

    __slots__ = ("_data", "_held", "_name", "_space")

    def _of(self, space: Nodes, data: Array, name: str) -> Self:
        self._held = 0
        size = size_of(data) * space._share
        space._memory.hold(size)
        self._held = size
        self._space = space
        self._data = data
        self._name = name or "unnamed"
        return self

    def __del__(self) -> None:
        if getattr(self, "_held", 0):  # not where its making failed
            self._space._memory.release(self._held)
            self._held = 0
            del self._data

    def __repr__(self) -> str:
        return f"register {self._name!r} of the {self._space.name}"

    def _holders(self) -> Selection:
        return self._space.all

    def _overwrite(self, data: Array) -> None:
        self._data[:] = data

    def __getitem__(self, where: Selection | Values) -> Values:
        """Return the elements of these nodes, or those of the nodes that the values number on the same processors."""
        if isinstance(where, Values):
            return self._near(where)
        nodes = _selection(where, self._name)
        if nodes._space is not self._space:
            raise MachineError(
                f"belongs to the {self._space.name}, not to the {nodes._space.name}", place=f"register {self._name!r}"
            )
        return made(Values)._of(nodes, _picked(self._data, nodes), self._name)

    def _near(self, numbers: Values) -> Values:
        if numbers.dtype.kind not in "iu" or numbers.width > 1:
            raise MachineError("is no number of a node", place=f"register {self._name!r}", value=numbers.dtype)
        if numbers._nodes._space._memory is not self._space._memory:
            raise MachineError("is another machine's", place=f"register {self._name!r}")
        number, nodes = numbers._data.astype(np.intp), numbers._nodes
        reader = nodes._space._host if nodes is nodes._space._all else nodes._space._host[nodes._index]
        inside = (number >= 0) & (number < len(self._data))
        wrong = np.flatnonzero(self._space._host[number] != reader if inside.all() else ~inside)
        if len(wrong):
            k = int(wrong[0])
            owner = self._space.place(int(number[k])) if inside[k] else f"{numbers._data[k]}, which does not exist"
            raise self._space._memory.refused(
                f"processor {reader[k]} reads the element of {owner}",
                place=f"register {self._name!r}", cure="let its owner send it: receivers, (value,) = machine.send(...)",
            )  # fmt: skip
        return made(Values)._of(nodes, self._data[number], self._name)

    def __setitem__(self, where: Selection, value: Any) -> None:
        nodes = _selection(where, self._name)
        if nodes._space is not self._space:
            raise MachineError(
                f"belongs to the {self._space.name}, not to the {nodes._space.name}", place=f"register {self._name!r}"
            )
        if isinstance(value, _Local):
            data = _operand(value, nodes, self._name)
            kind = self._data.dtype
            if data.dtype is not kind and not np.can_cast(data.dtype, kind, "same_kind"):
                raise MachineError(f"does not hold {data.dtype}", place=f"register {self._name!r}", value=kind)
        else:
            row = self._data.ndim == 2 and np.shape(value) == self._data.shape[1:]
            self._space._memory.constants += self.width if row else 0
            data = constant(value if row else _operand(value, nodes, self._name), self._data.dtype, self._name)
        self._space._memory.expect_running()
        if nodes is nodes._space._all:
            self._data[:] = data
        else:
            self._data[nodes._index] = data


def as_values(held: Values | Register, nodes: Selection, register: str = "") -> Values:
    """Return what ``nodes`` hold of ``held``; raises :class:`MachineError` if others hold it.

    ``register`` names the register that it is to be written to.
    """
    if isinstance(held, Register):
        return held[nodes]
    if held._nodes is nodes:
        return held
    if held._nodes is nodes._space._all:
        return made(Values)._of(nodes, _picked(held._data, nodes), held._name)
    positions = nodes._steps_from(held._nodes)
    if positions is not None:
        return made(Values)._of(nodes, held._data[positions], held._name)
    mine, theirs = nodes._index, held._nodes._index
    same_space = held._nodes._space is nodes._space
    if same_space and len(mine) == len(theirs) and np.array_equal(mine, theirs):
        return made(Values)._of(nodes, held._data.copy(), held._name)
    count = min(len(mine), len(theirs))
    differ = np.flatnonzero(mine[:count] != theirs[:count]) if same_space else np.zeros(min(count, 1), np.intp)
    k = int(differ[0]) if len(differ) else count
    reader = nodes._space.place(int(mine[k])) if k < len(mine) else "nobody"
    owner = held._nodes._space.place(int(theirs[k])) if k < len(theirs) else "nobody"
    what = f"writes register {register!r} with" if register else "reads"
    raise nodes._space._memory.refused(
        f"{reader} {what} an element of {owner}", place=f"register {held._name!r}",
        cure="choose the same nodes on both sides, or let the owner send it by machine.send()",
    )  # fmt: skip


def _operand(value: Any, nodes: Selection, register: str = "") -> Any:
    if isinstance(value, Values):
        return value._data if value._nodes is nodes else as_values(value, nodes, register)._data
    if isinstance(value, Register):
        return value._data if nodes is value._space._all else value[nodes]._data
    nodes._space._memory.constants += 1
    if type(value) in {int, float, bool}:  # not those of the program's own, which would see the elements
        return value
    given = np.asarray(value)
    if given.ndim > 0 or given.dtype.kind not in NUMBERS:
        raise MachineError(
            "an array or object of the host program is on no processor", value=f"shape {given.shape} of {given.dtype}",
            place=f"register {register!r}" if register else "", cure="give it by load(), where it is counted as given",
        )  # fmt: skip
    return given[()]


def _applied(ufunc: np.ufunc, inputs: tuple[Any, ...], target: _Local | None, **keywords: Any) -> Values | _Local:
    """Return what an element-by-element function gives, or ``target`` with that written to it."""
    first = inputs[0] if isinstance(inputs[0], _Local) else next(x for x in (*inputs, target) if isinstance(x, _Local))
    nodes = first._holders()
    memory = nodes._space._memory
    memory.expect_running()
    arrays = rows([_operand(one, nodes) for one in inputs])
    try:
        found = by_element(ufunc, arrays, keywords)
        if target is not None:
            if found.shape != target._data.shape:
                raise ValueError(f"{target.width} numbers per node are fewer than those to be written")
            target._overwrite(found.astype(target._data.dtype, casting="same_kind", copy=False))
            return target
    except (TypeError, ValueError, OverflowError) as error:
        raise memory.refused(str(error), place=f"register {first._name!r}") from error
    return made(Values)._of(nodes, found, first._name)


def _selection(where: object, name: str) -> Selection:
    if isinstance(where, Selection):
        return where
    raise _unreadable(name, f"[{type(where).__name__}] is read or written from outside, by no processor")


def _unreadable(name: str, why: str) -> MachineError:
    return MachineError(
        why, place=f"register {name!r}",
        allowed="element-by-element functions of NumPy (+, <, np.maximum, np.where, ...)",
        cure="let the owners send by machine.send(); machine.collect() reads results when the program has ended",
    )  # fmt: skip


def _picked(data: Array, nodes: Selection) -> Array:
    return data.copy() if nodes is nodes._space._all else data.take(nodes._index, axis=0)
