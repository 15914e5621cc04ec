"""Forty public architectures at real sizes, as exporters write them."""

from __future__ import annotations

from tests.tensor.networks import convolutional, further, transformers
from tests.tensor.networks.registry import ARCHITECTURES

#: The sizes of symbolic dimensions.
DIMS: dict[str, dict[str, int]] = {
    "vgg16": {"batch": 4},
    "efficientnet_b0": {"N": 1},
    "distilbert_dynamic": {"batch": 2, "sequence": 128},
    "mlp": {"batch": 64},
}

__all__ = ["ARCHITECTURES", "DIMS", "convolutional", "further", "transformers"]
