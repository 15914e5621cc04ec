"""What the searches have to have compiled, and its compilation beside a search that has little time.

``python -m shorthaul.pebble.compiling MODULE...`` compiles modules of kernels for :mod:`shorthaul.core.beside`: the
search that each belongs to is run on a graph of a few nodes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from shorthaul.core import beside, jit
from shorthaul.core.search import Search
from shorthaul.pebble.bounds import wavefront_kernels
from shorthaul.pebble.bounds.best import best_bound
from shorthaul.pebble.exact import beam, pattern_choice, solver
from shorthaul.pebble.local_search import annealing, annealing_kernels, driver, recomputing_kernels
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.orders import belady, list_scheduling, list_scheduling_kernels, tile_kernels, tiles
from shorthaul.pebble.plan import Plan
from shorthaul.pebble.states import automorphisms as symmetry
from shorthaul.pebble.states import layered_search_kernels, pattern_database_kernels, potential_kernels, potentials
from shorthaul.pebble.workloads.kernels_as_graphs import fft, matmul

#: The name by which Python finds this module when it is the program.
PROGRAM: Final = "shorthaul.pebble.startup.compiling"


def _small() -> tuple[Cdag, int, Plan]:
    cdag = fft(n=8, word=1)
    return cdag, 3, belady.plan(cdag, 3)


def _anneal() -> None:
    cdag, room, start = _small()
    annealing.improve(cdag, room, start, search=Search(), patience=1)


def _anneal_recomputing() -> None:
    cdag, room, start = _small()
    driver.improve(cdag, room, start, search=Search().part(1.0, endless_s=1.0), recompute=True)


def _search_downsets() -> None:
    cdag, room, start = _small()
    symmetry.automorphisms(cdag, search=Search())
    beam.plan(cdag, room, search=Search(), incumbent=start, widest=64)
    solver.solve(cdag, room, search=Search(), incumbent=start, known_bound=39)


def _tabulate() -> None:
    cdag, room, _ = _small()
    pattern_choice.chosen(cdag, room, search=Search().part(1.0, endless_s=1.0))


def _price() -> None:
    found = potentials.begun(fft(n=4, word=1), 3)
    assert found is not None  # four points make few computed sets
    found.climb(6, search=Search())


def _bound() -> None:
    cdag, room, _ = _small()
    best_bound(cdag, room, search=Search().part(1.0, endless_s=1.0))


def _schedule_lists() -> None:
    cdag, room, start = _small()
    list_scheduling.plan(cdag, room, search=Search(), incumbent=start, patience=0)


def _tile() -> None:
    cdag = matmul(m=4, n=4, k=4, word=1)
    tiles.plan(cdag, 6, search=Search(), incumbent=belady.plan(cdag, 6), patience=0)


#: For every module of kernels that a search begins with, how it is compiled, and about how many seconds that takes.
COMPILERS: Final[dict[str, tuple[Callable[[], None], int]]] = {
    annealing_kernels.__name__: (_anneal, 9),
    recomputing_kernels.__name__: (_anneal_recomputing, 6),
    layered_search_kernels.__name__: (_search_downsets, 18),
    potential_kernels.__name__: (_price, 6),
    pattern_database_kernels.__name__: (_tabulate, 2),
    wavefront_kernels.__name__: (_bound, 6),
    list_scheduling_kernels.__name__: (_schedule_lists, 12),
    tile_kernels.__name__: (_tile, 6),
}
#: What graphs that are searched exactly take, and what larger ones do; with recomputation, one search more.
_SMALL: Final = (
    annealing_kernels, layered_search_kernels, potential_kernels, pattern_database_kernels, wavefront_kernels,
    list_scheduling_kernels, tile_kernels,
)  # fmt: skip
_LARGE: Final = (annealing_kernels, list_scheduling_kernels, tile_kernels, wavefront_kernels)


def share(modules: tuple[str, ...]) -> tuple[str, ...]:
    """Return which of these modules a process beside this one compiles where both take part: all but the bounds'.

    >>> share(("shorthaul.pebble.bounds.wavefront_kernels", "shorthaul.pebble.local_search.annealing_kernels"))
    ('shorthaul.pebble.local_search.annealing_kernels',)
    """
    first = {wavefront_kernels.__name__, layered_search_kernels.__name__}  # bounds of parts are searches
    return tuple(module for module in modules if module not in first)


def missing(*, is_small: bool, recompute: bool) -> tuple[str, ...]:
    """Return the modules of kernels that ``auto`` takes and that are not compiled, those first that matter most.

    >>> set(missing(is_small=True, recompute=False)) <= set(COMPILERS)
    True
    """
    names = [module.__name__ for module in (_SMALL if is_small else _LARGE)]
    if recompute:
        names.insert(1, recomputing_kernels.__name__)
    return tuple(name for name in names if not jit.is_ready(name))


def begin(modules: tuple[str, ...], meanwhile: str) -> bool:
    """Have modules of kernels compiled by a process beside this one; False if that is impossible or none are given.

    What happens ``meanwhile`` is told on standard error.
    """
    seconds = sum(COMPILERS[module][1] for module in modules)
    return bool(modules) and beside.begin(PROGRAM, modules, seconds, meanwhile)


if __name__ == "__main__":
    beside.serve({module: compiled for module, (compiled, _) in COMPILERS.items()}, sys.argv[1:])
