"""The constants that steer the searches of the affine engine, each with its unit and what set it."""

from __future__ import annotations

#: Steps of work on integer sets per effort.
STEPS_PER_EFFORT = 1_000

#: The share of a bound's effort for finding arguments; the rest is for counting and adding those chosen.
POOL_SHARE = 0.7

#: Shares of what is left for the lower bound, and then for the derived order, of ``bound``, ``check`` and ``sweep``.
LOWER_SHARE = 0.55
UPPER_SHARE = 0.6
#: The share of the lower bound in ``plan``, and in ``check`` of a given plan.
PLAN_LOWER_SHARE = 0.3
REPLAY_LOWER_SHARE = 0.8

#: Orders that ``plan`` replays where no number is asked for: as many as these instances allow, within limits.
REPLAYED_INSTANCES = 8_000_000
LEAST_REPLAYS, MOST_REPLAYS = 8, 200
#: Instances replayed per effort; instances of a plan checked per second.
REPLAYED_PER_EFFORT = 1_000_000
CHECKED_PER_SECOND = 200_000

#: Nodes of branch and bound for the exact maximum of one part, and per effort.
PART_NODES = 2_000
PART_NODES_PER_EFFORT = 400

#: Steps of work for one point of a set at given sizes.
POINT_STEPS = 2e-4
