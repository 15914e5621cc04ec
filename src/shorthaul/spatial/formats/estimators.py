"""Models of scikit-learn as ``joblib.dump`` and ``pickle.dump`` write them, read without running foreign code."""

from __future__ import annotations

import bz2
import inspect
import io
import lzma
import zlib
from typing import Any

import numpy as np

from shorthaul.core.errors import InputError
from shorthaul.core.files.arrays import MOST_UNPACKED

#: Files with these suffixes are read as models.
SUFFIXES = frozenset({".joblib", ".pkl", ".pickle"})
#: How what begins so is unpacked, up to so many bytes.
_COMPRESSED = {
    b"\x1f\x8b": lambda data, most: zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(data, most),
    b"BZ": lambda data, most: bz2.BZ2Decompressor().decompress(data, most),
    b"\xfd7": lambda data, most: lzma.LZMADecompressor().decompress(data, most),
    b"x": lambda data, most: zlib.decompressobj().decompress(data, most),
}
#: What a model may be made of beside classes of scikit-learn and types of NumPy, by package.
_PARTS = {
    "builtins": "object list dict tuple set frozenset slice range complex bytearray int float str bool bytes",
    "collections": "OrderedDict defaultdict",
    "copyreg": "_reconstructor",
    "joblib": "NumpyArrayWrapper",
    "numpy": "_reconstruct _mareconstruct _frombuffer scalar RandomState MT19937 PCG64 SeedSequence __randomstate_ctor "
    "__bit_generator_ctor __generator_ctor __pyx_unpickle_SeedSequence",
}


def load_estimator(data: bytes) -> object:
    """Return the model in ``data``; raises :class:`InputError` for what is none, or would run other code."""
    try:
        from joblib.numpy_pickle import NumpyUnpickler
    except ImportError:
        raise InputError("models need scikit-learn", cure="pip install 'shorthaul[sklearn]'") from None

    class Reader(NumpyUnpickler):  # type: ignore[misc]  # joblib has no types
        """Looks up nothing but what a model is made of: a pickle may name, and call, any function."""

        def find_class(self, module: str, name: str) -> Any:
            package = module.partition(".")[0]
            if package in {"sklearn", "scipy", *_PARTS}:
                found = super().find_class(module, name)
                if name in _PARTS.get(package, "").split() or _is_part(found, name):
                    return found
            cure = "keep trees, forests or boosting of scikit-learn in it, and nothing else"
            raise InputError("is made of more than a model of scikit-learn", value=f"{module}.{name}", cure=cure)

    try:
        reader = Reader("", io.BytesIO(_decompressed(data)), False)
        reader.mmap_mode = None  # older versions of joblib take it in the third place
        return reader.load()
    except InputError:
        raise
    except Exception as error:
        # Damaged pickles end in errors of any kind.
        allowed = "a file of joblib.dump or pickle.dump"
        raise InputError(
            "is not a model of scikit-learn", value=f"{type(error).__name__}: {error}", allowed=allowed
        ) from None


def _is_part(found: Any, name: str) -> bool:
    """Whether ``found`` is a class of scikit-learn, what restores one, a sparse matrix or a type of NumPy."""
    origin = str(getattr(found, "__module__", ""))
    if not inspect.isclass(found):
        return origin.startswith("sklearn.") and name.startswith("__pyx_unpickle_")
    return origin.startswith(("sklearn.", "scipy.sparse.")) or issubclass(found, np.generic | np.dtype | np.ndarray)


def _decompressed(data: bytes) -> bytes:
    unpack = _COMPRESSED.get(data[:2]) or _COMPRESSED.get(data[:1])
    if unpack is None:
        return data
    unpacked = unpack(data, MOST_UNPACKED + 1)
    if len(unpacked) > MOST_UNPACKED:
        raise InputError("unpacks to too much", allowed=f"up to {MOST_UNPACKED} bytes")
    return unpacked
