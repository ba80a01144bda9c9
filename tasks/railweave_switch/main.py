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
from railweave_switch.answers import DEVICE_ERRORS, RequestRefusedError
from railweave_switch.guard import Guard
from railweave_switch.host import Process, SwitchHost
from railweave_switch.probing import probe
from railweave_switch.reading import UnreadableError, looked, read, towards
from railweave_switch.restart import settle_if_free
from railweave_switch.state import OPEN, Stage, path, report, write
from railweave_switch.state_forms import DamagedError, VersionError
from railweave_switch.validating import verdict

EXIT_OK, EXIT_FAILED, EXIT_REFUSED, EXIT_USAGE, EXIT_OTHER_PROGRAM = 0, 1, 3, 64, 70
PROGRAM = "/usr/local/bin/railweave-switch"
LONGEST_TRANSACTION = 64 * 1024 * 1024

GOOD = frozenset({"read", "applied", "confirmed", "saved", "armed", "reverted", "healthy", "accepted", "installed",
                  "status", "held", "released"})  # fmt: skip
"""Outcomes that a verb may end with when it did what it was asked to."""


class ArgumentsError(Exception):
    """The words are not those of this program."""


class _ArgumentParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raise ArgumentsError in the place of leaving the process."""
        raise ArgumentsError(f"{self.format_usage().strip()}\n{message}")


@functools.cache
def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    whole = _ArgumentParser(prog="railweave-switch", description="The switch's side of railweave's transactions.")
    verbs = whole.add_subparsers(dest="verb", required=True, parser_class=_ArgumentParser)

    def verb(name: str, help_text: str) -> argparse.ArgumentParser:
        one: argparse.ArgumentParser = verbs.add_parser(name, help=help_text)
        one.add_argument("--expect", default="", help="SHA-256 of the program that the client brings")
        return one

    reading = verb("read", "configuration by digest, status, and with --observe what is seen")
    for name in ("--config", "--frr", "--rollback"):
        reading.add_argument(name, default="")
    _add_look(reading)
    observing = verb("observe", "interfaces, addresses, LLDP and BGP, or the ports' counters")
    _add_look(observing)
    observing.add_argument("--towards", default="", help="nothing but the ports in use towards this IPv4 prefix")
    verb("probe", "objects of the ASIC by digest, links, processes of daemons, and which counters there are")
    for name, help_text in (
        ("apply", "carry out a transaction"),
        ("amend", "further steps under an armed one"),
        ("check", "what the switch's YANG models would refuse; changes nothing"),
    ):
        one = verb(name, f"{help_text}, read as JSON from standard input")
        _add_look(one)
        one.add_argument("--length", type=int, required=True)
        one.add_argument("--sha256", required=True)
    for name, help_text in (
        ("confirm", "keep the pending commit and save it"),
        ("save", "let the switch boot what it runs"),
        ("undrain", "end the temporary drain of the pending commit"),
        ("revert", "restore what was there before the pending transaction"),
        ("recover", "repair a damaged state, and end what nobody continues"),
    ):
        one = verb(name, help_text)
        one.add_argument("--session", default="")
        one.add_argument("--lock-wait", dest="lock_wait_s", type=float, default=0.0)
        one.add_argument("--id", default="", help="confirm, undrain, revert: only this transaction")
        if name == "save":
            one.add_argument("--frr-ignored", default="", help="pattern of FRR's lines that are never compared")
        if name == "revert":
            one.add_argument("--commit", default="", help="roll back this confirmed commit instead")
            one.add_argument("--last", default=None, help="only while this is the last transaction")
        if name == "recover":
            one.add_argument("--accept-running", dest="accept", action="store_true", help="keep what runs as it is")
        if name == "confirm":
            one.add_argument("--config", default="", help="only while CONFIG_DB has this digest")
            one.add_argument("--frr", default="", help="only while FRR's text has this digest")
        else:
            _add_look(one)
    hold = verb("hold", "say that a drain is about to begin, before the others are read")
    for name in ("--id", "--over", "--peers", "--by", "--message", "--session"):
        hold.add_argument(name, default="")
    hold.add_argument("--seconds", type=float, default=0.0, help="for so long; 0 gives it up")
    hold.add_argument("--lock-wait", dest="lock_wait_s", type=float, default=0.0)
    status = verb("status", "the last transaction; changes nothing")
    status.add_argument("--wait", default="", metavar="ID", help="wait until this transaction has ended its work")
    status.add_argument("--seconds", type=float, default=600.0)
    verb("install", "put this file where it is called").add_argument("--sha256", required=True)
    return whole


def _add_look(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--observe", action="store_true", help="answer with interfaces, addresses, LLDP and BGP")
    verb.add_argument("--counters", action="store_true", help="answer with the ports' counters")
    verb.add_argument("--over", dest="over_s", type=float, default=0.0, help="and again after so many seconds")


@functools.lru_cache(maxsize=64)
def _asked(words: tuple[str, ...]) -> Mapping[str, Any]:
    """Return what the words ask for; a simulator is asked the same of many switches. Raises ArgumentsError."""
    return MappingProxyType(vars(parser().parse_args(words)))


def run(host: SwitchHost, words: Sequence[str], stdin: Callable[[], bytes]) -> tuple[int, str]:
    """Carry out one call; return the exit status and what to print."""
    try:
        asked = _asked(tuple(words))
    except ArgumentsError as error:
        return EXIT_USAGE, f"{error}\n"
    if asked["expect"] and asked["verb"] != "install":
        here = hashlib.sha256(host.program()).hexdigest()
        if here != asked["expect"]:
            return EXIT_OTHER_PROGRAM, line({"outcome": "other program", "program": here, "status": report(host)})
    answer = answered(host, lambda: _carried_out(host, asked, stdin))
    outcome = answer.get("outcome")
    failed = EXIT_REFUSED if outcome == "refused" else EXIT_FAILED
    return EXIT_OK if outcome in GOOD and not answer.get("error") else failed, line(answer)


def line(answer: Mapping[str, Any]) -> str:
    """Return an answer as it is printed."""
    return json.dumps({"version": 1, **answer}, separators=(",", ":")) + "\n"


def answered(host: SwitchHost, act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the answer of ``act``, whatever goes wrong."""
    try:
        return act()
    except RequestRefusedError as error:
        refused = {"outcome": "refused", "code": error.code, "error": str(error), "status": report(host)}
        return {**refused, "rejected": error.rejected} if error.rejected else refused
    except (DamagedError, VersionError) as error:
        text = f"{error}: `railweave-switch recover` repairs it"
        return {"outcome": "refused", "code": "damaged", "error": text, "status": report(host)}
    except (UnreadableError, *DEVICE_ERRORS) as error:
        return {"outcome": "failed", "error": str(error) or repr(error), "status": report(host)}


