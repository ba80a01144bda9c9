"""The verbs: each prints one line of JSON and exits with 0 (done), 1 (failed), 3 (refused) or 64 (wrong usage).

railweave-switch read|observe|probe|check|apply|amend|confirm|save|undrain|revert|hold|status|recover|install
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from railweave_switch import confirming, holding, recovery, reverting, transaction
from railweave_switch.all_counters import all_counters
from railweave_switch.answers import DEVICE_ERRORS, RequestRefusedError
from railweave_switch.guard import Guard
from railweave_switch.host import Hash, Process, SwitchHost
from railweave_switch.link_state import link_state
from railweave_switch.probing import probe
from railweave_switch.reading import UnreadableError, observations, read, towards
from railweave_switch.restart import settle_if_free
from railweave_switch.state import OPEN, Stage, path, write
from railweave_switch.state_forms import DamagedError, VersionError
from railweave_switch.status_report import report
from railweave_switch.validating import verdict

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_REFUSED = 3
# As EX_USAGE and EX_SOFTWARE of sysexits.h.
EXIT_USAGE = 64
EXIT_OTHER_PROGRAM = 70
PROGRAM = "/usr/local/bin/railweave-switch"
LONGEST_TRANSACTION = 64 * 1024 * 1024

GOOD = frozenset({"read", "applied", "confirmed", "saved", "armed", "reverted", "healthy", "accepted", "installed",
                  "status", "held", "released"})  # fmt: skip
"""Outcomes of verbs that succeeded."""


class ArgumentsError(Exception):
    """The arguments are not those of this program."""


class _ArgumentParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise ArgumentsError instead of leaving the process."""
        raise ArgumentsError(f"{self.format_usage().strip()}\n{message}")


@functools.cache
def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    program = _ArgumentParser(prog="railweave-switch", description="The switch's side of railweave's transactions.")
    verbs = program.add_subparsers(dest="verb", required=True, parser_class=_ArgumentParser)
    _add_reading_verbs(verbs)
    _add_transaction_verbs(verbs)
    _add_ending_verbs(verbs)
    hold = _add_verb(verbs, "hold", "announce a drain before the other switches are read")
    for name in ("--id", "--over", "--peers", "--by", "--message", "--session"):
        hold.add_argument(name, default="")
    hold.add_argument("--seconds", type=float, default=0.0, help="duration of the hold; 0 releases it")
    hold.add_argument("--lock-wait", dest="lock_wait_s", type=float, default=0.0)
    status = _add_verb(verbs, "status", "the last transaction; changes nothing")
    status.add_argument("--wait", default="", metavar="ID", help="wait until the work on this transaction has ended")
    status.add_argument("--seconds", type=float, default=600.0)
    install = _add_verb(verbs, "install", f"install this file as {PROGRAM}")
    install.add_argument("--sha256", required=True)
    return program


def _add_verb(verbs: Any, name: str, help_text: str) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(name, help=help_text)
    verb.add_argument("--expect", default="", help="SHA-256 of the client's version of this program")
    return verb


def _add_reading_verbs(verbs: Any) -> None:
    reading = _add_verb(
        verbs, "read", "configuration, unless the client has it, status and, with --observe, observations"
    )
    for name in ("--config", "--frr", "--rollback"):
        reading.add_argument(name, default="")
    reading.add_argument("--telemetry", action="store_true", help="add what monitoring reads to the answer")
    reading.add_argument("--observed", default="", help="with --telemetry: the digest of the client's observations")
    reading.add_argument("--queues", default="", help="with --telemetry: only these queues and groups, such as 3,4")
    _add_observation(reading)
    observing = _add_verb(verbs, "observe", "interfaces, addresses, LLDP and BGP, or the ports' counters")
    _add_observation(observing)
    observing.add_argument("--towards", default="", help="only the ports of the route to this IPv4 prefix")
    observing.add_argument(
        "--all-counters", dest="all_counters", action="store_true", help="only the counters of ports, queues and groups"
    )
    observing.add_argument(
        "--link-state", dest="link_state", action="store_true", help="only the flaps of ports and their modules"
    )
    _add_verb(verbs, "probe", "digests of ASIC objects, links, processes of daemons, and the available counters")


def _add_transaction_verbs(verbs: Any) -> None:
    for name, help_text in (
        ("apply", "apply a transaction"),
        ("amend", "apply further steps under an armed transaction"),
        ("check", "validate a configuration by the switch's YANG models without changing anything"),
    ):
        verb = _add_verb(verbs, name, f"{help_text}; input is JSON on standard input")
        _add_observation(verb)
        verb.add_argument("--length", type=int, required=True)
        verb.add_argument("--sha256", required=True)


