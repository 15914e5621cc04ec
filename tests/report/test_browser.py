"""The report in a real browser: every figure is drawn, and nothing is asked of a network."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.report.sample import FIGURES, sample

from shorthaul.report.draw import plotly_figure
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


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH")
def test_every_figure_is_drawn(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(render([sample().document()], names=["result.json"]))
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    drawings = sum(plotly_figure(figure) is not None for figure in FIGURES)
    assert len(re.findall(r'class="plot js-plotly-plot"', dom)) == drawings
    assert dom.count('class="main-svg"') >= drawings
