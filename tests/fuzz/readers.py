"""Every reader of the project with files that it reads, and the errors it may answer with."""

from __future__ import annotations

import base64
import faulthandler
import functools
import json
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import shorthaul
from shorthaul.core.document import digest
from shorthaul.core.errors import InfeasibleError, InputError, NoPlanError
from tests.fuzz.binaries import mutate_header, mutate_outside, mutate_records, mutate_wire
from tests.fuzz.mutators import (
    Mutator,
    mutate_archive,
    mutate_array,
    mutate_json,
    mutate_model,
    mutate_text,
)
from tests.fuzz.notations import mutate_notation, splice
from tests.fuzz.operators import mutate_operators, networks
from tests.fuzz.programs import (
    BLUR_IN_C,
    COPIES_IN_C,
    ELEMENTS_IN_PYTHON,
    PRODUCT_IN_PYTHON,
    STEPS_IN_C,
    STEPS_IN_PYTHON,
)

ROOT = Path(__file__).parents[2]
ANSWERS = (InputError, InfeasibleError, NoPlanError)
PEBBLE, AFFINE, TENSOR, DATAFLOW, SPATIAL = "dwt:n=8,d=3,word=1", "matvec", "example-3", "fig7", "star:n=9"
EXPLORE = {"population": 4, "offspring": 2, "polish_effort": 0.0, "effort": 5.0}


@dataclass(frozen=True)
class Reader:
    """Files of one format: ``seeds`` writes some to a folder, ``read`` takes the path of one.

    ``use`` reads one and does what a verb does with it, where that takes much longer than to read.
    """

    name: str
    suffix: str
    mutate: Mutator
    seeds: Callable[[Path], None]
    read: Callable[[Path], object]
    use: Callable[[Path], object] | None = None


def texts(*contents: str, suffix: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        for number, content in enumerate(contents):
            folder.joinpath(f"{number}{suffix}").write_text(content)

    return write


def example(name: str) -> str:
    return (ROOT / "examples" / name).read_text()


@functools.cache
def workload(engine: str, name: str) -> Any:
    """Return what a name stands for, read once."""
    return getattr(shorthaul, engine).case(name).workload


@functools.cache
def planned(engine: str) -> Any:
    """Return a plan, which readers of several formats start from."""
    module = getattr(shorthaul, engine)
    if engine == "affine":
        return module.plan(AFFINE, size="M=3,N=3,S=8", effort=1, evaluations=1)
    if engine == "dataflow":
        return module.plan(DATAFLOW, generations=1, **EXPLORE)
    return module.plan({"pebble": PEBBLE, "tensor": TENSOR, "spatial": SPATIAL}[engine], effort=0.05)


def of_plan(engine: str, suffix: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        result = planned(engine)
        assert result.plan_file is not None
        result.plan_file.save(folder / f"plan{suffix}", result.plan, result.plan_file.workload)
        if suffix == ".json":
            result.save(folder / "result.json")

    return write


def cdag_json(folder: Path) -> None:
    from shorthaul.pebble.formats.documents import cdag_document

    folder.joinpath("a.json").write_text(json.dumps(cdag_document(shorthaul.pebble.case(PEBBLE).workload)))
    folder.joinpath("b.json").write_text('{"c": ["a", "b"], "d": ["c", "a"], "e": ["d"]}')


def problem_json(folder: Path) -> None:
    shorthaul.tensor.save_problem(folder / "a.json", shorthaul.tensor.case(TENSOR).workload)


def network_json(folder: Path) -> None:
    from shorthaul.dataflow.formats.documents import application_document

    for name in (DATAFLOW, "sobel"):
        document = application_document(shorthaul.dataflow.case(name).workload.application)
        folder.joinpath(f"{name}.json").write_text(json.dumps(document))


def network_xml(folder: Path) -> None:
    folder.joinpath("a.xml").write_text(
        shorthaul.dataflow.write_sdf3(shorthaul.dataflow.case(DATAFLOW).workload.application)
    )
    folder.joinpath("b.xml").write_text(example("cd2dat.xml"))


def platform_json(folder: Path) -> None:
    from tests.dataflow.platform_documents import platform_document

    document = platform_document(shorthaul.dataflow.platform24(tiles=1))
    folder.joinpath("a.json").write_text(json.dumps(document))


@functools.cache
def journal_lines() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "journal.txt")
        shorthaul.dataflow.plan(DATAFLOW, generations=1, journal=path, **EXPLORE)
        return path.read_bytes()


def journal(folder: Path) -> None:
    folder.joinpath("journal.txt").write_bytes(journal_lines())


def state(folder: Path) -> None:
    (*_, record) = journal_lines().splitlines()
    folder.joinpath("state.npz").write_bytes(base64.b64decode(record.split(b"\t")[2]))


def parents(folder: Path) -> None:
    np.save(folder / "a.npy", np.array([-1, 0, 0, 1, 1], np.int32))


def tree_archive(folder: Path) -> None:
    np.savez(folder / "a.npz", parent=np.array([-1, 0, 0, 1, 1], np.int32))


def values(folder: Path) -> None:
    np.save(folder / "a.npy", np.arange(9))
    np.save(folder / "b.npy", np.linspace(0, 1, 9))


def queries(folder: Path) -> None:
    np.save(folder / "a.npy", np.array([[0, 1], [3, 8], [5, 5]]))


def images(folder: Path) -> None:
    np.save(folder / "a.npy", np.ones((2, 8, 8, 3), np.float32))


def model(folder: Path) -> None:
    import onnx

    info = functools.partial(onnx.helper.make_tensor_value_info, elem_type=1)
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["m"]),
        onnx.helper.make_node("Add", ["m", "b"], ["s"]),
        onnx.helper.make_node("Relu", ["s"], ["y"]),
    ]
    shapes = {"x": [64, 32], "w": [32, 16], "b": [64, 16]}
    inputs = [info(name, shape=shape) for name, shape in shapes.items()]
    graph = onnx.helper.make_graph(nodes, "g", inputs, [info("y", shape=[64, 16])])
    folder.joinpath("a.onnx").write_bytes(onnx.helper.make_model(graph).SerializeToString())


