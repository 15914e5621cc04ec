"""The lemmas that printed proofs rest on: each is stated and proven here once, in words of the model.

Those on what is in fast memory at an event, or between two, are in ``moments_of_play``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Lemma:
    """A statement that several arguments use, with its proof."""

    name: str
    statement: str
    proof: str

    def document(self) -> dict[str, Any]:
        """Return the lemma as JSON."""
        return {"name": self.name, "statement": self.statement, "proof": self.proof}

    def text(self) -> str:
        """Return the lemma for people."""
        lines = [f"Lemma ({self.name}).", *self.statement.splitlines(), "Proof.", *self.proof.splitlines()]
        return "\n  ".join(lines)


SEGMENTS = Lemma(
    "segments",
    """\
Let D be instances, L vertices (the may-spill set) and X vertices (the sources) that contain all inputs of L. An
event is: a load of a vertex of L; the computation of a vertex of X that is no input; and, for a vertex of X
that is not in L, the computation of the one instance named for it in its place. Let U(S + T) grow with its
argument, and let at most U(S + r) instances of D be computed in every stretch of a play that has r <= T events,
and at most U(r) in one of r <= S + T events if fast memory is empty when it begins. Then, with U = U(S + T),
  loads of L beyond the first load of each input of L  >=  T floor(|D| / U) - |X|, and
  loads of L beyond the first load of each input of L  >=  S + T (ceil(|D| / U) - 1) - |X|  if |D| > U.""",
    """\
Cut the play before its events T + 1, 2T + 1, ...: all segments but the last have T events, the last at most T,
and the first begins with an empty memory, so it computes fewer than U instances (or D is empty). Hence |D| < U
times the number of segments, there are at least floor(|D| / U) + 1 segments, and at least T floor(|D| / U)
events. Or let the first segment have S + T events, if there are so many: as it begins with an empty memory, it
too computes U instances at most. If |D| > U there are at least ceil(|D| / U) >= 2 segments, of which only the
last one may have fewer events, so at least S + T (ceil(|D| / U) - 1) events. Of these at most |X| are no loads
of L beyond a first one: each vertex of X has one, its first load if it is an input of L, else its computation
or that of the instance in its place.""",
)

CUTS = Lemma(
    "cuts",
    """\
Let every p in D lie at the end of one path of the family phi, a broadcast or a chain, whose vertices are
functions of p (its levels), and let every vertex of the family be on paths of one class of phi only, where p and
p' are in one class if they differ by a vector of the kernel of phi. The last level of a broadcast is a source. A
chain leads from p to p - delta, or, in a sum over several loops, to an instance before p that adds to the same
element; or out of D to a source, and a line is one class. Let P be the instances that a stretch with r events
computes. Then at least |phi(P)|, the number of classes, vertices of the family were in fast memory when the stretch
began, or stand for an event of it: at most S + r. Families with disjoint vertices have disjoint ones.""",
    """\
Take p in P (of a chain: the first p of P on its line) and go back along its path. The first vertex that the
stretch does not compute, but whose reader it computes, was in memory at the beginning or is loaded. If there is
none, the stretch computes the source at the end of the path (or, where an instance is named in its place, the
stretch computes that instance), which is an event. The vertex found is on paths of one class only, so different
classes have different ones.""",
)

OWN_VERTICES = Lemma(
    "own vertices",
    """\
Call a vertex on a level before the last one of a path own if it is on paths of one instance of D only and is no
source. Let loads of own vertices be events, and let P be the instances that a stretch with r events computes.
Then P has a part B, |B| <= S + r, such that the lemma on cuts holds for P - B in place of P, with own vertices
left out of the families: of these, families with disjoint vertices have disjoint cuts, at most S + r in all.
If instances of D follow one another on every line, p after p - delta, and the chain leads from each to the one
before it, there is even a cut for every run: a longest sequence p, p + delta, p + 2 delta, ... in P - B.
Where D is of m statements, an own vertex may be on paths of one instance of each of them, if it is on no chain; then
|B| <= m (S + r), and all but the sentence on runs holds.""",
    """\
Let B be the instances of P of which an own vertex is a cut on some path. Each such vertex was in memory at the
beginning or is loaded, and is of one instance; let there be x of them, |B| <= x <= S + r. Every cut of p in P - B
is another vertex, one of at most S + r - x, but for chains: let p be the first of P - B on its line, and let the
instance before it be in B. Then an own vertex of that instance, one of the x, stands for the line. Of families
with disjoint vertices at most one has that instance among them, and there it is on one line: different lines have
different ones. Together these are at most (S + r - x) + x. Let p be the first of a run. If p - delta is not in D, p
is the first on its line. If it is in D and not computed, it is the cut, as own vertices of p are none. Else it is
in B, and an own vertex of it stands for the run. Different runs have different ones.
Of m statements |B| <= m x. A line of P - B is one of P. The first instance of P on it has a cut, which is on a chain
and so no own vertex, as cuts of P - B on other paths are none: at most S + r - x in all.""",
)

BRASCAMP_LIEB = Lemma(
    "discrete Brascamp-Lieb inequality; Christ, Demmel, Knight, Scanlon and Yelick 2013, Valdimarsson 2010",
    """\
