"""The API reference: a hook of MkDocs that lists the public names, an extension of griffe that shows their keywords."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import griffe

ENGINES = ("pebble", "affine", "tensor", "dataflow", "spatial")
MARK = "<!-- the engines -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page with the public names of every engine in place of the mark: verbs and functions, then types."""
    return markdown.replace(MARK, "\n".join(map(_engine, ENGINES))) if MARK in markdown else markdown


def _engine(engine: str) -> str:
    module = importlib.import_module(f"shorthaul.{engine}")
    named = {name: getattr(module, name) for name in module.__all__}
    values = {name: value for name, value in named.items() if inspect.isclass(value) or inspect.isfunction(value)}
    ordered = sorted(values, key=lambda name: (not hasattr(values[name], "__verb__"), inspect.isclass(values[name])))
    places = {name: f"{values[name].__module__}.{values[name].__name__}" for name in ordered}
    entries = [f"### shorthaul.{engine}.{name}\n\n::: {places[name]}\n" for name in ordered]
    return "\n".join([f"## {engine}\n", *entries])


class Keywords(griffe.Extension):
    """Verbs with the signature and the parameters that ``help`` shows."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Show the roles of cross-references as code."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r":\w+:`([\w.]+)`", r"`\1`", obj.docstring.value)

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Take signature and docstring of a verb from the function itself."""
        if not any("verb" in str(decorator.value) for decorator in func.decorators) or "cli" in func.path:
            return
        verb = getattr(importlib.import_module(func.module.path), func.name)
        func.docstring = griffe.Docstring(inspect.getdoc(verb) or "", parent=func)
        func.parameters = griffe.Parameters(
            *(
                griffe.Parameter(
                    item.name,
                    annotation=str(item.annotation),
                    kind=griffe.ParameterKind(item.kind.description),
                    default=None if item.default is item.empty else repr(item.default),
                )
                for item in inspect.signature(verb).parameters.values()
            )
        )