def _add_ending_verbs(verbs: Any) -> None:
    confirm = _add_ending_verb(verbs, "confirm", "confirm the pending commit and save it")
    confirm.add_argument("--config", default="", help="only if CONFIG_DB has this digest")
    confirm.add_argument("--frr", default="", help="only if FRR's text has this digest")
    save = _add_ending_verb(verbs, "save", "save the running configuration")
    save.add_argument("--frr-ignored", default="", help="pattern of FRR lines that are never compared")
    undrain = _add_ending_verb(verbs, "undrain", "end the temporary drain of the pending commit")
    revert = _add_ending_verb(verbs, "revert", "restore the configuration before the pending transaction")
    revert.add_argument("--commit", default="", help="roll back this confirmed commit instead")
    revert.add_argument("--last", default=None, help="only if this is the last transaction")
    recover = _add_ending_verb(verbs, "recover", "repair a damaged state and end an interrupted transaction")
    recover.add_argument("--accept-running", dest="accept", action="store_true", help="keep the running configuration")
    for verb in (save, undrain, revert, recover):
        _add_observation(verb)


def _add_ending_verb(verbs: Any, name: str, help_text: str) -> argparse.ArgumentParser:
    verb = _add_verb(verbs, name, help_text)
    verb.add_argument("--session", default="")
    verb.add_argument("--lock-wait", dest="lock_wait_s", type=float, default=0.0)
    verb.add_argument("--id", default="", help="confirm, undrain, revert: only this transaction")
    return verb


