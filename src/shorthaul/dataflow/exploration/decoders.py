"""One mapping to one point: CAPS-HMS, CAPS-HMS from several orders, and the exact models."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.dataflow import tuning
from shorthaul.dataflow.caps_hms.heuristic import make_decoder, rules, topological_rank
from shorthaul.dataflow.exploration.nsga2 import GenotypeDecoder
from shorthaul.dataflow.mapping.arrays import Instance, decisions_of, genes, individual
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes
from shorthaul.dataflow.model import Decisions
from shorthaul.dataflow.modulo.solver import Solved, solve_mapping
from shorthaul.dataflow.options import Decoding
from shorthaul.dataflow.plan import Point, covers

FloatArray = npt.NDArray[np.float64]


class MultiStart:
    """CAPS-HMS from several orders: topological, inverse, by length, and random ones; the best period wins.

    Ties go to the smaller footprint. The orders depend on the instance alone, so that the answer does too.
    """

    def __init__(
        self, instance: Instance, decoding: Decoding, *, threads: int = 1, orders: int = tuning.ORDERS_TRIED
    ) -> None:
        first = make_decoder(instance, decoding, threads=threads)
        self._decoders = [replace(first, rules=rules(decoding, rank)) for rank in _orders(instance)[:orders]]

    def objectives(self, genotypes: Genotypes, search: Search) -> FloatArray:
        """Return the best objectives of every individual, shape (n, 3)."""
        best = self._decoders[0].objectives(genotypes, search)
        for decoder in self._decoders[1:]:
            if search.expired():
                break
            other = decoder.objectives(genotypes, search)
            better = (other[:, 0] < best[:, 0]) | ((other[:, 0] == best[:, 0]) & (other[:, 1] < best[:, 1]))
            best[better] = other[better]
        return best

    def point_of(self, genotypes: Genotypes, number: int, search: Search | None = None) -> Point:
        """Return the best implementation of one individual, in the orders that ``search`` (None: no limit) gets to."""
        one, search = individual(genotypes, number), search or Search()
        periods: list[tuple[float, ...]] = []
        for decoder in self._decoders:
            periods.append(tuple(decoder.objectives(one, search)[0, :2]))
            if search.expired():
                break
        return self._decoders[periods.index(min(periods))].point_of(one, 0)

    def close(self) -> None:
        """End the threads."""
        for decoder in self._decoders:
            decoder.close()


def _orders(instance: Instance) -> list[npt.NDArray[np.int64]]:
    application = instance.application
    actors = len(instance.tau)
    forward = topological_rank(application)
    longest = instance.tau.max(axis=1)
    random = np.random.default_rng(0)
    orders = [actors - 1 - forward, forward, np.argsort(np.argsort(-longest, kind="stable"))]
    for number in range(tuning.ORDERS_TRIED - len(orders)):
        start = orders[number % 2].astype(np.float64)
        jitter = random.normal(0, actors / 4, actors)
        orders.append(np.argsort(np.argsort(start + jitter, kind="stable")))
    return orders


@dataclass(slots=True)
class Exact:
    """The exact models, warm-started by CAPS-HMS from several orders."""

    instance: Instance
    decoding: Decoding
    warm: MultiStart
    search: Search
    #: The undominated points so far, by genotype: what a search archives need not be solved again.
    points: dict[bytes, Point] = field(default_factory=dict)

    def solve(self, decisions: Decisions, compact: bool = True) -> Solved:
        """Return the best point of one mapping, and what was proven about it."""
        one = genes(self.instance, decisions, compact=compact)
        warm = self.warm.point_of(one, 0, self.search)
        self.search.keep(warm.period, warm)
        return solve_mapping(self.instance, decisions_of(self.instance, one, 0), self.decoding, warm, self.search)

    def _solve(self, one: Genotypes, search: Search) -> Solved:
        warm = self.warm.point_of(one, 0, search)
        return solve_mapping(self.instance, decisions_of(self.instance, one, 0), self.decoding, warm, search)

    def objectives(self, genotypes: Genotypes, search: Search) -> FloatArray:
        """Return the objectives of every individual, one solve after the other; shape (n, 3)."""
        answer = self.warm.objectives(genotypes, search)
        for i in np.flatnonzero(np.isfinite(answer[:, 0])):
            if search.expired():
                break
            one = individual(genotypes, int(i))
            point = self._solve(one, search).point
            answer[i] = point.objectives
            if not search.expired() and not any(covers(other, point) for other in self.points.values()):
                self.points = {key: other for key, other in self.points.items() if not covers(point, other)}
                self.points[_key(one)] = point
        return answer

    def point_of(self, genotypes: Genotypes, number: int) -> Point:
        """Return the best implementation of one individual that the model finds with its effort."""
        one = individual(genotypes, number)
        return self.points.get(_key(one)) or self._solve(one, self.search).point

    def close(self) -> None:
        """End the threads."""
        self.warm.close()


def _key(one: Genotypes) -> bytes:
    return b"".join(np.asarray(array).tobytes() for array in (one.compact, one.xi, one.decision, one.binding))


def decoder_for(
    instance: Instance, decoding: Decoding, *, threads: int = 1, search: Search | None = None
) -> GenotypeDecoder:
    """Return the decoder that the options name; ``search`` ends the exact solve of a point early."""
    if decoding.decoder == "caps":
        return make_decoder(instance, decoding, threads=threads)
    multistart = MultiStart(instance, decoding, threads=threads)
    return multistart if decoding.decoder == "multistart" else Exact(instance, decoding, multistart, search or Search())
