"""The lemmas on lines in a plane and on squares (see ``lemmas``)."""

from __future__ import annotations

from shorthaul.affine.proofs.lemmas import Lemma

LINES = Lemma(
    "lines in a plane",
    """\
Let instances D have places in a plane, or in planes beside one another, and families of paths: from every p in D to a
vertex that p reads, from there to one that this reads, and so on to a source. For every family let each vertex be on
paths from one line of a direction only; families have disjoint vertices. Let there be w families, m those of the
direction that most have, or w / 2 if these are fewer. If a stretch with r events computes the instances P of D, then
|P| <= (S + r)^2 / (4 m (w - m)).""",
    """\
Follow a path from p in P. The first vertex that the stretch does not compute was in fast memory when it began or is
loaded, as its reader is computed; if there is none, the stretch computes the source, or loads it: an event. The vertex
found is on paths from one line only, so a family has as many of them as P has lines of its direction, and all families
w different ones or more, one each: sum of w_q n_q <= K = S + r, for w_q families of direction q and n_q lines. In a
plane |P| <= product of n_q^(s_q) if s_q <= 1 and all s_q add up to 2 (discrete Brascamp-Lieb inequality: a line in the
kernel of one projection is seen by all others, whose exponents add up to 1 or more). Over planes these add up to no
more than the product of the sums (Hoelder). By Lagrange the product is at most (K / 2)^2 times the product of (s_q /
w_q)^(s_q). With s_q = 2 w_q / w it is (K / w)^2. If more than half are of one direction, its s is 1, the others' are
w_q / (w - m), and it is K^2 / (4 m (w - m)).""",
)

SQUARES = Lemma(
    "squares",
    """\
Let instances have places in a plane, or in planes beside one another, and let every p in D read the values of the
places p - u, p - v and p - u - v, for two vectors of the plane that are no multiples of one another. Let different
places have different values, that of an instance's place its own, and those of places of no instance in D be sources.
If a stretch with r events computes the instances P of D, with a lines along u and b lines along v, then among these
values are at least a + b that were in fast memory when it began, or that are loaded or are sources computed in it.
In the lemma on lines in a plane they count as a family along u and one along v.""",
    """\
Let Q be P with the places p - u. On every line along u the last place of P in the direction of -u adds one, so Q has
at least a more. Let R be Q with the places q - v: as many more as Q has lines along v, b at least. R without P, a + b
places or more, are places whose values are read by P; the stretch does not compute them as instances of D.""",
)
