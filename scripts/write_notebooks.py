"""Write ``examples/notebooks/*.ipynb`` from the scripts beside them, whose cells begin with ``# %%``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"


def cells(script: str) -> list[tuple[bool, str]]:
    """Return the cells of a script: whether each is text, and its lines; comment marks of texts are taken off."""
    found = []
    for mark, body in re.findall(r"^# %%(.*)\n((?:(?!# %%).*\n)*)", script, re.MULTILINE):
        text = "[markdown]" in mark
        found.append((text, (re.sub(r"^# ?", "", body, flags=re.MULTILINE) if text else body).strip("\n")))
    return found


def notebook(script: str) -> str:
    """Return a script as a notebook, without outputs."""
    made: list[dict[str, Any]] = []
    for number, (text, body) in enumerate(cells(script), 1):
        shared = {"id": f"cell-{number}", "metadata": {}, "source": body.splitlines(keepends=True)}
        made.append(
            {"cell_type": "markdown", **shared}
            if text
            else {"cell_type": "code", "execution_count": None, "outputs": [], **shared}
        )
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write every notebook anew."""
    for script in sorted(FOLDER.glob("*.py")):
        script.with_suffix(".ipynb").write_text(notebook(script.read_text()))


if __name__ == "__main__":
    main()
