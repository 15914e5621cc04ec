"""The Haar wavelet transform: Algorithm 1 of the paper."""

from __future__ import annotations

from dataclasses import dataclass

from shorthaul.core.errors import InputError
from shorthaul.graphs.csr import layers
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.plan import Plan
from shorthaul.pebble.structured import tree_recursion
from shorthaul.pebble.structured.forest import as_forest


@dataclass(frozen=True, slots=True)
class Shape:
    """DWT(n, d): ``n`` samples, ``d`` levels."""

    n: int
    d: int


def recognise(cdag: Cdag) -> Shape | None:
    """Return the shape of ``cdag`` if it is a DWT graph (Definition 3.1), whatever its weights and numbering.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> recognise(dwt(n=24, d=3, word=1))
    Shape(n=24, d=3)
    """
    forest = as_forest(cdag)
    if forest is None or not bool((cdag.parents.degrees()[forest.order] == 2).all()):
        return None
    if not bool((forest.twins.degrees()[forest.order] == 1).all()):
        return None
    depth = layers(cdag.children, cdag.order)
    operands = depth[cdag.parents.targets].reshape(-1, 2)
    levels = int(depth.max())
    full = bool((operands[:, 0] == operands[:, 1]).all()) and bool((depth[forest.roots] == levels).all())
    return Shape(len(cdag.inputs()), levels) if full else None


def require_dwt(cdag: Cdag) -> Shape:
    """Return the shape of ``cdag``; raises :class:`InputError` if it is no DWT graph."""
    shape = recognise(cdag)
    if shape is None:
        raise InputError(
            "this method plans wavelet transforms only",
            place="--method dwt",
            value=cdag.name,
            allowed="graphs as in Definition 3.1",
            cure="use --method tree or auto",
        )
    return shape


def plan(cdag: Cdag, budget: int) -> Plan:
    """Return the schedule of Algorithm 1: the recursion over pairs of averages, coefficients stored on the way.

    Raises :class:`InputError` if ``cdag`` is no DWT graph, :class:`InfeasibleError` if a node cannot be computed.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> cdag = dwt(n=256, d=8)
    >>> plan(cdag, 48).traffic(cdag.weights)
    12256
    """
    require_dwt(cdag)
    return tree_recursion.plan(cdag, budget, method="dwt")
