"""Saving: what runs becomes what boots, and a power loss at any moment leaves both startup files old or both new.

SONiC's ``config save`` truncates ``config_db.json`` before it writes it, FRR's ``write memory`` moves ``frr.conf``
away, and neither is on the disk when the command ends (sonic-buildimage, issue 25640). So both texts are first written
into one file of ours, then they replace SONiC's files one by one. Who finds that file later goes on with it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from typing import Any

from railweave_switch.frr import without_tsa
from railweave_switch.host import CommandError, DatabaseError, SwitchHost
from railweave_switch.state import ENDED, Stage, State, TransactionKind, path, read_document, remove
from railweave_switch.state_forms import DamagedError
from railweave_switch.steps import MODE, OWN_FRR_FILE, StepError, frr_file, frr_lost, frr_text, run_command

SAVE_S = 600.0
RECORD_S = 30.0
"""How long the end of a transaction is tried to be written where the disk refuses."""
FRR_BACK_S, FRR_BACK_PAUSE_S = 60.0, 2.0
"""How long a daemon of FRR that went away is waited for: SONiC then starts its container anew."""
METADATA = "DEVICE_METADATA|localhost"
JOURNAL = "save.json"
FRR_FILES = ("frr", "zebra", "bgpd", "staticd", "mgmtd", "bfdd")
"""What FRR's daemons save, one file each, where SONiC does not let them share ours."""
_FRAME = ("Building configuration...", "Current configuration:", "end")
"""Lines of ``show running-config`` that are no configuration."""


def startup_files(host: SwitchHost) -> tuple[str, str]:
    """Return what the switch boots: the file of CONFIG_DB and that of FRR."""
    return f"{host.sonic_directory}/config_db.json", frr_file(host)


def startup_digests(host: SwitchHost) -> dict[str, str]:
    """Return the SHA-256 of each startup file, empty for one that is not there."""
    return {where: hashlib.sha256(_content(host, where)).hexdigest() for where in startup_files(host)}


def _content(host: SwitchHost, where: str) -> bytes:
    try:
        return host.read_file(where)
    except FileNotFoundError:
        return b""


def prepare(host: SwitchHost, state: State) -> dict[str, Any]:
    """Write down what is to boot when a transaction has ended; return why that failed, empty if it did not.

    Where it fails, what was written down for this transaction earlier is gone as well, unless it is being put in place.
    """
    failure = _failure(lambda: _prepare(host, state))
    if failure and not state.unsaved:
        with contextlib.suppress(OSError):
            remove(host, JOURNAL)
    return failure


def conclude(host: SwitchHost, state: State, stage: str, *, unsaved: bool, **changes: Any) -> dict[str, Any]:
    """End a transaction, and let the switch boot what was prepared; return why that failed, empty if it did not.

    Raises OSError where the state cannot be written.
    """
    vars(state).update(changes, status=stage, unsaved=unsaved, worker=host.me() if unsaved else None)
    _record(host, state)
    return _failure(lambda: finish(host, state))


def save(host: SwitchHost, state: State) -> dict[str, Any]:
    """Save what runs, before or after the end of the transaction; return why that failed, empty if it did not."""
    failure = prepare(host, state)
    if not failure:
        failure = _failure(lambda: state.write(host, unsaved=True)) or _failure(lambda: install(host, state))
    return failure


def save_alone(host: SwitchHost, state: State, frr_ignored: str) -> dict[str, Any]:
    """Save what runs where no transaction is open; return why that failed, empty if it did not.

    ``frr_ignored`` is the pattern of FRR's lines that are never compared (``frr.lines_of``).
    """
    more = {"alone": True, "boot_id": host.boot_id(), "frr_ignored": frr_ignored}
    return _failure(lambda: _prepare(host, state, **more)) or _failure(lambda: install(host, state))


def _failure(act: Callable[[], None]) -> dict[str, Any]:
    try:
        act()
    except StepError as error:
        quoted = {"command": error.command, "said": error.said}
        return {"error": f"it could not be saved: {error}", "refused": quoted}
    except (CommandError, DatabaseError, OSError, ValueError) as error:
        return {"error": f"it could not be saved: {error}"}
    return {}


def _record(host: SwitchHost, state: State) -> None:
    """Write the end of a transaction, trying for a while where the disk refuses: until then the state says the old."""
    ends_s = host.now_s() + RECORD_S
    while True:
        try:
            state.write(host)
            return
        except OSError:
            if host.now_s() >= ends_s:
                raise
            host.sleep(5.0)


