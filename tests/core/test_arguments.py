"""Arguments are checked against their annotations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest

from shorthaul.core.arguments import fields_checked, fit, public
from shorthaul.core.errors import InputError

if TYPE_CHECKING:
    from shorthaul.core.search import Search

RIGHT: list[tuple[Any, Any, Any]] = [
    (3, int, 3),
    (np.int32(3), int, 3),
    (np.float64(0.5), float, 0.5),
    (3, float, 3),
    ("a", str | None, "a"),
    (None, str | None, None),
    ("a", Path, Path("a")),
    ("a", str | PathLike[str], "a"),
    (Path("a"), str | PathLike[str], Path("a")),
    ([1, 2], tuple[int, ...], (1, 2)),
    ((1, 2), tuple[int, ...], (1, 2)),
    ((1, "a"), tuple[int, str], (1, "a")),
    ({"a": np.int64(1)}, Mapping[str, int], {"a": 1}),
    ({1: "x"}, Mapping[str, object] | Mapping[int, object], {1: "x"}),
    ("b", Literal["a", "b"], "b"),
    ([[1]], Iterable[Any], [[1]]),
    (object, Any, object),
]
WRONG: list[tuple[Any, Any, str]] = [
    (True, int, "an integer"),
    (1.5, int, "an integer"),
    (True, float, "a number"),
    (1, bool, "True or False"),
    (5, str | None, "text or None"),
    (b"a", Path, "a path"),
    (5, str | PathLike[str], "text or a path"),
    ("ab", tuple[str, ...], "a list of texts"),
    ("ab", Sequence[str], "a list of texts"),
    ({"a": 1}, Sequence[int], "a list of integers"),
    ([], Mapping[str, int], "a mapping from text to an integer"),
    ({"a": "b"}, Mapping[str, int], "an integer"),
    ({3: 4}, Mapping[str, int], "text"),
    ("c", Literal["a", "b"], "a, b"),
    (None, Exception, "an Exception"),
]


@pytest.mark.parametrize(("value", "kind", "fitted"), RIGHT)
def test_right_values_fit(value: object, kind: object, fitted: object) -> None:
    assert fit(value, kind, "x") == fitted
    assert type(fit(value, kind, "x")) is type(fitted)


@pytest.mark.parametrize(("value", "kind", "allowed"), WRONG)
def test_wrong_values_do_not(value: object, kind: object, allowed: str) -> None:
    with pytest.raises(InputError) as error:
        fit(value, kind, "x")
    assert "x" in error.value.place
    assert error.value.allowed == allowed


@public
def example(first: int, *rest: str, search: Search | None = None, **others: object) -> tuple[Any, ...]:
    """Return what it is given."""
    return first, *rest, search, others


def test_functions_are_checked() -> None:
    assert example(1, "a", x=5) == (1, "a", None, {"x": 5})
    for positional, keywords, place in (
        (("a",), {}, "first"),
        ((1, 2), {}, "rest[0]"),
        ((1,), {"search": 5}, "search"),
        ((), {}, "example()"),
    ):
        with pytest.raises(InputError) as error:
            example(*positional, **keywords)  # type: ignore[arg-type]
        assert error.value.place == place
        assert error.value.allowed


@dataclass(frozen=True, slots=True)
@fields_checked
class Box:
    name: str
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("is empty")


def test_fields_are_checked() -> None:
    assert Box("a", [1, 2]).sizes == (1, 2)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is empty"):
        Box("")
    with pytest.raises(InputError, match=r"sizes\[1\]: is of another type"):
        replace(Box("a"), sizes=[1, "b"])
