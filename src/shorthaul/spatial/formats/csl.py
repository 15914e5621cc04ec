"""Messages between the processors of a wafer as a program in CSL, the language of the Cerebras SDK."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.formats.files import archive

Index = npt.NDArray[np.int32]

#: Colours that programs may route: the SDK's copies from and to the host take 21 and those above.
MOST_COLOURS: Final = 21
#: Where a way leads, and from where one comes who took it; ways as in :class:`shorthaul.spatial.model.Fabric`.
_TO: Final = ("", "", "SOUTH", "NORTH", "EAST", "WEST")
_FROM: Final = ("", "", "NORTH", "SOUTH", "WEST", "EAST")
#: How a word that arrives is combined with the value of a node.
_COMBINED: Final = {
    "sum": "value[k] = value[k] + word;",
    "product": "value[k] = value[k] * word;",
    "max": "if (word > value[k]) { value[k] = word; }",
    "min": "if (word < value[k]) { value[k] = word; }",
    "xor": "value[k] = value[k] ^ word;",
    "or": "value[k] = value[k] | word;",
    "and": "value[k] = value[k] & word;",
}
_TYPES: Final = {"i4": "i32", "u4": "u32", "f4": "f32"}


@dataclass(frozen=True, slots=True)
class Trails:
    """The ways of messages: message m takes ``link[starts[m]:starts[m + 1]]`` in colour ``colour[m]``.

    A link is way * cells + the processor that it leaves. With ``reverse``, the messages go the other way around.
    """

    starts: npt.NDArray[np.int64]
    link: Index
    colour: Index
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """Nodes on the processors of a grid of ``width`` times ``height``, and one-word messages between them.

    Node k is on processor y * width + x = ``place[k]`` and begins with ``value[k]`` (int32, uint32 or float32). It
    combines what arrives with its value by the operator ``op``; when all has come, it sends its value to every node
    that it has a message for: message m goes from ``source[m]`` to ``target[m]``, which comes later. The results are
    those of the nodes ``answer``.
    """

    width: int
    height: int
    op: str
    place: Index
    value: npt.NDArray[Any]
    source: Index
    target: Index
    trails: Trails
    answer: Index


def csl_bytes(program: Program, what: str) -> bytes:
    """Return a zip archive: ``layout.csl``, ``pe.csl``, ``values.npz`` and ``run.py``, which loads and runs them."""
    slot, most = _slots(program)
    colours = int(program.trails.colour.max(initial=-1)) + 1
    kind = _TYPES[program.value.dtype.str[1:]]
    image = np.zeros((program.width * program.height, most), program.value.dtype)
    image[program.place, slot] = program.value
    where = (program.place.astype(np.int64) * most + slot)[program.answer]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in (
            ("layout.csl", _layout(program, slot, most, kind, what).encode()),
            ("pe.csl", _processor(program.op, colours, kind).encode()),
            ("run.py", _RUN.encode()),
            ("values.npz", archive(image=image, where=where, sides=np.array([program.width, program.height]))),
        ):
            packed.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _slots(program: Program) -> tuple[Index, int]:
    """Return the number of every node among those of its processor, and how many the fullest one holds."""
    order = np.argsort(program.place, kind="stable")
    count = np.bincount(program.place, minlength=program.width * program.height)
    first = np.concatenate([[0], np.cumsum(count)])[:-1]
    slot = np.empty(len(order), np.int32)
    slot[order] = np.arange(len(order)) - first[program.place[order]]
    return slot, int(count.max())


def _layout(program: Program, slot: Index, most: int, kind: str, what: str) -> str:
    """Return the text of ``layout.csl``: the tables of every processor, and the routes of all colours."""
    width, height = program.width, program.height
    lines = [
        f"// {what}",
        f"// cslc --arch=wse2 layout.csl --fabric-dims={width + 7},{height + 2} --fabric-offsets=4,1 \\",
        "//   -o out --memcpy --channels=1",
        "// cs_python run.py --name out",
        f'const memcpy = @import_module("<memcpy/get_params>", .{{ .width = {width}, .height = {height} }});',
        "",
        "layout {",
        f"  @set_rectangle({width}, {height});",
    ]
    for cell, own in enumerate(_tables(program, slot)):
        y, x = divmod(cell, width)
        table = {"memcpy_params": f"memcpy.get_params({x})", "size": str(most), **own}
        fields = ", ".join(f".{name} = {text}" for name, text in table.items())
        lines.append(f'  @set_tile_code({x}, {y}, "pe.csl", .{{ {fields} }});')
    for cell, colour, come, go in _routes(program):
        y, x = divmod(cell, width)
        routes = f".{{ .routes = .{{ .rx = .{{ {come} }}, .tx = .{{ {go} }} }} }}"
        lines.append(f"  @set_color_config({x}, {y}, @get_color({colour}), {routes});")
    lines += [f'  @export_name("value", [*]{kind}, true);', '  @export_name("compute", fn()void);', "}", ""]
    return "\n".join(lines)


def _tables(program: Program, slot: Index) -> list[dict[str, str]]:
    """Return for every processor its nodes, how much they wait for, whom they send to, and for whom colours are."""
    cells, nodes = program.width * program.height, len(program.place)
    waits = 1 + np.bincount(program.target, minlength=nodes)  # one is the start
    held: list[list[int]] = [[] for _ in range(cells)]
    for node in np.argsort(program.place, kind="stable").tolist():
        held[program.place[node]].append(node)
    sent: list[list[int]] = [[] for _ in range(nodes)]
    colours = int(program.trails.colour.max(initial=-1)) + 1
    receiver = np.full((cells, max(1, colours)), -1)
    for m, (source, target, colour) in enumerate(
        zip(program.source.tolist(), program.target.tolist(), program.trails.colour.tolist(), strict=True)
    ):
        is_near = program.trails.starts[m] == program.trails.starts[m + 1]
        sent[source].append(-1 - int(slot[target]) if is_near else colour)
        if not is_near:
            receiver[program.place[target], colour] = slot[target]
    tables = []
    for cell in range(cells):
        ends = np.cumsum([len(sent[node]) for node in held[cell]]).tolist()
        tables.append(
            {
                "nodes": str(len(held[cell])),
                "waits": _array([int(waits[node]) for node in held[cell]]),
                "ends": _array(ends),
                "to": _array([to for node in held[cell] for to in sent[node]]),
                "receiver": _array(receiver[cell].tolist()),
            }
        )
    return tables


def _array(values: list[int]) -> str:
    return f"[{max(1, len(values))}]i16 {{{', '.join(map(str, values or [0]))}}}"


def _routes(program: Program) -> list[tuple[int, int, str, str]]:
    """Return (processor, colour, from, to) for every router that a message passes, sorted."""
    cells, trails, found = program.width * program.height, program.trails, []
    for m in range(len(program.source)):
        link = trails.link[trails.starts[m] : trails.starts[m + 1]].tolist()
        if not link:
            continue
        ways = [one // cells for one in link]
        first, last = (program.target, program.source) if trails.reverse else (program.source, program.target)
        routers = [int(program.place[first[m]]), *(one % cells for one in link[1:]), int(program.place[last[m]])]
        before, after = ["RAMP", *(_FROM[way] for way in ways)], [*(_TO[way] for way in ways), "RAMP"]
        if trails.reverse:
            before, after = after, before
        colour = int(trails.colour[m])
        found += [(cell, colour, come, go) for cell, come, go in zip(routers, before, after, strict=True)]
    return sorted(found)


def _processor(op: str, colours: int, kind: str) -> str:
    """Return the text of ``pe.csl``, which every processor runs with tables of its own."""
    move = "@fmovs" if kind == "f32" else "@mov32"
    each = range(colours)
    outs = "\n".join(
        f"const out_{c} = @get_dsd(fabout_dsd, .{{ .extent = 1, .fabric_color = @get_color({c}), "
        ".output_queue = @get_output_queue(2) });"
        for c in each
    )
    puts = "\n".join(f"  if (colour == {c}) {{ {move}(out_{c}, word); }}" for c in each)
    tasks = "\n".join(f"task on_{c}(word: {kind}) void {{ arrive(receiver[{c}], word); }}" for c in each)
    binds = "\n".join(
        f"  if (receiver[{c}] >= 0) {{ @bind_data_task(on_{c}, @get_data_task_id(@get_color({c}))); }}" for c in each
    )
    return _PROCESSOR.format(kind=kind, combined=_COMBINED[op], outs=outs, puts=puts, tasks=tasks, binds=binds)


_PROCESSOR: Final = """\
param memcpy_params: comptime_struct;
param size: i16;   // values on every processor
param nodes: i16;  // nodes on this one; each sends only to later ones of it
param waits;       // by node: the messages that it waits for, and the start
param ends;        // by node: where its messages in `to` end
param to;          // by message: its colour, or -1 - k for node k on this processor
param receiver;    // by colour: the node that its word is for, -1 if none arrives

