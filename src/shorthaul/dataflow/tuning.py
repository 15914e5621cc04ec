"""Constants that steer the searches. Effort: what one core of the machine of our benchmarks does in a second."""

from __future__ import annotations

# Work per effort, measured by benchmarks/dataflow.py --rates: medians over sobel, sobel4 and multicamera.

#: Searches in busy intervals by CAPS-HMS.
PLACEMENT_STEPS = 3e7
#: Pairs of individuals that NSGA-II ranks, everything else in a generation included.
RANKED_PAIRS = 4e7
#: Arcs that the local search over selections looks at.
SELECTION_STEPS = 3.2e8
#: Entries of matrices and pairs of tasks that the branch and bound looks at.
BRANCHING_STEPS = 3e8
#: Entries of matrices that are looked at when the fixed differences are closed.
CLOSING_STEPS = 2.5e8
#: Accesses that annealing on loads adds or takes away.
LOAD_STEPS = 4e7
#: Accesses that trees of mappings add or take away, and what they look at beside (random graphs of 8 actors).
TREE_STEPS = 7e7
#: Accesses and tokens that self-timed execution looks at.
EXECUTION_STEPS = 9e7
#: Buffers, and accesses to those that change, looked at where actors move between tiles alone (random actors, too).
TILING_STEPS = 1e8
#: Tasks of networks that are built, and schedules laid out, for an exact solve.
SOLVED_TASKS = 5e3
#: Tasks of networks that are built, and schedules laid out, for self-timed execution and local search (random actors).
LISTED_TASKS = 4.5e4
#: Actors and ends of channels for which a schedule of little latency is made (sobel, sobel4, multicamera, random).
SOONEST_TASKS = 5.5e4
#: Actors and accesses looked at in the search for sets of actors on a core (sobel4, multicamera, 40 random actors).
CORE_SET_STEPS = 2e8

# Bounds

