"""Frames per second of a timeline of 10^6 intervals, moved by keys in headless Chromium, at four zooms.

``python benchmarks/timeline.py [INTERVALS]`` needs Chromium on PATH; no graphics processor is used.
"""

from __future__ import annotations

import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from shorthaul.core.figure import Bar, Bars
from shorthaul.core.result import Result, Status
from shorthaul.report.html import render

LANES = 24
MEASURE = """<script type="module">
const canvas = document.querySelector("canvas"), found = {opened_ms: Math.round(performance.now())};
const press = key => canvas.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
for (const zooms of [0, 4, 12, 24]) {
  press("Home");
  for (let count = 0; count < zooms; count++) press("+");
  const begun = performance.now();
  for (let frame = 0; frame < 60; frame++) {
    press(frame % 40 < 20 ? "ArrowRight" : "ArrowLeft");
    await new Promise(requestAnimationFrame);
  }
  found[`zoomed in ${2 ** zooms} times`] = Math.round(60000 / (performance.now() - begun));
}
navigator.sendBeacon("/found", JSON.stringify(found));
</script>"""


def timeline(intervals: int) -> Bars:
    """Return a timeline of random intervals on 24 lanes, in three groups."""
    draw, bars = random.Random(1), []
    for lane in range(LANES):
        now = 0
        while len(bars) < (lane + 1) * intervals // LANES:
            stop = now + draw.randint(1, 9)
            bars.append(Bar(f"core {lane}", now, stop, f"t{len(bars)}", ("read", "write", "run")[len(bars) % 3]))
            now = stop + draw.randint(0, 2)
    return Bars("Timeline", "ticks", tuple(bars))


def measured(chromium: str, page: str) -> str:
    """Return what the page says of itself: it is served here, and sends its figures back."""
    found: queue.Queue[str] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(page.encode() if self.path == "/" else b"")

        def do_POST(self) -> None:
            found.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder}",
            "--remote-debugging-port=0",
        ]
        with subprocess.Popen(
            [chromium, *flags, f"http://127.0.0.1:{server.server_port}/"], stderr=subprocess.DEVNULL
        ) as browser:
            try:
                return found.get(timeout=120)
            finally:
                browser.terminate()


def main() -> None:
    """Print the time to open the page and the frames per second."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium on PATH")
    intervals = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    result = Result("benchmark", Status.FEASIBLE, figures=(timeline(intervals),))
    page = render([result.document()], names=["timeline"]).replace("</body>", f"{MEASURE}</body>")
    print(measured(chromium, page))


if __name__ == "__main__":
    main()
