"""Save the running configuration; a power loss at any moment leaves both startup files old or both new.

SONiC's ``config save`` truncates ``config_db.json`` before it writes it, FRR's ``write memory`` moves ``frr.conf``
away, and neither is on the disk when the command ends (sonic-buildimage, issue 25640). So both texts are first written
to one file, the save journal, and then replace SONiC's files one by one. The next call finishes an interrupted save.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from railweave_switch.frr import without_tsa
from railweave_switch.host import CommandError, DatabaseError, Done, SwitchHost
from railweave_switch.state import ENDED, Stage, State, TransactionKind, path, read_document, remove
from railweave_switch.state_forms import DamagedError
from railweave_switch.steps import MODE, OWN_FRR_FILE, StepError, frr_file, frr_lost, frr_text, run_command

SAVE_S = 600.0
RECORD_S = 30.0
"""Time limit to write the end of a transaction while the disk refuses."""
FRR_BACK_S = 60.0
"""Time limit for a stopped daemon of FRR to return: SONiC restarts its container."""
FRR_BACK_PAUSE_S = 2.0
METADATA = "DEVICE_METADATA|localhost"
JOURNAL = "save.json"
FRR_FILES = ("frr", "zebra", "bgpd", "staticd", "mgmtd", "bfdd")
"""The files that ``write memory`` writes, one for each daemon, in routing modes other than split-unified."""
# Lines of ``show running-config`` that are not configuration.
_FRAME = ("Building configuration...", "Current configuration:", "end")


def startup_files(host: SwitchHost) -> tuple[str, str]:
    """Return the paths of the startup files, of CONFIG_DB and of FRR."""
    return f"{host.sonic_directory}/config_db.json", frr_file(host)


def startup_digests(host: SwitchHost) -> dict[str, str]:
    """Return the SHA-256 of each startup file; a missing file counts as empty."""
    return {file_path: hashlib.sha256(_content(host, file_path)).hexdigest() for file_path in startup_files(host)}


def _content(host: SwitchHost, file_path: str) -> bytes:
    try:
        return host.read_file(file_path)
    except FileNotFoundError:
        return b""


def prepare(host: SwitchHost, state: State) -> dict[str, Any]:
    """Write the save journal for the end of a transaction; return the failure, empty for success.

    After a failure an earlier journal of this transaction is removed, unless it is being installed.
    """
    failure = _failure(lambda: _prepare(host, state))
    if failure and not state.unsaved:
        with contextlib.suppress(OSError):
            remove(host, JOURNAL)
    return failure


def conclude(host: SwitchHost, state: State, stage: str, *, unsaved: bool, **changes: Any) -> dict[str, Any]:
    """End a transaction with the status ``stage`` and other ``changes`` of its state; install the prepared files.

    ``unsaved``: the startup files do not have the result yet. Returns the failure to install them, empty for success.
    Raises OSError if the state cannot be written.
    """
    worker = None
    if unsaved:
        worker = host.me()
    vars(state).update(changes, status=stage, unsaved=unsaved, worker=worker)
    _record(host, state)
    return _failure(lambda: finish(host, state))


def save(host: SwitchHost, state: State) -> dict[str, Any]:
    """Save the running configuration for a transaction, open or ended; return the failure, empty for success."""
    # A failure skips what follows.
    return (
        prepare(host, state)
        or _failure(lambda: state.write(host, unsaved=True))
        or _failure(lambda: install(host, state))
    )


def save_alone(host: SwitchHost, state: State, frr_ignored: str) -> dict[str, Any]:
    """Save the running configuration outside a transaction; return the failure, empty for success.

    ``frr_ignored`` is the pattern of FRR's lines that are never compared (``frr.lines_of``).
    """
    members = {"alone": True, "boot_id": host.boot_id(), "frr_ignored": frr_ignored}
    failure = _failure(lambda: _prepare(host, state, **members))
    if failure:
        return failure
    return _failure(lambda: install(host, state))


def _failure(act: Callable[[], None]) -> dict[str, Any]:
    """Carry out an action; return its failure as fields of an answer, empty for success."""
    try:
        act()
    except StepError as error:
        refused = {"command": error.command, "said": error.said}
        return {"error": f"it could not be saved: {error}", "refused": refused}
    except (CommandError, DatabaseError, OSError, ValueError) as error:
        return {"error": f"it could not be saved: {error}"}
    return {}


def _record(host: SwitchHost, state: State) -> None:
    """Write the end of a transaction, and try again for ``RECORD_S`` if that fails; raises OSError after that.

    Until it is written, the state file has the earlier status.
    """
    ends_s = host.now_s() + RECORD_S
    while True:
        try:
            state.write(host)
            return
        except OSError:
            if host.now_s() >= ends_s:
                raise
            host.sleep(5.0)


def _prepare(host: SwitchHost, state: State, **members: Any) -> None:
    """Write the save journal of a transaction, or with further ``members`` that of a save outside a transaction.

    Raises StepError if FRR cannot be saved, and the errors of the commands.
    """
    is_alone = bool(members)
    config_db = None
    # A drain changes FRR alone, so its journal has no CONFIG_DB.
    if is_alone or state.kind != TransactionKind.DRAIN:
        config_db = _startup_config_db(host)
    text = _settled_frr(host)
    # FRR may be silent only if the transaction began without it, and there is CONFIG_DB to save.
    if text is None and (config_db is None or state.has_frr):
        raise StepError("vtysh", "FRR does not answer")
    has_own_file = host.rows("CONFIG_DB", METADATA).get(METADATA, {}).get(MODE) == OWN_FRR_FILE
    journal: dict[str, Any] = {"id": state.id, "config_db": config_db, "frr": None, "write_memory": False, **members}
    if text is not None:
        journal["frr"] = _file_of(text)
        journal["write_memory"] = not has_own_file
    host.write_file(path(host, JOURNAL), json.dumps(journal).encode())


def _startup_config_db(host: SwitchHost) -> str:
    """Return the text of CONFIG_DB's startup file, as ``config save`` writes it; raises StepError."""
    file_path = path(host, "startup.json")
    try:
        run_command(host, ["config", "save", "-y", file_path], SAVE_S)
        text = host.read_file(file_path).decode()
    finally:
        host.remove_file(file_path)
    if not json.loads(text).get("DEVICE_METADATA"):
        raise StepError("config save", "it wrote no DEVICE_METADATA")
    return text


