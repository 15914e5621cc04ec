"""The options of each verb: dataclass fields, Python keywords and command-line flags alike."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from shorthaul.core.errors import InputError
from shorthaul.core.options import FILE_OR_NAME, INTEGERS, Options, PythonForm, option, validate
from shorthaul.core.search import ONE_PER_WORKER, RESTARTS

#: The planners that can be asked for by name.
METHODS = (
    "auto",
    "dwt",
    "tree",
    "tree-cuts",
    "memory-states",
    "mvm-tiling",
    "layer-by-layer",
    "layer-by-layer-freeing",
    "belady",
    "liu",
    "list-scheduling",
    "bisection",
    "tiles",
    "beam",
    "local-search",
    "exact",
)
#: Budgets above this are refused; the weights of all nodes together stay far below it.
LARGEST_BUDGET = 2**60
_BUDGET = "The fast memory's capacity, in the unit of the weights"
#: Prices above this are refused.
LARGEST_PRICE = 1_000_000
#: What a plan can be written as, beside its own format.
FORMATS = ("c", "json", "csv", "dot")
#: In which orders values may be computed for the first time.
FREE, GIVEN = "free", "given"


def _priced(value: Any) -> str | None:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


#: Text such as ``3`` or ``inf``, given as a number.
PRICE = PythonForm("float", _priced)


@dataclass(frozen=True, slots=True)
class PricedOptions:
    """What moves cost, on which machine, and which order is kept."""

    load_price: str = option(
        "1", "What loading a unit of weight costs; inf: no loads, inputs are computed.", form=PRICE
    )
    store_price: str = option(
        "1", "What storing a unit of weight costs; inf: no stores, outputs are computed only.", form=PRICE
    )
    order: str = option(
        FREE,
        "Values are first computed in any order, or in the order of the nodes in the input.",
        choices=(FREE, GIVEN),
    )
    partial: bool = option(False, "Accumulate values operand by operand, in any order.")
    in_place: bool = option(False, "A result may take the room of an operand that is dropped, if it is no larger.")
    machine: str | None = option(
        None,
        "The machine whose memory is the fast one: a file, or a name of 'shorthaul machines'.",
        form=FILE_OR_NAME,
    )
    machine_level: str | None = option(None, "Which of its memories (default: the one next to the outermost).")
    weight_bytes: float | None = option(
        None, "With --machine: the bytes of a weight of 1; C files and ONNX models weigh in bytes.", above=0, most=2**40
    )

    def __post_init__(self) -> None:
        validate(self)
        for name in ("machine_level", "weight_bytes"):
            if self.machine is None and getattr(self, name) is not None:
                cure = "name the machine too, or leave this out"
                raise InputError(
                    "does not apply", place=f"--{name.replace('_', '-')}", allowed="with --machine", cure=cure
                )
        for name in ("load_price", "store_price"):
            price_of(getattr(self, name), f"--{name.replace('_', '-')}")


#: The fields of PricedOptions.
PRICED = tuple(field.name for field in fields(PricedOptions))


def price_of(text: str, place: str) -> int | None:
    """Return the price that a text gives, None for ``inf``; raises :class:`InputError`.

    >>> price_of("3", "--load-price"), price_of("inf", "--load-price")
    (3, None)
    """
    try:
        price = float(text)
    except ValueError:
        price = math.nan
    if price == math.inf:
        return None
    if not (price.is_integer() and 0 <= price <= LARGEST_PRICE):
        allowed = f"integers from 0 to {LARGEST_PRICE}, or inf"
        raise InputError("is no price", place=place, value=text, allowed=allowed, cure="scale prices and compute costs")
    return int(price)


@dataclass(frozen=True, slots=True)
class BudgetOptions(PricedOptions):
    """What moves cost, and how much the fast memory holds."""

    budget: int | None = option(
        None, f"{_BUDGET} (default: the least in which each value can be computed).", least=1, most=LARGEST_BUDGET
    )


@dataclass(frozen=True, slots=True)
class PlanOptions(BudgetOptions):
    """What a plan is asked for."""

    method: str = option("auto", "How to plan.", choices=METHODS, free=True)
    recompute: bool = option(False, "Allow values to be computed more than once.")
    restarts: int | None = option(None, RESTARTS + ONE_PER_WORKER, least=1, most=10_000, free=True)


@dataclass(frozen=True, slots=True)
class BoundOptions(BudgetOptions):
    """What a lower bound is asked for."""

    recompute: bool = option(False, "Bound plans that may compute values more than once.")


@dataclass(frozen=True, slots=True)
class CheckOptions(PricedOptions):
    """By which rules a plan is replayed, and which bound is verified."""

    budget: int | None = option(
        None, f"{_BUDGET} (default: no limit, only the peak is reported).", least=1, most=LARGEST_BUDGET
    )
    recompute: bool = option(True, "Allow values to be computed more than once.")
    bound: Path | None = option(None, "A result document: the certificate of its bound is verified.")


@dataclass(frozen=True, slots=True)
class MemoryOptions(Options):
    """How the smallest fast memory is looked for."""

    method: str = option("auto", "Whose smallest memory: the best known, or one planner's own.", choices=METHODS)
    recompute: bool = option(False, "Allow values to be computed more than once.")
    order: str = option(FREE, "Values are computed in any order, or in that of the nodes.", choices=(FREE, GIVEN))
    partial: bool = option(False, "Accumulate values operand by operand, in any order.")
    in_place: bool = option(False, "A result may take the room of an operand that is dropped, if it is no larger.")
    capacities: str | None = option(
        None,
        "Capacities in bits for the SRAM table, separated by commas (default: the least, two powers of two above).",
        form=INTEGERS, free=True,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SweepOptions(PricedOptions):
    """Which budgets are compared."""

    budgets: str | None = option(
        None,
        "Budgets separated by commas, or first:last:step (default: --points many, from the least to enough).",
        form=INTEGERS,
    )
    points: int = option(12, "How many budgets to choose where --budgets does not say.", least=1, most=1000)
    method: str = option("auto", "How to plan.", choices=METHODS)
    recompute: bool = option(False, "Allow values to be computed more than once.")


@dataclass(frozen=True, slots=True)
class RunOptions(BudgetOptions):
    """What is executed: a plan made here, or the given one."""

    method: str = option("auto", "How to plan, without --plan.", choices=METHODS)
    recompute: bool = option(False, "Allow values to be computed more than once.")
    plan: Path | None = option(None, "Execute this plan instead of making one.")
    data: Path | None = option(None, "Numbers for the inputs, one per line in node order (default: random ones).")


@dataclass(frozen=True, slots=True)
class CodeOptions(BudgetOptions):
    """Which plan is written for other tools, and how."""

    method: str = option("auto", "How to plan, without --plan.", choices=METHODS)
    recompute: bool = option(False, "Allow values to be computed more than once.")
    plan: Path | None = option(None, "Write this plan instead of making one.")
    format: str | None = option(
        None,
        "What to write: C, or the order with what is kept, dropped, offloaded, recomputed (default: as the name of the"
        " file ends, else C).",
        choices=FORMATS,
    )