const sys_mod = @import_module("<memcpy/memcpy>", memcpy_params);
{outs}

var value = @zeros([size]{kind});
var value_ptr: [*]{kind} = &value;
var missing = waits;
var left: i16 = nodes;

fn put(colour: i16, word: {kind}) void {{
{puts}
}}

fn take(k: i16, word: {kind}) void {{
  {combined}
  missing[k] = missing[k] - 1;
}}

// Nodes that have all send their values; the last one ends the run and makes the next one possible.
fn settle() void {{
  var k: i16 = 0;
  var m: i16 = 0;
  while (k < nodes) {{
    if (missing[k] == 0) {{
      missing[k] = -1;
      left = left - 1;
      while (m < ends[k]) {{
        if (to[m] < 0) {{ take(-1 - to[m], value[k]); }} else {{ put(to[m], value[k]); }}
        m = m + 1;
      }}
    }}
    m = ends[k];
    k = k + 1;
  }}
  if (left == 0) {{
    left = nodes;
    k = 0;
    while (k < nodes) {{
      missing[k] = waits[k];
      k = k + 1;
    }}
    sys_mod.unblock_cmd_stream();
  }}
}}

fn arrive(k: i16, word: {kind}) void {{
  take(k, word);
  settle();
}}

// Words that come before the start are combined with the values copied in already.
fn compute() void {{
  var k: i16 = 0;
  while (k < nodes) {{
    missing[k] = missing[k] - 1;
    k = k + 1;
  }}
  settle();
}}

