"""Which nodes go with their only reader, found by recursion over subtrees: the plain twin of `fused_kernels`."""

from __future__ import annotations

from shorthaul.pebble.model import Cdag


def fused_heads(cdag: Cdag, most: int, *, with_largest: bool) -> list[int]:
    """Return for every node the node it is computed together with."""
    place = {int(v): i for i, v in enumerate(cdag.order)}

    def operands(v: int) -> list[int]:
        """The computed operands that only v reads, in topological order."""
        mine = [p for p in cdag.parents.neighbours(v).tolist() if not cdag.given[p]]
        return sorted((p for p in mine if cdag.children.neighbours(p).size == 1), key=place.__getitem__)

    def size(v: int) -> int:
        return 1 + sum(map(size, operands(v)))

    def head(v: int) -> int:
        readers = cdag.children.neighbours(v).tolist()
        if cdag.given[v] or len(readers) != 1 or size(v) > most:
            return v
        largest = max(operands(readers[0]), key=size)
        return v if largest == v and not with_largest else head(readers[0])

    return [head(v) for v in range(cdag.n)]
