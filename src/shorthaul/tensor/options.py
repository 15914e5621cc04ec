"""Options of the verbs of the tensor engine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from shorthaul.core.errors import InputError
from shorthaul.core.options import FILE_OR_NAME, SIZES, Options, option
from shorthaul.tensor.model import Machine

OBJECTIVES = ("balanced", "time", "energy")
RULE_NAMES = ("spec", "contest", "contest-loose")
_MACHINE = "ONNX: plan the network in seconds and bytes on this machine: a file, or a name of 'shorthaul machines'."
_OBJECTIVE = "ONNX with --machine: what a plan is to take least of; balanced: little of time and energy, time first."
_RULES_HELP = "The paper as written, the contest's final rules, or those before its rule on fused prologues."


@dataclass(frozen=True, slots=True)
class MachineOptions(Options):
    """The machine of an ONNX model, and the sizes of its symbolic dimensions."""

    machine: str | None = option(None, _MACHINE, form=FILE_OR_NAME)
    dim: str | None = option(
        None, "ONNX with --machine: sizes of symbolic dimensions, as in batch=8,length=128.", form=SIZES
    )

    def sizes(self) -> dict[str, int]:
        """Return the sizes of symbolic dimensions; raises :class:`InputError`."""
        found: dict[str, int] = {}
        for item in filter(None, (part.strip() for part in (self.dim or "").split(","))):
            name, equals, value = (part.strip() for part in item.rpartition("="))
            if not equals or not name or not re.fullmatch(r"[1-9]\d{0,8}", value):
                allowed = "NAME=INTEGER, as in batch=8, with integers from 1 to 999999999"
                raise InputError("is no size", place="--dim", value=item, allowed=allowed)
            if found.setdefault(name, int(value)) != int(value):
                raise InputError("is given twice", place="--dim", value=item)
        return found


@dataclass(frozen=True, slots=True)
class RuleOptions(MachineOptions):
    """Options of ``bound``."""

    rules: str = option("spec", _RULES_HELP, choices=RULE_NAMES)


@dataclass(frozen=True, slots=True)
class RunOptions(RuleOptions):
    """Options of ``run``."""

    inputs: str | None = option(
        None, "ONNX: a .npz with an array per input, or a .npy; random ones otherwise.", form=FILE_OR_NAME
    )


@dataclass(frozen=True, slots=True)
class CheckOptions(RuleOptions):
    """Options of ``check``."""

    bound: Path | None = option(None, "A result document: the certificate of its bound is verified.")


@dataclass(frozen=True, slots=True)
class PlanOptions(RuleOptions):
    """Options of ``plan``."""

    restarts: int = option(
        4,
        "Annealings, each from a seed of its own; with a time limit alone, one per core at least. Above 300 operators "
        "stretches are annealed instead, whatever this says.",
        least=1,
        most=10_000,
        free=True,
    )
    objective: str = option("balanced", _OBJECTIVE, choices=OBJECTIVES)


@dataclass(frozen=True, slots=True)
class SweepOptions(RuleOptions):
    """Options of ``sweep``."""

    over: str = option("capacity", "What is varied.", choices=("capacity", "bandwidth"))
    least: float | None = option(None, "The smallest amount (default: a quarter of the machine's).", least=1e-9)
    most: float | None = option(None, "The largest amount (default: four times the machine's).", most=1e15)
    points: int = option(9, "How many amounts, evenly spaced on a logarithmic scale.", least=1, most=1000)


@dataclass(frozen=True, slots=True)
class AcceleratorOptions(Options):
    """The machine of a problem made from an ONNX model, which names none."""

    capacity: float = option(2.0**20, "ONNX: elements of fast memory.", least=1)
    bandwidth: float = option(16.0, "ONNX: elements from or to slow memory per unit of time.", least=1e-9)
    native: str = option("128x128", "ONNX: the native tile, WIDTHxHEIGHT elements.")

    def machine(self) -> Machine:
        """Return the machine; raises :class:`InputError`."""
        match = re.fullmatch(r"([1-9]\d{0,8})[xX]([1-9]\d{0,8})", self.native.strip())
        if match is None:
            raise InputError("is no tile", place="--native", value=self.native, allowed="WIDTHxHEIGHT, as in 128x128")
        return Machine(self.capacity, self.bandwidth, int(match[1]), int(match[2]))
