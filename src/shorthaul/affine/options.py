"""The options of each verb: dataclass fields, Python keywords and command-line flags alike."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shorthaul.core.errors import InputError
from shorthaul.core.options import FILE_OR_NAME, INTEGERS, NAMES, SIZES, Options, option, validate

PROFILES = ("best", "iolb")
FORMATS = ("text", "latex", "sympy")
UNITS = ("words", "bytes")

_SIZE = "Values of the parameters and of S, the fast memory in words, as in N=1000,M=800,S=32768."
_LEVEL = "Several memories in place of S, in words, each over the next: --level 4096 --level 32768."
_FUNCTION = "The C function to read, where several have a '#pragma scop'."
_PROFILE = "iolb: the published method; best: the further arguments too."
_SMALL = "Parameters that stay small against S, as in D,K: the leading term keeps them apart."
_UPPER = "Also derive a tiled order and its loads as a formula."
_REASSOCIATE = "A bound that holds for any order and tree of sums, products, max and min, beside the usual one."
_ONE_BRANCH = "A bound that holds where a choice between values reads one branch only, beside that for both."


@dataclass(frozen=True, slots=True)
class MachineOptions:
    """Which memory of which machine is meant."""

    machine: str | None = option(
        None, "The machine whose memory is S: a file, or a name of 'shorthaul machines'.", form=FILE_OR_NAME
    )
    machine_level: str | None = option(None, "Which of its memories (default: the one next to the outermost).")

    def __post_init__(self) -> None:
        validate(self)
        if self.machine is None and self.machine_level is not None:
            cure = "name the machine too, or leave this out"
            raise InputError("does not apply", place="--machine-level", allowed="with --machine", cure=cure)


@dataclass(frozen=True, slots=True)
class BoundOptions(MachineOptions):
    """Options of ``bound``."""

    function: str | None = option(None, _FUNCTION)
    profile: str = option("best", _PROFILE, choices=PROFILES)
    size: str | None = option(None, _SIZE, form=SIZES)
    level: str | None = option(None, _LEVEL, form=INTEGERS)
    small: str | None = option(None, _SMALL, form=NAMES)
    format: str = option("text", "How formulas and proof are printed.", choices=FORMATS, free=True)
    proof: bool = option(False, "Print the proof too.", free=True)
    upper: bool = option(True, _UPPER, free=True)
    reassociate: bool = option(False, _REASSOCIATE)
    one_branch: bool = option(False, _ONE_BRANCH)


@dataclass(frozen=True, slots=True)
class PlanOptions(MachineOptions):
    """Options of ``plan``."""

    function: str | None = option(None, _FUNCTION)
    profile: str = option("best", _PROFILE, choices=PROFILES)
    size: str | None = option(None, _SIZE, form=SIZES)
    level: str | None = option(None, _LEVEL, form=INTEGERS)
    evaluations: int | None = option(
        None,
        "How many tiled orders are replayed at most (default: up to 200, fewer for large sizes).",
        least=1,
        free=True,
    )


@dataclass(frozen=True, slots=True)
class CheckOptions(MachineOptions):
    """Options of ``check``."""

    function: str | None = option(None, _FUNCTION)
    profile: str = option("best", _PROFILE, choices=PROFILES)
    size: str | None = option(None, "Sizes at which everything is compared (default: several small ones).", form=SIZES)
    bound: Path | None = option(None, "A result document: the certificate of its bound is verified.")
    reassociate: bool = option(False, "Compare the bound that holds for any order and tree of sums.")


@dataclass(frozen=True, slots=True)
class SweepOptions(MachineOptions):
    """Options of ``sweep``."""

    function: str | None = option(None, _FUNCTION)
    profile: str = option("best", _PROFILE, choices=PROFILES)
    size: str | None = option(None, "Values of the parameters, as in N=1000,M=800; S is what is varied.", form=SIZES)
    least: int = option(16, "The smallest S, in words.", least=1, most=2**50)
    most: int = option(2**20, "The largest S, in words.", least=1, most=2**50)
    points: int = option(17, "How many values of S, evenly spaced on a logarithmic scale.", least=1, most=1000)
    balance: float | None = option(
        None,
        "The machine's operations per word of traffic (per byte with --unit bytes): adds shares of its peak.",
        least=1e-9,
    )
    unit: str = option("words", "What operational intensities and --balance count.", choices=UNITS)


@dataclass(frozen=True, slots=True)
class CdagOptions(Options):
    """Options of ``cdag``."""

    function: str | None = option(None, _FUNCTION)
    size: str | None = option(None, "Values of the parameters, as in N=8,M=6.", form=SIZES)


@dataclass(frozen=True, slots=True)
class CodeOptions(MachineOptions):
    """Options of ``code``."""

    function: str | None = option(None, _FUNCTION)
    profile: str = option("best", _PROFILE, choices=PROFILES)
    size: str | None = option(None, _SIZE, form=SIZES)
    level: str | None = option(None, _LEVEL, form=INTEGERS)