Let phi_q be linear maps on Z^d and s_q in [0, 1]. If  rank H <= sum over q of s_q rank phi_q(H)  for every H in
the lattice that the kernels generate by sums and intersections, and for the whole space, then every finite P
has  |P| <= product over q of |phi_q(P)|^(s_q).  (For d coordinate projections and s = 1/(d - 1): Loomis and
Whitney.) If moreover  sum over q of w_q |phi_q(P)| <= K  with w_q > 0 and sigma = sum s_q, then
  |P| <= (K / sigma)^sigma product of (s_q / w_q)^(s_q).""",
    """\
The first inequality is the theorem cited. The second is its largest value under the weighted sum: the logarithm
of the product is concave, and Lagrange's condition s_q / |phi_q| = m w_q gives |phi_q| = s_q K / (sigma w_q).""",
)

WINDOWS = Lemma(
    "windows",
    """\
Let phi be a linear map on Z^d with the kernel M, D a finite set in which a coordinate x takes n values and its last is
W - 1 above its first, and g a divisor of x in all integer vectors of M. Then the points of D in one class of phi have
at most min(n, floor((W - 1) / g) + 1) values of x. So they are in at most as many classes of the map whose kernel are
the vectors of M with x = 0; for several coordinates, in at most the product of these numbers.""",
    """\
Two points of a class differ by an integer vector of M, so their values of x by a multiple of g, and by W - 1 at most.
Those in which the values of all these coordinates agree differ by a vector of M that is 0 there: they are in one class
of the finer map.""",
)

FINISHED_SUMS = Lemma(
    "finished sums",
    """\
As in the lemma on cuts, let D have families phi_0, ..., phi_m with exponents s_q of sum sigma; but every path of
phi_0 ends at the last of the L terms of a sum, one sum for each class. A sum has a term at each of L positions,
each an operand of the next one. Let terms read along families psi_1, ..., psi_k, and let terms of different
positions be of different classes. A vertex on the paths of one term only may be the sum's, and none of psi. Of w
terms at one position let w <= product of |psi_i|^(t_i), tau = sum of t_i >= 1. Let the vertices of the phi, those
of phi_0 with all that its sums have, and those of the psi be disjoint, and each on paths of one class. The ends of
phi_0 are no sources. If a stretch with r events computes the instances P of D, K = S + r, then |P| is at most the
larger one of (K / sigma)^sigma product of s_q^(s_q) and, with e = tau s_0, f = sigma - s_0 and c = product of (t_i
/ tau)^(t_i),
  c^(s_0) (e / L)^e (K / (e + f))^(e + f) product over q > 0 of s_q^(s_q).
Where own vertices of instances of D are left out of the phi, by the lemma on them, |P| is at most K more.""",
    """\
For a class of phi_0 go back along its path, then from term to term and to what the sum has besides. Either a vertex
is found that the stretch does not compute, but whose reader it computes: it was in memory at the beginning or is
loaded. Let x classes have one. Or all L terms of the sum are computed, and what is theirs alone. Let there be w
sums of this kind, and let y be the number of classes that their terms have in all psi. Terms of different positions
have different classes, so at one position there are at most y / L, and w <= c (y / L)^tau. With v classes of the
other phi, v + x + y <= S + r by the lemma on cuts, and |P| <= (x + w)^(s_0) product of s_q^(s_q) (v / f)^f over q >
0. For given x + y, the right side of x + w <= x + c (y / L)^tau is convex in y, so largest at y = 0 or x = 0. The
two numbers are the largest values in these two cases.""",
)

