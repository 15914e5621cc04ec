"""Frames per second of a timeline of 10^6 intervals, moved by keys in headless Chromium, at four zooms.

``python benchmarks/timeline.py [INTERVALS]`` needs Chromium on PATH; no graphics processor is used.
"""

from __future__ import annotations

import random
import sys

from browser import CHROMIUM, found_in

from shorthaul.core.figure import Bar, Bars
from shorthaul.core.result import Result, Status
from shorthaul.report.html import render

LANES = 24
MEASURE = """
const canvas = document.querySelector("canvas"), found = {opened_ms: Math.round(performance.now())};
const press = key => canvas.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
for (const zooms of [0, 4, 12, 24]) {
  press("Home");
  for (let count = 0; count < zooms; count++) press("+");
  const begun = performance.now();
  for (let frame = 0; frame < 60; frame++) {
    press(frame % 40 < 20 ? "ArrowRight" : "ArrowLeft");
    await new Promise(requestAnimationFrame);
  }
  found[`zoomed in ${2 ** zooms} times`] = Math.round(60000 / (performance.now() - begun));
}
tell(found);
"""


def timeline(intervals: int) -> Bars:
    """Return a timeline of random intervals on 24 lanes, in three groups."""
    draw, bars = random.Random(1), []
    for lane in range(LANES):
        now = 0
        while len(bars) < (lane + 1) * intervals // LANES:
            stop = now + draw.randint(1, 9)
            bars.append(Bar(f"core {lane}", now, stop, f"t{len(bars)}", ("read", "write", "run")[len(bars) % 3]))
            now = stop + draw.randint(0, 2)
    return Bars("Timeline", "ticks", tuple(bars))


def main() -> None:
    """Print the time to open the page and the frames per second."""
    if CHROMIUM is None:
        sys.exit("no Chromium on PATH")
    intervals = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    result = Result("benchmark", Status.FEASIBLE, figures=(timeline(intervals),))
    print(found_in(render([result.document()], names=["timeline"]), MEASURE))


if __name__ == "__main__":
    main()
