"""Files of one format rewritten in another of the same engine, chosen by their suffixes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path

from shorthaul.bridges.operator_network import NetworkOptions, network_of, network_of_model
from shorthaul.core.arguments import public
from shorthaul.core.document import decode_text, read_bytes, save_json, suffix_of, write_text
from shorthaul.core.errors import InputError
from shorthaul.dataflow.model import Application
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.options import AcceleratorOptions


@dataclass(frozen=True, slots=True)
class Conversion:
    """A conversion: files with a suffix of ``reads`` become files with a suffix of ``writes``, perhaps with remarks."""

    what: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    convert: Callable[[Path, bytes, Path], tuple[str, ...] | None]


@public
def convert(
    source: str | PathLike[str],
    target: str | PathLike[str],
    *,
    capacity: float = 2.0**20,
    bandwidth: float = 16.0,
    native: str = "128x128",
    network: bool = False,
    core_types: str = "t1=0.667,t2=1,t3=2",
    element_bytes: int = 4,
    machine: str | None = None,
    dim: str | None = None,
) -> str:
    """Write ``source`` in the format that the suffix of ``target`` names; return what was converted.

    Keywords are those of the command: the machine of a problem made from an ONNX model, and what a streaming network
    of such a model, or of a problem of the tensor engine, is made with.

    Parameters
    ----------
    source : str | PathLike[str]
        The file to read; its suffix says the format.
    target : str | PathLike[str]
        The file to write; its suffix says the format.
    capacity : float, default 2^20
        Elements of fast memory of the machine that an ONNX model runs on.
    bandwidth : float, default 16.0
        Elements from or to its slow memory per unit of time.
    native : str, default "128x128"
        Its native tile, WIDTHxHEIGHT elements.
    network : bool, default False
        Whether a streaming network of the operators is written, one actor each.
    core_types : str, default "t1=0.667,t2=1,t3=2"
        The network's core types, and how long each takes against the model's time.
    element_bytes : int, default 4
        Bytes of one element of a tensor of the network.
    machine : str | None, default None
        A machine whose units give the times of a network of an ONNX model, of any operators; bytes are the model's.
    dim : str | None, default None
        Sizes of its symbolic dimensions, as in ``"batch=8"``.

    Returns
    -------
    str
        What was converted, in words, after a line for every remark on it.

    Raises
    ------
    InputError
        If there is no conversion between the two suffixes, or the source is broken.

    Examples
    --------
    >>> convert("model.onnx", "model.png")
    Traceback (most recent call last):
    shorthaul.core.errors.InputError: model.onnx: no such file
      do:      name a file that is there, or '-' and pipe it in
    """
    source, target = Path(os.fsdecode(source)), Path(os.fsdecode(target))
    accelerator = AcceleratorOptions(capacity, bandwidth, native)
    streaming = NetworkOptions(network, core_types, element_bytes, machine, dim)
    data = read_bytes(source)
    to_problem = Conversion(_ONNX, (".onnx",), (".json",), partial(_onnx, accelerator=accelerator))
    known: tuple[Conversion, ...] = (*CONVERSIONS, to_problem)
    if not network and (machine or dim):
        raise InputError("goes with --network", place="--machine" if machine else "--dim", value=machine or dim)
    if network:
        write = partial(_network, accelerator=accelerator, options=streaming)
        known = (Conversion(_NETWORK, (".onnx", ".json"), (".json", ".xml"), write),)
    read, written = suffix_of(source), target.suffix.lower()
    for item in known:
        if read in item.reads and written in item.writes:
            remarks = item.convert(source, data, target) or ()
            return "\n".join([*(f"note: {remark}" for remark in remarks), item.what])
    raise _unknown(source, target, [] if read in {".c", ".py"} and not network else known)


def _unknown(source: Path, target: Path, known: Sequence[Conversion]) -> InputError:
    """Return the error that lists what is near of what is known; nothing is known of programs."""
    read, written = suffix_of(source), target.suffix.lower()
    near = [item for item in known if read in item.reads] or [item for item in known if written in item.writes] or known
    return InputError(
        "no conversion between these suffixes",
        file=source,
        value=f"{source.suffix} to {target.suffix}",
        allowed="; ".join(f"{' '.join(item.reads)} to {' '.join(item.writes)} ({item.what})" for item in near),
        cure="" if known else "'shorthaul affine cdag' writes the graph of a program",
    )


def _onnx(source: Path, data: bytes, target: Path, *, accelerator: AcceleratorOptions) -> None:
    from shorthaul.tensor.formats.documents import problem_document
    from shorthaul.tensor.networks.problems import problem_from_onnx

    save_json(target, problem_document(problem_from_onnx(data, accelerator.machine(), file=source)))


def _network(
    source: Path, data: bytes, target: Path, *, accelerator: AcceleratorOptions, options: NetworkOptions
) -> tuple[str, ...]:
    from shorthaul.tensor.formats.documents import load_problem
    from shorthaul.tensor.networks.problems import problem_from_onnx

    is_model = suffix_of(source) == ".onnx"
    if options.machine is not None:
        if not is_model:
            raise InputError(
                "goes with an ONNX model", place="--machine", value=options.machine, allowed="a file *.onnx"
            )
        network, application = _network_on_machine(source, data, options)
        _save_application(target, application)
        return network.remarks
    problem = problem_from_onnx(data, accelerator.machine(), file=source) if is_model else load_problem(source, data)
    try:
        application = network_of(problem, options, name=source.stem)
    except InputError as error:
        raise error.in_file(source) from None
    _save_application(target, application)
    return ()


def _network_on_machine(source: Path, data: bytes, options: NetworkOptions) -> tuple[Network, Application]:
    from shorthaul.tensor.networks.machine import load_machine
    from shorthaul.tensor.networks.translation.network import network_from_onnx
    from shorthaul.tensor.options import MachineOptions

    machine, sizes = load_machine(options.machine or ""), MachineOptions(options.machine, options.dim).sizes()
    network = network_from_onnx(data, sizes, file=source, most_row_bytes=machine.most_row_bytes())
    return network, network_of_model(network, machine, options)


def _save_application(target: Path, application: Application) -> None:
    from shorthaul.dataflow.formats.documents import application_document, write_sdf3

    if target.suffix.lower() == ".xml":
        write_text(target, write_sdf3(application))
    else:
        save_json(target, application_document(application))


def _cdag(source: Path, data: bytes, target: Path) -> None:
    from shorthaul.pebble.formats.documents import cdag_document, load_cdag

    save_json(target, cdag_document(load_cdag(source, data)), indent=None)


def _from_sdf3(source: Path, data: bytes, target: Path) -> None:
    from shorthaul.dataflow.formats.documents import application_document, load_application

    save_json(target, application_document(load_application(source, data)))


def _to_sdf3(source: Path, data: bytes, target: Path) -> None:
    from shorthaul.dataflow.formats.documents import load_application, write_sdf3

    write_text(target, write_sdf3(load_application(source, data)))


def _tree(source: Path, data: bytes, target: Path) -> None:
    from shorthaul.spatial.formats.files import save_tree, tree_from_file

    save_tree(target, tree_from_file(source, data, forest=True))


def _machine(source: Path, data: bytes, target: Path) -> None:
    from shorthaul.core.machines.files import foreign_machine_text

    try:
        write_text(target, foreign_machine_text(decode_text(data, file=source)))
    except InputError as error:
        raise error.in_file(source) from None


def _architecture(source: Path, data: bytes, target: Path) -> None:
    from shorthaul.dataflow.formats.platforms import platform_from_sdf3, platform_machine_text

    try:
        write_text(target, platform_machine_text(platform_from_sdf3(decode_text(data, file=source))))
    except InputError as error:
        raise error.in_file(source) from None


_ONNX = "operator graph: an ONNX model to a problem of the tensor engine"
_NETWORK = "operator graph: an ONNX model or a problem of the tensor engine to a streaming network"
_TREES = (
    ".nwk",
    ".newick",
    ".tree",
    ".tre",
    ".nex",
    ".nexus",
    ".npz",
    ".npy",
    ".parents",
    ".csv",
    ".tsv",
    ".txt",
    ".json",
)
_MODELS = (".joblib", ".pkl", ".pickle")

CONVERSIONS = (
    Conversion(
        "machine: one of zigzag or accelforge to a machine file",
        (".yaml", ".yml"),
        (".yaml", ".yml"),
        _machine,
    ),
    Conversion("machine: an architecture of SDF3 to a machine file", (".xml",), (".yaml", ".yml"), _architecture),
    Conversion("streaming network: SDF3 to an application document", (".xml",), (".json",), _from_sdf3),
    Conversion("streaming network: an application document to SDF3", (".json",), (".xml",), _to_sdf3),
    Conversion(
        "tree: Newick, NEXUS, NumPy, a table or list of parents, a model of scikit-learn",
        (*_TREES, *_MODELS),
        (".nwk", ".newick", ".npy", ".npz"),
        _tree,
    ),
    Conversion(
        "computation DAG: HyperDAG, DOT, GraphML, GML, MatrixMarket, edges or dependencies to a CDAG document",
        (".hdag", ".txt", ".dot", ".gv", ".mtx", ".graphml", ".gml", ".edgelist", ".edges", ".json"),
        (".json",),
        _cdag,
    ),
)
