"""A login in the address of a store is used, and stands in no process list."""

import base64
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest

from nornir_railweave.journals.places import open_store
from nornir_railweave.journals.store import StoreError

USER, TOKEN = "runner", "t0ken/with:odd@signs"
HEAD = "1" * 40


class Forge:
    """A git server with a login; it looks at the process list while git waits for its answer."""

    def __init__(self) -> None:
        self.logins: list[str] = []
        self.shown: list[str] = []
        forge = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                given = self.headers.get("Authorization", "")
                forge.shown += [line for line in process_list() if TOKEN in line or quote(TOKEN, safe="") in line]
                if not given:
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", 'Basic realm="forge"')
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                forge.logins.append(base64.b64decode(given.partition(" ")[2]).decode())
                # The "dumb" protocol of gitprotocol-http(5), which needs no program on the server.
                body = f"{HEAD}\trefs/heads/other\n".encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@contextmanager
def served() -> Iterator[Forge]:
    forge = Forge()
    thread = Thread(target=forge.server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield forge
    finally:
        forge.server.shutdown()
        thread.join()
        forge.server.server_close()


def process_list() -> list[str]:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return lines


@pytest.mark.parametrize("by_name", [True, False], ids=["remote", "address"])
def test_a_login_reaches_the_server_and_no_process_list(
    by_name: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with served() as forge:
        address = f"http://{USER}:{quote(TOKEN, safe='')}@127.0.0.1:{forge.server.server_port}/repository"
        if by_name:
            with (tmp_path / ".git/config").open("a", encoding="utf-8") as file:
                file.write(f'[remote "origin"]\n\turl = {address}\n')
        store = open_store("git:origin" if by_name else f"git:{address}")
        assert store.names() == []
    assert set(forge.logins) == {f"{USER}:{TOKEN}"}
    assert forge.shown == []


@pytest.mark.parametrize("fetched_with_login", [True, False])
def test_a_remote_is_pushed_to_where_its_pushurl_says(
    fetched_with_login: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, pushed = tmp_path / "project", tmp_path / "pushed.git"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    subprocess.run(["git", "init", "-q", "--bare", str(pushed)], check=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with served() as forge:
        login = f"{USER}:{quote(TOKEN, safe='')}@" if fetched_with_login else ""
        address = f"http://{login}127.0.0.1:{forge.server.server_port}/repository" if login else str(pushed)
        with (project / ".git/config").open("a", encoding="utf-8") as file:
            file.write(f'[remote "origin"]\n\turl = {address}\n\tpushurl = {pushed}\n')
        store = open_store("git:origin")
        assert store.names() == []
        assert store.create("pod1@sim/00000001", b"a record")
    assert forge.shown == []
    heads = subprocess.run(["git", "-C", str(pushed), "branch"], check=True, capture_output=True, text=True).stdout
    assert heads.strip()


@pytest.mark.parametrize("stored", ["of-a-helper", ""], ids=["helper", "token alone"])
def test_the_password_of_a_user_in_an_address_is_asked_of_the_helpers_of_the_user(
    stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    if stored:
        helper = f"!answer() {{ cat > /dev/null; echo password={stored}; }}; answer"
        subprocess.run(["git", "config", "credential.helper", helper], check=True)
    with served() as forge:
        address = f"http://{quote(TOKEN, safe='')}@127.0.0.1:{forge.server.server_port}/repository"
        assert open_store(f"git:{address}").names() == []
    assert set(forge.logins) == {f"{TOKEN}:{stored}"}
    assert forge.shown == []


def test_a_refusal_names_the_address_without_its_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError) as refused:
        open_store(f"git:http://{USER}:{quote(TOKEN, safe='')}@127.0.0.1:1/repository").names()
    assert "127.0.0.1" in str(refused.value)
    assert "t0ken" not in str(refused.value)
