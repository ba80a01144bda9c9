"""The steps of a transaction and of its rollback document, one command of the switch each.

{"kind": "patch", "operations": […]}           config apply-patch
{"kind": "load", "document": {TABLE: …}}       config load -y
{"kind": "hdel", "key": …, "fields": […]}      HDEL in CONFIG_DB, to Redis itself
{"kind": "recreate", "removed": …, "rows": …} DEL, HDEL; a wait until the daemons took that; HSET
{"kind": "vtysh", "text": …}                   vtysh -f
{"kind": "clear", "sessions": [[VRF, PEER, TIMERS_ONLY]…]}  clear bgp PEER, one after the other
{"kind": "reload", "config_db": …, "frr": …}   config reload -y -f
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from railweave_switch import frr
from railweave_switch.daemons import still_there, tells_of
from railweave_switch.frr import Line
from railweave_switch.host import CommandError, Done, SwitchHost
from railweave_switch.rows import repairs
from railweave_switch.sessions import open_again
from railweave_switch.state import path

Step = Mapping[str, Any]

FRR_IN_CONTAINER = "/etc/frr"
"""The host's FRR folder in the bgp container, in which vtysh runs."""
NEEDED_BY_RELOAD = ("hwsku", "mac", "platform")
MODE = "docker_routing_config_mode"
OWN_FRR_FILE = "split-unified"
"""The routing mode in which FRR boots a single file that SONiC does not render."""
SHOW_FRR = ("vtysh", "-c", "show running-config")
SHOW_BGPD = ("vtysh", "-c", "show running-config bgpd")
SHOW_DAEMONS = ("vtysh", "-c", "show daemons")
READ_S = 60.0
TAKEN_S = 20.0
"""Time limit for daemons to apply the removal of a row."""
TAKEN_PAUSE_S = 0.05
"""Pause between two readings meanwhile; short, as the row is missing until it is set again."""
SETTLES_S = 2.0
"""Wait after a removal that no database shows; orchagent retries every second."""
_QUOTED_CHARACTERS = 4000
_HEADLINE_CHARACTERS = 300
_ERROR = re.compile(r"(?:^|\s)Error: |^(?:[\w.]+\.)?\w*(?:Error|Exception)(?:: |$)|missing yang models")
_LAST_LINES = 4
# The line between the two outputs of a command if the cause is the end of the second.
_STREAMS_APART = "-- standard error:"
_TRACEBACK = "Traceback (most recent call last)"
_ALWAYS_PRINTED = ("Usage:", 'Try "', "Acquired lock on", "Released lock on", "Aborted!")
# vtysh prints `Failure to communicate[13]` too, but for a line that a running daemon refuses.
_DAEMONS_AWAY = ("is not running", "failed to connect")

# Lines about the processes of vtysh, one for each daemon since FRR 9.0; each repeats the error.
_OF_PROCESSES = re.compile(r"\[\d+\|\w+\] |Waiting for children ")


class StepError(Exception):
    """A step failed; ``command`` is the switch's own command, ``said`` its output."""

    def __init__(self, command: str, said: str) -> None:
        super().__init__(f"{command}: {headline(said)[:_HEADLINE_CHARACTERS]}")
        self.command = command
        self.said = said[-_QUOTED_CHARACTERS:]


def headline(said: str) -> str:
    """Return the part of an output that names the error: from the first error on, or the last lines.

    Of a Python traceback only the exception is kept; lines that commands always print are dropped.
    """
    lines, standard_error = _telling_lines(said)
    for number, line in enumerate(lines):
        if _ERROR.search(line):
            return " / ".join(lines[number:])
    return " / ".join(lines[max(standard_error, len(lines) - _LAST_LINES) :])


def _telling_lines(said: str) -> tuple[list[str], int]:
    """Return the lines of an output that may name the error, and the number of the first one of standard error.

    The number is 0 if the output is not split by ``_STREAMS_APART``.
    """
    lines: list[str] = []
    standard_error = 0
    in_traceback = False
    # Python prints the original exception first; the later ones only come from handling it.
    for line in said.partition("\nDuring handling of the above exception")[0].splitlines():
        # The indented lines of a traceback quote code; the first other line is the exception.
        in_traceback = line.startswith(_TRACEBACK) or (in_traceback and line.startswith((" ", "\t")))
        if line == _STREAMS_APART:
            standard_error = len(lines)
        elif not in_traceback and line.strip() and not line.startswith(_ALWAYS_PRINTED):
            lines.append(line.strip())
    return lines, standard_error


