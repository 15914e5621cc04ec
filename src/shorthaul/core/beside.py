"""Compilations in a process beside this one, for searches that must not wait for them.

A program of the engine hands :func:`serve` a function for every module of kernels it can compile. A search has some of
them compiled by :func:`begin` and goes on in plain Python; :func:`shorthaul.core.jit.is_ready` tells when they are.
"""

from __future__ import annotations

import atexit
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence

from shorthaul.core import jit


class _Process:
    """``python -m program modules``, which writes each module when it is compiled, and ends early with this process."""

    def __init__(self, program: str, modules: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", program, *modules],  # -P: no modules of the folder it is called in
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._modules = frozenset(modules)
        jit.compiled_elsewhere |= self._modules
        threading.Thread(target=self._read, daemon=True).start()
        atexit.register(self.leave)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            jit.compiled_elsewhere.discard(line.strip())
        jit.compiled_elsewhere.difference_update(self._modules)  # nothing more comes, for whatever reason
        self._process.wait()

    def leave(self) -> None:
        """Let the process end by itself, after what it is compiling now."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        if self._process.poll() is None:
            self._process.returncode = 0  # nobody waits for it any more: no warning that it runs


#: The processes by their program; one for each, once.
_started: dict[str, _Process] = {}


def begin(program: str, modules: Sequence[str], seconds: int, meanwhile: str) -> bool:
    """Have ``python -m program`` compile these modules of kernels, in this order; False if that is impossible.

    It is where kernels are not compiled at all, or their code has no place on disk. ``seconds``, roughly how long it
    takes, and what happens ``meanwhile`` are told on standard error. The process lives no longer than this one and the
    module it is at; a program runs once.
    """
    if not jit.ENABLED or not jit.has_cache() or not sys.executable:
        return False
    if program in _started:
        return True
    try:
        _started[program] = _Process(program, modules)
    except OSError:
        return False
    print(
        f"compiling in a process beside this one: about {seconds} s, only this first time; {meanwhile}",
        file=sys.stderr,
        flush=True,
    )
    return True


def serve(compilers: Mapping[str, Callable[[], object]], modules: Sequence[str]) -> None:
    """Compile these modules and write the name of each when it is done; stop after one when standard input ends."""
    is_left = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        is_left.set()

    threading.Thread(target=wait, daemon=True).start()
    for module in modules:
        if is_left.is_set():
            break
        compilers[module]()
        try:
            print(module, flush=True)
        except OSError:
            break