WAITING_SUMS = Lemma(
    "sums that wait",
    """\
Let sums be given in rows, each of L terms; a term but the last one of its sum is read by another one, the last one by
the first of some values of this sum alone, if any, each by the next, and the last of these (or the last term) by a
reader that is a descendant of all sums of its row. Let every term have a path back to a source, and let no two terms of
a row have a vertex of these paths in common, nor any path one with a sum. Users may be given, M = 0 without them: then
the reader belongs to its sum too, with further values of the sum alone, each of which reads the one before, and M users
of the sum read the last of all. Let every user have a path back to a source, no two of a row a vertex of these in
common, and none of them one with a path of a term or a sum. Then the loads of vertices of sums and of paths, beyond the
first load of each input, are at least  sums - rows S / (L + M) - sources.""",
    """\
The moment of a row is that before the first of its readers is computed. All sums of the row are complete then, and what
follows from its readers is not computed yet. Take the rows by their moments in groups of L + M, the last one of what is
left. The first group begins with the play, any other one at the moment of its first row, and a group ends where the
next one begins, the last one with the play. An event is a load of a vertex of a path or the computation of a source
that is no input; let group k have t_k of them. A sum is kept if no vertex of it is ever loaded. Let a sum of group k be
kept. (a) If a vertex of it was computed before the group began, so was one of which the next one of the sum was not, as
its reader was not: this one is in fast memory at the beginning. (b) If one of its vertices or users is computed after
the group ends, then a vertex that this one or one before it reads has been computed by then: it is in fast memory at
the end. (c) Else the group computes all terms and users. Of the path of each there is a vertex that the group does not
compute, but whose reader it computes, which was in fast memory when the group began or is loaded; or the group computes
its source. These L + M vertices differ for all such sums of a row. Let q_k be the number of words at the beginning of
group k that are vertices of its sums under (a) and of those of the group before under (b), which are of other rows;
q_1 = 0. With S - q_k words for vertices of paths (none for k = 1, when fast memory is empty) a row has at most
(S - q_k + t_k) / (L + M) sums under (c), and the group, of L + M rows at most, S - q_k + t_k of them, t_1 if it is the
first one. Those under (a) and (b) are the sum of all q_k at most. So at most S for each group but the first one and one
for each event are kept in all; there are less than rows / (L + M) groups but the first one. Every other sum has a load
of a vertex of its own, which is on no path. Of the events at most one for each source is no load beyond the first one
of an input.""",
)

USED_SUMS = Lemma(
    "sums that are used on lines",
    """\
Let every p of D be on a line of a family of chains, and need the last term of a sum, by a path whose vertices belong
to this sum alone, as its terms do. A sum has L terms, each an operand of the next one; terms read along two families,
and a sum has a row and a place: rows tell the classes of the first family for one position, places those of the
second, and terms of different positions are of different classes. Vertices on the paths of one term only may be its
sum's. All p of a line need sums of one place, a place has
at most M lines, and there is at most one p of a row on a line. Let vertices of chains, of sums with these paths, and
of the two families be disjoint. If a stretch with r events computes the instances P of D, K = S + r, then |P| is at
most the larger one of K^2 / (4 L (1 + L / M)) and M K. Where own vertices of D are left out, it is at most K more.""",
    """\
Of every sum that P needs go back from p along the path, the terms, and what is theirs. Either a vertex is found
that the stretch does not compute, but whose reader it computes: it was in fast memory when the stretch began or is
loaded. Let x sums have one; at most M instances need one of them, as these are on different lines of one place. Or
all L terms are computed. Let such sums have I rows and b places: by the lemma on cuts L I and L b vertices of the
two families were in fast memory then or stand for events. Let t lines of these places have instances of P that need
such sums: t vertices of chains, and t <= M b. So L I + t (1 + L / M) <= K - x, and the instances, at most one for a
row and a line, are at most I t <= (K - x)^2 / (4 L (1 + L / M)). With M x added this is convex in x, so largest at
x = 0 or x = K.""",
)

SYMMETRIC = Lemma(
    "symmetric Loomis-Whitney",
    """\
Let g pairs of broadcasts a, b each read one set of vertices, W the sum of the two kernels (the same for all
pairs), and call the classes of p modulo W slices. Assume for every pair: an instance is determined by the
unordered pair {a(p), b(p)} of different vertices; vertices of different slices differ. Assume of the chain phi
that it is injective on every slice, and that vertices of phi and of different pairs are disjoint. If P has c
classes of phi, and v vertices of the pairs, in all c + v <= K, then
  |P| <= sqrt(c / 2) (K - c) / g <= 2 (K / 3)^(3/2) / (sqrt(2) g).""",
    """\
In slice k let the pair number i have v_ik vertices: |P_k| <= v_ik (v_ik - 1) / 2 <= v_ik^2 / 2, and |P_k| <= c.
So |P_k| <= sqrt(c / 2) times the least v_ik, at most sqrt(c / 2) times their mean over i. Summed over k this is
sqrt(c / 2) v / g. The largest value of sqrt(c) (K - c) is at c = K / 3.""",
)