def run_step(host: SwitchHost, step: Step, timeout_s: float, name: str = "step.json", *, back: bool = False) -> None:
    """Carry out a step; ``name`` is that of the file that its command reads. Raises StepError, DatabaseError, OSError.

    ``back``: the step belongs to a revert. Its file was written before the change, and FRR may report an error about
    lines that the change never added.
    """
    kind = step["kind"]
    if kind == "vtysh":
        apply_frr(host, step["text"], timeout_s, lenient=back)
    elif kind == "clear":
        open_again(host, step["sessions"])
    elif kind == "recreate":
        recreate(host, step)
    elif kind == "hdel":
        # Not by sonic-db-cli: keys may be secrets, which a process list would show.
        host.write_rows([("HDEL", step["key"], *step["fields"])])
    else:
        _run_with_file(host, step, timeout_s, name, back=back)


def recreate(host: SwitchHost, step: Step) -> None:
    """Delete rows and fields, wait until SONiC's daemons have applied that, and set rows.

    ``removed`` of the step has pairs of a key and fields; without fields the whole row is deleted. Raises StepError if
    the daemons do not apply the removal in time.
    """
    removed = [(str(key), fields) for key, fields in step["removed"]]
    host.write_rows([_removal(key, fields) for key, fields in removed])
    # For other tables no database shows when the removal is applied.
    if not all(tells_of(key) for key, _ in removed):
        host.sleep(SETTLES_S)
    _await_removal(host, [key for key, fields in removed if not fields])
    host.write_rows(repairs(step["rows"], {}))


def _removal(key: str, fields: Sequence[str]) -> Sequence[str]:
    """Return Redis's command that removes fields of a row, or without fields the row."""
    if fields:
        return ("HDEL", key, *fields)
    return ("DEL", key)


def _await_removal(host: SwitchHost, keys: Sequence[str]) -> None:
    """Wait until SONiC's daemons have processed the deletion of rows, as far as databases show it; raises StepError."""
    ends_s = host.now_s() + TAKEN_S
    while True:
        remaining = still_there(host, keys)
        if not remaining:
            return
        if host.now_s() >= ends_s:
            raise StepError("recreate", f"SONiC's daemons did not take the removal of {', '.join(remaining[:5])}")
        host.sleep(TAKEN_PAUSE_S)


def _run_with_file(host: SwitchHost, step: Step, timeout_s: float, name: str, *, back: bool) -> None:
    """Run the command of a step that reads its input from the file ``name``; for ``back`` see ``run_step``."""
    words = COMMANDS[step["kind"]]
    if step["kind"] == "reload":
        refuse_hanging_reload(step)
        # In this mode the reload boots FRR's file as it is, so restore the earlier one first.
        if back and step["config_db"]["DEVICE_METADATA"]["localhost"].get(MODE) == OWN_FRR_FILE:
            host.write_file(frr_file(host), (step.get("frr") or "").encode())
    file_path = path(host, name)
    # The file of a revert exists already; written again only if it is damaged, since the disk may be full by now.
    content = content_of(step)
    if not back or not _holds(host, file_path, content):
        host.write_file(file_path, content)
    try:
        run_command(host, [*words, file_path], timeout_s)
    finally:
        if not back:
            host.remove_file(file_path)


COMMANDS = {
    "patch": ("config", "apply-patch"),
    "load": ("config", "load", "-y"),
    "reload": ("config", "reload", "-y", "-f"),
}
"""The commands that read a file."""

KINDS = frozenset({*COMMANDS, "clear", "hdel", "recreate", "vtysh"})
OF_FRR = frozenset({"clear", "vtysh"})
"""Kinds of steps without a row that would show whether they were carried out."""


