"""Models of scikit-learn as ``joblib.dump`` and ``pickle.dump`` write them, read without running foreign code.

They are read in a process of their own: NumPy takes types of elements from a pickle as they stand, and a damaged one
ends the interpreter.
"""

from __future__ import annotations

import inspect
import io
import json
import math
import signal
import subprocess
import sys
import time
import zlib
from contextlib import suppress
from typing import Any, Final

import numpy as np

from shorthaul.core.errors import ABSENT, InputError
from shorthaul.core.files.arrays import MOST_UNPACKED, Column, read_array
from shorthaul.core.search import Search
from shorthaul.core.searching.deadline import GRACE_S, expect_time
from shorthaul.core.searching.memory import refusing_beyond, shown
from shorthaul.spatial.formats.decision_trees import tree_from_sklearn
from shorthaul.spatial.model import Tree, tree_from_parents

#: Files with these suffixes are read as models.
SUFFIXES = frozenset({".joblib", ".pkl", ".pickle"})
#: What a model may be made of beside classes of scikit-learn and types of NumPy, by package.
_PARTS = {
    "builtins": "object list dict tuple set frozenset slice range complex bytearray int float str bool bytes",
    "collections": "OrderedDict defaultdict",
    "copyreg": "_reconstructor",
    "joblib": "",
    "numpy": "_reconstruct _mareconstruct _frombuffer scalar RandomState MT19937 PCG64 SeedSequence __randomstate_ctor "
    "__bit_generator_ctor __generator_ctor __pyx_unpickle_SeedSequence",
}
#: What old protocols call modules.
_FORMER = {"copy_reg": "copyreg", "__builtin__": "builtins"}
#: What reading a model may take: bytes, and seconds of a processor.
_MOST_BYTES: Final = 4 * MOST_UNPACKED
_MOST_S: Final = 120
_ALLOWED: Final = "a file of joblib.dump or pickle.dump"


def tree_from_model(data: bytes, search: Search | None = None) -> Tree:
    """Return the trees of the model in ``data``; raises :class:`InputError` for what is none, or would run other code.

    Raises :class:`NoPlanError` if ``search`` ends before.
    """
    program = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import answer; answer({_MOST_BYTES}, {_MOST_S})"
    left_s = math.inf if search is None else search.deadline + GRACE_S - time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=_decompressed(data),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=min(max(0.0, left_s), 10 * _MOST_S),
            check=False,
        )
    except subprocess.TimeoutExpired:
        expect_time(search)
        raise InputError("takes too long to read", allowed=f"{_MOST_S} s") from None
    if done.returncode == -getattr(signal, "SIGXCPU", 0):
        raise InputError("takes too long to read", allowed=f"{_MOST_S} s of a processor")
    if done.returncode:
        raise InputError(f"is damaged: it ended its reader with status {done.returncode}", allowed=_ALLOWED)
    if done.stdout[:1] == b"{":
        raise InputError(**json.loads(done.stdout))
    parent = read_array(done.stdout, Column("i"))
    return tree_from_parents(parent, forest=int(np.count_nonzero(parent < 0)) > 1)


def answer(most_bytes: int, most_s: int) -> None:
    """Write the parents in the model on standard input to standard output, or what is wrong with it as JSON."""
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # whatever a library prints
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (most_s, most_s + 1))
    try:
        with refusing_beyond(most_bytes):
            np.save(out, tree_from_sklearn(load_estimator(sys.stdin.buffer.read())).parent)
    except MemoryError:
        out.write(json.dumps({"problem": "takes too much memory to read", "allowed": shown(most_bytes)}).encode())
    except InputError as error:
        told = {"problem": error.problem, "allowed": error.allowed, "cure": error.cure}
        out.write(json.dumps({**told, "value": str(error.value)} if error.value is not ABSENT else told).encode())


def load_estimator(data: bytes) -> object:
    """Return the model in ``data``; raises :class:`InputError` for what is none, or would run other code."""
    try:
        from joblib.numpy_pickle import NumpyArrayWrapper, NumpyUnpickler
    except ImportError:
        raise InputError("models need scikit-learn", cure="pip install 'shorthaul[sklearn]'") from None

    class Wrapper(NumpyArrayWrapper):  # type: ignore[misc]  # joblib has no types
        """Reads arrays of objects, which are pickles themselves, by the same rules: older versions of joblib do not."""

        def read_array(self, unpickler: Any, *options: Any) -> Any:
            if not self.dtype.hasobject:
                return super().read_array(unpickler, *options)
            return opened(unpickler.file_handle).load()

    class Reader(NumpyUnpickler):  # type: ignore[misc]  # joblib has no types
        """Looks up nothing but what a model is made of: a pickle may name, and call, any function."""

        def find_class(self, module: str, name: str) -> Any:
            module = _FORMER.get(module, module)
            package = module.partition(".")[0]
            if (module, name) == ("_codecs", "encode"):  # how old protocols write bytes
                return _bytes_of
            if (module, name) == ("functools", "partial"):
                return _Unused
            if (package, name) == ("joblib", "NumpyArrayWrapper"):
                return Wrapper
            if package in {"sklearn", "scipy", *_PARTS}:
                found = super().find_class(module, name)
                if name in _PARTS.get(package, "").split() or _is_part(found, name):
                    return found
                if inspect.isroutine(found) and str(found.__module__).startswith("sklearn."):
                    return _Unused
            cure = "keep trees, forests or boosting of scikit-learn in it, and nothing else"
            raise InputError("is made of more than a model of scikit-learn", value=f"{module}.{name}", cure=cure)

    def opened(stream: io.BufferedIOBase) -> Reader:
        reader = Reader("", stream, False)
        reader.mmap_mode = None  # older versions of joblib take it in the third place
        return reader

    try:
        return opened(io.BytesIO(data)).load()
    except (InputError, MemoryError):
        raise
    except Exception as error:
        # Damaged pickles end in errors of any kind.
        found = f"{type(error).__name__}: {error}"
        raise InputError("is not a model of scikit-learn", value=found, allowed=_ALLOWED) from None


class _Unused:
    """Stands for functions in a model, which nobody calls, as for those that prepare categories; does nothing."""

    def __init__(self, *_: object) -> None:
        """Take any arguments."""

    def __setstate__(self, state: object) -> None:
        """Take any state."""


def _bytes_of(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise InputError("is not a model of scikit-learn", value=f"bytes as {encoding}", allowed=_ALLOWED)
    return text.encode(encoding)


def _is_part(found: Any, name: str) -> bool:
    """Whether ``found`` is a class of scikit-learn, what restores one, a sparse matrix or a type of NumPy."""
    origin = str(getattr(found, "__module__", ""))
    if not inspect.isclass(found):
        return origin.startswith("sklearn.") and name.startswith("__pyx_unpickle_")
    return origin.startswith(("sklearn.", "scipy.sparse.")) or issubclass(found, np.generic | np.dtype | np.ndarray)


def _decompressed(data: bytes) -> bytes:
    """Return what joblib packs by default; what other programs unpack, too, is unpacked as it is read."""
    try:
        unpacked = zlib.decompressobj().decompress(data, MOST_UNPACKED + 1) if data[:1] == b"x" else data
    except zlib.error as error:
        found = f"{type(error).__name__}: {error}"
        raise InputError("is not a model of scikit-learn", value=found, allowed=_ALLOWED) from None
    if len(unpacked) > MOST_UNPACKED:
        raise InputError("unpacks to too much", allowed=f"up to {MOST_UNPACKED} bytes")
    return unpacked
