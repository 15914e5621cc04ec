"""What the process that forks commands does once, so that none of them has to: SymPy fills its caches.

What there is by then is left out of every later collection of garbage, which would copy its pages into each command.
"""

import gc

from shorthaul import affine

affine.bound(affine.case("matvec").workload)
gc.freeze()
