"""The certificate of a bound, verified: every argument that has one, and how they add up. Shares no code with bounds.

An argument of the kind ``formula`` has no certificate: only its place in the sum is verified.
"""

from __future__ import annotations

import ast
import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial, reduce
from typing import Any, Final, TypeVar

import islpy as isl

from shorthaul.affine.check import moments, partition_inequalities
from shorthaul.affine.check.data_flow import ProgramReads, Reads
from shorthaul.affine.check.execution import execute, fixed
from shorthaul.affine.check.families import lines, paired_rows, used_sums, waiting_sums, whole_rows
from shorthaul.affine.check.families.line_ends import wrong_ends
from shorthaul.affine.check.formulas import Number, as_decimal, combined, floor, is_same, value_of
from shorthaul.affine.check.graphs.stages import Stage, derived
from shorthaul.affine.check.graphs.sums import has_sums
from shorthaul.affine.check.lifetime_argument import KINDS, Waiting, waiting_of, wrong_relations
from shorthaul.affine.check.lifetime_points import Graph, wrong_in, wrong_sum
from shorthaul.affine.check.partition_argument import argument_of, wrong_for_all_sizes, wrong_numbers
from shorthaul.affine.check.partition_points import (
    counted,
    is_written_so,
    operands_of,
    wrong_at,
    wrong_counts,
    wrong_formulas,
)
from shorthaul.affine.check.stencils import cones, levels
from shorthaul.affine.model import Program
from shorthaul.core.check import Violation
from shorthaul.core.errors import InputError

ItemT = TypeVar("ItemT")

#: Instances of a program up to which it is executed to verify a certificate.
_MOST_INSTANCES: Final = 1_200
#: At how many sizes; values at most of sizes drawn, and of sizes that are all equal; those of S. How many small sizes
#: are drawn besides, up to which value: branches of formulas for small sizes differ there.
_SAMPLES: Final = 2
_SMALL: Final = 20
_SMALL_UPPER: Final = 7
_UPPER: Final = 16
_EQUAL: Final = 4
_CAPACITIES: Final = (1, 2, 4, 7, 1_000)
#: Values of all parameters, and of S, at which only formulas are compared: segments of many events need large sizes.
_LARGE: Final = ((40, 7), (700, 100), (9_973, 1_000), (100_003, 70_000))
#: How many more are drawn, evenly by their logarithms, up to which size and S; and as many again near those of the
#: document, up to that factor: another part of a formula is the largest one there.
_DRAWN: Final = 12
_LARGEST: Final = (30_000, 1_000_000)
_NEAR: Final = 3.0
#: Sizes up to which rows are counted width by width.
_MOST_ROWS: Final = 6_000
_RULE: Final = "certificate"


def verify(
    program: Program, bound: Mapping[str, Any], sizes: Mapping[str, int] | None, seed: int = 0
) -> tuple[list[Violation], list[str]]:
    """Return what is wrong with the certificate in the ``bound`` object of a result document, and what was verified.

    ``sizes`` are those of its value, None where it has none. Sizes for counting are drawn by ``seed``.

    Raises
    ------
    InputError
        If the document holds no certificate of a bound on this program.
    """
    given = bound.get("certificate")
    if not isinstance(given, Mapping) or not isinstance(given.get("parts"), list):
        raise InputError("holds no certificate", place="bound.certificate", cure="write it anew with affine bound")
    reads = ProgramReads(program)
    samples = _samples(program, sizes, seed)
    stages = _Stages(reads, samples, bool(given.get("any_order", False)))
    violations: list[Violation] = []
    remarks: list[str] = []
    for number, part in enumerate(given["parts"], 1):
        place = f"bound.certificate.parts[{number}]"
        kind = part.get("kind") if isinstance(part, Mapping) else None
        if kind == "formula":
            remarks.append(f"[{number}] {part.get('method')}: no certificate, its formula is taken as it is")
            continue
        try:
            if not isinstance(kind, str) or kind not in _VERIFIED:
                allowed = f"{', '.join(_VERIFIED)} or formula"
                raise InputError("is of an unknown kind", place="kind", value=kind, allowed=allowed)
            stage, found = stages.of(part)
            if stage.only and kind != stage.only:
                raise InputError("does not hold on this graph", place="kind", value=kind)
            there = replace(samples, executed=stage.executed)
            found = list(dict.fromkeys([*found, *_VERIFIED[kind](part, stage.reads, there)]))
        except (InputError, isl.Error, KeyError, TypeError, ValueError, IndexError, ArithmeticError) as error:
            found = [f"cannot be read: {error}"]
        violations += [Violation(_RULE, place, message) for message in found]
        if not found:
            names = part["statements"] if "statements" in part else [item["statement"] for item in part["parts"]]
            remarks.append(f"[{number}] {kind} on {', '.join(names)}: verified")
    try:
        violations += [
            Violation(_RULE, place, message) for place, message in _sums(given, bound, reads, samples, sizes)
        ]
    except (InputError, isl.Error, KeyError, TypeError, ValueError, IndexError, ArithmeticError) as error:
        violations.append(Violation(_RULE, "bound", f"cannot be read: {error}"))
    return violations, remarks


