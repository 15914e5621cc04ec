"""The workload, a rooted tree or several, and the machine, a grid of processors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.arguments import fields_checked, public
from shorthaul.core.errors import InputError
from shorthaul.graphs.tree_kernels import depths, first_wrong_parent, is_parents_first, sorted_by

Index = npt.NDArray[np.int32]

#: Processors of the largest grid: counting the loads of its links takes 5 GB. Vertices have processors of their own.
MOST_PROCESSORS = 2**27
_NONE = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Labels:
    """What a Newick file says about its vertices: ``text`` cut at ``name`` and ``length`` (begin and end, (n, 2))."""

    text: npt.NDArray[np.uint8]
    name: npt.NDArray[np.int64]
    length: npt.NDArray[np.int64]

    def names(self) -> list[str]:
        """Return the name of every vertex, quotes removed, empty where there is none."""
        data = self.text.tobytes()
        raw = [data[begin:end].decode("utf-8", "replace") for begin, end in self.name.tolist()]
        return [_unquoted(name) for name in raw]

    def lengths(self) -> npt.NDArray[np.float64]:
        """Return the branch length above every vertex, NaN where there is none."""
        data = self.text.tobytes()
        cells = [data[begin:end] or b"nan" for begin, end in self.length.tolist()]
        return np.array(cells, dtype="S").astype(np.float64)


def _unquoted(name: str) -> str:
    quote = name[:1]
    return name[1:-1].replace(2 * quote, quote) if quote in {"'", '"'} else name.replace("_", " ")


@dataclass(frozen=True, slots=True)
@fields_checked
class Tree:
    """A rooted tree (or several): ``parent`` of every vertex, -1 at a root, shape (n,), int32.

    ``parents_first`` is an order in which every parent precedes its children; empty if 0, 1, ... is one, found if it is
    left out. Raises :class:`InputError` for what is no tree; :func:`tree_from_parents` also takes roots with themselves
    as parents, and wants a single one.
    """

    parent: Index
    parents_first: Index = field(default_factory=lambda: _NONE)
    labels: Labels | None = None

    def __post_init__(self) -> None:
        parent, order = _as_integers(self.parent), np.ascontiguousarray(self.parents_first, np.int32)
        wrong, ordered = first_wrong_parent(parent)
        if wrong >= 0:
            raise InputError(
                "is no vertex",
                place=f"parent[{wrong}]",
                value=int(parent[wrong]),
                allowed=f"0 to {len(parent) - 1}, or -1 for the root",
            )
        if len(order) == 0 and not ordered:
            order = _parents_first(parent, self.labels)
        elif len(order) and not is_parents_first(parent, order):
            cure = "leave it out, and it is found"
            raise InputError("has not every vertex once, after its parent", place="parents_first", cure=cure)
        object.__setattr__(self, "parent", parent)
        object.__setattr__(self, "parents_first", order)

    @property
    def n(self) -> int:
        """The number of vertices."""
        return len(self.parent)

    def roots(self) -> Index:
        """Return the roots in ascending order."""
        return np.flatnonzero(self.parent < 0).astype(np.int32)

    def degrees(self) -> npt.NDArray[np.int64]:
        """Return the number of children of every vertex."""
        return np.bincount(self.parent + 1, minlength=self.n + 1)[1:]

    def _repr_html_(self) -> str:
        return f"<p>tree of {self.n} vertices, {len(self.roots())} root(s)</p>"


@public
def tree_from_parents(parent: npt.ArrayLike, *, forest: bool = False, labels: Labels | None = None) -> Tree:
    """Return the tree with these parents; a root has -1 or itself.

    Parameters
    ----------
    parent : npt.ArrayLike
        The parent of every vertex; a root has -1 or itself.
    forest : bool, default False
        Whether several roots are allowed.
    labels : Labels | None
        Names and lengths, as Newick files have them.

    Returns
    -------
    Tree
        The tree.

    Raises
    ------
    InputError
        If there is no vertex, a parent is no vertex, there is a cycle, or, unless ``forest``, several roots.

    Examples
    --------
    >>> tree_from_parents([-1, 0, 0, 1]).n
    4
    """
    array = _as_integers(parent)
    looped = array == np.arange(len(array), dtype=np.int32)
    if looped.any():
        array = np.where(looped, np.int32(-1), array)
    tree = Tree(array, labels=labels)
    roots = tree.roots()
    if len(roots) > 1 and not forest:
        first, second = _named(roots[:2].tolist(), labels)
        raise InputError(
            "has several roots",
            place="parent",
            value=f"{len(roots)} roots, vertices {first} and {second} the first two",
            allowed="one vertex with parent -1" if labels is None else "one vertex without a parent",
            cure="use --forest (forest=True) to lay out several trees on one grid",
        )
    return tree


def _as_integers(parent: npt.ArrayLike) -> Index:
    try:
        given = np.asarray(parent)
    except ValueError:
        raise InputError("is not an array of integers", place="parent") from None
    if given.ndim != 1:
        raise InputError("must have one dimension", place="parent", value=f"shape {given.shape}", allowed="shape (n,)")
    if len(given) == 0:
        raise InputError("has no vertex", place="parent", allowed="at least one vertex")
    if len(given) > MOST_PROCESSORS:
        raise InputError("has too many vertices", value=len(given), allowed=f"up to {MOST_PROCESSORS}")
    if given.dtype == np.int32:
        return np.ascontiguousarray(given)
    if given.dtype.kind not in "iu":
        place, shown = _first_non_integer(parent if isinstance(parent, list | tuple) else given.tolist(), given)
        cure = "convert the array, as with astype(int)" if given.dtype.kind == "f" else ""
        allowed = "vertex numbers, -1 for the root"
        raise InputError("is not an integer", place=place, value=shown, allowed=allowed, cure=cure)
    outside = (given > len(given)) | (given < -1 if given.dtype.kind == "i" else False)
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        raise InputError(
            "is no vertex",
            place=f"parent[{first}]",
            value=int(given[first]),
            allowed=f"0 to {len(given) - 1}, or -1 for the root",
        )
    return given.astype(np.int32)


def _first_non_integer(listed: Sequence[object], given: npt.NDArray[Any]) -> tuple[str, object]:
    """Return the place and the value of the worst: one that is no whole number, or else one of another type."""
    wrong = [(at, item) for at, item in enumerate(listed) if not isinstance(item, int) or isinstance(item, bool)]
    broken = [(at, item) for at, item in wrong if not (isinstance(item, float) and item.is_integer())]
    if not wrong:
        return "parent", f"array of {given.dtype}"
    position, value = (broken or wrong)[0]
    return f"parent[{position}]", value


def _named(vertices: Sequence[int], labels: Labels | None) -> list[str]:
    """Return the vertices as a user knows them: by name where they have one, or else by number."""
    names = {} if labels is None else dict(enumerate(labels.names()))
    return [names.get(vertex) or str(vertex) for vertex in vertices]


def _parents_first(parent: Index, labels: Labels | None) -> Index:
    depth, culprit = depths(parent)
    if culprit >= 0:
        cycle, vertex = [culprit], int(parent[culprit])
        while vertex != culprit and len(cycle) < 8:
            cycle.append(vertex)
            vertex = int(parent[vertex])
        named = _named(cycle, labels)
        shown = " -> ".join([*named, named[0] if vertex == culprit else "..."])
        raise InputError("has a cycle", place="parent", value=shown, allowed="a rooted tree")
    return sorted_by(depth, int(depth.max()))


@dataclass(frozen=True, slots=True)
@fields_checked
class Grid:
    """``width`` times ``height`` processors; a message from (x, y) to (x', y') travels |x - x'| + |y - y'| hops."""

    width: int
    height: int

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1 or self.cells > MOST_PROCESSORS:
            raise InputError(
                "is not a grid that can be simulated",
                value=f"{self.width}x{self.height}",
                allowed=f"1x1 up to {MOST_PROCESSORS} processors in all",
            )

    @property
    def cells(self) -> int:
        """The number of processors."""
        return self.width * self.height

    @property
    def links(self) -> int:
        """The number of directed links between neighbouring processors."""
        return 2 * (self.width * (self.height - 1) + self.height * (self.width - 1))

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"


def grid_from_text(text: str) -> Grid:
    """Return the grid written ``WIDTHxHEIGHT``; raises :class:`InputError`.

    >>> grid_from_text("750x994").cells
    745500
    """
    match = re.fullmatch(r"(\d{1,10})[xX](\d{1,10})", text.strip())
    if match is None:
        raise InputError("is not a grid", place="--grid", value=text, allowed="WIDTHxHEIGHT, as in 750x994")
    try:
        return Grid(int(match[1]), int(match[2]))
    except InputError as error:
        raise InputError(error.problem, place="--grid", value=error.value, allowed=error.allowed) from None


@dataclass(frozen=True, slots=True)
class Fabric:
    """The processors of a machine file and the links between them.

    Processor (x, y, z) has the number (z * height + y) * width + x. ``links`` of shape (6, cells), int32, is the length
    in hops of the link that leads up (z + 1), down, south (y + 1), north, east (x + 1) and west of every processor,
    0 where none can be used; ``living`` of shape (cells,) says which processors hold vertices, of up to
    ``memory_bytes`` each. What a link of one hop passes per second, and what a byte takes there, may be unknown.
    """

    name: str
    width: int
    height: int
    layers: int
    memory_bytes: int
    living: npt.NDArray[np.bool_]
    links: Index
    link_bytes_per_s: float | None = None
    pj_per_byte: float | None = None

    @property
    def cells(self) -> int:
        """The number of processors, dead ones included."""
        return len(self.living)

    @property
    def grid(self) -> Grid:
        """Width and height."""
        return Grid(self.width, self.height)

    def numbers(self, x: Index, y: Index, z: Index | None) -> Index:
        """Return the numbers of the processors at (x, y, z); no ``z`` is layer 0."""
        across = y * self.width + x
        return across if z is None else (z * (self.width * self.height) + across).astype(np.int32)

    def __str__(self) -> str:
        return f"{self.width}x{self.height}" + (f"x{self.layers}" if self.layers > 1 else "")


@dataclass(frozen=True, slots=True)
class Load:
    """What a tree puts on a machine: the bytes of every vertex, the size of the message to its parent, shape (n,)."""

    bytes: Index
    weight: Index
