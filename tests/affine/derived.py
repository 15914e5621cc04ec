"""Derivations that several tests look at, made once in each test process. Everything in them is frozen."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy

from shorthaul.affine.bounds.at_sizes import Argued, made_for
from shorthaul.affine.bounds.best import AffineBound, _inputs, lower_bound
from shorthaul.affine.bounds.columns import stencils
from shorthaul.affine.bounds.coupled import coupled
from shorthaul.affine.bounds.graphs import Graph, graphs
from shorthaul.affine.bounds.partition import stencil_levels
from shorthaul.affine.bounds.partition.candidates import instances, sub_bound
from shorthaul.affine.bounds.partition.merged_statements import partitions
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.model import Program
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.affine.proofs.proof import MODEL, Proof, SubBound
from shorthaul.affine.replay.cdag import ConcreteCdag
from shorthaul.affine.replay.tile_order import IntArray
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.affine.workloads import cases


def quick(names: Iterable[Any], chosen: Container[Any]) -> list[Any]:
    """Return test parameters: those ``chosen`` for the default run, all others for the slow one."""
    return [item if item in chosen else pytest.param(*_values(item), marks=pytest.mark.slow) for item in names]


def _values(item: Any) -> tuple[Any, ...]:
    return item if isinstance(item, tuple) else (item,)


@cache
def kernel(name: str) -> Program:
    """Return a built-in kernel."""
    return cases.kernel(name)


@cache
def flow_of(name: str) -> DataFlow:
    """Return the data flow of a built-in kernel."""
    return flow_dependences(kernel(name))


def bound_of(name: str, profile: str = "best") -> AffineBound:
    """Return the lower bound on a built-in kernel."""
    return _bound_of(name, profile)


@cache
def _bound_of(name: str, profile: str) -> AffineBound:
    return lower_bound(kernel(name), BoundOptions(profile=profile), flow=flow_of(name))


@cache
def upper_of(name: str) -> UpperBound:
    """Return the derived order of a built-in kernel."""
    return upper_bound(kernel(name))


def alone(flow: DataFlow, part: SubBound, sizes: Mapping[str, int]) -> str:
    """Return the document of the bound by one argument, without the search for all others: seconds less."""
    inputs = sympy.Add(*(_inputs(flow, name) for name in sorted(flow.inputs)))
    formula = inputs + sympy.Max(0, part.value, evaluate=False)
    proof = Proof(inputs, (part,), ((0,),), formula, (), (), MODEL)
    found = AffineBound(flow.program, formula, inputs, None, proof, general=inputs, at=sizes)
    return json.dumps(as_bound(flow.program, found, sizes, flow).document())


def made_alone(program: Program, kind: str, sizes: Mapping[str, int]) -> str:
    """Return such a document for the first argument of a kind that is made for the sizes."""
    flow = flow_dependences(program)
    made = made_for(Argued(Graph(flow), (), (), 0), sizes)
    return alone(flow, next(part for part in made if part.certified()["kind"] == kind), sizes)


def levels_alone(program: Program, key: str, sizes: Mapping[str, int]) -> str:
    """Return such a document for the first stencil by levels whose certificate has a ``key``."""
    flow = flow_dependences(program)
    general = (stencil_levels.sub_bound(item, flow, balanced=True) for item in (*coupled(flow), *stencils(flow)))
    parts = ((item.tuned and item.tuned(sizes)) or item for item in general)
    return alone(flow, next(item for item in parts if item.certified().get(key)), sizes)


def partition_alone(program: Program, sizes: Mapping[str, int], number: int = 0) -> str:
    """Return such a document for the K-partition of most worth, on the program's graph or on what stands for it."""
    flow = flow_dependences(program)
    graph = list(graphs(Graph(flow)))[number]
    made = partitions(graph.flow, instances(), sizes, symmetric=True)
    best = sub_bound(max(made, key=lambda item: item.most_at(sizes)).argument, graph.flow)
    return alone(flow, Argued(graph, (), (), 0).in_program(best), sizes)


def is_legal(order: IntArray, cdag: ConcreteCdag) -> bool:
    """True if every vertex of an order comes after those that it reads."""
    place = np.full(cdag.n, -1)
    place[order] = np.arange(len(order))
    readers = np.repeat(place, np.diff(cdag.starts))
    return bool((place[cdag.operands] < readers)[readers >= 0].all())
