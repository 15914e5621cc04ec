"""Options of the spatial verbs: their fields are the command-line flags."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shorthaul.core.options import EXTENT, FILE_OR_NAME, INTEGERS, NAMES, Options, option
from shorthaul.core.search import ONE_PER_MACHINE, RESTARTS

ORDERS = ("auto", "centred", "light-first", "heavy-first", "dfs", "bfs", "random")
CURVES = ("auto", "hilbert", "gilbert", "z", "peano", "h-index", "snake", "row-major")
OPERATORS = ("sum", "max", "min", "product", "xor", "or", "and", "affine")
METHODS = ("auto", "convergecast", "rake-compress", "heavy-path")
OBJECTIVES = ("energy", "distance", "link-load")
COINS = ("local-maximum", "random-mate")
WORDS = 96

_OBJECTIVE = "What refinement makes small; distance: the longest edge; link-load: the most messages over a link."
_MACHINE = "Machine file, or the name of a bundled one, as in wafer-750x994: several vertices on each processor."
_PER_PROCESSOR = "Most vertices on a processor of the machine (default: the fewest that fit; more: less energy)."
_VERTEX_BYTES = "Bytes of memory that a vertex takes on the machine."
_SIZES = "Bytes of each vertex on the machine: NumPy file, or lines of text or CSV (default: --vertex-bytes for all)."
_WEIGHTS = "Size of the message between each vertex and its parent on the machine: a file as --sizes (default: all 1)."
_TABLE = "With --machine: write what every processor holds and sends, as .csv or .npz."
_CSL = "With --machine: write the messages as a program in CSL for a Cerebras wafer, as .zip."
_ROUTES = "With --machine: write the links, the round and the colour of every message, as .npz."


@dataclass(frozen=True, slots=True)
class TreeOptions(Options):
    """How the tree is read."""

    forest: bool = option(False, "Accept several roots: several trees on one grid.")


@dataclass(frozen=True, slots=True)
class PlacingOptions(Options):
    """Where the vertices go."""

    order: str = option(
        "auto", "The linear order of the vertices (auto: centred or dfs, whichever costs less).", choices=ORDERS
    )
    curve: str = option("auto", "The space-filling curve (auto: hilbert, or gilbert off 2^k squares).", choices=CURVES)
    grid: str | None = option(
        None, "The grid as WIDTHxHEIGHT, as in 750x994 (default: the smallest square).", form=EXTENT
    )


@dataclass(frozen=True, slots=True)
class LayoutOptions(PlacingOptions):
    """Where the vertices go in the end."""

    refine: float | None = option(
        None,
        "The effort of the local search that follows: 1 is about a second of one core (default: while it pays).",
        least=0,
        most=1e6,
        free=True,
    )
    restarts: int | None = option(None, RESTARTS + ONE_PER_MACHINE, least=1, most=10_000, free=True)


@dataclass(frozen=True, slots=True)
class PlanOptions(LayoutOptions):
    """How to lay a tree out."""

    objective: str = option("energy", _OBJECTIVE, choices=OBJECTIVES)
    exact: bool = option(False, "Also search for a proof that no layout takes less energy; up to some 140 vertices.")
    baselines: bool = option(True, "Also cost random, breadth-first and depth-first placement.", free=True)
    create: bool = option(False, "Also create the light-first order on the machine itself, by messages.", free=True)
    machine: str | None = option(None, _MACHINE, form=FILE_OR_NAME)
    per_processor: int | None = option(None, _PER_PROCESSOR, least=1, most=2**31 - 1)
    vertex_bytes: int = option(16, _VERTEX_BYTES, least=1, most=2**31 - 1)
    sizes: Path | None = option(None, _SIZES)
    weights: Path | None = option(None, _WEIGHTS)
    table: Path | None = option(None, _TABLE, written=(".csv", ".npz"))
    routes: Path | None = option(None, _ROUTES, written=(".npz",))
    csl: Path | None = option(None, _CSL, written=(".zip",))


@dataclass(frozen=True, slots=True)
class BoundOptions(PlacingOptions):
    """What limits a layout."""

    machine: str | None = option(None, _MACHINE, form=FILE_OR_NAME)
    per_processor: int | None = option(None, _PER_PROCESSOR, least=1, most=2**31 - 1)
    vertex_bytes: int = option(16, _VERTEX_BYTES, least=1, most=2**31 - 1)
    sizes: Path | None = option(None, _SIZES)
    weights: Path | None = option(None, _WEIGHTS)


@dataclass(frozen=True, slots=True)
class CheckOptions(Options):
    """The machine that a layout is for, what to export, and which bound is verified."""

    bound: Path | None = option(None, "A result document: the certificate of its bound is verified.")
    machine: str | None = option(None, _MACHINE, form=FILE_OR_NAME)
    vertex_bytes: int = option(16, _VERTEX_BYTES, least=1, most=2**31 - 1)
    sizes: Path | None = option(None, _SIZES)
    weights: Path | None = option(None, _WEIGHTS)
    table: Path | None = option(None, _TABLE, written=(".csv", ".npz"))
    routes: Path | None = option(None, _ROUTES, written=(".npz",))
    csl: Path | None = option(None, _CSL, written=(".zip",))


@dataclass(frozen=True, slots=True)
class MachineOptions(LayoutOptions):
    """The simulated machine that an algorithm runs on."""

    layout: Path | None = option(None, "Take this layout (as `plan -o` writes it) instead of making one.")
    machine: str | None = option(None, _MACHINE, form=FILE_OR_NAME)
    per_processor: int | None = option(None, _PER_PROCESSOR, least=1, most=2**31 - 1)
    words: int = option(WORDS, "Words of memory of a processor; a program that needs more is refused.", least=1)
    count_links: bool = option(True, "Also count link loads and words (slower for very large trees).")


@dataclass(frozen=True, slots=True)
class TreefixOptions(MachineOptions):
    """Which treefix sum to run, and how."""

    op: str = option("sum", "The associative operator.", choices=OPERATORS)
    direction: str = option("up", "up: over each subtree; down: along each path from the root.", choices=("up", "down"))
    method: str = option(
        "auto", "The algorithm; auto runs all and takes the one of the fewest cycles.", choices=METHODS
    )
    coins: str = option("local-maximum", "How rake-compress breaks chains.", choices=COINS)
    values: Path | None = option(
        None, "One number per vertex: NumPy file, or lines of text or CSV, as in `name,2.5` (default: all 1)."
    )
    lengths: bool = option(False, "Take the branch lengths of the tree as values, 0 above a root.")
    csl: Path | None = option(None, _CSL + " For --method convergecast.", written=(".zip",))


@dataclass(frozen=True, slots=True)
class LcaOptions(MachineOptions):
    """Which lowest common ancestors to find."""

    queries: Path | None = option(
        None, "File of queries: NumPy array of shape (q, 2), or two vertices per line, by number or name."
    )
    random: int | None = option(None, "Ask this many random queries.", least=1, most=2**26)
    method: str = option("auto", "How subtree sizes and layers are computed.", choices=METHODS)
    barriers: bool = option(False, "Synchronise all processors after each layer, as in the paper.")


@dataclass(frozen=True, slots=True)
class SweepOptions(Options):
    """Which trees, orders and curves to compare."""

    orders: str = option("light-first,dfs,bfs", "Orders, separated by commas.", form=NAMES)
    curves: str = option("auto", "Curves, separated by commas.", form=NAMES)
    sizes: str = option(
        "2^10..2^16",
        "Numbers of vertices, separated by commas; 2^10..2^20 are powers of two (built-in trees only, "
        "which take the nearest number that they have).",
        form=INTEGERS,
    )
    treefix: bool = option(True, "Also run treefix sums on light-first layouts.")
    methods: str = option("rake-compress", "Algorithms of the treefix sums, separated by commas.", form=NAMES)
