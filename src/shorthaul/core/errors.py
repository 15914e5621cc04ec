"""Errors a user can cause, and the words in which they are told.

An :class:`InputError` names the file, the place inside it, the value found there, what is allowed and what to do. An
:class:`InfeasibleError` says that no plan exists, which resource is short, by how much and who asks for it.
"""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Collection, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shorthaul.core.provenance import Provenance

_LONGEST_VALUE: Final = 120
#: How many names an error lists: all of any table of ours, some of a user's thousands.
_NAMES: Final = 100
#: True while a command runs: errors then name its flags, elsewhere the keywords of Python.
AS_FLAGS: ContextVar[bool] = ContextVar("AS_FLAGS", default=False)
_FLAG: Final = re.compile(r"--(no-)?([a-z]+(?:-[a-z]+)*)(?: ([A-Z][A-Z,]*\b(?!=)|\w+=[^\s;]+|\d[\d.]*))?")
#: The file name that stands for standard input where something is read.
STANDARD_STREAM: Final = "-"


class _Absent:
    """The value of an :class:`InputError` that has no offending value to show."""

    def __repr__(self) -> str:
        return "<absent>"

    def __reduce__(self) -> str:
        return "ABSENT"  # an error of another process has this one too


ABSENT: Final = _Absent()


class ShorthaulError(Exception):
    """The root of every error that a user can cause; ``exit_status`` is what the command line ends with."""

    exit_status: int = 2


class InputError(ShorthaulError):
    """Something given by the user cannot be used.

    ``problem`` says what is wrong in one clause; the other parts are optional and printed on lines of their own.

    >>> print(InputError("must be positive", place="widths[3]", value=0, allowed="integers from 1"))
    widths[3]: must be positive
      found:   0
      allowed: integers from 1
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | Path | None = None,
        place: str = "",
        value: object = ABSENT,
        allowed: str = "",
        nearest: str | None = None,
        cure: str = "",
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.file = None if file is None else str(file)
        self.place = place
        self.value = value
        self.allowed = allowed
        self.nearest = nearest
        self.cure = cure

    def in_file(self, file: str | Path) -> InputError:
        """Return the same error with ``file`` named, unless a file is named already."""
        return type(self)(
            self.problem,
            file=self.file if self.file is not None else file,
            place=self.place,
            value=self.value,
            allowed=self.allowed,
            nearest=self.nearest,
            cure=self.cure,
        )

    def name_keywords(self, known: Collection[str]) -> None:
        """Name the keywords ``known`` in place of the flags made from them.

        >>> error = InputError("is missing", place="--time-limit", cure="give --seed N")
        >>> error.name_keywords(["time_limit", "seed"])
        >>> print(error)
        time_limit: is missing
          do:      give seed
        """
        for part in ("problem", "place", "allowed", "cure"):
            text = getattr(self, part)
            setattr(self, part, _FLAG.sub(partial(_keyword, known), text))

    def __str__(self) -> str:
        file = "standard input" if self.file == STANDARD_STREAM else self.file
        head = ": ".join(part for part in (file, self.place, self.problem) if part)
        lines = [head]
        if self.value is not ABSENT:
            lines.append(f"  found:   {show_value(self.value)}")
        if self.allowed:
            lines.append(f"  allowed: {self.allowed}")
        if self.nearest:
            lines.append(f"  nearest: did you mean {self.nearest!r}?")
        if self.cure:
            lines.append(f"  do:      {self.cure}")
        return "\n".join(lines)


def _keyword(known: Collection[str], flag: re.Match[str]) -> str:
    """Return a flag as the keyword it is: with its value, unless that is no more than a placeholder."""
    negated, name, value = flag[1], flag[2].replace("-", "_"), flag[3]
    if name not in known:
        return flag[0]
    if value is None or (value[0].isupper() and "=" not in value):
        return f"{name}=False" if negated else name
    return f"{name}={value!r}" if "=" in value else f"{name}={value}"


@dataclass(frozen=True, slots=True)
class Demand:
    """One contributor to a resource that does not suffice: who asks, and for how much of it."""

    who: str
    amount: float


class UnwritableError(InputError):
    """A file that was named for output cannot be written."""


class InfeasibleError(ShorthaulError):
    """No plan exists, and this is proven: ``resource`` must hold ``demand`` but is limited to ``limit``.

    >>> print(InfeasibleError("fast memory", demand=12, limit=10, place="node 7", contributors=[Demand("node 3", 12)]))
    infeasible at node 7: fast memory: 12 needed, the limit is 10
      node 3: 12

    ``further`` holds what else cannot be met, each a reason of its own.
    """

    exit_status = 3

    def __init__(
        self,
        resource: str,
        *,
        demand: float,
        limit: float,
        place: str = "",
        contributors: Iterable[Demand] = (),
        cure: str = "",
        further: Iterable[InfeasibleError] = (),
    ) -> None:
        super().__init__(resource)
        self.resource = resource
        self.demand = demand
        self.limit = limit
        self.place = place
        self.contributors = tuple(contributors)
        self.cure = cure
        self.further = tuple(further)
        #: Where the problem comes from, as the verb says that could not plan it.
        self.provenance: Provenance | None = None

    def __reduce__(self) -> tuple[object, ...]:
        # Worker processes send errors back pickled; the default way cannot restore keyword-only arguments.
        rebuild = partial(
            InfeasibleError,
            demand=self.demand,
            limit=self.limit,
            place=self.place,
            contributors=self.contributors,
            cure=self.cure,
            further=self.further,
        )
        return rebuild, (self.resource,)

    def __str__(self) -> str:
        where = f" at {self.place}" if self.place else ""
        lines = [
            f"infeasible{where}: {self.resource}: {_amount(self.demand)} needed, the limit is {_amount(self.limit)}"
        ]
        lines.extend(f"  {item.who}: {_amount(item.amount)}" for item in self.contributors)
        if self.cure:
            lines.append(f"  do:      {self.cure}")
        lines.extend(map(str, self.further))
        return "\n".join(lines)


def _amount(value: float) -> str:
    """Return an amount in digits, a whole number to the last one."""
    return f"{value:d}" if isinstance(value, int) else f"{value:.15g}"


class NoPlanError(ShorthaulError):
    """The time limit passed before any plan was found."""

    exit_status = 4


class MissingKernelError(ShorthaulError):
    """A kernel is not compiled, or for another version of Python."""


class DefectError(RuntimeError):
    """Shorthaul itself is wrong: a plan failed its own check, or a cost lies below a bound. Never caused by input."""


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the member of ``known`` spelled most like ``name``, or None if none is close.

    >>> nearest_name("hilbrt", ["gilbert", "hilbert", "snake"])
    'hilbert'
    """
    texts = [item for item in known if isinstance(item, str)]  # a mapping of a user's may have any keys
    if 3 * len(name) > 7 * max(map(len, texts), default=0):  # a name of 10^6 letters takes long; none is at 0.6 of it
        return None
    matches = difflib.get_close_matches(name, texts, n=1, cutoff=0.6)
    return matches[0] if matches else None


