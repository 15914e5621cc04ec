"""Compiles the kernels, ``*_kernels.py``, with Cython (see docs/kernels.md); the rest stands in pyproject.toml."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, ExecError, PlatformError

SOURCE = Path("src")
#: With bounds checked in every access, for hunting a defect: slower by a half.
CHECKED = os.environ.get("SHORTHAUL_CHECKED", "0") == "1"
#: What memory views need at run time, compiled once instead of into every kernel module.
SHARED = "shorthaul.core._memoryviews"
#: -ffp-contract=off keeps a product and a sum two roundings, as in plain Python.
FLAGS = ["/O2"] if sys.platform == "win32" else ["-O2", "-g0", "-ffp-contract=off"]
WORKERS = int(os.environ.get("SHORTHAUL_BUILD_JOBS", "0")) or os.cpu_count() or 1


class BuildKernels(build_ext):
    """``build_ext`` that says what is missing where nothing can be compiled, and keeps what is compiled in place."""

    _keeps = False

    def run(self) -> None:
        """Compile every module; in place, and for an editable installation, those that changed."""
        self._keeps = (self.inplace or self.editable_mode) and not self.force
        try:
            super().run()
        except (CCompilerError, ExecError, PlatformError) as error:
            message = (
                "the kernels of shorthaul could not be compiled: a C compiler and the headers of Python are needed"
                " (Debian, Ubuntu: apt install gcc python3-dev; macOS: xcode-select --install);"
                f" the compiler said: {error}"
            )
            raise SystemExit(message) from error

    def build_extension(self, ext: Extension) -> None:
        """Compile one module, unless the file in place is newer than its source."""
        there = SOURCE / self.get_ext_filename(ext.name)
        sources = [Path(source) for source in (*ext.sources, __file__)]
        if self._keeps and there.exists() and there.stat().st_mtime > max(path.stat().st_mtime for path in sources):
            target = Path(self.get_ext_fullpath(ext.name))
            if target.resolve() != there.resolve():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(there, target)
        else:
            super().build_extension(ext)


def kernels() -> list[Extension]:
    """Return an extension for every kernel module, and for what they share."""
    found = []
    for path in sorted(SOURCE.rglob("*_kernels.py")):
        if re.search(r"^import cython$", path.read_text(encoding="utf-8"), re.MULTILINE):
            name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            found.append(Extension(name, [path.as_posix()], extra_compile_args=FLAGS))
    return [*found, Extension(SHARED, [f"{SOURCE}/{SHARED.replace('.', '/')}.c"], extra_compile_args=FLAGS)]


Options.emit_code_comments = False
setup(
    ext_modules=cythonize(
        kernels(),
        include_path=[str(SOURCE)],
        build_dir="build/checked" if CHECKED else "build/kernels",
        nthreads=min(WORKERS, 4),
        shared_utility_qualified_name=SHARED,
        compiler_directives={
            "language_level": 3,
            "boundscheck": CHECKED,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
            "auto_pickle": False,
        },
    ),
    cmdclass={"build_ext": BuildKernels},
    options={"build_ext": {"parallel": WORKERS}},
)