#: Such steps of a search for sets, of a longer one where it finds none, and of one that should come to an end.
CORE_SET_LIMITS = (100_000, 1_000_000, 20_000_000)
#: What a linear program over sets counts, in such steps, and each of its entries.
PROGRAM_STEPS, STEPS_PER_ENTRY = 30_000, 7
#: Columns are forgotten that cost so much more than they earn, as a share of their core's cost.
DEAR_COLUMNS = 0.1
#: What an actor in no set costs, over the dearest core: enough to be rare, as prices start from it.
UNCOVERED_COST = 2.0
#: By how much sets may earn too much for the proof that none earn more, and how close bisection gets: bounds get that
#: much lower (multicamera at a core cost of 12: with less, few searches for sets come to an end), so less comes second.
CORE_SET_TOLERANCES = (0.005, 0.001)
#: That by which cores cost more than asked for leaves sets so much more, as a share: enough for the proof, and a set
#: that earns more is found the sooner (multicamera at 14: 9,123 in place of 8,853, at 20 in half of the time).
CORE_SET_SLACK = 0.9
#: Share of the effort for the load of one actor's tile, and the actors and ends of channels of which CP-SAT's model of
#: one is built in an effort (sobel4: 6,769, which is met, in 0.02 CPU s).
TILE_SHARE, TILE_MODEL_TERMS = 0.2, 2e4
#: Tasks up to which the loads of all mappings bound the period, from so much effort for bounds on, and the share of it
#: that is for these (12 actors, 70 tasks, beside a plan of 0.3: mean gaps 52 % with it, 45 % without; 8 actors 17 and
#: 39 %). Of that left for them, the share for those to tiles, and for one core cost; the first step from a period to a
#: longer one, which doubles where that took less than such a share of what is left.
EVERY_MAPPING_TASKS, EVERY_MAPPING_SHARE = ((60, 0.0), (90, 0.4)), 0.5
LEAST_LOAD_SHARE, LEAST_LOAD_STEP, LEAST_LOAD_CHEAP = 0.6, 0.02, 0.1
#: What tiles hold together: most actors, how many orders of these are tried, and in how many parts of a period ticks of
#: crossbars are counted where tables have no more than so many entries (20 actors: 7,216 with 64, 7,418 with 128, 7,518
#: with 256; 80 actors: 27,492 in a second with 2^18 entries, 26,370 in 26 with 2^23). In the last case, buffers of few
#: ticks are apart until tables are as small.
MOST_TILE_SET_ACTORS, TILE_SET_ORDERS = 100, 4
#: Rows of tables where nothing is apart beyond which so much must be that nothing is gained (100 actors: 3.4 * 10^7).
MOST_TILE_SET_CELLS = 2**22
TILE_SET_UNITS = ((256, 2**17), (128, 2**18))
#: How far from the best ones so far prices are looked for, as a share of what an actor earns, over the actors; by
#: how much that narrows when eight looks in a row were no better, and from where on a search ends that finds nothing.
TILE_SET_WIDTH, TILE_SET_NARROWING, TILE_SET_WIDEST = 4, 0.8, 50.0
#: Share of the effort left for a first try of what crossbars carry, and of what memories hold (first, where buffers
#: take so much of all memories), and the longest step from one period to the next.
TILE_SET_TRIAL, TILE_SET_FULL, TILE_SET_STEP = 0.15, 1.1, 0.25
#: Entries of rows that are filled (0.3 to 0.5 ns each), entries of linear programs, and looks (sobel) in an effort; of
#: rows at once.
TILE_SET_CELLS, PROGRAM_ENTRIES, LOOKS_AT_TILES, TILE_SET_STEPS = 3e9, 1.2e7, 2.5e3, 60_000_000
#: Share of the effort left for sets of actors in tiles after the loads of tiles, and of that for all cores together: of
#: bounds alone, and beside a plan, where core costs of wide gaps matter; but up to a share, an effort at least.
TILE_SET_SHARE, ALL_CORES_SHARE, ENOUGH_FOR_ALL_CORES = (0.6, 0.9), (0.6, 0.4), (0.8, 0.12)
#: Least effort for bounds of a plan: below, the solvers take longer to import.
LEAST_BOUND_EFFORT = 0.02
#: The effort that they have at least then (sobel, 14 core costs: 0.03), and what sets in tiles are not tried below.
ENOUGH_FOR_BOUNDS = 0.04
#: Effort at most for them where a deadline cannot be kept, to say how far it is from enough.
REFUSAL_EFFORT = 0.3
#: Share of the effort for them where simple bounds leave the deadline possible (sobel4, 7,600 with 0.3 and more).
REFUSAL_SHARE = 0.05
#: Stretches of core costs whose periods are bounded beside one another.
COST_STRETCHES = 4
#: Effort for them at the core costs of the points of a plan, over that of finding these: so much per widest gap, at
#: least and at most (nine graphs, efforts of 0.3 and 1: mean gaps 53 % with at most 0.6, 56 % with half of both).
BOUND_SHARE_OF_GAP, BOUND_SHARE = 0.8, (0.025, 0.6)
#: Share of what is left for the core cost of the widest gap between bound and plan, once.
WIDEST_GAP_SHARE = 0.5
#: First step from a bound to a higher one, and how close searches in tiles get, as shares.
CORE_SET_STEP, CORE_SET_PRECISION = 0.02, 0.005

# Exploration

