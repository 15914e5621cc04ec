"""What ``bound`` prints: the number asked for and what it rests on, in a few lines; the proof where it is wanted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shorthaul.affine.bounds.best import FORMULAS
from shorthaul.affine.orders.upper_report import upper_text
from shorthaul.affine.plan import BoundExtra, LevelLoads, Plan, UpperDocument
from shorthaul.affine.proofs.proof import shorten
from shorthaul.affine.sizes import FAST_MEMORY, sizes_text
from shorthaul.core.amounts import Bound, digits
from shorthaul.core.result import Result

#: Characters of a formula above which its short form is printed in its place.
_LONG = 100
#: Arguments that are named; the rest are counted.
_MOST_NAMED = 3


def printed(result: Result[Plan, BoundExtra], form: str, *, proof: bool) -> str:
    """Return the answer as ``text``, LaTeX or SymPy expressions; ``proof``: everything it follows from too."""
    made = result.bound
    assert made is not None
    if form == "sympy":
        names = [name for name in FORMULAS if made.details[name] is not None]
        return "\n".join(f"{name} = {made.details[name]}" for name in names)
    if form == "latex":
        return "\n".join(f"{name}: {text}" for name, text in made.details["latex"].items() if proof or name != "proof")
    lines = list(_answer(made, result.extra))
    if not proof:
        return "\n".join([*lines, "(--proof prints why; --json and --result hold everything)"])
    upper = result.extra["upper"]
    return "\n".join([*lines, "", proof_text(made), *([] if upper is None else ["", upper_text(upper)])])


def _answer(made: Bound, extra: BoundExtra) -> Iterator[str]:
    """Yield value, formula, what it rests on, the derived order and the gap, a line each."""
    details, upper = made.details, extra["upper"]
    sized = details["value"] is not None
    if sized:
        at = sizes_text(extra["sizes"])
        yield _line(
            "value", f"{digits(made.value)} words, {digits(details['value_bytes'])} bytes: no order loads less at {at}"
        )
        if "value_s" in details:
            yield _line("machine", _machine(details, extra))
    else:
        names = ",".join(f"{name}=..." for name in [*extra["program"]["parameters"], "S"])
        yield _line("value", f"--size {names} gives a number")
    if details["assumes"]:
        yield _line("assumes", f"{details['assumes']}: what the file needs to be this program")
    yield _line("formula", _formula(details))
    yield _line("leading", f"{shorten(details['leading'])}   ({details['leading_holds_for']})")
    yield _line("rests on", _named(details["rests_on"]))
    if "in_order" in details:
        yield _line("sums", _orders_of_sums(details))
    if details["branches"] is not None:
        yield _line("choices", _branches(details))
    if details["cut_off"]:
        yield _line("cut off", "the limit or a signal ended the search: with more effort the bound may be higher")
    if "no_order" in extra:
        yield _line("no order", extra["no_order"])
    if upper is not None and sized == ("value" in upper):
        yield from _order(made, upper)
    for row in extra.get("levels", []):
        yield _line("level", _level(row))


def _order(made: Bound, upper: UpperDocument) -> Iterator[str]:
    """Yield the derived order, its loads, and the gap."""
    known = upper.get("at_sizes", upper["steps"])  # that whose loads are told
    steps = sorted(known, key=lambda item: -len(item["order"]))  # what has loops to order and to tile first
    orders = [f"{', '.join(item['statements'])}: {item['order']}" for item in steps]
    yield _line("order", _cut(orders))
    if "value" not in upper:
        near = "" if upper["tightness"] is None else f"; lower / upper: {upper['tightness']:.4g}"
        yield _line("", f"its loads, leading term: {shorten(upper['leading'])}{near}")
    elif math.isfinite(upper["value"]):
        yield _line("", f"its loads: at most {digits(upper['value'])} words at these sizes")
        yield _line("gap", _gap(made.value, upper["value"]))
    else:
        yield _line("", f"not for so small a fast memory: {upper['holds_for']}")


def _machine(details: Mapping[str, Any], extra: BoundExtra) -> str:
    """Return what the value takes on the machine."""
    memory = extra["machine"]
    joules = f", {details['value_j']:.4g} joules" if "value_j" in details else ""
    held = f"{memory['level']} over {memory['over']}, S = {extra['sizes'][FAST_MEMORY]:,} words"
    return f"{details['value_s']:.4g} seconds{joules} on {memory['name']}: {held}"


def _level(row: LevelLoads) -> str:
    """Return what is known of one of several memories."""
    most = row["loads_words"]
    told = "" if most is None else f", the order at most {digits(most)}"
    return f"S = {row['S']:,}: at least {digits(row['bound'])} words{told}"


def _orders_of_sums(details: Mapping[str, Any]) -> str:
    """Return for which sums the bound holds, and what holds for their order in the program where that is different."""
    return f"in any order and tree; in the program's order {_beside(details, 'in_order')}"


def _branches(details: Mapping[str, Any]) -> str:
    """Return how many branches of a choice the bound takes as read, and what holds for the other number."""
    both, one = "both branches are read (conditional moves, vector units)", "one branch is read (jumps)"
    if details["branches"] == "both":
        return f"{both}; where {one} {_beside(details, 'one_branch')}"
    return f"{one}; where {both} {_beside(details, 'both_branches')}" if "both_branches" in details else one


def _beside(details: Mapping[str, Any], name: str) -> str:
    """Return the bound that stands beside the one asked for."""
    other = details[name]
    if (other["value"], other["leading"]) == (details["value"], details["leading"]):
        return "the same"
    number = "" if other["value"] is None else f"{digits(other['value'])} words, "
    return f"{number}leading {shorten(other['leading'])}"


def _line(name: str, text: str) -> str:
    return f"{name + ':' if name else '':12} {text}"


def _formula(details: Mapping[str, Any]) -> str:
    simple = details["simple"]
    if len(details["formula"]) <= _LONG or simple is None:
        return shorten(details["formula"])
    more = "; the value is from arguments made for its sizes" if details["suits_sizes"] else ""
    return f"at least {simple['formula']}   for {' and '.join(simple['where']) or 'all sizes'}{more}"


def _named(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return the arguments, the largest first; inputs by themselves."""
    inputs, *others = parts
    others = sorted(others, key=lambda item: -(item["loads_words"] or 0))

    def share(item: Mapping[str, Any]) -> str:
        return "" if item["loads_words"] is None else f" {digits(item['loads_words'])}"

    texts = [f"{item['method']} on {', '.join(dict.fromkeys(item['statements']))}{share(item)}" for item in others]
    texts = [f"{inputs['method']}{share(inputs)}", *dict.fromkeys(texts)]
    return _cut(texts, " + " if inputs["loads_words"] is not None else "; ", _MOST_NAMED + 1)


def _cut(texts: Sequence[str], between: str = "; ", most: int = _MOST_NAMED) -> str:
    further = [f"{len(texts) - most} more"] if len(texts) > most else []
    return between.join([*texts[:most], *further])


def _gap(lower: float, upper: float) -> str:
    if upper <= lower:
        return "none: the order is optimal at these sizes"
    if lower <= 0:
        return "the bound is 0"
    times = f"{upper / lower:.3g} times" if upper >= 1.01 * lower else f"{digits(upper - lower)} words above"
    return f"the order loads {times} the bound"


def proof_text(made: Bound) -> str:
    """Return all formulas and the proof in words."""
    names = [name for name in FORMULAS if made.details[name] is not None]
    lines = [f"{name + ':':12} {shorten(made.details[name])}" for name in names]
    simple = made.details["simple"]
    if simple is not None:
        where = " and ".join(simple["where"]) or "all sizes"
        lines.insert(1, f"{'at least:':12} {simple['formula']}   for {where}")
    return "\n".join([*lines, "", made.proof])
