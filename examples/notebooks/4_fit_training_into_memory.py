# %% [markdown]
# # Fit training into memory
#
# Training keeps what the forward pass computed until the backward pass reads it. Where that does not fit, some of it is
# computed again. Which, for the least work?

# %%
import shorthaul

layers = 5
nodes = [f"forward {n}" for n in range(layers + 1)] + [f"backward {n}" for n in range(layers, 0, -1)]
place = {name: number for number, name in enumerate(nodes)}
edges = [(f"forward {n - 1}", f"forward {n}") for n in range(1, layers + 1)]
edges += [(f"backward {n + 1}", f"backward {n}") for n in range(1, layers)]
edges += [(f"forward {n}", f"backward {n}") for n in range(1, layers + 1)]
graph = shorthaul.pebble.build(
    [1] * len(nodes),
    [place[before] for before, _ in edges],
    [place[after] for _, after in edges],
    compute=[0] + [1] * (2 * layers),
    ids=nodes,
)
graph

# %% [markdown]
# No value may leave for another memory: loads and stores between the passes have the price infinity. Each operation
# costs 1, so 10 is what the passes take when everything fits.

# %%
for room in (7, 6, 5, 4, 3):
    plan = shorthaul.pebble.plan(
        graph, budget=room, recompute=True, load_price=float("inf"), store_price=float("inf"), effort=0.5
    )
    print(f"room for {room} values: work {plan.cost['total']:g}, at least {plan.bound.value:g}, {plan.status}")
plan
