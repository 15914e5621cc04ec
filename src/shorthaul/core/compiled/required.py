"""Refuses kernels that are not compiled: their plain twins do not fit beside compiled ones."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder
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
        return spec
