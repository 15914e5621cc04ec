"""The lemma on walls: inputs that are read in place of neighbours stand for vertices that are computed from nothing."""

from __future__ import annotations

from shorthaul.affine.proofs.lemmas import Lemma

WALLS = Lemma(
    "walls",
    """\
Let a graph be that of a program with further vertices that are computed from nothing, each read by one instance, one
of an instance at most, and let some inputs be computed from nothing too. If any play of this graph, also one that
computes instances in the room of an operand, has at least q loads beyond the first ones of the inputs left, then every
play of the program has at least q loads beyond the first ones of inputs.""",
    """\
Take a play of the program. Where it computes an instance there is room for the result beside all operands: let the
further vertex that the instance reads be computed there, and then the instance in its room. Let the first load of an
input that is computed be its computation, and every other load of it one of that vertex. So fast memory holds no more
words than in the program, and every load is one of the program that is no first load of an input that is computed. The
lemmas on rows and those below them ask of a play what was in fast memory when a stretch began, and what is loaded or
computed in it: they hold for plays that compute in the room of an operand.""",
)
