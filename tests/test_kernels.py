"""Every kernel is compiled, from the file as it is, and compared with its plain twin."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shorthaul
from shorthaul.core.compiled.twins import IS_COMPILED, plain
from tests.test_architecture import MODULES, module_name
from tests.twins import assert_agree

KERNELS = [path for path in MODULES if path.stem.endswith("_kernels")]


@pytest.mark.skipif(not IS_COMPILED, reason="kernels run as plain Python")
def test_kernels_are_compiled_from_their_files() -> None:
    for path in KERNELS:
        compiled = Path(importlib.import_module(module_name(path)).__file__)
        assert compiled.suffix in {".so", ".pyd"}, "run make kernels"
        sources = [path, *([path.with_suffix(".pxd")] if path.with_suffix(".pxd").exists() else [])]
        assert compiled.stat().st_mtime >= max(source.stat().st_mtime for source in sources), "run make kernels"


def test_kernels_are_compared_with_their_twins() -> None:
    text = "".join(test.read_text() for test in Path(__file__).parent.rglob("test_kernels.py"))
    assert not [name for name in map(module_name, KERNELS) if f'"{name}"' not in text]


def test_random_words_agree() -> None:
    random = importlib.import_module("shorthaul.core.compiled.random_kernels")
    assert random.words(random.Random(1), 2) == [10451216379200822465, 13757245211066428519]  # those of SplitMix64
    assert_agree(
        "shorthaul.core.compiled.random_kernels",
        lambda kernels, rng: kernels.words(kernels.Random(int(rng.integers(9))), 50),
    )


def test_random_numbers_are_even() -> None:
    random = plain("shorthaul.core.compiled.random_kernels").Random(7)
    counts = np.bincount([random.below(6) for _ in range(6000)], minlength=6)
    assert len(counts) == 6
    assert abs(counts - 1000).max() < 150
    reals = [random.real() for _ in range(2000)]
    assert 0 <= min(reals) < 0.01
    assert 0.99 < max(reals) < 1


def test_every_kernel_runs_as_plain_python_when_asked() -> None:
    code = (
        "import numpy as np; from shorthaul.graphs.replay import belady_loads as b; import shorthaul.graphs.replay_kernels as k;"
        "print(k.__file__.endswith('.py'), b(np.array([1, 2]), np.array([0, 0, 1, 2]), np.array([0, 0]), capacity=2))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"SHORTHAUL_COMPILED": "0", **clean_environment()},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "True [1 0]\n", done.stderr


def clean_environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("SHORTHAUL_")}


def test_what_does_not_fit_into_an_array_is_an_error_in_a_twin() -> None:
    kernels = plain("shorthaul.graphs.replay_kernels")
    loads = np.full(1, 2**63 - 1)
    with pytest.raises(ValueError, match="memoryview"):
        kernels.belady(np.array([1]), np.array([0, 0, 1]), np.array([0]), 5, loads)


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package, its files as links: what Python compiles there serves the next command too."""
    folder = tmp_path_factory.mktemp("linked")
    package = Path(shorthaul.__file__).parent
    shutil.copytree(
        package, folder / "shorthaul", copy_function=os.symlink, ignore=shutil.ignore_patterns("__pycache__")
    )
    return folder


@pytest.mark.skipif(not IS_COMPILED, reason="kernels run as plain Python")
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("dataflow/modulo/selection_kernels", "dataflow plan sobel --effort 0.01"),  # others see its classes
        pytest.param("graphs/csr_kernels", "pebble bound examples/fir.dot --budget 192", marks=pytest.mark.slow),
        ("core/_memoryviews", "pebble bound examples/fir.dot --budget 192"),
        ("graphs/tree_kernels", "doctor"),
    ],
)
def test_a_kernel_that_is_not_compiled_is_named(linked: Path, name: str, command: str) -> None:
    place = linked / "shorthaul" / name
    (compiled,) = (item for item in place.parent.glob(f"{place.name}.*") if item.suffix in {".so", ".pyd"})
    file = compiled.readlink()
    compiled.unlink()
    done = subprocess.run(
        [sys.executable, "-m", "shorthaul", *command.split()],
        env={**clean_environment(), "PYTHONPATH": str(linked)},
        check=False,
        capture_output=True,
        text=True,
    )
    compiled.symlink_to(file)
    assert done.returncode == 2, done.stderr
    if command == "doctor":
        assert re.search(f"{name} +missing +make kernels", done.stdout), done.stdout
    else:
        assert done.stderr.startswith(f"shorthaul.{name.replace('/', '.')}: is not compiled for Python 3.")
        assert "make kernels" in done.stderr.splitlines()[1]


@pytest.mark.skipif(not IS_COMPILED, reason="kernels run as plain Python")
@pytest.mark.parametrize("script", ["setup.py", "none"])
def test_kernels_that_changed_since_they_were_compiled_are_told_once_in_a_checkout(tmp_path: Path, script: str) -> None:
    package, copy = Path(shorthaul.__file__).parent, tmp_path / "src" / "shorthaul"
    tmp_path.joinpath(script).touch()
    for name in ("core", "graphs"):  # a file that is linked to says where it lies
        shutil.copytree(package / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(package / "__init__.py", copy)
    for kernels in (copy / "graphs").glob("*_kernels.py"):
        os.utime(kernels)
    code = "import shorthaul.graphs.tree_kernels, shorthaul.graphs.replay_kernels"
    environment = {**clean_environment(), "PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    told = "shorthaul.graphs.tree_kernels: has changed since it was compiled\n  do:      make kernels\n"
    assert done.stderr == (told if script == "setup.py" else "")