def _carried_out(host: SwitchHost, asked: Mapping[str, Any], stdin: Callable[[], bytes]) -> dict[str, Any]:
    verb = asked["verb"]
    if verb in WORK:
        request = {name: value for name, value in asked.items() if name != "expect"}
        if verb in ("apply", "amend"):
            request = {"verb": verb, **transaction.loaded(received(stdin(), asked))}
        answer = host.work(request)
        return {**answer, **_seen_after(host, asked)} if answer.get("outcome") in GOOD else answer
    if verb in AT_ONCE:
        return AT_ONCE[verb](host, asked)
    if verb == "observe":
        return {"outcome": "read", "status": report(host), **_observed(host, asked)}
    if verb == "probe":
        return {"outcome": "read", "status": report(host), "probe": probe(host)}
    if verb == "check":
        candidate = _checked(received(stdin(), asked))
        rejected, fault = verdict(host, candidate, host.rows("CONFIG_DB") if "changes" in candidate else {})
        return {"outcome": "read", "rejected": rejected, "fault": fault}
    settle_if_free(host)
    return read(host, asked) if verb == "read" else status(host, asked)


def _observed(host: SwitchHost, asked: Mapping[str, Any]) -> dict[str, Any]:
    if asked["towards"]:
        return {"towards": towards(host, asked["towards"])}
    return looked(host, asked if asked["counters"] else {**asked, "observe": True})


