"""The constants that steer the searches, each with its unit and what set it."""

from __future__ import annotations

from typing import Final

# strategy, exact search, local search

#: Effort of ``auto``, ``beam``, ``local-search``, list scheduling, tiles and tree cuts where neither effort nor
#: time limit was given.
AUTO_EFFORT: Final = 20.0
#: Up to this many nodes ``auto`` tries to prove an optimum, anneals.
MOST_FOR_EXACT: Final = 400
MOST_FOR_LOCAL_SEARCH: Final = 50_000
#: Above this many nodes a proof is rare, and annealing gets as much as the exact search and its beams.
MOST_FOR_PROOFS: Final = 100
#: The share of what is left that goes into the bound, and its most on a graph that is searched exhaustively afterwards.
BOUND_SHARE: Final = 0.15
BOUND_EFFORT: Final = 1.5
#: The share above ``MOST_FOR_EXACT`` nodes; what it is for each of them, at least, up to a share of all.
LARGE_BOUND_SHARE: Final = 0.25
LARGE_BOUND_EFFORT: Final = 1.5e-5
MOST_BOUND_SHARE: Final = 0.4

#: The share of a game's effort for orders to begin with.
USUAL_SHARE: Final = 0.7
#: In place, beside a plan of the usual game: the share of what is left for an order with room for one result more. With
#: 0.7 plans of 12 graphs are 2 % dearer (effort 0.3).
START_SHARE_IN_PLACE: Final = 0.3
#: The share before that for a bound where the usual plan is proven, so that annealing ends where a plan meets it: a FIR
#: filter of 85 nodes takes 5 s for 7.5. For all graphs plans are 0.6 % dearer (60 graphs, effort 0.3).
FIRST_BOUND_SHARE_IN_PLACE: Final = 0.1
#: What goes on from the plan of a game with less freedom: its effort in parts of the one of that plan.
GOING_ON_SHARE: Final = 0.5
#: The same where prices or recomputation are all that is freer: 0.5 takes a quarter to a half longer, for plans that
#: cost as much (14 graphs, effort 0.3).
GOING_ON_NEAR: Final = 0.3

#: Events of a plan that computes every output anew, at most.
MOST_RECOMPUTED: Final = 200_000

#: Effort of the bound that stands beside a checked plan, where neither effort nor time limit was given.
CHECK_EFFORT: Final = 1.0

#: Effort of each step of ``memory``, and of a whole sweep, where neither effort nor time limit was given.
STEP_EFFORT: Final = 30.0
#: Graphs of up to this many nodes get the curve of budgets in ``memory``, and the baselines in ``sweep``.
MOST_FOR_CURVE: Final = 20_000
CURVE_POINTS: Final = 8
#: Seconds that checking, showing and writing a plan takes per node and edge, kept back from a time limit, and the
#: largest share of the limit that is kept back.
CHECK_S: Final = 5e-7
MOST_KEPT_BACK: Final = 0.4

