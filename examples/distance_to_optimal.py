"""How far is a loop nest's data movement from the least possible?"""

import shorthaul

source = shorthaul.affine.case("matmul")
result = shorthaul.affine.bound(source, size="M=1000,N=1000,K=1000,S=32768")
assert result.bound is not None
print("every schedule loads at least", result.bound.details["leading"], "words, for large sizes")
print(f"at M = N = K = 1000 and S = 32768: {result.bound.value:,.0f} words")

plan = shorthaul.affine.plan(source, size="M=24,N=24,K=24,S=64")
assert plan.cost is not None
assert plan.bound is not None
print(
    f"a tiled order at M = N = K = 24 and S = 64 loads {plan.cost['loads_words']:,.0f}, bound {plan.bound.value:,.0f}"
)
