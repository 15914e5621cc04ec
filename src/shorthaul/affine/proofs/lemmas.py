"""The lemmas that printed proofs rest on: each is stated and proven once, on the page of theorems in the docs.

``data/theorems.md`` is that page. Its blocks of text are the lemmas, in words of the model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final


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


def _of_page() -> dict[str, Lemma]:
    """Return every lemma of the page, by its name."""
    page = resources.files("shorthaul.affine.proofs").joinpath("data", "theorems.md").read_text("utf-8")
    found = {}
    for name, text in re.findall(r"^```text\nLemma \(([^\n]*)\)\.\n(.*?)\n```$", page, re.MULTILINE | re.DOTALL):
        statement, proof = re.sub("^  ", "", text, flags=re.MULTILINE).split("\nProof.\n")
        found[name] = Lemma(name, statement, proof)
    return found


#: Every lemma, by its name.
LEMMAS: Final = _of_page()

SEGMENTS = LEMMAS["segments"]
CUTS = LEMMAS["cuts"]
OWN_VERTICES = LEMMAS["own vertices"]
BRASCAMP_LIEB = LEMMAS[
    "discrete Brascamp-Lieb inequality; Christ, Demmel, Knight, Scanlon and Yelick 2013, Valdimarsson 2010"
]
WINDOWS = LEMMAS["windows"]
FINISHED_SUMS = LEMMAS["finished sums"]
WAITING_SUMS = LEMMAS["sums that wait"]
USED_SUMS = LEMMAS["sums that are used on lines"]
SYMMETRIC = LEMMAS["symmetric Loomis-Whitney"]
MIRRORED = LEMMAS["one triangle read from both sides"]
COUPLED = LEMMAS["fields coupled at their place"]
ROWS = LEMMAS["rows of a stencil"]
OWN_ROWS = LEMMAS["own vertices below rows"]
SHARED_ROWS = LEMMAS["temporaries between rows"]
BALANCED = LEMMAS["balanced rows"]
OWN_BALANCED = LEMMAS["own vertices of balanced rows"]
HOURGLASS = LEMMAS["hourglass"]
CONES = LEMMAS["double cones"]
BOXES = LEMMAS["boxes"]
REASSOCIATED = LEMMAS["reassociated sums"]
PLACES = LEMMAS["places"]
WAVEFRONT = LEMMAS["wavefront"]
INTERVALS = LEMMAS["intervals of chains"]
PHASES = LEMMAS["phases"]
MOMENTS = LEMMAS["moments"]
LAYERS = LEMMAS["layers"]
ALTERNATING = LEMMAS["alternating layers"]
CROSSING = LEMMAS["crossing of two scans"]
WHOLE_ROWS = LEMMAS["rows read whole"]
COLUMNS = LEMMAS["columns of a stencil"]
BARE_COLUMNS = LEMMAS["columns of a stencil that does not read its centre"]
BALLS = LEMMAS["balanced rows around balls"]
LINE_ENDS = LEMMAS["ends of lines"]
LINES = LEMMAS["lines in a plane"]
SQUARES = LEMMAS["squares"]
WALLS = LEMMAS["walls"]
PAIRED_ROWS = LEMMAS["sums over two rows of one array"]
