"""Sizes as users write them: ``N=1000,M=800,S=32768``."""

from __future__ import annotations

import re
from collections.abc import Mapping

import islpy as isl

from shorthaul.affine.model import Program
from shorthaul.core.errors import InputError, unknown_name

FAST_MEMORY = "S"
LARGEST = 10**15
_MOST_DIGITS = 20


def parse_sizes(text: str | None, program: Program) -> dict[str, int]:
    """Return the sizes that ``text`` gives to parameters of ``program`` and to S.

    Raises :class:`InputError` for anything that is no ``name=integer``, an unknown name, a name given twice.

    >>> from shorthaul.affine.workloads.cases import kernel
    >>> parse_sizes("N=8, S=4", kernel("trisolv"))
    {'N': 8, 'S': 4}
    """
    result: dict[str, int] = {}
    known = {*program.parameters, FAST_MEMORY}
    for item in filter(None, (part.strip() for part in (text or "").split(","))):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not re.fullmatch(r"-?\d+", value, re.ASCII):
            raise InputError("is not a size", place="--size", value=item, allowed="NAME=INTEGER, as in N=1000,S=512")
        if name not in known:
            raise unknown_name("parameter", name, known, place="--size")
        if name in result:
            raise InputError("is given twice", place=f"--size {name}", value=item)
        if len(value) > _MOST_DIGITS or not 1 <= int(value) <= LARGEST:  # formulas hold for parameters from 1 on
            shortened = value if len(value) <= 2 * _MOST_DIGITS else f"{value[:_MOST_DIGITS]}... ({len(value)} digits)"
            raise InputError(
                "is out of range",
                place=f"--size {name}",
                value=shortened,
                allowed=f"integers from 1 to {LARGEST}",
                cure="give a size that a machine can have; the formula itself holds for all sizes",
            )
        result[name] = int(value)
    return result


def require_sizes(text: str | None, program: Program, *, fast_memory: bool | None, instead: str = "") -> dict[str, int]:
    """Return sizes for every parameter (from the C file where not given), and S, which with None need not be given.

    Raises :class:`InputError` that names what is missing, and for S if it is not asked for: ``instead`` says of what
    that takes the place.
    """
    given = parse_sizes(text, program)
    if FAST_MEMORY in given and fast_memory is False:
        raise InputError(
            "does not apply",
            place="--size",
            value=f"{FAST_MEMORY}={given[FAST_MEMORY]}",
            cure=f"leave {FAST_MEMORY} out of --size{instead}",
        )
    result: dict[str, int] = {**program.fixed(given)}
    if FAST_MEMORY in given:
        result[FAST_MEMORY] = given[FAST_MEMORY]
    wanted = [*program.parameters, *([FAST_MEMORY] if fast_memory else [])]
    missing = [name for name in wanted if name not in result]
    if missing:
        example = ",".join(f"{name}={64 if name == FAST_MEMORY else 20}" for name in wanted)
        raise InputError(
            f"no size is given for {', '.join(missing)}",
            place="--size",
            cure=f"give all of them, as in --size {example}",
        )
    _require_context(result, program)
    return result


def require_memories(size: str | None, level: str | None, program: Program) -> tuple[dict[str, int], tuple[int, ...]]:
    """Return sizes for every parameter and S, and the capacities of all memories, the largest first; S is the largest.

    Without ``level`` S is the only memory. Raises :class:`InputError` for what is no capacity, and for S given twice.
    """
    if level is None:
        sizes = require_sizes(size, program, fast_memory=True)
        return sizes, (sizes[FAST_MEMORY],)
    allowed = f"words, different integers from 1 to {LARGEST}"
    found: list[int] = []
    for item in (part.strip() for part in level.split(",")):
        known = re.fullmatch(r"\d+", item, re.ASCII) is not None and len(item) <= _MOST_DIGITS
        if not known or not 1 <= int(item) <= LARGEST or int(item) in found:
            raise InputError("is not a further memory", place="--level", value=item, allowed=allowed)
        found.append(int(item))
    if FAST_MEMORY in parse_sizes(size, program):
        raise InputError("is the largest --level already", place=f"--size {FAST_MEMORY}", cure="leave S out of --size")
    found.sort(reverse=True)
    return {**require_sizes(size, program, fast_memory=False), FAST_MEMORY: found[0]}, tuple(found)


def _require_context(sizes: Mapping[str, int], program: Program) -> None:
    """Raise :class:`InputError` for sizes at which the C file is another program: rows shorter than their content."""
    where = program.context
    for name in program.parameters:
        at = where.find_dim_by_name(isl.dim_type.param, name)
        if name in sizes and at >= 0:
            where = where.fix_val(isl.dim_type.param, at, isl.Val(str(sizes[name])))
    if where.is_empty():
        raise InputError(
            "the sizes do not fit together",
            place="--size",
            value=sizes_text({name: sizes[name] for name in program.parameters if name in sizes}),
            allowed=assumption(program),
            cure="rows of a[i*n + k] have room for every k, and loops with != meet their end: correct the sizes",
        )


def assumption(program: Program) -> str:
    """Return what the sizes of ``program`` have to fulfil beside being at least 1, "" if nothing."""
    if program.context.plain_is_universe():
        return ""
    return str(program.context).partition(":")[2].strip(" }")


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Return sizes as a user writes them."""
    return ",".join(f"{name}={value}" for name, value in sizes.items())
