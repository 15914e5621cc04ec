"""Prices and order that the verbs are asked for."""

from __future__ import annotations

import numpy as np

from shorthaul.core.errors import InputError
from shorthaul.pebble.model import LARGEST_TOTAL, Cdag, Terms
from shorthaul.pebble.options import GIVEN, PricedOptions, price_of


def terms_of(cdag: Cdag, options: PricedOptions) -> Terms:
    """Return the prices and the order of ``options``; raises :class:`InputError` where the graph does not fit them."""
    load, store = price_of(options.load_price, "--load-price"), price_of(options.store_price, "--store-price")
    terms = Terms(load, store, options.order == GIVEN, options.in_place, options.partial)
    expect_alone(terms, recompute=False)
    if terms.in_order:
        expect_order(cdag)
    dearest = max(load or 0, store or 0)
    if dearest * int(cdag.weights.sum()) > LARGEST_TOTAL:
        raise InputError(
            "is too large for these weights",
            place="--load-price" if dearest == load else "--store-price",
            value=dearest,
            allowed=f"price times weight of all nodes up to {LARGEST_TOTAL}",
            cure="scale the weights",
        )
    return terms


def expect_alone(terms: Terms, *, recompute: bool) -> None:
    """Raise :class:`InputError` where values are accumulated and something is asked for that does not go with that."""
    flags = {"--order given": terms.in_order, "--in-place": terms.in_place, "--recompute": recompute}
    for place, is_asked in flags.items():
        if terms.partial and is_asked:
            raise InputError("cannot be combined with --partial", place=place, cure="leave one of the two flags out")


def expect_order(cdag: Cdag) -> None:
    """Raise :class:`InputError` where the nodes are not listed in an order of computation."""
    if np.array_equal(cdag.order, np.arange(cdag.n)):
        return
    sources, targets = cdag.edge_arrays()
    wrong = int(np.flatnonzero(sources > targets)[0])
    reader, read = cdag.id_of(int(targets[wrong])), cdag.id_of(int(sources[wrong]))
    raise InputError(
        "is no order of computation",
        place="--order given",
        value=f"node {reader} stands before {read}, which it reads",
        cure="list every node after what it reads, or leave the order free",
    )
