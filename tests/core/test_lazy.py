"""Public names of a package and its submodules of the same name."""

from __future__ import annotations

import subprocess
import sys


def test_a_public_name_wins_over_a_submodule_imported_before() -> None:
    code = (
        "import shorthaul.pebble.plan as module_or_function; from shorthaul.pebble.plan import Move\n"
        "import shorthaul; assert callable(shorthaul.pebble.plan), shorthaul.pebble.plan\n"
        "assert shorthaul.pebble.Move is Move"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