#: Effort of the first turn of the exact solver, how many times as large each next one is, and the part of what is left
#: that a later one has at most: a turn takes two to four times its effort.
FIRST_TURN: Final = 1.0
TURN_GROWTH: Final = 3.0
TURN_PART: Final = 0.3
#: What the parts of the exact solver take of a turn: the improvement before the first pass, automorphisms, the first
#: pass without prices or without tables, the choice of tables.
FIRST_LOOK: Final = 0.5
SYMMETRY_SHARE: Final = 0.3
WITHOUT_PRICES_SHARE: Final = 0.8
WITHOUT_TABLES_SHARE: Final = 1.2
TABLES_SHARE: Final = 1.0
#: The part of what is left that choosing tables may take.
TABLES_PART: Final = 0.25
#: What passes that tell the better way to search take of a turn each way, and in how many steps their limits rise.
DIRECTION_SHARE: Final = 0.1
DIRECTION_STEPS: Final = 8
#: How often prices climb, and what each climb, each beam that they guide and the pass after them take of a turn.
#: Computed sets per effort of the turn that have prices. Where sets are many, what the climb and the pass after it take
#: of the turn, or of this part of what is left.
CLIMBS: Final = 4
PRICED_SETS: Final = 2**16
MANY_SHARE: Final = 1.5
MANY_PART: Final = 0.25
CLIMB_SHARE: Final = 1.2
GUIDED_SHARE: Final = 0.25
PRICED_SHARE: Final = 5.0
#: Widths of these beams, after the first climb and after the last.
NARROW_BEAM: Final = 300
WIDE_BEAM: Final = 3000
#: Shares of one round: proving the incumbent, raising the bound, local search, beams.
MAIN_SHARE: Final = 0.5
RISING_SHARE: Final = 0.25
LOCAL_SHARE: Final = 0.15
BEAM_SHARE: Final = 0.2
#: Passes shorter than this part of their turn are followed by wider steps of the limit.
SHORT_SHARE: Final = 0.05
#: How beams rank the states of a layer, round by round: how much of the red values' charge counts, and how many states
#: of one computed set are kept (0: any number).
BEAM_RANKINGS: Final = ((0.0, 0), (0.5, 8), (0.25, 0), (0.1, 4), (0.4, 2), (0.2, 16))
#: States of a layer in the first round of beams, and the random part of their rank in later ones, in mean weights.
FIRST_BEAM: Final = 64
BEAM_NOISE: Final = 0.3
#: Entries of one pattern database, the nodes of the first part tried and of the largest, and how many rounds of new
#: parts without a better sum end the choice.
MOST_ENTRIES: Final = 2**18
FIRST_PATTERN: Final = 8
LARGEST_PATTERN: Final = 26
PATTERN_PATIENCE: Final = 12
#: How many times as many entries a table for searches from the end may have.
TIMES_AGAINST_TIME: Final = 8
#: Up to this many nodes the least memory is searched exhaustively; effort of one such search without any limit.
MOST_FOR_LEAST_MEMORY: Final = 400
LEAST_MEMORY_EFFORT: Final = 10.0
#: Where events are annealed for it: the first step down as a part of the way to the bound, and the share of the effort
#: of one try (``memory --order given --recompute`` on graphs of ``benchmarks/pebble_rematerialisation.py``, seed 3).
LEAST_MEMORY_STEPS: Final = 16
LEAST_MEMORY_SHARE: Final = 0.3
#: The share of the effort of exhaustive searches and of annealing for traffic, before events are annealed.
LEAST_MEMORY_USUAL: Final = 0.6

#: Units of work (nodes, edges and values looked at) of annealing per effort.
ANNEALING_RATE: Final = 1e8
#: Units of work of one call of an annealing kernel: a look at the clock and for Ctrl-C in between.
ANNEALING_CALL: Final = 1_000_000
#: Rounds of annealing without a better schedule after which it ends by itself.
ANNEALING_PATIENCE: Final = 6
#: Moves per computation of the first round, and at most; rounds grow while they fail.
ANNEALING_FIRST_MOVES: Final = 60
ANNEALING_MOST_MOVES: Final = 2000
#: What a round starts with, in turn: the temperature in median weights, and how much nearer a value counts that must be
#: stored to give way. All rounds end at the temperature ANNEALING_COLD.
ANNEALING_ROUNDS: Final = ((0.3, 2.0), (1.0, 2.0), (0.6, 4.0), (0.3, 8.0), (1.0, 4.0), (0.6, 1.0))
ANNEALING_COLD: Final = 0.1
#: Below this many moves per computation a round starts no hotter than this many median weights.
ANNEALING_HURRIED: Final = 30
ANNEALING_MILD: Final = 0.3
#: Nodes and edges of one replay with Belady's replacement per effort.
REPLAY_RATE: Final = 2e7
#: What a replay takes beside, in effort.
REPLAY_EFFORT: Final = 1e-4
#: Graphs of more nodes and edges than this are not annealed.
LARGEST_ANNEALED: Final = 1_000_000

# states and bounds