MIRRORED = Lemma(
    "one triangle read from both sides",
    """\
Let two statements have instances (o, b, j), the first with o < b, the second with o > b. Chains run along b in
single steps, one per (o, j) and statement; a broadcast has one vertex per (b, j); another one has one vertex
per unordered pair {o, b}, which serves (o, b, j) of one statement and (b, o, j) of the other, for every j. The
vertices of the three families are disjoint. Let w >= (9/4) sqrt(K/3), and give instances with |o - b| >= w the
weight 1 and all others sqrt(3)/2. Let P have at most K runs (longest sequences of consecutive instances on one
chain) and vertices of the two broadcasts in all. Then its weight is at most (K/3)^(3/2).
Where domains are convex, all that a stretch computes of a chain is one run, and the lemma on cuts counts it.""",
    """\
For one j let B be the places b that occur, |B| = b; C and t the runs of the two statements, c = |C| + |t|; x and
y the near (weight sqrt(3)/2) and the far instances, e = x + y; s and f the near and the far pairs {o, b} that
both statements use; a the vertices of the last broadcast in all. Then a >= e - s - f, s <= x/2, f <= y/2 and s + f
<= |C| |t| <= c^2/4.
(1) b c - e >= s + 2 f if b <= w. A run uses consecutive places, so it stays in one piece of B (a maximal set of
consecutive places). b c - e counts the places of B that runs do not use. Let C_pq be the number of different o in
piece p that have a run of C in piece q, t_qp likewise of t. If p and q differ, these runs of C miss all of piece p,
at least C_pq places each, those of t all of piece q, at least t_qp; together C_pq^2 + t_qp^2 >= 2 C_pq t_qp,
twice the pairs that join the two pieces. A run of C in the piece of its o misses the places up to o (it uses b > o),
one of t those from o on: such runs of C_pp different o miss at least 1 + 2 + ... + C_pp, so with t_pp at least
(C_pp^2 + t_pp^2)/2 >= C_pp t_pp, the pairs inside the piece. If b <= w, far pairs join different pieces.
(2) b <= w. By (1), a b c >= (e - s - f)(e + s + 2f). This is concave in s and in f, so least at a corner of 0
<= s <= x/2, 0 <= f <= y/2; the four values (x + y)^2, 3x^2/4 + 2xy + y^2, x^2 + 5xy/2 + y^2, 3x^2/4 + 7xy/4 +
y^2 are all at least (sqrt(3) x/2 + y)^2. So the weight for this j is at most sqrt(a b c) <= sqrt(a)(b + c)/2.
(3) b > w. The weight is at most e, and e <= 2a, e <= b c, e <= a + c^2/4 <= a + sqrt(a) c/2 if c <= 2 sqrt(a).
If c >= 2 sqrt(a), e/(b + c) <= 2a/(w + 2 sqrt(a)). Else min(b c, a + sqrt(a) c/2)/(b + c) is, for fixed c,
largest where the two meet or at b = w, and then over c largest at c = 2 sqrt(a) or where they meet at b = w:
e/(b + c) is at most the larger one of 2a/(w + 2 sqrt(a)) and a w/(w^2 - w sqrt(a)/2 + a).
(4) Summed over j, b + c is at most K - a, as runs and the first broadcast belong to one j. In units with K =
3, u = sqrt(a): the three quotients times 3 - u^2 are at most 1. Half of u (3 - u^2) is largest at u = 1. Both
others fall as w grows, so w = 9/4: to show are 2u^2 (3 - u^2) <= 9/4 + 2u and (9/4) u^2 (3 - u^2) <= 81/16 -
(9/8) u + u^2 for 0 <= u <= sqrt(3). The difference p = 2u^4 - 6u^2 + 2u + 9/4 is 9/4 at 0 and positive at
sqrt(3); where p' = 0, 4u^3 = 6u - 1 and p = 3(3/4 + u/2 - u^2), positive for u < 1.151, and p' > 0 beyond. 16
times the other one is 36u^4 - 92u^2 - 18u + 81, positive at 0 and sqrt(3); where its derivative is 0, 36u^4 =
46u^2 + 9u/2, and it is 81 - 27u/2 - 46u^2, positive for u < 1.188, and it grows beyond.""",
)

COUPLED = Lemma(
    "fields coupled at their place",
    """\
Let a level hold places of two fields, and let each field read the vertices x + N of its own and the other field's
vertex at x, one level below. If N has (1) with c, then both fields together have it with c + 1 for n = 1 (c a
whole number), and for n = 2 with 4, if c >= 4, or if c >= 2 sqrt(2) and N is a box or the cross; they then read s
+ 4 sqrt(s - 2) + 4 vertices or more for s >= 2 places.""",
    """\
Let a >= b be the places of the two fields in a set, s = a + b. With f(a) the places that N adds to a, at least, f(0)
= 0, they read a + f(a) places of one field, and of the other one max(b + f(b), a): f(a) + max(f(b), a - b) more than
s.
n = 1: that is c + a >= c + 1 if b = 0, else 2 c or more.
n = 2: f(a) = 2 sqrt(2a - 1) + 2 will do: the cross has it (lemma on balanced rows around balls), a box has 2
sqrt(2) sqrt(a) + 2 or more, and 4 sqrt(a) >= f(a), as 8 (sqrt(a) - 1)^2 >= 0. Let t = sqrt(2a - 1), u = sqrt(2b -
1). If b >= 1 and a - b <= f(b), t <= u + 2, so (t - u)^2 <= 4 and (t + u)^2 >= 8 (s - 2), f(a) + f(b) >= 4 sqrt(s
- 2) + 4. If a - b > f(b), t > u + 2, f(a) + a - b = 2t + 2 + (t^2 - u^2)/2 falls in u and s grows, so u = t - 2
is the worst case, which is the same. If b = 0, with w = sqrt(2a - 4), it is 2 sqrt(w^2 + 3) + w^2/2 + 4 >= 2
sqrt(2) w + 4. For s >= 3, 4 sqrt(s - 2) + 4 >= 4 sqrt(s); for one place 5 are added, for two 7 or more.""",
)

