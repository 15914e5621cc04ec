"""The entry of the command line: every way to end goes through an exit status, from the first moment on."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from shorthaul.cli.endings import end_at_once, end_at_second_signal, end_by_error, end_by_signal

#: What NumPy's linear algebra looks at when it is imported. On matrices as small as ours its threads wait for one
#: another, in every process, and they round differently on other machines.
_THREADS_OF_ALGEBRA = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> None:
    """Run the command line."""
    for name in _THREADS_OF_ALGEBRA:
        os.environ.setdefault(name, "1")
    try:
        with contextlib.suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGTERM, end_at_once)
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where it is ignored
                signal.signal(signal.SIGINT, end_at_once)
            end_at_second_signal()
        _run()
    except KeyboardInterrupt as ended:
        end_by_signal(ended)
    except Exception as error:
        end_by_error(error)
    finally:
        # The answer is out. While Python takes itself down it would give signals back to the system, which kills.
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(ValueError):
                signal.signal(number, signal.SIG_IGN)


def _run() -> None:
    import io

    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            if isinstance(stream.buffer, io.RawIOBase):
                # Unbuffered (PYTHONUNBUFFERED): of a write that a signal cuts short, Python would lose the rest.
                stream = open(stream.fileno(), "w", encoding=stream.encoding, closefd=False)  # noqa: SIM115
                stream.reconfigure(line_buffering=True)
                setattr(sys, name, stream)
            # A terminal or file whose encoding lacks a sign, such as a cross in a table, gets its number.
            stream.reconfigure(errors="backslashreplace")
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
