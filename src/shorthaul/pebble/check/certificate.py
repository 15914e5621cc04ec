"""The certificate of a bound, verified: paths between parts of a graph, and what they charge.

Shares no code with bounds.

A part of the kind ``crossing`` holds node-disjoint paths along edges, each followed by the later node that it leads to.
D are the later nodes, with ``around`` if that is given; A are the starts. Where no value is computed twice, every node
of D needs all of A, and no path runs through D, the values that paths hold when the first of D is computed are in the
room beside it, or are loaded later, and stored before unless they are inputs. Parts add up as no node is on two paths.
The room is the budget without the lightest node of D; with ``around``, which all of D needs, without that node and all
that it reads, none of which may then be on a path. The proof stands in ``bounds/crossings/crossing.py``.

A part of the kind ``formula`` or ``exhaustive`` has no certificate: it is taken as it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from shorthaul.core.check import Violation
from shorthaul.core.errors import InputError
from shorthaul.pebble.model import Cdag, Terms

_RULE: Final = "certificate"
_UNCERTIFIED: Final = ("formula", "exhaustive")


class _WrongError(Exception):
    """What is wrong with a part."""


def parts_of(bound: Mapping[str, Any]) -> list[Any]:
    """Return the parts of the certificate in a ``bound`` object; raises :class:`InputError` if it holds none."""
    given = bound.get("certificate")
    parts = given.get("parts") if isinstance(given, Mapping) else None
    if not isinstance(parts, list):
        cure = "write it anew with pebble bound --result"
        raise InputError("holds no certificate", place="bound.certificate", cure=cure)
    return parts


def verify(
    cdag: Cdag, bound: Mapping[str, Any], budget: int, *, recompute: bool, terms: Terms
) -> tuple[list[Violation], list[str]]:
    """Return what is wrong with the certificate in the ``bound`` object of a result document, and what was verified.

    The bound is one on plans within ``budget``, with ``recompute`` on those that may compute values again, on
    ``traffic``, or on the ``total`` that they pay on ``terms``.

    Raises
    ------
    InputError
        If the object holds no certificate of a bound on what plans move or pay.
    """
    parts, value = parts_of(bound), bound.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError("must be a number", place="bound.value", value=value)
    of = bound.get("of")
    allowed = ("traffic", "total") if terms.offloads else ("total",)
    if of not in allowed:
        raise InputError("is not verified in this game", place="bound.of", value=of, allowed=" or ".join(allowed))
    paths = _Paths(cdag, budget + (terms.slack(cdag) if terms.in_place else 0))
    violations: list[Violation] = []
    remarks: list[str] = []
    kinds: list[str] = []
    beyond = 0
    for number, part in enumerate(parts, 1):
        place = f"bound.certificate.parts[{number}]"
        try:
            kind = _kind_of(part, recompute=recompute, terms=terms)
            beyond += paths.charged(part, place) if kind == "crossing" else 0
        except _WrongError as error:
            violations.append(Violation(_RULE, place, str(error)))
            continue
        kinds.append(kind)
        if kind in _UNCERTIFIED:
            remarks.append(f"[{number}] {kind} ({part.get('method')}): no certificate, it is taken as it is")
    base, price = _prices(cdag, terms, is_total=of == "total")
    proven = (base if "algorithmic" in kinds else 0) + -(-price * beyond // 2)
    told = (
        f"{kinds.count('crossing')} crossings of {paths.count} paths verified, with inputs and outputs"
        if beyond
        else ""
    )
    remarks.insert(0, f"{told or 'inputs and outputs verified'}: {of} {proven:,} of the {value:,} stated")
    if value > proven and not violations and not any(kind in _UNCERTIFIED for kind in kinds):
        message = "the bound is above what its parts add up to"
        violations.append(Violation(_RULE, "bound.value", message, float(value), float(proven)))
    return violations, remarks


def _kind_of(part: object, *, recompute: bool, terms: Terms) -> str:
    kind = part.get("kind") if isinstance(part, Mapping) else None
    if kind not in ("algorithmic", "crossing", *_UNCERTIFIED):
        raise _WrongError(f"is of an unknown kind: {kind!r}")
    if kind == "crossing" and (recompute or terms.partial or not terms.offloads):
        ways = "values are computed again or operand by operand, or not loaded or stored"
        raise _WrongError(f"crossings hold in no game in which {ways}")
    return str(kind)


def _prices(cdag: Cdag, terms: Terms, *, is_total: bool) -> tuple[int, int]:
    """Return what every plan pays, and twice what a unit of traffic beyond that costs at least.

    Of that traffic half are loads at least: what is stored beyond the outputs is loaded.
    """
    if not is_total:
        terms, compute = Terms(), 0
    else:
        compute = sum(cost for cost, given in zip(cdag.compute.tolist(), cdag.given.tolist(), strict=True) if not given)
        if terms.load is None:
            compute += int(cdag.compute[cdag.given].sum())
    load, store = terms.load or 0, terms.store or 0
    loaded = sum(cdag.weights[cdag.given].tolist())
    stored = sum(cdag.weights[cdag.children.degrees() == 0].tolist())
    return compute + load * loaded + store * stored, load + min(load, store)


class _Paths:
    """The paths of all parts so far, and the graph that they are in."""

    def __init__(self, cdag: Cdag, budget: int) -> None:
        self._cdag, self._budget = cdag, budget
        self._weights: list[int] = cdag.weights.tolist()
        self._given: list[bool] = cdag.given.tolist()
        starts, targets = cdag.parents.starts.tolist(), cdag.parents.targets.tolist()
        self._operands = [targets[starts[node] : starts[node + 1]] for node in range(cdag.n)]
        self._level = [0] * cdag.n
        for node in cdag.order.tolist():
            self._level[node] = 1 + max((self._level[operand] for operand in self._operands[node]), default=0)
        self._named = {cdag.id_of(node): node for node in range(cdag.n)}
        self._place: dict[int, str] = {}
        self.count = 0

    def charged(self, part: Mapping[str, Any], place: str) -> int:
        """Return what is moved beyond inputs and outputs by the paths of a part; raises :class:`_WrongError`."""
        rows, named = part.get("paths"), part.get("around")
        if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and len(row) > 1 for row in rows):
            raise _WrongError("paths must be lists of two nodes and more")
        around = None if named is None else self._node(named)
        paths = [[self._node(name) for name in row] for row in rows]
        later = {path[-1] for path in paths} | (set() if around is None else {around})
        barred = later if around is None else later.union(self._operands[around])
        for number, path in enumerate(paths, 1):
            self._follow(path, barred, f"{place}.paths[{number}]")
        self._need({path[0] for path in paths}, later if around is None else {around})
        if around is None:
            room = self._budget - min(self._weights[node] for node in later)
        else:
            self._need({around}, later - {around})
            room = self._budget - self._weights[around] - sum(self._weights[node] for node in self._operands[around])
        twice, once, room = 0, 0, max(0, room)
        for path in paths:
            least = min(self._weights[node] for node in path[:-1])
            if self._given[path[0]]:
                once += least
            else:
                twice += least
        self.count += len(paths)
        spared = min(room, twice)
        return 2 * (twice - spared) + max(0, once - (room - spared))

    def _node(self, name: object) -> int:
        found = None if isinstance(name, bool) or not isinstance(name, int | str) else self._named.get(name)
        if found is None:
            raise _WrongError(f"{name!r} is no node")
        return found

    def _id(self, node: int) -> str:
        return str(self._cdag.id_of(node))

    def _follow(self, path: Sequence[int], barred: set[int], place: str) -> None:
        """Take the nodes of a path; raises :class:`_WrongError` where it is no path, or goes where it may not."""
        for node, following in itertools.pairwise(path):
            if node not in self._operands[following]:
                raise _WrongError(f"{place}: {self._id(following)} does not read {self._id(node)}")
            if node in barred:
                raise _WrongError(f"{place}: {self._id(node)} is a later node, or read by the one that paths go around")
            if node in self._place:
                raise _WrongError(f"{place}: {self._id(node)} is on {self._place[node]} too")
            self._place[node] = place

    def _need(self, needed: set[int], needing: Iterable[int]) -> None:
        """Raise :class:`_WrongError` unless each of some nodes is computed from each of others.

        Bits of the needed nodes are handed on along the edges between.
        """
        order = sorted(needed)
        masks = {node: 1 << bit for bit, node in enumerate(order)}
        lowest = min(self._level[node] for node in order)
        ahead = list(needing)
        between = set(ahead)
        while ahead:
            for operand in self._operands[ahead.pop()]:
                if operand not in between and self._level[operand] >= lowest:
                    between.add(operand)
                    ahead.append(operand)
        for node in sorted(between, key=self._level.__getitem__):
            mask = masks.get(node, 0)
            for operand in self._operands[node]:
                mask |= masks.get(operand, 0)
            masks[node] = mask
        for node in needing:
            missing = ((1 << len(order)) - 1) & ~masks[node]
            if missing:
                lacking = order[(missing & -missing).bit_length() - 1]
                raise _WrongError(f"{self._id(node)} does not need {self._id(lacking)}")
