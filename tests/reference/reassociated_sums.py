"""Plays of programs whose sums are made in other orders, instance by instance: what bounds on them must not exceed."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np

from shorthaul.affine.integer_sets.points import pairs
from shorthaul.affine.model import Program
from shorthaul.affine.replay.cdag import ConcreteCdag, IntArray
from shorthaul.graphs.replay import belady_loads


class Sums:
    """The sums of a concrete graph, found by executing it: runs of terms of which only the last value is read elsewhere.

    A play keeps one partial sum per sum, adds each term to it as it is computed, and is done with the last one.
    """

    def __init__(self, program: Program, sizes: Mapping[str, int], cdag: ConcreteCdag) -> None:
        self.cdag = cdag
        n, inputs = cdag.n, cdag.inputs
        number = {cdag.label(vertex): vertex for vertex in range(n)}
        element: dict[int, tuple[str, tuple[int, ...]]] = {}
        read: dict[int, list[tuple[str, tuple[int, ...]]]] = {vertex: [] for vertex in range(inputs, n)}
        operation: dict[int, str] = {}
        for item in program.statements:
            for reference in (item.write, *item.reads):
                instances, elements = pairs(reference.relation, sizes)
                for row, place in zip(instances.tolist(), elements.tolist(), strict=True):
                    vertex = number[f"{item.name}[{', '.join(map(str, row))}]"]
                    operation[vertex] = item.accumulates
                    if reference is item.write:
                        element[vertex] = reference.array, tuple(place)
                    else:
                        read[vertex].append((reference.array, tuple(place)))
        operands = [set(cdag.operands[cdag.starts[v] : cdag.starts[v + 1]].tolist()) for v in range(n)]
        readers: list[list[int]] = [[] for _ in range(n)]
        for vertex in range(inputs, n):
            for operand in operands[vertex]:
                readers[operand].append(vertex)
        self.sum_of: dict[int, int] = {}  # term -> the first term of its sum
        self.start: dict[int, int] = {}  # first term -> the value to which it adds
        last: dict[tuple[str, tuple[int, ...]], int] = {}
        for vertex in range(inputs, n):
            place = element[vertex]
            before = last.get(place)
            last[place] = vertex
            if not operation[vertex] or read[vertex].count(place) != 1:
                continue
            follows = before is not None and operation[before] == operation[vertex] and readers[before] == [vertex]
            if before is not None and follows and read[before].count(element[before]) == 1:
                first = self.sum_of.setdefault(before, before)
                if first == before and first not in self.start:
                    self._begin(first, element, operands)
                self.sum_of[vertex] = first
        self.terms: dict[int, list[int]] = {}
        for term, first in self.sum_of.items():
            self.terms.setdefault(first, []).append(term)
        self.operands = operands
        for first, terms in self.terms.items():
            for before, term in pairwise(terms):
                operands[term].discard(before)
            operands[first].discard(self.start[first])
        self.result = {first: max(terms) for first, terms in self.terms.items()}

    def _begin(self, first: int, element: Mapping[int, tuple[str, tuple[int, ...]]], operands: list[set[int]]) -> None:
        """Note the value to which the first term of a sum adds."""
        cdag = self.cdag
        for operand in operands[first]:
            if operand < cdag.inputs:
                owner = int(cdag.owner[operand])
                array, width = cdag.names[owner], cdag.widths[owner]
                place = array, tuple(cdag.coordinates[operand, :width].tolist())
            else:
                place = element[operand]
            if place == element[first]:
                self.start[first] = operand

    def play(self, capacity: int, rank: Callable[[int], float]) -> int:
        """Return the loads of an order of terms by ``rank``, as far as operands allow, with Belady's replacement.

        New vertices stand for the partial sum (n + k) and the result (n + m + k) of the k-th of m sums.
        """
        cdag, firsts = self.cdag, list(self.terms)
        n, m = cdag.n, len(firsts)
        place = {first: at for at, first in enumerate(firsts)}
        result_of = {self.result[first]: n + m + at for at, first in enumerate(firsts)}
        needs = [*self.operands, *(set() for _ in firsts), *({self.start[first]} for first in firsts)]
        needs = [{result_of.get(operand, operand) for operand in found} for found in needs]
        for at in range(m):
            needs[n + m + at].add(n + at)
        for term, first in self.sum_of.items():
            needs[term].add(n + place[first])
        waits = [set(item) for item in needs]
        for term, first in self.sum_of.items():
            waits[n + m + place[first]].add(term)
        order = _ordered(waits, cdag.inputs, range(n, n + m), rank)
        starts = np.concatenate([[0], np.cumsum([len(item) for item in needs])]).astype(np.int64)
        flat = np.array([operand for item in needs for operand in sorted(item)], dtype=np.int64)
        return int(belady_loads(order, starts, flat, capacity).sum())

    def least_capacity(self) -> int:
        """Return the words that every operation of a play fits into."""
        return max(int(np.diff(self.cdag.starts).max(initial=0)) + 2, 3)


def _ordered(waits: list[set[int]], inputs: int, partial: range, rank: Callable[[int], float]) -> IntArray:
    """Return all vertices but inputs after what they wait for, by rank; partial sums just before their first term."""
    users: list[list[int]] = [[] for _ in waits]
    missing = [0] * len(waits)
    for vertex, found in enumerate(waits):
        for item in found:
            if item >= inputs and item not in partial:
                users[item].append(vertex)
                missing[vertex] += 1
    free = range(inputs, len(waits))
    ready = [(rank(v), v) for v in free if v not in partial and missing[v] == 0]
    heapq.heapify(ready)
    order: list[int] = []
    begun: set[int] = set()
    while ready:
        _, vertex = heapq.heappop(ready)
        for item in sorted(waits[vertex]):
            if item in partial and item not in begun:
                begun.add(item)
                order.append(item)
        order.append(vertex)
        for user in users[vertex]:
            missing[user] -= 1
            if missing[user] == 0:
                heapq.heappush(ready, (rank(user), user))
    return np.array(order, dtype=np.int64)