def network(folder: Path) -> None:
    """A model whose weights lie in a file beside it."""
    import onnx

    folder = folder.resolve()
    info, weights = onnx.helper.make_tensor_value_info, onnx.numpy_helper.from_array
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["m"]),
        onnx.helper.make_node("Relu", ["m"], ["r"]),
        onnx.helper.make_node("Gather", ["r", "i"], ["g"], axis=1),
        onnx.helper.make_node("Reshape", ["g", "q"], ["y"]),
    ]
    given = {"w": np.ones((6, 4), np.float32), "i": np.array([0, 3]), "q": np.array([4, 4])}
    initial = [weights(array, name) for name, array in given.items()]
    made = onnx.helper.make_model(
        onnx.helper.make_graph(nodes, "g", [info("x", 1, [8, 6])], [info("y", 1, [4, 4])], initial)
    )
    onnx.external_data_helper.convert_model_to_external_data(made, location="weights.bin", size_threshold=0)
    onnx.save(made, folder / "a.onnx")


def read_network(path: Path) -> object:
    from shorthaul.tensor.networks.translation.network import network_from_onnx

    return network_from_onnx(path.read_bytes(), file=path)


def run_network(path: Path) -> object:
    return shorthaul.tensor.run(path, machine="phone-npu", effort=0.01)


def read_order(path: Path) -> object:
    return shorthaul.affine.load_plan(path, workload("affine", AFFINE))


def check_order(path: Path) -> object:
    from shorthaul.affine.check.plan_check import check_plan

    program = workload("affine", AFFINE)
    return check_plan(program, shorthaul.affine.load_plan(path, program))


def read_records(path: Path) -> object:
    from shorthaul.core.searching.journal import read_journal

    head = json.loads(journal_lines().split(b"\t")[1])
    return read_journal(path, {name: value for name, value in head.items() if name not in {"kind", "version"}})


