"""A second replay of tensor plans, written from the rules alone, step by step, on the contest's plain lists.

It shares nothing with ``shorthaul.tensor.check.replay`` but the specification; the two must agree on every plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

Slice = tuple[int, int, int, int]  # first row, end row, first column, end column


@dataclass
class Replay:
    latencies: list[float] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


@dataclass
class Step:
    compute: dict[tuple[int, Slice, int, int], float] = field(default_factory=dict)
    used: set[tuple[int, Slice]] = field(default_factory=set)


def replay(problem: dict[str, Any], plan: dict[str, Any], *, contest: bool, whole_prologues: bool) -> Replay:
    """Return the latency of every subgraph and the names of the rules broken."""
    return _Replayer(problem, plan, contest, whole_prologues).run()


class _Replayer:
    def __init__(self, problem: dict[str, Any], plan: dict[str, Any], contest: bool, whole_prologues: bool) -> None:
        self.plan, self.contest, self.whole_prologues = plan, contest, whole_prologues
        self.H, self.W = problem["heights"], problem["widths"]
        self.inputs = problem["inputs"]
        self.out = [outputs[0] for outputs in problem["outputs"]]
        self.base, self.types = problem["base_costs"], problem["op_types"]
        self.capacity, self.bandwidth = problem["fast_memory_capacity"], problem["slow_memory_bandwidth"]
        self.nw, self.nh = problem["native_granularity"]
        self.producer = {tensor: op for op, tensor in enumerate(self.out)}
        self.consumers: dict[int, set[int]] = {}
        for op, tensors in enumerate(self.inputs):
            for tensor in tensors:
                self.consumers.setdefault(tensor, set()).add(op)
        self.graph_outputs = {tensor for tensor in self.out if not self.consumers.get(tensor)}
        self.result = Replay()

    def bad(self, rule: str) -> None:
        self.result.violations.append(rule)

    def run(self) -> Replay:
        slow = set(range(len(self.H))) - set(self.producer)
        resident: set[int] = set()
        covered: set[int] = set()
        orders: Sequence[Any] = self.plan.get("traversal_orders") or [None] * len(self.plan["subgraphs"])
        for index, ops in enumerate(self.plan["subgraphs"]):
            covered |= set(ops)
            before = len(self.result.violations)
            retained = set(self.plan["tensors_to_retain"][index])
            outputs = self.legality(index, ops, retained, resident, slow)
            latency = 0.0
            if len(self.result.violations) == before:
                latency = self.execute(
                    ops, self.plan["granularities"][index], outputs, retained, resident, orders[index]
                )
            self.result.latencies.append(latency)
            slow |= {tensor for tensor in outputs if tensor not in retained}
            resident = retained
        if covered != set(range(len(self.out))):
            self.bad("operator-missing")
        if not self.graph_outputs <= slow:
            self.bad("graph-output")
        return self.result

    def legality(self, index: int, ops: list[int], retained: set[int], resident: set[int], slow: set[int]) -> set[int]:
        inside = set(ops)
        produced = {self.out[op] for op in ops}
        if not ops:
            self.bad("empty")
            return set()
        if len(inside) < len(ops):
            self.bad("twice")
        for position, op in enumerate(ops):
            for tensor in self.inputs[op]:
                if tensor in produced:
                    if self.producer[tensor] not in ops[:position]:
                        self.bad("order")
                elif tensor not in slow and tensor not in resident:
                    self.bad("input")
        if not self.connected(inside, produced):
            self.bad("connected")
        w, h, k = self.plan["granularities"][index]
        if min(w, h, k) < 1:
            self.bad("granularity")
        if self.contest and (w > self.nw or h > self.nh or k > self.nw):
            self.bad("granularity")
        for op in inside:
            if self.types[op] == "MatMul" and k > self.W[self.inputs[op][0]]:
                self.bad("granularity")
            if self.whole_prologues and self.types[op] == "MatMul":
                for tensor, extent in zip(self.inputs[op], (w, h), strict=True):
                    source = self.producer.get(tensor)
                    K = self.W[self.inputs[op][0]]
                    if source in inside and self.types[source] == "Pointwise" and k < K and extent < K:
                        self.bad("prologue")
        read = {tensor for op in inside for tensor in self.inputs[op]} - produced
        allowed = produced if self.contest else produced | read | resident
        if not retained <= allowed:
            self.bad("retention")
        if retained & self.graph_outputs:
            self.bad("retention")
        outputs = set()
        for tensor in produced:
            inner = self.consumers.get(tensor, set()) & inside
            if tensor in retained or tensor in self.graph_outputs or not inner:
                outputs.add(tensor)
            elif self.needed_later(tensor, index):
                if self.contest:
                    self.bad("ephemeral")
                outputs.add(tensor)
        if len({(self.H[tensor], self.W[tensor]) for tensor in outputs}) > 1:
            self.bad("shapes")
        return outputs

    def needed_later(self, tensor: int, index: int) -> bool:
        for ops in self.plan["subgraphs"][index + 1 :]:
            if self.producer[tensor] in ops:
                return False
            if self.consumers[tensor] & set(ops):
                return True
        return False

    def connected(self, inside: set[int], produced: set[int]) -> bool:
        seen, todo = set(), [min(inside)]
        while todo:
            op = todo.pop()
            if op in seen:
                continue
            seen.add(op)
            around = self.consumers.get(self.out[op], set()) & inside
            around |= {self.producer[tensor] for tensor in self.inputs[op] if tensor in produced}
            todo += around
        return seen == inside

    def execute(
        self, ops: list[int], grain: list[int], outputs: set[int], retained: set[int], resident: set[int], order: Any
    ) -> float:
        w, h, k = grain
        any_output = min(outputs)
        H, W = self.H[any_output], self.W[any_output]
        columns, rows = ceil(W / w), ceil(H / h)
        tiles = list(range(columns * rows)) if order is None else list(order)
        if sorted(tiles) != list(range(columns * rows)):
            self.bad("traversal")
            return 0.0
        inside = set(ops)
        sinks: set[int] = set()
        for tensor in outputs:
            self.find_sinks(self.producer[tensor], inside, sinks)
        steps = max((ceil(self.W[self.inputs[op][0]] / k) for op in sinks), default=1)
        total = 0.0
        previous: set[tuple[int, Slice]] = set()
        for tile in tiles:
            top, left = tile // columns * h, tile % columns * w
            area = (top, min(top + h, H), left, min(left + w, W))
            if order is None and not self.contest:
                previous = set()
            for number in range(steps):
                step = Step()
                for tensor in outputs:
                    self.output_side(tensor, area, number, number == steps - 1, k, inside, step)
                tile_size = (area[1] - area[0]) * (area[3] - area[2])
                loads = 0
                slices = 0
                for tensor, part in step.used:
                    if tensor in resident:
                        continue
                    size = (part[1] - part[0]) * (part[3] - part[2])
                    if tensor not in retained:
                        slices += size
                    whole = (0, self.H[tensor], 0, self.W[tensor])
                    if (tensor, part) not in previous and (tensor, whole) not in previous:
                        loads += size
                stores = tile_size * len(outputs - retained) if number == steps - 1 else 0
                held = sum(self.H[t] * self.W[t] for t in resident)
                kept = sum(
                    self.H[t] * self.W[t] for t in retained if t not in resident or self.producer.get(t) in inside
                )
                if slices + tile_size * len(outputs - retained) + held + kept > self.capacity:
                    self.bad("capacity")
                    return 0.0
                total += max(sum(step.compute.values()), (loads + stores) / self.bandwidth)
                previous = step.used
        return total

    def find_sinks(self, op: int, inside: set[int], sinks: set[int]) -> None:
        if self.types[op] == "MatMul":
            sinks.add(op)
            return
        for tensor in self.inputs[op]:
            if self.producer.get(tensor) in inside:
                self.find_sinks(self.producer[tensor], inside, sinks)

    def charge(self, step: Step, op: int, part: Slice, reduction: tuple[int, int], mark: str, share: float) -> None:
        tall, wide = part[1] - part[0], part[3] - part[2]
        high = tall / self.nh if mark == "rows" else ceil(tall / self.nh)
        broad = wide / self.nw if mark == "columns" else ceil(wide / self.nw)
        key = (op, part, *reduction)
        step.compute[key] = max(step.compute.get(key, 0.0), self.base[op] * share * high * broad)

    def output_side(
        self, tensor: int, area: Slice, number: int, last: bool, k: int, inside: set[int], step: Step
    ) -> None:
        op = self.producer.get(tensor)
        if op is None or op not in inside:
            if last:
                step.used.add((tensor, area))
            return
        if self.types[op] == "Pointwise":
            if last:
                self.charge(step, op, area, (0, 0), "", 1.0)
            for other in self.inputs[op]:
                self.output_side(other, area, number, last, k, inside, step)
            return
        left, right = self.inputs[op]
        K = self.W[left]
        if number * k >= K:
            return
        start, stop = number * k, min((number + 1) * k, K)
        self.charge(step, op, area, (start, stop), "", (stop - start) / K)
        self.demand(left, (area[0], area[1], start, stop), "columns", inside, step)
        self.demand(right, (start, stop, area[2], area[3]), "rows", inside, step)

    def demand(self, tensor: int, part: Slice, mark: str, inside: set[int], step: Step) -> None:
        op = self.producer.get(tensor)
        if op is None or op not in inside:
            step.used.add((tensor, part))
            return
        if self.types[op] == "Pointwise":
            self.charge(step, op, part, (0, 0), mark, 1.0)
            for other in self.inputs[op]:
                self.demand(other, part, mark, inside, step)
            return
        left, right = self.inputs[op]
        K = self.W[left]
        self.charge(step, op, part, (0, K), mark, 1.0)
        self.demand(left, (part[0], part[1], 0, K), "columns", inside, step)
        self.demand(right, (0, K, part[2], part[3]), "rows", inside, step)
