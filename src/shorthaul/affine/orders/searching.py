"""The derived order at given sizes: boxes in place of a phase's order where they load less there.

More effort is never to lose what less finds. So the work comes in rounds, each with an effort that does not depend on
what there is in all: first the phases of the program in boxes, then in turn an order for all sizes and the one at the
given sizes that follows from it, each round with twice the effort. Both searches remember what they know of phases.
An order for one S alone has one round after the first, of all that is left: several would begin much again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from math import inf
from operator import is_

from shorthaul.affine import effort
from shorthaul.affine.integer_sets.dependences import Conflicts, DataFlow, accesses_of
from shorthaul.affine.orders.boxes.fixed import refitted
from shorthaul.affine.orders.boxes.steps import WholeStep
from shorthaul.affine.orders.joining.panels import improved
from shorthaul.affine.orders.joining.phases import divides_a_nest, tried
from shorthaul.affine.orders.sized import Boxes
from shorthaul.affine.orders.tile_policy import Counts
from shorthaul.affine.orders.upper_bound import AnyStep, Formulas, UpperBound, in_order
from shorthaul.affine.tuning import (
    FIRST_ROUND,
    FORMULA_SHARE,
    NEAR_THE_INPUTS,
    NO_SLACK,
    POOR,
    USUAL_FLOWS,
    Slack,
)
from shorthaul.core.search import Search


def order_and_formula(
    flow: DataFlow,
    sizes: Mapping[str, int],
    search: Search,
    small: tuple[str, ...] = (),
    slack: Slack = NO_SLACK,
    keep: Callable[[UpperBound], None] = lambda _: None,
) -> tuple[UpperBound, UpperBound]:
    """Return the best orders found at ``sizes`` (every parameter, and S) and for all sizes.

    The first round is done whatever the effort of ``search``, which is charged for it. ``keep`` takes every order that
    is the best at the time.
    """
    with effort.charged_to(search.beside(inf)) as first:  # to count what is read takes what it takes
        formulas = Formulas(flow, small)
    search.spend(first.spent() if search.effort is not None else 0.0)
    (best,) = orders_at(formulas, [sizes], search, slack, keep)
    return best, formulas.found


def orders_at(
    formulas: Formulas,
    every: Sequence[Mapping[str, int]],
    search: Search,
    slack: Slack = NO_SLACK,
    keep: Callable[[UpperBound], None] = lambda _: None,
) -> list[UpperBound]:
    """Return the best order found at each of several ``sizes``, which differ in S alone, and go on with ``formulas``.

    The first round at the least, the middle and the largest S is done whatever the effort of ``search``, and where its
    order is poor it goes on, not charged; what is found at the middle one is fitted to others.
    """
    program, middle = formulas.flow.program, len(every) // 2
    conflicts = Conflicts(program, accesses_of(program))
    flow, small, counts = formulas.flow, formulas.small, formulas.counts
    searches = [SizedSearch(flow, sizes, small, slack, counts, conflicts, keep) for sizes in every]
    # the least S first, whose order is one for all, the middle and the largest, then some everywhere
    turns = sorted(range(len(every)), key=lambda at: (at > 0, at != middle, at < len(every) - 1, at % 4 > 0, at % 2))
    share = inf if search.left() == inf else FIRST_ROUND * max(1, len(flow.flows) / USUAL_FLOWS)
    for place, at in enumerate(turns if share < inf else ()):
        part = search.beside(share) if place < 3 else search.within(share)
        with effort.charged_to(part):
            searches[at].fit(searches[middle])
            searches[at].further(formulas.plain, first=True)
        search.spend(part.spent() if place < 3 and search.effort is not None else 0.0)
        if place < 3 and searches[at].is_poor(formulas.plain):
            # what was found, the signs of distances, is of no use without boxes
            with effort.charged_to(search.beside(share)):
                searches[at].further(formulas.plain, first=True)
            if searches[at].is_poor(formulas.plain):
                with effort.charged_to(search.beside(share)):
                    searches[at].further(formulas.plain, improves=False)
    alone = len(every) == 1 and share < inf
    while not search.expired():
        if not formulas.is_done:
            part = search.part(FORMULA_SHARE) if alone else search.within(share / 2)
            with effort.charged_to(part), suppress(effort.OutOfEffortError):
                formulas.further()
        waiting = [searches[at] for at in turns if searches[at].done is not formulas.found]
        if formulas.is_done and not waiting:
            break
        for item in waiting:
            with effort.charged_to(search.within(inf if alone else share)):
                item.further(formulas.found)
                item.fit(searches[middle])
        share *= 2
    return [item.best or formulas.found for item in searches]


def at_sizes(
    upper: UpperBound,
    flow: DataFlow,
    sizes: Mapping[str, int],
    search: Search | None = None,
    slack: Slack = NO_SLACK,
) -> UpperBound:
    """Return the order with the fewest loads known at ``sizes`` (every parameter, and S); its formula holds there.

    ``search`` limits the work; where it ends early, the best found until then is taken. Where boxes are compared, rows
    of one cell, and boxes without room for strips, count as the shares of ``slack`` more.

    Phases are executed in boxes where these load less, and joined where one in boxes loads less than several: those of
    ``upper``, and the smallest ones that there are.
    """
    with effort.charged_to(search or Search()):
        return SizedSearch(flow, sizes, upper.small, slack, upper.steps[0].counts).further(upper)


class SizedSearch:
    """The search for an order at given sizes; what is known of phases is remembered, so it may be gone on with.

    ``best`` is the best order so far, and ``done`` the one for all sizes from which everything was tried.
    """

    def __init__(
        self,
        flow: DataFlow,
        sizes: Mapping[str, int],
        small: Sequence[str],
        slack: Slack,
        counts: Counts,
        conflicts: Conflicts | None = None,
        keep: Callable[[UpperBound], None] = lambda _: None,
    ) -> None:
        self.flow, self.sizes, self._keep = flow, sizes, keep
        self.best: UpperBound | None = None
        self.done: UpperBound | None = None
        self._boxes = partial(Boxes, flow, sizes, small, slack=slack, counts=counts, conflicts=conflicts)
        self._improved: list[tuple[AnyStep, ...]] = []  # everything was tried to improve these
        self._fitted: list[UpperBound] = []

    @cached_property
    def boxes(self) -> Boxes:
        """The boxes that are known."""
        return self._boxes()

    @cached_property
    def _whole(self) -> WholeStep | None:
        return self.boxes.whole()

    def further(self, upper: UpperBound, *, first: bool = False, improves: bool = True) -> UpperBound:
        """Return the best order once the search has gone on from ``upper``, to its end or to that of its effort.

        In the ``first`` round to the first boxes found; phases are improved only if it ``improves`` them.
        """
        self.best = upper if self.best is None else self.best
        with suppress(effort.OutOfEffortError):
            self._go_on(upper, first, improves and not first)
            if not effort.is_out_of_effort() and improves and not first:
                self.done = upper
        return self.best

    def _go_on(self, upper: UpperBound, first: bool, improves: bool) -> None:
        boxes, found, finished = self.boxes, upper, None
        if self._whole is not None:
            self.best = replace(upper, steps=(self._whole,))
            self._keep(self.best)
            return
        self._take(upper)
        least = boxes.least(boxes.reads)
        for steps in tried(self.flow, upper.steps, boxes, first=first):
            ordered = in_order(self.flow, steps or found.steps)  # fewer where phases need one another
            if steps and len(ordered) == len(steps) and boxes.total(steps) < boxes.total(found.steps):
                found = replace(upper, steps=tuple(ordered))
                self._take(found)
            is_near = NEAR_THE_INPUTS * boxes.total(self.best.steps if self.best else ()) < least
            if improves and (is_near or steps is None) and found is not finished and boxes.total(found.steps) > least:
                finished = found
                self._improve(found)
            if is_near and not divides_a_nest(self.flow, found.steps):
                break

    def is_poor(self, plain: UpperBound) -> bool:
        """True if the best order keeps little of what ``plain`` loads, and is not near what is read from elsewhere."""
        best = self.best or plain
        boxes, loads = self.boxes, self.boxes.total(best.steps)
        is_far = NEAR_THE_INPUTS * loads > boxes.least(boxes.reads)
        return best is plain or (loads > POOR * boxes.total(plain.steps) and is_far)

    def fit(self, other: SizedSearch) -> None:
        """Take the best order of ``other``, found for another S, fitted to this one, if it loads less."""
        given = other.best
        if given is None or other is self or any(given is known for known in self._fitted):
            return
        with suppress(effort.OutOfEffortError):
            steps = (refitted(step, other.sizes["S"], self.sizes) for step in given.steps)
            self._take(replace(given, steps=tuple(steps)))
            self._fitted.append(given)

    def _take(self, made: UpperBound) -> None:
        """Take an order as the best if it loads less."""
        if self.best is None or self.boxes.total(made.steps) < self.boxes.total(self.best.steps):
            self.best = made
            self._keep(made)

    def _improve(self, found: UpperBound) -> None:
        """Improve the phases of an order, once."""
        if not any(len(known) == len(found.steps) and all(map(is_, known, found.steps)) for known in self._improved):
            for made in improved(self.boxes, found.steps):
                self._take(replace(found, steps=tuple(made)))
            if not effort.is_out_of_effort():
                self._improved.append(found.steps)
