"""The proof of a bound: one argument per part of the sum, each with everything needed to re-derive its number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import islpy as isl
import sympy

MODEL = (
    "Red-white pebble game: a fast memory of S words, loads counted, stores free, no value computed twice; one "
    "statement instance is one vertex of one word, scalars are arrays of dimension 0, reductions keep their order."
)


@dataclass(frozen=True, slots=True)
class Projection:
    """One family of paths in a K-partition argument."""

    path: str
    relation: str
    kernel: tuple[tuple[int, ...], ...]
    exponent: sympy.Rational
    weight: sympy.Rational

    def document(self) -> dict[str, Any]:
        """Return the projection as JSON."""
        return {
            "path": self.path,
            "relation": self.relation,
            "kernel": [list(row) for row in self.kernel],
            "exponent": str(self.exponent),
            "weight": str(self.weight),
        }


@dataclass(frozen=True)
class SubBound:
    """A lower bound ``value`` on the loads of ``spill`` beyond the first load of every input in it.

    ``facts`` are the named quantities of the argument in order (|D|, U, T, ...), ``steps`` its sentences. Where there
    is a U(K), ``points`` are the instances D and ``sources`` the vertices that count as available whenever computed.
    """

    method: str
    statements: tuple[str, ...]
    domain: str
    value: sympy.Expr
    spill: isl.UnionSet
    facts: Mapping[str, sympy.Expr]
    steps: tuple[str, ...]
    projections: tuple[Projection, ...] = ()
    points: isl.UnionSet | None = None
    sources: isl.UnionSet | None = None

    def document(self) -> dict[str, Any]:
        """Return the argument as JSON."""
        return {
            "method": self.method,
            "statements": list(self.statements),
            "domain": self.domain,
            "projections": [item.document() for item in self.projections],
            "facts": {name: str(value) for name, value in self.facts.items()},
            "may_spill": str(self.spill),
            "steps": list(self.steps),
            "value": str(self.value),
        }

    def text(self) -> str:
        """Return the argument for people."""
        lines = [f"{self.method} on {', '.join(self.statements)}", f"  domain: {self.domain}"]
        for item in self.projections:
            lines.append(f"  {item.path}: {item.relation}")
            lines.append(f"    kernel {list(item.kernel)}, exponent {item.exponent}, weight {item.weight}")
        lines.extend(f"  {name} = {value}" for name, value in self.facts.items())
        lines.append(f"  may-spill set: {self.spill}")
        lines.extend(f"  {step}" for step in self.steps)
        lines.append(f"  value: {self.value}")
        return "\n".join(lines)

    def latex(self) -> str:
        """Return the argument as a LaTeX paragraph."""
        facts = ",\\; ".join(f"{_name(name)} = {sympy.latex(value)}" for name, value in self.facts.items())
        steps = "\\\\\n".join(_escaped(step) for step in self.steps)
        projections = "\\\\\n".join(
            f"{_escaped(item.path)}: exponent ${sympy.latex(item.exponent)}$, weight ${sympy.latex(item.weight)}$"
            for item in self.projections
        )
        body = "\\\\\n".join(part for part in (projections, steps) if part)
        return (
            f"\\paragraph{{{_escaped(self.method)} on {_escaped(', '.join(self.statements))}}}\n{body}\n"
            f"\\[ {facts} \\]\n\\[ Q \\ge {sympy.latex(self.value)} \\]"
        )


@dataclass(frozen=True)
class Proof:
    """Why the bound holds: compulsory loads plus parts whose may-spill sets are pairwise disjoint.

    ``sums`` lists, by position, which parts add up; where there are several such sums, the largest one counts.
    """

    inputs: sympy.Expr
    parts: tuple[SubBound, ...]
    sums: tuple[tuple[int, ...], ...]
    formula: sympy.Expr

    SUM = (
        "Every input is loaded at least once. Each part bounds the loads of its may-spill set beyond the first load of "
        "each input; the may-spill sets are pairwise disjoint, so no load is counted twice and the parts add up."
    )

    @property
    def sum(self) -> str:
        """Which parts add up, and why."""
        if len(self.sums) < 2:
            return self.SUM
        listed = " or ".join(" + ".join(f"[{at + 1}]" for at in item) or "0" for item in self.sums)
        return f"{self.SUM} Here not all are disjoint: the largest of the sums {listed} counts."

    def document(self) -> dict[str, Any]:
        """Return the proof as JSON."""
        return {
            "model": MODEL,
            "inputs": str(self.inputs),
            "parts": [part.document() for part in self.parts],
            "sums": [[at + 1 for at in item] for item in self.sums],
            "sum": self.sum,
            "formula": str(self.formula),
        }

    def text(self) -> str:
        """Return the proof for people."""
        parts = [f"[{number}] {part.text()}" for number, part in enumerate(self.parts, 1)]
        head = [f"Model: {MODEL}", f"Inputs, each loaded at least once: {self.inputs}"]
        return "\n".join([*head, *parts, self.sum, f"Q >= {self.formula}"])

    def latex(self) -> str:
        """Return the proof in LaTeX."""
        parts = "\n\n".join(part.latex() for part in self.parts)
        return (
            f"{_escaped(MODEL)}\n\nCompulsory loads: ${sympy.latex(self.inputs)}$.\n\n{parts}\n\n{_escaped(self.sum)}\n"
            f"\\[ Q \\ge {sympy.latex(self.formula)} \\]"
        )


def _escaped(text: str) -> str:
    for character in "&%$#_{}":
        text = text.replace(character, "\\" + character)
    return text.replace("<", "$<$").replace(">", "$>$").replace("^", "\\^{}")


def _name(name: str) -> str:
    return f"\\mathrm{{{_escaped(name)}}}" if len(name) > 3 else name.replace("|D|", "|D|")
