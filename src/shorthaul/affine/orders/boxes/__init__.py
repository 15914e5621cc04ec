"""Tiles of unequal edges in every loop, for given sizes: boxes whose memory cells are held, for any affine access.

In an order that keeps all dependences through memory every cell holds one value at a time, so cells are counted, not
values. A box of edges t touches at most F(t) cells of a group of accesses with one linear part: in every subscript
the sum of |factor| (t - 1), and 1, and how far their constants are apart. While a box runs, all its cells are held, or
those that are alive (see :mod:`alive`).
All cells between the outermost ones are, used or not, unless no two points of the loops share a cell. Let p be the
innermost loop over boxes on which a group depends: along p a cell that has left a box does not come back, so a whole
run of p loads F with t_p as long as the loop, and loops further in load nothing. Cells whose first access in the phase
is a write are loaded at every visit but the first. Where a phase fills no box, as a triangle, loops over boxes are
followed one by one: edges are those within its regions, and what is empty costs nothing.
"""