@dataclass(frozen=True)
class _Samples:
    """Sizes at which a certificate is compared with counts, and the largest of them with the graph executed there.

    At ``large`` ones, with S and those of the document among them, only formulas are compared.
    """

    counted: tuple[dict[str, int], ...]
    executed: tuple[tuple[dict[str, int], Graph], ...]
    large: tuple[Mapping[str, int], ...]

    @property
    def apart(self) -> dict[str, int]:
        """Sizes of which no two are the same, at which formulas are compared whose floors and extremes are opaque."""
        return {name: 1_009 + 14 * at for at, name in enumerate(self.large[0])}


#: What is wrong with an argument on what is read, by its certificate.
_Verified = Callable[[Mapping[str, Any], Reads, _Samples], Iterator[str]]


@dataclass(frozen=True)
class _Stages:
    """The graphs on which the arguments of a certificate argue; ``any_order``: for sums in any order."""

    program: ProgramReads
    samples: _Samples
    any_order: bool
    known: dict[str, tuple[Stage, list[str]]] = field(default_factory=dict)

    def of(self, part: Mapping[str, Any]) -> tuple[Stage, list[str]]:
        """Return the graph of an argument, and what is wrong with it."""
        steps = part.get("graph", [])
        key = json.dumps(steps, sort_keys=True)
        if key not in self.known:
            whole = Stage(self.program, self.samples.executed)
            stage, wrong = derived(steps, whole, self.samples.counted)
            if self.any_order and not stage.any_order and has_sums(self.program):
                wrong = [*wrong, "the graph is that of sums in order"]
            self.known[key] = stage, wrong
        return self.known[key]


def _samples(program: Program, given: Mapping[str, int] | None, seed: int) -> _Samples:
    """Return sizes drawn from small to as large as execution allows."""
    drawn = random.Random(seed)
    found = [dict.fromkeys(program.parameters, at) for at in range(1, _EQUAL + 1)]
    for upper in range(1, _UPPER + 1):
        sizes = {name: drawn.randint(max(1, upper - 3), upper) for name in program.parameters}
        counts = (fixed(item.domain, sizes).count_val().to_python() for item in program.statements)
        total = sum(counts)
        if total > _MOST_INSTANCES:  # isl counts one by one
            break
        found.append(sizes)
    executed = [(sizes, Graph(operands_of(execute(program, sizes)))) for sizes in found[-_SAMPLES:]]
    found += [{name: drawn.randint(1, _SMALL_UPPER) for name in program.parameters} for _ in range(_SMALL)]
    found = [item for at, item in enumerate(found) if item not in found[:at]]
    large = [{**dict.fromkeys(program.parameters, value), "S": capacity} for value, capacity in _LARGE]
    most = {**dict.fromkeys(program.parameters, _LARGEST[0]), "S": _LARGEST[1]}
    large += [{name: round(value ** drawn.random()) for name, value in most.items()} for _ in range(_DRAWN)]
    if given is not None:
        near = [{name: value * _NEAR ** drawn.uniform(-1, 1) for name, value in given.items()} for _ in range(_DRAWN)]
        large += [dict(given), *({name: max(1, round(value)) for name, value in item.items()} for item in near)]
    return _Samples(tuple(found), tuple(executed), tuple(large))


def _with_values(
    read: Callable[[Mapping[str, Any], Reads], ItemT],
    wrong: Callable[[ItemT, Reads], Iterator[str]],
    wrong_at: Callable[[ItemT, Callable[[isl.UnionSet], int], Mapping[str, int]], Iterator[str]],
    wrong_formulas_at: Callable[[ItemT, Mapping[str, int]], Iterator[str]],
) -> _Verified:
    """Return how arguments are verified whose value follows from numbers: these are counted at small sizes."""

    def verified(part: Mapping[str, Any], reads: Reads, samples: _Samples) -> Iterator[str]:
        item = read(part, reads)
        yield from wrong(item, reads)
        for sizes in samples.counted:
            yield from wrong_at(item, partial(counted, sizes=sizes), sizes)
        every = ({**sizes, "S": capacity} for sizes in samples.counted for capacity in _CAPACITIES)
        for here in (*every, *samples.large):
            yield from wrong_formulas_at(item, here)

    return verified


