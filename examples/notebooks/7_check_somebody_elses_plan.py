# %% [markdown]
# # Check somebody else's plan
#
# A schedule comes from another tool, or was written by hand. Is it legal, and how far from the best is it?

# %%
import json
from pathlib import Path

import shorthaul

graph = shorthaul.pebble.from_dependencies(
    {"sum": ["a", "b"], "difference": ["a", "b"], "ratio": ["sum", "difference"]}
)
moves = [
    ["load", "a"],
    ["load", "b"],
    ["compute", "sum"],
    ["compute", "difference"],
    ["compute", "ratio"],
    ["store", "ratio"],
]
theirs = {"kind": "shorthaul/pebble-plan", "version": 1, "moves": moves}
Path("theirs.json").write_text(json.dumps(theirs))
shorthaul.pebble.check(graph, "theirs.json", budget=5)

# %% [markdown]
# With less room it breaks the rules, and the check says where:

# %%
verdict = shorthaul.pebble.check(graph, "theirs.json", budget=3)
for violation in verdict.check.violations:
    print(violation)
verdict

# %% [markdown]
# Is there a plan that fits?

# %%
ours = shorthaul.pebble.plan(graph, budget=3)
assert ours.check.ok
ours
