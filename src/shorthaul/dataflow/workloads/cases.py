"""Built-in applications by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shorthaul.core.cases import Case, Parameter
from shorthaul.dataflow.model import Application, Problem
from shorthaul.dataflow.workloads import generators


def _alone(build: Callable[..., Application]) -> Callable[..., Problem]:
    def built(**values: Any) -> Problem:
        return Problem(build(**values))

    return built


_FRAME = {
    "width": Parameter(1920, "pixels", least=4, most=32768),
    "height": Parameter(1080, "pixels", least=4, most=32768),
}

CASES: tuple[Case[Problem], ...] = (
    Case("sobel", "Sobel filter: 7 actors, 7 channels, 1 multicast", _alone(generators.sobel), _FRAME),
    Case(
        "sobel4", "Sobel filter on four parts: 23 actors, 29 channels, 4 multicasts", _alone(generators.sobel4), _FRAME
    ),
    Case(
        "multicamera",
        "edge tracking on several cameras: 62 actors, 111 channels, 23 multicasts",
        _alone(generators.multicamera),
        {
            "cameras": Parameter(4, "cameras", most=64),
            "width": Parameter(800, "pixels", least=4, most=32768),
            "height": Parameter(600, "pixels", least=4, most=32768),
        },
    ),
    Case(
        "fig4",
        "Fig. 4 with its mapping: the multicast replaced, period 8",
        lambda: generators.figure1(replaced=True),
        {},
    ),
    Case(
        "fig5", "Fig. 5 with its mapping: the multicast kept, period 7", lambda: generators.figure1(replaced=False), {}
    ),
    Case("fig7", "Fig. 7 with its mapping: everything over one crossbar, period 10", generators.figure7, {}),
    Case(
        "random",
        "random marked graph with delays, cycles and multicasts",
        _alone(generators.random_graph),
        {
            "actors": Parameter(12, "actors besides the multicasts", most=2000),
            "density": Parameter(0.3, "how many channels", least=0, most=1),
            "multicasts": Parameter(2, "multicast actors", least=0, most=200),
            "most": Parameter(2000, "longest execution time in ticks", least=3, most=10**6),
            "seed": Parameter(0, "the seed of the random choices", least=0),
        },
    ),
)
