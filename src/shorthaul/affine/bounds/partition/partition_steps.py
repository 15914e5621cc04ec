"""What a K-partition argument says: the sentences of its proof, what was checked and the chain of inequalities with its

numbers; and its certificate, relations, kernels, exponents and counts as data that a checker of its own verifies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

import sympy

from shorthaul.affine.bounds.partition.brascamp_lieb import constraining
from shorthaul.affine.bounds.partition.k_partition import Partition, in_order
from shorthaul.affine.bounds.partition.parts import as_union, sets_of, union_of, vertices_of
from shorthaul.affine.integer_sets.counting import rational
from shorthaul.affine.integer_sets.dependences import DataFlow
from shorthaul.affine.model import Program
from shorthaul.affine.proofs.lemmas import (
    BRASCAMP_LIEB,
    CUTS,
    MIRRORED,
    OWN_VERTICES,
    SEGMENTS,
    SYMMETRIC,
    WINDOWS,
    Lemma,
)
from shorthaul.affine.proofs.notation import set_text
from shorthaul.affine.proofs.proof import Projection
from shorthaul.affine.proofs.segments import value_text

#: What certificates without exponents hold in place of them.
_UNUSED: Final = {
    **dict.fromkeys(("shares", "exponents", "symmetry", "most_instances", "hourglass", "ends")),
    "mirrored": False,
}


def lemmas_of(argument: Partition) -> tuple[Lemma, ...]:
    """Return the lemmas that the argument rests on."""
    last = MIRRORED if argument.far else BRASCAMP_LIEB if argument.symmetry is None else SYMMETRIC
    own, windows = (OWN_VERTICES,) if argument.has_own else (), (WINDOWS,) if argument.has_windows else ()
    return (SEGMENTS, CUTS, *windows, *own, last)


def projections_of(argument: Partition, flow: DataFlow) -> tuple[Projection, ...]:
    """Return the families of paths as a proof shows them."""
    texts = {item.reference.tag: item.reference.text for item in flow.flows}
    result = []
    for family, space in enumerate(argument.kernels):
        kinds = [
            f"{path.kind()}, read as {' <- '.join(texts.get(tag, tag) for tag in path.references)}"
            for path in (part.paths[family] for part in argument.parts)
        ]
        levels = [item.paths[family].levels for item in argument.parts]
        relation = "; then ".join(
            "; ".join(set_text(level.intersect_domain(as_union(part.domain)), flow.program) for level, part in row)
            for row in (
                [(item[at], part) for item, part in zip(levels, argument.parts, strict=True) if at < len(item)]
                for at in range(max(map(len, levels)))
            )
        )
        result.append(
            Projection(
                f"phi{family}: {'; '.join(dict.fromkeys(kinds))}",
                relation,
                space,
                None if argument.symmetry or argument.far else rational(argument.exponents.s[family]),
                None if argument.symmetry or argument.far else argument.weights()[family],
            )
        )
    return tuple(result)


def steps_of(argument: Partition, flow: DataFlow, K: sympy.Expr, T: sympy.Expr, U: sympy.Expr) -> tuple[str, ...]:
    """Return what was checked and concluded, in order; ``K``, ``T`` and ``U`` are the numbers of the argument."""
    lines = [*facts_of(argument, flow)]
    rest = U - argument.times_own * K
    if argument.far:
        lines.extend(_mirrored(argument))
    elif argument.symmetry is None:
        lines.extend(_product(argument, K, rest))
    else:
        lines.extend(_symmetric(argument, rest))
    if argument.has_own and not argument.far:
        most = "K" if argument.times_own == 1 else f"{argument.times_own} K"
        lines.append(f"Lemma (own vertices): this is |P - B| of what P computes, and |B| <= {most}: |P| <= U = {U}.")
    sigma = rational(argument.exponents.sigma)
    best = f"T / U is largest near T = S/({sigma} - 1)"
    lines.append(f"U grows as (S + T)^({sigma}), so that {best}; any T will do; chosen: T = {T}, K = {K}.")
    if argument.far:
        lines.append("Lemma (segments), with weights in place of numbers: value = T floor(weight of D / W) - sources.")
    else:
        lines.append(f"Lemma (segments): value = {value_text('|D|', 'U', T)} - sources.")
    return tuple(lines)


def facts_of(argument: Partition, flow: DataFlow) -> tuple[str, ...]:
    """Return what was checked of the families of paths."""
    program = flow.program
    return (*_coordinates(argument), *_own(argument, program), *_families(argument, program), *_sources(argument, flow))


def _coordinates(argument: Partition) -> Iterator[str]:
    if len(argument.parts) > 1:
        places = [f"{part.statement}({', '.join(f'coordinate {at}' for at in part.order)})" for part in argument.parts]
        apart = "in which their instances do not meet"
        if argument.moved is not None:
            apart = (
                f"those of each statement moved along coordinate {argument.moved} until they do not meet; families of "
                "which two statements have common vertices have this direction in their kernel, so that the classes "
                "of these vertices stay what they are, or these vertices are in a class of each statement"
            )
        what = "statements" if len({part.statement for part in argument.parts}) > 1 else "pieces of the statement"
        yield (
            f"The {what} are put into one space, {apart}; their loops are, in order, "
            f"its coordinates: {', '.join(places)}. Kernels are those of this space."
        )


def _families(argument: Partition, program: Program) -> Iterator[str]:
    """Yield the vertices of every family, which are disjoint, and that a vertex belongs to one class."""
    count = len(argument.kernels)
    for family in range(count):
        yield f"vertices of phi{family}: V{family} = {set_text(vertices_of(argument.parts, family), program)}"
    for clique in argument.cliques:
        if len(clique) > 1:
            names = ", ".join(f"V{at}" for at in clique)
            total = " + ".join(_share(argument, at) for at in clique)
            yield f"{names} are pairwise disjoint (their intersections are empty). Lemma (cuts): {total} <= K."
        else:
            yield f"Lemma (cuts): {_share(argument, clique[0])} <= K."
    for at, fold in enumerate(argument.folds):
        window = argument.parts[0].paths[at].window
        told = f"phi{at}" if window is None else f"psi{at}"
        if window is not None:
            space = in_order(argument.parts[0], argument.parts[0].paths[at].kernel)
            places = ", ".join(map(str, window.coordinates))
            yield (
                f"psi{at}, with the kernel spanned by {_listed(space)}, does not tell all classes of phi{at} apart. "
                f"In a class of psi{at} the coordinates {places} (from 0) take {window.points} values at most. "
                f"So it is in up to {window.points} classes of phi{at} (lemma on windows)."
            )
        if fold == 1:
            yield f"A vertex of V{at} determines the class of {told}: the relation V{at} -> class is a function."
        else:
            yield (
                f"A vertex of V{at} determines the class of {told} within one statement, so it is in up to {fold} "
                f"classes: at least |{told}(P)|/{fold} vertices of V{at} are needed."
            )


def _own(argument: Partition, program: Program) -> Iterator[str]:
    """Yield the vertices that are on the paths of one instance each."""
    if argument.has_own:
        vertices = union_of(item for part in argument.parts for item in sets_of(part.own_vertices))
        yield (
            f"own vertices, each on the paths of {_instances(argument)} only and no source: "
            f"{set_text(vertices, program)}. "
            "Families are taken without them, P without the set B of instances of which one is a cut."
        )


def _instances(argument: Partition) -> str:
    return "one instance" if argument.times_own == 1 else "one instance of each statement, but of no chain,"


def _share(argument: Partition, family: int) -> str:
    window, fold = argument.parts[0].paths[family].window, argument.folds[family]
    times = sympy.Integer(fold) if window is None else fold * window.points
    return f"|phi{family}(P)|" + ("" if times == 1 else f"/{times}" if times.is_number else f"/({times})")


def _sources(argument: Partition, flow: DataFlow) -> Iterator[str]:
    """Yield the sources by what makes them events."""
    program = flow.program
    inputs = union_of(flow.inputs.values())
    spare = argument.sources.subtract(argument.spill)
    known, own = argument.sources.intersect(argument.spill), argument.sources.subtract(inputs)
    yield f"sources: {set_text(argument.sources, program)}"
    first = known.intersect(inputs)
    if not first.is_empty():
        yield f"  Inputs in the may-spill set (their first load): {set_text(first, program)}"
    computed = own.subtract(spare)
    if not computed.is_empty():
        yield f"  Computed (their computation is an event): {set_text(computed, program)}"
    if not spare.is_empty():
        yield (
            "  First operands of one line of a chain each and on no other path, so not in the may-spill set (in their "
            f"place the computation of the line's first instance is the event): {set_text(spare, program)}"
        )


def _product(argument: Partition, K: sympy.Expr, U: sympy.Expr) -> Iterator[str]:
    """Yield the conditions and the product of the Brascamp-Lieb inequality."""
    s, weights, sigma = argument.exponents.s, argument.weights(), argument.exponents.sigma
    yield (
        "Exponents " + ", ".join(f"s{at} = {value}" for at, value in enumerate(s)) + ". "
        "Lemma (discrete Brascamp-Lieb inequality), rank H <= sum of s_q rank phi_q(H):"
    )
    for rows, ranks, rank in constraining(argument.kernels, argument.dimensions):
        total = " + ".join(f"{value}*{factor}" for value, factor in zip(s, ranks, strict=True))
        name = "the whole space" if len(rows) == argument.dimensions else f"H spanned by {_listed(rows)}"
        yield f"  {name}: {rank} <= {total} = {sum((a * b for a, b in zip(s, ranks, strict=True)), Fraction(0))}"
    if len(argument.cliques) > 1:
        mixed = " + ".join(
            f"{share} ({' + '.join(_share(argument, at) for at in clique)})"
            for share, clique in zip(argument.exponents.shares, argument.cliques, strict=True)
            if share
        )
        yield f"The inequalities for K, added with factors of sum 1: {mixed} <= K."
    total = " + ".join(f"{weight} |phi{at}(P)|" for at, weight in enumerate(weights) if s[at])
    largest = ", ".join(
        f"|phi{at}(P)| = {sympy.nsimplify(K * rational(value) / (rational(sigma) * weight))}"
        for at, (value, weight) in enumerate(zip(argument.exponents.s, weights, strict=True))
        if value
    )
    yield f"So {total} <= K, and the product is largest at {largest}: |P| <= U = {U}."


def _listed(rows: Sequence[Sequence[int]]) -> str:
    return ", ".join(f"({', '.join(map(str, row))})" for row in rows)


def _symmetric(argument: Partition, U: sympy.Expr) -> Iterator[str]:
    assert argument.symmetry is not None
    chain, pairs = argument.symmetry.chain, argument.symmetry.pairs
    for a, b in pairs:
        yield (
            f"phi{a} and phi{b} read one set of vertices: an instance is determined by the unordered pair of the two "
            f"(no two instances p, q, nor p = q, have phi{a} of p where phi{b} of q is and the other way round), and "
            "vertices read in different slices differ; the relation between instances that share one was checked."
        )
    together = (*argument.kernels[pairs[0][0]], *argument.kernels[pairs[0][1]])
    groups = len(pairs)
    used = ", ".join(f"V{a} and V{b}" for a, b in pairs)
    yield f"Slices: instances that differ by vectors spanned by {_listed(together)}; phi{chain} is injective on each,"
    yield f"as its kernel, {_listed(argument.kernels[chain])}, is independent of these."
    yield (
        f"V{chain} is disjoint of {used}{', and the pairs of one another' if groups > 1 else ''}: with c classes of "
        f"phi{chain} and v vertices of {used}, c + v <= K. Lemma (symmetric Loomis-Whitney), g = {groups}: "
        f"|P| <= 2 (K/3)^(3/2) / ({groups} sqrt(2)) = U = {U}."
    )


def _mirrored(argument: Partition) -> Iterator[str]:
    one, other = (part.statement for part in argument.parts)
    chain = next(at for at, path in enumerate(argument.parts[0].paths) if path.is_chain)
    shared = next(at for at, fold in enumerate(argument.folds) if fold == 2)
    yield (
        f"Lemma (one triangle read from both sides): o is the coordinate along phi{3 - chain - shared}, b the one "
        f"along phi{chain}, j the third. One of {one}, {other} has o < b only, the other o > b only. The vertex of "
        f"phi{shared} that serves (o, b) in one serves (b, o) in the other, and nothing else. The chains step by one "
        "and the domains are convex. In place of chains count runs."
    )
    if argument.has_own:
        yield (
            "Lemma (own vertices): runs of P - B and vertices of the broadcasts are at most K, so P - B weighs at most "
            "(K/3)^(3/2), and |B| <= K: what one segment computes weighs at most W = (K/3)^(3/2) + K."
        )
    else:
        yield "One segment computes one run of a chain: what it computes weighs at most W = (K/3)^(3/2)."


def partition_certificate(argument: Partition, facts: dict[str, sympy.Expr]) -> dict[str, Any]:
    """Return the certificate of an argument with the numbers ``facts``.

    Sets and relations are isl's texts, numbers exact fractions, formulas SymPy's texts.
    """
    if argument.far:
        return {**_families_as_data(argument, facts), **_UNUSED, "cliques": [[0, 1, 2]], "mirrored": True}
    symmetric = argument.symmetry is not None
    exponents = argument.exponents
    return {
        **_families_as_data(argument, facts),
        "cliques": None if symmetric else [list(clique) for clique in argument.cliques],
        "shares": None if symmetric else [str(share) for share in exponents.shares],
        "exponents": None if symmetric else [str(value) for value in exponents.s],
        "symmetry": None
        if argument.symmetry is None
        else {"chain": argument.symmetry.chain, "pairs": [list(pair) for pair in argument.symmetry.pairs]},
        "mirrored": False,
        "hourglass": None,
        "ends": None,
        "most_instances": str(facts["U"]),
    }


def hourglass_certificate(argument: Partition, facts: dict[str, sympy.Expr], neck: dict[str, Any]) -> dict[str, Any]:
    """Return the certificate of an argument in which the lemma on hourglasses takes the place of exponents.

    ``neck`` tells steps, places and columns.
    """
    return {**_families_as_data(argument, facts), **_UNUSED, "cliques": [[0, 1]], "hourglass": neck}


def _families_as_data(argument: Partition, facts: dict[str, sympy.Expr]) -> dict[str, Any]:
    """Return what every certificate of families of paths holds."""
    return {
        "kind": "K-partition",
        "parts": [
            {
                "statement": part.statement,
                "domain": str(part.domain),
                "order": list(part.order),
                "families": [[str(level) for level in levels] for levels in part.all_levels],
                "chains": [path.is_chain for path in part.paths],
            }
            for part in argument.parts
        ],
        "own": sorted(frozenset[str]().union(*(part.own for part in argument.parts))),
        "chains": [path.is_chain for path in argument.parts[0].paths],
        "kernels": [list(map(list, in_order(argument.parts[0], path.kernel))) for path in argument.parts[0].paths],
        "folds": list(argument.folds),
        "windows": [
            None if path.window is None else {"kernel": list(map(list, space)), "points": str(path.window.points)}
            for space, path in zip(argument.kernels, argument.parts[0].paths, strict=True)
        ],
        "moved": argument.moved,
        "sources": str(argument.sources),
        "events": str(facts["T"]),
        "instances_count": str(facts["|D|"]),
        "sources_count": str(facts["sources"]),
    }
