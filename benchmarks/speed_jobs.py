"""The jobs of ``speed.py``: fixed work, through functions that older checkouts have too, under whatever name."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import inspect
import random
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np


class Done(NamedTuple):
    """What a piece of work answered, and how many units of work that took where this is not fixed."""

    answer: Any
    units: float = 1.0

    def text(self) -> str:
        """Return the answer as text; a digest where it is long."""
        text = repr(_plain(self.answer))
        return text if len(text) <= 100 else hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        integral = value.dtype.kind in "iub"
        content = np.ascontiguousarray(value, np.int64 if integral else np.float64)
        return [value.shape, hashlib.sha256(content.tobytes()).hexdigest()[:16]]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


Work = Callable[[], Done]


@dataclass(frozen=True)
class Job:
    """``prepare`` makes the input and returns the work; ``same`` if all checkouts must answer alike."""

    prepare: Callable[[], Work]
    same: bool


JOBS: dict[str, Job] = {}


def job(name: str, *, same: bool = True) -> Callable[[Callable[[], Work]], Callable[[], Work]]:
    """Enter a job into the list."""

    def enter(prepare: Callable[[], Work]) -> Callable[[], Work]:
        JOBS[name] = Job(prepare, same)
        return prepare

    return enter


def module(*names: str) -> ModuleType:
    """Return the first of these modules of the package that there is."""
    for name in names[:-1]:
        try:
            return importlib.import_module(f"shorthaul.{name}")
        except ModuleNotFoundError as error:
            if not f"shorthaul.{name}".startswith(str(error.name)):
                raise
    return importlib.import_module(f"shorthaul.{names[-1]}")


def named(place: Any, *names: str) -> Any:
    """Return the first of these attributes that there is."""
    return next(getattr(place, name) for name in names if hasattr(place, name))


def search(**options: Any) -> Any:
    """Return a search without limits, of one process."""
    return named(module("core.search"), "Search", "Budget")(workers=1, **options)


def known(kind: Any, **options: Any) -> Any:
    """Return options of a kind, without those that it does not have."""
    names = {field.name for field in dataclasses.fields(kind)}
    return kind(**{name: value for name, value in options.items() if name in names})


def call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function with those of the options that it takes."""
    names = inspect.signature(function).parameters
    return function(*arguments, **{name: value for name, value in options.items() if name in names})


# --- pebble ---------------------------------------------------------------------------------------------------------


def generators() -> ModuleType:
    return module("pebble.workloads.kernels_as_graphs", "pebble.generators")


def belady() -> ModuleType:
    return module("pebble.orders.belady", "pebble.belady")


@job("pebble: Belady's replacement, 200,000 nodes")
def _replacement() -> Work:
    cdag = generators().random_cdag(n=200_000, degree=3, window=2000, most=16, seed=0)
    return lambda: Done(belady().replay_order(cdag, 4000, cdag.order, penalty=2.0).traffic(cdag.weights))


@job("pebble: topological orders, 200,000 nodes")
def _orders() -> Work:
    cdag = generators().random_cdag(n=200_000, degree=3, window=2000, most=16, seed=0)
    return lambda: Done([order(cdag) for order in belady().ORDERS.values()])


@job("pebble: list scheduling", same=False)
def _list_scheduling() -> Work:
    scheduling = module("pebble.orders.list_scheduling", "pebble.list_scheduling")
    cdag = generators().stencil(n=200, t=100, word=1)
    scheduler = scheduling.Scheduler(cdag, 40)

    def work() -> Done:
        orders = [
            call(scheduler.order, rules, search=search(), seed=seed)
            for seed, rules in enumerate(getattr(scheduling, "RULES", None) or scheduling.FIRST_RULES)
        ]
        return Done([belady().replay_order(cdag, 40, order).traffic(cdag.weights) for order in orders])

    return work


@job("pebble: tiles, grown")
def _tiles() -> Work:
    tiles = module("pebble.orders.tiles", "pebble.tiles")
    cdag = generators().matmul(m=24, n=24, k=24, word=1)
    tiler = call(named(tiles, "tiler_of", "Tiler"), cdag, search=search())

    def work() -> Done:
        orders = [call(tiler.order, shape, search=search()) for shape in tiles.first_shapes(100)[:8]]
        return Done([belady().replay_order(cdag, 100, order).traffic(cdag.weights) for order in orders])

    return work


