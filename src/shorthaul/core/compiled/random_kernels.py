"""Random numbers for kernels: SplitMix64 (Steele, Lea, Flood 2014), its state in an object that is passed along."""

from __future__ import annotations

import cython
from cython.cimports.shorthaul.core.compiled.bits import wrapped_product, wrapped_sum


@cython.final
@cython.cclass
class Random:
    """A generator; two of the same seed give the same numbers, compiled or not, on every machine."""

    def __init__(self, seed: cython.ulonglong) -> None:
        self.state = seed

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def word(self) -> cython.ulonglong:
        """Return 64 random bits."""
        self.state = wrapped_sum(self.state, 0x9E37_79B9_7F4A_7C15)
        bits = self.state
        bits = wrapped_product(bits ^ (bits >> 30), 0xBF58_476D_1CE4_E5B9)
        bits = wrapped_product(bits ^ (bits >> 27), 0x94D0_49BB_1331_11EB)
        return bits ^ (bits >> 31)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def real(self) -> cython.double:
        """Return a number from [0, 1), a multiple of 2^-53."""
        return (self.word() >> 11) * (1.0 / 9007199254740992.0)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def below(self, count: cython.longlong) -> cython.longlong:
        """Return one of 0, ..., ``count`` - 1, where ``count`` is positive and at most 2^31."""
        return (self.word() >> 33) * count >> 31


def words(random: Random, count: cython.Py_ssize_t) -> list[int]:
    """Return ``count`` numbers of 64 random bits, for tests and seeds."""
    return [random.word() for _ in range(count)]
