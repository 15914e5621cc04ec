"""Option dataclasses: ranges, choices, and keywords in their place."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from shorthaul.core.errors import InputError
from shorthaul.core.options import chosen, option, validate


@dataclass(frozen=True, slots=True)
class Options:
    size: int = option(4, "How large.", least=1, most=9)
    curve: str = option("snake", "Which curve.", choices=("snake", "hilbert"))

    def __post_init__(self) -> None:
        validate(self)


def test_keywords_replace_fields():
    assert chosen(None, Options, {}) == Options()
    assert chosen(None, Options, {"size": 2}) == Options(size=2)
    assert chosen(Options(size=3, curve="hilbert"), Options, {"size": 2}) == Options(2, "hilbert")


def test_unknown_keywords_are_named():
    with pytest.raises(InputError, match="did you mean 'curve'"):
        chosen(None, Options, {"curv": "snake"})


def test_values_are_checked():
    with pytest.raises(InputError, match="1 to 9"):
        chosen(None, Options, {"size": 10})
    with pytest.raises(InputError, match="did you mean 'hilbert'"):
        chosen(None, Options, {"curve": "hilbrt"})
