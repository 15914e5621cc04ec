"""How small may the SRAM of a wavelet filter be, and what does a smaller one cost?"""

import shorthaul

source = shorthaul.pebble.case("dwt:n=64,d=6")
print("capacity (bits)  traffic (bits)  bound")
for budget in (48, 64, 96, 128):
    result = shorthaul.pebble.plan(source, budget=budget)
    assert result.cost is not None
    assert result.bound is not None
    print(f"{budget:15d}  {result.cost['traffic']:14g}  {result.bound.value:g} ({result.status})")

smallest = shorthaul.pebble.memory(source)
assert smallest.cost is not None
print(f"smallest memory without extra traffic: {smallest.cost['budget']:g} bits")
