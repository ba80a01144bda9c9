"""Who may scrape what: addresses, TLS, passwords, and the answers of the server."""

import base64
import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path

import bcrypt
import pytest
from certificates import write_certificate

from railweave.api.monitoring.exporter import listen_address
from railweave.api.monitoring.server import MetricsServer, answer
from railweave.api.monitoring.web_config import OPEN, WebConfig, load_web_config
from railweave.cli.main import main
from railweave.errors import RefusedError, UsageError

HASH = bcrypt.hashpw(b"correct horse", bcrypt.gensalt(4)).decode()
WEB = "tls_server_config: {cert_file: exporter.crt, key_file: exporter.key}\n"


def page(name: str | None) -> str | None:
    return {None: "own 1\n", "leaf1": "leaf 1\n"}.get(name)


@contextmanager
def served(config: WebConfig = OPEN) -> Iterator[int]:
    with MetricsServer("127.0.0.1", 0, page, config) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server.port
        server.shutdown()
        thread.join()


def get(connection: http.client.HTTPConnection, path: str, login: str = "") -> tuple[int, str, str]:
    headers = {}
    if login:
        headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
    # What Prometheus 2.42 asks for.
    headers["Accept"] = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    return response.status, response.headers["Content-Type"], response.read().decode()


def config_of(folder: Path, text: str) -> WebConfig:
    (folder / "web.yml").write_text(text, encoding="utf-8")
    return load_web_config(folder / "web.yml")


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(RefusedError) as refused:
        config_of(folder, text)
    return str(refused.value).replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/metrics", HTTPStatus.OK, "own 1\n"),
        ("/metrics?device=leaf1", HTTPStatus.OK, "leaf 1\n"),
        ("/metrics?device=leaf9", HTTPStatus.NOT_FOUND, "the fabric has no such switch: /metrics lists them\n"),
        ("/metrics?device=a&device=b", HTTPStatus.BAD_REQUEST, "one device a request: /metrics?device=NAME\n"),
        ("/metric", HTTPStatus.NOT_FOUND, "not found: /metrics, /metrics?device=NAME\n"),
        ("/", HTTPStatus.OK, "metrics of a fabric: /metrics, /metrics?device=NAME\n"),
    ],
)
def test_a_path_has_its_answer(path: str, status: HTTPStatus, body: str) -> None:
    assert answer(path, page)[:2] == (status, body)


def test_the_format_is_plain_text_and_a_silent_client_delays_nobody() -> None:
    with served() as port, socket.create_connection(("127.0.0.1", port)):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        kind = "text/plain; version=0.0.4; charset=utf-8"
        assert get(connection, "/metrics?device=leaf1") == (200, kind, "leaf 1\n")
        # The connection stays open for the next scrape.
        assert get(connection, "/metrics") == (200, kind, "own 1\n")
        connection.close()


def test_tls_and_a_password_are_needed_where_the_file_says_so(tmp_path: Path) -> None:
    certificate, _ = write_certificate(tmp_path)
    config = config_of(tmp_path, f"{WEB}basic_auth_users:\n  prometheus: {HASH}\n")
    assert HASH not in repr(config)
    trust = ssl.create_default_context(cafile=str(certificate))
    # A client that never begins its handshake keeps nobody waiting.
    with served(config) as port, socket.create_connection(("127.0.0.1", port)):
        statuses = []
        for login in ("", "prometheus:wrong", "nobody:correct horse", "prometheus:correct horse"):
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=trust)
            statuses.append(get(connection, "/metrics", login)[0])
            connection.close()
        assert statuses == [401, 401, 401, 200]
        plain = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        with pytest.raises((OSError, http.client.HTTPException)):
            get(plain, "/metrics")
        plain.close()


def test_an_expired_certificate_is_refused_by_its_date(tmp_path: Path) -> None:
    write_certificate(tmp_path, datetime(2026, 10, 2, tzinfo=UTC))
    assert refusal(tmp_path, WEB) == "web.yml:1:32: exporter.crt expired on 2026-10-02"


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("tls_server_config: {cert_file: a.crt}\ntls: 1\n",
         "web.yml:1:1: `tls_server_config.key_file` is missing\nweb.yml:2:1: unknown key `tls`"),
        ("basic_auth_users:\n  prometheus: hunter2\n",
         "web.yml:2:15: the password of `prometheus` is not a bcrypt hash"),
        ("basic_auth_users: hunter2\n", "web.yml:1:19: `basic_auth_users` is not a mapping of names"),
        (WEB, "web.yml:1:32: exporter.crt and exporter.key cannot be used: No such file or directory"),
    ],
)  # fmt: skip
def test_every_fault_of_the_file_is_named_without_the_password(tmp_path: Path, text: str, messages: str) -> None:
    assert refusal(tmp_path, text) == messages


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0.0.0.0:9105", "without TLS and a password only this machine may read metrics; listen on 127.0.0.1, or name a"
         " file with TLS and passwords by --web-config (docs/how-to/prometheus.md)"),
        ("switch:9105", "not an address and a port, such as 127.0.0.1:9105"),
        ("127.0.0.1:http", "http is not a port, such as in 127.0.0.1:9105"),
        ("127.0.0.1:65536", "65536 is not a port, such as in 127.0.0.1:9105"),
    ],
)  # fmt: skip
def test_an_address_that_is_open_or_none_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        listen_address(text, OPEN)
    assert str(refused.value) == f"--listen {text}: {why}"


def test_loopback_needs_no_password_and_every_address_is_fine_with_both(tmp_path: Path) -> None:
    write_certificate(tmp_path)
    both = config_of(tmp_path, f"{WEB}basic_auth_users: {{prometheus: {HASH}}}\n")
    assert listen_address("localhost:0", OPEN) == ("localhost", 0)
    assert listen_address("[::1]:9105", OPEN) == ("::1", 9105)
    assert listen_address("0.0.0.0:9105", both) == ("0.0.0.0", 9105)
    with pytest.raises(UsageError):
        listen_address("0.0.0.0:9105", config_of(tmp_path, WEB))


def test_the_command_refuses_before_it_reads_anything(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["exporter", "intent/lab-4.yml", "--target", "sim", "--listen", "0.0.0.0:9105"]) == 64
    assert "without TLS and a password" in capfd.readouterr().err
    assert main(["exporter", "intent/lab-4.yml", "--target", "sim", "--web-config", str(tmp_path / "none.yml")]) == 1
    assert "none.yml cannot be read: No such file or directory" in capfd.readouterr().err
