"""The lemma on walls: what instances of a stencil read in place of neighbours that there are not."""

from __future__ import annotations

from shorthaul.affine.proofs.lemmas import Lemma

WALLS = Lemma(
    "walls",
    """\
Let instances of D have neighbours at places of the level below at which no instance is. Let each of these places be
that of an input, which every instance reads that has it for a neighbour, different ones at different places, or of a
wall, which one instance of D has for a neighbour, an instance w of them at most. Let In(P) count such places too.
Count as events the loads of vertices that D reads, the computations of those that are not in D, and every wall of
every instance of D. Then a segment of r events that computes the part P of D has In(P) <= S + r + max(0, w - 2), or r
if fast memory is empty when it begins. Walls, inputs at places, and other vertices that D reads and that are not in D,
are the sources: each is in In of some part, and all events but one for each of them are loads beyond the first of each
input.""",
    """\
Let the events of the walls of p come right before p is computed, the last one at once with p. If a segment ends
between two walls of p, the next one begins with p: fast memory has room for p then, so at most S - 1 of its words are
in use, and at most w - 1 walls of p were events before. So every place in In(P) was in fast memory when the segment
began, is one of these, or is an event of the segment: the load of a vertex, the computation of one, or a wall of an
instance of P, each of one place. Walls are events once, so are computations; of loads of an input that stands at a
place the first one is left out as a source.""",
)
