# %% [markdown]
# # A phylogeny on a wafer
#
# A tree whose vertices each sit on a processor of a grid. Sums over subtrees send messages between parents and
# children; their energy is the distance they travel. Where should the vertices stand?

# %%
import shorthaul

tree = shorthaul.spatial.tree_from_newick(
    "((((human,chimpanzee),gorilla),orangutan),(gibbon,siamang),(macaque,baboon));"
)
layout = shorthaul.spatial.plan(tree)
layout

# %% [markdown]
# The same for a random phylogeny of 4,095 vertices, with other orders beside it:

# %%
for order in ("bfs", "dfs", "light-first", "auto"):
    placed = shorthaul.spatial.plan("yule:n=4095", order=order, effort=0.3)
    print(f"{order:12s} {placed.cost['energy_hops'] / 4094:.2f} hops per edge, at least 1.00")
placed

# %% [markdown]
# Count the leaves below every vertex on the machine itself, every message paid for:

# %%
leaves = [int(children == 0) for children in tree.degrees()]
sums = shorthaul.spatial.treefix(tree, leaves, direction="up")
print("leaves in all:", max(sums.plan.arrays["value"]))
sums
