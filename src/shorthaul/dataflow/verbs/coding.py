"""The verb ``code``: a point of a plan as C."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Unpack

from shorthaul.core.errors import InputError
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.verbs import asked, expect, verb
from shorthaul.dataflow.c_code.files import ACTORS, c_files
from shorthaul.dataflow.check.replay import check_point
from shorthaul.dataflow.formats.documents import RESULT_KIND
from shorthaul.dataflow.loading import prepared
from shorthaul.dataflow.mapping.binding import mapped_point
from shorthaul.dataflow.model import Platform
from shorthaul.dataflow.options import CodeOptions
from shorthaul.dataflow.plan import CodeExtra, Plan
from shorthaul.dataflow.verbs.inputs import APPLICATIONS, PLANS, PlanLike, Workload

if TYPE_CHECKING:
    from shorthaul.dataflow.verbs.keywords import CodeKeywords


@verb(
    CodeOptions,
    APPLICATIONS,
    PLANS,
    searching=None,
    platform="The platform, or the path of its document (default: the case's, else 24 cores).",
)
def code(
    workload: Workload,
    plan: PlanLike,
    *,
    platform: Platform | str | PathLike[str] | None = None,
    **keywords: Unpack[CodeKeywords],
) -> Result[Plan, CodeExtra]:
    """Return one point as C files: a thread per core, its firings in the order of the plan, and a driver.

    Buffers are rings of the plan's capacities; one that replaces a multicast stores a token once for all its readers.
    Actors are functions of yours, declared in ``actors.h``; ``actors.c`` holds stand-ins. The driver compares every
    token on every channel with those of the actors in turn, or measures.

    Returns
    -------
    Result[Plan, CodeExtra]
        In ``extra["files"]`` the files by name, in ``extra["yours"]`` which of them to keep when they are written anew.

    Raises
    ------
    InputError
        If the network, the platform or the plan cannot be read, or the point breaks a rule.

    Examples
    --------
    >>> from shorthaul.dataflow.verbs.planning import schedule
    >>> from shorthaul.dataflow.workloads.generators import figure7
    >>> sorted(code(figure7(), schedule(figure7(), order="topological")).extra["files"])[0]
    'Makefile'
    """
    given, options, search, source = asked(workload, APPLICATIONS, CodeOptions, keywords)
    assert isinstance(plan, Plan)
    _, application, machine, search = prepared(
        given, expect(platform, Platform, "platform"), options.platform, search, source
    )
    if options.point >= len(plan.front):
        allowed = f"0 to {len(plan.front) - 1}"
        raise InputError("has no such point", place="--point", value=options.point, allowed=allowed)
    point = plan.front[options.point]
    report = check_point(application, machine, point)
    if report.violations:
        problem = f"the point breaks the rules: {report.violations[0]}"
        raise InputError(problem, place=f"front[{options.point}]", cure="see dataflow check for all that is wrong")
    files = c_files(given.application, application, mapped_point(application, machine, point), point)
    return Result(
        RESULT_KIND,
        Status.FEASIBLE,
        cost=report.cost,
        check=report,
        plan=Plan((point,)),
        provenance=provenance("dataflow code", options=options, source=source, search=search),
        extra={"files": files, "yours": ACTORS},
    )