#: Placement steps between two looks at the deadline: about a tenth of a second.
DECODING_STEPS_AT_ONCE = 3_000_000
#: Individuals of the first generation that are decoded between two looks at what is left.
DECODED_AT_ONCE = 16
#: Effort for a first mapping whose buffers fit, where all memories are limited and no individual does (a proof of 398
#: buffers takes 2; with 0.3 for each that spreads work periods of 40 drawn actors are up to 1.8 times as long).
FITTING_EFFORT = 3.0
#: Most cores on which the firings of an expanded actor are in runs. Not measured: more than 24 were not tried.
MOST_RUNS = 24
#: Orders in which CAPS-HMS takes firings of expanded actors while exploring: sources last, and sources first.
ORDERS_OF_FIRINGS = 2
#: Orders that the multi-start decoder tries. Not measured: more than 23 were not tried.
ORDERS_TRIED = 23
#: Share of the effort, or of the time limit, for polishing; where there is neither, its effort over that of exploring
#: in networks of so many tasks at most (sobel4, 81, and multicamera, 284: 15 and 35 s with two workers on a slow day).
POLISH_SHARE, POLISH_OVER_EXPLORING = 0.9, ((64, 14.0), (150, 24.0), (1 << 60, 35.0))
#: Least and most of a time limit that is kept back for the points of the front, to be written out, bounded and checked.
LEAST_FINISH_SHARE, MOST_FINISH_SHARE = 0.2, 0.5
#: Seconds after the time limit in which that still goes on: of the one second that the command may take longer.
GRACE_S = 0.4
#: Seconds per task for that (about 13 ms for the 252 tasks of multicamera).
FINISH_S_PER_TASK = 5e-5
#: Bytes that raising the bounds of a front takes: 27 MiB measured (300 actors), of which the solver's import is most.
RAISING_BYTES = 32 << 20
#: How much longer bounds and checks of points take than the points, and checks than bounds (multicamera: 5 and 3).
FINISH_OVER_POINT, CHECK_OVER_BOUND = 5.0, 3.0
#: Least effort of the schedules between two turns of annealing (sobel4, efforts of 0.2 and 0.5: 3 % longer without).
LEAST_POLISH = 0.05
#: Networks of more tasks are not solved exactly in the end: building one takes a second.
MOST_POLISHED_TASKS = 1000

# Polishing

#: Searches that go on side by side, and the least effort of each.
ISLANDS, LEAST_ISLAND_EFFORT = 2, 1.0
#: How often they tell one another (and a journal) what they know, at least, and the most effort of all in between.
MEETINGS, MOST_MEETING_EFFORT = 4, 20.0
#: Moves of annealing on loads, per price: many short ones find more mappings that have a schedule close to their load
#: than few long ones. In large networks after first turns they are longer, as many times as there are fifty tasks.
LOAD_MOVES = 6_000
#: First and last temperatures, as shares of the load, of turns (sobel4: the second alone got stuck in one seed).
LOAD_COOLINGS = ((0.1, 0.001), (0.03, 0.0003))
#: How much the mean square of the loads counts beside the largest: in annealing, and in what is kept of it.
#: In networks of few tasks the least load is often met by a schedule (sobel: 21 tasks); in larger ones a mapping
#: whose other resources have room leads to a shorter period (benchmarks/dataflow_weights.py). Where trees decide with
#: few tokens, 0.5 is better (multicamera: mean excess of 48 periods 2.9 %, with 2.0 6.0 %).
LOAD_WEIGHTS_OF_FEW, LOAD_WEIGHTS, FEW_TASKS = (0.1, 0.0), (2.0, 2.0), 50
DECIDED_WEIGHTS = (0.5, 0.5)
#: Most prices for which mappings are looked for (40 of the 48 of multicamera left periods 10 to 20 % longer at some).
MOST_BUDGETS = 64
#: Share of what is left that annealing takes in one go in large networks, and in first turns: a turn of all prices
#: leaves nothing there to schedule mappings with. Where trees are small, whole turns are better (sobel4: 7 % shorter).
ANNEAL_SHARE = (0.1, 0.3)

#: What a mapping that was solved counts, with every try, as if its load were so much more, where trees are small, else
#: (30 to 60 random actors, 0.3 and 1 of effort: 1.2 % longer with 1.02).
TRY_AGAIN = (1.02, 1.06)

#: Shares of the effort of scheduling mappings: any, and those of the least footprint.
STEP_SHARES = (0.65, 0.35)
#: Buffers exchange places where the least tokens take this share of all memories of cores and tiles, which are full
#: then, so that an actor that moves finds no room for its buffers (least loads of 50 random actors 26,600 to 21,200).
EXCHANGED = 0.5
#: Where buffers exchange places, annealing starts from actors moved between tiles alone (80 random actors: loads of
#: 46,500 in 0.03 CPU s, 48,600 in 0.4 without): its temperatures then; the share of the memories of cores that
#: is counted on; moves over those of annealing, first and last temperatures, the weight of the loads' mean square.
TILED_COOLING = (0.01, 0.0003)
FILLED, TILING_MOVES, TILING = 0.8, 1.0, (0.1, 0.001, 0.1)
#: Moves of the first local search in large networks, four times as many in every other, and by what share the schedule
#: must be above what bounds its mapping (random actors, 0.3 and 1 of effort: 2000 and 4000 are 1 and 2 % worse).
FRUGAL_MOVES, FRUGAL_GAIN = 3000, 0.01
#: First and last temperatures of that, as shares of the bound (30 to 92 actors: from 0.005 1 % higher).
FRUGAL_COOLING = (0.015, 0.001)
#: Turns without a new mapping to solve after which the search ends. Not measured.
MOST_IDLE_TURNS = 40
#: Effort of scheduling new mappings over that of annealing, and of scheduling points again.
SOLVES_OVER_REST = 2.0
#: Effort of the first exact solve of a mapping, over that of building its network.
SOLVE_OVER_BUILDING = 4.0

