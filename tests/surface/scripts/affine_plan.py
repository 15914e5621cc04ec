"""A tiled order of a kernel given as C."""

from pathlib import Path

import shorthaul

SOURCE = """
void scale(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) b[i] = 2 * a[i];
#pragma endscop
}
"""
result = shorthaul.affine.plan(SOURCE, size="n=8,S=4", evaluations=10, profile="iolb", function="scale", effort=1)
checked = shorthaul.affine.check(SOURCE, result, size={"n": 8}, profile="best")
nodes = shorthaul.affine.cdag(Path("scale.c"), size="n=8")["nodes"]
print(checked.check, len(nodes))
shorthaul.affine.plan(["scale.c"])  # type: ignore[arg-type]
shorthaul.affine.plan(SOURCE, evaluations=1.5)  # type: ignore[arg-type]
shorthaul.affine.check(SOURCE, {"order": []})  # type: ignore[arg-type]
shorthaul.affine.cdag(SOURCE, effort=1)  # type: ignore[call-arg]
shorthaul.affine.plan(SOURCE, seed="1")  # type: ignore[arg-type]