def _annealing(cdag: Any, budget: int, moves: int) -> Work:
    """Anneal at one temperature, so that all moves cost about the same."""
    annealing = module("pebble.local_search.annealing", "pebble.annealing")
    start = belady().plan(cdag, budget)

    def old() -> Done:
        schedule = annealing.Schedule(cdag, budget, start)
        for seed in range(moves // 1000):
            schedule.anneal(1000, penalty=2.0, hot=0.3, cold=0.3, seed=seed)
        return Done(schedule.traffic, moves)

    def new() -> Done:
        schedule = annealing.Schedule(cdag, budget, start)
        cooling = annealing.Cooling(annealing.Random(0), moves, 0.3, 0.3, 2.0)
        while not cooling.is_over():
            schedule.anneal(cooling)
        return Done(schedule.traffic, cooling.step)

    return new if hasattr(annealing, "Cooling") else old


@job("pebble: annealing, stencil of 2,000 nodes", same=False)
def _annealing_stencil() -> Work:
    return _annealing(generators().stencil(n=100, t=20, word=1), 20, 60_000)


@job("pebble: annealing, fft of 2,304 nodes", same=False)
def _annealing_fft() -> Work:
    return _annealing(generators().fft(n=256, word=1), 32, 60_000)


@job("pebble: layered search")
def _layered_search() -> Work:
    layers = module("pebble.states.layered_search", "pebble.downsets")
    problems = ((generators().fft(n=8, word=1), 4, 20), (generators().pyramid(n=8, word=1), 4, 40))

    def work() -> Done:
        outcomes = [layers.layered(cdag, room, limit=limit, search=search()) for cdag, room, limit in problems]
        return Done([(outcome.excess, outcome.complete, outcome.finished) for outcome in outcomes])

    return work


@job("pebble: exact proofs, plan to bound")
def _exact() -> Work:
    solver = module("pebble.exact.solver", "pebble.exact")
    problems = ((generators().matmul(m=2, n=3, k=3, word=1), 6), (generators().fft(n=8, word=1), 4))

    def work() -> Done:
        answers = []
        for cdag, room in problems:
            plan, bound, proven = solver.solve(cdag, room, search=search())
            answers.append((plan.traffic(cdag.weights), bound, proven))
        return Done(answers)

    return work


@job("pebble: pattern databases")
def _pattern_databases() -> Work:
    tables = module("pebble.states.pattern_databases", "pebble.pattern_tables")
    problems = ((generators().fft(n=8, word=1), 20), (generators().stencil(n=5, t=4, word=1), 25))

    def work() -> Done:
        sets = [(cdag, cdag.order[:size].tolist()) for cdag, size in problems]
        made = [call(tables.table_of, cdag, nodes, 4, most=10**6, search=search()) for cdag, nodes in sets]
        return Done([(table.start, len(table.costs)) for table in made])

    return work


@job("pebble: potentials")
def _potentials() -> Work:
    potentials = module("pebble.states.potentials", "pebble.potentials")
    cdag = generators().pyramid(n=8, word=1)

    def work() -> Done:
        prices = named(potentials, "initial_prices", "begun")(cdag, 4)
        for _ in range(4):
            prices.climb(40, search=search())
        return Done(prices.sets)

    return work


@job("pebble: recomputation, exact")
def _recomputation() -> Work:
    recomputation = module("pebble.states.recomputation", "pebble.recomputation")
    cdag = generators().pyramid(n=5, word=1)
    incumbent = belady().plan(cdag, 4)

    def work() -> Done:
        plan, bound, proven = recomputation.solve(cdag, 4, search=search(), incumbent=incumbent)
        return Done([plan.traffic(cdag.weights), bound, proven])

    return work


@job("pebble: spilled sets of a tree, 100,000 nodes")
def _tree_cuts() -> Work:
    cuts = module("pebble.structured.tree_cuts", "pebble.tree_cuts")
    cdag = generators().random_tree(n=100_000, k=3, most=16, seed=0)
    least = cuts.least_memory(cdag)

    def work() -> Done:
        found = cuts.plan(cdag, least * 2 // 3, widths=(8,))
        return Done([found.plan.traffic(cdag.weights), found.complete, found.least])

    return work


@job("pebble: recursion on a tree, 100,000 nodes")
def _tree_recursion() -> Work:
    tree = module("pebble.structured.tree_recursion", "pebble.tree")
    cdag = generators().random_tree(n=100_000, k=3, most=16, seed=0)
    least = tree.least_memory(cdag)
    return lambda: Done(tree.plan(cdag, least * 2 // 3).traffic(cdag.weights))


@job("pebble: wavefront bounds")
def _wavefront() -> Work:
    wavefront = module("pebble.bounds.wavefront", "pebble.wavefront")
    network = generators().fft(n=256, word=1)
    cdag = generators().random_cdag(n=1000, degree=3, window=200, most=4, seed=0)
    room = 2 * int(cdag.needs().max())

    def work() -> Done:
        excess = wavefront.excess(cdag, room, search=search()).excess
        return Done([excess, wavefront.turning(network, 32, search=search())])

    return work


@job("pebble: check of a plan, 200,000 nodes")
def _pebble_check() -> Work:
    replay = module("pebble.check.replay", "pebble.check").replay
    cdag = generators().random_cdag(n=200_000, degree=3, window=2000, most=16, seed=0)
    plan = belady().replay_order(cdag, 4000, cdag.order)
    return lambda: Done(list(replay(cdag, plan, 4000, recompute=False).cost.items()))


# --- dataflow -------------------------------------------------------------------------------------------------------


def _decoding(name: str, count: int) -> Work:
    networks = module("dataflow.workloads.generators", "dataflow.generators")
    arrays = module("dataflow.mapping.arrays", "dataflow.instance")
    heuristic = module("dataflow.caps_hms.heuristic", "dataflow.caps_hms")
    decoding = module("dataflow.options").Decoding
    instance = arrays.build(getattr(networks, name)(), networks.platform24())
    rng = np.random.default_rng(1)
    xi = rng.integers(0, 2, (count, len(instance.feeding))).astype(np.int8)
    decision = rng.integers(0, 5, (count, len(instance.src))).astype(np.int8)
    binding = rng.integers(0, 24, (count, len(instance.tau)))
    genotypes: tuple[Any, ...] = ((np.arange(count) % 2).astype(np.int8), xi, decision, binding)
    decoder = heuristic.make_decoder(instance, decoding(tolerance=0.001))
    if "genotypes" in inspect.signature(decoder.objectives).parameters:
        genotypes = (module("dataflow.mapping.mapping_kernels").Genotypes(*genotypes),)
    # The heuristic has changed since: compared are the means of period, footprint and core cost.
    return lambda: Done(np.mean(call(decoder.objectives, *genotypes, search=search()), axis=0).round(1).tolist())


@job("dataflow: decoding Sobel4", same=False)
def _decoding_sobel4() -> Work:
    return _decoding("sobel4", 4000)


@job("dataflow: decoding Multicamera", same=False)
def _decoding_multicamera() -> Work:
    return _decoding("multicamera", 1000)


@job("dataflow: 200 generations of NSGA-II on Sobel", same=False)
def _nsga2() -> Work:
    verbs = module("dataflow.verbs.planning", "dataflow.planning")
    network = module("dataflow.workloads.generators", "dataflow.generators").sobel()
    options = known(module("dataflow.options").PlanOptions, generations=200, polish_seconds=0, polish_effort=0)

    def work() -> Done:
        return Done(verbs.plan(network, options=options, search=search()).extra["hypervolume"]["by_generation"][-1])

    return work


@job("dataflow: exact schedules of 20 mappings of Sobel", same=False)
def _modulo() -> Work:
    networks = module("dataflow.workloads.generators", "dataflow.generators")
    arrays = module("dataflow.mapping.arrays", "dataflow.instance")
    decoders = module("dataflow.exploration.decoders", "dataflow.decoders")
    application, platform = networks.sobel(), networks.platform24()
    decoding = known(
        module("dataflow.options").Decoding, decoder="modulo", solver_seconds=30.0, solver_effort=30.0, tolerance=0.0
    )
    decoder = decoders.decoder_for(arrays.build(application, platform), decoding)
    rng, decisions = random.Random(1), []
    for _ in range(20):
        binding = {actor.id: rng.choice(platform.cores).id for actor in application.actors}
        xi = {name: rng.randrange(2) for name in application.multicasts}
        choices = {channel.id: rng.choice(("PROD", "TILE-PROD", "CONS", "GLOBAL")) for channel in application.channels}
        decisions.append(module("dataflow.model").Decisions(binding, xi, choices))

    def work() -> Done:
        solved = [decoder.solve(item) for item in decisions]
        return Done([(item.point.period, item.least) for item in solved])

    return work


# --- spatial --------------------------------------------------------------------------------------------------------


def _yule(n: int) -> Any:
    return module("spatial.workloads.generators", "spatial.generators").yule(n, 1)


def _unrefined(kind: str, **options: Any) -> Any:
    """Return options of a layout in light-first order along the Hilbert curve, as it is."""
    return known(getattr(module("spatial.options"), kind), order="light-first", curve="hilbert", refine=0, **options)


@job("spatial: Newick text of 10^5 vertices, read and written")
def _newick() -> Work:
    files = module("spatial.formats.files", "spatial.formats")
    text = files.newick_from_tree(_yule(100_000))

    def work() -> Done:
        for _ in range(10):
            tree = files.tree_from_newick(text)
            again = files.newick_from_tree(tree)
        return Done([tree.parent, again == text])

    return work


@job("spatial: layout and energy of Yule 2^18")
def _layout() -> Work:
    engine, tree = module("spatial"), _yule(2**18)
    options = _unrefined("PlanOptions", baselines=False)

    def work() -> Done:
        result = engine.plan(tree, options=options, search=search())
        return Done([result.cost["energy_hops"], result.plan.x, result.plan.y])

    return work


@job("spatial: treefix by rake and compress, Yule 2^16", same=False)
def _treefix() -> Work:
    engine, tree, options = module("spatial"), _yule(2**16), _unrefined("TreefixOptions", method="rake-compress")
    return lambda: Done(engine.treefix(tree, options=options, search=search()).cost["energy_hops"])


@job("spatial: lowest common ancestors, Yule 2^14", same=False)
def _lca() -> Work:
    engine, tree = module("spatial"), _yule(2**14)
    options = _unrefined("LcaOptions", method="rake-compress", random=20_000)
    return lambda: Done(engine.lca(tree, options=options, search=search()).cost["energy_hops"])


@job("spatial: check of a layout of Yule 2^18")
def _spatial_check() -> Work:
    engine, tree = module("spatial"), _yule(2**18)
    layout = engine.plan(tree, options=_unrefined("PlanOptions", baselines=False), search=search()).plan
    return lambda: Done(list(engine.check(tree, layout).cost.items()))


# --- affine and tensor ----------------------------------------------------------------------------------------------


@job("affine: tilings of gemm, replayed")
def _tilings() -> Work:
    tiling = module("affine.replay.tiling", "affine.tiling")
    program = module("affine.workloads.cases", "affine.cases").case("gemm").workload
    sizes = {"NI": 40, "NJ": 40, "NK": 40}
    cdag = module("affine.replay.cdag", "affine.cdag").concrete_cdag(program, sizes)
    space = tiling.tile_space(program, sizes, cdag)
    tilings = [tiling.Tiling(((0, size), (1, size), (2, size))) for size in (4, 6, 8, 12, 16)]
    return lambda: Done([space.loads(item, 128) for item in tilings])


def _affine_bound(name: str) -> Work:
    case = module("affine.workloads.cases", "affine.cases").case
    return lambda: Done(str(module("affine").bound(case(name).workload).bound.details["formula"]))


@job("affine: bound of gemm")
def _bound_of_gemm() -> Work:
    return _affine_bound("gemm")


@job("affine: bound of cholesky")
def _bound_of_cholesky() -> Work:
    return _affine_bound("cholesky")


def _tensor_moves(text: str, rules: str) -> Work:
    """Anneal at one temperature from one operator per group."""
    problem, named = module("tensor").case(text).workload, module("tensor.model").RULES[rules]

    def old() -> Done:
        sequence, neighbour = module("tensor.sequence"), module("tensor.moves").neighbour
        made, chance = module("tensor.groups").Groups(problem, named), random.Random(0)
        current = tuple(1 << operator for operator in problem.topological_order)
        latency = sequence.evaluate(made, current).latency
        for _ in range(1000):
            changed = neighbour(made, current, chance)
            found = sequence.evaluate(made, changed) if changed else None
            if found is not None and found.latency <= latency * 1.0005:
                current, latency = changed, found.latency
        return Done(round(latency, 3))

    if importlib.util.find_spec("shorthaul.tensor.sequence") is not None:
        return old
    schedules = module("tensor.search.schedules").Schedules
    moves = module("tensor.search.move_kernels")

    def work() -> Done:
        made = schedules(problem, named)
        walk = made.begin(tuple((operator,) for operator in problem.topological_order), 0)
        while walk.steps < 1000:
            made.settle(walk, moves.run(walk, 1000 - walk.steps, walk.best * 5e-4))
        return Done(round(walk.best, 3))

    return work


_BLOCK = "transformer-block:tokens=1024,width=512,heads=4,hidden=2048,layers={},capacity=300000,bandwidth=40"


@job("tensor: 1,000 moves, 34 operators, spec", same=False)
def _tensor_block() -> Work:
    return _tensor_moves(_BLOCK.format(1), "spec")


@job("tensor: 1,000 moves, 136 operators, contest", same=False)
def _tensor_blocks() -> Work:
    return _tensor_moves(_BLOCK.format(4), "contest")


@job("tensor: 1,000 moves, resnet, contest", same=False)
def _tensor_resnet() -> Work:
    return _tensor_moves("resnet", "contest")
