"""Milliseconds from opening a page to its first drawing on the screen, in headless Chromium, at two widths.

A page draws what is near the view, so it is scrolled to its first drawing: on a phone that is below the first screen.

``python benchmarks/first_picture.py [PAGE]`` needs Chromium on PATH; without a page it takes the one of the demo.
"""

from __future__ import annotations

import sys
from pathlib import Path

from browser import CHROMIUM, found_in

#: The second frame after a drawing is in the page is the first that surely shows it.
MEASURE = """
const frame = () => new Promise(requestAnimationFrame);
document.querySelector("[data-plot], canvas").parentElement.scrollIntoView();
while (!document.querySelector(".main-svg, canvas")) await frame();
await frame(); await frame();
tell(Math.round(performance.now()));
"""


def main() -> None:
    """Print the time at each width, the median of three."""
    if CHROMIUM is None:
        sys.exit("no Chromium on PATH")
    page = Path(sys.argv[1] if len(sys.argv) > 1 else "out/demo.html")
    if not page.is_file():
        sys.exit(f"there is no {page}: make it with 'shorthaul demo'")
    text = page.read_text(encoding="utf-8")
    for size in ((1280, 900), (390, 844)):
        taken = sorted(int(found_in(text, MEASURE, size)) for _ in range(3))
        print(f"{size[0]} pixels wide: {taken[1]} ms to the first drawing ({taken[0]} to {taken[-1]})")


if __name__ == "__main__":
    main()
