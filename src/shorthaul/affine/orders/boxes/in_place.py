"""Arrays whose elements are accessed in program order by groups that take turns: a place holds one value at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from shorthaul.affine.integer_sets.dependences import Conflicts
from shorthaul.affine.integer_sets.points import at_sizes
from shorthaul.affine.orders.boxes.boxed import keeps, signs_by_array
from shorthaul.affine.orders.boxes.stays import Turn
from shorthaul.affine.orders.boxes.steps import BoxStep
from shorthaul.affine.orders.tile_steps import Step


def arrays_in_place(
    conflicts: Conflicts, groups: Sequence[Step | BoxStep], turns: Sequence[Turn], sizes: Mapping[str, int]
) -> frozenset[str]:
    """Return the arrays written whose conflicts ``groups`` keep; ``turns`` has the steps of their instances."""
    home = {name: at for at, item in enumerate(turns) for name in item.times}
    written = {conflicts.program.by_name[name].write.array for name in home}
    broken = {array for group in groups for array in _broken_inside(conflicts, group)}
    for first, second in product(home, repeat=2):
        a, b = home[first], home[second]
        for array, _, pairs in conflicts.between(first, second):
            if array not in broken:
                steps = at_sizes(pairs, sizes).apply_domain(turns[a].times[first]).apply_range(turns[b].times[second])
                least = steps.deltas().dim_min_val(0)
                if not steps.is_empty() and not (least.is_int() and least.to_python() >= int(a > b)):
                    broken.add(array)
    return frozenset(written - broken)


def _broken_inside(conflicts: Conflicts, group: Step | BoxStep) -> frozenset[str]:
    """Return the arrays of which a group may turn round what shares an element within a step."""
    assert group.phase is not None
    signs = signs_by_array(conflicts, group.phase.placement)
    if isinstance(group, BoxStep):
        outer = max(1, group.boxes[0].outer)
        band = group.box.loops[:outer], group.box.loops[outer:]
        return frozenset(array for array, found in signs.items() if not keeps(band, found))
    if group.policy is None:
        return frozenset()
    return frozenset(array for array, found in signs.items() if not group.policy.order.legal(found))
