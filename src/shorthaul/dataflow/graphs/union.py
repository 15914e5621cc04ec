"""Several applications as one: side by side on a platform, in one period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from shorthaul.core.arguments import public
from shorthaul.core.errors import InputError, unknown_name
from shorthaul.dataflow.graphs.expansion import to_sdf
from shorthaul.dataflow.graphs.multirate import repetition_vector
from shorthaul.dataflow.model import TICKS_PER_SECOND, Actor, Application, PerPhase, phases

_ONCE: Mapping[str, int] = MappingProxyType({})
MOST_ITERATIONS = 1000


@public
def together(applications: Mapping[str, Application], iterations: Mapping[str, int] = _ONCE) -> Application:
    """Return several applications as one, to be planned side by side on one platform.

    A period holds one iteration of each, or as many as ``iterations`` says: its actors have as many phases then as they
    fire in a period. Actor ``a`` of application ``x`` is ``x.a``, its firing k ``x.a#k``, and so are channels. Times
    are in the finest unit of all.

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
    (10, 'fast.a5')
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
        fires = repetition_vector(to_sdf(application))
        ticks = finest.ticks_per_second // TICKS_PER_SECOND[application.time_unit]
        for actor in application.actors:
            turns = 1 if count == 1 else count * fires[actor.id]
            tau = {kind: _longer(time, ticks, turns) for kind, time in actor.tau.items()}
            actors.append(Actor(f"{name}.{actor.id}", tau, actor.kind))
        channels += [
            replace(c, id=f"{name}.{c.id}", src=f"{name}.{c.src}", dst=f"{name}.{c.dst}") for c in application.channels
        ]
    return Application(" + ".join(applications), tuple(actors), tuple(channels), finest.time_unit)


def _longer(time: PerPhase | None, factor: int, turns: int) -> PerPhase | None:
    """Return the time in a finer unit, of so many firings in turn."""
    if isinstance(time, tuple) or (time is not None and turns > 1):
        return tuple(factor * ticks for ticks in phases(time)) * max(1, turns // len(phases(time)))
    return None if time is None else factor * time
