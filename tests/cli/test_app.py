from __future__ import annotations

import json
import subprocess
import sys

from tests.commands import shorthaul


def test_version_and_help() -> None:
    assert shorthaul("--version").stdout == "0.1.0\n"
    shown = shorthaul("--help")
    assert shown.returncode == 0
    for engine in ("pebble", "affine", "tensor", "dataflow", "spatial", "report", "doctor"):
        assert engine in shown.stdout


def test_a_mistyped_command_names_the_nearest() -> None:
    done = shorthaul("tensr")
    assert done.returncode == 2
    assert "tensor" in done.stderr


def test_doctor_tells_versions_and_kernels() -> None:
    done = shorthaul("doctor", "--json")
    assert done.returncode == 0
    items = json.loads(done.stdout)["items"]
    assert {"numpy", "numba", "ortools", "islpy"} <= {item["name"] for item in items if item["state"] != "missing"}


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m shorthaul doctor --json | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("{")
    assert "Traceback" not in done.stderr
