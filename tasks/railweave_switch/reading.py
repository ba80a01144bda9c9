"""Readings for a client: digests, the configurations that it does not have, and observations."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from railweave_switch.daemons import applied_and_unseen
from railweave_switch.host import CommandError, DatabaseError, Hash, SwitchHost
from railweave_switch.rows import digest, tables_of
from railweave_switch.sessions import TIMERS
from railweave_switch.state import path, read_document
from railweave_switch.state_forms import DamagedError
from railweave_switch.status_report import report
from railweave_switch.steps import READ_S, frr_lost, frr_text
from railweave_switch.telemetry import telemetry

ADDRESSES = ("ip", "-j", "addr", "show")
BGP = ("vtysh", "-c", "show bgp vrf all neighbors json")
BFD = ("vtysh", "-c", "show bfd peers json")
PORTS = "PORT_TABLE:*"
LLDP = "LLDP_ENTRY_TABLE:*"
PORT_NAMES = "COUNTERS_PORT_NAME_MAP"
POLLED_PORTS = "FLEX_COUNTER_TABLE|PORT"
POLL_MS = 1000
COUNTERS = "COUNTERS:oid:0x1????????????"
"""The counters of ports: bits 48 and up of an object id are its type, and 1 is a port."""

_LINK = ("ifname", "flags", "mtu", "address", "ifalias", "addr_info")
_ADDRESS = ("family", "local", "prefixlen")
_PEER = ("localAs", "remoteAs", "remoteRouterId", "localRouterId", "bgpState", "adminShutDown", "nbrDesc",
         "bgpTimerUpMsec", "peerBfdInfo", *TIMERS)  # fmt: skip
_BFD_PEER = ("peer", "interface", "vrf", "status", "receive-interval", "transmit-interval", "detect-multiplier",
             "remote-receive-interval", "remote-transmit-interval", "remote-detect-multiplier")  # fmt: skip
# Without lldp_rem_time_mark, which changes with every message.
_NEIGHBOR = ("lldp_rem_chassis_id", "lldp_rem_port_id", "lldp_rem_port_desc", "lldp_rem_sys_name", "lldp_rem_sys_desc",
             "lldp_rem_sys_cap_supported", "lldp_rem_sys_cap_enabled")  # fmt: skip
_FAMILY = ("acceptedPrefixCounter", "sentPrefixCounter")
_COUNTED = "SAI_PORT_STAT_IF_"
_PREFIX = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}")
_JSON_START = re.compile(r"[{\[]")
_IMAGE = re.compile(r"^(release|branch|build_version): *'?([^'\n]*)'?$", re.MULTILINE)


T = TypeVar("T")


class UnreadableError(Exception):
    """A part of the switch does not answer; the message names it."""


def read(host: SwitchHost, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the status, the digests of CONFIG_DB and of FRR's text, and the contents that the client does not have.

    ``config`` and ``frr`` of the request are the digests of what the client has. ``rollback`` names a commit, for which
    ``_undo`` adds its part; for observations see ``observations``. ``telemetry`` adds what monitoring reads;
    observations then have a digest too, by which the client can skip them. Raises UnreadableError.
    """
    answer: dict[str, Any] = {"outcome": "read", "status": report(host), "digest_key": digest_key(host)}
    rows = _rows(host)
    answer["config"] = _config(rows, request.get("config") or "")
    common = _common(host, rows)
    answer["frr"] = _frr(host, request.get("frr") or "")
    answer.update(common)
    if request.get("rollback"):
        answer.update(_undo(host, str(request["rollback"])))
    answer.update(observations(host, request, common))
    if request.get("telemetry"):
        answer["telemetry"] = _telemetry(host, request.get("queues") or "")
        if request.get("observe"):
            answer["observed"] = _unless_known(answer["observed"], request.get("observed") or "")
    return answer


