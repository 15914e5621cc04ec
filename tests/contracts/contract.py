"""What every engine promises on the command line. An engine registers by a module ``tests/contracts/ENGINE.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Broken:
    """A call that must end in one clear message: exit status 2, every text of ``says`` on standard error."""

    name: str
    arguments: tuple[str, ...]
    says: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    status: int = 2


@dataclass(frozen=True)
class Contract:
    """One engine's tiny problem and its broken inputs.

    ``files`` are written into the working folder of every call. ``plan`` are the arguments of ``shorthaul ENGINE plan``
    (without ``-o``), ``check`` those of ``check`` before the plan file. ``objective`` is the entry of ``cost`` that the
    bound is on, None for a front, whose points carry their own.
    """

    engine: str
    plan: tuple[str, ...]
    check: tuple[str, ...]
    plan_file: str
    broken: tuple[Broken, ...]
    objective: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
