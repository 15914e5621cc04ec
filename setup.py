"""Compiles the kernels, ``*_kernels.py``, with Cython (see docs/kernels.md); the rest stands in pyproject.toml.

Pages draw with the script of Plotly, which is put among the data here: 1.4 MiB, where the package takes 64.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from Cython.Build import cythonize
from Cython.Build.Dependencies import DependencyTree, create_dependency_tree
from Cython.Compiler import Options
from Cython.Compiler.Main import Context
from Cython.Compiler.Options import CompilationOptions
from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, ExecError, PlatformError

SOURCE = Path("src")
#: Kernels that check every index, built beside the others into build/checked/lib (make checked).
CHECKED = os.environ.get("SHORTHAUL_CHECKED", "0") == "1"
BUILD = Path("build/checked" if CHECKED else "build")
#: What memory views need at run time, compiled once instead of into every kernel module.
SHARED = "shorthaul.core._memoryviews"
#: -ffp-contract=off keeps a product and a sum two roundings, as in plain Python. Checked kernels run for seconds, and
#: compile in half the time without optimisation.
FLAGS = ["/O2"] if sys.platform == "win32" else ["-O0" if CHECKED else "-O2", "-g0", "-ffp-contract=off"]
#: Kernels of which the processor takes several numbers of a row at once.
OF_ROWS = {"tile_sets_kernels"}
ROW_FLAGS = FLAGS if sys.platform == "win32" or CHECKED else [*FLAGS, "-O3", "-fno-trapping-math"]
WORKERS = int(os.environ.get("SHORTHAUL_BUILD_JOBS", "0")) or os.cpu_count() or 1


class Build(build):
    """``build`` that leaves nothing of earlier builds among the modules: a wheel takes all there is."""

    def run(self) -> None:
        """Build, then remove from the folder of the package what this build did not put there."""
        super().run()
        commands = [self.get_finalized_command(name) for name in self.get_sub_commands()]
        built = {Path(file).resolve() for command in commands for file in command.get_outputs()}
        for path in Path(self.build_lib, "shorthaul").rglob("*"):
            if path.is_file() and path.resolve() not in built:
                path.unlink()


class BuildKernels(build_ext):
    """``build_ext`` that says what is missing where nothing can be compiled, and keeps what is compiled in place."""

    def finalize_options(self) -> None:
        """Compile several modules at once, whoever asks: pip's editable installation loses what options say."""
        super().finalize_options()
        self.parallel = WORKERS

    def run(self) -> None:
        """Compile every module that changed, and remove those whose source has moved."""
        if CHECKED and (self.inplace or self.editable_mode):
            raise SystemExit("checked kernels are not built in place: SHORTHAUL_CHECKED=1 python setup.py build")
        context = Context.from_options(CompilationOptions(include_path=[str(SOURCE)]))
        tree = create_dependency_tree(context, quiet=True)
        changed = translate([ext for ext in self.extensions if not self.keeps(ext, tree)])
        self.changed = {ext.name: ext.sources for ext in changed}
        for ext in self.extensions:
            ext.sources = self.changed.get(ext.name, ext.sources)
        try:
            super().run()
        except (CCompilerError, ExecError, PlatformError) as error:
            message = (
                "the kernels of shorthaul could not be compiled: a C compiler and the headers of Python are needed"
                " (Debian, Ubuntu: apt install gcc python3-dev; macOS: xcode-select --install);"
                f" the compiler said: {error}"
            )
            raise SystemExit(message) from error
        for path in SOURCE.rglob("*_kernels.*.*"):  # a name with a platform's tag: compiled
            if not path.with_name(path.name.partition(".")[0] + ".py").exists():
                path.unlink()

    def keeps(self, ext: Extension, tree: DependencyTree) -> bool:
        """True if the file in place is newer than all it is made from (other flags: ``make clean``)."""
        there = SOURCE / self.get_ext_filename(ext.name)
        if self.force or CHECKED or not there.exists():
            return False
        files = [file for source in ext.sources for file in tree.all_dependencies(source)]
        return there.stat().st_mtime > max((Path(file).stat().st_mtime for file in files), default=0.0)

    def build_extension(self, ext: Extension) -> None:
        """Compile one module, or take the file in place."""
        if ext.name in self.changed:
            super().build_extension(ext)
            return
        there, target = SOURCE / self.get_ext_filename(ext.name), Path(self.get_ext_fullpath(ext.name))
        if target.resolve() != there.resolve():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(there, target)


def kernels() -> list[Extension]:
    """Return an extension for every kernel module, and for what they share."""
    found = []
    for path in sorted(SOURCE.rglob("*_kernels.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        flags = ROW_FLAGS if path.stem in OF_ROWS else FLAGS
        found.append(Extension(name, [path.as_posix()], extra_compile_args=flags))
    return [*found, Extension(SHARED, [], extra_compile_args=FLAGS)]


def translate(changed: list[Extension]) -> list[Extension]:
    """Return extensions whose sources are in C."""
    for ext in changed:
        ext.sources = ext.sources or [f"{SOURCE}/{SHARED.replace('.', '/')}.c"]  # Cython writes it
    Options.emit_code_comments = False
    made: list[Extension] = cythonize(
        changed,
        include_path=[str(SOURCE)],
        build_dir=str(BUILD / "kernels"),
        nthreads=min(WORKERS, 4),
        shared_utility_qualified_name=SHARED,
        compiler_directives={
            "language_level": 3,
            "boundscheck": CHECKED,
            "initializedcheck": CHECKED,
            "show_performance_hints": not CHECKED,
            "wraparound": False,
            "cdivision": True,
            "auto_pickle": False,
            "infer_types": True,  # locals take the types of what is assigned to them
        },
    )
    return made


def put_script_of_plotly() -> None:
    """Put the script that pages draw with among the data of the report."""
    target = SOURCE / "shorthaul" / "report" / "data" / "plotly.min.js.gz"
    found = find_spec("plotly")
    if found is not None and found.origin is not None:
        script = Path(found.origin).parent / "package_data" / "plotly.min.js"
        target.write_bytes(gzip.compress(script.read_bytes(), mtime=0))
    elif not target.exists():
        raise SystemExit("building shorthaul takes the script of Plotly: pip install plotly")


put_script_of_plotly()
setup(
    ext_modules=kernels(),
    cmdclass={"build": Build, "build_ext": BuildKernels},
    options={"build": {"build_base": str(BUILD), "build_lib": str(BUILD / "lib")}},
)