def _settled_frr(host: SwitchHost) -> str | None:
    """Return FRR's text once all daemons run that the startup file has lines of; None if FRR does not answer.

    Raises StepError if such a daemon stays away: a file without its lines would boot a switch without routing.
    """
    ends_s = host.now_s() + FRR_BACK_S
    while True:
        text = frr_text(host)
        if text is None:
            return None
        stopped = frr_lost(host, text)
        if not stopped:
            return text
        if host.now_s() >= ends_s:
            raise StepError("FRR", ", ".join(stopped))
        host.sleep(FRR_BACK_PAUSE_S)


def _file_of(text: str) -> str:
    """Return the text of FRR's startup file for a ``show running-config``."""
    lines = [line for line in text.splitlines() if line not in _FRAME]
    return without_tsa("\n".join(lines).strip("\n") + "\n")


def journal_of(host: SwitchHost, state: State) -> dict[str, Any] | None:
    """Return the save journal of the last transaction, or of a save after it.

    None if there is no such journal, it is damaged, or it is installed already.
    """
    try:
        journal = json.loads(host.read_file(path(host, JOURNAL)).decode())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(journal, dict) or not all(fits(journal.get(name)) for name, fits in _FORMS.items()):
        return None
    # The journal of a transaction counts until the state says that it is installed.
    if journal["id"] == state.id and (state.unsaved or journal.get("alone")):
        return journal
    return None


# The fields of the save journal, each with a function that tells whether a value fits.
_FORMS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("config_db", "frr"), lambda value: value is None or isinstance(value, str)),
    **dict.fromkeys(("boot_id", "frr_ignored"), lambda value: value is None or isinstance(value, str)),
    "id": lambda value: isinstance(value, str),
    "write_memory": lambda value: isinstance(value, bool),
}


