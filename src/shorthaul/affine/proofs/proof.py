"""The proof of a bound: one argument per part of the sum, each with everything needed to re-derive its number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

import islpy as isl
import sympy

from shorthaul.affine.integer_sets.short_form import simple_bound
from shorthaul.affine.proofs.lemmas import Lemma

_GAME = (
    "Red-white pebble game: a fast memory of S words, loads counted, stores free, no value computed twice; one "
    "statement instance is one vertex of one word, scalars are arrays of dimension 0, "
)
MODEL = f"{_GAME}reductions keep their order."
REASSOCIATED_MODEL = f"{_GAME}sums, products, max and min are made in any order and tree of their terms."

BOTH_BRANCHES = " Both branches of a choice between values are read."
ONE_BRANCH = " A choice between values reads one of its branches, whichever that is."


@dataclass(frozen=True, slots=True)
class Projection:
    """One family of paths in a K-partition argument; no exponent where another inequality takes its place."""

    path: str
    relation: str
    kernel: tuple[tuple[int, ...], ...]
    exponent: sympy.Rational | None
    weight: sympy.Rational | None

    def document(self) -> dict[str, Any]:
        """Return the projection as JSON."""
        return {
            "path": self.path,
            "relation": self.relation,
            "kernel": [list(row) for row in self.kernel],
            "exponent": None if self.exponent is None else str(self.exponent),
            "weight": None if self.weight is None else str(self.weight),
        }

    def text(self) -> str:
        """Return the projection for people."""
        kernel = ", ".join(f"({', '.join(map(str, row))})" for row in self.kernel)
        numbers = "" if self.exponent is None else f", exponent s = {self.exponent}, weight w = {self.weight}"
        return f"{self.path}: {self.relation}\n    kernel spanned by {kernel or '0'}{numbers}"


@dataclass(frozen=True)
class SubBound:
    """A lower bound ``value`` on the loads of ``spill`` beyond the first load of every input in it.

    ``facts`` are the named quantities of the argument in order (|D|, U, T, ...), ``steps`` its sentences, ``lemmas``
    what it rests on, ``may_spill`` the set ``spill`` as text. Where there is a U(K), ``points`` are the instances D and
    ``sources`` the vertices that count as available whenever computed. ``certificate`` is what a checker needs.
    ``within`` are the entries of a certificate that say on which graph it argues, and its value there, where this is
    not the program's. ``tuned`` returns the argument with the events of a segment that suit given sizes, None if no
    others do.
    """

    method: str
    statements: tuple[str, ...]
    domain: str
    value: sympy.Expr
    spill: isl.UnionSet
    may_spill: str
    facts: Mapping[str, sympy.Expr]
    steps: tuple[str, ...]
    lemmas: tuple[Lemma, ...]
    projections: tuple[Projection, ...] = ()
    points: isl.UnionSet | None = None
    sources: isl.UnionSet | None = None
    certificate: Mapping[str, Any] | None = None
    tuned: Callable[[Mapping[str, int]], SubBound | None] | None = field(default=None, repr=False, compare=False)
    within: Mapping[str, Any] = field(default_factory=dict)

    def certified(self) -> dict[str, Any]:
        """Return the argument as a checker of its own verifies it: of the kind ``formula`` where it has no certificate.

        ``value`` is the formula, ``spill`` the vertices whose loads it counts.
        """
        known = {"kind": "formula", "method": self.method} if self.certificate is None else dict(self.certificate)
        return {**known, "value": str(self.value), "spill": str(self.spill), **self.within}

    def document(self) -> dict[str, Any]:
        """Return the argument as JSON."""
        return {
            "method": self.method,
            "statements": list(self.statements),
            "domain": self.domain,
            "projections": [item.document() for item in self.projections],
            "facts": {name: str(value) for name, value in self.facts.items()},
            "may_spill": self.may_spill,
            "lemmas": [item.name for item in self.lemmas],
            "steps": list(self.steps),
            "value": str(self.value),
        }

    def text(self, steps: Sequence[str] | None = None) -> str:
        """Return the argument for people, with other sentences where ``steps`` are given."""
        lines = [f"{self.method} on {', '.join(self.statements)}", f"  domain D: {self.domain}"]
        lines.extend(f"  {item.text()}" for item in self.projections)
        lines.extend(f"  {name} = {_shown_value(value)}" for name, value in self.facts.items())
        lines.append(f"  may-spill set: {self.may_spill}")
        lines.extend(f"  {step}" for step in (self.steps if steps is None else steps))
        lines.append(f"  value: {_shown_value(self.value)}")
        return "\n".join(lines)

    def latex(self) -> str:
        """Return the argument as a LaTeX paragraph."""
        facts = ",\\;\n".join(f"{_name(name)} = {sympy.latex(value)}" for name, value in self.facts.items())
        lines = [f"Domain: {self.domain}", *(item.text() for item in self.projections)]
        lines += [f"May-spill set: {self.may_spill}", *self.steps]
        body = _paragraph(lines)
        return (
            f"\\paragraph{{{_escaped(self.method)} on {_escaped(', '.join(self.statements))}}}\n{body}\n"
            f"\\[ {facts} \\]\n\\[ Q \\ge {sympy.latex(self.value)} \\]"
        )


#: Formulas longer than this are named by their length in the text; the JSON document has them in full.
LONGEST_SHOWN = 600


def shorten(text: str) -> str:
    """Return a formula as text, or how long it is where nobody would read it."""
    return text if len(text) <= LONGEST_SHOWN else f"({len(text)} characters, in full in the JSON document)"


def _shown_value(value: sympy.Expr) -> str:
    """Return a formula; of a long one also the plain sums of monomials between which it is for large sizes."""
    text = str(value)
    if len(text) <= LONGEST_SHOWN:
        return text
    low, high = simple_bound(value), simple_bound(-value)
    if low is None or high is None:
        return shorten(text)
    where = " and ".join(dict.fromkeys([*low.where, *high.where])) or "all sizes"
    return f"{shorten(text)}; for {where} at least {low.formula} and at most {-high.formula}"


@dataclass(frozen=True)
class Proof:
    """Why the bound holds: compulsory loads plus parts whose may-spill sets are pairwise disjoint.

    ``sums`` lists, by position, which parts add up; where there are several such sums, the largest one counts.
    ``program`` lists the statements and what they read, ``counted_inputs`` the inputs.
    """

    inputs: sympy.Expr
    parts: tuple[SubBound, ...]
    sums: tuple[tuple[int, ...], ...]
    formula: sympy.Expr
    program: tuple[str, ...] = ()
    counted_inputs: tuple[str, ...] = ()
    model: str = MODEL

    SUM = (
        "Every input is loaded at least once. Each part bounds the loads of its may-spill set beyond the first load of "
        "each input, so first loads are counted once, as inputs. The may-spill sets of parts that are added are "
        "pairwise disjoint (their intersections are empty), so a load is counted by one part at most, and the parts "
        "add up. A part below 0 is left out: max(0, value)."
    )

    @property
    def sum(self) -> str:
        """Which parts add up, and why."""
        if not self.parts:
            return "Every input is loaded at least once; no further argument applies."
        if len(self.sums) < 2:
            return self.SUM
        listed = " or ".join(" + ".join(f"[{at + 1}]" for at in item) or "0" for item in self.sums)
        return f"{self.SUM} Here not all are disjoint: the largest of the sums {listed} counts."

    @property
    def lemmas(self) -> tuple[Lemma, ...]:
        """The lemmas of all parts, each once."""
        return tuple(dict.fromkeys(item for part in self.parts for item in part.lemmas))

    def document(self) -> dict[str, Any]:
        """Return the proof as JSON."""
        return {
            "model": self.model,
            "program": list(self.program),
            "input_sets": list(self.counted_inputs),
            "inputs": str(self.inputs),
            "parts": [part.document() for part in self.parts],
            "sums": [[at + 1 for at in item] for item in self.sums],
            "sum": self.sum,
            "lemmas": [item.document() for item in self.lemmas],
            "formula": str(self.formula),
        }

    def certificate(self) -> dict[str, Any]:
        """Return all that the bound follows from, as a checker of its own verifies it."""
        return {
            "any_order": self.model.startswith(REASSOCIATED_MODEL),
            "inputs": str(self.inputs),
            "parts": [item.certified() for item in self.parts],
            "sums": [[at + 1 for at in item] for item in self.sums],
            "formula": str(self.formula),
        }

    def text(self) -> str:
        """Return the proof for people."""
        steps = _without_repeats([part.steps for part in self.parts])
        parts = [f"[{at}] {part.text(own)}" for at, (part, own) in enumerate(zip(self.parts, steps, strict=True), 1)]
        head = [f"Model: {self.model}", *(f"  {line}" for line in self.program)]
        inputs = [f"Inputs, each loaded at least once: {_shown_value(self.inputs)}"]
        inputs += [f"  {line}" for line in self.counted_inputs]
        lemmas = [item.text() for item in self.lemmas]
        return "\n".join([*head, *inputs, *parts, self.sum, f"Q >= {shorten(str(self.formula))}", *lemmas])

    def latex(self) -> str:
        """Return the proof in LaTeX."""
        parts = "\n\n".join(part.latex() for part in self.parts)
        lines = _paragraph((*self.program, *self.counted_inputs))
        lemmas = "\n\n".join(_paragraph(item.text().splitlines()) for item in self.lemmas)
        return (
            f"{_escaped(self.model)}\n\n{lines}\n\nCompulsory loads: ${sympy.latex(self.inputs)}$.\n\n{parts}\n\n"
            f"{_escaped(self.sum)}\n\\[ Q \\ge {sympy.latex(self.formula)} \\]\n\n{lemmas}"
        )


#: Sentences from which on what an earlier part says too is not printed again.
LEAST_REPEATED = 4


def _without_repeats(parts: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the sentences of parts; those that follow one another in an earlier part too become a reference to it."""
    result = []
    for at, steps in enumerate(parts):
        kept = list(steps)
        for earlier in range(at):
            matcher = SequenceMatcher(None, parts[earlier], kept, autojunk=False)
            for match in reversed(matcher.get_matching_blocks()):
                if match.size >= LEAST_REPEATED:
                    first = kept[match.b].strip()[:60].strip()
                    said = f"The {match.size} sentences of [{earlier + 1}] from '{first} ...' on hold here too."
                    kept[match.b : match.b + match.size] = [said]
        result.append(kept)
    return result


def _paragraph(lines: Sequence[str]) -> str:
    return "\\\\\n".join(_escaped(line) for line in lines)


def _escaped(text: str) -> str:
    for character in "&%$#_{}":
        text = text.replace(character, "\\" + character)
    text = text.replace("<=", "$\\le$").replace(">=", "$\\ge$").replace("->", "$\\to$")
    return text.replace("<", "$<$").replace(">", "$>$").replace("|", "$|$").replace("^", "\\^{}")


def _name(name: str) -> str:
    if len(name) <= 3:
        return name
    text = name.replace(" ", "~").replace("|", "\\vert ").replace("_", "\\_")
    return f"\\mathrm{{{text}}}"
