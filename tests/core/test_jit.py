from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys
sys.path.insert(0, ".")
from shorthaul.core import jit
import sample_kernels
print("warm before", jit.is_warm("sample_kernels"))
jit.announce("sample_kernels", 3)
jit.announce("sample_kernels", 3)
print(sample_kernels.add(1, 2))
print("warm after", jit.is_warm("sample_kernels"))
"""
KERNEL = "from shorthaul.core.jit import kernel\n\n@kernel\ndef add(a: int, b: int) -> int:\n    return a + b\n"


def run(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    together = {**os.environ, **environment}
    return subprocess.run(
        [sys.executable, "-c", CODE], cwd=folder, env=together, capture_output=True, text=True, check=True
    )


def test_kernels_compile_once_and_say_so(tmp_path: Path) -> None:
    tmp_path.joinpath("sample_kernels.py").write_text(KERNEL)
    first = run(tmp_path)
    assert first.stdout.split("\n")[:3] == ["warm before False", "3", "warm after True"]
    assert first.stderr.count("compiling the kernels of sample_kernels") == 1
    second = run(tmp_path)
    assert second.stdout.startswith("warm before True")
    assert "compiling" not in second.stderr


def test_tiered_kernels_are_compiled_for_large_arguments_only(tmp_path: Path) -> None:
    tmp_path.joinpath("sample_kernels.py").write_text(
        KERNEL.replace("import kernel", "import tiered").replace("@kernel", "@tiered(seconds=3)")
    )
    code = CODE.replace('jit.announce("sample_kernels", 3)\n', "").replace(
        "print(sample", "import numpy as np\nsample_kernels.add(np.zeros(10**5), 1)\nprint(sample"
    )
    for source, compiled in ((CODE.replace('jit.announce("sample_kernels", 3)\n', ""), False), (code, True)):
        done = subprocess.run([sys.executable, "-c", source], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.split("\n")[:3] == ["warm before False", "3", f"warm after {compiled}"]
        assert ("compiling the kernels of sample_kernels: about 3 s" in done.stderr) is compiled


def test_plain_python_that_takes_too_long_is_given_up_and_compiled(tmp_path: Path) -> None:
    tmp_path.joinpath("sample_kernels.py").write_text(
        "from shorthaul.core.jit import subroutine, tiered\n\n@subroutine\ndef one(a: int) -> int:\n    return a % 7\n\n"
        "@tiered(seconds=1)\ndef add(a: int, b: int) -> int:\n"
        "    for i in range(10**8):\n        a += one(i)\n    return a + b\n"
    )
    code = CODE.replace('jit.announce("sample_kernels", 3)\n', "") + "print(0 < jit.compiling_s() < 60)\n"
    code = (
        "import sys\nsys.setprofile(print_nothing := lambda *_: None)\n"
        + code
        + "print(sys.getprofile() is print_nothing)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    total = sum(i % 7 for i in range(10**8 // 7 * 7, 10**8)) + 10**8 // 7 * 21 + 3
    assert done.stdout.splitlines() == ["warm before False", str(total), "warm after True", "True", "True"]


def test_kernels_are_plain_python_for_a_moment(tmp_path: Path) -> None:
    sample = "from shorthaul.core.jit import kernel\n\n@kernel\ndef add(a: int, b: int) -> int:\n    return a + b\n"
    code = (
        "import sys, types, itertools\nfrom shorthaul.core import jit\n"
        f"sample = types.ModuleType('shorthaul.sample')\nexec({sample!r}, vars(sample))\n"
        "sys.modules['shorthaul.sample'] = sample\nbefore = sample.add\n"
        "print(jit.interpreted_for(60.0, lambda: sample.add(1, 2)), len(before.signatures))\n"
        "print(jit.interpreted_for(0.01, lambda: [sample.add(1, 2) for _ in itertools.count()]))\n"
        "print(sample.add is before, sample.add(1, 2), len(before.signatures))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["3 0", "None", "True 3 1"]


def test_the_off_switch(tmp_path: Path) -> None:
    tmp_path.joinpath("sample_kernels.py").write_text(KERNEL)
    done = run(tmp_path, SHORTHAUL_JIT="0")
    assert "3" in done.stdout
    assert not list(tmp_path.rglob("*.nbi"))


def test_modules_of_a_group_are_announced_once(tmp_path: Path) -> None:
    tmp_path.joinpath("sample_kernels.py").write_text(KERNEL)
    tmp_path.joinpath("other_kernels.py").write_text(KERNEL)
    code = (
        CODE.replace("import sample_kernels", "import sample_kernels, other_kernels")
        .replace("3)\njit", '3, group="samples")\njit')
        .replace('jit.announce("sample_kernels", 3)\nprint', 'jit.announce("other_kernels", 3, group="samples")\nprint')
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr.count("compiling") == done.stderr.count("the kernels of samples") == 1


def test_what_cannot_be_compiled_in_time_is_left_out_and_named(tmp_path: Path) -> None:
    tmp_path.joinpath("sample_kernels.py").write_text(KERNEL)
    code = (
        CODE.replace(
            'jit.announce("sample_kernels", 3)\n',
            'print("affordable", *(jit.affordable("sample_kernels", 3, left, "adding") for left in (1.0, 2.0, 30.0)))\n',
            1,
        )
        + 'print("affordable", jit.affordable("sample_kernels", 3, 1.0, "adding"))\n'
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "affordable False False True" in done.stdout
    assert done.stdout.endswith("affordable True\n")
    assert done.stderr.count("adding is left out: compiling it takes about 3 s, once, and 1 s are left") == 1
    assert done.stderr.count("left out") == 1


@pytest.mark.parametrize("kind", ["kernel", "subroutine"])
def test_what_is_called_in_another_file_makes_the_cache_stale(kind: str, tmp_path: Path) -> None:
    tmp_path.joinpath("sample_kernels.py").write_text(
        "from inner_kernels import one\n" + KERNEL.replace("return a + b", "return a + one(b)")
    )
    inner = tmp_path / "inner_kernels.py"
    inner.write_text(KERNEL.replace("kernel", kind).replace("add(a: int, b: int)", "one(a: int)").replace("a + b", "a"))
    assert run(tmp_path).stdout.split("\n")[1] == "3"
    assert run(tmp_path).stdout.startswith("warm before True")
    inner.write_text(inner.read_text().replace("return a", "return 10 * a"))
    changed = run(tmp_path)
    assert changed.stdout.split("\n")[:2] == ["warm before False", "21"]


def test_kernels_without_a_place_for_their_cache_compile_every_time_and_say_so(tmp_path: Path) -> None:
    tmp_path.joinpath("sample_kernels.py").write_text(KERNEL)
    nowhere = (
        "from numba.core.dispatcher import Dispatcher\n"
        "def enable_caching(self): raise RuntimeError('no locator available')\n"
        "Dispatcher.enable_caching = enable_caching\n"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", nowhere + CODE], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout.split("\n")[:3] == ["warm before False", "3", "warm after True"]
        assert "about 3 s, every time, as no cache folder can be written: set NUMBA_CACHE_DIR to one" in done.stderr
    assert not list(tmp_path.rglob("*.nbi"))
