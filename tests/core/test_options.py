"""Option dataclasses: ranges, choices, and keywords in their place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from shorthaul.core.errors import InputError
from shorthaul.core.options import FILE_OR_NAME, INTEGERS, chosen, option, validate


@dataclass(frozen=True, slots=True)
class Options:
    size: int = option(4, "How large.", least=1, most=9)
    curve: str = option("snake", "Which curve.", choices=("snake", "hilbert"))
    trace: Path | None = option(None, "A file.")
    machine: str | None = option(None, "A file or a name.", form=FILE_OR_NAME)
    level: str | None = option(None, "Some.", form=INTEGERS)

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


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"])
@pytest.mark.parametrize("field", ["trace", "machine"])
def test_what_no_file_can_be_called(field: str, name: str) -> None:
    with pytest.raises(InputError, match=rf"{field}: is no name of a file"):
        chosen(None, Options, {field: name})


def test_an_array_without_axes_is_no_list() -> None:
    with pytest.raises(InputError, match="level"):
        chosen(None, Options, {"level": np.array(3)})