def content_of(step: Step) -> bytes:
    """Return the file that a step's command reads."""
    value = step.get("operations", step.get("document", step.get("config_db")))
    return (json.dumps(value, indent=1) + "\n").encode()


def _holds(host: SwitchHost, file_path: str, content: bytes) -> bool:
    try:
        return host.read_file(file_path) == content
    except OSError:
        return False


def frr_file(host: SwitchHost, name: str = "frr.conf") -> str:
    """Return the path of a file of FRR on the host."""
    return f"{host.sonic_directory}/frr/{name}"


def apply_frr(host: SwitchHost, text: str, timeout_s: float, *, lenient: bool) -> None:
    """Apply lines of FRR's configuration from a file; raises StepError, OSError.

    ``lenient``: ignore vtysh's error about removing a line that is not there, and if no file can be written pass the
    lines to vtysh's standard input.
    """
    done = _pass_to_vtysh(host, text, timeout_s, input_if_no_file=lenient)
    lines = f"{done.err}\n{done.out}".splitlines()
    output = "\n".join(dict.fromkeys(line for line in lines if not _OF_PROCESSES.match(line))).strip()
    # Without any output it is not known that only a line was refused.
    may_be_away = not output or any(words in output.lower() for words in _DAEMONS_AWAY)
    if done.exit_status != 0 and (may_be_away or not lenient):
        raise StepError("vtysh -f", output or done.words())


def _pass_to_vtysh(host: SwitchHost, text: str, timeout_s: float, *, input_if_no_file: bool) -> Done:
    """Run configuration lines in vtysh from a temporary file; return how the command ended.

    With ``input_if_no_file`` the lines go to vtysh's standard input if the file cannot be written. Raises StepError,
    OSError.
    """
    name = "railweave.conf"
    file_path = frr_file(host, name)
    try:
        host.write_file(file_path, text.encode(), 0o600)
    except OSError:
        if not input_if_no_file:
            raise
        # Unlike a file, standard input is read outside of the configuration mode.
        return _attempt(host, ["vtysh"], timeout_s, f"configure terminal\n{text}\nend\n")
    try:
        return _attempt(host, ["vtysh", "-f", f"{FRR_IN_CONTAINER}/{name}"], timeout_s)
    finally:
        # It may hold passwords of neighbors.
        host.remove_file(file_path)


def frr_text(host: SwitchHost) -> str | None:
    """Return FRR's running configuration; None if FRR does not answer."""
    return _shown(host, SHOW_FRR)


def _shown(host: SwitchHost, words: Sequence[str]) -> str | None:
    """Return the output of a command; None if it fails or prints nothing."""
    try:
        done = host.run(words, READ_S)
    except CommandError:
        return None
    if done.exit_status == 0 and done.out.strip():
        return done.out
    return None


def frr_lines(host: SwitchHost, ignored: str, wanted: Iterable[Line]) -> dict[Line, None]:
    """Return FRR's running lines in the form of ``frr.lines_of``, without those that match ``ignored``.

    Raises StepError if FRR does not answer, or if a daemon does not run to which some of the ``wanted`` lines belong.
    """
    text = frr_text(host)
    away = frr_away(host, wanted, text)
    if away:
        raise StepError("FRR", ", ".join(away))
    return frr.lines_of(text or "", ignored)


def frr_away(host: SwitchHost, wanted: Iterable[Line], text: str | None) -> list[str]:
    """Return in words the daemons that do not run although some of the ``wanted`` lines belong to them.

    ``text`` is the running configuration, None if FRR does not answer. vtysh drops the lines of a daemon that does not
    run, with exit status 0, and shows the lines of the others. So it is asked for the running daemons only if ``text``
    has no line of one of the daemons.
    """
    if text is None:
        return ["it does not answer"]
    version = frr.version_of(text)
    silent = frr.daemons_of(wanted, version) - frr.daemons_of(frr.lines_of(text, ""), version)
    if not silent - {"zebra"}:
        return []
    try:
        running = host.run(SHOW_DAEMONS, READ_S).out.split()
    except CommandError:
        running = []
    return [f"its {name} does not answer" for name in sorted(silent - {*running, "zebra"})]