ROWS = Lemma(
    "rows of a stencil",
    """\
Let instances lie in levels, and let x of level l read the vertices x + N of level l - 1. Let n be the dimension
of a level and c such that every finite non-empty set A of places has  |A + N| >= |A| + c |A|^((n-1)/n).  (1)
For a finite part P let In(P) be the number of vertices outside of P that P reads. If In(P) <= K, then
  |P| <= n / ((n + 1) c) K^((n+1)/n).""",
    """\
Let q_1, q_2, ... be the sizes of the rows of P, from the first on. Row l reads at least q_l + c q_l^((n-1)/n)
vertices of the level below, at most q_(l-1) of them in P. Let R(p, k) be the most instances in rows above a row
of size p that k in-vertices pay for, and F(z) = n / ((n + 1) c) z^((n+1)/n). Claim: R(p, k) <= F(p + k). By
induction on the number of rows: let the next row have q > 0 instances and leave r of the budget, so that p + k
>= q + c q^((n-1)/n) + r. F is convex and F' = z^(1/n) / c, hence F(p + k) - F(q + r) >= c q^((n-1)/n) F'(q) =
q, and R(p, k) <= q + F(q + r) <= F(p + k). With p = 0, k = K this is the lemma.""",
)

OWN_ROWS = Lemma(
    "own vertices below rows",
    """\
Let instances of levels read vertices of the level below by way of own vertices too: temporaries that are on the way
of one instance each, and neither sources nor instances. Let loads of own vertices be events, and let P be the
instances that a stretch with r events computes, K = S + r. Then P has a part B with |B| <= K and In(P - B) <= K.""",
    """\
Let B be the instances of P that need an own vertex which the stretch does not compute. It was in memory at the
beginning or is loaded; let there be x of these. They are of one instance each, so |B| <= x <= K. All own vertices
of p in P - B are computed in the stretch. So what p reads through them, as what it reads itself, is in P, or was in
memory at the beginning, or is loaded, or is a source that the stretch computes, an event. Hence P - B reads at most
K - x vertices outside of P, and at most |B| <= x in B.""",
)

SHARED_ROWS = Lemma(
    "temporaries between rows",
    """\
Let instances of levels read neighbours N in the level below by way of temporaries too, which are no instances and
no sources. Of the neighbours that are reached by way of one temporary, let each of the instances that read it
read all but one without temporaries. Let loads of temporaries be events, and let P be the instances that a
stretch with r events computes. Then In(P), the number of vertices outside of P that are neighbours of P, is at
most S + r.""",
    """\
Let v be a neighbour of P and not in P. If an instance of P reads v itself, or on some way to v all temporaries are
computed in the stretch, v was in memory at the beginning, or is loaded, or is a source that the stretch computes,
an event. Else take a way from p in P to v and on it the first temporary, from p on, that the stretch does not
compute: it was in memory at the beginning or is loaded, and stands for v. All neighbours reached by way of it but
one are read by p itself, so v is that one, and the temporary stands for no other vertex. Different v have different
vertices, at most S + r.""",
)

