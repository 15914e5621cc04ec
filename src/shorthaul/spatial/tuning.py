"""Constants that steer the searches, each with its unit and the measurement that set it.

Measured with ``benchmarks/spatial.py`` on one core of the machine of our benchmarks, unless a line says otherwise.
"""

from __future__ import annotations

# Annealing of layouts (layout/annealing.py). Section "Refinement" of the benchmark.

#: Reads per effort: 200 to 230 million a second of one core on Yule trees of 2^14 to 2^20 vertices.
READS_PER_EFFORT = 200e6
#: Side of a tile in cells: 32 to 128 make no difference beyond 0.4 % at 3,000 to 12,000 reads per vertex.
TILE = 64
#: Temperatures: 16 to 128 of them make no difference beyond 0.2 %.
STAGES = 32
#: Reads per vertex of a stage, at least: three moves of every vertex.
STAGE_READS = 50
#: Reads of a tile between two looks at what ends a search: 0.15 s.
READS_AT_ONCE = 30e6
#: The last temperature, in hops: 0.1 to 0.2 make no difference beyond 0.2 %.
COLDEST = 0.16
#: The first temperature, in hops, is HOTTEST_FACTOR r^HOTTEST_POWER for r reads per vertex: of 0.05, 0.1, 0.15, 0.2 as
#: factors, 0.15 was the best on Yule trees at 6,000 reads, and on random recursive and preferential attachment trees.
#: With m vertices on a processor in the mean, the factor is divided by the root of m: 0.15 / m ends 0.3 % higher.
HOTTEST_FACTOR, HOTTEST_POWER = 0.15, 0.2
#: The first temperature, in hops, at most: on trees of 255 vertices and 200,000 reads, 1.0 ends 0.5 % lower than 1.7.
HOTTEST = 1.0
#: A grid of one tile, and so many reads per vertex, is cooled with this share of them. With the rest windows of so many
#: cells a side around long edges are heated again, one after the other, from so many hops down in so many stages.
REHEATED_FROM, COOLED, WINDOW_SIDE, REHEATED, REHEATED_STAGES = 200_000, 0.25, 8, 0.7, 8
#: A window has this share of all reads per vertex for each of its own, and so many at least.
REHEATED_SHARE, REHEATED_READS = 1 / 96, 8000
#: Where edges are longer than so many hops on average to begin with, both are as many times higher, up to MOST_HEAT:
#: stars of stars, taxonomies and trees of files (six trees of 2,441 to 60,301 vertices) end 0.5 to 1 % lower.
USUAL_HOPS, MOST_HEAT = 2.0, 16.0
#: Hops from which on a swap that adds them is never done, at least: 32 times the temperature if that is more.
MOST_WORSE = 64
#: Vertices of so many neighbours are moved to the middle of them at once; the others get there by swaps.
MIDDLE_DEGREE = 5
#: Reads per vertex where nothing limits the search, and the most effort then: 12,000 in place of 4,000 end 3.5 % lower
#: on a Yule tree of 131,071 vertices, 1.6 and 2 % on trees of hubs of 80,000 and 227,104.
DEFAULT_READS, DEFAULT_EFFORT = 12_000, 16.0
#: Reads by default, at least: 1.4 s, of trees of so many vertices or more; three times as many up to SMALL of them. On
#: ten trees of 255 vertices, eight times as many as before ended 1.2 % lower, on eight of 63 to 100 two to three times
#: as many 1.4 % lower (two seeds each); on eight of 63 to 255 three times as many again 1.4 %. Smaller trees than TINY
#: are solved exactly.
LEAST_READS, SMALL_READS, TINY, SMALL = 400e6, 1.2e9, 50, 300
#: Reads per vertex unless an effort is asked for. On a Yule tree of 255 vertices 10 times as many gained 1.8 %.
MOST_READS = 2_000_000

