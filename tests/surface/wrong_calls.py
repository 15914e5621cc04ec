"""Calls of every verb with one thing wrong: a type, a value, a name, a shape. The same ones in every run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.verbs import Verb


class Odd:
    """An object of no library."""

    def __repr__(self) -> str:
        return "Odd()"


@dataclass(frozen=True)
class Call:
    """A call of a verb and what is wrong about it."""

    positional: tuple[object, ...]
    keywords: dict[str, object]
    wrong: str

    def __str__(self) -> str:
        return f"{self.wrong}: {self.positional!r:.200} {self.keywords!r:.200}"


#: Of no type that any argument has.
NOTHING: tuple[object, ...] = (Odd(), object, print, b"bytes", {3}, 2j, NotImplemented, range(0))
WRONG: dict[str, tuple[object, ...]] = {
    "int": (*NOTHING, "3", 1.5, True, [1], -1, 2**80, np.float64(2.5)),
    "float": (*NOTHING, "0.5", True, [1.0], -1.0, float("nan"), 1e300),
    "bool": (*NOTHING, 1, 0.0, "yes", [True], None),
    "str": (*NOTHING, 7, 1.5, True, "no such value", ""),
    "Path": (*NOTHING, 7, 1.5, "no/such.file", Path("missing.json"), [Path()], ""),
    "Search": (*NOTHING, 1, "search", {"effort": 1}),
}
WORKLOADS: tuple[object, ...] = (
    *NOTHING, None, 3, 1.5, True, "", " ", "no-such-case", "no/such.file", Path("missing.json"), Path(), "a\0b", "x" * 9999,
    {}, [], (), [[1, 2], [3]], [None], ["a", Odd()], np.zeros((2, 2)), np.array([0.5, -1]), np.array(["x"]), np.array([]),
    "{", "{}", "digraph {", "((a,b)", "<sdf3>(", "#pragma scop\n", "%%MatrixMarket matrix\n1 1\n", "\n", "{\"kind\": 3}",
    {"kind": "shorthaul/cdag"}, {"a": Odd()}, {"widths": 1}, [5, 6, 7], [1, 0], [-1, -1], [2**80], np.array([[-1]], object),
)  # fmt: skip
PLANS: tuple[object, ...] = (*NOTHING, None, 3, 1.5, "missing.json", Path("missing.json"), [], {}, [1, 2], "", Path())
ARRAYS: tuple[npt.NDArray[Any] | object, ...] = (
    *NOTHING, 3, 1.5, "missing.npy", Path("missing.npy"), [[1], [2, 3]], np.zeros((0, 3)), [10**30], ["a", "b"], np.zeros(10**3),
    [[0, 10**6]], [[0.5, 1]], [float("nan")], np.array([Odd()]), {"a": 1},
)  # fmt: skip
OWN: dict[str, tuple[object, ...]] = {
    "plan": PLANS,
    "layout": PLANS,
    "values": ARRAYS,
    "queries": ARRAYS,
    "sizes": ARRAYS,
    "weights": ARRAYS,
    "data": ARRAYS,
    "operator": (*NOTHING, "sum", 3),
    "platform": (*NOTHING, 3, "missing.json", Path("missing.json"), {}),
    "mapping": (*NOTHING, 3, "missing.json", Path("missing.json"), {}),
    "functions": (*NOTHING, 3, "missing.py", Path("missing.so"), {}, {"fire_a": 3}),
}


#: Options that name a file to be written.
WRITTEN = {"journal", "chrome_trace", "csv"}


def wrong_calls(made: Verb, workload: object, plan: object, rest: dict[str, object]) -> Iterator[Call]:
    """Yield wrong calls of a verb that would accept ``workload``, ``plan`` and the keywords ``rest``."""
    for call in _each(made, workload, plan):
        yield Call(call.positional, {**rest, **call.keywords}, call.wrong)


def _each(made: Verb, workload: object, plan: object) -> Iterator[Call]:
    needed = {item.name: plan for item in made.explicit if item.name == "plan"}
    right = (workload, *needed.values())
    nullable = str(made.explicit[0].annotation).endswith("| None")
    for value in WORKLOADS:
        if value is not None or not nullable:
            yield Call((value, *needed.values()), {}, "workload")
    yield Call((), {}, "nothing")
    yield Call((*right, *range(5)), {}, "too many")
    for name in ("budgett", "eff", "Seed", "source", "options_", "fields", "self"):
        yield Call(right, {name: 1}, "unknown keyword")
    yield Call(right, {"workload": workload}, "twice")
    for item in made.explicit[1:]:
        for value in OWN[item.name]:
            if value is not None or item.default is item.empty:
                yield Call((workload,), {**needed, item.name: value}, item.name)
    for name, field in made.fields().items():
        kinds = str(field.type).split(" | ")
        for value in WRONG[kinds[0]]:
            if not (_allowed(value, field.metadata, kinds) or (name in WRITTEN and value == Path("missing.json"))):
                yield Call(right, {name: value}, name)
    for value in WRONG["Search"]:
        yield Call(right, {"search": value}, "search")
        yield Call(right, {"options": value}, "options")
    if made.searching is not None:
        for item in fields(made.searching):
            yield Call(right, {"search": _search(), item.name: 1}, "search twice")


def _search() -> object:
    from shorthaul.core.search import Search

    return Search()


def _allowed(value: object, metadata: Any, kinds: list[str]) -> bool:
    """Return whether the value is right after all: within the range, or text that is free."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and kinds[0] in {"int", "float"} and not (kinds[0] == "int" and isinstance(value, float)):
        least, most = metadata["least"], metadata["most"]
        return bool((least is None or value >= least) and (most is None or value <= most))
    if kinds[0] == "str" and isinstance(value, int) and not isinstance(value, bool):
        form = metadata["form"]
        return form is not None and form.annotation == "float"
    return kinds[0] == "str" and isinstance(value, str) and not metadata["choices"]
