"""Derivations that several tests look at, made once in each test process. Everything in them is frozen."""

from __future__ import annotations

from functools import cache

from shorthaul.affine.bounds.best import AffineBound, lower_bound
from shorthaul.affine.dependences import DataFlow, flow_dependences
from shorthaul.affine.model import Program
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.orders.upper_bound import UpperBound, upper_bound
from shorthaul.affine.workloads import cases


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
