"""A real Prometheus and Alertmanager on loopback, and what their receiver gets of an exporter."""

import json
import shlex
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

SCRAPE_S = 1
Alert = tuple[str, str, str]
"""Rule, device and port of an alert."""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def telemetry_of(ports: dict[str, int]) -> str:
    """Return the ``telemetry:`` of an intent whose parts are at these ports of loopback."""
    places = ", ".join(f"{part}: '127.0.0.1:{ports[part]}'" for part in ("exporter", "textfile", "alertmanager"))
    return f"telemetry: {{scrape_s: {SCRAPE_S}, {places}, webhook: 'http://127.0.0.1:{ports['webhook']}/'}}\n"


class AlertRig:
    """The programs on a folder that `railweave telemetry render` wrote, and the alerts that arrived."""

    def __init__(self, programs: Path, folder: Path, ports: dict[str, int]) -> None:
        self._programs = programs
        self._folder = folder
        self._ports = ports
        self._lock = threading.Lock()
        self.firing: set[Alert] = set()
        # Every alert that fired at any time, and its labels.
        self.fired: set[Alert] = set()
        self.labels: dict[Alert, dict[str, str]] = {}

    @contextmanager
    def running(self) -> Iterator["AlertRig"]:
        """Start everything, and end it with the block."""
        configuration = self._folder / "prometheus" / "prometheus.yml"
        text = configuration.read_text(encoding="utf-8")
        # Thresholds are read every two minutes otherwise.
        configuration.write_text(text.replace("2m", f"{SCRAPE_S}s"), encoding="utf-8")
        alertmanager = self._folder / "prometheus" / "alertmanager.yml"
        text = alertmanager.read_text(encoding="utf-8")
        # Alerts that join a group are sent with the next ones otherwise.
        alertmanager.write_text(text.replace('"5m"', f'"{SCRAPE_S}s"'), encoding="utf-8")
        with ExitStack() as stack:
            share = self._programs.parent / "share"
            thresholds = (self._folder / "thresholds.prom").read_bytes()
            stack.enter_context(_serving(self._ports["textfile"], lambda _: thresholds))
            stack.enter_context(_serving(self._ports["webhook"], self._receive))
            self._start(
                stack,
                # Debian's build reads its template from /usr/share: here that of the unpacked package.
                *(
                    "unshare",
                    "--mount",
                    "sh",
                    "-c",
                    f'mount --bind {shlex.quote(str(share))} /usr/share && exec "$@"',
                    "-",
                ),
                str(self._programs / "prometheus-alertmanager"),
                f"--config.file={self._folder / 'prometheus' / 'alertmanager.yml'}",
                f"--storage.path={self._folder / 'alertmanager'}",
                f"--web.listen-address=127.0.0.1:{self._ports['alertmanager']}",
                # No cluster: it would listen at every address.
                "--cluster.listen-address=",
            )
            self._start(
                stack,
                str(self._programs / "prometheus"),
                f"--config.file={configuration}",
                f"--storage.tsdb.path={self._folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self._ports['prometheus']}",
            )
            yield self

    def _start(self, stack: ExitStack, *words: str) -> None:
        log = stack.enter_context((self._folder / f"{words[0].rpartition('/')[2]}.log").open("w", encoding="utf-8"))
        process = subprocess.Popen(words, stdout=log, stderr=log, cwd=self._folder)
        stack.callback(process.wait)
        stack.callback(process.kill)

    def _receive(self, body: bytes) -> bytes:
        for alert in json.loads(body)["alerts"]:
            labels = alert["labels"]
            key = labels["rule"], labels.get("device", ""), labels.get("port", "")
            with self._lock:
                self.labels[key] = labels
                if alert["status"] == "firing":
                    self.firing.add(key)
                    self.fired.add(key)
                else:
                    self.firing.discard(key)
        return b""

    def query(self, expression: str) -> list[Any]:
        """Return the samples of an expression."""
        from urllib.parse import quote

        url = f"http://127.0.0.1:{self._ports['prometheus']}/api/v1/query?query={quote(expression)}"
        with urlopen(url, timeout=10) as answer:
            return list(json.loads(answer.read())["data"]["result"])

    def wait_until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"{what}: firing {sorted(self.firing)}, ever {sorted(self.fired)}"
            time.sleep(0.5)

    def quiet_for(self, seconds: float, expected: set[Alert]) -> None:
        """Wait for alerts that come late; none but ``expected`` may."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self.fired <= expected, sorted(self.fired)
            time.sleep(0.5)


@contextmanager
def _serving(port: int, answer: Callable[[bytes], bytes]) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, body: bytes) -> None:
            text = answer(body)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Say nothing of a scrape that was given up: on a busy machine a second is short."""

    server = Server(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
