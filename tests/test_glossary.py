"""One word per concept: what the pages emphasise stands in the glossary, once; no word has a second meaning."""

from __future__ import annotations

import re
from pathlib import Path

from shorthaul.cli.app import SUMMARIES, command

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {
    str(path.relative_to(DOCS)): path.read_text() for path in sorted(DOCS.rglob("*.md")) if path.stem != "glossary"
}
TERMS = re.findall(r"^\*\*(.+?)\*\*$", (DOCS / "glossary.md").read_text(), re.MULTILINE)
MEANINGS = re.findall(r"^\*\*.+?\*\*\n:   ((?:.+\n?)+)", (DOCS / "glossary.md").read_text(), re.MULTILINE)
#: A word with one meaning, and the words beside which it would have another.
ONE_MEANING = {
    "budget": r"time|seconds?|effort|work|deadline",
    "capacity": r"time|seconds?|effort",
    "effort": r"bytes|words of memory",
    "gap": r"between messages",
    "plan": r"floor",
    "machine": r"virtual|state",
}
#: Words for which the glossary has another.
REPLACED = {"makespan": "latency or period", "scratchpad size": "capacity", "time budget": "time limit", "timeout limit": "time limit"}  # fmt: skip


def helps() -> dict[str, str]:
    """Every help text of the command line."""
    texts = {}
    for engine in SUMMARIES:
        group = command(engine)
        for name, verb in getattr(group, "commands", {"": group}).items():
            words = [verb.help or "", *(getattr(parameter, "help", None) or "" for parameter in verb.params)]
            texts[f"{engine} {name}"] = "\n".join(words)
    return texts


def test_every_term_is_explained_once() -> None:
    assert sorted(TERMS, key=str.lower) == TERMS
    assert len({term.lower() for term in TERMS}) == len(TERMS) == len(MEANINGS)
    assert len(set(MEANINGS)) == len(MEANINGS)
    source = (path.read_text() for path in (DOCS.parent / "src").rglob("*.py"))
    everything = " ".join([*PAGES.values(), *source]).lower()
    assert not [term for term in TERMS if term.lower() not in everything], "explained, but used nowhere"


def test_emphasised_terms_are_explained() -> None:
    known = {term.lower() for term in TERMS}
    for page, text in PAGES.items():
        prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
        for word in re.findall(r"(?<![*\w])\*{1,2}([a-z][a-z-]+(?: [a-z-]+)?)\*{1,2}(?![*\w])", prose):
            assert word in known or word.removesuffix("s") in known or word in NO_TERMS, f"{page}: {word}"


#: Emphasised, but no terms: names of kernels, classes of graphs where they are introduced, and stressed words.
NO_TERMS = {"adi", "durbin", "late", "parametrised", "plain twin", "source", "symm", "triangular blocks"}


def test_words_have_one_meaning() -> None:
    for place, text in {**PAGES, **helps()}.items():
        for word, others in ONE_MEANING.items():
            wrong = re.search(rf"\b(?:{others})[- ]{word}\b|\b{word} of (?:{others})\b", text, re.IGNORECASE)
            assert wrong is None, f"{place}: {wrong and wrong[0]}"
        for word, better in REPLACED.items():
            assert word not in text.lower(), f"{place}: {word}: {better}"