def _add_observation(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--observe", action="store_true", help="add interfaces, addresses, LLDP and BGP to the answer")
    verb.add_argument("--counters", action="store_true", help="add the ports' counters to the answer")
    verb.add_argument("--over", dest="over_s", type=float, default=0.0, help="read counters again after these seconds")


# A simulator of many switches gets the same calls for each of them.
@functools.lru_cache(maxsize=64)
def _parsed(words: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the parsed arguments; raises ArgumentsError."""
    return MappingProxyType(vars(parser().parse_args(words)))


def run(host: SwitchHost, words: Sequence[str], stdin: Callable[[], bytes]) -> tuple[int, str]:
    """Process one call; return the exit status and the text to print."""
    try:
        request = _parsed(tuple(words))
    except ArgumentsError as error:
        return EXIT_USAGE, f"{error}\n"
    if request["expect"] and request["verb"] != "install":
        own_sha256 = hashlib.sha256(host.program()).hexdigest()
        if own_sha256 != request["expect"]:
            answer = {"outcome": "other program", "program": own_sha256, "status": report(host)}
            return EXIT_OTHER_PROGRAM, line(answer)
    answer = answered(host, lambda: _carried_out(host, request, stdin))
    return _exit_status(answer), line(answer)


def _exit_status(answer: Mapping[str, Any]) -> int:
    if answer.get("outcome") == "refused":
        return EXIT_REFUSED
    if answer.get("outcome") in GOOD and not answer.get("error"):
        return EXIT_OK
    return EXIT_FAILED


def line(answer: Mapping[str, Any]) -> str:
    """Return the printed form of an answer."""
    return json.dumps({"version": 1, **answer}, separators=(",", ":")) + "\n"


def answered(host: SwitchHost, act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the answer of ``act``, or the answer that describes its error."""
    try:
        return act()
    except RequestRefusedError as error:
        refused: dict[str, Any] = {
            "outcome": "refused",
            "code": error.code,
            "error": str(error),
            "status": report(host),
        }
        if error.rejected:
            refused["rejected"] = error.rejected
        return refused
    except (DamagedError, VersionError) as error:
        message = f"{error}: `railweave-switch recover` repairs it"
        return {"outcome": "refused", "code": "damaged", "error": message, "status": report(host)}
    except (UnreadableError, *DEVICE_ERRORS) as error:
        return {"outcome": "failed", "error": str(error) or repr(error), "status": report(host)}


def _carried_out(host: SwitchHost, request: Mapping[str, Any], stdin: Callable[[], bytes]) -> dict[str, Any]:
    """Carry out the verb of a request and return its answer.

    ``stdin`` returns the bytes of standard input; only verbs with input call it. Raises the errors that ``answered``
    describes.
    """
    verb = request["verb"]
    if verb in WORK:
        return _work_and_observe(host, request, stdin)
    if verb in AT_ONCE:
        return AT_ONCE[verb](host, request)
    if verb == "observe":
        return {"outcome": "read", "status": report(host), **_observed(host, request)}
    if verb == "probe":
        return {"outcome": "read", "status": report(host), "probe": probe(host)}
    if verb == "check":
        text = received(stdin(), request)
        return _validate(host, _candidate(text))
    settle_if_free(host)
    return read(host, request) if verb == "read" else status(host, request)


def _work_and_observe(host: SwitchHost, request: Mapping[str, Any], stdin: Callable[[], bytes]) -> dict[str, Any]:
    """Carry out a verb of ``WORK``; return its answer, with the requested observations if it succeeded."""
    verb = request["verb"]
    work_request = {name: value for name, value in request.items() if name != "expect"}
    if verb in ("apply", "amend"):
        work_request = {"verb": verb, **transaction.loaded(received(stdin(), request))}
    answer = host.work(work_request)
    if answer.get("outcome") in GOOD:
        # The change has succeeded even if observations cannot be read.
        with contextlib.suppress(UnreadableError, *DEVICE_ERRORS):
            answer = {**answer, **observations(host, request)}
    return answer


def _observed(host: SwitchHost, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the observations that ``observe`` selects; without any option those of interfaces and sessions."""
    if request["towards"]:
        return {"towards": towards(host, request["towards"])}
    if request["all_counters"]:
        return {"all_counters": all_counters(host)}
    if request["link_state"]:
        return {"link_state": link_state(host)}
    if request["counters"]:
        return observations(host, request)
    return observations(host, {**request, "observe": True})


def _candidate(text: str) -> dict[str, Any]:
    """Return the configuration to validate from its JSON text.

    It has one member: ``config_db`` with the tables of a reload, or ``changes`` with the rows that a change writes.
    Raises RequestRefusedError if the text has another form.
    """
    try:
        candidate = json.loads(text)
    except ValueError as error:
        raise RequestRefusedError(f"the configuration is not JSON: {error}") from error
    has_one_form = isinstance(candidate, dict) and candidate.keys() in ({"config_db"}, {"changes"})
    if not has_one_form:
        raise RequestRefusedError("the configuration is neither a CONFIG_DB nor a change of one")
    (tables,) = candidate.values()
    if not isinstance(tables, dict) or not all(isinstance(rows, dict) for rows in tables.values()):
        raise RequestRefusedError("the configuration is not a CONFIG_DB")
    checked_candidate: dict[str, Any] = candidate
    return checked_candidate


def _validate(host: SwitchHost, candidate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to ``check``: the rejected rows, and the ``fault`` if the models cannot be used."""
    rows: Mapping[str, Hash] = {}
    if "changes" in candidate:
        # Changes are validated together with the running rows, a whole configuration by itself.
        rows = host.rows("CONFIG_DB")
    rejected, fault = verdict(host, candidate, rows)
    return {"outcome": "read", "rejected": rejected, "fault": fault}


def received(data: bytes, request: Mapping[str, Any]) -> str:
    """Return the text of the received input; raises RequestRefusedError if it was truncated or changed in transit."""
    if len(data) != request["length"]:
        raise RequestRefusedError(
            f"the transaction arrived truncated: {len(data)} of {request['length']} bytes; nothing was done"
        )
    if hashlib.sha256(data).hexdigest() != request["sha256"]:
        raise RequestRefusedError(
            "the transaction arrived changed: its SHA-256 is not the announced one; nothing was done"
        )
    return data.decode("utf-8", "replace")


WORK: dict[str, Callable[[SwitchHost, Mapping[str, Any]], dict[str, Any]]] = {
    "apply": transaction.apply,
    "amend": transaction.amend,
    "confirm": confirming.confirm,
    "save": confirming.save,
    "undrain": confirming.undrain,
    "revert": reverting.revert,
    "recover": recovery.recover,
}
"""The verbs whose work continues when the session ends."""


def work(host: SwitchHost, request: Mapping[str, Any]) -> dict[str, Any]:
    """Process a verb of ``WORK``, and store the answer for a client whose session was lost.

    Until then ``answer.json`` names this process, so that ``status --wait`` can tell whether it still works.
    """
    with contextlib.suppress(OSError):
        host.make_directory()
        host.remove_file(path(host, "answer.json"))
        write(host, "answer.json", {"id": request.get("id"), "worker": host.me()})
    answer = answered(host, lambda: WORK[request["verb"]](host, request))
    with contextlib.suppress(OSError):
        if request.get("id"):
            host.make_directory()
            write(host, "answer.json", {"id": request["id"], "answer": answer})
    return answer


# How long a process may take to record that it carries out a transaction.
BEGINS_S = 5.0
# Pause between two readings of the state while a client waits.
STATUS_PAUSE_S = 0.2


def status(host: SwitchHost, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the status of the last transaction.

    If ``wait`` names a transaction, the call returns once the work on it has ended, or after ``seconds``. The answer
    then includes the stored answer to the last request about that transaction.
    """
    awaited = request.get("wait") or ""
    if not awaited:
        return {"outcome": "status", "status": report(host)}
    return _status_after(host, awaited, host.now_s() + float(request.get("seconds") or 0.0))


def _status_after(host: SwitchHost, awaited: str, ends_s: float) -> dict[str, Any]:
    """Return the status once the work on the transaction ``awaited`` has ended, or at ``ends_s`` (since the boot).

    If the last request about this transaction was answered, the stored answer is included.
    """
    # Since when no process works on the transaction, None while one does.
    idle_since_s: float | None = None
    while True:
        current = report(host)
        worker, answer = _stored_answer(host, awaited)
        is_worked_on = current["status"] in (Stage.APPLYING, Stage.REVERTING) or host.alive(worker)
        if is_worked_on:
            idle_since_s = None
        elif idle_since_s is None:
            idle_since_s = host.now_s()
        if _has_ended(host, idle_since_s, answer) or host.now_s() >= ends_s:
            break
        host.sleep(STATUS_PAUSE_S)
    if answer is None:
        return {"outcome": "status", "status": current}
    return {"outcome": "status", "status": current, "answer": answer}


def _has_ended(host: SwitchHost, idle_since_s: float | None, answer: Any) -> bool:
    """Tell whether no process will continue a transaction; ``idle_since_s`` is None while a process works on it."""
    if idle_since_s is None:
        return False
    # Without an answer a process may have started, but not have recorded itself yet.
    return answer is not None or host.now_s() >= idle_since_s + BEGINS_S


def _stored_answer(host: SwitchHost, transaction_id: str) -> tuple[Process | None, Any]:
    """Return the process that works on the last request about a transaction, and the answer to that request.

    Either is None if it is not stored.
    """
    try:
        stored = json.loads(host.read_file(path(host, "answer.json")).decode())
    except (OSError, ValueError, RecursionError):
        return None, None
    if not isinstance(stored, dict) or stored.get("id") != transaction_id:
        return None, None
    return _object_of(stored, "worker"), _object_of(stored, "answer")


def _object_of(document: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Return a member of a JSON document if it is an object, None otherwise."""
    value = document.get(name)
    if isinstance(value, dict):
        return value
    return None


def install(host: SwitchHost, request: Mapping[str, Any]) -> dict[str, Any]:
    """Install this program at ``PROGRAM``.

    Raises RequestRefusedError if the program was damaged in transit, or if another version has something pending.
    """
    program = host.program()
    if hashlib.sha256(program).hexdigest() != request["sha256"]:
        raise RequestRefusedError("the program arrived truncated or changed; nothing was installed")
    current = report(host)
    try:
        installed_sha256 = hashlib.sha256(host.read_file(PROGRAM)).hexdigest()
    except FileNotFoundError:
        installed_sha256 = ""
    is_other_version = installed_sha256 not in ("", request["sha256"])
    if is_other_version and current["status"] in {*OPEN, Stage.EXPIRED, Stage.DAMAGED}:
        raise RequestRefusedError(
            f"another version of railweave-switch is on the switch and has something pending: {current['status']} "
            f"({current['error'] or current['id']}); end that with it first (`railweave-switch revert`)",
            "pending",
        )
    host.make_directory()
    host.write_file(PROGRAM, program, 0o755)
    # Compiled modules only make it faster.
    with contextlib.suppress(OSError):
        host.keep_compiled(program)
    return {"outcome": "installed", "program": request["sha256"], "status": current}


AT_ONCE: dict[str, Callable[[SwitchHost, Mapping[str, Any]], dict[str, Any]]] = {
    "install": install,
    "hold": holding.hold,
}
"""The verbs that write only one file, so that they need no process that survives the session."""


def stand_guard(guard: Guard) -> None:
    """Poll until the guard's work is done."""
    pause_s = guard.poll()
    while pause_s is not None:
        guard.host.sleep(pause_s)
        pause_s = guard.poll()
