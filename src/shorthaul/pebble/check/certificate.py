"""The certificate of a bound, verified: each part proves what its nodes move, and what parts share of a node adds up.

Shares no code with bounds. Every load and store moves one node, so what parts prove of nodes beyond the first load of
inputs and the last store of outputs adds up where no node is in two of them; and so do shares of it (``share``: a pair
of integers, a part of a whole; all of it where there is none), where no node gives more than itself.

A part of the kind ``formula`` or ``exhaustive`` has no certificate: it is taken as it is, as is one of the kind
``exhaustion`` that takes long. One of the kind ``program`` says what the program loads that the graph was made from; it
adds up with no other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

import numpy as np

from shorthaul.core.check import Violation
from shorthaul.core.errors import InputError
from shorthaul.pebble.check.certificates import (
    crossing,
    exhaustion,
    gather,
    grid,
    moment,
    network,
    product,
    successor,
    table,
    wavefront,
)
from shorthaul.pebble.check.certificates.part import Game, Proven, UnverifiedError, WrongError
from shorthaul.pebble.model import Cdag, Terms, build

_RULE: Final = "certificate"
_PROGRAM: Final = "program"
#: What remarks say of a part that is not verified.
AS_IT_IS: Final = "it is taken as it is"
_UNCERTIFIED: Final = ("formula", "exhaustive")
_ARGUMENTS: Final[dict[str, Callable[[Game, Mapping[str, Any]], Proven]]] = {
    "crossing": crossing.proven,
    "exhaustion": exhaustion.proven,
    "grid": grid.proven,
    "gather": gather.proven,
    "moment": moment.proven,
    "network": network.proven,
    "product": product.proven,
    "successor": successor.proven,
    "table": table.proven,
    "wavefront": wavefront.proven,
}
#: Arguments that hold where values may be computed again.
_WITH_RECOMPUTATION: Final = ("moment", "network", "product")
#: Those that hold where values are accumulated.
_WITH_PARTIAL_VALUES: Final = ("crossing",)
#: The least common multiple of all wholes, at most.
_MOST_PARTED: Final = 2**31


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
    violations: list[Violation] = []
    seen, is_cut = cdag.unkept(), False
    try:
        seen, is_cut = _cut(cdag, bound["certificate"].get("cut"), recompute=recompute)
    except WrongError as error:
        violations.append(Violation(_RULE, "bound.certificate.cut", str(error)))
    budget = min(budget, int(cdag.weights.sum()))  # more is as good, and products fit
    shares = _Shares(Game(seen, budget + (terms.slack(cdag) if terms.in_place else 0), recompute, terms.partial))
    remarks: list[str] = []
    is_certain, has_base, loaded = True, False, 0
    for number, part in enumerate(parts, 1):
        place = f"bound.certificate.parts[{number}]"
        try:
            kind = _kind_of(part, recompute=recompute, terms=terms)
            if kind in _ARGUMENTS:
                shares.take(kind, part, number)
            elif kind == _PROGRAM:
                words, told = _of_program(cdag, part, budget + (terms.slack(cdag) if terms.in_place else 0))
                loaded = max(loaded, int(cdag.weights.min()) * words)
                remarks += [f"[{number}] {kind}, {line}" for line in told]
        except WrongError as error:
            violations.append(Violation(_RULE, place, str(error)))
            continue
        except UnverifiedError as error:
            is_certain = False
            remarks.append(f"[{number}] {kind} {error}: {AS_IT_IS}")
        has_base |= kind == "algorithmic"
        if kind in _UNCERTIFIED:
            is_certain = False
            remarks.append(f"[{number}] {kind} ({part.get('method')}): no certificate, {AS_IT_IS}")
    base, price = _prices(cdag, terms, is_total=of == "total", is_cut=is_cut)
    unit = math.gcd(*cdag.weights.tolist())
    beyond = math.ceil(shares.moved / unit) * unit
    load = (terms.load or 0) if of == "total" else 1
    more = load * (loaded - int(cdag.weights[cdag.given].sum()))
    proven = (base if has_base else 0) + max(more, -(-price * beyond // 2))
    remarks.insert(0, f"{shares.told()}: {of} {proven:,} of the {value:,} stated")
    if value > proven and not violations and is_certain:
        message = "the bound is above what its parts add up to"
        violations.append(Violation(_RULE, "bound.value", message, float(value), float(proven)))
    return violations, remarks


def _cut(cdag: Cdag, names: object, *, recompute: bool) -> tuple[Cdag, bool]:
    """Return the graph that the parts speak of, and whether it is cut at all outputs that are read.

    ``names`` are pairs of such an output and the name of an input beside, which is read in its place. A plan of the
    graph is one of that which is cut, but for a load of each such input: right after the output is computed it is
    stored, and loaded as the input where it was. That takes that nothing is computed twice.
    """
    if names is None:
        return cdag.unkept(), False
    if recompute or cdag.kept is None:
        raise WrongError("holds where outputs are read, and no value is computed twice")
    if not isinstance(names, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in names):
        raise WrongError("must be pairs of names")
    outputs = Game(cdag, 0).different({"cut": [pair[0] for pair in names]}, "cut").tolist()
    known = [cdag.id_of(node) for node in range(cdag.n)]
    beside = [pair[1] for pair in names]
    if sorted(outputs) != np.flatnonzero(cdag.kept).tolist():
        raise WrongError("must name every output that is read")
    if any(type(name) not in (int, str) for name in beside) or len({*known, *beside}) < len(known) + len(beside):
        raise WrongError("must give every input beside a name of its own")
    place = {node: cdag.n + at for at, node in enumerate(outputs)}
    edges = [(place.get(p, p), v) for p, v in zip(*(ends.tolist() for ends in cdag.edge_arrays()), strict=True)]
    weights = [*cdag.weights.tolist(), *(int(cdag.weights[node]) for node in outputs)]
    given = np.array([*cdag.given.tolist(), *(True for _ in outputs)])
    return build(weights, *zip(*edges, strict=True), given=given, ids=[*known, *beside]), True


def _of_program(cdag: Cdag, part: Mapping[str, Any], budget: int) -> tuple[int, list[str]]:
    """Return how many words a part proves to be loaded by the program that the graph was made from, and remarks."""
    words, bound = part.get("words"), part.get("bound")
    if type(words) is not int or not isinstance(bound, dict):
        raise WrongError("program must have words, an integer, and the bound that says so")
    found = None if cdag.origin is None else cdag.origin.verified(bound, budget, int(cdag.weights.min()))
    if found is None:
        raise UnverifiedError("is of a C file that is not at hand")
    proven, wrong, remarks = found
    if wrong:
        raise WrongError(f"program: {wrong[0]}")
    if words > proven:
        raise WrongError(f"program: {words:,} words are stated, and the bound says {proven:,}")
    return words, remarks


def _kind_of(part: object, *, recompute: bool, terms: Terms) -> str:
    kind = part.get("kind") if isinstance(part, Mapping) else None
    if not isinstance(kind, str) or kind not in ("algorithmic", _PROGRAM, *_ARGUMENTS, *_UNCERTIFIED):
        raise WrongError(f"is of an unknown kind: {kind!r}")
    is_argument = kind == _PROGRAM or kind in _ARGUMENTS
    is_sure = not is_argument or not recompute or kind in _WITH_RECOMPUTATION
    is_sure &= not is_argument or not terms.partial or kind in _WITH_PARTIAL_VALUES
    if not is_sure or (is_argument and not terms.offloads):
        ways = "values are computed again or operand by operand, or not loaded or stored"
        raise WrongError(f"{kind} holds in no game in which {ways}")
    return kind


def _prices(cdag: Cdag, terms: Terms, *, is_total: bool, is_cut: bool) -> tuple[int, int]:
    """Return what every plan pays, and twice what a unit of traffic beyond that costs at least.

    Of that traffic half are loads at least: what is stored beyond the outputs is loaded. Stores of outputs that are
    read are paid already, so of such graphs only the loads count, unless they are cut there.
    """
    if not is_total:
        terms, compute = Terms(), 0
    else:
        compute = sum(cost for cost, given in zip(cdag.compute.tolist(), cdag.given.tolist(), strict=True) if not given)
        if terms.load is None:
            compute += int(cdag.compute[cdag.given].sum())
    load, store = terms.load or 0, terms.store or 0
    loaded = sum(cdag.weights[cdag.given].tolist())
    stored = sum(cdag.weights[cdag.is_output()].tolist())
    has_both = cdag.kept is None or is_cut
    return compute + load * loaded + store * stored, load + (min(load, store) if has_both else 0)


class _Shares:
    """What the parts so far add up to, and what they take of every node."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._whole = 1
        self._taken = np.zeros(game.cdag.n, dtype=np.int64)
        self._part = np.zeros(game.cdag.n, dtype=np.int64)  # the last part that took of a node
        self._parts: Counter[str] = Counter()
        self._nodes: Counter[str] = Counter()
        self.moved = Fraction(0)

    def take(self, kind: str, part: Mapping[str, Any], number: int) -> None:
        """Add what a part proves; raises :class:`WrongError` if it proves nothing, or takes what others took."""
        share = self._share(part)
        found = _ARGUMENTS[kind](self._game, part)
        shared = math.lcm(self._whole, share.denominator)
        if shared > _MOST_PARTED:
            raise WrongError("share is of another whole than those of other parts")
        self._taken *= shared // self._whole
        self._whole = shared
        amount = shared // share.denominator * share.numerator
        over = found.nodes[self._taken[found.nodes] + amount > shared]
        if len(over):
            other = int(self._part[over[0]])
            raise WrongError(f"{self._game.id(int(over[0]))} is in parts[{other}] too: more than itself is taken")
        self._taken[found.nodes] += amount
        self._part[found.nodes] = number
        self.moved += share * found.moved
        self._parts[kind] += 1
        self._nodes[kind] += len(found.nodes)

    def _share(self, part: Mapping[str, Any]) -> Fraction:
        given = part.get("share", [1, 1])
        if not isinstance(given, list) or len(given) != 2 or any(type(number) is not int for number in given):
            raise WrongError("share must be two integers, a part and its whole")
        if not 0 <= given[0] <= given[1] or not 1 <= given[1] <= _MOST_PARTED:
            raise WrongError("share must be a part of a whole")
        return Fraction(*given)

    def told(self) -> str:
        """Return what was verified, in words."""
        told = [f"{kind} ({count:,} parts, {self._nodes[kind]:,} nodes)" for kind, count in self._parts.items()]
        return ", ".join(["inputs and outputs", *told]) + " verified"
