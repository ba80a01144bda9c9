"""A headless Chromium, spoken to through its debugging pipe: what a page requests, logs and shows."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FONTS = Path(__file__).resolve().parents[2] / "src" / "railweave" / "drawing" / "fonts"
ONLY_OWN_FONT = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<include ignore_missing="yes">/etc/fonts/fonts.conf</include>
<dir>{fonts}</dir>
<cachedir>{cache}</cachedir>
<match target="pattern"><edit name="family" mode="assign" binding="strong"><string>Inter</string></edit></match>
</fontconfig>
"""
"""The configuration of fontconfig with the font of railweave's pictures for every family. The fonts of the machine are
left for the few signs that it lacks (the brackets of rounding)."""

PROGRAM = shutil.which("chromium") or shutil.which("google-chrome")


@dataclass
class Visit:
    """What happened while a page was opened: what it requested, and the errors of the console and the network."""

    requested: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Browser:
    """One tab. Messages are JSON, each ended by a zero byte (Chrome DevTools Protocol, ``--remote-debugging-pipe``)."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        """Take the descriptors of both pipes."""
        self._out, self._in = to_browser, from_browser
        self._rest, self._number, self._session = b"", 0, ""
        self._visit = Visit()
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        command = {"id": self._number, "method": method, "params": params, **session}
        os.write(self._out, json.dumps(command).encode() + b"\0")
        while True:
            message = self._read()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return dict(message["result"])

    def open(self, address: str) -> Visit:
        """Open a page and return what happened until it was loaded."""
        self._visit = Visit()
        self.ask("Page.navigate", url=address)
        while self._read().get("method") != "Page.loadEventFired":
            pass
        return self._visit

    def run(self, script: str) -> Any:
        """Return the value of JavaScript in the page; a promise is awaited."""
        result = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._in, 1 << 20)
            assert more, "the browser ended"
            self._rest += more
        text, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method: str | None, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            if not params["request"]["url"].startswith(("data:", "blob:")):
                self._visit.requested.append(params["request"]["url"])
        elif method == "Network.loadingFailed" and not params.get("canceled"):
            self._visit.errors.append(params["errorText"])
        elif method == "Runtime.exceptionThrown":
            self._visit.errors.append(str(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self._visit.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled" and params["type"] == "error":
            self._visit.errors.append(str(params["args"]))


@contextmanager
def browser(profile: Path, *, own_font: bool = False) -> Iterator[Browser]:
    """Start a headless browser with a new profile, and end it. ``own_font``: it writes in railweave's font."""
    assert PROGRAM, "no chromium here"
    environment = dict(os.environ)
    if own_font:
        configuration = profile / "fonts.conf"
        configuration.write_text(ONLY_OWN_FONT.format(fonts=FONTS, cache=profile / "fonts"), encoding="utf-8")
        environment["FONTCONFIG_FILE"] = str(configuration)
    command_in, command_out = os.pipe()
    answer_in, answer_out = os.pipe()
    # The pipe's ends are 3 and 4 in the browser, whatever their numbers are here.
    script = f'exec "$@" 3<&{command_in} 4>&{answer_out}'
    arguments = (
        PROGRAM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        # A test opens more places of a page in ten seconds than a person does; the browser would ignore some of them.
        "--disable-ipc-flooding-protection",
        "--remote-debugging-pipe",
        f"--user-data-dir={profile}",
    )
    with subprocess.Popen(
        ["bash", "-c", script, "bash", *arguments],
        pass_fds=(command_in, answer_out),
        stderr=subprocess.DEVNULL,
        env=environment,
    ) as process:
        os.close(command_in)
        os.close(answer_out)
        try:
            yield Browser(command_out, answer_in)
        finally:
            process.kill()
            os.close(command_out)
            os.close(answer_in)