{tasks}

comptime {{
{binds}
  @export_symbol(value_ptr, "value");
  @export_symbol(compute);
}}
"""

_RUN: Final = '''\
"""Copy values.npz to the processors, run the program compiled to --name, write the results by vertex to result.npy."""

import argparse
from pathlib import Path

import numpy as np
from cerebras.sdk.runtime.sdkruntimepybind import MemcpyDataType, MemcpyOrder, SdkRuntime

parser = argparse.ArgumentParser()
parser.add_argument("--name", required=True, help="folder that cslc wrote")
parser.add_argument("--cmaddr", help="address of the system (default: the simulator)")
options = parser.parse_args()

here = Path(__file__).parent
data = np.load(here / "values.npz")
image, (width, height) = data["image"], data["sides"].tolist()
how = {
    "streaming": False,
    "order": MemcpyOrder.ROW_MAJOR,
    "data_type": MemcpyDataType.MEMCPY_32BIT,
    "nonblock": False,
}

runner = SdkRuntime(options.name, cmaddr=options.cmaddr)
value = runner.get_id("value")
runner.load()
runner.run()
runner.memcpy_h2d(value, image.ravel(), 0, 0, width, height, image.shape[1], **how)
runner.launch("compute", nonblock=False)
found = np.zeros(image.size, image.dtype)
runner.memcpy_d2h(found, value, 0, 0, width, height, image.shape[1], **how)
runner.stop()
np.save(here / "result.npy", found[data["where"]])
'''
