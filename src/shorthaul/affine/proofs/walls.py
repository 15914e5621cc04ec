"""The lemma on walls: inputs that are read in place of neighbours stand for vertices that are computed from nothing."""

from __future__ import annotations

from shorthaul.affine.proofs.lemmas import Lemma

WALLS = Lemma(
    "walls",
    """\
Let a graph have further vertices that are computed from nothing, each read by one instance, and of an instance one at
most. Let some inputs be computed from nothing too. Let an instance whose operands are in fast memory be computed in the
room of one of them, in the one on rows and those on segments and on temporaries as in all that follow from them. Then a
bound on loads in this graph, which has no first loads of these inputs, holds for the loads of the program beyond the
first ones of inputs.""",
    """\
Take a play of the program. Before it computes an instance there is room for the result beside all operands: let it
compute the further vertex that the instance reads there, and then the instance in its room. Let the first load of an
input that is computed be its computation, and every other load of it one of that vertex. So fast memory holds no more
words than in the program, and every load but first ones of inputs is a load of the program. Arguments on what a stretch
reads, that was in fast memory when it began, or is loaded or computed in it, use no more of a play.""",
)