def read_state(path: Path) -> object:
    from shorthaul.dataflow.verbs.inputs import PLANS

    return PLANS.unpacked(path.read_bytes(), workload("dataflow", DATAFLOW))


def resume(path: Path) -> object:
    return shorthaul.dataflow.plan(DATAFLOW, generations=2, resume=path, **EXPLORE)


def resume_state(path: Path) -> object:
    """Resume a journal whose digests are right, whatever it holds."""
    file = path.with_suffix(".journal")
    text = b'{"cost": -2.0}\t' + base64.b64encode(path.read_bytes())
    file.unlink(missing_ok=True)
    file.write_bytes(journal_lines() + digest(text).encode() + b"\t" + text + b"\n")
    return resume(file)


def draw(path: Path) -> object:
    return shorthaul.report([path], path.with_suffix(".html"))


def read_program(path: Path) -> object:
    return shorthaul.affine.program_from_text(path.read_text(errors="replace"), file=path)


def checked(engine: str, name: str, **keywords: object) -> Callable[[Path], object]:
    return lambda path: getattr(shorthaul, engine).check(workload(engine, name), path, **keywords)


def transformed(path: Path, **keywords: object) -> object:
    return shorthaul.spatial.treefix(
        workload("spatial", SPATIAL), path, op="affine", direction="down", refine=0, **keywords
    )


def case_of(engine: str) -> Callable[[Path], object]:
    return lambda path: getattr(shorthaul, engine).case(str(path))


def read_points(path: Path) -> object:
    from shorthaul.dataflow.formats.documents import load_points

    return load_points(path)


def read_images(path: Path) -> object:
    from shorthaul.core.files.arrays import Column, read_array

    return read_array(path.read_bytes(), Column("iufb", None))


def read_moves(path: Path) -> object:
    from shorthaul.pebble.formats.documents import load_plan

    return load_plan(path, workload("pebble", PEBBLE))


check_moves = checked("pebble", PEBBLE, effort=0.01)
check_layout, check_steps = checked("spatial", SPATIAL), checked("tensor", TENSOR)


def read_layout(path: Path) -> object:
    from shorthaul.spatial.formats.files import load_layout

    return load_layout(path)


def read_steps(path: Path) -> object:
    return shorthaul.tensor.load_plan(path, workload("tensor", TENSOR))


def read_numbers(path: Path) -> object:
    from shorthaul.pebble.formats.documents import load_numbers

    return load_numbers(path, 8)


