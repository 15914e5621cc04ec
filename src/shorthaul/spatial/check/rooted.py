"""What certificates speak of: vertices, weights, and the tree with other roots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shorthaul.spatial.model import Tree


class WrongError(Exception):
    """What is wrong with a certificate, and where."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem


def expect_vertices(given: Mapping[str, Any], key: str, n: int) -> list[int]:
    """Return a list of different vertices; raises :class:`WrongError` if it is none."""
    listed = given.get(key)
    if not isinstance(listed, list) or any(type(v) is not int or not 0 <= v < n for v in listed):
        raise WrongError(key, f"must be a list of vertices, from 0 to {n - 1}")
    if len(set(listed)) < len(listed):
        raise WrongError(key, "names a vertex twice")
    return listed


def expect_weighed(given: Mapping[str, Any], key: str, n: int) -> dict[int, float]:
    """Return the weights of vertices; raises :class:`WrongError` if there are none, or a vertex has two."""
    listed = given.get(key)
    if not isinstance(listed, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in listed):
        raise WrongError(key, "must be a list of vertices and their weights")
    for at, (_, weight) in enumerate(listed):
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
            raise WrongError(f"{key}[{at}]", "must have a weight from 0 to 1")
    vertices = expect_vertices({key: [v for v, _ in listed]}, key, n)
    return dict(zip(vertices, (float(weight) for _, weight in listed), strict=True))


class Rooted:
    """A tree with one of its vertices as root, parents before children in ``order``.

    ``size`` counts the vertices at and below one, ``height`` the levels below it, and ``depths`` is how many edges
    those below are away from it, together.
    """

    def __init__(self, tree: Tree, roots: Sequence[int] = ()) -> None:
        parent: list[int] = tree.parent.tolist()
        for root in roots:  # turn the edges on its way up
            v, above = root, -1
            while v >= 0:
                parent[v], above, v = above, v, parent[v]
        self.parent = parent
        self.kids: list[list[int]] = [[] for _ in parent]
        for v, above in enumerate(parent):
            if above >= 0:
                self.kids[above].append(v)
        self.order = [v for v, above in enumerate(parent) if above < 0]
        for v in self.order:
            self.order.extend(self.kids[v])
        self.size, self.height, self.depths = ([one] * len(parent) for one in (1, 0, 0))
        for v in reversed(self.order):
            for kid in self.kids[v]:
                self.size[v] += self.size[kid]
                self.depths[v] += self.depths[kid] + self.size[kid]
                self.height[v] = max(self.height[v], self.height[kid] + 1)

    def levels_below(self, v: int) -> Iterator[list[int]]:
        """Yield v, its children, theirs, and so on."""
        level = [v]
        while level:
            yield level
            level = [kid for one in level for kid in self.kids[one]]
