"""Dual prices of the linear program over all subgraphs: the certificate of its bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.groups.cutting import Links, Taking
from shorthaul.tensor.bounds.groups.ordering import RETAINED, RUN, STORED, Deeds, Succession
from shorthaul.tensor.bounds.groups.pieces import Demand
from shorthaul.tensor.cost_model.profile import COLUMNS_EXACT, FULL, PADDED, ROWS_EXACT, STEP, TILE
from shorthaul.tensor.model import Tensor

#: How certificates name what an axis of a slice follows, and what is charged exactly; and deeds.
_EXTENTS: Final = {FULL: "full", TILE: "tile", STEP: "step"}
_MARKINGS: Final = {PADDED: "none", ROWS_EXACT: "rows", COLUMNS_EXACT: "columns"}
_KINDS: Final = {RUN: "run", STORED: "stored", RETAINED: "retained"}


@dataclass(frozen=True, slots=True)
class Parts:
    """Where groups are cut: the links, the weight of compute by shape of outputs, and the prices of takings."""

    links: Links
    weight: dict[Tensor, float]
    taking: dict[Taking, float]

    def document(self) -> dict[str, object]:
        """Return what this adds to a certificate: shapes as width and height, slices as how their axes follow."""
        return {
            "cuts": [list(link) for link in sorted(self.links)],
            "weight": [[shape.width, shape.height, weight] for shape, weight in self.weight.items()],
            "taking": [
                [index, tensor, shape.width, shape.height, [_named(demand) for demand in sorted(demands)], price]
                for (index, tensor, shape, demands), price in self.taking.items()
            ],
        }


def _named(demand: Demand) -> list[object]:
    return [_EXTENTS[demand.rows], _EXTENTS[demand.columns], demand.sink, _MARKINGS[demand.exact]]


@dataclass(frozen=True, slots=True)
class Prices:
    """Dual prices: ``cover`` by operator, ``link`` by operator and tensor, ``hand_over`` by tensor. They add up.

    ``support`` and ``succession`` are those of what their order asks of groups. ``order`` are all operators, takers
    before makers: so decided, groups have few states.
    """

    cover: dict[int, float]
    link: dict[tuple[int, int], float]
    hand_over: dict[int, float]
    order: tuple[int, ...]
    support: dict[Deeds, float] = field(default_factory=dict)
    succession: dict[Succession, float] = field(default_factory=dict)
    parts: Parts | None = None

    @property
    def value(self) -> float:
        """The bound: what all rows that ask for something are worth together."""
        return math.fsum([*self.cover.values(), *self.link.values(), *self.support.values()])

    def document(self) -> dict[str, object]:
        """Return the certificate of a result document."""
        return {
            "cover": [[operator, price] for operator, price in self.cover.items()],
            "link": [[operator, tensor, price] for (operator, tensor), price in self.link.items()],
            "hand_over": [[tensor, price] for tensor, price in self.hand_over.items()],
            "order": list(self.order),
            "support": [
                [[[_KINDS[kind], number] for kind, number in sorted(deeds)], price]
                for deeds, price in self.support.items()
            ],
            "succession": [[sorted(map(sorted, sets)), price] for sets, price in self.succession.items()],
        } | ({} if self.parts is None else self.parts.document())


def keep(search: Search, prices: Prices) -> None:
    """Keep the bound by prices where the search is for one."""
    certified = {"of": "latency", "value": prices.value}
    search.keep(-prices.value, lambda: {**certified, "certificate": prices.document()}, proves=True)
