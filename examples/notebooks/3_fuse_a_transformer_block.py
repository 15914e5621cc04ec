# %% [markdown]
# # Fuse a transformer block
#
# A block of a transformer on an accelerator with a scratchpad. Run operator by operator, every tensor between two of
# them goes out and comes back. Which operators should run together, on which tiles, and what stays in the scratchpad?

# %%
import shorthaul

block = shorthaul.tensor.case("transformer-block:tokens=256,width=256,heads=2,hidden=512").workload
block

# %%
result = shorthaul.tensor.plan(block, effort=0.5)
result

# %% [markdown]
# One row per group of operators, as a spreadsheet:

# %%
result.to_csv("groups.csv", "Subgraphs")
for subgraph in result.plan.subgraphs:
    tile = subgraph.granularity
    print(f"operators {subgraph.operators}: tile {tile.w} x {tile.h}, k = {tile.k}")

# %% [markdown]
# What if the scratchpad had half the room, or twice?

# %%
room = block.machine.capacity
shorthaul.tensor.sweep(block, over="capacity", least=room / 2, most=2 * room, points=3, effort=0.2)
