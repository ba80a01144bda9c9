"""A bucket on the loopback that speaks as much of S3 as journals need: put where there is none, get, list, delete.

``faults`` are asked before every request: a status is its answer, and ``after`` answers so once the work is done, as a
connection that breaks too late does.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

Fault = Callable[[str, str], int]


def _none(verb: str, path: str) -> int:
    return 0


@dataclass
class Bucket:
    """The objects, and what goes wrong; ``conditional`` is False for a server that knows no conditions."""

    objects: dict[str, bytes] = field(default_factory=dict)
    before: Fault = _none
    after: Fault = _none
    conditional: bool = True
    lock: threading.Lock = field(default_factory=threading.Lock)


class _Handler(BaseHTTPRequestHandler):
    bucket: Bucket
    protocol_version = "HTTP/1.1"

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"ETag": '"1"', "Last-Modified": "Mon, 02 Jan 2006 15:04:05 GMT", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _handle(self) -> None:
        url = urlsplit(self.path)
        key = unquote(url.path).removeprefix("/bucket").removeprefix("/")
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if status := self.bucket.before(self.command, key):
            self._answer(status, b"<Error><Code>Refused</Code><Message>stand-in</Message></Error>")
            return
        with self.bucket.lock:
            status, body = getattr(self, f"_{self.command.lower()}")(key, parse_qs(url.query, True), data)
        if late := self.bucket.after(self.command, key):
            status, body = late, b""
        self._answer(status, body)

    do_GET = do_PUT = do_DELETE = do_POST = _handle  # noqa: N815

    def _get(self, key: str, query: dict[str, list[str]], data: bytes) -> tuple[int, bytes]:
        if "list-type" in query:
            prefix = query.get("prefix", [""])[0]
            found = "".join(
                f"<Contents><Key>{escape(name)}</Key><Size>{len(content)}</Size><ETag>1</ETag>"
                f"<LastModified>2006-01-02T15:04:05.000Z</LastModified></Contents>"
                for name, content in sorted(self.bucket.objects.items())
                if name.startswith(prefix)
            )
            return 200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>".encode()
        if key not in self.bucket.objects:
            return 404, b"<Error><Code>NoSuchKey</Code></Error>"
        return 200, self.bucket.objects[key]

    def _put(self, key: str, query: dict[str, list[str]], data: bytes) -> tuple[int, bytes]:
        if self.bucket.conditional and self.headers.get("If-None-Match") == "*" and key in self.bucket.objects:
            return 412, b"<Error><Code>PreconditionFailed</Code></Error>"
        self.bucket.objects[key] = data
        return 200, b""

    def _delete(self, key: str, query: dict[str, list[str]], data: bytes) -> tuple[int, bytes]:
        self.bucket.objects.pop(key, None)
        return 204, b""

    def _post(self, key: str, query: dict[str, list[str]], data: bytes) -> tuple[int, bytes]:
        names = re.findall(rb"<Key>.*?</Key>", data)
        for name in names:
            self.bucket.objects.pop(name.decode()[5:-6], None)
        deleted = b"".join(b"<Deleted>" + name + b"</Deleted>" for name in names)
        return 200, b"<DeleteResult>" + deleted + b"</DeleteResult>"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def serve_s3(bucket: Bucket | None = None) -> Iterator[str]:
    """Serve ``bucket`` on the loopback; give the endpoint."""
    handler = type("Handler", (_Handler,), {"bucket": bucket or Bucket()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
