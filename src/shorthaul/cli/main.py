"""The entry of the command line: every way to end goes through an exit status, from the first moment on."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from typing import Any

from shorthaul.cli.endings import end_at_once, end_at_second_signal, end_by_error, end_by_signal
from shorthaul.core.searching.ending import ENDING, ENDING_COMMANDS, keep_processor_time

#: What NumPy's linear algebra looks at when it is imported. On matrices as small as ours its threads wait for one
#: another, in every process, and they round differently on other machines.
_THREADS_OF_ALGEBRA = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class _Messages(io.FileIO):
    """Standard error, whose reader may go away or disk be full: what it does not take is lost, and costs no answer."""

    def write(self, data: Any) -> int:
        """Return that all was written."""
        with contextlib.suppress(OSError):
            super().write(data)
        return len(data)


def open_closed_streams() -> None:
    """Open those of the first three files that are closed, or outputs would take their places.

    Messages are dropped then, and answers are refused, as on a full device.
    """
    for number, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            with contextlib.suppress(OSError):
                os.set_inheritable(os.open(os.devnull, mode), True)  # the first number that is free
    for number, (name, how) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            with contextlib.suppress(OSError):
                setattr(sys, name, open(number, how, encoding="utf-8", closefd=False))  # noqa: SIM115


def prepare_outputs() -> None:
    """Let outputs have what they cannot encode as numbers, whole writes, and messages that cost no answer."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper):
            continue
        if name == "stderr" and stream is sys.__stderr__:
            raw = _Messages(stream.fileno(), "w", closefd=False)
            stream = io.TextIOWrapper(io.BufferedWriter(raw), encoding=stream.encoding, line_buffering=True)
        elif isinstance(stream.buffer, io.RawIOBase):
            # Unbuffered (PYTHONUNBUFFERED): of a write that a signal cuts short, Python would lose the rest.
            stream = open(stream.fileno(), "w", encoding=stream.encoding, closefd=False)  # noqa: SIM115
            stream.reconfigure(line_buffering=True)
        # A terminal or file whose encoding lacks a sign, such as a cross in a table, gets its number.
        stream.reconfigure(errors="backslashreplace")
        setattr(sys, name, stream)


def tell_unraisable(error: sys.UnraisableHookArgs) -> None:
    """Tell of an error in a destructor or a kernel that cannot raise, but not that memory ran out: the watch tells."""
    if not issubclass(error.exc_type, MemoryError):
        sys.__unraisablehook__(error)


def main() -> None:
    """Run the command line."""
    sys.unraisablehook = tell_unraisable
    for name in _THREADS_OF_ALGEBRA:
        os.environ.setdefault(name, "1")
    open_closed_streams()
    for number in range(3):  # writes wait for readers: another program's stream that does not would cut the answer
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.set_blocking(number, True)
    try:
        with contextlib.suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGTERM, end_at_once)
            for number in (signal.SIGINT, *ENDING_COMMANDS):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, end_at_once)
            end_at_second_signal()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)  # a command that began anew has them blocked
        keep_processor_time()
        _run()
    except KeyboardInterrupt as ended:
        end_by_signal(ended)
    except Exception as error:
        end_by_error(error)
    finally:
        # The answer is out. While Python takes itself down it would give signals back to the system, which kills.
        for number in (signal.SIGINT, signal.SIGTERM, *ENDING_COMMANDS):
            with contextlib.suppress(ValueError):
                signal.signal(number, signal.SIG_IGN)


def _run() -> None:
    prepare_outputs()
    from shorthaul.cli.app import app
    from shorthaul.cli.verbs import silence_output, unwritable_text

    try:
        app(standalone_mode=True)
    except SystemExit as ended:
        abort = ended.__context__
        if abort is not None and isinstance(abort.__cause__, KeyboardInterrupt):  # outside of the verbs
            end_by_signal(abort.__cause__)
        # Rich and Click answer a reader of a pipe that went away, which is no failure, with status 1.
        sys.exit(0 if isinstance(ended.__context__, BrokenPipeError) else ended.code)
    except OSError as error:  # help and version are printed outside of the verbs
        silence_output()
        if not isinstance(error, BrokenPipeError):
            print(unwritable_text(error), file=sys.stderr)
            sys.exit(2)
