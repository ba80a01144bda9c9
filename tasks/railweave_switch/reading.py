"""What a client reads: digests first, and only what it does not know already; and what is observed."""

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
from railweave_switch.state import path, read_document, report
from railweave_switch.state_forms import DamagedError
from railweave_switch.steps import READ_S, frr_lost, frr_text

ADDRESSES = ("ip", "-j", "addr", "show")
BGP = ("vtysh", "-c", "show bgp vrf all neighbors json")
BFD = ("vtysh", "-c", "show bfd peers json")
PORTS, LLDP = "PORT_TABLE:*", "LLDP_ENTRY_TABLE:*"
PORT_NAMES = "COUNTERS_PORT_NAME_MAP"
POLLED_PORTS, POLL_MS = "FLEX_COUNTER_TABLE|PORT", 1000
COUNTERS = "COUNTERS:oid:0x1????????????"
"""An object id holds its type in the bits above 48: 1 is a port."""

_LINK = ("ifname", "flags", "mtu", "address", "ifalias", "addr_info")
_ADDRESS = ("family", "local", "prefixlen")
_PEER = ("localAs", "remoteAs", "remoteRouterId", "localRouterId", "bgpState", "adminShutDown", "nbrDesc",
         "bgpTimerUpMsec", "peerBfdInfo", *TIMERS)  # fmt: skip
_BFD_PEER = ("peer", "interface", "vrf", "status", "receive-interval", "transmit-interval", "detect-multiplier",
             "remote-receive-interval", "remote-transmit-interval", "remote-detect-multiplier")  # fmt: skip
_FAMILY = ("acceptedPrefixCounter", "sentPrefixCounter")
_COUNTED = "SAI_PORT_STAT_IF_"
_PREFIX = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}")
_IMAGE = re.compile(r"^(release|branch|build_version): *'?([^'\n]*)'?$", re.MULTILINE)


T = TypeVar("T")


class UnreadableError(Exception):
    """Something does not answer; the message says what."""