def _unless_known(shown: Mapping[str, Any], client_digest: str) -> dict[str, Any]:
    """Return observations with their digest; the digest alone if the client has the same observations already.

    The ages of sessions are removed from ``shown``: with them the digest would differ at every reading.
    """
    for instance in (shown["bgp"] or {}).values():
        for peer in instance.values():
            # Beside its neighbors an instance has values of its own.
            if isinstance(peer, dict):
                peer.pop("bgpTimerUpMsec", None)
    current = digest(shown)
    if current == client_digest:
        return {"digest": current}
    return {**shown, "digest": current}


def _telemetry(host: SwitchHost, queues: str) -> dict[str, Any]:
    """Return what monitoring reads (``telemetry``), or the ``error``; ``queues`` are numbers such as ``3,4``."""
    # Without a queue split() leaves one empty text.
    numbers = frozenset(number for number in queues.split(",") if number)
    try:
        return telemetry(host, numbers)
    except (DatabaseError, OSError) as error:
        return {"error": str(error)}


def observations(
    host: SwitchHost, request: Mapping[str, Any], common: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the observations that a request asks for; raises UnreadableError.

    ``observe`` asks for interfaces, neighbors and sessions, ``counters`` for the ports' counters. With ``over_s`` the
    counters are read twice, that many seconds apart. ``common`` is the result of `_common` if the caller has it: on a
    real switch it takes thousands of rows, which are read once a call.
    """
    answer: dict[str, Any] = {}
    over_s = float(request.get("over_s") or 0)
    if request.get("counters"):
        answer["counters"] = [_sample(host, over_s)]
    if request.get("observe"):
        answer["observed"] = observed(host, common)
    if request.get("counters") and over_s:
        second_at_s = answer["counters"][0]["at_s"] + over_s
        host.sleep(max(0.0, second_at_s - host.now_s()))
        answer["counters"].append(_sample(host, over_s))
    return answer


def _sample(host: SwitchHost, over_s: float) -> dict[str, Any]:
    """Return the time in seconds since the boot and the counters by port.

    There are no counters if they would not change within ``over_s`` seconds; 0 if they are read only once.
    """
    ports: dict[str, dict[str, str]] = {}
    # Counters that are not polled within the time would look as if no packet had passed.
    if not over_s or _are_renewed(host, over_s):
        ports = counted(host)
    return {"at_s": host.now_s(), "ports": ports}


def _are_renewed(host: SwitchHost, over_s: float) -> bool:
    """Tell whether the ports' counters are polled within a time (sonic-utilities counterpoll/main.py).

    Without a row polling has not started, and COUNTERS_DB has no counters; without an interval it is one second.
    """
    group = _rows(host, POLLED_PORTS).get(POLLED_PORTS, {})
    interval_ms = group.get("POLL_INTERVAL", "")
    is_late = interval_ms.isdigit() and int(interval_ms) > max(POLL_MS, over_s * 1000)
    return group.get("FLEX_COUNTER_STATUS") != "disable" and not is_late


def _rows(host: SwitchHost, pattern: str = "*") -> Mapping[str, Hash]:
    try:
        return host.rows("CONFIG_DB", pattern)
    except (DatabaseError, OSError) as error:
        raise UnreadableError(f"CONFIG_DB cannot be read: {error}") from error


def _config(rows: Mapping[str, Hash], client_digest: str) -> dict[str, Any]:
    """Return the digest of CONFIG_DB, and its tables unless the client has the same already."""
    current = digest(rows)
    if current == client_digest:
        return {"digest": current}
    return {"digest": current, "tables": tables_of(rows)}


def _frr(host: SwitchHost, client_digest: str) -> dict[str, Any]:
    """Return the digest of FRR's text, and the text unless the client has the same already.

    If FRR, or a daemon of the startup file's lines, does not answer, the digest is empty and the text None.
    """
    text = frr_text(host)
    if text is None or frr_lost(host, text):
        return {"digest": "", "text": None}
    current = hashlib.sha256(text.encode()).hexdigest()
    if current == client_digest:
        return {"digest": current}
    return {"digest": current, "text": text}


def _undo(host: SwitchHost, commit: str) -> dict[str, Any]:
    """Return the merge document that undoes a commit (``undo``) and the generation before it (``earlier``).

    ``undo`` is None if the switch has no rollback document of the commit. Raises UnreadableError if it is damaged.
    """
    if f"{commit}.rollback.json" not in host.list_directory():
        return {"undo": None}
    try:
        document = read_document(host, f"{commit}.rollback.json")
        return {"undo": document.undo, "earlier": document.earlier}
    except DamagedError as error:
        raise UnreadableError(str(error)) from error


def observed(host: SwitchHost, common: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return links with addresses, ports, LLDP neighbors, BGP sessions (None if bgpd does not answer), and ``common``.

    ``common`` is the result of ``_common`` if the caller has it. Raises UnreadableError.
    """
    links = _read_json(host, ADDRESSES, _links)
    try:
        ports = host.rows("APPL_DB", PORTS)
        lldp = host.rows("APPL_DB", LLDP)
    except (DatabaseError, OSError) as error:
        raise UnreadableError(f"APPL_DB cannot be read: {error}") from error
    return {
        "links": links,
        "ports": {key.partition(":")[2]: dict(row) for key, row in ports.items()},
        "lldp": {key.partition(":")[2]: _selected(row, _NEIGHBOR) for key, row in lldp.items()},
        **_sessions(host),
        **(common or _common(host)),
    }


def _common(host: SwitchHost, rows: Mapping[str, Hash] | None = None) -> dict[str, Any]:
    """Return the part that configurations and observations have in common.

    It has the values of daemons that differ from CONFIG_DB (``unapplied``, None while they are unknown, as during a
    reload), the fields that no port reports (``unseen``), and the release of the image. ``rows`` are those of CONFIG_DB
    if the caller has read them.
    """
    try:
        if rows is None:
            rows = host.rows("CONFIG_DB")
        unapplied, unseen = applied_and_unseen(host, rows)
    except (DatabaseError, OSError):
        return {"unapplied": None, "image": _image(host)}
    return {"unapplied": unapplied, "unseen": unseen, "image": _image(host)}


def _image(host: SwitchHost) -> dict[str, str]:
    """Return the release, branch and build of the image, as far as its file names them."""
    try:
        text = host.read_file(f"{host.sonic_directory}/sonic_version.yml").decode(errors="replace")
    except OSError:
        return {}
    return {name: value[:80] for name, value in _IMAGE.findall(text)}


def _links(answer: Any) -> list[dict[str, Any]]:
    return [_link(link) for link in answer if link.get("ifname")]


def _link(link: Mapping[str, Any]) -> dict[str, Any]:
    addresses = [_selected(address, _ADDRESS) for address in link.get("addr_info", ())]
    return {**_selected(link, _LINK), "addr_info": addresses}


def _selected(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of these names that exist."""
    return {name: values[name] for name in names if name in values}


def _sessions(host: SwitchHost) -> dict[str, Any]:
    """Return the sessions of BGP (``bgp``), and those of BFD (``bfd``) if a BGP session uses BFD."""
    bgp = _bgp(host)
    for instance in (bgp or {}).values():
        # Beside its neighbors an instance has values of its own.
        uses_bfd = any(isinstance(peer, dict) and "peerBfdInfo" in peer for peer in instance.values())
        if uses_bfd:
            return {"bgp": bgp, "bfd": _bfd(host)}
    return {"bgp": bgp}


def _bfd(host: SwitchHost) -> list[dict[str, Any]] | None:
    """Return the sessions that bfdd shows, None if it does not answer."""
    try:
        return _read_json(host, BFD, lambda answer: [_selected(peer, _BFD_PEER) for peer in answer])
    except UnreadableError:
        return None


def _bgp(host: SwitchHost) -> dict[str, Any] | None:
    """Return the neighbors that bgpd shows, by instance and name; None if it does not answer."""
    try:
        return _read_json(host, BGP, _instances)
    except UnreadableError:
        return None


def _instances(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {vrf: _instance(instance) for vrf, instance in answer.items() if isinstance(instance, dict)}


def _instance(instance: Mapping[str, Any]) -> dict[str, Any]:
    """Return an instance of BGP: neighbors by name, beside values of the instance itself."""
    values: dict[str, Any] = {}
    for name, value in instance.items():
        if isinstance(value, dict):
            values[name] = _peer(value)
        else:
            values[name] = value
    return values


def _peer(peer: Mapping[str, Any]) -> dict[str, Any]:
    families = peer.get("addressFamilyInfo") or {}
    counters = {name: _selected(family, _FAMILY) for name, family in families.items()}
    return {**_selected(peer, _PEER), "addressFamilyInfo": counters}


def towards(host: SwitchHost, prefix: str) -> list[str]:
    """Return the ports of the kernel's route to an IPv4 prefix, sorted (FRR, zebra/zebra_vty.c).

    Raises UnreadableError, also for a text that is no prefix: it becomes a part of a command.
    """
    if not _PREFIX.fullmatch(prefix):
        raise UnreadableError(f"`{prefix}` is not a valid IPv4 prefix")

    def ports(answer: Mapping[str, Any]) -> list[str]:
        names = set()
        for route in answer.get(prefix, ()):
            if not route.get("selected"):
                continue
            for hop in route["nexthops"]:
                if hop.get("fib") and "interfaceName" in hop:
                    names.add(hop["interfaceName"])
        return sorted(names)

    return _read_json(host, ("vtysh", "-c", f"show ip route {prefix} json"), ports)


def counted(host: SwitchHost) -> dict[str, dict[str, str]]:
    """Return the counters of every port by the port's name; raises UnreadableError."""
    try:
        names = host.rows("COUNTERS_DB", PORT_NAMES).get(PORT_NAMES, {})
        rows = host.rows("COUNTERS_DB", COUNTERS)
    except (DatabaseError, OSError) as error:
        raise UnreadableError(f"COUNTERS_DB cannot be read: {error}") from error
    return {port: _counters(rows.get(f"COUNTERS:{object_id}", {})) for port, object_id in names.items()}


def _counters(row: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in row.items() if name.startswith(_COUNTED)}


def _read_json(host: SwitchHost, words: tuple[str, ...], convert: Callable[[Any], T]) -> T:
    """Run a command that prints JSON, and return the result of ``convert`` for it.

    Raises UnreadableError if the command fails, or if its output is no JSON or not of the form that ``convert`` reads.
    """
    command = " ".join(words)
    try:
        done = host.run(words, READ_S)
        if done.exit_status != 0:
            raise UnreadableError(f"`{command}`: {done.words()}")
        # vtysh may print messages before the JSON.
        start = _JSON_START.search(done.out)
        if start is None:
            return convert(json.loads(done.out or "{}"))
        return convert(json.loads(done.out[start.start() :]))
    except CommandError as error:
        raise UnreadableError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"`{command}` printed no JSON: {error}") from error
    except (AttributeError, LookupError, TypeError) as error:
        raise UnreadableError(f"`{command}` printed JSON of another form: {error}") from error


def digest_key(host: SwitchHost) -> str:
    """Return the key with which clients make digests of running configurations; created by the first reading.

    Clients keep such digests in plans and journals, and the plain SHA-256 of a configuration would let others guess
    short secrets in it. If nothing can be written, every reading has another key, and no two digests are equal.
    """
    key = _stored_key(host)
    if key:
        return key
    new_key = os.urandom(32).hex()
    with contextlib.suppress(OSError):
        host.make_directory()
        host.write_file(path(host, "digest.key"), new_key.encode())
    # Of two first readings at once, the key that was written last counts.
    return _stored_key(host) or new_key


def _stored_key(host: SwitchHost) -> str:
    """Return the key in the file; empty if there is no file, or it is damaged."""
    try:
        key = host.read_file(path(host, "digest.key")).decode("ascii", "replace")
    except OSError:
        return ""
    if re.fullmatch(r"[0-9a-f]{64}", key):
        return key
    return ""
