"""A platform as the document that its reader takes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from shorthaul.dataflow.formats.platforms import PLATFORM_KIND
from shorthaul.dataflow.model import Platform


def platform_document(platform: Platform) -> dict[str, Any]:
    """Return the platform as JSON."""
    return {"kind": PLATFORM_KIND, "version": 1, **asdict(platform)}