def _prepare(host: SwitchHost, state: State, **more: Any) -> None:
    # CONFIG_DB's part unless only FRR was drained, FRR's part unless there is no FRR at all.
    config_db = None
    if more or state.kind != TransactionKind.DRAIN:
        where = path(host, "startup.json")
        try:
            run_command(host, ["config", "save", "-y", where], SAVE_S)
            config_db = host.read_file(where).decode()
        finally:
            host.remove_file(where)
        if not json.loads(config_db).get("DEVICE_METADATA"):
            raise StepError("config save", "it wrote no DEVICE_METADATA")
    text = _settled_frr(host)
    if text is None and (config_db is None or state.has_frr):
        raise StepError("vtysh", "FRR does not answer")
    own_file = host.rows("CONFIG_DB", METADATA).get(METADATA, {}).get(MODE) == OWN_FRR_FILE
    journal = {
        "id": state.id,
        "config_db": config_db,
        "frr": None if text is None else _file_of(text),
        "write_memory": not own_file and text is not None,
        **more,
    }
    host.write_file(path(host, JOURNAL), json.dumps(journal).encode())


def _settled_frr(host: SwitchHost) -> str | None:
    """Return FRR's text with the lines of every daemon that the startup file has lines of, None while FRR is silent;
    raises StepError where such a daemon stays away: a file without them would boot a switch without routing."""
    ends_s = host.now_s() + FRR_BACK_S
    while (text := frr_text(host)) is not None:
        away = frr_lost(host, text)
        if not away:
            return text
        if host.now_s() >= ends_s:
            raise StepError("FRR", ", ".join(away))
        host.sleep(FRR_BACK_PAUSE_S)
    return None


def _file_of(text: str) -> str:
    return without_tsa("\n".join(line for line in text.splitlines() if line not in _FRAME).strip("\n") + "\n")


def journal_of(host: SwitchHost, state: State) -> dict[str, Any] | None:
    """Return what was prepared for a transaction, or alone after it; None where nothing was or all is in place."""
    try:
        found = json.loads(host.read_file(path(host, JOURNAL)).decode())
    except (OSError, ValueError, RecursionError):
        return None
    valid = isinstance(found, dict) and all(known(found.get(name)) for name, known in _FORMS.items())
    return found if valid and found["id"] == state.id and (state.unsaved or found.get("alone")) else None


_FORMS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("config_db", "frr"), lambda value: value is None or isinstance(value, str)),
    **dict.fromkeys(("boot_id", "frr_ignored"), lambda value: value is None or isinstance(value, str)),
    "id": lambda value: isinstance(value, str),
    "write_memory": lambda value: isinstance(value, bool),
}


def replaced(host: SwitchHost, journal: dict[str, Any]) -> bool:
    """Tell whether the first of the startup files, CONFIG_DB's, is the prepared one already."""
    return journal["config_db"] is None or _content(host, startup_files(host)[0]) == journal["config_db"].encode()


def finish(host: SwitchHost, state: State) -> None:
    """Put the rollback document of an ended transaction in its place, and what was prepared into the startup files.

    It may be repeated. Raises StepError, OSError.
    """
    if state.status not in ENDED:
        return
    lasts = state.status == Stage.CONFIRMED and state.kind != TransactionKind.DRAIN
    if lasts:
        with contextlib.suppress(DamagedError):
            if read_document(host).id == state.id:
                host.rename_file(path(host, "pending.json"), path(host, f"{state.id}.rollback.json"))
    install(host, state)
    if state.unsaved:
        return
    unneeded = [JOURNAL, *([] if lasts else ["pending.json"])]
    wanted = {f"{one}.rollback.json" for one in state.kept}
    for name in host.list_directory():
        if name in unneeded or name.startswith("revert-") or (name.endswith(".rollback.json") and name not in wanted):
            remove(host, name)


def install(host: SwitchHost, state: State) -> None:
    """Replace the startup files by what was prepared, if it was; raises StepError, OSError."""
    journal = journal_of(host, state)
    if journal is None:
        return
    config_db, frr = startup_files(host)
    own_text = None if journal["write_memory"] else journal["frr"]
    for where, text in ((config_db, journal["config_db"]), (frr, own_text)):
        if text is not None and _content(host, where) != text.encode():
            host.write_file(where, text.encode())
    if journal["write_memory"]:
        _write_memory(host)
    if state.unsaved:
        state.write(host, unsaved=False, worker=None if state.status in ENDED else state.worker)
    if journal.get("alone"):
        remove(host, JOURNAL)


def _write_memory(host: SwitchHost) -> None:
    """Let FRR's daemons write their files: where one of them cannot, those of before stand again.

    After a power loss in the midst of it FRR is brought to what ran (``restart``), and this is done again.
    """
    places = [frr_file(host, f"{name}.conf") for name in FRR_FILES]
    before = {where: _content(host, where) for where in places}
    try:
        done = run_command(host, ["vtysh", "-c", "write memory"], SAVE_S)
        refused = [
            line for line in f"{done.err}\n{done.out}".splitlines() if line.startswith(("Can't ", "% ", "Error"))
        ]
        if refused:
            raise StepError("vtysh -c write memory", refused[0])
    except StepError:
        for where, content in before.items():
            if content and _content(host, where) != content:
                host.write_file(where, content)
            elif not content:
                host.remove_file(where)
        raise
