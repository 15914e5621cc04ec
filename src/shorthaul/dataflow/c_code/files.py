"""A point of a plan as C: a thread per core, a ring per buffer, functions of the user's, a driver that compares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from importlib import resources
from itertools import zip_longest

from shorthaul.dataflow.mapping.binding import MappedNetwork
from shorthaul.dataflow.mapping.firings import Side, firings
from shorthaul.dataflow.mapping.names import comment, identifiers, literal
from shorthaul.dataflow.mapping.steps import Access, Step, accesses, steps_of_cores
from shorthaul.dataflow.model import Application, Channel, phases
from shorthaul.dataflow.plan import Point

#: The file of the user's functions: written once.
ACTORS = "actors.c"
#: The file that declares them.
_HEADER = "actors.h"
#: The same as a shared library, which ``run`` takes.
_LIBRARY = "actors.so"
_FIXED = ("main.c", "ring.c", "ring.h", "stand_in.h")


def c_files(application: Application, marked: Application, net: MappedNetwork, point: Point) -> dict[str, str]:
    """Return the files by name: the functions are those of the application, what is mapped are its firings, ``marked``.

    Raises :class:`InputError` if the point does not say in which order actors fire.
    """
    return _Files(application, marked, net, point).files()


def lacking(files: Mapping[str, str], yours: str) -> list[str]:
    """Return the functions that the header among ``files`` declares and the text of your file does not name."""
    declared = re.findall(r"^void (\w+)\(", files[_HEADER], re.MULTILINE)
    return [name for name in declared if not re.search(rf"\b{name}\b", yours)]


class _Files:
    def __init__(self, application: Application, marked: Application, net: MappedNetwork, point: Point) -> None:
        self.application, self.marked, self.net, self.point = application, marked, net, point
        self.firings, self.carried = firings(application)
        self.accesses = accesses(net)
        self.steps = steps_of_cores(net, point, self.accesses)
        self.actor = identifiers(actor.id for actor in application.actors)
        self.channel = identifiers(channel.id for channel in application.channels)
        self.edge = identifiers(channel.id for channel in marked.channels)
        self.core = identifiers(self.steps)
        every = [access for reads, writes in self.accesses.values() for access in (*reads, *writes)]
        self.number = {access.task.name: number for number, access in enumerate(every)}
        self.ring = {buffer.id: f"&rings[{number}]" for number, buffer in enumerate(net.network.buffers)}
        self.functions = [actor.id for actor in application.actors if actor.kind == "actor"]

    def files(self) -> dict[str, str]:
        """Return the files by name."""
        folder = resources.files("shorthaul.dataflow.c_code").joinpath("data")
        return {
            "Makefile": self._makefile(),
            _HEADER: self._header(),
            ACTORS: self._stubs(),
            "network.h": self._declarations(),
            "network.c": self._network(),
            **{self._core_file(core): self._core(core, steps) for core, steps in self.steps.items()},
            **{name: folder.joinpath(name).read_text(encoding="utf-8") for name in _FIXED},
        }

    def _core_file(self, core: str) -> str:
        return f"core_{self.core[core]}.c"

    def _makefile(self) -> str:
        sources = " ".join(["main.c", "ring.c", "network.c", ACTORS, *map(self._core_file, self.steps)])
        return (
            "CC = cc\nCFLAGS = -std=c11 -O2 -Wall -Wextra -Werror\n"
            f"network: {sources} actors.h network.h ring.h stand_in.h\n"
            "\t$(CC) $(CFLAGS) -pthread $(filter %.c,$^) -o $@\n"
            "check: network\n\t./network check\n"
            f"{_LIBRARY}: {ACTORS} actors.h stand_in.h\n\t$(CC) $(CFLAGS) -shared -fPIC {ACTORS} -o $@\n"
            ".PHONY: check\n"
        )

    # -- the user's functions

    def _ends(self, actor: str) -> tuple[list[Channel], list[Channel]]:
        channels = self.application.channels
        return [c for c in channels if c.dst == actor], [c for c in channels if c.src == actor]

    def _signature(self, actor: str) -> str:
        into, out = self._ends(actor)
        reads = [f"const void *from_{self.channel[c.id]}" for c in into]
        writes = [f"void *to_{self.channel[c.id]}" for c in out]
        return f"void fire_{self.actor[actor]}({', '.join(['long firing', *reads, *writes])})"

    def _rates(self, actor: str) -> list[str]:
        """A comment that tells how many tokens an actor reads and writes, where that is not one each time."""
        into, out = self._ends(actor)
        rates = {f"from_{self.channel[c.id]}": phases(c.consume) for c in into}
        rates |= {f"to_{self.channel[c.id]}": phases(c.produce) for c in out}
        said = [f"{name} {', '.join(map(str, rate))}" for name, rate in rates.items() if set(rate) != {1}]
        return [f"/* Tokens of a firing, in turn: {'; '.join(said)}. */"] if said else []

    def _initial(self) -> list[Channel]:
        return [channel for channel in self.application.channels if channel.delay]

    def _header(self) -> str:
        sizes = [f"#define BYTES_{self.channel[c.id]} {c.token_bytes}u" for c in self.application.channels]
        functions = [line for a in self.functions for line in (*self._rates(a), f"{self._signature(a)};")]
        initial = [f"void initial_{self.channel[c.id]}(long token, void *place);" for c in self._initial()]
        beside = ["   Firings of one actor never overlap. initial_... writes a token that is there at the start. */"]
        if not self.application.is_marked_graph:
            beside = [
                "   Tokens of one firing lie one after another; 0 stands for none. Firings of one actor may overlap on",
                "   different cores, unless a channel leads from it to itself that holds the tokens of one firing.",
                "   initial_... writes a token that is there at the start. */",
            ]
        return "\n".join(
            [
                f"/* The actors of {comment(self.application.name)}: what you write, and the sizes of tokens in bytes.",
                "   A function reads the tokens from_... and writes all of the tokens to_...; firing counts from 0.",
                *beside,
                "#ifndef ACTORS_H\n#define ACTORS_H\n",
                *sizes, "", *functions, "", *initial,
                "\n#endif\n",
            ]
        )  # fmt: skip

    def _stubs(self) -> str:
        lines = [
            "/* Stand-ins: every token is a digest of what its actor read. Put your own in their place;",
            "   this file is never written over. */",
            '#include "actors.h"\n\n#include "stand_in.h"\n',
        ]
        for number, actor in enumerate(self.functions):
            into, out = self._ends(actor)
            lines += [self._signature(actor), "{", f"  unsigned long long digest = mixed({number}, firing);"]
            for c in into:
                name = self.channel[c.id]
                lines.append(f"  digest = digested(digest, from_{name}, {_bytes(name, phases(c.consume))});")
            for c in out:
                name = self.channel[c.id]
                lines.append(f"  fill(digest, to_{name}, {_bytes(name, phases(c.produce))});")
            lines += ["  (void)digest;", "}\n"]
        for number, c in enumerate(self._initial()):
            lines.append(f"void initial_{self.channel[c.id]}(long token, void *place)")
            lines.append(f"{{\n  fill(mixed({number}, token), place, BYTES_{self.channel[c.id]});\n}}\n")
        return "\n".join(lines)

    # -- the network

    def _declarations(self) -> str:
        planned = self.point.period / self.application.ticks_per_second
        return "\n".join(
            [
                f"/* The network {comment(self.application.name)}, mapped. */",
                "#ifndef NETWORK_H\n#define NETWORK_H\n",
                '#include "ring.h"\n\n#include <string.h>\n',
                f"enum {{ RINGS = {len(self.ring)}, ACCESSES = {len(self.number)}, CORES = {len(self.steps)} }};",
                f"#define PLANNED_S {planned!r}\n",
                "struct core {\n  const char *name;\n  void (*run)(long iterations);",
                "  double waited; /* seconds */\n};\n",
                "extern struct ring rings[RINGS + 1];",
                "extern struct tally tallies[ACCESSES + 1];",
                "extern const char *const access_names[ACCESSES + 1];",
                "extern struct core cores[CORES];\n",
                "/* All actors on one thread, each once an iteration. */\nvoid in_turn(long iterations);\n",
                *(f"void run_{self.core[core]}(long iterations);" for core in self.steps),
                "\n#endif\n",
            ]
        )  # fmt: skip

    def _network(self) -> str:
        buffers = self.net.network.buffers
        rings = []
        for buffer in buffers:
            initial = self._filler(buffer.id) if buffer.delay else "0"
            rings.append(
                f"  /* in {comment(self.net.memory[buffer.id])} */\n"
                f"  {{.name = {literal(buffer.id)}, .bytes = {buffer.token_bytes}u, .delay = {buffer.delay}, "
                f".planned = {self.point.capacities[buffer.id]}, .readers = {len(buffer.readers)}, "
                f".initial = {initial}}},"
            )
        order: TopologicalSorter[str] = TopologicalSorter({name: [] for name in self.net.network.actors})
        for buffer in buffers:
            for reader in buffer.readers if not buffer.delay else ():
                order.add(reader, buffer.writer)
        firings = [line for actor in order.static_order() for line in self._execution(actor, in_place=True)]
        return "\n".join(
            [
                '#include "network.h"\n\n#include "actors.h"\n',
                *self._fillers(), *self._gathered(self.firings), "",
                "struct ring rings[RINGS + 1] = {", *rings, "  {.name = 0}};\n",
                "struct tally tallies[ACCESSES + 1];",
                "const char *const access_names[ACCESSES + 1] = {",
                *(f"  {literal(name)}," for name in self.number), "  0};\n",
                "struct core cores[CORES] = {",
                *(f"  {{{literal(core)}, run_{self.core[core]}, 0}}," for core in self.steps), "};\n",
                "void in_turn(long iterations)\n{\n  for (long k = 0; k < iterations; k++) {",
                *firings, "  }\n}\n",
            ]
        )  # fmt: skip

    def _filler(self, edge: str) -> str:
        """The function that fills an initial place of a ring: several tokens of the application's, maybe."""
        carried = self.carried[edge]
        plain = carried.first == 0 and carried.count == carried.per_iteration == 1
        return f"initial_{self.channel[carried.channel]}" if plain else f"filled_{self.edge[edge]}"

    def _fillers(self) -> list[str]:
        lines = []
        for buffer in self.net.network.buffers:
            carried, name = self.carried[buffer.id], self._filler(buffer.id)
            if not buffer.delay or name.startswith("initial_"):
                continue
            channel = self.channel[carried.channel]
            token = f"{carried.first} + iteration * {carried.per_iteration} + at"
            lines += [
                f"static void {name}(long iteration, void *place)\n{{",
                f"  for (long at = 0; at < {carried.count}; at++)",
                f"    initial_{channel}({token}, (char *)place + at * BYTES_{channel});\n}}\n",
            ]
        return lines

    # -- a firing whose tokens are on several rings

    def _split(self, actor: str) -> list[tuple[Side, bool]]:
        """The sides of a firing, those it reads first, that have several parts; True for those it writes."""
        firing = self.firings[actor]
        if firing.actor not in self.functions:
            return []
        sides = [(side, False) for side in firing.reads] + [(side, True) for side in firing.writes]
        return [(side, writing) for side, writing in sides if len(side.parts) > 1]

    def _gathered(self, actors: Iterable[str]) -> list[str]:
        """The places in which the tokens of one firing lie together, the same for all firings of a core."""
        sizes: list[int] = []
        of_token = {channel.id: channel.token_bytes for channel in self.application.channels}
        for actor in actors:
            mine = [side.count * of_token[side.channel] for side, _ in self._split(actor)]
            sizes = [max(pair) for pair in zip_longest(sizes, mine, fillvalue=1)]
        return [f"static _Alignas(16) unsigned char all_{number}[{size}];" for number, size in enumerate(sizes)]

    # -- a core

    def _core(self, core: str, steps: Sequence[Step]) -> str:
        latest = max(step.age for step in steps)
        copies = [step.access for step in steps if step.access is not None]
        scratch = [
            f"static _Alignas(16) unsigned char {self._copy(a)}[{max(1, a.buffer.token_bytes)}];" for a in copies
        ]
        lines = [
            f"/* Core {comment(core)}: one period after another. Tokens that cross an interconnect are copied. */",
            '#include "network.h"\n\n#include "actors.h"\n',
            *scratch, *self._gathered(step.actor for step in steps if step.access is None),
            f"\nvoid run_{self.core[core]}(long iterations)\n{{",
            f"  for (long period = 0; period < iterations{f' + {latest}' if latest else ''}; period++) {{\n    long k;",
        ]  # fmt: skip
        open_age: int | None = None
        for step in steps:
            if step.age != open_age:
                lines += [
                    *(["    }"] if open_age is not None else []),
                    f"    k = period{f' - {step.age}' if step.age else ''};",
                ]
                lines.append("    if (k >= 0 && k < iterations) {")
                open_age = step.age
            lines += (
                self._copied(step.access) if step.access is not None else self._execution(step.actor, in_place=False)
            )
        return "\n".join([*lines, "    }\n  }\n}\n"])

    def _copy(self, access: Access) -> str:
        return f"copy_{self.number[access.task.name]}"

    def _tally(self, access: Access) -> str:
        return f"&tallies[{self.number[access.task.name]}]"

    def _copied(self, access: Access) -> list[str]:
        ring, copy, tally = self.ring[access.buffer.id], self._copy(access), self._tally(access)
        if access.reader < 0:
            return [f"      ring_write({ring}, {copy}, {tally});"]
        return [f"      ring_read({ring}, {access.reader}, {copy}, {tally});"]

    def _execution(self, actor: str, *, in_place: bool) -> list[str]:
        """One execution; with ``in_place`` no token is copied anywhere."""
        reads, writes = self.accesses[actor]
        lines = [f"      {{ /* {comment(actor)} */"]
        before, after, arguments = [], [], {}
        for access in (*reads, *writes):
            ring, tally = self.ring[access.buffer.id], self._tally(access)
            writing = access.reader < 0
            name = f"{'to' if writing else 'from'}_{self.edge[access.edge]}"
            arguments[name] = name
            if access.is_copy and not in_place:
                arguments[name] = self._copy(access)
            elif writing:
                before.append(f"        void *{name} = ring_place({ring});")
                after.append(f"        ring_put({ring}, {tally});")
            else:
                before.append(f"        const void *{name} = ring_token({ring}, {access.reader}, {tally});")
                after.append(f"        ring_leave({ring}, {access.reader});")
        return [*lines, *before, *self._call(actor, arguments), *after, "      }"]

    def _call(self, actor: str, arguments: dict[str, str]) -> list[str]:
        firing = self.firings[actor]
        if firing.actor not in self.functions:
            channels = self.marked.channels
            ((read, size),) = [
                (arguments[f"from_{self.edge[c.id]}"], c.token_bytes) for c in channels if c.dst == actor
            ]
            written = [arguments[f"to_{self.edge[c.id]}"] for c in channels if c.src == actor]
            return [f"        memcpy({name}, {read}, {size}u);" for name in written]
        number = "k" if firing.per_iteration == 1 else f"k * {firing.per_iteration} + {firing.number}"
        places = {(side.channel, writing): f"all_{n}" for n, (side, writing) in enumerate(self._split(actor))}
        given, before, after = [number], list[str](), list[str]()
        for side, writing in [*((side, False) for side in firing.reads), *((side, True) for side in firing.writes)]:
            parts = [arguments[f"{'to' if writing else 'from'}_{self.edge[name]}"] for name, _ in side.parts]
            whole = places.get((side.channel, writing))
            if whole is None:
                given.append(parts[0] if parts else "0")
                continue
            given.append(whole)
            done, one = 0, f"BYTES_{self.channel[side.channel]}"
            for part, (_, count) in zip(parts, side.parts, strict=True):
                pair = (part, f"{whole} + {done} * {one}") if writing else (f"{whole} + {done} * {one}", part)
                (after if writing else before).append(f"        memcpy({', '.join(pair)}, {count} * {one});")
                done += count
        return [*before, f"        fire_{self.actor[firing.actor]}({', '.join(given)});", *after]


def _bytes(channel: str, rate: Sequence[int]) -> str:
    """The bytes of the tokens that a firing moves through a channel, by its phase."""
    if len(rate) == 1:
        return f"BYTES_{channel}" if rate == (1,) else f"{rate[0]} * BYTES_{channel}"
    counts = ", ".join(map(str, rate))
    return f"(size_t)(const int[]){{{counts}}}[firing % {len(rate)}] * BYTES_{channel}"
