"""The wheel holds all that runs, compiled: it is installed and used where there is neither a compiler nor Cython."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from tests.test_architecture import SOURCE, module_name
from tests.test_kernels import KERNELS

from shorthaul.core.compiled.twins import IS_COMPILED

ROOT = Path(__file__).parents[2]
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
#: One job of every engine.
JOBS = """
from shorthaul import affine, dataflow, pebble, spatial, tensor
results = (
    pebble.plan("fft:n=16,word=1", budget=8, effort=0.02),
    affine.plan("gemm", size="NI=8,NJ=8,NK=8,S=20", effort=0.02),
    tensor.plan("example-3", effort=0.02),
    dataflow.plan("sobel", effort=0.02),
    spatial.plan("yule:n=1000", effort=0.02),
)
print([result.check.ok for result in results])
"""
BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
LOADED = """
import importlib, json, sys
files = [importlib.import_module(name).__file__ for name in sys.argv[1:]]
print(json.dumps({"files": files, "cython": "cython" in sys.modules}))
"""


@pytest.mark.skipif(not IS_COMPILED, reason="kernels run as plain Python")
@pytest.mark.skipif(os.name == "nt", reason="POSIX paths of environments")
def test_the_wheel_runs_without_a_compiler(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path / "dist")
    assert contents(wheel) == expected_contents()
    programs = installed(wheel, tmp_path / "venv")
    compiled = [*map(module_name, KERNELS), "shorthaul.core._memoryviews"]
    loaded = json.loads(run(programs, "python", "-c", LOADED, *compiled))
    assert loaded["cython"] is False
    for name, file in zip(compiled, loaded["files"], strict=True):
        assert file.endswith(f"{name.replace('.', '/')}{SUFFIX}")
        assert Path(file).is_relative_to(tmp_path)
    assert json.loads(run(programs, "shorthaul", "tensor", "plan", "example-3", "--json"))["check"]["ok"]
    assert run(programs, "python", "-c", JOBS).strip() == str([True] * 5)


def build_wheel(folder: Path) -> Path:
    """Build as pip does for ``make wheel``, but at once, with a module of an earlier build lying about."""
    left_over = ROOT / "build" / "lib" / "shorthaul" / "left_over.py"
    left_over.parent.mkdir(parents=True, exist_ok=True)
    left_over.touch()
    folder.mkdir()
    python("-c", BUILD, str(folder), cwd=ROOT)
    (wheel,) = folder.iterdir()
    return wheel


def contents(wheel: Path) -> set[str]:
    """Return the files in a wheel but its own records."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def expected_contents() -> set[str]:
    """Return every file of the sources and what is compiled from them."""
    sources = [path for path in SOURCE.rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    compiled = [*(path.with_suffix("") for path in KERNELS), SOURCE / "core" / "_memoryviews"]
    return {path.relative_to(SOURCE.parent).as_posix() for path in sources if path.suffix not in {".so", ".pyd"}} | {
        f"{path.relative_to(SOURCE.parent).as_posix()}{SUFFIX}" for path in compiled
    }


def installed(wheel: Path, folder: Path) -> Path:
    """Install into a fresh environment that borrows what the wheel depends on; return the folder of its programs."""
    venv.create(folder, with_pip=False, symlinks=True)
    programs = folder / "bin"
    pip = ("-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(programs / "python"))
    python(*pip, "install", "--no-deps", "--no-index", "--no-compile", str(wheel))
    (packages,) = folder.glob("lib/python*/site-packages")
    borrowed = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    (packages / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
    return programs


def python(*arguments: str, cwd: Path | None = None) -> None:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=cwd, env=clean_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def clean_environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SHORTHAUL_", "CC"))}


def run(programs: Path, program: str, *arguments: str) -> str:
    """Run a program of the environment outside of the checkout, with nothing else on the path; return what it prints."""
    environment = {**clean_environment(), "PATH": str(programs)}
    for compiler in ("cc", "gcc", "clang", "c++"):
        assert shutil.which(compiler, path=environment["PATH"]) is None
    done = subprocess.run(
        [programs / program, *arguments],
        cwd=programs.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
