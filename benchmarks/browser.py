"""A page in headless Chromium: what a script in it finds. No graphics processor is used, and nothing is fetched."""

from __future__ import annotations

import queue
import shutil
import subprocess
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def found_in(page: str, script: str, size: tuple[int, int] = (1280, 900), *flags: str) -> str:
    """Return what ``script``, at the end of ``page``, hands to ``tell``: the page is served here, and sends it back.

    ``script`` may wait. ``size`` are the pixels of the window, ``flags`` more options of the browser. Raises
    ``queue.Empty`` after ten minutes: a machine may be busy.
    """
    assert CHROMIUM is not None, "no Chromium on PATH"
    told: queue.Queue[str] = queue.Queue()
    tell = 'const tell = found => fetch("/found", {method: "POST", body: JSON.stringify(found)});'
    served = page.replace("</body>", f'<script type="module">{tell}\n{script}</script></body>').encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(served if self.path == "/" else b"")

        def do_POST(self) -> None:
            told.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        usual = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
        usual += [f"--user-data-dir={folder}", "--remote-debugging-port=0", f"--window-size={size[0]},{size[1]}"]
        address = f"http://127.0.0.1:{server.server_port}/"
        with subprocess.Popen([CHROMIUM, *usual, *flags, address], stderr=subprocess.DEVNULL) as browser:
            try:
                return told.get(timeout=600)
            finally:
                browser.terminate()
                server.shutdown()
