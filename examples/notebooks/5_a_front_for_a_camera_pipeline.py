# %% [markdown]
# # A Pareto front for a camera pipeline
#
# A Sobel filter as seven actors on a chip with three types of cores. Faster needs more cores and more buffers. Here are
# all the sensible compromises between period, memory and price of the cores.

# %%
import shorthaul

result = shorthaul.dataflow.plan("sobel", effort=0.3)
result

# %% [markdown]
# Each point is a mapping with a periodic schedule that a replay with tokens has passed. Choose one by a limit:

# %%
cheap = [point for point in result.plan.front if point.core_cost <= 1.5]
fastest = min(cheap, key=lambda point: point.period)
print(f"period {fastest.period:,} ticks, {fastest.footprint_bytes:,} bytes, core cost {fastest.core_cost}")

# %% [markdown]
# The same as a table, and the schedules for ui.perfetto.dev:

# %%
result.to_csv("front.csv")
result.to_perfetto("schedule.json")
result.figures[0].title
