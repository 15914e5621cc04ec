from __future__ import annotations

import pickle

import pytest

from shorthaul.core.errors import Demand, InfeasibleError, InputError, nearest_name, show_value, unknown_name


def test_an_input_error_tells_everything() -> None:
    error = InputError(
        "must be positive", file="a.json", place="widths[3]", value=-1, allowed="from 1", nearest="x", cure="fix it"
    )
    assert str(error).splitlines() == [
        "a.json: widths[3]: must be positive",
        "  found:   -1",
        "  allowed: from 1",
        "  nearest: did you mean 'x'?",
        "  do:      fix it",
    ]


def test_the_first_file_named_stays() -> None:
    assert InputError("bad").in_file("a").file == "a"
    assert InputError("bad", file="b").in_file("a").file == "b"


def test_none_is_a_value() -> None:
    assert "found:   None" in str(InputError("bad", value=None))
    assert "found" not in str(InputError("bad"))


@pytest.mark.parametrize(
    "error",
    [
        InputError("bad", file="f", place="p", value=3, allowed="a", cure="c"),
        InfeasibleError("memory", demand=3, limit=2, place="node 1", contributors=[Demand("x", 3)], cure="more"),
    ],
)
def test_errors_travel_between_processes(error: Exception) -> None:
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    without_value = InputError("has no value")
    assert str(pickle.loads(pickle.dumps(without_value))) == str(without_value) == "has no value"


def test_values_are_cut_to_a_line() -> None:
    assert len(show_value("x" * 1000)) <= 120
    assert show_value(10**5000) == "an integer of 16610 bits"
    assert "thousands of digits" in show_value([10**5000])
    nested: list[object] = []
    for _ in range(200_000):  # deeper than any version of Python prints
        nested = [nested]
    assert "deeply nested" in show_value(nested)


class _Shy:
    def __repr__(self) -> str:
        raise RuntimeError


def test_values_that_cannot_be_shown_hide_no_error() -> None:
    assert show_value([_Shy()]) == "a list that cannot be shown"
    assert nearest_name("op_type", [1, "op_types"]) == "op_types"  # type: ignore[list-item]


def test_names_far_away_are_not_suggested() -> None:
    assert nearest_name("zzz", ["hilbert"]) is None
    assert unknown_name("curve", "zzz", ["hilbert"]).nearest is None


def test_an_error_lists_some_of_thousands_of_names() -> None:
    error = unknown_name("actor", "n7000", [f"n{at:04}" for at in range(6000)])
    assert str(error.allowed).endswith("n0099, and 5,900 more")
    assert error.nearest == "n5700"