def replaced(host: SwitchHost, journal: dict[str, Any]) -> bool:
    """Tell whether CONFIG_DB's startup file, which is replaced first, is that of the journal already.

    A journal without CONFIG_DB counts as replaced.
    """
    config_db: str | None = journal["config_db"]
    if config_db is None:
        return True
    config_db_file, _ = startup_files(host)
    return _content(host, config_db_file) == config_db.encode()


def finish(host: SwitchHost, state: State) -> None:
    """Finish an ended transaction: keep the rollback document of a commit, install the save journal, and clean up.

    It may be repeated. An open transaction is left as it is. Raises StepError, OSError.
    """
    if state.status not in ENDED:
        return
    is_commit = state.status == Stage.CONFIRMED and state.kind != TransactionKind.DRAIN
    if is_commit:
        _keep_document(host, state)
    install(host, state)
    if state.unsaved:
        return
    unneeded = {JOURNAL}
    if not is_commit:
        unneeded.add("pending.json")
    _remove_unneeded(host, state, unneeded)


def _keep_document(host: SwitchHost, state: State) -> None:
    """Move the pending rollback document to the place for that of a confirmed commit, unless it was moved already."""
    with contextlib.suppress(DamagedError):
        if read_document(host).id == state.id:
            host.rename_file(path(host, "pending.json"), path(host, f"{state.id}.rollback.json"))


def _remove_unneeded(host: SwitchHost, state: State, unneeded: set[str]) -> None:
    """Remove the files named ``unneeded``, those of a revert's steps, and the documents of commits no longer kept."""
    kept_documents = {f"{commit}.rollback.json" for commit in state.kept}
    for name in host.list_directory():
        is_old_document = name.endswith(".rollback.json") and name not in kept_documents
        if name in unneeded or name.startswith("revert-") or is_old_document:
            remove(host, name)


def install(host: SwitchHost, state: State) -> None:
    """Replace the startup files by those of the save journal, if there is one; raises StepError, OSError."""
    journal = journal_of(host, state)
    if journal is None:
        return
    config_db_file, frr_conf = startup_files(host)
    _replace(host, config_db_file, journal["config_db"])
    if journal["write_memory"]:
        _write_memory(host)
    else:
        _replace(host, frr_conf, journal["frr"])
    if state.unsaved:
        # The worker of an open transaction goes on.
        worker = state.worker
        if state.status in ENDED:
            worker = None
        state.write(host, unsaved=False, worker=worker)
    if journal.get("alone"):
        remove(host, JOURNAL)


def _replace(host: SwitchHost, file_path: str, text: str | None) -> None:
    """Replace a startup file unless it has this text already; None leaves the file as it is."""
    if text is not None and _content(host, file_path) != text.encode():
        host.write_file(file_path, text.encode())


def _write_memory(host: SwitchHost) -> None:
    """Let FRR's daemons write their files; if one of them fails, restore the earlier files.

    After a power loss meanwhile, ``restart`` restores FRR's running configuration, and this is repeated.
    """
    file_paths = [frr_file(host, f"{name}.conf") for name in FRR_FILES]
    before = {file_path: _content(host, file_path) for file_path in file_paths}
    try:
        done = run_command(host, ["vtysh", "-c", "write memory"], SAVE_S)
        _refuse_unwritten(done)
    except StepError:
        _restore_files(host, before)
        raise


def _refuse_unwritten(done: Done) -> None:
    """Raise StepError if the output of ``write memory`` has an error: vtysh ends with status 0 all the same."""
    for line in f"{done.err}\n{done.out}".splitlines():
        if line.startswith(("Can't ", "% ", "Error")):
            raise StepError("vtysh -c write memory", line)


def _restore_files(host: SwitchHost, contents: Mapping[str, bytes]) -> None:
    """Restore files by their paths; an empty content is a file that did not exist."""
    for file_path, content in contents.items():
        if not content:
            host.remove_file(file_path)
        elif _content(host, file_path) != content:
            host.write_file(file_path, content)
