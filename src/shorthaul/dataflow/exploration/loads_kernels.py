"""One mapping with the loads that it puts on cores and interconnects, for :mod:`load_kernels`."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.dataflow.mapping.mapping_kernels import Genotypes, Mapping, Problem


@cython.final
@cython.cclass
class Loads:
    """One mapping with its loads, the best one since the last look, and what undoing a move takes."""

    problem: Problem
    mapping: Mapping  # whose multicasts are replaced, and so which channels are one buffer
    common_tile: cython.bint
    extra: cython.longlong
    price: cython.longlong[::1]  # per core, in millionths
    able: cython.const_longlong[:, ::1]  # the cores that can run each actor
    able_count: cython.const_longlong[::1]
    flips: cython.bint  # whether multicasts may be replaced and kept again
    fixed: cython.const_uchar[::1]  # actors that stay where they are
    one: Genotypes  # the mapping
    best: Genotypes
    best_load: cython.longlong  # -1 where nothing within the budget was found
    best_energy: cython.double
    best_bytes: cython.longlong
    best_price: cython.longlong
    place: cython.longlong[::1]  # per buffer, its memory
    used: cython.longlong[::1]
    load: cython.longlong[::1]
    count: cython.longlong[::1]  # actors per core
    paid: cython.longlong
    bytes: cython.longlong  # of all buffers, without the extra tokens
    steps: cython.longlong
    out: cython.longlong[::1]  # the buffers taken out of the loads by the move under way
    out_count: cython.longlong
    is_out: cython.uchar[::1]
    old_place: cython.longlong[::1]
    moved: cython.longlong[::1]  # the actors it moved, and from where
    moved_from: cython.longlong[::1]
    moved_count: cython.longlong

    def __init__(
        self, problem: Problem, able: cython.const_longlong[:, ::1],
        able_count: cython.const_longlong[::1], fixed: cython.const_uchar[::1], flips: cython.bint,
        common_tile: cython.bint,
    ) -> None:  # fmt: skip
        actors, channels = problem.tau.shape[0], problem.src.shape[0]
        self.problem = problem
        self.mapping = Mapping(problem)
        self.common_tile = common_tile
        self.extra = 0
        self.price = np.rint(np.asarray(problem.core_cost) * 1e6).astype(np.int64)
        self.able = able
        self.able_count = able_count
        self.flips = flips
        self.fixed = fixed
        shapes = ((1,), (1, problem.feeding.shape[0]), (1, channels))
        self.one = Genotypes(*(np.zeros(shape, np.int8) for shape in shapes), np.zeros((1, actors), np.int64))
        self.best = Genotypes(*(np.zeros(shape, np.int8) for shape in shapes), np.zeros((1, actors), np.int64))
        self.best_load = -1
        self.best_energy = 0.0
        self.best_bytes = 0
        self.best_price = 0
        self.place = np.zeros(channels, np.int64)
        self.used = np.zeros(problem.limits.shape[0], np.int64)
        self.load = np.zeros(problem.core_tile.shape[0] + problem.ticks.shape[1], np.int64)
        self.count = np.zeros(problem.core_tile.shape[0], np.int64)
        self.paid = 0
        self.bytes = 0
        self.steps = 0
        self.out = np.zeros(channels, np.int64)
        self.out_count = 0
        self.is_out = np.zeros(channels, np.uint8)
        self.old_place = np.zeros(channels, np.int64)
        self.moved = np.zeros(actors, np.int64)
        self.moved_from = np.zeros(actors, np.int64)
        self.moved_count = 0
