"""Refinement of a layout by simulated annealing, in tiles of the grid beside each other."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import LEAST_PART, Search
from shorthaul.core.searching.memory import room
from shorthaul.core.searching.threads import Threads
from shorthaul.graphs.tree_kernels import sorted_by
from shorthaul.spatial import tuning
from shorthaul.spatial.layout.cost_kernels import edge_energy
from shorthaul.spatial.layout.order_kernels import shapes
from shorthaul.spatial.layout.stored_tree import StoredTree
from shorthaul.spatial.layout.tile_kernels import Board, Tile, anneal_tile, centre
from shorthaul.spatial.model import Grid

Index = npt.NDArray[np.int32]
#: A tile of the grid: left, top, width, height.
Rectangle = tuple[int, int, int, int]


def effort_that_pays(n: int, search: Search, most: float = tuning.DEFAULT_EFFORT) -> float:
    """Return the effort for a tree of ``n`` vertices where none is asked for, up to ``most``; more with a limit."""
    if not search.is_unlimited:
        return tuning.MOST_READS * n / tuning.READS_PER_EFFORT
    least = tuning.SMALL_READS if n <= tuning.SMALL else tuning.LEAST_READS
    reads = max(tuning.DEFAULT_READS * n, least if n >= tuning.TINY else tuning.MOST_READS * n)
    return min(reads / tuning.READS_PER_EFFORT, most)


def refine(stored: StoredTree, effort: float | None, search: Search, least: int | None = None) -> StoredTree:
    """Return the best places that annealing with so much effort finds (None: as long as it pays); never worse ones.

    It ends where it finds one of ``least`` hops (None: one for every edge), as no layout takes less.

    Vertices of many neighbours move to the middle of them. Then swaps bring a vertex nearer to a neighbour in the tree.
    The temperature falls geometrically, stage by stage; in each, all tiles of the grid are annealed, on all cores, as
    if the others stood still; the tiles of the next stage lie elsewhere. A grid of one tile is heated again after that,
    window by window. Tree, effort and seed decide the answer, unless the time limit is too short for them: then every
    stage ends at its share of the time. Without room for it within the memory limit the places stay.
    """
    n, edges = stored.n, int((stored.parent >= 0).sum())
    effort = effort_that_pays(n, search) if effort is None else effort
    least = edges if least is None else least
    if edges == 0 or effort <= 0 or search.expired() or room() < tuning.BOARD_BYTES * n:
        return stored
    if search.effort is not None:
        effort = min(effort, search.left())
    board, middles = _board(stored)
    centre(board, middles)
    began, remaining_s = time.monotonic(), search.remaining_s()
    workers = 1 if max(stored.grid.width, stored.grid.height) <= tuning.TILE else search.workers
    reads = min(effort, remaining_s * workers) * tuning.READS_PER_EFFORT / n
    is_reheated = workers == 1 and reads >= tuning.REHEATED_FROM
    share = tuning.COOLED if is_reheated else 1.0
    start = edge_energy(stored.parent, *board.places())[0]
    if start <= least:
        return replace(stored, x=board.places()[0], y=board.places()[1])
    longer = min(max(start / edges / tuning.USUAL_HOPS, 1.0), tuning.MOST_HEAT)
    steps = temperatures(share * reads, tuning.HOTTEST_FACTOR * longer, most=tuning.HOTTEST * longer)
    best, (best_x, best_y) = start, board.places()
    tiles = [Tile(tuning.TILE) for _ in range(workers)]
    with Threads(workers) as pool:
        for stage, temperature in enumerate(steps):
            until = began + share * (stage + 1) / len(steps) * remaining_s
            cut = _cut(stored.grid, stage, search.seed)
            search.spend(_stage(board, tiles, pool, cut, (temperature, share * reads / len(steps), until), search))
            centre(board, middles)
            x, y = board.places()
            energy = edge_energy(stored.parent, x, y)[0]
            if energy < best:
                best, best_x, best_y = energy, x, y
                search.keep(best, replace(stored, x=x, y=y))
            search.report(best=best, bound=least, what="refine")
            if search.expired() or best <= least:
                break
    stored = replace(stored, x=best_x, y=best_y)
    return _reheat(stored, board, tiles[0], (1 - share) * reads, longer, least, search) if is_reheated else stored


def _reheat(
    stored: StoredTree, board: Board, tile: Tile, reads: float, longer: float, least: int, search: Search
) -> StoredTree:
    """Return the best places found by heating windows around long edges, one after the other, with so many reads.

    The change of a window stays by the rule of annealing as well, at a temperature that falls to 0; ``longer`` is how
    many times higher temperatures are than usual.
    """
    generator, side = np.random.default_rng(search.seed), tuning.WINDOW_SIDE
    random = Random(int(generator.integers(0, 2**63)))
    child = np.flatnonzero(stored.parent >= 0)
    ends = np.array([child, stored.parent[child]])
    found, now, energy = stored, stored, edge_energy(stored.parent, stored.x, stored.y)[0]
    best, spent, total = energy, 0, reads * stored.n
    heats = longer * np.geomspace(tuning.REHEATED, tuning.COLDEST, tuning.REHEATED_STAGES)
    accepted = [accepted_words(heat) for heat in heats]
    each = np.clip(tuning.REHEATED_SHARE * reads, tuning.REHEATED_READS, tuning.READS_AT_ONCE / side**2) / len(heats)
    size = min(side, stored.grid.width), min(side, stored.grid.height)
    while spent < total and best > least and not search.expired():
        board.put(now.x, now.y)
        hops = abs(now.x[ends[0]] - now.x[ends[1]]) + abs(now.y[ends[0]] - now.y[ends[1]])
        middle = generator.choice(ends[:, hops > 1].ravel())
        left = int(np.clip(now.x[middle] - generator.integers(side), 0, stored.grid.width - size[0]))
        top = int(np.clip(now.y[middle] - generator.integers(side), 0, stored.grid.height - size[1]))
        before = spent
        for words in accepted:
            spent += anneal_tile(board, tile, (left, top), size, random, words, each)
            board.turn()
        if spent == before:  # nobody may move
            break
        search.spend((spent - before) / tuning.READS_PER_EFFORT)
        x, y = board.places()
        changed = edge_energy(stored.parent, x, y)[0]
        heat = heats[0] * max(1 - spent / total, 1e-9)
        if changed <= energy or generator.random() < math.exp((energy - changed) / heat):
            now, energy = replace(stored, x=x, y=y), changed
        if energy < best:
            best, found = energy, now
            search.keep(best, found)
        search.report(best=best, bound=least, what="refine")
    return found


def shorten(stored: StoredTree, effort: float | None, search: Search) -> StoredTree:
    """Return places with a shorter longest edge that annealing with so much effort finds; never with a longer one.

    Hops beyond a limit are dear. The limit falls while it can be kept, and rises half-way to what was reached when it
    cannot; where none is left to try, all are tried again, for longer.
    """
    effort = further(stored.n, effort, search)
    best = edge_energy(stored.parent, stored.x, stored.y)[::-1]
    low, longer, spent, stage, found = 1, 1, 0.0, 0, stored
    if best[0] <= 1 or room() < tuning.BOARD_BYTES * stored.n:
        return stored
    board, _ = _board(stored)
    with Threads(search.workers) as pool:
        while best[0] > 1 and spent < effort and not search.expired():
            if low >= best[0]:
                low, longer = 1, longer * tuning.LONGER
            limit, reads = max(low, best[0] * 3 // 4), longer * tuning.STAGE_READS
            tiles = [Tile(tuning.TILE, limit, tuning.STEEP) for _ in range(search.workers)]
            for temperature in np.geomspace(tuning.HOTTEST, tuning.COLDEST, tuning.SHORTENING_STAGES):
                cut = _cut(stored.grid, stage, search.seed)
                done = _stage(board, tiles, pool, cut, (temperature, reads, search.deadline), search)
                search.spend(done)
                spent, stage = spent + max(done, reads / tuning.READS_PER_EFFORT), stage + 1
                x, y = board.places()
                energy, longest = edge_energy(stored.parent, x, y)
                if (longest, energy) < best:
                    best, found = (longest, energy), replace(stored, x=x, y=y)
                if longest <= limit or spent >= effort or search.expired():
                    break
            if best[0] > limit:
                low = limit + 1
            search.report(best=best[0], bound=None, what="longest edge")
    return found


def before_objective(search: Search) -> Search:
    """Return the part that makes the energy small first, where another objective needs the rest of effort and time."""
    first = search.part(tuning.ENERGY_FIRST)
    if search.time_limit is not None:
        first.time_limit = tuning.ENERGY_FIRST * search.remaining_s() + LEAST_PART
    return first


def further(n: int, effort: float | None, search: Search, most: float = tuning.DEFAULT_EFFORT) -> float:
    """Return the effort for what follows the first refinement."""
    effort = effort_that_pays(n, search, most) if effort is None else effort
    return effort if search.effort is None else min(effort, search.left())


def _stage(
    board: Board,
    tiles: Sequence[Tile],
    pool: Executor,
    cut: Sequence[tuple[int, Rectangle]],
    heat: tuple[float, float, float],
    search: Search,
) -> float:
    """Anneal all tiles of ``cut`` beside each other; ``heat`` as :func:`_anneal` has it. Return the effort."""
    turns = [
        pool.submit(_anneal, board, tile, cut[first :: len(tiles)], *heat, search) for first, tile in enumerate(tiles)
    ]
    done = sum(turn.result() for turn in turns)
    board.turn()
    return done / tuning.READS_PER_EFFORT


def _anneal(
    board: Board,
    tile: Tile,
    cut: Sequence[tuple[int, Rectangle]],
    temperature: float,
    reads: float,
    until: float,
    search: Search,
) -> int:
    """Anneal these tiles with so many reads per vertex, in turns; return all reads.

    No turn begins after ``until``, nor after somebody ended the search.
    """
    total = 0
    accepted = accepted_words(temperature)
    for seed, (left, top, width, height) in cut:
        random, turns = Random(seed), math.ceil(reads * width * height / tuning.READS_AT_ONCE)
        for _ in range(turns):
            if search.interrupted or time.monotonic() >= until:
                return total
            total += anneal_tile(board, tile, (left, top), (width, height), random, accepted, reads / turns)
    return total


def _cut(grid: Grid, stage: int, seed: int) -> list[tuple[int, Rectangle]]:
    """Return the tiles of a stage, each with a seed of its own; the first ones of a stage are others than before."""
    generator = np.random.default_rng((seed, stage))
    columns, rows = (_sides(length, generator) for length in (grid.width, grid.height))
    tiles = [(left, top, width, height) for top, height in rows for left, width in columns]
    first = int(generator.integers(len(tiles)))
    seeds = generator.integers(0, 2**63, len(tiles)).tolist()
    return [(seeds[i], tiles[i]) for i in (*range(first, len(tiles)), *range(first))]


def _sides(length: int, generator: np.random.Generator) -> list[tuple[int, int]]:
    """Return where tiles begin along one side of the grid, and how long they are there."""
    if length <= tuning.TILE:
        return [(0, length)]
    marks = [0, *range(int(generator.integers(1, tuning.TILE + 1)), length, tuning.TILE), length]
    return [(begin, end - begin) for begin, end in itertools.pairwise(marks)]


def accepted_words(temperature: float) -> npt.NDArray[np.uint64]:
    """Return the words below which a move that adds 0, 1, ... hops is done at this temperature."""
    most = max(tuning.MOST_WORSE, math.ceil(32 * temperature))
    return (np.exp(-np.arange(most) / temperature) * (2.0**64 - 2**12)).astype(np.uint64)


def temperatures(
    reads_per_vertex: float, factor: float = tuning.HOTTEST_FACTOR, most: float = tuning.HOTTEST
) -> npt.NDArray[np.float64]:
    """Return the temperature of every stage, falling geometrically, for so many reads per vertex in all."""
    hottest = min(factor * reads_per_vertex**tuning.HOTTEST_POWER, most)
    stages = min(max(round(reads_per_vertex / tuning.STAGE_READS), 1), tuning.STAGES)
    return np.geomspace(max(hottest, tuning.COLDEST), tuning.COLDEST, stages)


def most_neighbours(degree: npt.NDArray[np.int64]) -> Index:
    """Return the vertices that are worth a move to the middle, those of most neighbours first."""
    vertex = np.flatnonzero(degree >= tuning.MIDDLE_DEGREE)
    return vertex[np.argsort(-degree[vertex], kind="stable")].astype(np.int32)


def _board(stored: StoredTree) -> tuple[Board, Index]:
    """Return the board, and the vertices that are worth a move to the middle."""
    child = np.flatnonzero(stored.parent >= 0).astype(np.int32)
    above = stored.parent[child]
    end, other = np.concatenate([child, above]), np.concatenate([above, child])
    degree = np.bincount(end, minlength=stored.n)
    starts, near = np.concatenate([[0], np.cumsum(degree)]).astype(np.int32), other[sorted_by(end, stored.n - 1)]
    grid, places = stored.grid, (stored.x.copy(), stored.y.copy())
    shape, size = np.zeros(stored.n, np.uint64), np.zeros(stored.n, np.int32)
    shapes(stored.parent, shape, size)
    board = Board(starts, near, *places, shape, size, grid.width, grid.height)
    return board, most_neighbours(degree)
