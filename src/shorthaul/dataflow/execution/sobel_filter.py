"""The Sobel edge filter as actors: what ``run`` executes for the application of that name."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.dataflow.execution.machine import Frame, Function

#: ITU-R BT.601 luma weights of red, green and blue.
_LUMA = np.array([0.299, 0.587, 0.114])
_ACTORS = ("src", "gray", "mc", "gx", "gy", "mag", "sink")


def functions(images: npt.NDArray[np.float64]) -> dict[str, Function]:
    """Return the actors of the Sobel application; the source hands out ``images`` (n, height, width, 3) in turn.

    Raises :class:`InputError` if the images have another shape.
    """
    if images.ndim != 4 or images.shape[3] != 3 or images.shape[0] < 1 or min(images.shape[1:3]) < 3:
        raise InputError(
            "are no colour images", place="images", value=images.shape, allowed="(n, height, width, 3), 3 x 3 at least"
        )

    def one(frames: Mapping[str, Frame]) -> Frame:
        (frame,) = frames.values()
        return frame

    return {
        "src": lambda _frames, firing: images[firing % len(images)],
        "gray": lambda frames, _firing: gray(one(frames)),
        "mc": lambda frames, _firing: one(frames),
        "gx": lambda frames, _firing: gradient(gray(one(frames)), axis=1),
        "gy": lambda frames, _firing: gradient(gray(one(frames)), axis=0),
        "mag": lambda frames, _firing: magnitude(*(frames[name] for name in sorted(frames))),
        "sink": lambda frames, _firing: one(frames),
    }


def fits(actors: Collection[str]) -> bool:
    """True if these actors are the Sobel application's."""
    return set(actors) == set(_ACTORS)


def drawn_images(count: int, *, height: int = 64, width: int = 96) -> npt.NDArray[np.float64]:
    """Return colour images with edges to find, a disc that wanders before stripes: (count, height, width, 3)."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    stripes = ((x + 2 * y) // max(2, width // 8)) % 2
    images = []
    for number in range(count):
        centre = width * (0.3 + 0.04 * (7 * number % 10))
        disc = (x - centre) ** 2 + (y - height / 2) ** 2 < (min(width, height) / 4) ** 2
        images.append(np.stack((1.0 * disc, 0.5 * stripes, x / width), axis=-1))
    return np.array(images)


def edges(image: Frame) -> Frame:
    """Return the edges of a colour image, computed without any network."""
    luma = gray(image)
    return magnitude(gradient(luma, axis=1), gradient(luma, axis=0))


def gray(image: Frame) -> Frame:
    """Return the luma of an image (height, width, 3); frames that are gray already stay as they are."""
    return np.asarray(image @ _LUMA) if image.ndim == 3 else image


def gradient(image: Frame, *, axis: int) -> Frame:
    """Return the Sobel gradient along ``axis`` of the inner pixels, shape (height - 2, width - 2).

    >>> gradient(np.tile(np.arange(4.0), (3, 1)), axis=1).tolist()
    [[8.0, 8.0]]
    """
    turned = image if axis == 1 else image.T
    rows = turned[:-2] + 2 * turned[1:-1] + turned[2:]
    result = rows[:, 2:] - rows[:, :-2]
    return np.asarray(result if axis == 1 else result.T)


def magnitude(first: Frame, second: Frame) -> Frame:
    """Return the length of the gradient at every pixel."""
    return np.asarray(np.hypot(first, second))
