"""Every example runs as it stands: scripts, and the cells of the notebooks, which are written from scripts."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import json
import re
import runpy
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.joinpath("notebooks").glob("*.py"))
#: Run by default; the others are the same calls at other workloads, and slow.
QUICK = {"7_check_somebody_elses_plan", "8_write_your_own_input"}


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(script, id=script.stem, marks=[pytest.mark.slow] if script.stem == "distance_to_optimal" else [])
        for script in sorted(EXAMPLES.glob("*.py"))
    ],
)
def test_script(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(script), run_name="__main__")
    assert len(printed.getvalue().splitlines()) >= 3


def writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_notebooks", ROOT / "scripts" / "write_notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_notebooks_are_what_their_scripts_say() -> None:
    assert len(NOTEBOOKS) == 8
    assert [path.stem for path in NOTEBOOKS] == sorted(path.stem for path in EXAMPLES.glob("notebooks/*.ipynb"))
    for script in NOTEBOOKS:
        text = script.with_suffix(".ipynb").read_text()
        assert text == writer().notebook(script.read_text()), f"run scripts/write_notebooks.py for {script.name}"
        code = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        lines = [line for line in script.read_text().splitlines() if line and not line.startswith("#")]
        assert [line for cell in code for line in cell.splitlines() if line and not line.startswith("#")] == lines


@pytest.mark.parametrize(
    "script",
    [pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.slow) for path in NOTEBOOKS],
)
def test_notebook(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "notebook"}
    drawings = 0
    for cell in json.loads(script.with_suffix(".ipynb").read_text())["cells"]:
        if cell["cell_type"] == "code":
            drawings += shown("".join(cell["source"]), namespace).count("<svg ")
    assert drawings >= 1


def shown(cell: str, namespace: dict[str, object]) -> str:
    """Run a cell as a notebook does, and return how it shows the value of its last line."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(tree, "cell", "exec"), namespace)
        if last is None:
            return ""
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
    drawn = getattr(value, "_repr_html_", None)
    return repr(value) if drawn is None else drawn()


def test_the_list_of_examples_names_them_all() -> None:
    listed = set(re.findall(r"^\| `([^`]+)`", EXAMPLES.joinpath("README.md").read_text(), re.MULTILINE))
    found = {path.name for path in EXAMPLES.iterdir() if path.is_file() and path.name != "README.md"}
    assert listed == found | {f"notebooks/{path.stem}.ipynb" for path in NOTEBOOKS}
