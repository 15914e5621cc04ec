"""Where a result comes from: enough to make it again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shorthaul.core.version import VERSION

if TYPE_CHECKING:
    from shorthaul.core.cases import Source
    from shorthaul.core.search import Search


@dataclass(frozen=True, slots=True)
class Provenance:
    """Version, command, options, seed and input of a result.

    ``wall_time_s`` is in seconds; ``input_digest`` is the SHA-256 of the input's bytes (of the case's name and
    parameters where the input is a built-in case).
    """

    version: str
    command: str
    options: Mapping[str, Any]
    seed: int | None
    input: str
    input_digest: str
    wall_time_s: float
    interrupted: bool = False

    def document(self) -> dict[str, Any]:
        """Return the provenance as a JSON object."""
        return {**dataclasses.asdict(self), "wall_time_s": round(self.wall_time_s, 6)}


def provenance(command: str, *, options: Any, source: Source[Any] | None, search: Search) -> Provenance:
    """Return the provenance of a result of ``command`` (``"tensor plan"``), made now.

    ``options`` is the verb's option dataclass; ``source`` is None for a workload that a Python caller made.
    """
    fields = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in fields.items()}
    return Provenance(
        version=VERSION,
        command=command,
        options={"effort": search.effort, "time_limit": search.time_limit, **plain},
        seed=search.seed,
        input="" if source is None else source.name,
        input_digest="" if source is None else source.digest,
        wall_time_s=search.elapsed_s(),
        interrupted=search.interrupted,
    )
