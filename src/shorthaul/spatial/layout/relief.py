"""Layouts that spare the busiest link or shorten the longest way, by annealing moves priced by all that they cross."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.spatial import tuning
from shorthaul.spatial.layout import orders
from shorthaul.spatial.layout.annealing import accepted_words, further
from shorthaul.spatial.layout.fabric import by_weight, crowd_of, net_of, send
from shorthaul.spatial.layout.road_kernels import Roads, relieve
from shorthaul.spatial.layout.stored_tree import StoredTree
from shorthaul.spatial.model import Fabric, Load, Tree

Index = npt.NDArray[np.int32]


def relieve_fabric(
    objective: str,
    tree: Tree,
    load: Load,
    fabric: Fabric,
    place: Index,
    most: int,
    effort: float | None,
    search: Search,
) -> Index:
    """Return places with a smaller ``distance`` or ``link-load`` that annealing finds with so much effort.

    Those given if it finds none. Messages take the ways of :func:`send`, around what is dead. The limit falls as that
    of ``shorten`` does. Vertices are taken in windows of light-first order, one after the other.
    """
    effort, position = further(tree.n, effort, search, tuning.CROWD_EFFORT), orders.positions(tree, "light-first")
    crowd = crowd_of(tree, load, fabric, place, most, position)
    edges = load.weight[tree.parent >= 0]
    # What is beyond a link's load has a weight, what is beyond a way's length is worth a mean one.
    steep = tuning.STEEP * (max(1, round(edges.mean())) if objective == "distance" and len(edges) else 1)
    roads = Roads(crowd, net_of(fabric), objective == "distance", steep)
    steps = np.geomspace(tuning.HOTTEST, tuning.COLDEST, tuning.SHORTENING_STAGES)

    def reached(place: Index) -> tuple[int, int]:
        traffic = send(fabric, tree.parent, place, load.weight)
        worst = traffic.hops if objective == "distance" else traffic.loads
        return int(worst.max()), traffic.energy(load.weight)

    best, low, spent, generator, longer, found = (reached(place)[0], 0), 1, 0.0, search.generator(), 1, place
    while best[0] > 1 and spent < effort and not search.expired():
        if low >= best[0]:
            low, longer = 1, longer * tuning.LONGER
        roads.limit = limit = max(low, best[0] * 3 // 4)
        for temperature in by_weight(steps, edges):
            accepted = accepted_words(temperature / crowd.unit)
            first = int(generator.integers(-tuning.WINDOW, 0))
            for begin in range(first, tree.n, tuning.WINDOW):
                window = (max(begin, 0), min(begin + tuning.WINDOW, tree.n))
                random = Random(int(generator.integers(0, 2**63)))
                left = longer * tuning.STAGE_READS * (window[1] - window[0])
                while left > 0 and spent < effort and not search.expired():
                    reads = relieve(roads, random, accepted, *window, int(min(left, tuning.READS_AT_ONCE)))
                    left, spent = left - reads, spent + reads / tuning.READS_PER_EFFORT
                    search.spend(reads / tuning.READS_PER_EFFORT)
            now = np.array(crowd.place)[position]
            if (price := reached(now))[0] < best[0] or (found is not place and price < best):
                best, found = price, now
            if spent >= effort or search.expired():
                break
        if best[0] > limit:
            low = limit + 1
        search.report(best=best[0], bound=None, what=objective)
    return found


def unburden(stored: StoredTree, effort: float | None, search: Search) -> StoredTree:
    """Return places with fewer messages on the busiest link that annealing with so much effort finds; never with more.

    The grid is a machine without anything dead, whose processors have room for one vertex.
    """
    width, height = stored.grid.width, stored.grid.height
    links = np.zeros((6, height, width), np.int32)
    links[2, :-1] = links[3, 1:] = links[4, :, :-1] = links[5, :, 1:] = 1
    living, one = np.ones(stored.grid.cells, np.bool_), np.ones(stored.n, np.int32)
    fabric = Fabric("grid", width, height, 1, 1, living, links.reshape(6, -1))
    place, load = stored.y * np.int32(width) + stored.x, Load(one, one)
    effort = further(stored.n, effort, search)
    found = relieve_fabric("link-load", Tree(stored.parent), load, fabric, place, 1, effort, search)
    y, x = np.divmod(found, np.int32(width))
    return stored if found is place else replace(stored, x=x, y=y)
