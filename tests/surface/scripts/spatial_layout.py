"""A tree on a grid of processors."""

import numpy as np

import shorthaul

parents = np.array([-1, 0, 0, 1], dtype=np.int64)
result = shorthaul.spatial.plan(
    parents, order="light-first", curve="auto", grid=(4, 4), refine=1.0, baselines=False, create=False, forest=False,
    effort=1, time_limit=5, seed=3, workers=1,
)  # fmt: skip
bound = shorthaul.spatial.bound([-1, 0, 0], grid="2x2")
checked = shorthaul.spatial.check(None, result)
print(result, bound.bound, checked.check, shorthaul.spatial.plan("((a,b),c);").plan)
shorthaul.spatial.plan(parents, order="heavy")  # type: ignore[arg-type]
shorthaul.spatial.plan(parents, grid=4)  # type: ignore[arg-type]
shorthaul.spatial.plan(parents, refine="much")  # type: ignore[arg-type]
shorthaul.spatial.plan(3)  # type: ignore[arg-type]
shorthaul.spatial.check(parents, parents)  # type: ignore[arg-type]
shorthaul.spatial.bound(parents, refine=1)  # type: ignore[call-arg]
