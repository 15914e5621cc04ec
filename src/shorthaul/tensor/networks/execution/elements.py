"""Elements that numbers name along an axis: the reference of onnx fails where another axis has one place, or less."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx.reference.op_run import OpRun

Array = npt.NDArray[Any]


class GatherElements(OpRun):  # type: ignore[misc]
    """Elements of a table, which may reach further along the other axes than the places do."""

    op_domain = ""

    def _run(self, table: Array, places: Array, axis: int = 0) -> tuple[Array]:
        along = axis % table.ndim
        inside = tuple(slice(None) if at == along else slice(size) for at, size in enumerate(places.shape))
        return (np.take_along_axis(table[inside], places % table.shape[along], axis=along),)
