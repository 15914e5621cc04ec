"""Compiles all tests as pytest does, where a new clone would leave that to each of its processes: ``-p tests.compiled``.

Collecting does so too, but also imports and lists all that there is, which takes as long again.
"""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing
import py_compile
from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> bool:
    """Compile in place of collecting."""
    paths = [path for path in Path(__file__).parent.rglob("*.py") if "scripts" not in path.parts]
    rewriting = session.config.pluginmanager.rewrite_hook

    def compile_some(some: list[Path]) -> None:
        for path in some:
            if not path.match("test_*.py"):
                py_compile.compile(str(path))
            elif (spec := importlib.util.spec_from_file_location("any", path, loader=rewriting)) is not None:
                module = importlib.util.module_from_spec(spec)
                vars(module)["__builtins__"] = {}  # what is kept by now is not run: it ends at the first import
                with contextlib.suppress(ImportError):
                    rewriting.exec_module(module)

    other = multiprocessing.get_context("fork").Process(target=compile_some, args=(paths[1::2],))
    other.start()
    compile_some(paths[::2])
    other.join()
    return True
