# %% [markdown]
# # How small may an SRAM be?
#
# A chip computes a wavelet transform of 64 samples over 6 levels, words of 16 bits. Every bit that does not fit into
# its SRAM goes to the memory outside and comes back. How large must the SRAM be so that only the samples come in and
# only the results go out, and what does a smaller one cost?

# %%
import shorthaul

wavelet = shorthaul.pebble.case("dwt:n=64,d=6").workload
wavelet

# %% [markdown]
# The smallest memory at which nothing travels twice, proven:

# %%
smallest = shorthaul.pebble.memory(wavelet)
print(f"{smallest.cost['budget']:g} bits, at least {smallest.bound.value:g} bits")
smallest

# %% [markdown]
# Half of the words cost more traffic. The curve has the bound beside it, so you see where no order of computation can
# help.

# %%
curve = shorthaul.pebble.sweep(wavelet, budgets=[48, 64, 80, 96, 112, 128], effort=0.5)
curve

# %% [markdown]
# Fix a size, and take the schedule away: loads, stores and deletes in order, checked by a replay.

# %%
plan = shorthaul.pebble.plan(wavelet, budget=64, effort=0.5)
assert plan.check.ok
plan.save("wavelet.json")
plan