#: Per effort: sets of values to let go that the search over states looks at, states sorted and compared, and what every
#: layer costs beside that.
EXPANSION_RATE: Final = 2e7
PRUNING_RATE: Final = 6e7
LAYER_EFFORT: Final = 1.3e-4
#: Nodes and edges coloured per effort, in the search for automorphisms, and what every colouring costs beside that.
COLOURING_RATE: Final = 2e7
COLOURING_EFFORT: Final = 3e-5
#: Entries of pattern databases filled per effort, times nodes of the part; and what every table costs beside that.
TABLE_RATE: Final = 2e8
TABLE_EFFORT: Final = 5e-4
#: Live values priced per effort, over all steps between computed sets, and what every round of prices costs beside.
PRICING_RATE: Final = 1.5e8
PRICING_EFFORT: Final = 2e-4
#: Computed sets made room for per effort.
COMPUTED_SETS_RATE: Final = 2e6
#: Sets of values to let go that the search with recomputation looks at per effort.
RECOMPUTING_RATE: Final = 2e7
#: Arcs of networks, times phases of their flows, per effort; and what every wavefront costs beside that.
FLOW_RATE: Final = 1e8
WAVEFRONT_EFFORT: Final = 1e-5
#: Nodes at which the wavefront is looked at; no cuts are computed on graphs of more nodes than the second number.
WAVEFRONTS: Final = 128
MOST_FOR_WAVEFRONTS: Final = 20_000
#: Nodes and edges of flows that a certificate of wavefronts asks its checker to find, at most: some seconds.
MOST_SHOWN_FLOWS: Final = 3_000_000
#: Links looked at per effort to bound what is loaded between levels, and most levels.
MOMENTS_RATE: Final = 7e8
MOST_MOMENTS: Final = 4000
#: What moments give to the narrowest levels, which tell if there is a bound: a share of the effort, and so much a node.
MOMENTS_FIRST: Final = 0.2
MOMENTS_FIRST_EFFORT: Final = 1e-6
#: Most sums of products in a stretch: repeated sparse products at twice the least memory gain up to 29 % from 6 to 12,
#: nothing beyond.
LONGEST_STRETCH: Final = 12
#: Products carried from one stretch to a later one whose common operands are counted: more are taken to share all. With
#: more products of a group in a stretch nothing is left, so none are looked at.
MOST_CARRIED: Final = 256
#: Links followed per effort to lay disjoint paths, and the effort where nothing limits it. What a part has to come to
#: per node and unit of weight at first, how that falls, and where it ends; parts are looked for at every so many nodes.
#: Six stencils and butterflies of 1,000 to 34,000 nodes, prices from 0.5: every 8th node brings 50 to 100 % of what all
#: do in a seventh to a quarter of the time; a decay of 0.8 up to 16 % more than 0.65, in thrice the time.
CROSSINGS_RATE: Final = 1e8
#: Iterations over grids: seeds without one before the search ends, steps of looking at one per effort; units of cells
#: and how many of them segments have at most, pairs of sizes of segments and levels priced per effort, slices added to
#: sets of cells per effort; pairs of operands of one node at most (0.7 GB).
GRIDS_PATIENCE: Final = 20
GRIDS_RATE: Final = 6e6
GRID_CLASSES: Final = ((1, 64), (1, 256), (1, 512), (2, 512), (4, 512), (8, 512), (16, 512))
GRID_CLASSES_RATE: Final = 1e7
#: The same for cells with links both ways, and how much effort a pair of sizes of levels takes there, by comparison.
GRID_LINKED_CLASSES: Final = ((1, 64), (1, 128), (2, 128), (4, 128), (8, 128))
GRID_LINKED_EFFORT: Final = 0.04
GRID_BOX_RATE: Final = 4e8
MOST_GRID_PAIRS: Final = 10_000_000
#: Tables: pairs of edges looked at per effort, edges of squares, edges that are walked along (half of these were twice
#: what they took on 2,500 to 8,000 nodes), and nodes of a table at least, or terms of products that blocks are made of.
TABLES_RATE: Final = 1e7
TABLES_STEPS: Final = 4e5
TABLES_WALKED: Final = 2e5
FEWEST_IN_TABLE: Final = 16
CROSSINGS_EFFORT: Final = 10.0
CROSSINGS_STRIDES: Final = (8, 1)
#: So many of the nodes are looked at to tell whether parts of a price are there at all, beside as many that others read
#: most; one in so many of all nodes is one that is read often. After a share of what is
#: left, the others go on if at this rate they come to so much of what all nodes are worth at that price.
CROSSINGS_PROBE: Final = 32
CROSSINGS_PATIENCE: Final = 0.1
CROSSINGS_WORTH: Final = 0.25
#: So few of those that are looked at tell, far apart in depth, once they have taken this part of what is left: ten
#: families of some 10,000 nodes, effort of 0.06, where prices that are too high took most of it.
CROSSINGS_FEWEST: Final = 8
CROSSINGS_PROBE_PART: Final = 0.05
FIRST_PRICE: Final = 1.9
PRICE_DECAY: Final = 0.7
LAST_PRICE: Final = 0.02
#: What disjoint parts take of the effort of crossings, all where less is left than this per node; then parts share
#: nodes: nine graphs of 300 to 11,000 nodes, efforts of 0.1 to 8. Prices of nodes at first and at least, in median
#: weights; how they rise where a part is taken, in the first turn and later; turns at most, and the share of new parts
#: that ends them.
DISJOINT_SHARE: Final = 0.3
LEAST_FLOWS: Final = 2e-4
FIRST_NODE_PRICE, LAST_NODE_PRICE = 0.005, 0.0005
NODE_PRICE_STEP, LATER_PRICE_STEP = 0.1, 0.03
CROSSINGS_TURNS: Final = 8
#: Readers of a node, at most, where paths go to them from what all of them need.
MOST_COMMON_READERS: Final = 64
CROSSINGS_NEW: Final = 0.02
#: Links followed per effort in flows, and what each costs beside; how prices rise when shares are found, and nodes of
#: parts priced per effort. Names that the certificate of shared parts may hold, and that sums with others begin with.
FLOWS_RATE: Final = 1e8
FLOW_EFFORT: Final = 5e-6
SHARE_STEP: Final = 0.2
SHARES_RATE: Final = 5e8
MOST_SHARED_NAMES: Final = 90_000
MOST_SHARED: Final = 30_000
#: Entries of tables of segments per effort, and what every table costs beside that; nodes of a graph in which sums of
#: products are looked for, terms of a family of them, and what every family costs beside that. Measured on 3mm,
#: doitgen, gramschmidt, attention and covariance at sizes of 14.
SEGMENT_RATE: Final = 5e8
SEGMENT_EFFORT: Final = 6e-5
#: Rents of memory: values held per term at most, terms of a slice counted one by one, the least and the largest rent in
#: powers of the values held, and how many of them; numbers of terms nearby.
MOST_RENTED: Final = 100.0
RENTED_TERMS: Final = 256
RENTS: Final = (0.2, 4.0, 20)
RENTED_NEAR: Final = 24
PRODUCTS_RATE: Final = 1.2e6
TERMS_RATE: Final = 6e5
FAMILY_EFFORT: Final = 2e-3
#: Terms unlike the others are left out of sums of products if so much of what these bring is kept: C kernels at sizes
#: of 12, where squares and what sums begin with are a twentieth to a seventh of all terms.
WORTH_KEPT: Final = 0.7
#: Products that share operands, and roles of these, at most (`benchmarks/pebble_algorithms.py --only training`).
MOST_ROLES: Final = 16
#: So many sums of products in a row without a bound, large ones first, end the search for more.
PRODUCTS_PATIENCE: Final = 6
#: Nodes numbered per effort, to recognise a network in any order.
NUMBERING_RATE: Final = 1e5
#: Graphs of more nodes are not searched for sums of products, for networks in any order, and for parts.
MOST_FOR_PRODUCTS: Final = 300_000
MOST_RENUMBERED: Final = 100_000
MOST_FOR_PARTS: Final = 20_000
#: Parts grow up to this many nodes, without and with recomputation; windows up to the third number are searched
#: exhaustively, larger ones, up to the fifth, bounded by wavefronts; up to the fourth the search with recomputation is
#: sure to end. The least part, and the largest at first.
LARGEST_PART: Final = 40
LARGEST_RECOMPUTED_PART: Final = 36
LARGEST_SEARCHED_PART: Final = 48
SURE_RECOMPUTED_PART: Final = 12
LARGEST_CUT_PART: Final = 2500
SMALLEST_PART: Final = 3
FIRST_PART: Final = 10
#: Parts grown between two linear programs at least, and nodes of the graph for each (stencils and a pyramid of 900 to
#: 1,260 nodes with recomputation, effort 2: 3 says 1.08 to 1.69 times what 8 does); what growing one costs per node and
#: beside that.
PARTS_BATCH: Final = 20
NODES_PER_PART: Final = 3
GROWING_RATE: Final = 1e8
GROWING_EFFORT: Final = 3e-4
#: Nonzeros times pivots of the linear programs per effort, and what each program costs beside that.
PIVOT_RATE: Final = 2e8
PACKING_EFFORT: Final = 5e-3
#: Pivots that a linear program may take in any case, and seconds that it may take beyond the deadline.
LEAST_PIVOTS: Final = 1000
PACKING_S: Final = 0.2
#: The search for parts ends when it took this many times as long as to the last improvement, and this effort more; and
#: after so much effort in all where nothing limits it.
PARTS_PATIENCE: Final = 3.0
PARTS_PATIENCE_EFFORT: Final = 1.5
PARTS_EFFORT: Final = 10.0
#: What one part, the whole graph, the wavefronts of a part and of the whole, and the windows may take of what is left.
PART_SHARE: Final = 0.04
WHOLE_SHARE: Final = 0.15
CUT_SHARE: Final = 0.15
TURNING_SHARE: Final = 0.3
WINDOW_SHARE: Final = 0.8
#: What moments take of the time for bounds, and segments and successors, which come first: with 0.2 for successors
#: those of C kernels of 14 and 9 are 1.7 % less in the mean (convolution, fdtd-2d).
MOMENTS_SHARE: Final = 0.4
SEGMENTS_SHARE: Final = 0.6
SUCCESSORS_SHARE: Final = 0.6
#: Computations priced as one right after the other: pairs found and priced per effort, pairs at most (120 MB), values
#: of at most so many readers, rooms of at most so many sizes. On 14 C kernels at sizes of 8 in the least memory: values
#: of 16 readers at most 5 % less, of 300 as much; 3 rooms 39 % less. Rounds of prices; after so many without gain they
#: move half as far, from the best ones but for the first times. On ten graphs of C kernels in the least memory, of 14
#: and 9: without the first times fdtd-2d has 44 % less, without going back ludcmp 31 % and Floyd-Warshall 9 %.
#: Rounds after which sets of nodes are compared, how many times as many nodes the next set has at least (2: 0.1 % less
#: in the mean of 71 bounds), and their share of the effort: on seven graphs of 5,000 to 10,000 nodes, effort 0.25,
#: all of it and 20 rounds say 11 % less in the mean, 0.4 and 20 7 %, 0.6 and 20 4 %. Sets that go on, the best ones
#: first: two say 1.7 % less in the mean of eight graphs of C kernels of 9 and 12 (Cholesky 7 %), eight no more.
SUCCESSOR_PAIRS_RATE: Final = 2e7
SUCCESSORS_RATE: Final = 1e8
MOST_SUCCESSORS: Final = 5_000_000
MOST_READERS: Final = 64
MOST_ROOMS: Final = 64
SUCCESSORS_ROUNDS: Final = 120
SUCCESSORS_TRIED: Final = 10
SUCCESSORS_KEPT: Final = 4
SUCCESSORS_MORE: Final = 1.3
SUCCESSORS_SETS: Final = 0.6
SUCCESSORS_PATIENCE: Final = 3
STRIDES_ONWARD: Final = 4
#: Effort of the bound of the program that a graph was made from, beside that of the search: the 40 built-in kernels
#: take 0.13 to 13.7, 0.6 in the median. Where only the clock limits, it may take this part of the time left.
ORIGIN_EFFORT: Final = 15.0
ORIGIN_SHARE: Final = 0.5
#: What finding its order may take.
ORIGIN_ORDER_SHARE: Final = 0.2
WAVEFRONTS_SHARE: Final = 0.5
CROSSINGS_SHARE: Final = 0.6
#: Where crossings are found beside moments, segments and the others: the share of both, divided by ``CROSSINGS_SHARE``.
ARGUMENTS_SHARE: Final = 0.9
#: What looking for grids and tables may take, and what each of the two ways to cut one grid of what is left of that.
GRIDS_SHARE: Final = 0.8
GRID_CUTS_SHARE: Final = 0.3
TABLES_BOUND_SHARE: Final = 0.4

