"""Every snippet of the documentation runs: python blocks in order, and each ``$ shorthaul`` line of console blocks."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import io
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from shorthaul.cli.app import command
from shorthaul.core.search import Search, SearchOptions
from tests.commands import shorthaul
from tests.samples import ALL

ROOT = Path(__file__).parents[1]
TASKS = sorted(path for path in ROOT.joinpath("docs", "tasks").glob("*.md") if path.stem != "index")
PAGES = [ROOT / "README.md", *sorted(ROOT.joinpath("docs").glob("*.md")), ROOT / "docs" / "tasks" / "index.md", *TASKS]
NOTEBOOKS = sorted(ROOT.joinpath("docs", "notebook").glob("*.md"))
HEADINGS = ["Problem", "Model", "Call", "Answer", "Method", "Limits"]
PLACE = re.compile(r"`([\w/]+\.py)(?:::(\w+))?`")
ENGINES = {"tensor", "pebble", "affine", "dataflow", "spatial"}
#: What a search whose answer no page shows is given at most by default.
EFFORT = 0.05
make_search = SearchOptions.make


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def with_files(page: Path, folder: Path) -> None:
    """Put what the snippets of a page read into a folder: the examples, and the files that the page itself shows."""
    if ROOT.joinpath("examples").is_dir():
        folder.joinpath("examples").symlink_to(ROOT / "examples")
    for name, text in re.findall(r'^```\w+ title="([^"/]+)"\n(.*?)^```', page.read_text(), re.DOTALL | re.MULTILINE):
        folder.joinpath(name).write_text(text)


def with_less_effort(words: list[str]) -> list[str]:
    """Return a command that searches less than it says, unless all is asked for: the same code, options and files."""
    if ALL or words[0] not in ENGINES or len(words) < 2:
        return words
    verb = command(words[0]).commands[words[1]]
    if all("--effort" not in option.opts for option in verb.params):
        return words
    if "--effort" in words:
        at = words.index("--effort") + 1
        return [*words[:at], str(min(float(words[at]), EFFORT)), *words[at + 1 :]]
    return [*words, "--effort", str(EFFORT)]


def search_with_less_effort(options: SearchOptions, *arguments: Any, **keywords: Any) -> Search:
    """Make the search of a call that names no effort as :func:`with_less_effort` gives it to a command."""
    effort = EFFORT if options.effort is None and options.time_limit is None else options.effort
    return make_search(dataclasses.replace(options, effort=effort), *arguments, **keywords)


def run_python(page: Path) -> None:
    """Run the blocks of a page with less effort, unless all is asked for; once more as it is where it then says no."""
    namespace: dict[str, object] = {"__name__": "snippet"}
    for number, block in enumerate(blocks(page, "python")):
        code = compile(block, f"{page.name} python block {number + 1}", "exec")
        with contextlib.redirect_stdout(io.StringIO()):
            with (
                contextlib.suppress(AssertionError),
                mock.patch.object(SearchOptions, "make", make_search if ALL else search_with_less_effort),
            ):
                exec(code, namespace)
                continue
            exec(code, namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_pages_are_understood(page: Path) -> None:
    """Verbs, options and what they take: pages of engines and tasks run as a whole among the long studies only."""
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line = part.partition("\n")[0]
            words = shlex.split(line.partition("  # exit ")[0])[1:]
            if line.startswith("shorthaul") and "# exit" not in line and len(words) > 1 and words[0] in ENGINES:
                command(words[0]).commands[words[1]].make_context(words[1], words[2:])


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in ENGINES or page in TASKS else [])
        for page in PAGES
    ],
)
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with_files(page, tmp_path)
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, *answer = part.splitlines()
            if line.startswith("shorthaul"):
                shown, _, comment = line.partition("  # exit ")
                words = shlex.split(shown)[1:]
                done = shorthaul(*(words if answer else with_less_effort(words)), cwd=tmp_path)
                assert done.returncode == int(comment or 0), f"{line}\n{done.stderr}"
                if answer:  # a page may leave the answer out, but not show another one
                    printed = [row.split() for row in done.stdout.splitlines() if not row.startswith("time")]
                    assert printed == [row.split() for row in answer], line
    run_python(page)


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem in ENGINES], ids=lambda page: page.stem)
def test_engine_pages_have_the_same_headings(page: Path) -> None:
    found = re.findall(r"^## (.+)$", page.read_text(), flags=re.MULTILINE)
    assert [heading for heading in found if heading in HEADINGS] == HEADINGS


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#|mailto:|reports/)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_page_of_results_is_what_the_files_say() -> None:
    spec = importlib.util.spec_from_file_location("table", ROOT / "benchmarks" / "table.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    page = made.PAGE.read_text()
    assert made.table() in page
    assert made.least_memories() in page
    measured = {path.stem for path in ROOT.glob("benchmarks/results/*.json")}
    row = r"^\| `benchmarks/(\w+)\.py`(?: into `(\w+)\.json`)? \| \d{4}-\d\d-\d\d \| [0-9a-f]{7,}"
    assert {into or script for script, into in re.findall(row, page, re.MULTILINE)} == measured


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mkdocstrings") is None, reason="the extra docs is not installed")
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr.replace("NO_MKDOCS_2_WARNING", "")
    assert "unrecognized" not in done.stderr
    assert (tmp_path / "site" / "api" / "index.html").stat().st_size > 10**5
    for engine in ENGINES:
        assert (tmp_path / "site" / "reports" / f"{engine}.html").stat().st_size > 10**6


def test_the_map_of_the_papers_leads_somewhere() -> None:
    page = (ROOT / "docs" / "papers.md").read_text()
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")]
    items = [row for row in rows if row != ["| item", "source", "test |"]]
    assert all(len(row) == 3 for row in items)
    for item, source, proof in items:
        for file, name in PLACE.findall(source):
            assert (ROOT / "src" / "shorthaul" / file).is_file(), f"{item}: {file}"
            assert not name
        for file, name in PLACE.findall(proof):
            path = ROOT / "tests" / file
            assert path.is_file(), f"{item}: {file}"
            assert f"\ndef {name}(" in path.read_text(), f"{item}: {file}::{name}"
        assert bool(PLACE.findall(source)) == bool(PLACE.findall(proof)), item


def test_the_map_of_the_papers_leaves_no_number_out() -> None:
    page = (ROOT / "docs" / "papers.md").read_text()
    last = {
        "pebble": {"Figure": 8, "Table": 1, "Algorithm": 1},
        "affine": {"Figure": 8, "Table": 2, "Algorithm": 6},
        "tensor": {"Example": 5},
        "dataflow": {"Figure": 11, "Table": 2, "Algorithm": 5},
        "spatial": {"Figure": 8, "Theorem": 6, "Lemma": 14, "Corollary": 3},
    }
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        engine = section.partition(":")[0]
        titles = "\n".join(line.split(" | ")[0] for line in section.splitlines() if line.startswith("| "))
        for kind, most in last[engine].items():
            assert numbers(titles, kind) == set(range(1, most + 1)), f"{engine}: {kind}"


def numbers(titles: str, kind: str) -> set[int]:
    """Return what ``Figure 3``, ``Figures 5, 6 and 7`` and ``Lemmas 10 to 12`` name."""
    found: set[int] = set()
    plural = {"Corollary": "Corollaries"}.get(kind, f"{kind}s")
    for listed in re.findall(rf"(?:{kind}|{plural}) (\d+(?:(?:, | and | to )\d+)*)(?![.\d])", titles):
        for part in re.split(r", | and ", listed):
            first, _, stop = part.partition(" to ")
            found.update(range(int(first), int(stop or first) + 1))
    return found


def test_a_task_takes_two_commands_and_five_lines() -> None:
    assert len(TASKS) == 12
    index = (ROOT / "docs" / "tasks" / "index.md").read_text()
    for page in TASKS:
        assert f"({page.name})" in index
        (commands,) = blocks(page, "console")
        (code,) = blocks(page, "python")
        assert 1 <= commands.count("$ ") <= 2, page
        assert 1 <= len([line for line in code.splitlines() if line and line != "import shorthaul"]) <= 5, page


def test_lines_are_short() -> None:
    for page in [*PAGES, *NOTEBOOKS]:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        assert not [line for line in text.splitlines() if len(line) > 160 and not line.startswith("|")], page


def test_cells_of_the_page_of_status_are_short() -> None:
    lines = (ROOT / "docs" / "status.md").read_text().splitlines()
    cells = [cell for line in lines if line.startswith("|") for cell in line.split("|")]
    assert cells
    assert not [cell for cell in cells if len(cell) > 300]
