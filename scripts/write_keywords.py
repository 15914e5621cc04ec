"""Write ``src/shorthaul/ENGINE/verbs/keywords.py`` from the option dataclasses of the engine's verbs."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

from shorthaul.core.search import SearchOptions, TaskPlanSearchOptions, TaskSearchOptions
from shorthaul.core.verbs import Verb, annotation

ENGINES = ("affine", "dataflow", "pebble", "spatial", "tensor")
SOURCE = Path(__file__).parents[1] / "src" / "shorthaul"
HEAD = '''"""The keywords of every verb with their types: written by ``make keywords`` from the options, not by hand."""

from __future__ import annotations
'''
#: The searches whose keywords all engines share, bases first, and where these stand.
SEARCHES = (SearchOptions, TaskSearchOptions, TaskPlanSearchOptions)
SEARCH_MODULE = "shorthaul.core.searching.keywords"
#: Where the names in annotations come from.
MODULES = {
    "Mapping": "collections.abc",
    "Sequence": "collections.abc",
    "PathLike": "os",
    "Literal": "typing",
    "TypedDict": "typing",
    **dict.fromkeys((f"{kind.__name__.removesuffix('Options')}Keywords" for kind in SEARCHES), SEARCH_MODULE),
    "Search": "shorthaul.core.search",
    "Platform": "shorthaul.dataflow.model",
}

#: Keywords by name, each with its type.
Words = dict[str, str]


def verbs(engine: str) -> dict[str, Verb]:
    """Return the public verbs of an engine by name."""
    module = importlib.import_module(f"shorthaul.{engine}")
    found = {name: getattr(getattr(module, name), "__verb__", None) for name in module.__all__}
    return {name: made for name, made in found.items() if made is not None}


def keywords_text(engine: str) -> str:
    """Return the content of the engine's ``keywords.py``: what verbs share, as their options do, then each verb's."""
    made = verbs(engine)
    known = {kind: _named(kind) for kind in SEARCHES}
    explicit = {item.name for verb in made.values() for item in verb.explicit}
    classes = []
    for kind in _shared(made.values()):
        shared = _named(kind, explicit)
        classes.append(_class(*shared, [kind], known, f"What verbs with ``{kind.__name__}`` take."))
        known[kind] = shared
    for name, verb in made.items():
        words = {word.name: word.annotation for word in verb.keywords()}
        title = f"The keywords of ``{name}``."
        classes.append(_class(f"{name.capitalize()}Keywords", words, verb.groups(), known, title))
    return _module(classes, f"shorthaul.{engine}.options")


def search_text() -> str:
    """Return the content of the module with the keywords of searches."""
    known: dict[type, tuple[str, Words]] = {}
    classes = []
    for kind in SEARCHES:
        classes.append(_class(*_named(kind), [kind], known, f"What verbs with ``{kind.__name__}`` take."))
        known[kind] = _named(kind)
    return _module(classes, "")


def _shared(made: Iterable[Verb]) -> list[type]:
    """Return the option dataclasses that several verbs use and none has for itself, bases first."""
    users = Counter(kind for verb in made for group in verb.groups() for kind in _ancestry(group))
    own = {verb.options for verb in made if verb.options.__name__ == f"{verb.function.__name__.capitalize()}Options"}
    found = [kind for kind, count in users.items() if count > 1 and kind not in own and kind not in SEARCHES]
    return sorted(found, key=lambda kind: len(_ancestry(kind)))


def _ancestry(kind: type) -> list[type]:
    return [base for base in kind.__mro__ if is_dataclass(base)]


def _named(kind: type, explicit: Container[str] = ()) -> tuple[str, Words]:
    """Return the name and the keywords of the class for an option dataclass, without the arguments of verbs."""
    words = {field.name: annotation(field) for field in fields(kind) if field.name not in explicit}
    return kind.__name__.removesuffix("Options") + "Keywords", words


def _class(name: str, words: Words, groups: Iterable[type], known: Mapping[type, tuple[str, Words]], title: str) -> str:
    """Return the class of ``words``, on the bases among the known ones that have the same types."""
    bases: list[str] = []
    left = dict(words)
    for kind in (kind for group in groups for kind in _ancestry(group) if kind in known):
        base, inherited = known[kind]
        if inherited.items() <= words.items() and inherited.keys() & left.keys():
            bases.append(base)
            left = {word: written for word, written in left.items() if word not in inherited}
    head = f'class {name}({", ".join(bases or ["TypedDict"])}, total=False):\n    """{title}"""'
    return "\n".join([head, *([""] if left else []), *(entry(word, written) for word, written in left.items())])


def _module(classes: list[str], options: str) -> str:
    """Return a module of the classes, with long lists of choices that stand in several by name."""
    body = "\n\n\n".join(classes)
    choices = Counter(re.findall(r"^    (\w+): (Literal\[\n(?:        .*\n)+    \])", body, re.MULTILINE))
    for (name, written), count in choices.items():
        if count > 1:
            body = f"{name.capitalize()} = {written.replace(chr(10) + '    ', chr(10))}\n\n\n" + body.replace(
                f"    {name}: {written}", f"    {name}: {name.capitalize()}"
            )
    needed: dict[str, set[str]] = {}
    for word in set(re.findall(r"\b[A-Z]\w+\b", re.sub(r'"[^"]*"', "", body))) - set(
        re.findall(r"^class (\w+)", body, re.M)
    ):
        module = MODULES.get(word, options if word.endswith("Options") else None)
        if module is not None:
            needed.setdefault(module, set()).add(word)
    ordered = {module: sorted(names, key=str.lower) for module, names in sorted(needed.items())}
    lines = [f"from {module} import {', '.join(names)}" for module, names in ordered.items()]
    standard = [line for line in lines if "shorthaul" not in line]
    ours = [wrapped(line) for line in lines if "shorthaul" in line]
    imports = "\n\n".join("\n".join(block) for block in (standard, ours) if block)
    return f"{HEAD}\n{imports}\n{chr(10) * (1 + body.startswith('class'))}{body}\n"


def entry(name: str, annotation: str) -> str:
    """Return the line of a keyword, wrapped where its choices are many."""
    line = f"    {name}: {annotation}"
    if len(line) <= 120:
        return line
    choices, rest = annotation.removeprefix("Literal[").split("]", 1)
    listed = "".join(f"        {choice},\n" for choice in choices.split(", "))
    return f"    {name}: Literal[\n{listed}    ]{rest}"


def wrapped(line: str) -> str:
    """Return an import, one name per line where it is too long."""
    if len(line) <= 120:
        return line
    head, names = line.split(" import ")
    return f"{head} import (\n" + "".join(f"    {name},\n" for name in names.split(", ")) + ")"


def modules() -> dict[Path, str]:
    """Return the content of every module of keywords."""
    written = {SOURCE / engine / "verbs" / "keywords.py": keywords_text(engine) for engine in ENGINES}
    return {SOURCE / "core" / "searching" / "keywords.py": search_text(), **written}


def main() -> None:
    """Write the modules that are not in step."""
    for path, text in modules().items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(path)


if __name__ == "__main__":
    main()