# Enumeration

#: Share of what is left for enumerating all mappings, before and after every meeting, and an effort that it is at least
#: where that is no more than another share (sobel takes 0.4 to 0.9 from the points of NSGA-II on).
ENUMERATION = (0.06, 1.2, 0.4)
#: Multicasts up to which all choices of those replaced are looked at, one tree each.
MOST_FLIPPED = 8
#: Networks of more tasks are not enumerated: they hardly ever come to an end.
MOST_ENUMERATED_TASKS = 64
#: Mappings that are collected before the most promising of them are scheduled.
LEAVES_AT_ONCE = 2000

# Latency

#: Share of the search for schedules of little latency, where that is an objective (of 148 drawn limits, effort of 0.05,
#: 28 are not kept, 29 with 0.15, 30 with 0.5).
LATENCY_SHARE = 0.3

# Exact modulo scheduling

#: Share of the effort left for a schedule with buffers of any size; the rest is for memories of limited size.
FREE_SHARE = 0.7
#: Share of the effort left that one choice of capacities may take, and the most choices looked at.
CAPACITIES_SHARE = 0.5
MOST_CAPACITIES = 40
#: Rounds of buffers that grow and move to other memories.
MEMORY_ROUNDS = 12
#: Rounds of trees in which buffers in memories that are too full get smaller.
MEMORY_TURNS = 3
#: Rounds of the local search: first and last temperature as shares of the lower bound, and whether to start afresh.
COOLINGS = ((0.003, 0.003, True), (0.005, 0.001, False))
#: Self-timed iterations, and those that nothing holds back; by what share of their period later ones are held back, and
#: how many of the last ones are looked at (random actors: eight that nothing holds back are 1 % worse).
ITERATIONS, HELD_BACK, LAST_ITERATIONS = (11, 5), 1.02, 4
#: Moves of the local search and nodes of a tree in the first round; every round has twice as many.
FIRST_MOVES = 4000
FIRST_NODES = 1200
#: Dives of each tree that decides whether a mapping has a schedule below some period, and how close to the shortest
#: one left open these get, as a share of the bound.
DIVES, NARROWED = 1.5, 0.04
#: Points at most whose networks show how large trees are.
DIVES_LOOKED_AT = 9
#: How often the effort of a dive must fit into that of a solve for one tree, and for trees to count as small.
SOME_DIVES, MANY_DIVES = 0.5, 3.0
#: Divisors of the nodes for trees at the lower bound, one tick below the best period, and in the middle.
NODE_DIVISORS = (2, 1, 12)
#: Effort of one call of a kernel: Ctrl-C is heard between calls.
CALL_EFFORT = 0.3
#: Deterministic time of CP-SAT for the stages of firings where memories are limited. Not measured.
STAGES_TIME = 1.0
#: Bytes of the changes that a branch and bound may hold, to take them back.
TREE_BYTES = 2**27
#: Failures of a branch and bound before it begins at its root again, the first time.
PATIENCE = 30
#: Most sums of durations that are looked at for one pair of tasks.
MOST_SUMS = 256

# Storage

#: Effort of the search for a front of storage against throughput where nothing limits it.
STORAGE_EFFORT = 30.0
#: The share of that search, and its effort at most, before it goes on in ranges of periods; their number.
STORAGE_FIRST_SHARE, STORAGE_FIRST_EFFORT, STORAGE_RANGES = 0.25, 1.0, 4
