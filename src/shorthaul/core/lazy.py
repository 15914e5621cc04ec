"""Public names that load their module at first use, so that importing a package costs nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attach(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for ``package``; ``names`` maps a public name to the module that holds it.

    A name that is also the last part of its module (``"tensor": "shorthaul.tensor"``) is that module itself.
    """

    def load(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = names[name]
        value = import_module(module) if module.endswith(f".{name}") else getattr(import_module(module), name)
        # A submodule of the same name (``shorthaul.tensor.plan``) would otherwise shadow the function after its import.
        setattr(sys.modules[package], name, value)
        return value

    def listing() -> list[str]:
        return sorted(names)

    return load, listing
