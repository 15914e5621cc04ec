"""The independent replay of a plan in which values are accumulated operand by operand."""

from __future__ import annotations

from shorthaul.core.amounts import Cost
from shorthaul.core.check import CheckReport, Violation
from shorthaul.core.errors import InputError
from shorthaul.pebble.model import Cdag, Terms
from shorthaul.pebble.plan import Move, Plan

#: Violations listed one by one.
_MOST_LISTED = 1000


def replay_partial(cdag: Cdag, plan: Plan, budget: int | None, terms: Terms) -> CheckReport:
    """Return every violation of a plan with partial values, and the cost of its moves.

    An accumulation (p, v) needs p complete and in fast memory, and v there, unless it is v's first: then v comes into
    being. Each is done once. It makes the slow copy of v useless. A value is complete when all its operands are in;
    values without operands are computed at once. Every output ends complete and, where there are stores, stored.
    """
    game = _Game(cdag, budget, terms)
    for time, (kind, node) in enumerate(zip(plan.kinds.tolist(), plan.nodes.tolist(), strict=True)):
        game.play(time, kind, node)
    game.end()
    loads, stores = plan.weight_of(Move.LOAD, cdag.weights), plan.weight_of(Move.STORE, cdag.weights)
    compute = sum(int(cdag.compute[node]) for node in game.begun)
    total = (terms.load or 0) * loads + (terms.store or 0) * stores + compute
    amounts = {"total": total, "compute": compute, "traffic": loads + stores, "loads": loads, "stores": stores}
    return CheckReport(
        violations=tuple(game.violations[:_MOST_LISTED]),
        cost=Cost(**amounts, peak=game.peak),
        remarks=() if len(game.violations) <= _MOST_LISTED else (f"{len(game.violations)} violations found",),
        details={"moves": len(plan), "recomputed": 0},
    )


class _Game:
    def __init__(self, cdag: Cdag, budget: int | None, terms: Terms) -> None:
        self._cdag, self._budget, self._terms = cdag, budget, terms
        self._weights = cdag.weights.tolist()
        sources, targets = cdag.edge_arrays()
        self._edges = list(zip(sources.tolist(), targets.tolist(), strict=True))
        self._lacking = cdag.parents.degrees().tolist()
        self._is_input = cdag.given.tolist() if terms.load is not None else [False] * cdag.n
        self._fast: set[int] = set()
        self._slow = {node for node, given in enumerate(self._is_input) if given}
        self._added: set[int] = set()
        self.begun: set[int] = set()
        self._held = self.peak = 0
        self.violations: list[Violation] = []

    def play(self, time: int, kind: int, node: int) -> None:
        """Play one move; it has its effect even where it breaks a rule."""
        most = len(self._edges) if kind == Move.ACCUMULATE else self._cdag.n
        if not 0 <= node < most:
            raise InputError("a move names a node that does not exist", place="plan", allowed=f"0 to {most - 1}")
        if kind == Move.LOAD:
            self._expect(self._terms.load is not None, "no-such-move", time, node, "loads {}, which has no price")
            self._expect(node in self._slow, "load-of-absent", time, node, "loads {}, which is not in slow memory")
            self._enter(time, node)
        elif kind == Move.STORE:
            self._expect(self._terms.store is not None, "no-such-move", time, node, "stores {}, which has no price")
            self._expect(node in self._fast, "store-of-absent", time, node, "stores {}, which is not in fast memory")
            self._slow.add(node)
        elif kind == Move.DELETE:
            self._expect(node in self._fast, "delete-of-absent", time, node, "deletes {}, which is not in fast memory")
            if node in self._fast:
                self._fast.remove(node)
                self._held -= self._weights[node]
        elif kind == Move.COMPUTE:
            self._compute(time, node)
        else:
            self._accumulate(time, node)

    def _compute(self, time: int, node: int) -> None:
        at_once = self._cdag.parents.degrees()[node] == 0
        self._expect(at_once, "not-at-once", time, node, "computes {} at once, which is accumulated here")
        self._expect(not self._is_input[node], "computed-input", time, node, "computes {}, which is an input")
        self._expect(node not in self.begun, "recomputed", time, node, "computes {} again")
        self.begun.add(node)
        self._enter(time, node)

    def _accumulate(self, time: int, edge: int) -> None:
        source, node = self._edges[edge]
        operand = self._cdag.id_of(source)
        message = f"adds {operand} to {{}} while {operand} is "
        self._expect(edge not in self._added, "recomputed", time, node, f"adds {operand} to {{}} again")
        self._expect(source in self._fast, "missing-operand", time, node, message + "not in fast memory")
        is_complete = self._lacking[source] == 0 and (self._is_input[source] or source in self.begun)
        self._expect(is_complete, "partial-operand", time, node, message + "not complete")
        is_there = node in self._fast or node not in self.begun
        self._expect(is_there, "missing-partial", time, node, "adds to {}, which is not in fast memory")
        self._lacking[node] -= edge not in self._added
        self._added.add(edge)
        self.begun.add(node)
        self._slow.discard(node)
        self._enter(time, node)

    def _enter(self, time: int, node: int) -> None:
        if node not in self._fast:
            self._fast.add(node)
            self._held += self._weights[node]
        self.peak = max(self.peak, self._held)
        if self._budget is not None and self._held > self._budget:
            name = self._cdag.id_of(node)
            amounts = float(self._held), float(self._budget)
            self.violations.append(
                Violation("over-budget", f"move {time}", f"{name} does not fit in fast memory", *amounts)
            )

    def _expect(self, fine: bool, rule: str, time: int, node: int, message: str) -> None:
        if not fine:
            self.violations.append(Violation(rule, f"move {time}", message.format(self._cdag.id_of(node))))

    def end(self) -> None:
        """Look for outputs that are not there."""
        for node in self._cdag.outputs().tolist():
            name = self._cdag.id_of(node)
            if self._lacking[node] or node not in self.begun:
                self.violations.append(Violation("missing-output", "the end", f"output {name} is not complete"))
            elif self._terms.store is not None and node not in self._slow:
                self.violations.append(Violation("missing-output", "the end", f"output {name} is not in slow memory"))
