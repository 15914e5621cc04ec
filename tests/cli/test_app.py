from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
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


@pytest.mark.parametrize("command", ["tensor cases", "tensor bound example-3 --json", "doctor", "--help", "--version"])
def test_a_full_disk_behind_standard_output_is_told(command: str) -> None:
    line = f"{sys.executable} -m shorthaul {command} > /dev/full"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "standard output: cannot be written: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_terminal_without_the_signs_of_a_table_gets_their_numbers() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "shorthaul", "spatial", "cases"]
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert shown.returncode == 0
    assert "yule" in shown.stdout
    command = [sys.executable, "-m", "shorthaul", "spatial", "plan", "tr\u00e9e.nwk"]
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "tr\\xe9e.nwk: no such file" in refused.stderr


def test_an_input_without_a_name() -> None:
    done = shorthaul("tensor", "plan", "")
    assert done.returncode == 2
    assert "no input is named" in done.stderr