BALANCED = Lemma(
    "balanced rows",
    """\
As in the lemma on rows, and let Out(P) be the number of vertices of P that do not have all of their |N|
successors in P. Let e = 1 if n = 1 and e = 1 + 1/n else, rho = (K / (2^(n+1) - 1))^(1/n), lambda = rho / c. If
In(P) <= K, then   |P| + lambda (In(P) - Out(P)) <= B,   B = 2n / ((n + 1) c) rho K + e K.""",
    """\
Let I = In(P), O = Out(P), and for a row of q instances r = q^(1/n), d = c r^(n-1), so q = r d / c; k = max(0, 1
- c/r) if n > 1, and k = min(1, r/c) if n = 1. Rows are numbered l = 1, 2, ..., empty ones left out.
(i) q_l + (sum of d_j over j <= l) <= I: row j has at least q_j + d_j - q_(j-1) in-vertices; add for j <= l.
(ii) q_l + (sum of k_j d_j over j > l) <= O: let A vertices of row j - 1 have all successors in row j. By (1),
for -N, A + c A^((n-1)/n) <= q_j (or A = 0), hence q_j - A >= k_j d_j; so row j - 1 has at least q_(j-1) - q_j +
k_j d_j out-vertices; add for j > l. [With A = z^n, n > 1: c z^(n-1) >= c r^n / (r + c) >= k d.]
Let m_0 = O - (sum of all k_j d_j), which is at least 0 by (ii). Go through the rows; while row l is passed let
X fall from I - (d_1 + ... + d_(l-1)) by d_l, and let m grow from m_0 + (k_1 d_1 + ...) by k_l d_l, evenly. By
(i) X >= q_l all the time, and by (ii) m >= q_l at the end of row l. As O = m_0 + (sum of k_j d_j),
  |P| + lambda (I - O) = (sum over rows of (r - rho k) d) / c + lambda (I - m_0).                          (2)
Define W(m, X) with c W = integral of v^(1/n) - rho over v from rho^n to X, if m >= X >= rho^n;
  c W = max(0, the integrals of v^(1/n) - rho from m to R^n and from rho^n to R^n added), if m < X, R^n =
  (m + X)/2 and R >= rho; and W = 0 else. W is continuous. Let chi = X^(1/n), x = m^(1/n), u = x/r. Claim:
  g := r - rho k + c k W_m - c W_X <= e c.                                                                 (3)
First two facts. (a) r - k x <= c for r <= x: for r <= c because it is at most r (n = 1: r - r x/c <= r); beyond
c it is r - x + c x/r (n = 1: r - x), convex in r, and c at r = c and at most c at r = x. (b) r - k x <= e c for
r > x: as m reaches q_l within this row, r^n - x^n <= k d <= c r^(n-1), so r - x <= c / (1 + u + ... + u^(n-1));
n = 1: r - k x <= c, as r - x <= c if k = 1 and r <= c else. n > 1: r - k x <= r - x + c u, and 1/(1 + u + ... +
u^(n-1)) + u <= 1 + 1/n, since with s = 1 + u + ... + u^(n-1) one has n - s = (1 - u)(sum over i < n of 1 + ...
+ u^(i-1)) <= (1 - u) n s.
Case m >= X >= rho^n: g = r - chi + rho (1 - k), with r <= chi. For r <= c it is at most r <= c (n = 1: rho r/c
is taken off, no less holds); beyond c it is r - chi + rho c/r (n = 1: r - chi), convex in r, at most c at both
ends c and chi. Case m >= X, X < rho^n: g = r - rho k with r <= chi < rho: (a) with rho for x.
Case W > 0, m < X: c W_m = R - x, c W_X = R - rho, so g = r - k x - (1 - k)(R - rho) <= r - k x: (a) or (b).
Case W = 0, m < X: then x <= rho, and g = r - rho k <= r - k x: (a) or (b). This proves (3).
Along a row dm = k dt, dX = -dt, and t runs over a length d. So (3), integrated, bounds the sum in (2): it is at
most W(m_0, I) - 0 + e (sum of d) <= W(m_0, I) + e I, by (i). It remains to maximise W(m, I) + lambda (I - m)
over m >= 0 and I <= K. It grows with I: c times its derivative is R or more than 0. At I = K: where W = 0 it is
at most lambda K; for m >= K it falls with m; else c times its derivative in m is R - x - rho, 0 at m = rho^n,
where R^n = (rho^n + K)/2 = (2 rho)^n, and the value there is 2n / ((n + 1) c) rho K, which is lambda K or more.""",
)

