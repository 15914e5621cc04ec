"""First rounds of annealing events, short and long: ``python benchmarks/pebble_rounds.py [FIRST LAST]`` (seeds, 40 48).

Random graphs of 100 to 320 nodes with one to three operands in the least memory, effort 1, in three games. Printed are
the words moved with the present first rounds and with rounds of 200,000 units of work per event, and the mean quotient.
"""

from __future__ import annotations

import math
import random
import sys

from shorthaul.pebble import Cdag, plan, tuning
from shorthaul.pebble.model import from_pairs

GAMES = {
    "given order, recomputation": {"order": "given", "recompute": True},
    "in place": {"in_place": True},
    "recomputation": {"recompute": True},
}
ROUNDS = {"present": (tuning.PRICED_WORK, tuning.MOST_PRICED_ROUNDS), "long": (200_000, 16)}


def graph(seed: int) -> Cdag:
    """Return a random graph of unit weights whose operands are among the nodes shortly before."""
    draw = random.Random(seed)
    n, most = draw.randint(100, 320), draw.choice([2, 3])
    span = draw.choice([8, 16, n])
    pairs = {(draw.randint(max(0, v - span), v - 1), v) for v in range(4, n) for _ in range(draw.randint(1, most))}
    used = {node for pair in pairs for node in pair}
    pairs |= {(v, n - 1) for v in range(n - 1) if v not in used}
    return from_pairs([1] * n, sorted(pairs))


def main() -> None:
    """Print every game's words and quotients."""
    first, last = (int(item) for item in sys.argv[1:3]) if len(sys.argv) > 2 else (40, 48)
    for name, game in GAMES.items():
        moved: dict[str, list[int]] = {}
        for rounds, (tuning.PRICED_WORK, tuning.MOST_PRICED_ROUNDS) in ROUNDS.items():  # type: ignore[misc]
            results = [plan(graph(seed), effort=1, workers=1, **game) for seed in range(first, last)]  # type: ignore[arg-type]
            moved[rounds] = [int(result.cost["traffic"]) for result in results if result.cost is not None]
        quotients = [math.log(new / old) for new, old in zip(moved["present"], moved["long"], strict=True)]
        print(f"{name}: {moved['present']}, {moved['long']}: {math.exp(sum(quotients) / len(quotients)):.3f}")


if __name__ == "__main__":
    main()
