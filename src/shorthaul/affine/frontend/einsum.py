"""Sums of products in NumPy's notation, ``"bqd,bkd->bqk"``, as a loop nest in C."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shorthaul.core.errors import InputError

_ALLOWED = "one letter per axis, no dots, operands apart by commas, then '->' and the result, as in bqd,bkd->bqk"
_FAST_MEMORY, _MOST_AXES = "S", 64


def is_einsum(text: str) -> bool:
    """Return whether ``text`` is meant as a sum of products: one line with an arrow, and nothing of C.

    >>> is_einsum("ij,jk->ik"), is_einsum("void f(P *p) { p->x = 0; }")
    (True, False)
    """
    return "->" in text and not re.search(r"[{};()#=\n]", text.strip())


def without_arrow(text: str) -> InputError | None:
    """Return the error for a sum that lacks its arrow, None for anything else.

    >>> print(without_arrow("ij,jk"))
    einsum: has no '->' and no result behind it
      found:   'ij,jk'
      allowed: one letter per axis, no dots, operands apart by commas, then '->' and the result, as in bqd,bkd->bqk
      do:      write the result too: 'ij,jk->ik' sums over all letters but these
    """
    named = text.replace("...", spare := _spare(text))
    found = re.fullmatch(r"\s*([a-zA-Z]+(?:\s*,\s*[a-zA-Z]+)+)\s*(?:[-=>:]+\s*([a-zA-Z]*)\s*)?", named)
    if found is None:
        return None
    operands = "".join(found[1].split())
    once = {item for item in operands if item == spare or operands.count(item) == 1} - {","}
    result = "".join(sorted(once, key=lambda item: (item != spare, item)))
    cure = f"write the result too: '{operands}->{found[2] or result}' sums over all letters but these"
    problem = "has no '->' and no result behind it"
    return InputError(problem, place="einsum", value=text.strip(), allowed=_ALLOWED, cure=cure)


def _spare(text: str) -> str:
    """Return a letter that the sum lacks, to stand in place of an ellipsis."""
    return next((letter for letter in "zbnuvwxyacdef" if letter not in text), "Z")


def einsum_loops(text: str) -> str:
    """Return the loops of the sum ``text`` in C: one nest over all letters, each of them a parameter.

    Raises :class:`InputError` for anything that is no such sum.

    >>> print(einsum_loops("ij,j->i"))
    void einsum(int i, int j, double operand_0[i][j], double operand_1[j], double result[i]) {
    #pragma scop
    for (int at_i = 0; at_i < i; at_i++) {
    result[at_i] = 0;
    for (int at_j = 0; at_j < j; at_j++)
    result[at_i] += operand_0[at_i][at_j] * operand_1[at_j];
    }
    #pragma endscop
    }
    """
    operands, result = _letters(text)
    every = list(dict.fromkeys("".join([result, *operands])))
    summed = [item for item in every if item not in result]
    target = _element("result", result)
    value = " * ".join(_element(f"operand_{at}", item) for at, item in enumerate(operands))
    inner = [*_loops(summed), f"{target} += {value};"] if summed else [f"{target} = {value};"]
    start = [f"{target} = 0;"] if summed else []
    arrays = [_declared(f"operand_{at}", item) for at, item in enumerate(operands)]
    given = ", ".join([*(f"int {item}" for item in every), *arrays, _declared("result", result)])
    body = [*_loops(list(result)), "{", *start, *inner, "}"]
    text = "\n".join(body).replace(")\n{", ") {")
    return f"void einsum({given}) {{\n#pragma scop\n{text}\n#pragma endscop\n}}"


def _letters(text: str) -> tuple[list[str], str]:
    """Return the letters of every operand and of the result."""
    left, _, result = "".join(text.split()).partition("->")
    operands = left.split(",")
    for item in (*operands, result):
        wrong = re.search(r"[^a-zA-Z]", item)
        if wrong:
            named = text.strip().replace("...", _spare(text))
            cure = f"name every axis: '{named}' has one for the dots" if "..." in item else "write letters only"
            raise InputError("is no sum of products", place="einsum", value=wrong[0], allowed=_ALLOWED, cure=cure)
        if len(item) > _MOST_AXES:
            cure = "write the axes that the operand has"
            raise InputError("has too many axes", place="einsum", value=item, allowed=f"{_MOST_AXES} axes", cure=cure)
    if _FAST_MEMORY in left + result:
        cure = "take another letter, such as s"
        raise InputError("S is the fast memory", place="einsum", value=text.strip(), cure=cure)
    for at, item in enumerate(result):
        if item in result[:at]:
            raise InputError(
                f"the result has {item} twice", place="einsum", value=text.strip(), cure="name every axis of it once"
            )
        if item not in left:
            cure = f"give an operand the axis {item}, or drop it"
            raise InputError(f"no operand has {item}", place="einsum", value=text.strip(), cure=cure)
    if not left.replace(",", ""):
        raise InputError("no operand has an axis", place="einsum", value=text.strip(), allowed=_ALLOWED)
    return operands, result


def _loops(letters: Sequence[str]) -> list[str]:
    return [f"for (int at_{item} = 0; at_{item} < {item}; at_{item}++)" for item in letters]


def _element(name: str, letters: str) -> str:
    return name + ("".join(f"[at_{item}]" for item in letters) or "[0]")


def _declared(name: str, letters: str) -> str:
    return f"double {name}" + ("".join(f"[{item}]" for item in letters) or "[1]")
