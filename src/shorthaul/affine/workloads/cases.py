"""Built-in kernels: the 30 of PolyBench, written from their mathematical definition, and further ones."""

from __future__ import annotations

import re
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING

from shorthaul.affine.frontend.einsum import without_arrow
from shorthaul.core.arguments import public
from shorthaul.core.cases import Case, Source, resolve

if TYPE_CHECKING:
    from shorthaul.affine.model import Program

POLYBENCH = (
    *("2mm", "3mm", "adi", "atax", "bicg", "cholesky", "correlation", "covariance", "deriche", "doitgen", "durbin"),
    *("fdtd-2d", "floyd-warshall", "gemm", "gemver", "gesummv", "gramschmidt", "heat-3d", "jacobi-1d", "jacobi-2d"),
    *("lu", "ludcmp", "mvt", "nussinov", "seidel-2d", "symm", "syr2k", "syrk", "trisolv", "trmm"),
)
FURTHER = (
    *("attention", "convolution", "convolution-1d", "heat-1d", "jacobi-2d-9pt", "lcs", "matmul", "matvec"),
    *("prefix-sum-2d", "seidel-1d"),
)


def kernel_text(name: str) -> str:
    """Return the C source of the built-in kernel ``name``."""
    return resources.files("shorthaul.affine").joinpath("kernels", f"{name}.c").read_text(encoding="utf-8")


def kernel(name: str) -> Program:
    """Return the built-in kernel ``name`` as a program.

    >>> kernel("gemm").parameters
    ('NI', 'NJ', 'NK')
    """
    from shorthaul.affine.frontend.scop import program_from_text

    return program_from_text(kernel_text(name))


def _summary(name: str) -> str:
    first = re.match(r"/\*\s*(.*?)\s*\*/", kernel_text(name), re.DOTALL)
    return "" if first is None else first[1]


def _cases() -> tuple[Case[Program], ...]:
    return tuple(Case(name, _summary(name), partial(kernel, name), {}) for name in (*POLYBENCH, *FURTHER))


CASES: tuple[Case[Program], ...] = _cases()


@public
def cases() -> tuple[Case[Program], ...]:
    """Return the built-in kernels.

    Returns
    -------
    tuple[Case[Program], ...]
        The cases by name, with their parameters.

    Examples
    --------
    >>> "gemm" in [case.name for case in cases()]
    True
    """
    return CASES


@public
def case(text: str, function: str | None = None) -> Source[Program]:
    """Return the program that ``text`` names, a C file or a built-in kernel, with its source.

    Parameters
    ----------
    text : str
        The path of a C file, or the name of a built-in kernel.
    function : str | None
        The function of the file that is meant, if it has several.

    Returns
    -------
    Source[Program]
        The program and where it comes from.

    Raises
    ------
    InputError
        If the file is missing or wrong: file, place, expression and cure.

    Examples
    --------
    >>> case("gemm").workload.parameters
    ('NI', 'NJ', 'NK')
    """
    from shorthaul.affine.frontend.scop import load

    return resolve(text, CASES, partial(load, function=function), {"function": function}, without_arrow)