def _of_partition(part: Mapping[str, Any], reads: Reads, samples: _Samples) -> Iterator[str]:
    item = argument_of(part, reads)
    yield from wrong_for_all_sizes(item, reads)
    if item.given["hourglass"] is not None:
        yield from partition_inequalities.wrong_neck(item, reads)
    else:
        yield from partition_inequalities.wrong_mirror(item) if item.given["mirrored"] else wrong_numbers(item)
    if item.given.get("ends") is not None:
        yield from wrong_ends(item, reads)
    for sizes, graph in samples.executed:
        yield from wrong_at(item, graph.operands, sizes, _CAPACITIES)
    for sizes in samples.counted:
        instances = sum(counted(one.points, sizes) for one in item.parts)
        yield from wrong_counts(item, instances, counted(item.sources, sizes), sizes, _CAPACITIES[:1])
    for here in () if item.given["mirrored"] else samples.large:
        yield from wrong_formulas(item, here)
    if not is_written_so(item, samples.apart):
        yield "the value is not written as T, |D| and U give it by the lemma on segments, less the sources"


def _of_whole_rows(part: Mapping[str, Any], reads: Reads, samples: _Samples) -> Iterator[str]:
    item = whole_rows.whole_rows_of(part, reads)
    yield from whole_rows.wrong_rows(item, reads)
    near = [{name: here[name] for name in samples.apart} for here in samples.large[len(_LARGE) + _DRAWN :]]
    few = [sizes for sizes in near if max(sizes.values()) <= _MOST_ROWS]
    for sizes in (
        *samples.counted[-_SAMPLES:],
        *few[:_SAMPLES],
        *whole_rows.sizes_at_limits(item, list(samples.apart)),
    ):
        yield from whole_rows.wrong_rows_counts(item, sizes)
    for here in samples.large:
        yield from whole_rows.wrong_rows_formulas(item, here)


def _of_waiting(
    part: Mapping[str, Any],
    reads: Reads,
    samples: _Samples,
    wrong: Callable[[Waiting, Reads], Iterator[str]] = wrong_relations,
    wrong_there: Callable[[Waiting, Graph, Mapping[str, int]], Iterator[str]] = wrong_in,
) -> Iterator[str]:
    item = waiting_of(part, reads)
    yield from wrong(item, reads)
    for sizes, graph in samples.executed:
        yield from wrong_there(item, graph, sizes)
    for sizes in samples.counted:
        yield from wrong_sum(item, sizes, _CAPACITIES)


#: What is verified, by kind: what is wrong with one argument.
_VERIFIED: Final[Mapping[str, _Verified]] = {
    "K-partition": _of_partition,
    "finished sums": _with_values(
        partition_inequalities.finished_sums_of,
        partition_inequalities.wrong_finished_sums,
        partition_inequalities.wrong_sum_value,
        partition_inequalities.wrong_finished_formulas,
    ),
    "used sums": _with_values(
        used_sums.used_sums_of, used_sums.wrong_use, used_sums.wrong_lines_at, used_sums.wrong_used_formulas
    ),
    "waiting sums": _with_values(
        waiting_sums.waiting_sums_of,
        waiting_sums.wrong_waiting_sums,
        waiting_sums.wrong_waiting_value,
        waiting_sums.wrong_waiting_formulas,
    ),
    "paired rows": _with_values(
        paired_rows.paired_rows_of,
        paired_rows.wrong_paired_rows,
        paired_rows.wrong_paired_value,
        paired_rows.wrong_paired_formulas,
    ),
    "lines": _with_values(lines.lines_of, lines.wrong_lines, lines.wrong_lines_value, lines.wrong_lines_formulas),
    "whole rows": _of_whole_rows,
    "stencil": _with_values(levels.stencil_of, levels.wrong_levels, levels.wrong_value, levels.wrong_formulas),
    "double cones": _with_values(cones.cones_of, cones.wrong_cones, cones.wrong_cone_value, cones.wrong_cone_formulas),
    "moments": partial(_of_waiting, wrong=moments.wrong_moments, wrong_there=moments.wrong_moments_in),
    **dict.fromkeys(KINDS, _of_waiting),
}