# orders and structured graphs
#
# Rates: seconds of one core beside steps counted, on stencils, products, transforms and random graphs of 300 to 10^6
# nodes; large random graphs run at half of these rates, small regular ones at twice. Other numbers were compared on the
# problems of benchmarks/pebble_structured.py, two seeds each, at an effort of 1; those marked * were not measured.

#: Nodes computed in one call of the replay kernel: a look at the clock and for Ctrl-C in between, up to 0.05 s.
REPLAY_CALL: Final = 50_000
#: Steps of one call of any other kernel of these rooms, likewise, up to 0.1 s.
ORDER_CALL: Final = 1_000_000
#: Nodes and edges of one pass with NumPy over a graph per effort: fusing, sorting by tiles.
PASS_RATE: Final = 1e7
#: Links looked at per effort when nodes are numbered by structure.
REFINING_RATE: Final = 2e7
#: Values with more than so many times the mean number of links are neighbours of nobody, and how often each other node
#: moves towards its neighbours when a graph is laid out along a line.
HUB_DEGREES: Final = 8.0
SMOOTHING_ROUNDS: Final = 20
#: Nodes and edges numbered by structure per effort, beside that, and what it may take of the search.
RENUMBERING_RATE: Final = 3e5
NUMBERING_SHARE: Final = 0.3
#: Steps of the list scheduler per effort.
LIST_RATE: Final = 2e7
#: What a run of the list scheduler takes beside, in effort: arrays are made.
LIST_RUN_EFFORT: Final = 2.5e-4
#: Nodes and edges of one run of the list scheduler with its replays per effort, at the least: what does not fit into
#: the effort left is not begun.
LIST_RUN_RATE: Final = 5e5
#: A run is cut off after this many steps per node and edge; the rest comes in the base order. *
LIST_MOST_STEPS: Final = 400
#: Most nodes of a subtree that are computed at once with their only reader, in list scheduling and inside tiles: with
#: 0 there is 2% and 8% more traffic, with 8 the same.
FUSED: Final = 3
#: Weights of the tiles tried first, as shares of the budget: the first, second and fourth alone give 7% more.
TILES_SIZES: Final = (0.75, 0.5, 0.9, 0.33, 0.2, 0.1, 0.05, 1.5, 3.0)
#: Exchanges tried in one tiling per group, and at most (2,000 per group and 100,000 at most give the same), and the
#: temperatures between which they are annealed, in median weights of a class; tiles times classes at most (200 MB).
EXCHANGES_OF_ONE: Final = 500
EXCHANGES: Final = 300_000
EXCHANGE_HOT, EXCHANGE_COLD = 0.5, 0.03
MOST_COUNTS: Final = 50_000_000
#: Steps of growing tiles, and exchanges tried, per effort.
TILES_RATE: Final = 2e7
#: Nodes and edges of one tiling with its replays per effort, at the least.
TILES_RUN_RATE: Final = 1e6
#: Shapes without a better tiling after which tiles end by themselves. *
TILES_PATIENCE: Final = 80
#: Blocks are of nodes at places if these are at least this part of what is computed; their share of what orders have
#: left (0.3 is too little for sums of products at an effort of 1), and shapes without better ones after which they end.
#: Sides of small blocks that are tried first. How often a shape is drawn from anywhere, with sides of up to two to the
#: power of ``BLOCKS_WIDEST``, and how often one near the best computes the other nodes at other times.
LEAST_PLACED: Final = 0.2
BLOCKS_SHARE: Final = 0.5
BLOCK_SIDES: Final = (2, 4)
BLOCKS_PATIENCE: Final = 40
BLOCKS_ANYWHERE, BLOCKS_WIDEST, BLOCKS_OTHERWISE = 0.4, 3.5, 0.2
#: What blocks that lead take of all that is left (`pebble_grids.py`, 0.3), and how far above the best orders are left.
PLACED_SHARE, HOPELESS = 0.7, 1.03
#: Bisection: clusters are cut at about this many vertices first, of nets with so many pins at most; first halves that
#: are grown, passes of each refinement, and pins looked at per effort.
BISECTION_SMALL: Final = 24
BISECTION_LEAST: Final = 16
BISECTION_PINS: Final = 60
BISECTION_TRIES: Final = 2
BISECTION_PASSES: Final = 2
BISECTION_RATE: Final = 2.7e7
#: Nodes and edges of one bisection per effort, at the least, and orders without a better one after which it ends.
BISECTION_RUN_RATE: Final = 4.5e4
BISECTION_PATIENCE: Final = 10
#: Its share of all that is left after list scheduling, and how near the first order has to come for others to follow.
BISECTION_SHARE: Final = 0.45
BISECTION_NEAR: Final = 1.03
#: Segments of profiles compared per effort when trees are cut.
TREE_CUTS_RATE: Final = 1e8
#: Partial answers kept per node of a tree, tried one after another until none has to be dropped. *
TREE_CUTS_WIDTHS: Final = (64, 512, 4096)
#: How many times as much as the last the next of these takes: it is not begun where less is left. *
TREE_CUTS_GROWTH: Final = 10.0

