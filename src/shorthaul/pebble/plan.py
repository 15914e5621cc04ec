"""The plan: a sequence of moves of the weighted red-blue pebble game."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
KindArray = npt.NDArray[np.uint8]


class Move(IntEnum):
    """What a move does: M1, M2, M3 and M4 of the paper."""

    LOAD = 0  #: M1: copy a value from slow to fast memory
    STORE = 1  #: M2: copy a value from fast to slow memory
    COMPUTE = 2  #: M3: compute a value into fast memory, its parents being there
    DELETE = 3  #: M4: drop a value from fast memory


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Moves in order: move i does ``kinds[i]`` (a :class:`Move`) to the node of index ``nodes[i]``.

    Both arrays have shape (moves,), uint8 and int64.

    >>> plan = plan_of([(Move.LOAD, 0), (Move.COMPUTE, 1)])
    >>> list(plan)
    [(<Move.LOAD: 0>, 0), (<Move.COMPUTE: 2>, 1)]
    """

    kinds: KindArray
    nodes: IntArray

    def __len__(self) -> int:
        return len(self.kinds)

    def __iter__(self) -> Iterator[tuple[Move, int]]:
        return ((Move(kind), node) for kind, node in zip(self.kinds.tolist(), self.nodes.tolist(), strict=True))

    def __add__(self, other: Plan) -> Plan:
        return join([self, other])

    def weight_of(self, kind: Move, weights: IntArray) -> int:
        """Return the weight that all moves of one kind have together; ``weights`` are the nodes' (shape (n,))."""
        return int(weights[self.nodes[self.kinds == kind]].sum())

    def traffic(self, weights: IntArray) -> int:
        """Return the weight loaded and stored (Definition 2.2); ``weights`` are the nodes' (shape (n,))."""
        return int(weights[self.nodes[self.kinds <= Move.STORE]].sum())


def plan_of(moves: Iterable[tuple[int, int]]) -> Plan:
    """Return the plan of ``moves``, pairs (kind, node)."""
    pairs = np.array(list(moves), dtype=np.int64).reshape(-1, 2)
    return Plan(pairs[:, 0].astype(np.uint8), pairs[:, 1].copy())


def join(plans: Iterable[Plan]) -> Plan:
    """Return the plans one after another.

    >>> len(join([plan_of([(0, 1)]), plan_of([(3, 1)])]))
    2
    """
    parts = list(plans)
    if not parts:
        return plan_of([])
    return Plan(np.concatenate([part.kinds for part in parts]), np.concatenate([part.nodes for part in parts]))
