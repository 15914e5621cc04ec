"""Refuses kernels that are not compiled: their plain twins do not fit beside compiled ones."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Final

#: How a kernel that is missing is made.
CURE: Final = "make kernels, or pip install . (SHORTHAUL_COMPILED=0 runs all kernels as plain Python, slowly)"
#: What the memory views of all kernels share.
_SHARED: Final = "shorthaul.core._memoryviews"


def install() -> None:
    """Let no kernel be imported as plain Python."""
    sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def __init__(self) -> None:
        """Look for changed files in a checkout alone: an installed package has no build script beside it."""
        self.looks_for_changes = Path(__file__).parents[4].joinpath("setup.py").exists()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the compiled file of a module of kernels."""
        if not (fullname.endswith("_kernels") or fullname == _SHARED) or not fullname.startswith("shorthaul."):
            return None
        spec = PathFinder.find_spec(fullname, path)
        is_missing = fullname == _SHARED if spec is None else not isinstance(spec.loader, ExtensionFileLoader)
        if is_missing:
            from shorthaul.core.errors import MissingKernelError

            version = ".".join(map(str, sys.version_info[:2]))
            raise MissingKernelError(f"{fullname}: is not compiled for Python {version}\n  do:      {CURE}")
        if self.looks_for_changes and spec is not None and fullname != _SHARED:
            compiled = Path(str(spec.origin))
            source = compiled.with_name(f"{fullname.rpartition('.')[2]}.py")
            if source.exists() and source.stat().st_mtime > compiled.stat().st_mtime:
                self.looks_for_changes = False  # told once
                print(f"{fullname}: has changed since it was compiled\n  do:      make kernels", file=sys.stderr)
        return spec
