"""What an installation takes: the newest wheel of dist and all it depends on, in a fresh environment, by package.

``make wheel && python benchmarks/installed_size.py`` prints MiB on the disk with bytecode, as pip leaves them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

#: What the environment brings, not shorthaul.
TOOLS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth")
SHOWN = 12
MIB = 2**20


def size(path: Path) -> int:
    """Return the bytes that a file, or all in a folder, takes on the disk."""
    files = [path, *path.rglob("*")] if path.is_dir() and not path.is_symlink() else [path]
    return sum(file.lstat().st_blocks * 512 for file in files)


def installed(wheel: Path, folder: Path) -> dict[str, int]:
    """Install a wheel into a fresh environment; return what each entry beside the others takes."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    return {entry.name: size(entry) for entry in packages.iterdir()}


def main() -> None:
    """Print the largest entries and the sums, with and without pip and setuptools."""
    wheels = sorted(Path(__file__).parents[1].glob("dist/*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        sys.exit("there is no wheel in dist: make wheel")
    with tempfile.TemporaryDirectory() as folder:
        sizes = installed(wheels[-1], Path(folder))
    for name, taken in sorted(sizes.items(), key=lambda item: -item[1])[:SHOWN]:
        print(f"{taken / MIB:6.0f} MiB  {name}")
    tools = sum(taken for name, taken in sizes.items() if name.startswith(TOOLS))
    total = sum(sizes.values())
    print(f"{(total - tools) / MIB:6.0f} MiB  shorthaul and all it depends on")
    print(f"{total / MIB:6.0f} MiB  with pip and setuptools")


if __name__ == "__main__":
    main()
