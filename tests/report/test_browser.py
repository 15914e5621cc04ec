"""The report in a real browser: every figure is drawn, and nothing is asked of a network."""

from __future__ import annotations

import json
import re

import pytest
from benchmarks.browser import CHROMIUM, found_in
from tests.report.sample import FIGURES, sample

from shorthaul.core.drawing.plots import plotly_figure
from shorthaul.report.html import render

#: Waits until all drawings near the window are complete, then tells the whole document. The page looks 500 pixels ahead.
_DOCUMENT = """
const near = plot => plot.checkVisibility() && plot.getBoundingClientRect().top < innerHeight + 490;
const plots = () => [...document.querySelectorAll(".plot")].filter(near);
while (!plots().every(plot => plot.querySelector(".main-svg"))) await new Promise(requestAnimationFrame);
for (const plot of plots()) await Plotly.relayout(plot, {});
tell(document.documentElement.outerHTML);
"""


@pytest.fixture(scope="module")
def dom() -> str:
    return dom_of()


def dom_of(*flags: str, height: int = 20_000) -> str:
    page = render([sample().document()], names=["result.json"])
    return str(json.loads(found_in(page, _DOCUMENT, (1280, height), *flags)))


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH")
def test_every_figure_is_drawn(dom: str) -> None:
    shown = [figure for figure in FIGURES if getattr(figure, "point", "") in {"", "p"}]
    drawings = sum(plotly_figure(figure) is not None for figure in shown)
    hidden = re.findall(r'<section data-point="(.)"( hidden="")?>', dom)
    assert [(point, bool(flag)) for point, flag in hidden] == [("p", False), ("q", True), ("q", True)]
    assert len(re.findall(r'class="plot js-plotly-plot"', dom)) == drawings
    assert dom.count('class="main-svg"') >= drawings
    buttons = set(re.findall(r'class="modebar-btn[^>]*data-title="([^"]+)"', dom))
    assert len(buttons) >= 5
    assert not any(re.search("share|cloud|studio", button, re.IGNORECASE) for button in buttons)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH")
def test_a_short_window_in_the_dark(dom: str) -> None:
    """Only what is near the view is drawn, with light labels."""
    dark = dom_of("--blink-settings=preferredColorScheme=0", height=600)
    seen, all_of_them = (text.count("js-plotly-plot") for text in (dark, dom))
    assert 0 < seen < all_of_them
    labels = r'<text class="[xy]title"[^>]*fill: rgb\(([0-9, ]+)\)'
    assert set(re.findall(labels, dom)) == {"31, 41, 51"}
    assert set(re.findall(labels, dark)) == {"228, 231, 235"}