def frr_lost(host: SwitchHost, text: str) -> list[str]:
    """Return in words the daemons of FRR that do not run although the startup file has lines of theirs.

    ``text`` is the running configuration.
    """
    # A router block shows that bgpd runs, for whose lines a switch boots FRR.
    if "\nrouter " in text:
        return []
    try:
        startup = host.read_file(frr_file(host)).decode(errors="replace")
    except OSError:
        return []
    return frr_away(host, frr.lines_of(startup, ""), text)


def equip_bgpd(host: SwitchHost) -> None:
    """Give bgpd the lists and route-maps that other daemons have and it lacks; raises StepError.

    A daemon that starts while FRR loads its boot configuration misses lines of it. vtysh hides that: it shows a line
    that several daemons keep even if only one of them has it.
    """
    text = frr_text(host)
    bgpd_text = _shown(host, SHOW_BGPD)
    if text is None or bgpd_text is None:
        return
    bgpd_lines = frr.shared_lines(bgpd_text)
    missing = [line for line in frr.shared_lines(text) if line not in bgpd_lines]
    if missing:
        apply_frr(host, frr.text_of(missing), READ_S, lenient=True)


def refuse_hanging_reload(step: Step) -> None:
    """Refuse a reload that would empty the database and then wait forever; raises StepError."""
    metadata = step["config_db"].get("DEVICE_METADATA", {}).get("localhost", {})
    missing = [name for name in NEEDED_BY_RELOAD if not metadata.get(name)]
    if missing:
        raise StepError("config reload", f"DEVICE_METADATA|localhost would lack {', '.join(missing)}")


def reason_of_lost_mode(host: SwitchHost, steps: Sequence[Step]) -> str:
    """Return why the reload among the steps would lose the routing mode; empty if it keeps it or there is no reload.

    SONiC's ``db_migrator.py`` copies the mode from the golden configuration and the minigraph, if these files exist,
    over the one in CONFIG_DB.
    """
    reload_step = next((step for step in steps if step["kind"] == "reload"), None)
    if reload_step is None:
        return ""
    mode = reload_step["config_db"].get("DEVICE_METADATA", {}).get("localhost", {}).get(MODE)
    if not mode:
        return ""
    consequence = (
        f"so a reload would change the routing mode and delete FRR's file; state {MODE} = {mode} there or move it away"
    )
    for name, states_mode in (("golden_config_db.json", _golden_states), ("minigraph.xml", _minigraph_states)):
        file_path = f"{host.sonic_directory}/{name}"
        try:
            text = host.read_file(file_path).decode("utf-8", "replace")
        except OSError:
            continue
        if not states_mode(text, mode):
            return f"{file_path} exists and does not say {mode}, {consequence}"
    return ""


def _golden_states(text: str, mode: str) -> bool:
    try:
        return bool(json.loads(text)["DEVICE_METADATA"]["localhost"][MODE] == mode)
    except (ValueError, KeyError, TypeError):
        return False


def _minigraph_states(text: str, mode: str) -> bool:
    return f">{mode}<" in text.replace(" ", "")


def run_command(host: SwitchHost, words: Sequence[str], timeout_s: float) -> Done:
    """Run a command of the switch; raises StepError if it fails."""
    done = _attempt(host, words, timeout_s)
    if done.exit_status != 0:
        raise StepError(_command(words), _printed(done))
    return done


def _printed(done: Done) -> str:
    """Return the output of a failed command in the order that ``headline`` expects.

    The cause is the first line with an error; if no line has one, it is the end of standard error.
    """
    printed = f"{done.err}\n{done.out}".strip()
    if done.err.strip() and not any(_ERROR.search(line.strip()) for line in printed.splitlines()):
        printed = f"{done.out.strip()}\n{_STREAMS_APART}\n{done.err.strip()}"
    return printed or done.words()


def _attempt(host: SwitchHost, words: Sequence[str], timeout_s: float, stdin: str = "") -> Done:
    try:
        return host.run(words, timeout_s, stdin)
    except CommandError as error:
        raise StepError(_command(words), str(error)) from error


def _command(words: Sequence[str]) -> str:
    """Return a command without the path of its file."""
    return " ".join(word for word in words[:3] if not word.startswith("/"))
