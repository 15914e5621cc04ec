"""Lemmas on what is in fast memory at one event of a play, or passes through it between two."""

from __future__ import annotations

from shorthaul.affine.proofs.lemmas import Lemma

WAVEFRONT = Lemma(
    "wavefront",
    """\
Let e be a computed vertex and X(e) vertices that are ancestors of e (inputs among them) and operands of
descendants of e. At least |X(e)| - (S - 1) loads of X(e) take place after e, none of them the first load of an
input. If the sets X(e) of different events e are disjoint, these loads add up over the events.""",
    """\
When e has just been computed it is in fast memory, and at most S - 1 other values are. Every vertex of X(e) has
been computed or loaded before, as e is computed from it, and it has to be in fast memory once more, when the
descendant of e that reads it is computed. Those not in fast memory now are loaded in between. Disjoint sets
have different loads.""",
)

INTERVALS = Lemma(
    "intervals of chains",
    """\
Let l be a line of a chain, e its first and e' its last vertex, and X(l) vertices that are ancestors of e and
are read by later vertices of the line. Between e and e' at least |X(l)| - (S - 1) loads of X(l) take place,
none of them the first load of an input. Let X(l) be read through r references, and for each reference let any
two lines that read one vertex through it have disjoint intervals of time. Then
  loads  >=  (1/r) sum over l of max(0, |X(l)| - S + 1).""",
    """\
When e has just been computed at most S - 1 other values are in fast memory; every vertex of X(l) exists and is
read by a vertex of the line, at e' or before. The intervals of two lines are disjoint if the last vertex of one
is an ancestor of the first vertex of the other. One load is then counted at most once for each reference.""",
)

PHASES = Lemma(
    "phases",
    """\
Let b be an ancestor of b'. Let n vertex-disjoint paths, not through b, begin at vertices that are ancestors of
b or inputs that b or an ancestor of b reads, and end at vertices that are read by descendants of b which are b'
or ancestors of b'. Then at least n - (S - 1) loads of path vertices take place after b and until b', none of
them the first load of an input. Over intervals of which, of any two that share a path vertex, one ends at the event
at which the other begins, or at an ancestor of it, these loads add up; over intervals from each event to the next but
one, half of them do, beside those of disjoint sets of vertices.""",
    """\
When b has just been computed, every path has a last vertex that exists. Its reader (the next vertex of the
path, or the descendant of b named) has not been computed, and is computed until b'. So the n values, all
different, have to be in fast memory after b and until b'; at most S - 1 of them are there now. The first vertex
of a path was computed or loaded before b. An interval that ends at the event at which another one begins, or before
it, has no moment in common with it; a moment is in two intervals at most that lead from each event to the next but
one. Different vertices have different loads.""",
)

MOMENTS = Lemma(
    "moments",
    """\
Let B and B' be sets of computed vertices, and X vertices not in B, each an ancestor of a vertex of B and read by a
descendant of all vertices of B that is in B' or an ancestor of a vertex of B'. Then at least |X| - (S - 1) loads of X
take place after the last vertex of B is computed and until the last one of B' is, none of them the first load of an
input. Over intervals of which, of any two that share a vertex of X, one ends no later than the other begins (all of its
B' are in the other one's B or ancestors of it), these loads add up; over intervals of which a moment is in two at most
half of them do, beside those of disjoint sets of vertices.""",
    """\
When the last vertex of B has just been computed, it is in fast memory, and S - 1 others at most are. Every vertex
of X has been computed or loaded before, for its descendant in B. Its reader has not been computed, as it comes after
all of B, and is computed until all of B' is. So each vertex of X has to be in fast memory after this moment and until
then, and those that are not there now, at least |X| - (S - 1), are loaded. Different vertices have different loads,
and intervals of which one ends before the other begins have no moment in common.""",
)

LAYERS = Lemma(
    "layers",
    """\
Let every vertex of layer t be an ancestor of every vertex of layer t + 1, and let n vertex-disjoint paths lead
from vertices of layer t to vertices of layer t + 1. Then at least n - (S - 1) loads of path vertices (the last
one of each path left out) take place after the moment before the first vertex of layer t + 1 is computed. If
paths of different layers share no vertex but their ends, these loads add up.""",
    """\
At that moment all of layer t has been computed and nothing of layer t + 1. Fast memory has room for the new
vertex, so it holds at most S - 1 values. Every path has a last computed vertex whose successor on the path is
still to be computed, so the value is needed in fast memory now or later: n different values.""",
)

ALTERNATING = Lemma(
    "alternating layers",
    """\
Of every layer let n chains be given, all of different vertices, no inputs: a path from y by way of z and y' to an
end e, every vertex read by the next one, and another path from w to the same z. The layer consists of the ends.
Let every end of a layer but the last be z of a chain of the next one, in which the path from y to z is that from y'
to the end, and let every z of a layer but the first be such an end. Let every y and w of a layer be ancestors of
all its ends. Then at least (n - S + 1) loads of vertices of chains without their ends take place for every layer,
all together.""",
    """\
Let M be the moment at which the first end of a layer is computed. In every layer but the first it is computed
after its z, an end of the layer before, so these moments have the order of the layers. At M all y and w of the
layer have been computed and none of its ends. A chain is open if its z has not been computed. Then the last
computed vertices from y and from w on have readers before z, or z itself, that are still to be computed. Otherwise
the last computed vertex from z on has. At the next moment M' (of the last layer, at the end of the play) all y'
have been computed, as they are y of the next layer. So between M and M' both values of all open chains are read,
those of the others that are before y', and those from y' on unless the end is missing at M'; then it is z of an
open chain of the next layer. With m open chains at M and m' at M' (0 at the end) these are n + m - m' values or
more that exist at M. At M fast memory holds the end that is computed and S - 1 other values at most, so n + m - m'
- (S - 1) of them are loaded between M and M'. Summed over the layers all m and m' but the first m cancel.""",
)

CROSSING = Lemma(
    "crossing of two scans",
    """\
Let F and B be two chains over the same n places of a line, F in their order, B in the opposite one: F(x) is an
ancestor of F(y), and B(y) one of B(x), if x comes before y. Let a later vertex read F(x) and B(x) for every x.
Let U be values that both scans read, each directly or as a copy of it, such that at any moment at which the
scans have met all but at most m values of U have been read by a computed vertex of the scans and will be read
by one not computed yet. Then at least n + |U| - m - S loads of F, B, U and copies follow, none of them the
first load of an input.""",
    """\
Wait until for the first time every place x has F(x) or B(x). Then no x has both: the vertex computed last
closed the only gap, F has been computed on a beginning of the line and B exactly on the rest. So at every place
one value waits for the vertex that joins the two: n values. All but m of U exist and will be read again,
themselves or as copies. At most S of these n + |U| - m different values are in fast memory now; the others are
loaded.""",
)
