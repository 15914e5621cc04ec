"""Forty public architectures at real sizes, as exporters write them."""

from __future__ import annotations

from tests.tensor.networks import convolutional, further, transformers
from tests.tensor.networks.registry import ARCHITECTURES

__all__ = ["ARCHITECTURES", "convolutional", "further", "transformers"]
