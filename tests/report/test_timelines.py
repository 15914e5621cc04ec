"""Pages one works in: long timelines whole, linked panels, words and tables beside drawings, two results compared."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib.resources import files
from typing import Any

import pytest
from tests.report.sample import FIGURES, sample

from shorthaul.core.drawing.plots import plotly_figure
from shorthaul.core.figure import Bar, Bars, Scatter
from shorthaul.core.result import Result
from shorthaul.report.html import render

NODE = shutil.which("node")
SCRIPT = files("shorthaul.report").joinpath("data/timeline.js").read_text()


def page_of(*figures: Any) -> str:
    return render([Result(kind="shorthaul/x-result", status=None, figures=figures).document()], names=["x.json"])


def embedded(page: str, name: str) -> list[Any]:
    return [
        json.loads(text)
        for text in re.findall(rf'<script type="application/json" data-{name}="[^"]+">(.*?)</script>', page)
    ]


def test_no_interval_of_a_long_timeline_is_left_out() -> None:
    bars = tuple(
        Bar(f"core {at % 5}", (at * 7919) % 9001, (at * 7919) % 9001 + 1 + at % 3, f"</script>{at}")
        for at in range(9000)
    )
    page = page_of(Bars("Schedule", "ticks", bars))
    (data,) = embedded(page, "timeline")
    found = [
        (data["lanes"][lane], start, stop, label)
        for lane, start, stop, label in zip(data["lane"], data["start"], data["stop"], data["label"], strict=True)
    ]
    assert sorted(found) == sorted((bar.lane, bar.start, bar.stop, bar.label) for bar in bars)
    assert [(lane, start) for lane, start in zip(data["lane"], data["start"], strict=True)] == sorted(
        zip(data["lane"], data["start"], strict=True)
    )
    assert "8,800 more rows" in page
    assert embedded(page, "plot") == []


#: Random intervals, nested and of no length; every window: the pixels that are drawn against those that should be.
COMPARED = """
const many = +process.argv[2], lanes = 3, width = 400;
let seed = 1;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
const bars = Array.from({length: many}, () => {
  const start = Math.floor(random() * 1e6);
  return [Math.floor(random() * lanes), start, start + Math.floor(random() ** 8 * 20000)];
}).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
const data = {lanes: ["a", "b", "c"], lane: bars.map(b => b[0]), start: bars.map(b => b[1]), stop: bars.map(b => b[2])};
const index = timelineIndex(data);
let wrong = 0, calls = 0, most = 0;
for (const [from, to] of [[0, 1e6], [1000, 5000], [999000, 1010000], [500000, 500050], [-10, -1]]) {
  for (let lane = 0; lane < lanes; lane++) {
    const seen = new Set(), wanted = new Set(), scale = width / (to - from);
    const paint = (set, left, right) => { for (let x = Math.max(0, left); x < Math.min(width, right); x++) set.add(x); };
    const begun = performance.now();
    inView(index, lane, from, to, width, (at, left, size) => { calls++; paint(seen, left, Math.ceil(left + size)); });
    most = Math.max(most, performance.now() - begun);
    for (const [own, start, stop] of bars) {
      if (own !== lane || stop < from || start > to) continue;
      const left = Math.floor((start - from) * scale), right = (stop - from) * scale;
      paint(wanted, left, Math.ceil(left + Math.max(1, right - left)));
    }
    if (seen.size !== wanted.size || [...wanted].some(x => !seen.has(x))) wrong++;
  }
}
console.log(JSON.stringify({wrong, calls, most}));
"""


def compared(many: int) -> dict[str, float]:
    done = subprocess.run(
        [str(NODE), "-", str(many)], input=SCRIPT + COMPARED, capture_output=True, text=True, check=True
    )
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


@pytest.mark.skipif(NODE is None, reason="no node on PATH")
def test_what_is_in_view_is_drawn_and_little_else() -> None:
    found = compared(20_000)
    assert found["wrong"] == 0
    assert found["calls"] < 20_000


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="no node on PATH")
def test_a_million_intervals_take_few_strokes() -> None:
    found = compared(1_000_000)
    assert found["wrong"] == 0
    assert found["calls"] < 500_000


def test_panels_of_a_front_hold_every_pair_of_axes_and_know_their_points() -> None:
    front = Scatter("Front", ("period", "bytes", "cost"), ((1, 2, 3), (2, 1, 3), (3, 1, 1)), groups=("x", "x", "y"))
    drawn = plotly_figure(front)
    assert drawn is not None
    titles = {name: axis["title"]["text"] for name, axis in drawn["layout"].items() if re.match("[xy]axis", name)}
    pairs = {(titles[f"xaxis{t['xaxis'][1:]}"], titles[f"yaxis{t['yaxis'][1:]}"]) for t in drawn["data"]}
    assert pairs == {("period", "bytes"), ("period", "cost"), ("bytes", "cost")}
    for trace in drawn["data"]:
        axes = [front.axes.index(titles[f"{letter}axis{trace[f'{letter}axis'][1:]}"]) for letter in "xy"]
        shown = list(zip(trace["x"], trace["y"], strict=True))
        assert shown == [tuple(front.points[at][axis] for axis in axes) for at in trace["customdata"]]
    assert sum(trace["showlegend"] for trace in drawn["data"]) == 2


def test_every_drawing_has_words_and_a_table_and_every_box_takes_the_keyboard() -> None:
    page = page_of(*FIGURES)
    drawings = sum(plotly_figure(figure) is not None for figure in FIGURES)
    assert len(re.findall(r'role="figure" aria-label="[^"]+: [^"]+"', page)) == drawings
    assert page.count("as a table</summary>") == drawings
    assert page.count('<div class="scroll"') == page.count('<div class="scroll" tabindex="0" role="group" aria-label="')
    assert "Front: 3 points. period from 1 to 3, bytes from 1 to 2, cost from 1 to 3." in page


def test_two_results_are_compared() -> None:
    first = sample().document()
    second = {**first, "cost": {"traffic": 15, "loads": 6}}
    page = render([first, second], names=["a.json", "b.json"])
    (row,) = re.findall(r"<tr><td>second against first</td>(.*?)</tr>", page)
    assert re.findall(r">([^<>]*)</td>", row) == ["", "", "+25.00%", "-25.00%", "+0.00%", ""]
    assert "second against first" not in render([first, second, first], names=["a", "b", "c"])
