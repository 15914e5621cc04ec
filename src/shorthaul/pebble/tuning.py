"""The constants that steer the searches, each with its unit and what set it."""

from __future__ import annotations

from typing import Final

# strategy, exact search, local search

#: Effort of ``auto``, ``beam``, ``local-search`` and ``composition`` where neither effort nor time limit was given.
AUTO_EFFORT: Final = 20.0
#: Up to this many nodes ``auto`` tries to prove an optimum, composes schedules of modules, anneals.
MOST_FOR_EXACT: Final = 400
MOST_FOR_COMPOSITION: Final = 200_000
MOST_FOR_LOCAL_SEARCH: Final = 50_000
#: Above this many nodes a proof is rare, and annealing gets as much as the exact search and its beams.
MOST_FOR_PROOFS: Final = 100
#: The share of what is left that goes into the bound, and its most on a graph that is searched exhaustively afterwards.
BOUND_SHARE: Final = 0.1
BOUND_EFFORT: Final = 1.5

#: Effort of each step of ``memory``, and of a whole sweep, where neither effort nor time limit was given.
STEP_EFFORT: Final = 30.0
#: Graphs of up to this many nodes get the curve of budgets in ``memory``, and the baselines in ``sweep``.
MOST_FOR_CURVE: Final = 20_000
CURVE_POINTS: Final = 8
#: Seconds that checking, showing and writing a plan takes per node and edge, kept back from a time limit, and the
#: largest share of the limit that is kept back.
CHECK_S: Final = 5e-7
MOST_KEPT_BACK: Final = 0.4

#: Effort of the first turn of the exact solver, and how many times as large each next one is.
FIRST_TURN: Final = 1.0
TURN_GROWTH: Final = 3.0
#: What the parts of the exact solver take of a turn: the improvement before the first pass, automorphisms, the first
#: pass without prices or without tables, the choice of tables.
FIRST_LOOK: Final = 0.5
SYMMETRY_SHARE: Final = 0.3
WITHOUT_PRICES_SHARE: Final = 0.8
WITHOUT_TABLES_SHARE: Final = 1.2
TABLES_SHARE: Final = 0.5
#: How often prices climb, and what each climb, each beam that they guide and the pass after them take of a turn.
CLIMBS: Final = 4
CLIMB_SHARE: Final = 1.2
GUIDED_SHARE: Final = 0.25
PRICED_SHARE: Final = 5.0
#: Widths of these beams, after the first climb and after the last.
NARROW_BEAM: Final = 300
WIDE_BEAM: Final = 3000
#: What passes below the best plan, below lower limits, local search and beams take of a turn.
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
PATTERN_PATIENCE: Final = 6
#: Up to this many nodes the least memory is searched exhaustively; effort of one such search without any limit.
MOST_FOR_LEAST_MEMORY: Final = 400
LEAST_MEMORY_EFFORT: Final = 10.0

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
#: Below so many moves per computation a round starts no hotter than this many median weights.
ANNEALING_HURRIED: Final = 30
ANNEALING_MILD: Final = 0.3
#: Nodes and edges of one replay with Belady's replacement per effort.
REPLAY_RATE: Final = 2e7
#: Graphs of more nodes and edges than this are not annealed.
LARGEST_ANNEALED: Final = 1_000_000
#: With recomputation, orders of up to so many computations are annealed as a whole, those of more than the second
#: number in windows, of so many computations.
MOST_ANNEALED_WHOLE: Final = 600
LEAST_IN_WINDOWS: Final = 150
WINDOW: Final = (30, 200)
#: Units of work of a round with recomputation, and how many times as large the largest round is.
ROUND_WORK: Final = 8_000_000
LARGEST_ROUND: Final = 8
#: Turns of growing rounds without a better plan after which annealing with recomputation ends by itself.
RECOMPUTING_PATIENCE: Final = 3
#: The temperatures at which rounds with recomputation begin, of whole orders and of windows, and end: median weights.
RECOMPUTING_HOT, RECOMPUTING_WARM, RECOMPUTING_COLD = 2.0, 1.0, 0.1
