"""The constants that steer the searches of the affine engine, each with its unit and what set it.

Where nothing else is said, a constant was set by hand on the 30 kernels of PolyBench (benchmarks/affine.py shows what
they reach) and was not measured alone. A change may change bounds and orders, never their truth.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, NamedTuple


class Regime(NamedTuple):
    """Sizes large against S, and S large against what is small: where arguments, orders and formulas are compared.

    ``size`` is the value of every other parameter, ``fast_memory`` that of S, both in words.
    """

    size: int
    fast_memory: int
    small: int = 8


# What "sizes large, S small" means, in one place. At the sizes of arguments neither the leading term of a bound nor
# what is subtracted decides alone; those of orders are so large that only leading terms count; formulas are compared
# where floating point still tells their terms apart.
#: Arguments: S small against every size, and S between a size and its square.
COMPARED_ARGUMENTS: Final = (Regime(20_000, 400, small=4), Regime(20_000, 160_000, small=4))
#: Tiled orders; the sizes of panels and of zones of rows are between S and the sizes.
COMPARED_ORDERS: Final = Regime(10**12, 10**6)
COMPARED_PANEL: Final = 10**9
#: What sizes are apart from one another there, so that no two are equal.
COMPARED_APART: Final = 7919
#: Monomials of one order in a leading term.
COMPARED_TERMS: Final = Regime(10**6, 10**3)
#: The branches of a formula that hold for large sizes, in a leading term; sizes are that much apart.
LEADING_BRANCHES: Final = Regime(10**9, 10**4)
LEADING_APART: Final = 7
#: The branches of a short form; sizes are that much apart, and take all residues up to the window.
SHORT_FORM_BRANCHES: Final = Regime(10**9, 10**4)
SHORT_FORM_APART: Final = 1000
SHORT_FORM_WINDOW: Final = 120
#: The quotient of two leading terms: all sizes equal.
TIGHTNESS: Final = Regime(10**15, 10**6)

# Work.
#: Steps of work on integer sets per effort (benchmarks/affine_effort.py).
STEPS_PER_EFFORT = 2_000
#: Steps of work for a look at one small set (0.02 to 0.27 ms in 12 programs, a step takes 0.6).
CHEAP_STEP = 0.3
#: Steps of work for one point of a set at given sizes (with 2e-4 an effort of listings took 0.5 to 0.7 s).
POINT_STEPS = 1.2e-4
#: Points of a set that are listed in a second (25 million of adi take some 3 s).
POINTS_PER_SECOND = 8_000_000
#: The share of a bound's effort for finding arguments; the rest is for counting and adding those chosen.
POOL_SHARE = 0.85
#: The part of the best argument's worth from which on formulas are made as soon as it is found; not varied.
WORTH_WRITING = 0.1
#: The share of what is left of this for each family of arguments.
FAMILY_SHARE = 0.5
#: Where phases promise most, the share of this with which those of single vertices end (half of every two steps counts
#: there) once MOST_IN_VAIN in turn were in vain, and with which no phases are sought any more (33 iterations of
#: benchmarks/field and of users, efforts of 0.3 and 1: none has less than with a share of the effort for each).
PROMISE_KEPT = (0.45, 0.9)
#: The share of the effort that is kept for arguments made for given sizes, and of this for finding them: between these
#: it is what the choice among all leaves, if that takes as much as the one before.
FITTED_SHARE = 0.1
MADE_SHARE = (0.5, 0.8)
#: Before that, the share for a choice among the arguments known, where the most promising one may be worth less.
KNOWN_SHARE = 0.25
#: The effort for counting inputs beside that of the search; not varied.
INPUTS_EFFORT = 1.0
#: The same for sums that wait, which take 0.01 to 0.2 and are the best of attention, and for rounds: with effort of
#: the search, hidden_markov_batch, squeeze_excite and batched_lstm had 0.1 to 0.8 of their bounds (0.3 and 1).
WAITING_EFFORT = 0.25
#: Shares of what is left for the arguments of the lower bound, and then for the derived order.
LOWER_SHARE = 0.55
UPPER_SHARE = 0.6
#: The effort of the first round of a search for an order at given sizes, which is done whatever there is. The next one
#: has as much for an order and half of it for a formula (these take 0.1 to 0.5), each further one twice that.
#: Where its order is poor it goes on with as much again: with 0.1 or 0.14 two or three of 14 programs stay poor.
FIRST_ROUND = 0.2
#: The flows of a program, reads told apart by what computes them, beyond which a round has as many times that effort
#: (12 in the median of 122 programs, 47 at most; 109 in a stencil of 25 points, which had no order with 4).
USUAL_FLOWS = 25
#: The share of what is left after it for a formula, where there is one S alone: then the order has all the rest.
FORMULA_SHARE = 0.4
#: The share of what is left for the order of emitted C.
CODE_SHARE = 0.9
#: The share of what is left for orders at given sizes; the rest is for its formulas, or to replay it (32 plans
#: with an effort of 1.5: 3 % fewer loads than with 0.6).
SIZED_SHARE = 0.9
#: Neighbouring points of a sweep whose orders are searched together, one after the other, more of them where there
#: would be more groups than that; not varied.
SWEPT_TOGETHER, MOST_SWEPT_GROUPS = 6, 8
#: The share of the arguments in ``plan``, and in ``check`` of a given plan.
PLAN_LOWER_SHARE = 0.3
REPLAY_LOWER_SHARE = 0.8
#: Orders that ``plan`` replays where no number is asked for: as many as these instances allow, within limits.
REPLAYED_INSTANCES = 8_000_000
LEAST_REPLAYS, MOST_REPLAYS = 8, 200
#: Instances replayed per effort.
REPLAYED_PER_EFFORT = 1_000_000
#: Emitted loops of at most so many instances are replayed, with this effort beside that of the search.
LARGEST_CODE_REPLAY = 1_000_000
CODE_REPLAY_EFFORT = 4.0
#: The effort for the text of emitted loops beside that of the search, and isl's operations for the loops of a phase
#: (1.5 million take a second; 7 million for three fields of which one is a Laplacian of another one).
CODE_LOOPS_EFFORT = 4.0
LOOPS_OPERATIONS = 20_000_000
#: List scheduling of plans of at most so many instances: how many operations that are left it looks at, the words that
#: a load weighs where an operand that nothing else reads weighs one, and its effort beside that of the search.
LARGEST_LISTED = 50_000
LISTING_WINDOWS = (8, 32, 128, 1_000)
LISTING_WEIGHTS = (1, 2)
LISTING_EFFORT = 1.0
#: Orders of one search that list scheduling begins with: the best before need not be the best after.
MOST_LISTED_OFFERS = 8
#: The share of effort and time in which a program is listed; one that takes more is planned by its formulas alone, for
#: which there is the rest: with half of it three of six programs of a million instances had 13 to 39 times the loads.
LISTED_SHARE = 0.3
#: The least effort of listing an instance or one of its reads (0.20 to 0.45 per million in five programs): where there
#: is less, listing is not begun.
LISTED_EFFORT = 3e-7
#: So many instances and reads are listed beside the effort of the search, with an effort of their own: 0.03 to 0.23
#: (0.01 to 0.14 s) in 17 programs, mostly for their statements.
LISTED_AT_ONCE, LISTED_AT_ONCE_EFFORT = 200_000, 1.0
#: So many instances and reads are listed and replayed where nobody gave an effort or a time limit: gemm of 136^3 takes
#: 18 s of processor time, of 200^3 minutes.
LISTED_UNASKED = 10_000_000
#: Bytes for each instance and each of its reads of listing a program and checking a plan: 160 measured (gemm of
#: 216,000), 177 (seidel-2d of 192,080).
LISTED_BYTES = 180
#: What is kept back of a time limit for checking a plan, in instances per second, and for its formulas, in seconds.
CHECKED_PER_SECOND = 200_000
REPORT_SECONDS = 0.4
#: Of the second that a command may take longer than its time limit, what a plan's check may use.
GRACE_S = 0.8
#: Nodes of branch and bound for the exact maximum of one part, and per effort.
PART_NODES = 2_000
PART_NODES_PER_EFFORT = 400

# isl operations, elementary steps of isl's own, after which one argument or one count is given up.
#: One K-partition argument; twenty times as many for its formulas.
PARTITION_OPERATIONS = 200_000
#: Wavefronts, intervals and crossings of one statement.
WAVEFRONT_OPERATIONS = 400_000
#: Double cones of one statement.
CONE_OPERATIONS = 1_000_000
#: Layers of one statement, or of several in turn.
LAYER_OPERATIONS = 600_000
#: Phases of one statement and loop.
PHASE_OPERATIONS = 1_500_000
#: One pair of chains.
CHAIN_PAIR_OPERATIONS = 1_000_000
#: The first attempt at what has to be known, 0.4 s; each further one has twice as many.
FIRST_OPERATIONS = 2_000_000
#: Counting the inputs of one array, or some of them, 1 s.
INPUT_OPERATIONS = 5_000_000
#: Taking the pieces of one count apart, or joining them.
COUNT_OPERATIONS = 1_000_000
#: The routes between the events of one argument, for its proof.
ROUTE_OPERATIONS = 1_000_000
#: The conditions of one short form.
SHORT_FORM_OPERATIONS = 2_000_000
#: The graphs on which a bound argues beside the program's own.
GRAPH_OPERATIONS = 2_000_000
#: One placement of a tiled order.
PLACEMENT_OPERATIONS = 5_000_000
#: One dimension of a loop nest that may follow from others.
REDUNDANT_LOOP_OPERATIONS = 500_000


# How many are tried or kept.
#: By what factor an argument with its events chosen for given sizes is larger at least.
LEAST_GAIN = 1.001
#: Rows read whole: how many steps of a column may be under way, events of a segment over S, least widths and weights
#: over the widest row, ranges of steps, widths told apart.
MOST_ROW_DELAY = 2
ROW_EVENTS = (0.5, 1.0, 1.5, 2.0, 3.0)
ROW_WIDTHS = (0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
ROW_RANGES = 8
MOST_WIDTHS = 100
#: Arguments in turn of which nothing is left beside others, before no more are tried.
MOST_IN_VAIN = 4
#: Pieces of sets in one argument for each of its parts: nobody reads formulas of more.
MOST_FORMULA_PIECES = 16
#: Parameters that are small together.
MOST_SMALL_PARAMETERS = 3
#: Sets of such parameters.
MOST_SMALL_SETS = 4
#: Kernels with which sums of exponents are compared.
MOST_COMPARED_KERNELS = 5
#: Loops of two statements that may stand for one another in any order.
MOST_MERGED_LOOPS = 4
#: Loops of a statement whose levels may be skewed.
WIDEST_SKEWED_STENCIL = 4
#: The largest factor of a covector that numbers levels.
LARGEST_LEVEL_FACTOR = 3
#: Such covectors that are tried.
MOST_LEVEL_COVECTORS = 4
#: Statements and lines for which double cones are tried.
MOST_CONES = 6
#: K-partition arguments kept for one statement.
MOST_ARGUMENTS = 12
#: Sets of paths evaluated for one statement.
MOST_PATH_SETS = 40
#: Coordinates of few values of which every choice is tried; of more, those of the fewest values.
MOST_CHOSEN = 3
#: Places of a neighbourhood; of larger ones only differences along one coordinate are tried as edges.
MOST_NEIGHBOURS = 12
#: Pairs of chains.
MOST_CHAIN_PAIRS = 20
#: Compositions on the way back to the ancestors of a layer.
LAYER_COMPOSITIONS = 5
#: Flows and chains on a route from one event back to another.
LONGEST_ROUTE = 6
#: Vertices of a path from layer to layer.
LONGEST_LAYER_PATH = 4
#: Sweeps of one time step whose layers are taken in turn.
MOST_SWEEPS = 3
#: Such sets of sweeps that are tried, and the statements by way of which one is made of the values before.
MOST_SWEEP_CYCLES = 400
LONGEST_SWEEP = 4
#: Compositions on the way back to the ancestors of a sweep.
SWEEP_COMPOSITIONS = 7
#: Compositions on the way back to the ancestors of a chain.
INTERVAL_COMPOSITIONS = 5
#: Compositions on the way to ancestors and descendants.
WAVEFRONT_COMPOSITIONS = 3
#: The same for sums that wait: a maximum that begins with its first value, then a sum, are six back.
WAITING_COMPOSITIONS = 6
#: Relations of statements in one such composition.
MOST_REACHABLE_MAPS = 60
#: Paths followed back at once.
MOST_PATHS_BACK = 60
#: Loops around an event, besides those of its chain.
MOST_PHASE_LOOPS = 2
#: Compositions between two events.
PHASE_COMPOSITIONS = 5
#: Vertices of a path that is followed back.
LONGEST_PHASE_PATH = 3
#: Compositions where only events two steps apart follow from one another.
FURTHER_COMPOSITIONS = 6
#: Kinds of paths tried for one phase.
MOST_PHASE_PATHS = 40
#: Values of an array or a statement that two scans read and that may not be in use when they meet.
MOST_LOST = 3
#: Places of a line at which a step is compared with the next one.
MOST_MOMENTS = 12
#: Families of lines of one statement of which the best set is sought.
MOST_LINE_FAMILIES = 8
#: Coordinates of a nest in which panels are tried.
WIDEST_PANELS = 4
#: The most sizes of panels compared at given sizes.
MOST_PANELS = 40
#: Sets of skewed coordinates for one placement, of mirror images one.
MOST_SKEWS = 3
#: Covectors of which such sets are made.
MOST_COVECTORS = 40
#: Statements of one loop that may take turns.
MOST_TURNING_STATEMENTS = 16
#: Statements of nests with one outer loop in common that may, at given sizes.
MOST_SIZED_TURNS = 24
#: Orders that load about the inputs, these being at least this part of all loads, are not searched further.
NEAR_THE_INPUTS = 0.9
#: Steps of such a loop over which what stays in memory is counted.
MOST_KEPT_STEPS = 20_000
#: The part of all loads in such a loop that joining two groups has to save: not what a row has in scalars.
LEAST_SHARE_JOINED = 1e-3
#: Placements of one phase.
MOST_PLACEMENTS = 12
#: The share of all uses that a phase may have which emitted C executes within another one, every operand loaded.
MOST_SUNK = 0.1
#: Coordinates of which all orders are tried.
WIDEST_FREE_ORDER = 4
#: The largest multiples of loops that are added to another one, so that this may be cut; of one loop alone: stencils
#: of radius 4 in three arrays that take turns need 12.
LARGEST_SKEW = 2
LARGEST_SKEW_ALONE = 12
#: Coordinates that are tiled.
MOST_TILED = 3
#: Parts by which zones may be larger than rows over blocks while what is left over is small.
ZONE_SLACKS = (Fraction(0), Fraction(1, 50), Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(1, 2))
#: Origins of the tile grid that are drawn.
MOST_ORIGINS = 200
#: Values of a parameter over which two formulas are compared one by one.
WIDEST_COMPARED = 12
#: Pieces of a count that are joined.
MOST_COUNT_PIECES = 16
#: Pieces of a stencil's instances with walls: those of 6 to 20 take 4 to 10 times the effort for 2 % more.
MOST_WALLED_PIECES = 4
#: Parameters from which on a count for large parameters holds.
LEAST_LARGE = 64
#: Pieces of a count that becomes a formula, and sums that it is made of.
MOST_PRINTED_PIECES = 64
MOST_CONTRIBUTIONS = 400
#: Remainders that one count distinguishes.
LARGEST_PERIOD = 2_000
#: Branches of a formula with a short form.
MOST_BRANCHES = 64
#: Nodes of a formula with a short form; SymPy takes minutes for some of 2000.
LARGEST_SHORT_FORM = 1_000
#: Rounds of one search for boxes at given sizes.
MOST_BOX_ROUNDS = 12
#: Loops of which every choice is left whole, to begin with what is held for all of a phase; of more, up to two.
WIDEST_WHOLE = 6
#: Edges to both sides of the present one that are tried with exact counts.
MOST_EDGES_NEAR = 4
#: Ratio of the steps along which tiles around others march that are compared.
NESTED_MARCH_RATIO = 1.25
#: Places along one coordinate at which tiles may begin.
MOST_PLANES = 10_000
#: Instances in a box and those around it that are looked at one by one, for what is alive there.
MOST_ALIVE_POINTS = 200_000
#: Steps of work for one subscript of one of these instances (10 ns of a busy core, some 2.5 of an idle one; seismic).
ALIVE_STEPS = 6e-6
#: Times the memory that a box may touch, if what is alive at a time fits; rounds to find the largest such box; the
#: share of the memory that comes and goes along a run, from which on that is tried, as rows read whole are for a
#: statement with this share of their instances.
MOST_TOUCHED = 2
MOST_ALIVE_ROUNDS = 4
LEAST_PASSING = 0.25
#: Times the memory that boxes may touch where a part of one group is not held; not varied.
SPILLING_ROOM = (1.25, 2.0)
#: The part of the memory that a group has to take, before a part of it is not held; not varied.
LEAST_SPILLED = 0.01
#: The most elements of a matrix whose visits by rows and by columns are counted one by one.
MOST_CROSSING = 4_000_000
#: Places of the outermost loop over boxes at which reads of such groups are counted one by one.
MOST_PLACES_COUNTED = 512
#: Tiles along the longest loop that are put together in clusters, the most tiles in all, moves of the search for these,
#: and moves that are a step of work.
CLUSTER_TILES = (8, 10, 12)
MOST_CLUSTERED_TILES = 250
CLUSTER_MOVES = 40_000
MOVES_PER_STEP = 1_000
#: The part of what a wider first panel saves that it may cost; not varied.
MOST_PANEL_COST = 0.25
#: Ranges of a loop with boxes of their own, those of them that suit what fits; the part of the loads that longer boxes
#: have to save by estimate, and that of its own that cutting one range has to; lengths of panels that are compared.
MOST_RANGES, MOST_SUITED_RANGES, MOST_PANEL_LENGTHS = 12, 10, 64
LEAST_RANGES_SAVE, LEAST_RANGE_SAVED = 0.05, 0.01
#: The part of the loads of two phases that passes between them, from which on common ranges are tried; not varied.
WORTH_A_STAGE = 0.1
#: Boxes followed one by one where a phase does not fill a box.
MOST_BOX_VISITS = 200_000
#: Counts of them that are kept: boxes of one search differ in a loop or two.
MOST_COUNTS_KEPT = 4096
#: Pieces in which a run of boxes that share no cell is counted: one is as wide as all of its boxes need.
PIECES_OF_A_RUN = 16
#: The part of what a subscript runs through by which parameters may shift accesses of one group; not varied.
MOST_SHIFT = 0.1
#: The part of the cells of a group that has to be computed in it, before writes count as visits; not varied.
LEAST_FRESH = 0.5
#: Placements that are compared by how many loops may be cut into boxes, those in which boxes are searched, and pairs
#: of phases that are tried as one.
MOST_COMPARED_PLACEMENTS = 8
MOST_BOX_PLACEMENTS = 3
MOST_BOX_FUSIONS = 60
#: Phases of fewer instances than this part of all loads are joined only where they lie between others.
WORTH_JOINING = 0.01
#: Joining two phases saves about as much as joining others with at least this part of their savings; tiles in other
#: skewed coordinates load about as much, and are compared at given sizes, where borders need room
#: (benchmarks/affine_field.py: two fields).
ABOUT_THE_SAME = 0.95
#: Skewed tiles that load at most this part more are taken where more statements go along their memory inside of them:
#: vectors of coefficients cost up to 0.0008 more there where candidates are compared, and C has no rows elsewhere.
AS_SMOOTH = 0.002
#: Steps of work for an order of loops that may not be legal.
STEPS_PER_ORDER = 0.01
#: Steps of work for the loads of one policy where candidates are compared (0.14 to 0.19 ms; an LSTM, GRU, waves).
STEPS_PER_RATE = 0.3
#: Steps of work for one sign in the distances of a placement.
STEPS_PER_SIGN = 0.1


# What does not matter.
#: Placements without boxes after which a set of statements is given up until the best boxes are searched.
MOST_FIRST_TRIES = 5
#: Uses, and savings, of less than this part of all loads do not matter where orders are compared.
NEGLIGIBLE = 1e-4
#: Orders that load more than this part of all uses are worth trying in turns, and panels without triangular blocks.
POOR = 0.1
#: Boxes that load more than this many times what they read from elsewhere are worth trying in skewed loops.
POOR_FOR_INPUTS = 5.0
#: The same as the part of all uses for several nests that may take turns, at given sizes.
POOR_RUN = 0.05
#: Turns that load this many times what they read from elsewhere are worth trying two steps at a time.
WORTH_TWO_STEPS = 2.0
#: A loop is tried in blocks where its order loads so many times all uses over the root of S, about what boxes in all
#: loops do (projections onto earlier columns 3.1 to 16, tables over intervals 2.4).
WORTH_BLOCKS = 3.0
#: Turns are tried first where a step writes at most so many elements for each input that it reads again: with 1, means
#: of clusters, whose distances are written too, load twice as much with an effort of 1.
MOST_WRITTEN_FIRST = 0.25


# The oracle of ``check``.
#: Vertices up to which exact play is tried.
LARGEST_EXACT = 34
#: States after which exact play is given up.
MOST_STATES = 60_000
#: Vertices up to which the program is executed instance by instance.
LARGEST_EXECUTION = 4_000
#: Vertices up to which tiled orders are replayed.
LARGEST_ORDER = 300_000
#: Vertices of the CDAG in which largest parts are looked for.
PART_VERTICES = range(40, 260)
#: Values of S for these.
PART_CAPACITIES = (1, 2, 3)
#: The share of the memory that rows inside of tiles may need beside what the order holds; not varied.
ROWS_SHARE = 0.25
#: Elements of a row that one statement after the other computes, where whole rows need too much; not varied.
ROW_BLOCK = 64
#: Iterations of a loop that emitted C executes together (benchmarks/affine_code.py).
STRIP = 8
#: Terms of a sum that a row of memory takes at once (benchmarks/affine_code.py --flags="-O3 -march=native").
ROW_STRIP = 4


class Slack(NamedTuple):
    """What boxes may load more: for long rows in memory, each counts so many words, and for ``strips`` of loops."""

    rows: float = 0.0
    strips: float = 0.0


#: Boxes are chosen by their loads alone.
NO_SLACK: Final = Slack()
#: What emitted C gives up for long rows (benchmarks/affine_speed.py: 0.2 to 7 the same tiles, 64 no room for strips),
#: and for strips: 0.3 is the only share tried.
CODE_SLACK: Final = Slack(0.2, 0.3)