def _checked(text: str) -> dict[str, Any]:
    """Return what is to be checked: ``config_db``, the tables of a reload, or ``changes``, rows that are written."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise RequestRefusedError(f"the configuration is not JSON: {error}") from error
    if not isinstance(found, dict) or len(found) != 1 or not {"config_db", "changes"}.issuperset(found):
        raise RequestRefusedError("the configuration is no CONFIG_DB and no change of one")
    (tables,) = found.values()
    if not isinstance(tables, dict) or not all(isinstance(rows, dict) for rows in tables.values()):
        raise RequestRefusedError("the configuration is no CONFIG_DB")
    return found


def _seen_after(host: SwitchHost, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the look that was asked for after a change; what cannot be seen is no failure of the change."""
    with contextlib.suppress(UnreadableError, *DEVICE_ERRORS):
        return looked(host, asked)
    return {}


def received(data: bytes, asked: Mapping[str, Any]) -> str:
    """Return the transaction that arrived; refuse one that was cut on its way."""
    if len(data) != asked["length"]:
        raise RequestRefusedError(
            f"the transaction arrived cut: {len(data)} of {asked['length']} bytes; nothing was done"
        )
    if hashlib.sha256(data).hexdigest() != asked["sha256"]:
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
"""The verbs that go on when the session ends."""


def work(host: SwitchHost, request: Mapping[str, Any]) -> dict[str, Any]:
    """Do what survives the session, and keep the answer for a session that comes back."""
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


BEGINS_S = 5.0
"""How long a process may take to say that it is at work on a transaction."""


def status(host: SwitchHost, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the last transaction; with ``wait`` once that one has ended its work, with its answer."""
    wanted = asked.get("wait") or ""
    ends_s = host.now_s() + float(asked.get("seconds") or 0.0)
    idle_s: float | None = None
    while True:
        found = report(host)
        worker, answer = _kept_answer(host, wanted) if wanted else (None, None)
        if found["status"] in (Stage.APPLYING, Stage.REVERTING) or host.alive(worker):
            idle_s = None
        elif idle_s is None:
            idle_s = host.now_s()
        waited = idle_s is not None and (answer is not None or host.now_s() >= idle_s + BEGINS_S)
        if not wanted or waited or host.now_s() >= ends_s:
            return {"outcome": "status", "status": found, **({} if answer is None else {"answer": answer})}
        host.sleep(0.2)


def _kept_answer(host: SwitchHost, name: str) -> tuple[Process | None, Any]:
    """Return the process at work on a request to a transaction and its answer, each None where there is none."""
    try:
        kept = json.loads(host.read_file(path(host, "answer.json")).decode())
    except (OSError, ValueError, RecursionError):
        return None, None
    if not isinstance(kept, dict) or kept.get("id") != name:
        return None, None
    worker, answer = kept.get("worker"), kept.get("answer")
    return worker if isinstance(worker, dict) else None, answer if isinstance(answer, dict) else None


def install(host: SwitchHost, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Put this program where it is called, unless another version of it has something pending."""
    data = host.program()
    if hashlib.sha256(data).hexdigest() != asked["sha256"]:
        raise RequestRefusedError("the program arrived cut or changed; nothing was installed")
    found = report(host)
    try:
        old = hashlib.sha256(host.read_file(PROGRAM)).hexdigest()
    except FileNotFoundError:
        old = ""
    busy = found["status"] in {*OPEN, Stage.EXPIRED, Stage.DAMAGED}
    if busy and old and old != asked["sha256"]:
        raise RequestRefusedError(
            f"another version of railweave-switch is on the switch and has something pending: {found['status']} "
            f"({found['error'] or found['id']}); end that with it first (`railweave-switch revert`)",
            "pending",
        )
    host.make_directory()
    host.write_file(PROGRAM, data, 0o755)
    with contextlib.suppress(OSError):  # it runs without
        host.keep_compiled(data)
    return {"outcome": "installed", "program": asked["sha256"], "status": found}


AT_ONCE: dict[str, Callable[[SwitchHost, Mapping[str, Any]], dict[str, Any]]] = {
    "install": install,
    "hold": holding.hold,
}
"""The verbs that write one file."""


def stand_guard(one: Guard) -> None:
    """Look until there is nothing left to do."""
    while (pause_s := one.poll()) is not None:
        one.host.sleep(pause_s)
