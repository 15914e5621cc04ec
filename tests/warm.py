"""What the process that forks commands does once, so that none of them has to: SymPy fills its caches."""

from shorthaul import affine

affine.bound(affine.case("matvec").workload)
