"""Public names that load their module at first use, so that importing a package costs nothing.

Our own, since lazy_loader 0.6 lets a submodule of the name of a public function (``shorthaul.pebble.plan``) hide the
function once the submodule has been imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


def attach(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for ``package``; ``names`` maps a public name to the module that holds it.

    A name whose module is its own (``"tensor": "shorthaul.tensor"``) is that module itself. A public
    name of another module wins over a submodule of that name: ``shorthaul.pebble.plan`` is the function, whatever was
    imported before.
    """

    class Package(ModuleType):
        def __setattr__(self, name: str, value: Any) -> None:
            # Importing a submodule binds it in its package, which would hide the public name.
            if isinstance(value, ModuleType) and names.get(name, value.__name__) != value.__name__:
                return
            super().__setattr__(name, value)

    sys.modules[package].__class__ = Package

    def load(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = names[name]
        value = import_module(module) if module == f"{package}.{name}" else getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(names)
