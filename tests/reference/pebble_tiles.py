"""Tiles of groups grown step by step with sets, every count taken afresh: the plain twin of `tiles_kernels.grown`."""

from __future__ import annotations


def grown(
    order: list[int],
    targets: set[int],
    reads: dict[int, list[int]],
    made: list[int],
    before: dict[int, set[int]],
    class_weights: list[int],
    weights: list[int],
    size: int,
) -> list[list[int]]:
    """Return the tiles, each the list of its groups by turn; ``before`` holds the groups that must come before one."""
    tiles: list[list[int]] = []
    placed: set[int] = set()

    def is_open(group: int) -> bool:
        return group in targets and group not in placed and before[group] <= placed

    def near(inside: set[int]) -> dict[int, set[int]]:
        """The open groups that read something new and something in the tile, each with what is new."""
        groups = {g: set(reads[g]) - inside for g in targets if is_open(g) and set(reads[g]) & inside}
        return {g: new for g, new in groups.items() if new}

    for start in order:
        if start not in targets or start in placed:
            continue
        tile: list[int] = []
        inside: set[int] = set()
        ready = [start]

        def take(value: int, inside: set[int] = inside, ready: list[int] = ready) -> None:
            inside.add(value)
            ready += [g for g in sorted(targets) if value in reads[g] and is_open(g) and set(reads[g]) <= inside]

        while True:
            while ready and not is_open(ready[-1]):
                ready.pop()
            value, group = -1, ready.pop() if ready else -1
            if group < 0:
                waiting = near(inside)
                alone = [min(new) for new in waiting.values() if len(new) == 1]
                value = min(alone, key=lambda v: (-alone.count(v) / class_weights[v], v), default=-1)
                missed = {g: sum(class_weights[v] for v in new) for g, new in waiting.items()}
                group = min(missed, key=lambda g: (missed[g], g), default=-1)
                if group >= 0 and value >= 0 and alone.count(value) * missed[group] >= class_weights[value]:
                    group = -1
            if group < 0 and value < 0:
                break
            if group < 0:
                take(value)
                continue
            if tile and sum(weights[g] for g in tile) + weights[group] > size:
                break
            tile.append(group)
            placed.add(group)
            ready += [g for g in sorted(targets) if group in before[g] and is_open(g) and set(reads[g]) <= inside]
            for value in [*reads[group], *([made[group]] if made[group] >= 0 else [])]:
                if value not in inside:
                    take(value)
        tiles.append(tile)
    return tiles
