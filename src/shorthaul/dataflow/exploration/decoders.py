"""One mapping to one point: CAPS-HMS, CAPS-HMS from several orders, and the exact models."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.search import Search
from shorthaul.dataflow.caps_hms.heuristic import make_decoder, rules, topological_rank
from shorthaul.dataflow.exploration.nsga2 import GenotypeDecoder
from shorthaul.dataflow.mapping.arrays import Instance, decisions_of, genes, individual
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes
from shorthaul.dataflow.model import Decisions
from shorthaul.dataflow.modulo.solver import Solved, solve_mapping
from shorthaul.dataflow.options import Decoding
from shorthaul.dataflow.plan import Point

FloatArray = npt.NDArray[np.float64]
#: Orders that the multi-start decoder tries.
ORDERS_TRIED = 23


class MultiStart:
    """CAPS-HMS from several orders: topological, inverse, by length, and random ones; the best period wins.

    Ties go to the smaller footprint. The orders depend on the instance alone, so that the answer does too.
    """

    def __init__(self, instance: Instance, decoding: Decoding, *, threads: int = 1) -> None:
        first = make_decoder(instance, decoding, threads=threads)
        self._decoders = [replace(first, rules=rules(decoding, rank)) for rank in _orders(instance)]

    def objectives(self, genotypes: Genotypes) -> FloatArray:
        """Return the best objectives of every individual, shape (n, 3)."""
        best = self._decoders[0].objectives(genotypes)
        for decoder in self._decoders[1:]:
            other = decoder.objectives(genotypes)
            better = (other[:, 0] < best[:, 0]) | ((other[:, 0] == best[:, 0]) & (other[:, 1] < best[:, 1]))
            best[better] = other[better]
        return best

    def point_of(self, genotypes: Genotypes, number: int) -> Point:
        """Return the best implementation of one individual."""
        one = individual(genotypes, number)
        periods = [tuple(decoder.objectives(one)[0, :2]) for decoder in self._decoders]
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
    for number in range(ORDERS_TRIED - len(orders)):
        start = orders[number % 2].astype(np.float64)
        jitter = random.normal(0, actors / 4, actors)
        orders.append(np.argsort(np.argsort(start + jitter, kind="stable")))
    return orders


@dataclass(slots=True)
class Exact:
    """The exact models, warm-started by CAPS-HMS from several orders; ``budget`` ends a solve early."""

    instance: Instance
    decoding: Decoding
    warm: MultiStart
    search: Search | None = None

    def solve(self, decisions: Decisions, compact: bool = True) -> Solved:
        """Return the best point of one mapping, and what was proven about it."""
        warm = self.warm.point_of(genes(self.instance, decisions, compact=compact), 0)
        return solve_mapping(self.instance, decisions, self.decoding, warm, self.search)

    def objectives(self, genotypes: Genotypes) -> FloatArray:
        """Return the objectives of every individual, one solve after the other; shape (n, 3)."""
        answer = self.warm.objectives(genotypes)
        for i in np.flatnonzero(np.isfinite(answer[:, 0])):
            answer[i] = self.point_of(genotypes, int(i)).objectives
        return answer

    def point_of(self, genotypes: Genotypes, number: int) -> Point:
        """Return the best implementation of one individual that the model finds with its effort."""
        decisions = decisions_of(self.instance, genotypes, number)
        return self.solve(decisions, bool(np.asarray(genotypes.compact)[number])).point

    def close(self) -> None:
        """End the threads."""
        self.warm.close()


def decoder_for(
    instance: Instance, decoding: Decoding, *, threads: int = 1, search: Search | None = None
) -> GenotypeDecoder:
    """Return the decoder that the options name; ``budget`` ends an exact solve early."""
    if decoding.decoder == "caps":
        return make_decoder(instance, decoding, threads=threads)
    multistart = MultiStart(instance, decoding, threads=threads)
    return multistart if decoding.decoder == "multistart" else Exact(instance, decoding, multistart, search)


def fingerprint(*parts: Any) -> str:
    """Return a digest that ties a checkpoint to its problem and options."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()
