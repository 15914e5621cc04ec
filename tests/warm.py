"""What the process that forks commands does once, so that none of them has to: verbs are built, SymPy fills its caches.

What there is by then is left out of every later collection of garbage, which would copy its pages into each command.
"""

import gc

from shorthaul import affine
from shorthaul.cli.app import SUMMARIES, command

for name in SUMMARIES:
    group = command(name)
    for verb in getattr(group, "commands", {name: group}).values():
        for parameter in verb.params:
            getattr(parameter, "get_runtime_param", int)()  # Typer builds what reads a value when one is read
affine.bound(affine.case("matvec").workload)
gc.freeze()