OWN_BALANCED = Lemma(
    "own vertices of balanced rows",
    """\
Let instances D of levels read vertices of the level below by way of own vertices too, as in the lemma on own vertices
below rows, each of them read once. Let F be the vertices of D that have a successor outside of D, P_1, ..., P_m the
parts of D that the segments of a play compute, K as before. With B, rho and lambda of the lemma on balanced rows
  |D| + lambda (|sources| - |F|) <= m (B + K).""",
    """\
What is used in segment i, for an instance of D or for an own vertex, and is a source or not computed in it, is an
in-item of i; let I_i be their number: each was in memory at the beginning, or is loaded, or is a source that the
segment computes, so I_i <= K. What segment i computes of D and of own vertices and what is used in a later one for
these is an out-item of i. It is an in-item of another segment, every source is an in-item of some and an out-item of
none, and a vertex is computed once. So there are at most (sum of I_i) - |sources| out-items in all.
In: let A_i be the instances of P_i of which segment i does not compute all own vertices. The last of these on a way to
the instance is an in-item, and is of this instance alone. So if x in-items are own vertices, |A_i| <= x. What P_i - A_i
reads outside of itself is in A_i, or is an in-item and no own vertex: In(P_i - A_i) <= I_i - x + |A_i| <= I_i <= K.
Out: let C_i be the instances of D that a later segment computes and of which an own vertex is an out-item of i. Let v
in P_i have a successor w in D that is not in P_i or C_i. On the way from v to w the last vertex that segment i computes
is used later, so it is an out-item; were it an own vertex, w would be in C_i; so it is v. An instance in C_i has an own
vertex that is an out-item, and is of this instance alone. So O_i := Out(P_i + C_i), but for the vertices of P_i in F,
is at most the number of out-items of i, and sum of O_i <= (sum of I_i) - |sources| + |F|.
The proof of the lemma on balanced rows uses no more than (i), (ii) and I <= K. With q_l, d_l, k_l those of P_i - A_i,
(i) holds for I_i, as I_i is In(P_i - A_i) or more; (ii) holds for the rows of P_i + C_i and O_i, and the rows of P_i -
A_i are parts of these, and q and k d grow with q: so (ii) holds for P_i - A_i and O_i. Hence |P_i - A_i| + lambda (I_i
- O_i) <= B; with |A_i| <= K, added over i, this is what was to be shown.""",
)

HOURGLASS = Lemma(
    "hourglass",
    """\
Let D be instances at steps, columns and places: a step has the same places in all its columns, W_t of them in step
t, at most W; a column that occurs in two steps occurs in all steps between; and every instance is an ancestor of all
instances of its column one step later. Let W_t <= W_(t+1) + d and W_(t+1) <= W_t + d' for all steps t that have a
next one, and delta = d + d'. Let phi0 be the projection onto place and column, phi1 the one onto step and place. If
a stretch of a play computes the instances P of D and |phi0(P)| + |phi1(P)| <= K, and an instance of step t weighs
W_t, then P weighs at most the larger one of (K + delta)^2 / 4 and 2 W K.""",
    """\
Let a column of P occur in steps from s to t, with w classes of phi0, and let step u have v_u classes of phi1; so in
step u the column has at most w and at most v_u instances. An instance of a step between s and t is a descendant of
one of P in step s and an ancestor of one in step t, step by step, so it is computed in between: all places of such a
step u are in P, hence W_u = v_u <= w, and the column weighs W_u v_u <= w v_u there. If there is such a step, W_s <=
w + d, as the next step is one of them, and W_t <= w + d'. So the column weighs at most w v_s + d w in step s and
w v_t + d' w in step t. Together these are at most w (E + delta), with E the sum of all v_u, |phi1(P)|. If there is no
such step, the column occurs in two steps at most and weighs 2 W w at most. The sum of w over the columns is c =
|phi0(P)|, so P weighs at most c times the larger one of E + delta <= K - c + delta and 2 W; c (K - c + delta) is
largest at c = (K + delta) / 2, and c <= K.""",
)

CONES = Lemma(
    "double cones",
    """\
Let instances be at places z of Z^n and steps t without gaps, (t, z) an ancestor of (t + 1, z). Let N be a finite
set of vectors, 0 among them, such that (1) holds, and rho a number such that for every v in N there are a + b <=
rho for which (t, z) is an ancestor of (t + a, z + v) and (t, z + v) one of (t + b, z). Let D be the instances of
some places at all steps, the border those at the other places that are neighbours of these, for which the same
holds. Let fields be given with periods k: from every instance of D a walk back from operand to operand leads over
vertices that belong to its place and to its step modulo k only, to a source. Different fields have no vertex in
common. Let g be the sum of the periods, and omega >= g / rho^(n/(n+1)). An event is a load of a vertex of a field
and the computation of a source; the computation of an instance of the border counts for omega events. Let P be
the instances of D that a stretch with r events computes, and K = S + r, q = K/g. Then
  |P| <= rho (q + n / ((n + 1) c) q^((n+1)/n)),  and K more if a period is larger than 1.""",
    """\
Let A_k be the places of which P has k instances or more, B_k those of the border of which the stretch computes k
or more, e the instances of the border that it computes. The instances of a place follow on one another, so those
of P are consecutive. (a) Take the walk from an instance of P. The first vertex that the stretch does not compute,
but whose reader it computes, was in memory at the beginning or is loaded; if there is none, the source is computed,
an event. Instances of different places, or of steps that differ modulo k, have different such vertices. So
|A_1| + ... + |A_k| of them belong to a field of period k, and the sum of these numbers over the fields is at most
K - omega e. If kappa is the longest period, g |A_kappa| <= K - omega e and |A_1| + ... + |A_kappa| <= K.
(b) Let k > rho, z in A_k and v in N. From the first (t, z) of P to the last (t', z) a path leads over (t + a, z +
v) and all steps of that place up to (t' - b, z + v). All of these are computed in between, so in the stretch: k - a
- b or more. Hence A_k + N lies in the union of A_(k - rho) and B_(k - rho), and |A_k| + c |A_k|^((n-1)/n) <=
|A_(k - rho)| + |B_(k - rho)|. For k = i, i + rho, i + 2 rho, ... these are rows as in the lemma on rows, A_i the
first of them, the numbers |B_k| in-vertices: by its claim the sum of |A_k| over these k is at most |A_i| + F(|A_i| +
beta_i), F(x) = n / ((n + 1) c) x^((n+1)/n), beta_i the sum of |B_k|. Add for i = kappa, ..., kappa + rho - 1: with
a = |A_kappa| and since F is convex and the beta_i add up to e at most, |P| <= |A_1| + ... + |A_(kappa - 1)| + rho a
+ (rho - 1) F(a) + F(a + e). For g a + omega e <= K the last three terms are convex in (a, e), so largest at a = q,
e = 0, where they are what is said, or at a = 0, where P has none but the K of (a). For a > 0 they are convex on the
line from one end to the other, and F(K / omega) <= rho F(q) at the other end.""",
)