def read(host: SwitchHost, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return digests of CONFIG_DB and of FRR's text, and each whole unless its digest is the one in ``asked``.

    ``rollback`` adds the merge document that undoes a commit and the generation before it, a look (see ``looked``) what
    is observed.
    """
    answer: dict[str, Any] = {"outcome": "read", "status": report(host), "digest_key": digest_key(host)}
    rows = _rows(host)
    answer["config"] = _config(rows, asked.get("config") or "")
    common = _common(host, rows)
    answer["frr"] = _frr(host, asked.get("frr") or "")
    answer.update(common)
    if asked.get("rollback"):
        answer.update(_undo(host, str(asked["rollback"])))
    return {**answer, **looked(host, asked, common)}


def looked(host: SwitchHost, asked: Mapping[str, Any], common: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what a look shows: with ``observe`` what is observed, with ``counters`` those of the ports.

    With ``over_s`` the counters are read twice, so many seconds apart. ``common`` is the result of `_common` if the
    caller has it: on a real switch it takes thousands of rows, which are read once a call.
    """
    found: dict[str, Any] = {}
    over_s = float(asked.get("over_s") or 0)
    if asked.get("counters"):
        found["counters"] = [_sample(host, over_s)]
    if asked.get("observe"):
        found["observed"] = observed(host, common)
    if asked.get("counters") and over_s:
        host.sleep(max(0.0, found["counters"][0]["at_s"] + over_s - host.now_s()))
        found["counters"].append(_sample(host, over_s))
    return found


def _sample(host: SwitchHost, over_s: float) -> dict[str, Any]:
    """Return the counters with their time. Counters that are not renewed within ``over_s`` are left out: that they did
    not rise says nothing."""
    ports = counted(host) if not over_s or _are_renewed(host, over_s) else {}
    return {"at_s": host.now_s(), "ports": ports}


def _are_renewed(host: SwitchHost, over_s: float) -> bool:
    """Tell whether the ports' counters are polled in such a time (sonic-utilities counterpoll/main.py). Without a row
    they are not yet, and COUNTERS_DB has none; without an interval it is a second."""
    group = _rows(host, POLLED_PORTS).get(POLLED_PORTS, {})
    interval_ms = group.get("POLL_INTERVAL", "")
    is_late = interval_ms.isdigit() and int(interval_ms) > max(POLL_MS, over_s * 1000)
    return group.get("FLEX_COUNTER_STATUS") != "disable" and not is_late


def _rows(host: SwitchHost, pattern: str = "*") -> Mapping[str, Hash]:
    try:
        return host.rows("CONFIG_DB", pattern)
    except (DatabaseError, OSError) as error:
        raise UnreadableError(f"CONFIG_DB cannot be read: {error}") from error


def _config(rows: Mapping[str, Hash], known: str) -> dict[str, Any]:
    found = digest(rows)
    return {"digest": found} if found == known else {"digest": found, "tables": tables_of(rows)}


def _frr(host: SwitchHost, known: str) -> dict[str, Any]:
    text = frr_text(host)
    if text is None or frr_lost(host, text):
        return {"digest": "", "text": None}
    found = hashlib.sha256(text.encode()).hexdigest()
    return {"digest": found} if found == known else {"digest": found, "text": text}


def _undo(host: SwitchHost, commit: str) -> dict[str, Any]:
    if f"{commit}.rollback.json" not in host.list_directory():
        return {"undo": None}
    try:
        document = read_document(host, f"{commit}.rollback.json")
        return {"undo": document.undo, "earlier": document.earlier}
    except DamagedError as error:
        raise UnreadableError(str(error)) from error


def observed(host: SwitchHost, common: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return links with addresses, ports, LLDP neighbors and BGP sessions (None where bgpd is silent), as found, and
    what daemons apply that differs from CONFIG_DB."""
    links = _printed(host, ADDRESSES, lambda found: [_link(one) for one in found if one.get("ifname")])
    try:
        ports, lldp = host.rows("APPL_DB", PORTS), host.rows("APPL_DB", LLDP)
    except (DatabaseError, OSError) as error:
        raise UnreadableError(f"APPL_DB cannot be read: {error}") from error
    return {
        "links": links,
        "ports": {key.partition(":")[2]: dict(row) for key, row in ports.items()},
        "lldp": {key.partition(":")[2]: dict(row) for key, row in lldp.items()},
        **_sessions(host),
        **(common or _common(host)),
    }


def _common(host: SwitchHost, rows: Mapping[str, Hash] | None = None) -> dict[str, Any]:
    """Return what every answer has: what daemons apply that differs from CONFIG_DB, None while that is unknown, as
    during a reload; and the release of the image. ``rows`` are those of CONFIG_DB if the caller has read them."""
    try:
        found, unseen = applied_and_unseen(host, host.rows("CONFIG_DB") if rows is None else rows)
    except (DatabaseError, OSError):
        return {"unapplied": None, "image": _image(host)}
    return {"unapplied": found, "unseen": unseen, "image": _image(host)}


def _image(host: SwitchHost) -> dict[str, str]:
    """Return what the image says of the release that it is; nothing where it says nothing."""
    try:
        text = host.read_file(f"{host.sonic_directory}/sonic_version.yml").decode(errors="replace")
    except OSError:
        return {}
    return {name: value[:80] for name, value in _IMAGE.findall(text)}


def _link(link: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: link[name] for name in _LINK if name in link}
    addresses = [{name: one[name] for name in _ADDRESS if name in one} for one in link.get("addr_info", ())]
    return {**found, "addr_info": addresses}


def _sessions(host: SwitchHost) -> dict[str, Any]:
    """Return the sessions of BGP, and those of BFD where BGP has any."""
    bgp = _bgp(host)
    peers = (peer for one in (bgp or {}).values() for peer in one.values() if isinstance(peer, dict))
    return {"bgp": bgp, "bfd": _bfd(host)} if any("peerBfdInfo" in peer for peer in peers) else {"bgp": bgp}


def _bfd(host: SwitchHost) -> list[dict[str, Any]] | None:
    """Return what bfdd shows of its sessions, None where it does not answer."""
    try:
        return _printed(host, BFD, lambda found: [_bfd_peer(one) for one in found])
    except UnreadableError:
        return None


def _bfd_peer(peer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: peer[name] for name in _BFD_PEER if name in peer}


def _bgp(host: SwitchHost) -> dict[str, Any] | None:
    try:
        return _printed(host, BGP, _instances)
    except UnreadableError:
        return None


def _instances(found: Mapping[str, Any]) -> dict[str, Any]:
    return {vrf: _instance(one) for vrf, one in found.items() if isinstance(one, dict)}


def _instance(instance: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _peer(one) if isinstance(one, dict) else one for name, one in instance.items()}


def _peer(peer: Mapping[str, Any]) -> dict[str, Any]:
    families = peer.get("addressFamilyInfo") or {}
    return {
        **{name: peer[name] for name in _PEER if name in peer},
        "addressFamilyInfo": {
            name: {counter: one[counter] for counter in _FAMILY if counter in one} for name, one in families.items()
        },
    }


def towards(host: SwitchHost, prefix: str) -> list[str]:
    """Return the ports over which the kernel sends what goes to an IPv4 prefix, sorted (FRR, zebra/zebra_vty.c)."""
    if not _PREFIX.fullmatch(prefix):
        raise UnreadableError(f"`{prefix}` is no IPv4 prefix")

    def used(found: Mapping[str, Any]) -> list[str]:
        hops = (hop for route in found.get(prefix, ()) if route.get("selected") for hop in route["nexthops"])
        return sorted({hop["interfaceName"] for hop in hops if hop.get("fib") and "interfaceName" in hop})

    return _printed(host, ("vtysh", "-c", f"show ip route {prefix} json"), used)


def counted(host: SwitchHost) -> dict[str, dict[str, str]]:
    """Return the counters of every port by its name."""
    try:
        names = host.rows("COUNTERS_DB", PORT_NAMES).get(PORT_NAMES, {})
        rows = host.rows("COUNTERS_DB", COUNTERS)
    except (DatabaseError, OSError) as error:
        raise UnreadableError(f"COUNTERS_DB cannot be read: {error}") from error
    return {port: _counters(rows.get(f"COUNTERS:{number}", {})) for port, number in names.items()}


def _counters(row: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in row.items() if name.startswith(_COUNTED)}


def _printed(host: SwitchHost, words: tuple[str, ...], read: Callable[[Any], T]) -> T:
    """Return what ``read`` makes of the JSON that a command prints; raises UnreadableError."""
    told = " ".join(words)
    try:
        done = host.run(words, READ_S)
        if done.exit_status != 0:
            raise UnreadableError(f"`{told}`: {done.words()}")
        start = min((at for at in (done.out.find("{"), done.out.find("[")) if at >= 0), default=0)
        return read(json.loads(done.out[start:] or "{}"))
    except CommandError as error:
        raise UnreadableError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"`{told}` printed no JSON: {error}") from error
    except (AttributeError, LookupError, TypeError) as error:
        raise UnreadableError(f"`{told}` printed JSON of another form: {error}") from error


def digest_key(host: SwitchHost) -> str:
    """Return the key with which clients make digests of what runs; the first reading makes it.

    A client keeps such digests in plans and journals, and by the bare SHA-256 of a configuration others could guess the
    short secrets in it. Where nothing can be written every reading has another key: then a digest matches no other.
    """
    kept = _kept_key(host)
    if kept:
        return kept
    new = os.urandom(32).hex()
    with contextlib.suppress(OSError):
        host.make_directory()
        host.write_file(path(host, "digest.key"), new.encode())
    return _kept_key(host) or new


def _kept_key(host: SwitchHost) -> str:
    try:
        kept = host.read_file(path(host, "digest.key")).decode("ascii", "replace")
    except OSError:
        return ""
    return kept if re.fullmatch(r"[0-9a-f]{64}", kept) else ""
