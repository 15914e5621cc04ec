"""Mappings that differ only in the names of equal cores and equal tiles."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from shorthaul.dataflow.mapping.arrays import Instance
from shorthaul.dataflow.mapping.mapping_kernels import Genotypes

#: Equal for two mappings that become one when equal cores, and equal tiles, change their names.
Key: TypeAlias = tuple[bytes, tuple[int, ...], tuple[int, ...]]
_GLOBAL = 4


class Symmetry:
    """Numbers cores and tiles in the order in which the actors of a mapping use them."""

    def __init__(self, instance: Instance) -> None:
        self._multicast_of = instance.multicast_of.tolist()
        self._feeding = instance.feeding.tolist()
        self._src, self._dst = instance.src.tolist(), instance.dst.tolist()
        self._tile = instance.core_tile.tolist()
        tiles = instance.platform.tiles
        kinds: dict[object, int] = {}
        self._core_kind = [
            kinds.setdefault((core.type, core.local_bytes), len(kinds)) for tile in tiles for core in tile.cores
        ]
        of_tile: dict[object, int] = {}
        self._tile_kind = []
        for number, tile in enumerate(tiles):
            cores = sorted(kind for kind, t in zip(self._core_kind, self._tile, strict=True) if t == number)
            what = (tile.crossbar_bytes_per_s, tile.tile_memory_bytes, tuple(cores))
            self._tile_kind.append(of_tile.setdefault(what, len(of_tile)))

    def key(self, genotypes: Genotypes, number: int = 0) -> Key:
        """Return the key of an individual; its channel decisions name the memories where its buffers are."""
        xi, decision, binding = (
            np.asarray(genes)[number].tolist() for genes in (genotypes.xi, genotypes.decision, genotypes.binding)
        )
        live = [multicast < 0 or not xi[multicast] for multicast in self._multicast_of]
        tile_name: dict[int, int] = {}
        tiles_of: dict[int, int] = {}
        core_name: dict[int, int] = {}
        cores_of: dict[tuple[int, int], int] = {}
        named: list[int] = []
        for core in (core for core, there in zip(binding, live, strict=True) if there):
            tile = self._tile[core]
            if tile not in tile_name:
                kind = self._tile_kind[tile]
                rank = tiles_of[kind] = tiles_of.get(kind, -1) + 1
                tile_name[tile] = kind * len(self._tile_kind) + rank
            if core not in core_name:
                place = (tile_name[tile], self._core_kind[core])
                rank = cores_of[place] = cores_of.get(place, -1) + 1
                core_name[core] = (place[0] * len(self._tile) + place[1]) * len(self._tile) + rank
            named.append(core_name[core])
        memories: dict[int, int] = {}
        for channel, (source, target) in enumerate(zip(self._src, self._dst, strict=True)):
            root = channel
            while not live[source]:
                root = self._feeding[self._multicast_of[source]]
                source = self._src[root]
            if live[target] and root not in memories:
                core = binding[source] if decision[root] < 2 else binding[target]
                if decision[root] == _GLOBAL:
                    memories[root] = -1
                elif decision[root] % 2 == 0:
                    memories[root] = core_name[core]
                else:
                    memories[root] = -2 - tile_name[self._tile[core]]
        return bytes(xi), tuple(named), tuple(memories[root] for root in sorted(memories))
