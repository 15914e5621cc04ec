"""The plain twin of every compiled kernel: the same file, run as Python (see docs/kernels.md).

``SHORTHAUL_COMPILED=0`` in the environment runs every kernel so, slowly. :func:`plain` loads the twin of one module
beside the compiled one, and with it the twins of the kernels that it calls.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final

IS_COMPILED: Final = os.environ.get("SHORTHAUL_COMPILED", "1") != "0"

_SOURCE: Final = Path(__file__).parents[3]
#: Where kernels that are not compiled look for one another, as Cython has it; the twins live there.
_PREFIX: Final = "cython.cimports."


def plain(name: str) -> ModuleType:
    """Return the uncompiled twin of a module of kernels.

    Its functions take NumPy arrays and see them as built-in memory views: what they read is a number of Python, and
    what does not fit into the array raises an error instead of wrapping around.
    """
    install()
    return importlib.import_module(name if not IS_COMPILED else _PREFIX + name)


@functools.cache
def install() -> None:
    """Let twins be imported: beside the compiled kernels, or, under ``SHORTHAUL_COMPILED=0``, in their place."""
    try:
        import cython  # noqa: F401
    except ModuleNotFoundError as error:
        message = "kernels run uncompiled only where Cython is installed: pip install 'Cython>=3.3'"
        raise ModuleNotFoundError(message, name="cython") from error
    # Cython's stand-in for this package lacks what the import of a module in it needs.
    sys.modules["cython.cimports"].__spec__ = ModuleSpec("cython.cimports", None, is_package=True)
    sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the twin's file for a module of kernels."""
        if fullname.startswith(_PREFIX + "shorthaul"):
            name = fullname.removeprefix(_PREFIX)
            file = _file_of(name)
            if file.with_suffix("").is_dir():
                spec = ModuleSpec(fullname, None, is_package=True)
                spec.submodule_search_locations = []
                return spec
            if name.endswith("_kernels") and IS_COMPILED:
                return importlib.util.spec_from_file_location(fullname, file, loader=_Twin(fullname, str(file)))
            return ModuleSpec(fullname, _Alias(name))
        if not IS_COMPILED and fullname.startswith("shorthaul.") and fullname.endswith("_kernels"):
            file = _file_of(fullname)
            return importlib.util.spec_from_file_location(fullname, file, loader=_Twin(fullname, str(file)))
        return None


def _file_of(name: str) -> Path:
    return _SOURCE.joinpath(*name.split(".")).with_suffix(".py")


class _Alias(Loader):
    """Gives a module under a second name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(self.name)


class _Twin(SourceFileLoader):
    """Loads a module of kernels whose functions and objects hold memory views where they are given arrays."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        for name, value in list(vars(module).items()):
            if getattr(value, "__module__", None) != module.__name__:
                continue
            if isinstance(value, FunctionType):
                setattr(module, name, _viewing(value))
            elif isinstance(value, type):
                value.__setattr__ = _set_attribute  # type: ignore[assignment]
                for key, method in list(vars(value).items()):
                    if isinstance(method, FunctionType) and key != "__setattr__":
                        setattr(value, key, _viewing(method))


def _viewing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function see arrays as memory views and NumPy's numbers as those of Python."""

    @functools.wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        seen = [value if type(value) in _PLAIN else _viewed(value) for value in args]
        return function(*seen, **{name: _viewed(value) for name, value in options.items()})

    return called


def _set_attribute(item: object, name: str, value: Any) -> None:
    object.__setattr__(item, name, value if type(value) in _PLAIN else _viewed(value))


#: Types whose values are seen as they are; those that twins meet are added, as most calls are on objects of kernels.
_PLAIN: Final[set[type]] = {int, float, memoryview}


def _viewed(value: Any) -> Any:
    import numpy as np

    if isinstance(value, np.ndarray):
        return value.data
    if isinstance(value, np.generic):
        return value.item()
    _PLAIN.add(type(value))
    return value