#: With the longest edge as objective: a hop beyond the limit counts so many times more; and the stages, of STAGE_READS
#: each and from HOTTEST down, before a limit is given up. Not compared with others.
STEEP, SHORTENING_STAGES = 8, 16
#: Where every limit was tried in vain, stages become so many times longer.
LONGER = 4
#: Share of effort and time that goes to the energy before. Of 0.25, 0.5 and 0.75 on Yule trees of 1,023 and 16,383
#: vertices and a random recursive one of 2,000, efforts 0.5 and 2: the same link loads, longest edges within a tenth
#: but for one each of 0.25 and 0.75.
ENERGY_FIRST = 0.5
#: Vertices of a window in light-first order that are annealed one after the other on a machine with several vertices
#: per processor: they stay in the cache.
WINDOW = 8192
#: There, the most effort by default: a preferential attachment tree of 2.6 million vertices takes 1.007 hops per vertex
#: with 16 and 1.000 with 32 (before whole processors changed places).
CROWD_EFFORT = 32.0
#: There, effort per way between processors near one another (0.09 to 0.13e-6 CPU s measured for each that is settled),
#: the largest share of all effort that these may take, and the same for each dead link per processor; the most bytes;
#: and how far apart they are along each axis, at most. On 62 x 62, 20 % dead, effort 4, 8 ends at 3,888 hops, 16 at
#: 3,959 and all ways at 3,945; without, and effort 1, 4,684, with 8 4,235. With 1 % dead nothing is gained.
MEASURED_EFFORT, MOST_MEASURED, MEASURED_SHARE, MEASURED_BYTES, MEASURED_REACHES = 120e-9, 0.5, 1.5, 2**26, (8, 4, 2)

# The deadline. Wall time of planning a Yule tree of 10^7 vertices.

#: Cost, check, bound and figures of a layout take these seconds, and so many times what its light-first order took
#: just before: 8.5 measured on two threads and 10.6 on one at 10^7 vertices (0.71 s of processor time the order).
FINISH_S, FINISH_PASSES = 0.3, 12.0
#: The same of single steps: the cells, the storing and the check of a layout, without which there is no answer (3.3
#: measured), the centred order (3.0), the bound (3.9), the virtual tree (1.5) and figures (1.0).
LEAST_PASSES, CENTRED_PASSES, BOUND_PASSES, VIRTUAL_PASSES, FIGURES_PASSES = 3.5, 3.5, 5.0, 2.0, 1.5
#: The same on a machine, with one order alone (the bytes, a layout, its messages and their check: 4.6 s of processor
#: time for a light-first order of 0.1; 2 to 5 of other trees), and what two further orders take there (2.1). The check
#: takes as many times what the messages took: 2.6 to 6 measured on five trees of 3 million vertices.
LEAST_PLACED_PASSES, PLACED_PASSES, CHECKED_SENDS = 46.0, 21.0, 4.0
#: On a machine with several vertices per processor they take this many times what was done before: 1.8 measured.
FINISH_SHARE = 3.0
#: Seconds for writing an answer, and seconds per vertex: 0.1 and 0.06e-6 measured (12 bytes and their digest).
WRITE_S, WRITE_VERTEX_S = 0.2, 0.06e-6
#: Another method is tried where this many times what the last one took is left. Chosen, not measured.
TRIALS = 4
#: Bytes of Newick text, or lines of a list, read between two looks at the clock: some milliseconds.
BYTES_AT_ONCE, LINES_AT_ONCE = 2**20, 2**14
#: Vertices up to which the nearest name is sought for one that is misspelt: 0.35 s for 100,000 names of 20 letters.
MOST_NAMES_COMPARED = 100_000

#: Bytes per vertex of other orders than the light-first one, of what is stored with all that follows but the bound,
#: of the search for places, and of bound, virtual tree and figures: 27, 54, 108 to 112 and 45 measured on trees of 3
#: million vertices.
ORDERS_BYTES, STORED_BYTES, BOARD_BYTES, FURTHER_BYTES = 35, 55, 115, 50
#: Bytes per vertex of sums by all methods, the best run kept beside the next one, and by ``convergecast`` alone: 423
#: and 158 measured (600,000 vertices), and what surely is enough for that with its answer.
RUNS_BYTES, RUN_BYTES, ENOUGH_BYTES = 430, 155, 195

# Rake and compress (algorithms/rake_compress.py).

#: Rounds of RAKE before the first COMPRESS: 8 take 22 to 35 % less energy upward than 0 on random trees of 2^15
#: vertices, and at most 7 messages of depth more; 12 save another 7 to 14 %, and are up to 14 messages deeper than 0.
PATIENCE = 8

# Vertices in the middle of their subtrees (algorithms/middles.py). Yule tree of 2^20 vertices: 19 of them shorten the
# longest way from the root from 3,673 to 2,237 hops for 0.7 % more energy, 107 to 2,061 hops for 2.1 %.

#: Subtrees of more than n divided by this are large.
MIDDLE_SHARES = (4, 8, 16, 32, 64)
#: Vertices that are moved, at most: on a path all would be large.
MOST_MIDDLES = 256
#: How much more energy is allowed.
MIDDLE_ENERGY = 0.02
#: Cells on each side in which a leaf is looked for.
MIDDLE_REACH = 8

