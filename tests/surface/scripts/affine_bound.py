"""How far is a loop nest from the least data movement?"""

import shorthaul

bound = shorthaul.affine.bound(
    "gemm", size={"NI": 100, "NJ": 100, "NK": 100, "S": 512}, profile="best", small=["NI"], format="latex",
    upper=False, function=None, effort=2.0, time_limit=None, seed=0,
)  # fmt: skip
if bound.bound is not None:
    value: float = bound.bound.value
    proof: str = bound.bound.proof
    print(value, proof)
curve = shorthaul.affine.sweep("gemm", size="NI=9,NJ=9,NK=9", least=4, most=64, points=5, balance=8.0, unit="bytes")
print(curve.extra["points"])
tightness: float | None = None if bound.extra["upper"] is None else bound.extra["upper"]["tightness"]
width: str = curve.extra["points"][0]["bound"]  # type: ignore[assignment]
shorthaul.affine.bound("gemm", size=100)  # type: ignore[arg-type]
shorthaul.affine.bound("gemm", profile="ioolb")  # type: ignore[arg-type]
shorthaul.affine.bound("gemm", format="html")  # type: ignore[arg-type]
shorthaul.affine.bound("gemm", evaluations=3)  # type: ignore[call-arg]
shorthaul.affine.sweep("gemm", unit="bits")  # type: ignore[arg-type]
shorthaul.affine.sweep("gemm", least="4")  # type: ignore[arg-type]
