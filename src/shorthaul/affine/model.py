"""Affine programs as integer sets: parameters, statements with domain, schedule and accesses, arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

import islpy as isl


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the C file: line and column, both from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line} column {self.column}"


@dataclass(frozen=True, slots=True)
class Array:
    """An array of the program: ``extents`` as written in C ("N", "M + 1"), empty for a scalar and where unknown.

    ``dimensions`` is the number of subscripts, ``element_bytes`` the size of one element.
    """

    name: str
    dimensions: int
    extents: tuple[str, ...] = ()
    element_bytes: int = 8


@dataclass(frozen=True, slots=True)
class Reference:
    """One access of a statement.

    ``relation`` maps the instances that make the access to the element accessed (``S1[i, j] -> A[i, j + 1]``);
    ``tag`` names the reference in the whole program (``S1.r0``), ``text`` is the expression in C. A read in one branch
    of a choice between values is not ``sure``: some data let the statement be computed without it.
    """

    tag: str
    array: str
    relation: isl.Map
    text: str
    place: Place
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Fragment:
    """A stretch of C; ``tag`` names the reference of which it is the element accessed, if it is one.

    ``read`` is the reference that reads an element before it is written, as in ``x += 1``.
    """

    text: str
    tag: str | None = None
    read: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What a function returns: a number or a variable in C, of a type; ``local`` is that variable if it is its own."""

    value: str = ""
    kind: str = "void"
    local: str = ""


@dataclass(frozen=True, slots=True)
class CodeText:
    """A region as C that can be compiled.

    ``body`` are its statements as written, ``declarations`` those of the data it uses ("double A[N][M]"), by name;
    ``private`` are those declared in the region, without its ``result``. ``arguments`` are the names that the function
    takes, in order, ``integers`` declare its parameters ("int n"), by name, ``macros`` are integer macros that it uses;
    ``locals`` are further declarations that the body needs, ``tables`` arrays of constants. Of the arguments ``unused``
    declares those that nothing reads, and ``constant`` ones lead to what is only read; ``missing`` are those of the
    file's function that have become others.
    """

    body: str = ""
    declarations: Mapping[str, str] = field(default_factory=dict)
    private: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    integers: Mapping[str, str] = field(default_factory=dict)
    unused: Mapping[str, str] = field(default_factory=dict)
    constant: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()
    result: Result = Result()
    macros: Mapping[str, int] = field(default_factory=dict)
    locals: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """One assignment: each of its instances is one vertex of the CDAG.

    ``domain`` is the set ``name[iterators]``, ``schedule`` maps it to the program's time vectors (all of one length);
    ``times`` are the entries of the time vector that hold the iterators, up to their sign. Loops whose place follows
    from that of others, as the loops over the tiles of a tiled loop nest, are not among the iterators.
    ``operations`` counts the arithmetic operations of one instance. ``accumulates`` is the associative operation (+, *,
    max, min) by which it adds a term to the element that it writes, "" if it does not. ``code`` is the assignment in
    the names of ``iterators`` and of the loops left out, whose values in an instance are ``implied``.
    """

    name: str
    text: str
    place: Place
    iterators: tuple[str, ...]
    times: tuple[int, ...]
    domain: isl.Set
    schedule: isl.Map
    reads: tuple[Reference, ...]
    write: Reference
    operations: int
    code: tuple[Fragment, ...] = ()
    implied: tuple[tuple[str, isl.Map], ...] = ()
    accumulates: str = ""


@dataclass(frozen=True)
class Program:
    """An affine program: what the front end makes of one ``#pragma scop`` region.

    ``context`` is the set of parameter values for which the program is defined (``[N] -> { : }``); ``defaults`` are
    values that the C file gives to parameters (``#define N 1000``).
    """

    name: str
    parameters: tuple[str, ...]
    context: isl.Set
    statements: tuple[Statement, ...]
    arrays: Mapping[str, Array]
    defaults: Mapping[str, int] = field(default_factory=dict)
    source: str = ""
    code: CodeText = field(default_factory=CodeText)

    @cached_property
    def by_name(self) -> dict[str, Statement]:
        """The statements by name."""
        return {statement.name: statement for statement in self.statements}

    def domain(self) -> isl.UnionSet:
        """Return all instances of all statements."""
        return reduce(isl.UnionSet.union, (isl.UnionSet.from_set(statement.domain) for statement in self.statements))

    def schedule(self) -> isl.UnionMap:
        """Return the execution order of the C code: instances to time vectors, compared lexicographically."""
        return reduce(isl.UnionMap.union, (isl.UnionMap.from_map(statement.schedule) for statement in self.statements))

    def writes(self) -> isl.UnionMap:
        """Return the union of all write accesses."""
        return reduce(
            isl.UnionMap.union, (isl.UnionMap.from_map(statement.write.relation) for statement in self.statements)
        )

    def has_choices(self) -> bool:
        """Return whether some reads stand in one branch of a choice between values."""
        return not all(read.sure for item in self.statements for read in item.reads)

    def with_sure_reads(self) -> Program:
        """Return the program with what is read whatever the data are: each choice reads one branch, any one."""
        kept = (replace(item, reads=tuple(read for read in item.reads if read.sure)) for item in self.statements)
        return replace(self, statements=tuple(kept))

    def fixed(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Return ``sizes`` restricted to the parameters, with the file's defaults where a size is not given."""
        known = {**self.defaults, **sizes}
        return {name: known[name] for name in self.parameters if name in known}