def _sums(
    given: Mapping[str, Any],
    bound: Mapping[str, Any],
    reads: Reads,
    samples: _Samples,
    sizes: Mapping[str, int] | None,
) -> Iterator[tuple[str, str]]:
    """Yield place and message of what does not follow from the parts."""
    parts = given["parts"]
    sums = [[int(number) - 1 for number in item] for item in given["sums"]]
    if any(at not in range(len(parts)) for item in sums for at in item) or any(len(set(s)) < len(s) for s in sums):
        yield "bound.certificate.sums", "names a part that there is not, or one twice"
        return
    spills = [isl.UnionSet(str(part["spill"])) for part in parts]
    for item in sums:
        for one, other in itertools.combinations(item, 2):
            if parts[one].get("graph") != parts[other].get("graph"):
                yield "bound.certificate.sums", f"parts {one + 1} and {other + 1} argue on different graphs"
            if not spills[one].intersect(spills[other]).is_empty():
                yield "bound.certificate.sums", f"parts {one + 1} and {other + 1} count loads of common vertices"
    texts = {"certificate.formula": str(given["formula"]), "formula": str(bound["formula"])}
    yield from _wrong_inputs(given, bound, reads, samples)
    every = [{**at, "S": capacity} for at in samples.counted for capacity in _CAPACITIES]
    for here in (*every, *samples.large):
        total = _total(given, sums, here)
        wrong = {text for text in texts.values() if not is_same(value_of(text, here), total)}
        for name, text in texts.items():
            if text in wrong:
                yield f"bound.{name}", f"is not the largest sum of the parts at {dict(here)}"
    whole, here = _written(given, sums), samples.apart
    for name, text in texts.items():
        if not is_same(value_of(text, here, opaque=True), value_of(whole, here, opaque=True)):
            yield f"bound.{name}", "is not written as the largest sum of the parts"
    if sizes is not None:
        yield from _wrong_value(given, bound, sums, sizes)


def _wrong_inputs(
    given: Mapping[str, Any], bound: Mapping[str, Any], reads: Reads, samples: _Samples
) -> Iterator[tuple[str, str]]:
    """Yield where the inputs are not those that are counted."""
    for at in samples.counted:
        inputs = counted(reads.inputs, at)
        for name in ("certificate.inputs", "inputs"):
            value = value_of(str(given["inputs"] if "." in name else bound["inputs"]), at)
            if as_decimal(value) > inputs:  # those of some iterations are counted where all take too long a formula
                yield f"bound.{name}", f"there are {inputs} inputs at {dict(at)}"
            if not is_same(value, value_of(str(given["inputs"]), at)):
                yield f"bound.{name}", f"is not the number of inputs in the certificate at {dict(at)}"


def _total(given: Mapping[str, Any], sums: Sequence[Sequence[int]], at: Mapping[str, int]) -> Number:
    """Return inputs plus the largest of the sums."""
    zero: Number = Fraction(0)
    values = []
    for part in given["parts"]:
        value = max(value_of(str(part["value"]), at), zero, key=as_decimal)
        factors = (value_of(str(step["times"]), at) for step in part.get("graph", []) if "times" in step)
        values.append(reduce(partial(combined, ast.Mult), factors, value))
    totals = [reduce(partial(combined, ast.Add), (values[k] for k in item), zero) for item in sums]
    return combined(ast.Add, value_of(str(given["inputs"]), at), max(totals, default=zero, key=as_decimal))


def _written(given: Mapping[str, Any], sums: Sequence[Sequence[int]]) -> str:
    """Return inputs plus the largest of the sums as a formula."""
    values = []
    for part in given["parts"]:
        factors = [step["times"] for step in part.get("graph", []) if step.get("times", "1") != "1"]
        values.append(f"Max(0, {' * '.join(f'({item})' for item in (part['value'], *factors))})")
    totals = [" + ".join(values[at] for at in item) or "0" for item in sums]
    return f"({given['inputs']}) + Max({', '.join(totals or ['0'])})"


def _wrong_value(
    given: Mapping[str, Any], bound: Mapping[str, Any], sums: Sequence[Sequence[int]], sizes: Mapping[str, int]
) -> Iterator[tuple[str, str]]:
    """Yield where the numbers at the sizes of the document are not those of its formulas."""
    total = _total(given, sums, sizes)
    if not is_same(-floor(combined(ast.Sub, Fraction(0), total)), Fraction(str(bound["value"]))):
        yield "bound.value", f"the formula gives {float(total):,.2f} at the sizes of the document"
    shares = [Fraction(str(item["loads_words"])) for item in bound["rests_on"]]
    if abs(float(sum(shares)) - float(total)) > 1e-9 * max(1.0, abs(float(total))):
        yield "bound.rests_on", "the shares do not add up to the value"
