# %% [markdown]
# # Write your own input
#
# Every engine reads files of its field: C, ONNX, SDF3, Newick, DOT and more. Where you have none of these, write a
# small file by hand, or build the object in Python.

# %%
import json
from pathlib import Path

import shorthaul

document = {
    "kind": "shorthaul/cdag",
    "version": 1,
    "nodes": [{"id": "a", "weight": 16}, {"id": "b", "weight": 16}, {"id": "sum", "weight": 32}],
    "edges": [["a", "sum"], ["b", "sum"]],
}
Path("graph.json").write_text(json.dumps(document))
shorthaul.pebble.plan("graph.json", budget=64)

# %% [markdown]
# Something wrong in it is one message: file, place, what was found, what is allowed.

# %%
document["nodes"][2]["weight"] = -32
Path("wrong.json").write_text(json.dumps(document))
try:
    shorthaul.pebble.plan("wrong.json", budget=64)
except shorthaul.InputError as error:
    print(error)

# %% [markdown]
# The same graph as an object of Python, and as the text of another tool:

# %%
from_python = shorthaul.pebble.from_dependencies({"sum": ["a", "b"]}, weights={"a": 16, "b": 16, "sum": 32})
Path("graph.dot").write_text("digraph { a [weight=16]; b [weight=16]; sum [weight=32]; {a b} -> sum }")
costs = [
    shorthaul.pebble.plan(source, budget=64).cost["traffic"] for source in (from_python, "graph.dot", "graph.json")
]
assert costs == [64, 64, 64]

# %% [markdown]
# Files of the field become one another:

# %%
shorthaul.convert("graph.dot", "converted.json")
json.loads(Path("converted.json").read_text())["nodes"]
