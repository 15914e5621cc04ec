"""C loop nests as workloads of the pebble engine: the concrete computation DAG at given sizes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shorthaul.core.cases import Source
from shorthaul.core.document import digest
from shorthaul.core.errors import InputError
from shorthaul.core.options import option

if TYPE_CHECKING:
    from shorthaul.pebble.model import Cdag


@dataclass(frozen=True, slots=True)
class LoopNestOptions:
    """How a C file becomes a computation DAG."""

    size: str | None = option(None, "Of a C file: values of its parameters, as in N=8,M=6.")
    function: str | None = option(None, "Of a C file: the function to read, where several have a '#pragma scop'.")


def cdag_source(text: str, options: LoopNestOptions | None = None) -> Source[Cdag]:
    """Return the CDAG that ``text`` names: a C file at the sizes in ``options``, or what the pebble engine reads.

    Nodes of a C file weigh the bytes of their array elements. Raises :class:`InputError` that names file, place, value
    and cure; also for sizes of anything that is no C file.

    >>> cdag_source("dwt:n=8,d=3,word=1").workload.n
    22
    """
    from shorthaul.pebble.verbs.planning import case as read

    options = LoopNestOptions() if options is None else options
    if Path(text).suffix != ".c":
        for flag, value in (("--size", options.size), ("--function", options.function)):
            if value is not None:
                allowed = "for C files only, as in kernel.c"
                raise InputError("does not apply", place=flag, value=f"{text} {flag} {value}", allowed=allowed)
        return read(text)
    from shorthaul.affine.verbs import planning
    from shorthaul.affine.workloads.cases import case
    from shorthaul.pebble.formats.documents import cdag_from_document

    source = case(text, options.function)
    document = planning.cdag(source.workload, size=options.size, function=options.function)
    name = text if options.size is None else f"{text} --size {options.size}"
    identity = f"{source.digest} {options.function or ''} {options.size or ''}"
    return Source(cdag_from_document(document, name=source.workload.name), name, digest(identity))