GENERAL: dict[str, Mutator] = {".npy": mutate_header, ".npz": mutate_records, ".onnx": mutate_wire}
MATRIX = "%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 1.0\n2 1 2\n2 2 1\n3 2 5\n3 3 1\n"
HYPERDAG = "%% comment\n1 4 2\n0 9 2 % last number\n0 1\n1 1\n2 1\n3 1\n0 1\n0 3\n"
READERS = (
    Reader("affine plan", ".json", mutate_json, of_plan("affine", ".json"), read_order, check_order),
    Reader("affine columns", ".npz", mutate_archive, of_plan("affine", ".npz"), read_order, check_order),
    Reader("C", ".c", mutate_text, texts(BLUR_IN_C, STEPS_IN_C, COPIES_IN_C, suffix=".c"), read_program),
    Reader("dataflow network", ".json", mutate_json, network_json, case_of("dataflow")),
    Reader("SDF3", ".xml", mutate_text, network_xml, case_of("dataflow")),
    Reader("dataflow platform", ".json", mutate_json, platform_json, shorthaul.dataflow.load_platform),
    Reader(
        "dataflow plan", ".json", mutate_json, of_plan("dataflow", ".json"), read_points, checked("dataflow", DATAFLOW)
    ),
    Reader("dataflow journal", ".txt", mutate_text, journal, read_records, resume),
    Reader("dataflow state", ".npz", mutate_archive, state, read_state, resume_state),
    Reader(
        "dataflow images",
        ".npy",
        mutate_array,
        images,
        read_images,
        lambda path: shorthaul.dataflow.run("sobel:width=8,height=8", images=path, generations=1, iterations=2),
    ),
    Reader("pebble graph", ".json", mutate_json, cdag_json, case_of("pebble")),
    Reader(
        "DOT",
        ".dot",
        mutate_text,
        texts(example("fir.dot"), 'digraph "a" { a [weight=2]; a -> c -> d; "b c" -> d }', suffix=".dot"),
        case_of("pebble"),
    ),
    Reader("MatrixMarket", ".mtx", mutate_text, texts(MATRIX, suffix=".mtx"), case_of("pebble")),
    Reader("HyperDAG", ".hdag", mutate_text, texts(HYPERDAG, suffix=".hdag"), case_of("pebble")),
    Reader("pebble plan", ".json", mutate_json, of_plan("pebble", ".json"), read_moves, check_moves),
    Reader("pebble columns", ".npz", mutate_archive, of_plan("pebble", ".npz"), read_moves, check_moves),
    Reader(
        "pebble numbers",
        ".txt",
        mutate_text,
        texts("1\n2.5\n-3e2\n4\n5\n6\n7\n8\n", suffix=".txt"),
        read_numbers,
        lambda path: shorthaul.pebble.run(workload("pebble", PEBBLE), data=path, effort=0.01),
    ),
    Reader(
        "Newick",
        ".nwk",
        mutate_text,
        texts("((a,b)c,d:2)e;", "('it''s':1e-3,[comment]b)c;\n(x,y)z;", suffix=".nwk"),
        lambda path: shorthaul.spatial.case(str(path), forest=True),
    ),
    Reader("parents", ".npy", mutate_array, parents, case_of("spatial")),
    Reader("parents as text", ".txt", mutate_text, texts("-1\n0\n0\n1\n", suffix=".txt"), case_of("spatial")),
    Reader(
        "tree as a table",
        ".csv",
        mutate_text,
        texts("id,parent,length\na,b,1\nb,r,0.5\nc,r,\n", suffix=".csv"),
        case_of("spatial"),
    ),
    Reader("tree archive", ".npz", mutate_archive, tree_archive, case_of("spatial")),
    Reader("layout", ".json", mutate_json, of_plan("spatial", ".json"), read_layout, check_layout),
    Reader("layout columns", ".npz", mutate_archive, of_plan("spatial", ".npz"), read_layout, check_layout),
    Reader(
        "values",
        ".npy",
        mutate_array,
        values,
        lambda path: shorthaul.spatial.treefix(workload("spatial", SPATIAL), path, method="convergecast", refine=0),
        lambda path: shorthaul.spatial.treefix(workload("spatial", SPATIAL), path, refine=0),
    ),
    Reader(
        "queries",
        ".npy",
        mutate_array,
        queries,
        lambda path: shorthaul.spatial.lca(workload("spatial", SPATIAL), path, method="convergecast", refine=0),
        lambda path: shorthaul.spatial.lca(workload("spatial", SPATIAL), path, refine=0),
    ),
    Reader("tensor problem", ".json", mutate_json, problem_json, case_of("tensor")),
    Reader("tensor plan", ".json", mutate_json, of_plan("tensor", ".json"), read_steps, check_steps),
    Reader("tensor columns", ".npz", mutate_archive, of_plan("tensor", ".npz"), read_steps, check_steps),
    Reader("ONNX", ".onnx", mutate_model, model, case_of("tensor")),
    Reader("ONNX network", ".onnx", mutate_outside, network, read_network, run_network),
    Reader("ONNX operators", ".onnx", mutate_operators, networks, read_network, run_network),
    Reader(
        "edge list",
        ".edgelist",
        mutate_text,
        texts("a b\nb c\na c\n", "# x\n0 1\n1 2\n", suffix=".edgelist"),
        case_of("pebble"),
    ),
    Reader(
        "Python",
        ".py",
        mutate_text,
        texts(PRODUCT_IN_PYTHON, STEPS_IN_PYTHON, ELEMENTS_IN_PYTHON, suffix=".py"),
        read_program,
    ),
    Reader(
        "values of affine maps",
        ".txt",
        mutate_text,
        texts("1 2\n" * 9, "".join(f"{i},{i},2\n" for i in range(9)), suffix=".txt"),
        lambda path: transformed(path, method="convergecast"),
        transformed,
    ),
    Reader("result document", ".json", mutate_json, of_plan("spatial", ".json"), draw),
)


