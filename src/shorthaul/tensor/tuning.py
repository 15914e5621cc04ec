"""The constants that steer the search of the tensor engine, each with its unit and what set it.

The rates follow the time of moves and of prices on random graphs of 19 to 2,000 operators
(``benchmarks/tensor_moves``); the others were tried on the five published problems, and not measured one by one.
"""

from __future__ import annotations

from typing import Final

#: Visits of a group per effort, while sequences are changed and evaluated; what a move takes besides, in visits.
VISITS_PER_EFFORT: Final = 16_000_000
VISITS_PER_MOVE: Final = 5
#: Moves between two looks at effort and deadline.
MOVES_AT_ONCE: Final = 100
#: Kinds of loads, charges and reductions per effort in profiles whose best granularity is searched, and two for each
#: profile (47 us each: 0.34 ms for a profile of five kinds, 0.6 for one of ten, in 414 profiles of nine problems).
KINDS_PER_EFFORT: Final = 21_000

#: Effort of the round before all others, which every plan gets, per operator, and the most of what is left that it may
#: take (0.3 of effort: bounds of 5 of 45 problems 1.01 to 15 times as high as without it); the effort of what is done
#: when the time is up.
FIRST_EFFORT_PER_OPERATOR: Final = 0.002
FIRST_SHARE: Final = 0.2
LATE_EFFORT: Final = 0.05
#: Effort of one annealing where nothing limits it: per operator, at least and at most.
EFFORT_PER_OPERATOR: Final = 0.1
LEAST_EFFORT: Final = 1.0
MOST_EFFORT: Final = 40.0
#: Operators above which stretches are annealed rather than the whole; operators in a stretch that is fused and in one
#: that is annealed, at least; and the effort of a round over all stretches, per operator, where nothing limits it.
MANY_OPERATORS: Final = 300
FUSED_OPERATORS: Final = 1_000
STRETCH_OPERATORS: Final = 200
STRETCH_EFFORT_PER_OPERATOR: Final = 0.02
#: Moves without a better plan or an execution that was not known, after which an annealing ends.
PATIENCE: Final = 40_000

#: Operators in a window of a plan that is solved over all groups in it, at least, and the effort of one.
WINDOW_OPERATORS: Final = 12
WINDOW_EFFORT: Final = 1.0
#: Effort that a unit of CP-SAT's deterministic time takes (measured: 3.9 to 5.3 s of processor time).
EFFORT_PER_SOLVER_TIME: Final = 4.5

#: Moves in which the order of the diagram of all groups is annealed, per operator, and visits of operators and tensors
#: in all of them at most, and the share of the effort; visits per effort.
ORDERING_MOVES_PER_OPERATOR: Final = 2_000
ORDERING_VISITS: Final = 20_000_000
ORDERING_SHARE: Final = 0.05
ORDERING_VISITS_PER_EFFORT: Final = 200_000_000
#: Arcs of the diagram of all groups per effort (20 to 27 us each), and constraints of an integer program (19 us).
ARCS_PER_EFFORT: Final = 42_000
CONSTRAINTS_PER_EFFORT: Final = 50_000
#: Potentials followed along an arc per effort, where groups in the making are judged box by box.
COMPLETIONS_PER_EFFORT: Final = 1_500_000_000
#: Arcs times boxes looked at per effort, to see which boxes have any hope.
SURVEYED_PER_EFFORT: Final = 100_000_000
#: Groups in the making that pricing meets per effort (1.5 us each), boxes that they are judged in where they are
#: (40 ns), layers walked through (0.3 ms), profiles whose costs are worked out (70 us), profiles made (15 us), groups
#: found (15 us), and operators of those whose latency is looked for (10 to 25 us).
LABELS_PER_EFFORT: Final = 600_000.0
BOXES_OF_LABELS_PER_EFFORT: Final = 25_000_000.0
LAYERS_PER_EFFORT: Final = 3_000
PROFILES_PER_EFFORT: Final = 14_000
GROWN_PER_EFFORT: Final = 60_000
FOUND_PER_EFFORT: Final = 60_000
PROFILED_PER_EFFORT: Final = 65_000
#: Pivots of the linear program times the root of its rows per effort (62 us a pivot at 1,200 rows, 140 at 11,000),
#: entries read where it is solved (0.2 us), profiles of parts worked out (0.12 ms), columns made (50 us), and entered
#: into another program (10 us).
PIVOTS_PER_EFFORT: Final = 600_000
ENTRIES_PER_EFFORT: Final = 5_000_000
PARTS_PER_EFFORT: Final = 8_000
COLUMNS_PER_EFFORT: Final = 20_000
ENTERED_PER_EFFORT: Final = 100_000
#: Effort that the program of all parts of one operator takes at least: by operator, and by the square of their number
#: (0.1 of effort at 80 operators of the contest's kind, 0.2 at 152; 2.9 at 400 random ones, 8.6 at 800).
PARTS_EFFORT_PER_OPERATOR: Final = 0.001
PARTS_EFFORT_PER_SQUARE: Final = 5e-6
#: Groups asked whether they support a set of deeds, per effort (0.35 us each).
SUPPORTS_PER_EFFORT: Final = 3_000_000
#: Granularities evaluated per effort, and tiles outlined, to prove the least latency of a column.
EXHAUSTED_PER_EFFORT: Final = 3_000_000
#: Operators walked to per effort, to see which others may be in a group with one (2 us each), and operators whose
#: prices by formula are worked out (40 us).
WALKED_PER_EFFORT: Final = 500_000
PRICED_PER_EFFORT: Final = 25_000
#: Nodes of the diagram of all groups above which there is no linear program, and groups in the making in one pricing.
MOST_NODES: Final = 400_000
MOST_LABELS: Final = 1_000_000
#: The share of the effort in which the diagram may be built: where that takes more, too little is left for the program.
BUILDING_SHARE: Final = 0.5
#: Operators up to which the bound is left to one process: most have all their groups in some tenths of a second.
PROVEN_ALONE: Final = 40
#: The share of a plan's effort or time that its bound may take, and the effort of a bound where nothing limits it.
BOUND_SHARE: Final = 0.5
BOUND_EFFORT: Final = 20.0
