"""Write ``src/shorthaul/ENGINE/verbs/keywords.py`` from the option dataclasses of the engine's verbs."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from shorthaul.core.verbs import Verb

ENGINES = ("affine", "dataflow", "pebble", "spatial", "tensor")
SOURCE = Path(__file__).parents[1] / "src" / "shorthaul"
HEAD = '''"""The keywords of every verb with their types: written by ``make keywords`` from the options, not by hand."""

from __future__ import annotations
'''
#: Where the names in annotations come from.
MODULES = {
    "Mapping": "collections.abc",
    "Sequence": "collections.abc",
    "PathLike": "os",
    "Literal": "typing",
    "TypedDict": "typing",
    "Search": "shorthaul.core.search",
    "Platform": "shorthaul.dataflow.model",
}


def verbs(engine: str) -> dict[str, Verb]:
    """Return the public verbs of an engine by name."""
    module = importlib.import_module(f"shorthaul.{engine}")
    found = {name: getattr(getattr(module, name), "__verb__", None) for name in module.__all__}
    return {name: made for name, made in found.items() if made is not None}


def keywords_text(engine: str) -> str:
    """Return the content of the engine's ``keywords.py``."""
    classes = []
    for name, made in verbs(engine).items():
        entries = [entry(word.name, word.annotation) for word in made.keywords()]
        title = f'class {name.capitalize()}Keywords(TypedDict, total=False):\n    """The keywords of ``{name}``."""\n'
        classes.append("\n".join([title, *entries]))
    body = "\n\n\n".join(classes)
    needed: dict[str, set[str]] = {}
    for word in set(re.findall(r"\b[A-Z]\w+\b", re.sub(r'"[^"]*"', "", body))):
        module = MODULES.get(word, f"shorthaul.{engine}.options" if word.endswith("Options") else None)
        if module is not None:
            needed.setdefault(module, set()).add(word)
    ordered = {module: sorted(names, key=str.lower) for module, names in sorted(needed.items())}
    lines = [f"from {module} import {', '.join(names)}" for module, names in ordered.items()]
    standard = [line for line in lines if "shorthaul" not in line]
    ours = [wrapped(line) for line in lines if "shorthaul" in line]
    return "\n".join([HEAD, *standard, "", *ours, "", "", body, ""])


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


def main() -> None:
    """Write the modules that are not in step."""
    for engine in ENGINES:
        path, text = SOURCE / engine / "verbs" / "keywords.py", keywords_text(engine)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(path)


if __name__ == "__main__":
    main()