def mutated(reader: Reader, seeds: list[bytes], random: Random, most_bytes: int | None = None) -> bytes:
    """Return one of the files, changed by the format's mutator or by a more general one.

    A text of more than twice ``most_bytes`` is cut there before it is changed once more, which takes long for long words.
    """
    data, way = random.choice(seeds), random.random()
    if way < 0.45:
        return reader.mutate(data, random)
    if way < 0.5:
        return splice(data, random.choice(seeds), random)
    if reader.suffix in GENERAL:
        return GENERAL[reader.suffix](data, random)
    return mutate_notation(data, random) if most_bytes is None else mutate_notation(data, random, 2 * most_bytes)


def fuzz(
    reader: Reader, count: int, seed: int = 0, *, used: int | None = None, most_bytes: int | None = None
) -> tuple[list[str], int]:
    """Return what went wrong in ``count`` mutations of the reader's files, every error but an answer; how many passed.

    The first ``used`` (all) are used, of the others those that are read until so many have passed; what a mutation before
    it made as well is not read again. Files of more than ``most_bytes``, or of twice the smallest seed if that is more,
    are drawn again; seeds of more than twice that are left out.
    """
    random, wrong, passed, known = Random(f"{reader.name} {seed}"), [], 0, dict[bytes, bool]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reader.seeds(folder)
        seeds = [path.read_bytes() for path in sorted(folder.glob(f"*{reader.suffix}"))]
        for path in sorted(folder.glob(f"*{reader.suffix}")):
            reader.read(path) if reader.name != "result document" or path.stem == "result" else None
        if most_bytes is not None:
            most_bytes = max(most_bytes, 2 * min(map(len, seeds)))
            seeds = [data for data in seeds if len(data) <= 2 * most_bytes]
        target = folder / f"mutated{reader.suffix}"
        for number in range(count):
            data = mutated(reader, seeds, random, most_bytes)
            while most_bytes is not None and len(data) > most_bytes:
                data = mutated(reader, seeds, random, most_bytes)
            if data in known:
                passed += known[data]
                continue
            known[data] = False
            target.unlink(missing_ok=True)  # a file that is written over goes to the disk at once: 1.4 ms more
            target.write_bytes(data)
            try:
                if reader.use is None or (used is not None and number >= used):
                    reader.read(target)
                    if reader.use is not None and passed < used:
                        reader.use(target)
                else:
                    reader.use(target)
                known[data] = True
                passed += 1
            except ANSWERS as error:
                if not str(error):
                    wrong.append(f"{reader.name} {number}: no message")
            except MemoryError as error:  # a command says so; what asks for more than there is, at once, takes nothing
                if "Unable to allocate" not in str(error):
                    wrong.append(f"{reader.name} {number}: MemoryError: {error}: {data[:3000]!r}")
            except Exception as error:
                wrong.append(f"{reader.name} {number}: {type(error).__name__}: {error}: {data[:3000]!r}")
    return wrong, passed


def fuzz_within_limits(name: str, count: int, seed: int) -> tuple[list[str], int, float]:
    """Do so for a reader by its name, in 2 GiB of memory and 10 s per file on the mean; return the processor time (s) too."""
    faulthandler.enable()
    faulthandler.dump_traceback_later(10 * count, exit=True)
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    began = time.process_time()
    reader = next(reader for reader in READERS if reader.name == name)
    return *fuzz(reader, count, seed), time.process_time() - began
