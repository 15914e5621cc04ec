"""Pages audited by axe in headless Chromium, at the width of a screen and of a phone: nothing found, nothing fetched."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
from benchmarks.browser import CHROMIUM, found_in
from tests.report.sample import sample
from tests.surface.test_figures_of_verbs import VERBS

from shorthaul.report.html import render

_AXE = find_spec("axe_core_python")
pytestmark = pytest.mark.skipif(CHROMIUM is None or _AXE is None, reason="no Chromium on PATH, or axe-core-python")

_SCREEN, _PHONE = (1280, 900), (390, 844)
_AUDIT = """
while (document.querySelector("[data-plot]") && !document.querySelector(".main-svg")) await new Promise(requestAnimationFrame);
const {violations, passes} = await axe.run();
tell({passed: passes.length, found: violations.map(({id, nodes}) => `${id}: ${nodes[0].html}`)});
"""


def _audited(page: str, size: tuple[int, int]) -> list[str]:
    """Return what axe finds on a page."""
    assert _AXE is not None
    assert _AXE.origin is not None
    axe = Path(_AXE.origin).with_name("axe.min.js").read_text(encoding="utf-8")
    answer = json.loads(found_in(page, f"{axe}\n{_AUDIT}", size))
    assert answer["passed"] > 10  # rules that had something to look at
    return list(answer["found"])


def test_the_audit_finds_what_is_wrong_and_nothing_else() -> None:
    page = render([sample().document()], names=["result.json"])
    assert _audited(page.replace("<html lang", "<html data-lang"), (390, 844)) == [
        'html-has-lang: <html data-lang="en">'
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "size"), [*((verb, _PHONE) for verb in VERBS), *((verb, _SCREEN) for verb in VERBS if "plan" in verb)]
)
def test_the_page_of_every_verb(verb: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert _audited(render([VERBS[verb][0]().document()], names=["result.json"]), size) == []