def unknown_name(what: str, name: str, known: Iterable[str], *, place: str = "", cure: str = "") -> InputError:
    """Return the error for a name that is not one of ``known``: the first hundred of these, and the nearest spelling.

    >>> print(unknown_name("curve", "hilbrt", ["hilbert", "snake"]))
    unknown curve
      found:   'hilbrt'
      allowed: hilbert, snake
      nearest: did you mean 'hilbert'?
    """
    names = sorted(known)
    rest = [f"and {len(names) - _NAMES:,} more"] if len(names) > _NAMES else []
    return InputError(
        f"unknown {what}",
        place=place,
        value=name,
        allowed=", ".join(names[:_NAMES] + rest) or "nothing: there is none",
        nearest=nearest_name(name, names),
        cure=cure,
    )


def show_value(value: object) -> str:
    """Return ``value`` as a user would write it, cut to a line."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 300:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = repr(value)
    except RecursionError:
        return f"a deeply nested {type(value).__name__}"
    except ValueError:  # an integer too long to print inside a list
        return f"a {type(value).__name__} with an integer of thousands of digits"
    except Exception:  # the object's own, which would hide what is wrong with it
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def is_of_memory(error: BaseException | None) -> bool:
    """True where memory ran out, or that caused ``error``: an extension that is being imported makes it an ImportError.

    >>> is_of_memory(MemoryError()), is_of_memory(ImportError("initialization failed"))
    (True, False)
    >>> is_of_memory(OSError(errno.ENOMEM, "Cannot allocate memory"))
    True
    """
    if error is None or isinstance(error, MemoryError):
        return error is not None
    if isinstance(error, ImportError):  # the loader of shared objects has no other words
        is_told = any(words in str(error).lower() for words in ("failed to map segment", "cannot allocate memory"))
    else:
        is_told = isinstance(error, OSError) and error.errno == errno.ENOMEM
    return is_told or is_of_memory(error.__cause__)