BOXES = Lemma(
    "boxes",
    """\
In the lemmas on rows, on balanced rows and on double cones let all places lie in a box, and let it be demanded of the
neighbours in the box only that they are read, or that the paths to them and back exist. Let (1) hold inside of the box,
for N and -N, for all sets A such that A + N has at most M places in the box. Then the lemmas hold for K <= M, for K
<= g M in the one on double cones, with A + N in the box for A + N, successors in the box, and no border.""",
    """\
The proofs apply (1) to three kinds of sets. A row A of q places that reads |A + N| vertices: those are in the row below
or in-vertices of the row. As rows read no fewer vertices than they have, row by row, the row below has at most as many
places as there are in-vertices up to it, so |A + N| <= In(P) <= K. The vertices of a row with all successors in the
next one: A - N is within that row, of In(P) places at most. The places A_k of a double cone: A_k + N lies in A_(k -
rho), of at most K / g places if k - rho is no less than the longest period.""",
)

REASSOCIATED = Lemma(
    "reassociated sums",
    """\
A sum is a longest run of instances that add to one element, one after the other, of which only the last one's
value is read by anything else. In the reassociated game its terms are computed in any order, each of them a
partial sum of its own or one made out of another; two partial sums in fast memory may be added; all of them and
the value that the element had before make the result. A play of it with L loads gives plays with at most L
loads, in the same fast memory, of two graphs in which others read the result from a vertex of its own and
nobody reads the terms, which take no room:
(values) every sum has a vertex Z that all its terms read; Z and the result are computed from nothing;
(order) there are no sums, and the result is computed when all its terms have been. Here only what follows from
ancestors at one event is used; terms are none of the values that wait.""",
    """\
(values) Z is in fast memory while some partial sum is, in those stretches of time in which a term is computed:
computed in the first stretch, loaded in each later one. That takes no more room. A stretch that is not the last
one of its sum ends with all partial sums out of fast memory, and one of them holds a term t of the stretch; take
the first load after it of a value that holds t. Two stretches have different such loads: if that of the earlier
one held the later one's term too, the two had been added in fast memory after the earlier stretch, so a value
that holds t had been loaded before. Hence Z is loaded no more often than partial sums are. A sum of one term and
its result take the room of one value, one after the other.
(order) All values but partial sums are where they were. The only reader of a term is its result, so a term that
is an ancestor of an event and an operand of a descendant of it would make the result an ancestor of itself.""",
)

PLACES = Lemma(
    "places",
    """\
Give every vertex a place and a slice. Let copies be instances that read one vertex only, which has the same place and
slice. Let vertices of one slice that are no copies have different places, let no read lead from slice to slice, and
let every slice have the same places, and the same reads between them, those of copies left out. If any play of this
graph has at least q loads beyond the first ones of its inputs, and there are p slices, then every play of the program
has at least p q loads beyond the first ones of inputs.""",
    """\
Take a play of the program and one slice. Let a place be in fast memory while one of its vertices of this slice is: that
takes no more room. Where the play computes a vertex that is no copy, all it reads is in fast memory, so all places that
its place reads are. Where it computes a copy, the place is in fast memory already. A place comes into fast memory by
its computation or by a load of one of its vertices, the first time by the computation of the one that is no copy, or,
if that is an input, by its first load. So this is a play of the graph, every load of it is one of the program in this
slice, and first loads of inputs are first loads of inputs. Loads in different slices are different ones.""",
)
