"""The report in a real browser: every figure is drawn, and nothing is asked of a network."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.report.sample import FIGURES, sample

from shorthaul.core.drawing.plots import plotly_figure
from shorthaul.report.html import render

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=10000",
]


@pytest.fixture(scope="module")
def dom(tmp_path_factory: pytest.TempPathFactory) -> str:
    return dom_of(tmp_path_factory.mktemp("browser"))


def dom_of(folder: Path, *flags: str, height: int = 20_000) -> str:
    page = folder / "report.html"
    page.write_text(render([sample().document()], names=["result.json"]))
    command = [
        str(CHROMIUM),
        *FLAGS,
        *flags,
        f"--window-size=1280,{height}",
        f"--user-data-dir={folder / 'profile'}",
        "--dump-dom",
        page.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout


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
def test_a_short_window_in_the_dark(dom: str, tmp_path: Path) -> None:
    """Only what is near the view is drawn, with light labels."""
    dark = dom_of(tmp_path, "--blink-settings=preferredColorScheme=0", height=600)
    seen, all_of_them = (text.count("js-plotly-plot") for text in (dark, dom))
    assert 0 < seen < all_of_them
    labels = r'<text class="[xy]title"[^>]*fill: rgb\(([0-9, ]+)\)'
    assert set(re.findall(labels, dom)) == {"31, 41, 51"}
    assert set(re.findall(labels, dark)) == {"228, 231, 235"}
