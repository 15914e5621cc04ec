"""A phylogeny on a grid of processors: how far do messages between parents and children travel?"""

from pathlib import Path

import shorthaul

source = shorthaul.spatial.case(str(Path(__file__).with_name("apes.nwk")))
for order in ("bfs", "dfs", "light-first"):
    result = shorthaul.spatial.plan(source, order=order)
    assert result.cost is not None
    assert result.bound is not None
    print(f"{order:12s} energy {result.cost['energy_hops']:g} hops, at least {result.bound.value:g}")
