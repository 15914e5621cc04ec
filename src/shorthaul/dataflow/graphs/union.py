"""Several applications as one: side by side on a platform, in one period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from shorthaul.core.arguments import public
from shorthaul.core.errors import InputError, unknown_name
from shorthaul.dataflow.graphs.expansion import unfolded
from shorthaul.dataflow.model import TICKS_PER_SECOND, Actor, Application, PerPhase

_ONCE: Mapping[str, int] = MappingProxyType({})
MOST_ITERATIONS = 1000


@public
def together(applications: Mapping[str, Application], iterations: Mapping[str, int] = _ONCE) -> Application:
    """Return several applications as one, to be planned side by side on one platform.

    A period holds one iteration of each, or as many as ``iterations`` says. Actor ``a`` of application ``x`` is
    ``x.a`` then, its firing k ``x.a#k``, and so are channels. Times are in the finest unit of all.

    Parameters
    ----------
    applications : Mapping[str, Application]
        The networks by name.
    iterations : Mapping[str, int], default {}
        Iterations of a network in one period, where that is not one.

    Returns
    -------
    Application
        The networks as one.

    Raises
    ------
    InputError
        If nothing or something unknown is named, or a number of iterations is out of range.

    Examples
    --------
    >>> from shorthaul.dataflow.workloads.generators import figure7
    >>> both = together({"slow": figure7().application, "fast": figure7().application}, {"fast": 2})
    >>> len(both.actors), both.actors[-1].id
    (15, 'fast.a5#1')
    """
    if not applications:
        raise InputError("names no application", place="applications", allowed="one or more")
    for name, count in iterations.items():
        if name not in applications:
            raise unknown_name("application", name, applications, place="iterations")
        if not 1 <= count <= MOST_ITERATIONS:
            allowed = f"1 to {MOST_ITERATIONS}"
            raise InputError("is out of range", place=f"iterations.{name}", value=count, allowed=allowed)
    finest = max(applications.values(), key=lambda application: application.ticks_per_second)
    actors, channels = [], []
    for name, application in applications.items():
        count = iterations.get(name, 1)
        one = application if count == 1 else unfolded(application, count)
        ticks = finest.ticks_per_second // TICKS_PER_SECOND[one.time_unit]
        for actor in one.actors:
            tau = {kind: _longer(time, ticks) for kind, time in actor.tau.items()}
            actors.append(Actor(f"{name}.{actor.id}", tau, actor.kind))
        channels += [
            replace(c, id=f"{name}.{c.id}", src=f"{name}.{c.src}", dst=f"{name}.{c.dst}") for c in one.channels
        ]
    return Application(" + ".join(applications), tuple(actors), tuple(channels), finest.time_unit)


def _longer(time: PerPhase | None, factor: int) -> PerPhase | None:
    if isinstance(time, tuple):
        return tuple(factor * ticks for ticks in time)
    return None if time is None else factor * time
