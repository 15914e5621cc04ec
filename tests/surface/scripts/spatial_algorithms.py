"""Treefix sums and lowest common ancestors as message programs."""

import numpy as np

import shorthaul

sums = shorthaul.spatial.treefix(
    [-1, 0, 0, 1], [4, 3, 2, 1], op="max", direction="up", method="auto", coins="local-maximum", words=96,
    count_links=True, seed=1,
)  # fmt: skip
pairs = np.array([[3, 2]], dtype=np.int32)
found = shorthaul.spatial.lca([-1, 0, 0, 1], pairs, method="rake-compress", barriers=True)
grown = shorthaul.spatial.sweep("yule", orders=["bfs", "dfs"], curves="auto", sizes=[64, 128], treefix=False)
print(sums.plan, found.plan, grown.extra["points"])
energies: list[float] = [point["energy_hops"] for point in grown.extra["points"]]
sums.extra["energy"]  # type: ignore[typeddict-item]
shorthaul.spatial.treefix([-1, 0], op="mean")  # type: ignore[arg-type]
shorthaul.spatial.treefix([-1, 0], values={})  # type: ignore[arg-type]
shorthaul.spatial.treefix([-1, 0], operator="sum")  # type: ignore[arg-type]
shorthaul.spatial.lca([-1, 0], 3)  # type: ignore[arg-type]
shorthaul.spatial.lca([-1, 0], random="5")  # type: ignore[arg-type]
shorthaul.spatial.sweep("yule", sizes=64)  # type: ignore[arg-type]
