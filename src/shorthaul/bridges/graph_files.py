"""Files as workloads of the pebble engine: C loop nests at given sizes, ONNX models, and whatever the engine reads."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shorthaul.core.cases import Source
from shorthaul.core.document import digest, read_bytes, suffix_of
from shorthaul.core.errors import InputError
from shorthaul.core.options import SIZES, option

if TYPE_CHECKING:
    from shorthaul.affine.bounds.best import AffineBound
    from shorthaul.affine.model import Program
    from shorthaul.core.search import Search
    from shorthaul.pebble.model import Cdag, Document, IntArray, Verified

#: What evaluating a formula in floating point may add, relatively.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """How a file becomes a computation DAG."""

    size: str | None = option(None, "Of a C file: values of its parameters, as in N=8,M=6.")
    dim: str | None = option(None, "Of an ONNX model: sizes of symbolic dimensions, as in batch=8.", form=SIZES)
    function: str | None = option(None, "Of a C file: the function to read, where several have a '#pragma scop'.")
    work: bool = option(False, "Of a HyperDAG file: computing a vertex costs what the file says its work is.")


def cdag_source(text: str, options: GraphOptions | None = None) -> Source[Cdag]:
    """Return the CDAG that ``text`` names: a C file at the sizes in ``options``, a model, or what the engine reads.

    Nodes of a C file weigh the bytes of their array elements, those of a model the bytes of their tensors. Raises
    :class:`InputError` that names file, place, value and cure; also for options that do not apply to the file.

    >>> cdag_source("dwt:n=8,d=3,word=1").workload.n
    22
    """
    options = GraphOptions() if options is None else options
    suffix = suffix_of(text)
    flags = (
        ("--size", options.size, (".c",), "C files"),
        ("--dim", options.dim, (".onnx",), "ONNX models"),
        ("--function", options.function, (".c",), "C files"),
        ("--work", options.work or None, ("", ".txt", ".hdag"), "HyperDAG files"),
    )
    for flag, value, suffixes, what in flags:
        if value is not None and suffix not in suffixes:
            shown = flag if value is True else f"{flag} {value}"
            raise InputError("does not apply", place=flag, value=f"{text} {shown}", allowed=f"for {what} only")
    if suffix == ".c":
        return _loop_nest(text, options)
    if suffix == ".onnx":
        return _model(text, options)
    if options.work:
        from shorthaul.pebble.formats.documents import load_cdag

        data = read_bytes(text)
        return Source(load_cdag(text, data, work=True), f"{text} --work", digest(data + b" --work"))
    from shorthaul.pebble.verbs.planning import case

    return case(text)


def _loop_nest(text: str, options: GraphOptions) -> Source[Cdag]:
    from shorthaul.affine.verbs import planning
    from shorthaul.affine.workloads.cases import case
    from shorthaul.pebble.formats.documents import cdag_from_document

    source = case(text, options.function)
    document = planning.cdag(source.workload, size=options.size, function=options.function)
    name = text if options.size is None else f"{text} --size {options.size}"
    identity = f"{source.digest} {options.function or ''} {options.size or ''}"
    cdag = cdag_from_document(document, name=source.workload.name)
    nest = LoopNest(text, options.function, options.size, source.digest)
    return Source(replace(cdag, origin=nest, weight_bytes=1.0), name, digest(identity))


#: The bound of the program met last, by digest and function, and what deriving it took.
_DERIVED: dict[tuple[str, str | None], tuple[AffineBound, float]] = {}


@dataclass(frozen=True, slots=True)
class LoopNest:
    """A C file at given sizes: what its graph was made from."""

    file: str
    function: str | None
    size: str | None
    digest: str

    def least_loaded(self, budget: int, width: int, search: Search) -> tuple[int, str, Document] | None:
        """Return the affine engine's bound on the words loaded, its proof and its certificate; None without the file.

        A fast memory holds at most ``budget // width`` words.
        """
        from shorthaul.affine.bounds.best import fitted
        from shorthaul.affine.sizes import FAST_MEMORY
        from shorthaul.affine.verbs.deriving import rests_on

        found = self._program()
        if found is None:
            return None
        program, sizes = found
        sizes[FAST_MEMORY] = budget // width
        least = fitted(self._bound(program, search), sizes, search)
        value = max(0, least.value(sizes))
        shown = {
            "value": value,
            "formula": str(least.formula),
            "inputs": str(least.inputs),
            "rests_on": rests_on(least, sizes),
            "certificate": least.proof.certificate(),
        }
        return _words(value), least.proof.text(), shown

    def verified(self, certificate: Document, budget: int, width: int) -> Verified | None:
        """Return what a certificate of the affine engine proves, by its checker; None without the file."""
        from shorthaul.affine.check.certificate import verify
        from shorthaul.affine.sizes import FAST_MEMORY

        found = self._program()
        if found is None:
            return None
        program, sizes = found
        sizes[FAST_MEMORY] = budget // width
        value = certificate.get("value")
        if type(value) is not int or value < 0:
            return 0, [f"the value is no number of words: {value!r}"], []
        try:
            wrong, remarks = verify(program, certificate, sizes)
        except InputError as error:
            return 0, [f"{error.place} {error.problem}"], []
        return _words(value), [f"{item.place}: {item.message}" for item in wrong], remarks

    def order(self, budget: int, width: int, search: Search) -> IntArray | None:
        """Return the computed nodes in the best order that the affine engine finds; None without the file.

        A fast memory holds at most ``budget // width`` words.
        """
        from shorthaul.affine.effort import OutOfEffortError, charged_to
        from shorthaul.affine.integer_sets.dependences import flow_dependences
        from shorthaul.affine.replay.cdag import concrete_cdag
        from shorthaul.affine.sizes import FAST_MEMORY
        from shorthaul.affine.verbs.deriving import orders_in_time
        from shorthaul.affine.verbs.replays import Replays

        found = self._program()
        if found is None:
            return None
        program, sizes = found
        words = sizes[FAST_MEMORY] = budget // width
        with charged_to(search):
            try:
                flow = flow_dependences(program)
                cdag = concrete_cdag(program, sizes, flow)
            except OutOfEffortError:
                return None
            replays = Replays(program, cdag, sizes, (words,), search)
            _, here = orders_in_time(program, flow, sizes, (words,), search.part(0.8))
            most = replays.evaluations(None)
            if here is not None:
                replays.derive(here, most)
            replays.tile(words, most, search)
            replays.given()
        assert replays.best is not None
        index: IntArray = np.cumsum(cdag.used()) - 1  # of each vertex among the nodes
        return index[replays.best.order]

    def _bound(self, program: Program, search: Search) -> AffineBound:
        """Return the bound for all sizes: derived once for all budgets, and charged each time."""
        from shorthaul.affine.bounds.best import lower_bound

        key = self.digest, self.function
        if key not in _DERIVED:
            spent = search.spent()
            found = lower_bound(program, search=search)
            if search.expired():
                return found
            _DERIVED.clear()  # one program at a time
            _DERIVED[key] = found, search.spent() - spent
            return found
        found, spent = _DERIVED[key]
        search.spend(spent)
        return found

    def _program(self) -> tuple[Program, dict[str, int]] | None:
        """Return the program and its sizes; None if the file is another one by now, or gone.

        Another process, on another machine say, need not have it.
        """
        from shorthaul.affine.sizes import require_sizes
        from shorthaul.affine.workloads.cases import case

        try:
            source = case(self.file, self.function)
        except InputError:
            return None
        if source.digest != self.digest:
            return None
        return source.workload, require_sizes(self.size, source.workload, fast_memory=False)


def _words(value: int) -> int:
    """Return how many words are loaded, less what evaluating a formula may add."""
    return math.ceil(value * (1 - _ROUNDING))


def _model(text: str, options: GraphOptions) -> Source[Cdag]:
    from shorthaul.bridges.network_graph import cdag_of_network
    from shorthaul.tensor.networks.translation.network import network_from_onnx
    from shorthaul.tensor.options import MachineOptions

    path, sizes = Path(text), MachineOptions(dim=options.dim).sizes()
    data = read_bytes(path)
    try:
        cdag = cdag_of_network(network_from_onnx(data, sizes, file=path))
    except InputError as error:
        raise error.in_file(path) from None
    name = text if options.dim is None else f"{text} --dim {options.dim}"
    return Source(replace(cdag, weight_bytes=1.0), name, digest(data + (options.dim or "").encode()))