# the game with prices

#: Temperatures of annealing events, in the mean price of an event of the cheapest plan: at first, of rounds that begin
#: with a plan that fits, and at the end. The charge of what does not fit at first, in that per median weight, how many
#: times as much it is at the end of a round, and how it grows while rounds do not fit at their end.
PRICED_HOT, PRICED_REHEAT, PRICED_COLD = 1.0, 0.25, 0.02
FIRST_PENALTY, PENALTY_RISE, PENALTY_GROWTH = 0.1, 10.0, 2.0
#: Units of work (events and operands looked at) of annealing events per effort.
PRICED_RATE: Final = 1e8
#: Work of the first round per event, how many times that the longest takes, in how many calls at least, and how many
#: rounds without success end it. Against first rounds of 200,000 (effort 1, 8 random graphs of 100 to 320 nodes in the
#: least memory): 0.78 to 1.00 of the price in place, 0.72 to 0.98 in the given order, with recomputation.
PRICED_WORK: Final = 10_000
MOST_PRICED_ROUNDS: Final = 320
PRICED_CALLS: Final = 20
PRICED_PATIENCE: Final = 10
#: The same of accumulations, whatever their number.
ACCUMULATION_WORK: Final = 50_000
MOST_ACCUMULATION_ROUNDS: Final = 16
ACCUMULATION_PATIENCE: Final = 6
#: What is spent at most on making a sequence fit that does not after a round, in that round's work.
SQUEEZED_WORK: Final = 0.25
#: Room for events that bring values back, per node.
MOST_REPEATS: Final = 3
#: Positions that the exact search with prices looks at per effort, and in one call.
POSITIONS_RATE: Final = 5e6
POSITIONS_CALL: Final = 100_000
#: Nodes up to which general prices are first tried with a fiftieth of the effort: 8 nodes, 10 s before, 1 s since.
FEW_NODES: Final = 16
#: Positions of the exact search over accumulations, each times nodes and steps, per effort; from how many steps on
#: nothing is left for it unless it is asked for.
ACCUMULATION_RATE: Final = 150_000
MOST_SEARCHED_STEPS: Final = 64
#: The integer program over stages: its largest size in stages times nodes and edges, per effort and in all, its effort
#: at most, and the solver's own time per effort.
STAGED_SIZE: Final = 20_000
MOST_STAGED: Final = 400_000
STAGED_EFFORT: Final = 20.0
STAGED_TIME: Final = 0.5
#: Programs of a few milestones: their share of the effort, how many are tried at first for each further one, the share
#: of what is left that one program may take, and its effort per node and edge.
STAGED_SHARE_OF_FEW: Final = 0.5
SPREAD_STAGES: Final = 12
STAGED_SHARE: Final = 0.05
STAGED_EFFORT_OF_ONE: Final = 5e-5