# Exact solving (bounds/placing.py).

#: Vertices times processors, at most: 144 vertices on a square.
MOST_EXACT = 21_000
#: Effort for all questions together where nothing limits it.
EXACT_EFFORT = 30.0
#: The effort where nothing is asked for, at most, and what it is times vertices and processors. Of random trees of 36,
#: 41 and 49 vertices on the smallest square, 3, 4 and 2 of 4 were within 5 % of the bound, in 4 s at most. Of 20 trees
#: of 81 to 144 vertices the first 1.6 s proved seven hops more, the next five seconds two.
DEFAULT_EXACT_EFFORT, EXACT_EFFORT_CELLS = 6.0, 14_000
#: The effort of a first search, at most, and its share of all effort: 16 trees of 6 to 30 vertices take 1.2 CPU s with
#: --refine 1 in place of 8.3, and 15 are proven in place of 12.
BRIEF_EFFORT, BRIEF_SHARE = 0.02, 0.05
#: The effort of refining where a tree is solved next, and refined in full after that if need be.
FIRST_EFFORT = 0.25

# Bounds on energy (bounds/energy.py).

#: Vertices up to which a tree is rooted as given as well as at its centroid (of eight trees of 60,000 vertices the root
#: as given proves a hop more of one, the centroid two more of another), and up to which all arguments are tried
#: whatever the time.
MOST_TWICE, NEVER_LATE = 2**16, 2**17
#: Bytes that the arguments take per vertex, at most: 45 measured at 3 million vertices, beside the check.
BOUND_BYTES = 50
#: Seconds that a certificate and hubs take per vertex, where time matters: 1.7 measured of a Yule tree of 200,001.
CERTIFY_VERTEX_S = 2e-5
#: Hops that a vertex reaches at most: with 12 as with 20 Yule and perfect binary trees prove as much; with 8, 2 % less
#: of what is beyond a hop per edge.
MOST_REACH = 12
#: Vertices in the subtree of one whose edge to its parent may be in its own star where subtrees are weighed, at most:
#: 0 proves 0.8 % less for B-trees of 8, and where nothing limits it suffix trees of 27 letters 0.5 % less.
MOST_UPWARD = 20

# Vertices with many subtrees (bounds/hubs.py).

#: How many vertices of a subtree are counted at most.
HUB_CAPS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
#: Children of a vertex that is tried, at least, and how many of these are, those of most children.
HUB_CHILDREN, MOST_HUBS = 4, 24

# Parts of a tree with prices on cells (bounds/prices.py).

#: Most neighbours of a vertex of a part and vertices with two or more, at least, and vertices of a part, at most.
PRICED_CHILDREN, PRICED_FORKS, MOST_PRICED = 5, 4, 500
#: Prices tried at first: falling to nothing at a part of the radius that the vertices need, by so much a hop.
PRICED_RADII, PRICES_FALL = (0.7, 0.85, 1.0), (0.02, 0.05, 0.1, 0.2, 0.4)
#: Parts are left as they are where the very first prices, or the best of the first, prove less than so much of what is
#: proven without any.
PRICED_FAR, PRICED_HOPELESS = 0.4, 0.85
#: Places times squared numbers of children (60 million take a second) in all, at least, by vertex, by effort where one
#: is given, and at most; and what a linear program, and all else that a part takes, is worth.
PRICED_WORK, PRICED_WORK_BY_VERTEX, PRICED_WORK_BY_EFFORT, MOST_PRICED_WORK = 4e7, 6e3, 3e7, 5e8
PRICED_PROGRAM, PRICED_PART = 1.5e5, 2e5
#: So many parts in a row, the largest first, that prove nothing more are the last that are tried.
PRICED_MISSES = 8
#: Prices of the last so many parts are tried on the next; they are sought where a part has this share of the vertices
#: of the last one where they were, and so many rounds, at least, go to single parts after that.
PRICED_KNOWN, PRICED_SMALLER, PRICED_LEAST_ROUNDS = 3, 0.85, 4
#: Parts are taken together in so many batches, at most, those that gain most first.
PRICED_BATCHES = 32
#: Rounds in which prices get better, unless so few hops are left to be gained, or less than so much of what is proven
#: without any is in sight.
PRICED_ROUNDS, PRICED_CLOSE, PRICED_SHORT = 20, 0.1, 0.99
#: Hops by which prices may change at first.
PRICED_STEP = 0.1
