"""The HTTP server of the exporter: pages from memory, so that a scrape never waits for a switch."""

import base64
import binascii
import socket
import ssl
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from railweave.api.monitoring.web_config import WebConfig

TEXT = "text/plain; version=0.0.4; charset=utf-8"
"""Every Prometheus reads this format, whatever else it accepts."""
_PLAIN = "text/plain; charset=utf-8"
# A client that is slower than a scrape's own limit holds a thread no longer.
_CLIENT_S = 10.0
_MOST_CLIENTS = 64

Pages = Callable[[str | None], str | None]
"""Returns the page of a switch, or without a name the exporter's own; None for an unknown switch."""


class HttpAnswer(NamedTuple):
    """An answer to a request."""

    status: HTTPStatus
    body: str
    kind: str = _PLAIN


def answer(path: str, pages: Pages) -> HttpAnswer:
    """Return the answer to a GET of ``path``: ``/metrics``, or ``/metrics?device=NAME``."""
    url = urlsplit(path)
    if url.path == "/":
        return HttpAnswer(HTTPStatus.OK, "metrics of a fabric: /metrics, /metrics?device=NAME\n")
    if url.path != "/metrics":
        return HttpAnswer(HTTPStatus.NOT_FOUND, "not found: /metrics, /metrics?device=NAME\n")
    devices = parse_qs(url.query).get("device", [])
    if len(devices) > 1:
        return HttpAnswer(HTTPStatus.BAD_REQUEST, "one device a request: /metrics?device=NAME\n")
    device = devices[0] if devices else None
    page = pages(device)
    if page is None:
        return HttpAnswer(HTTPStatus.NOT_FOUND, "the fabric has no such switch: /metrics lists them\n")
    return HttpAnswer(HTTPStatus.OK, page, TEXT)


class _Handler(BaseHTTPRequestHandler):
    server: "MetricsServer"
    protocol_version = "HTTP/1.1"
    server_version = "railweave"
    sys_version = ""
    timeout = _CLIENT_S

    def do_GET(self) -> None:
        """Answer from memory."""
        if not self._is_allowed():
            self._send(HttpAnswer(HTTPStatus.UNAUTHORIZED, "a name and a password are needed\n"))
            return
        self._send(answer(self.path, self.server.pages))

    do_HEAD = do_GET  # noqa: N815

    def _is_allowed(self) -> bool:
        """Tell whether the login of the request is right; a login that cannot be decoded is not."""
        authorization = self.headers.get("Authorization", "").split()
        # Without a login, or with one of another scheme, access depends on whether the configuration has users at all.
        user = ""
        password = ""
        if len(authorization) == 2 and authorization[0].lower() == "basic":
            try:
                user, _, password = base64.b64decode(authorization[1], validate=True).decode().partition(":")
            except (binascii.Error, UnicodeDecodeError):
                return False
        return self.server.config.accepts(user, password)

    def _send(self, response: HttpAnswer) -> None:
        body = response.body.encode()
        self.send_response(response.status)
        if response.status is HTTPStatus.UNAUTHORIZED:
            self.send_header("WWW-Authenticate", 'Basic realm="railweave"')
        self.send_header("Content-Type", response.kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log no request: there is one a switch every few seconds."""


class MetricsServer(ThreadingHTTPServer):
    """Serves ``pages`` at an address; each client has a thread, and waits for no other one."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, host: str, port: int, pages: Pages, config: WebConfig) -> None:
        """Listen at once. Raises OSError if the address cannot be used."""
        if ":" in host:
            self.address_family = socket.AF_INET6
        self.pages = pages
        self.config = config
        self._clients = BoundedSemaphore(_MOST_CLIENTS)
        super().__init__((host, port), _Handler)

    @property
    def port(self) -> int:
        """Return the port, which the system chose for port 0."""
        return int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give the client a thread; one too many is sent away."""
        if not self._clients.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a client; its TLS handshake is made here, so that nobody waits for it."""
        try:
            request.settimeout(_CLIENT_S)
            if self.config.tls is not None:
                request = self.config.tls.wrap_socket(request, server_side=True)
            super().process_request_thread(request, client_address)
        except (OSError, ssl.SSLError):
            self.shutdown_request(request)
        finally:
            self._clients.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away or was too slow."""
