"""The memory of a processor: every processor has as much, and a program takes as much of each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InfeasibleError, InputError

ClassT = TypeVar("ClassT", bound=type[Any])

#: A word has 64 bits: a value, or the numbers of two nodes.
WORD_BYTES = 8
#: Kinds of numbers that a register can hold, as NumPy calls them: truths, integers, real numbers.
NUMBERS = "biuf"


class MachineError(InputError):
    """A program did what no processor can do: the message names the processor and the register."""


def sealed(cls: ClassT) -> ClassT:
    """Make a class whose objects the machine alone makes, by :data:`made`: none by a call, subclass or copy."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise MachineError("is made by the machine alone", place=cls.__name__, cure="ask the machine for registers")

    for name in ("__new__", "__init_subclass__", "__reduce__", "__copy__", "__deepcopy__", "__getstate__"):
        setattr(cls, name, refuse)
    return cls


#: Returns an object of a sealed class, to be filled.
made = object.__new__


class Memory:
    """So many words of each processor; counts the bytes that a program holds there, and what the host says and asks."""

    __slots__ = ("_held", "_most", "_room", "constants", "has_ended", "limit_words", "looks")

    def __init__(self, limit_words: int) -> None:
        self.limit_words = limit_words
        self.looks = 0  #: how often the host asked whether any node is left
        self.constants = 0  #: how many numbers it gave to all nodes of a selection
        self.has_ended = False
        self._held = self._most = self._room = 0  # up to the room nothing has to be checked

    def hold(self, size: int) -> None:
        """Count bytes that every processor holds from now on.

        Raises :class:`InfeasibleError` if they do not fit, :class:`MachineError` if the program has ended.
        """
        held = self._held + size
        if held > self._room:
            self.expect_running()
            if held > self.limit_words * WORD_BYTES:
                demand, cure = (
                    -(-held // WORD_BYTES),
                    "give more words (--words; memory_bytes of a machine), or keep fewer values",
                )
                raise InfeasibleError("memory of a processor", demand=demand, limit=self.limit_words, cure=cure)
            self._most = self._room = held
        self._held = held

    def release(self, size: int) -> None:
        """Count bytes that are no longer held."""
        self._held -= size

    def end(self) -> None:
        """End the program: nothing is held from now on."""
        self.has_ended, self._room = True, -1

    @contextmanager
    def ended_by(self, error: type[Exception]) -> Iterator[None]:
        """End the program where such an error is raised: it tells what a processor holds."""
        try:
            yield
        except error:
            self.end()
            raise

    def refused(self, problem: str, **named: Any) -> MachineError:
        """End the program, and return an error that tells what a processor holds: nobody goes on who has read it."""
        self.end()
        return MachineError(problem, **named)

    def expect_running(self) -> None:
        """Raise :class:`MachineError` if the program has ended."""
        if self.has_ended:
            raise MachineError("the program has ended", place="machine", cure="read results and costs at the end")

    def most_words(self) -> int:
        """Return the most words that were held at a time."""
        return -(-self._most // WORD_BYTES)


def constant(value: Any, kind: np.dtype[Any], register: str) -> npt.NDArray[Any]:
    """Return a number, or a row, as a register of this type holds it; raises :class:`MachineError` if it does not."""
    given = np.asarray(value)
    with np.errstate(all="ignore"):
        found = given.astype(kind) if given.dtype.kind in NUMBERS else given
    if found.dtype == kind and (kind.kind == "f" or np.array_equal(found, given)):
        return found
    raise MachineError(f"does not hold {value}", place=f"register {register!r}", value=kind)
