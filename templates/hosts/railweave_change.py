#!/usr/bin/env python3
"""Change this GPU node as one transaction: its files and its running settings, with a snapshot to go back to.

    railweave_change.py check     print what differs from the bundle
    railweave_change.py apply     store a snapshot, change what differs, read it back, go back where that fails
    railweave_change.py confirm   close the snapshot, which ``rollback`` still goes back to
    railweave_change.py rollback  go back to the snapshot; with ``--check`` print what that would change

Runs beside the node's own program. An answer is one JSON object: ``changes``, ``problems``, ``interrupted`` where an
earlier change did not end, and what ``loads`` ran. The snapshot is written atomically and before the first change; a
change that did not end is continued by the next one, which keeps the oldest snapshot. Standard library only; Python 3.9
and later.
"""

from __future__ import annotations

import argparse
import difflib
import glob
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import railweave_host as node

SNAPSHOT = "/var/lib/railweave/snapshot.json"
VERSION = 1
OPEN, COMPLETE = "open", "complete"
LONGEST_DIFF = 200

SYSTEMD = "/run/systemd/system"
LOADS = (
    ("/etc/systemd/system/", ("systemctl", "daemon-reload"), SYSTEMD),
    ("/etc/udev/rules.d/", ("udevadm", "control", "--reload"), "/run/udev/control"),
    ("/etc/systemd/network/", ("networkctl", "reload"), SYSTEMD),
    ("/etc/netplan/", ("netplan", "apply"), SYSTEMD),
    ("/etc/NetworkManager/system-connections/", ("nmcli", "connection", "reload"), SYSTEMD),
)
"""What must be run after a file below a folder has changed, and what is there while the daemon runs that reads it: in a
container systemd may run without udev."""

TEXTFILE = re.compile(r"/railweave_nics[A-Za-z-]*\.prom$")
"""The file of counters that a node writes for node_exporter: of an earlier document, no other file is removed."""

Answer = dict[str, Any]


class Files:
    """The files of a bundle or a snapshot below ``root``. Each is ``{path, mode, content}`` or ``{path, target}`` of a
    link, ``{path}`` alone of what is not to be there."""

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/")

    def wanted(self, bundle: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return what ``bundle`` wants, also that files of our names are gone, such as those of a rail that is gone."""
        wanted = [*bundle["files"], *bundle["links"]]
        known = {one["path"] for one in wanted}
        found = sorted(
            place[len(self._root) :] for pattern in bundle["owned"] for place in glob.glob(self._root + pattern)
        )
        return [*wanted, *({"path": path} for path in found if path not in known)]

    def held(self, path: str) -> dict[str, Any]:
        """Return what is at ``path``. Bytes that are no text survive as surrogates."""
        place = self._root + path
        if os.path.islink(place):
            return {"path": path, "target": os.readlink(place)}
        try:
            with open(place, encoding="utf-8", errors="surrogateescape", newline="") as file:
                return {"path": path, "mode": os.fstat(file.fileno()).st_mode & 0o7777, "content": file.read()}
        except FileNotFoundError:
            return {"path": path}

    def changes(self, wanted: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
        """Yield what differs from ``wanted``."""
        for one in wanted:
            held, path = self.held(one["path"]), one["path"]
            if held.get("target") != one.get("target"):
                words = [each.get("target", "a file" if "content" in each else "absent") for each in (held, one)]
                yield change("files", path, "link", *words)
            elif "content" not in one and "content" in held:
                yield change("files", path, "content", "present", "absent")
            elif held.get("content") != one.get("content"):
                diff = _difference(held.get("content", ""), one["content"], path)
                before = "differs" if "content" in held else "absent"
                yield change("files", path, "content", before, "as intended", diff)
            if "mode" in one and "mode" in held and held["mode"] != one["mode"]:
                yield change("files", path, "mode", f"{held['mode']:04o}", f"{one['mode']:04o}")

    def make(self, one: Mapping[str, Any]) -> None:
        """Make ``one`` as it is wanted, at once and lastingly. Raises OSError."""
        place = self._root + one["path"]
        if self.held(one["path"]) == dict(one):
            return
        fresh = f"{place}.railweave-new"
        if "target" in one or "content" in one:
            os.makedirs(os.path.dirname(place), mode=0o755, exist_ok=True)
        if "target" in one:
            if os.path.lexists(fresh):
                os.remove(fresh)
            os.symlink(one["target"], fresh)
            os.replace(fresh, place)
        elif "content" in one:
            write(fresh, place, one["content"], one["mode"])
        else:
            os.remove(place)


def write(fresh: str, place: str, text: str, mode: int) -> None:
    """Put ``text`` to ``place`` so that a loss of power leaves either the old file or the new one."""
    with open(fresh, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        os.fchmod(file.fileno(), mode)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, place)
    folder = os.open(os.path.dirname(place), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def change(kind: str, subject: str, what: str, before: str, after: str, diff: str = "") -> dict[str, str]:
    """Return one change; ``kind`` is ``files`` or ``live``."""
    return {"part": kind, "subject": subject, "what": what, "before": before, "after": after, "diff": diff}


def _difference(before: str, after: str, path: str) -> str:
    """Return a unified diff, cut where it would not be read."""
    lines = list(difflib.unified_diff(before.splitlines(True), after.splitlines(True), path, path, n=1))
    if len(lines) > LONGEST_DIFF:
        lines = [*lines[:LONGEST_DIFF], f"… {len(lines) - LONGEST_DIFF} lines more\n"]
    return "".join(lines).encode("utf-8", "replace").decode()


class Snapshots:
    """The node's snapshot: layers, the oldest first, and whether the change after it has ended."""

    def __init__(self, root: str, path: str = SNAPSHOT) -> None:
        self._path = path
        self._place = root.rstrip("/") + path

    def load(self) -> dict[str, Any] | None:
        """Return the snapshot, None where there is none; raises FaultError where it is damaged."""
        try:
            with open(self._place, encoding="utf-8") as file:
                found: dict[str, Any] = json.load(file)
            version = found["version"]
            is_whole = version != VERSION or (found["state"] in (OPEN, COMPLETE) and isinstance(found["layers"], list))
        except FileNotFoundError:
            return None
        except node.OTHER_FORM:
            is_whole = False
        if not is_whole:
            raise node.FaultError(f"{self._path} is damaged: look at it, and remove it to give up what it goes back to")
        if version != VERSION:
            raise node.FaultError(f"{self._path} is of another version of railweave")
        return found

    def save(self, layers: Sequence[Mapping[str, Any]], state: str) -> None:
        """Store the layers."""
        os.makedirs(os.path.dirname(self._place), mode=0o700, exist_ok=True)
        text = json.dumps({"version": VERSION, "state": state, "layers": list(layers)})
        write(self._place + ".new", self._place, text, 0o600)

    def remove(self) -> None:
        """Forget the snapshot."""
        os.remove(self._place)


def with_leaving(
    machine: node.Machine, files: Files, snapshots: Snapshots, bundle: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a document that also takes away the families that ports had by the node's own document, and by those of a
    change that did not end."""
    document: dict[str, Any] = bundle["document"]
    earlier: dict[tuple[str, int], dict[str, Any]] = {}
    for text in _documents(files, snapshots, bundle["places"]["document"]):
        try:
            ports = json.loads(text)["interfaces"]
            had = {(part["name"], part["family"]): part for port in ports for part in node.families(port)}
            earlier.update(had)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # nobody's document of ours: the file is replaced anyway
    kept = {(part["name"], part["family"]) for port in document["interfaces"] for part in node.families(port)}
    named = {port["name"] for port in document["interfaces"]}
    gone = {key: part for key, part in earlier.items() if key not in kept and key[0] in named}
    if not gone:
        return document
    links = {one.get("ifname", ""): one for one in machine.ip("address", "show")}
    return {**document, "interfaces": [_leaving(port, gone, links) for port in document["interfaces"]]}


def _documents(files: Files, snapshots: Snapshots, path: str) -> Iterator[str]:
    try:
        snapshot = snapshots.load()
    except node.FaultError:
        snapshot = None  # said where the snapshot is needed
    layers = snapshot["layers"] if snapshot and snapshot["state"] == OPEN else []
    held = [one for layer in layers for one in layer["files"] if one["path"] == path]
    yield from (one["content"] for one in [*held, files.held(path)] if "content" in one)


def _leaving(
    port: dict[str, Any], leaving: Mapping[tuple[str, int], Mapping[str, Any]], links: Mapping[str, Any]
) -> dict[str, Any]:
    name = port["name"]
    for family in (4, 6):
        old = leaving.get((name, family))
        if old is None or name not in links:
            continue
        kept = [one for one in node.addresses(links[name], family) if one != old["address"]]
        gone = [node.route_key(one) for one in old["routes"]]
        left = {"address": old["address"], "addresses": kept, "rules": [], "routes": [], "gone": gone}
        port = _with_family(port, family, left)
    return port


def _with_family(port: Mapping[str, Any], family: int, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a port with the address, rules and routes of one family: those of IPv4 are its own keys."""
    return {**port, **values} if family == 4 else {**port, "ipv6": dict(values)}


def former_counters(files: Files, path: str) -> dict[str, Any]:
    """Return the ``nic_counters`` of the document at ``path`` on the node, empty where it has none that can be run.

    A rollback does not depend on them: what keeps the file from being written may be why the change failed.
    """
    try:
        counters = json.loads(files.held(path)["content"])["nic_counters"]
        places = {key: counters[key] for key in ("textfile", "program", "document", "timer")}
        is_ours = all(isinstance(place, str) for place in places.values()) and TEXTFILE.search(places["textfile"])
        if is_ours and "content" in files.held(places["program"]):
            return {**places, "optional": True}
    except (ValueError, KeyError, TypeError):
        pass
    return {}


def former_textfiles(files: Files, snapshots: Snapshots, bundle: Mapping[str, Any]) -> list[str]:
    """Return the files of counters that earlier documents of the node name and the new one does not."""
    kept = bundle["document"].get("nic_counters", {}).get("textfile")
    former: set[str] = set()
    for text in _documents(files, snapshots, bundle["places"]["document"]):
        try:
            path = json.loads(text)["nic_counters"]["textfile"]
            if path != kept and TEXTFILE.search(path):
                former.add(path)
        except (ValueError, KeyError, TypeError):
            continue  # it has no counters, or is no document of ours
    return sorted(former)


def counter_changes(machine: node.Machine, files: Files, document: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield that the counters of NICs are not written, or will not be written again."""
    counters = document.get("nic_counters")
    if not counters:
        return
    if "content" not in files.held(counters["textfile"]):
        yield change("live", counters["textfile"], "counters", "absent", "written")
    if not runs_systemd(machine):
        return
    try:
        machine.run(["systemctl", "is-active", counters["timer"]])
    except node.FaultError:
        yield change("live", counters["timer"], "state", "inactive", "active")


def write_counters(machine: node.Machine, document: Mapping[str, Any]) -> None:
    """Write the counters of NICs now, so that what prevents it is found. Raises FaultError and OSError."""
    counters = document.get("nic_counters")
    if not counters:
        return
    place = machine.root + counters["textfile"]
    command = [sys.executable, machine.root + counters["program"], "--document", machine.root + counters["document"]]
    try:
        os.makedirs(os.path.dirname(place), mode=0o755, exist_ok=True)
        machine.run([*command, "--root", machine.root])
        if not os.path.isfile(place):
            raise node.FaultError(f"{counters['textfile']} is not there after `{counters['program']}`")
    except (OSError, node.FaultError):
        if not counters.get("optional"):
            raise


def timer_commands(
    machine: node.Machine, files: Files, wanted: Sequence[Mapping[str, Any]]
) -> tuple[list[list[str]], list[list[str]]]:
    """Return what stops timers that go, before their files do, and what starts those that stay or come."""
    stops: list[list[str]] = []
    starts: list[list[str]] = []
    if not runs_systemd(machine):
        return stops, starts
    for one in wanted:
        folder, name = os.path.split(one["path"])
        if folder != "/etc/systemd/system" or not name.endswith(".timer"):
            continue
        held = files.held(one["path"])
        if "content" in one:
            # A timer that runs keeps its old interval until it is restarted.
            starts.append(["systemctl", "start" if held == dict(one) else "restart", name])
        elif "content" in held:
            stops.append(["systemctl", "stop", name, f"{name.removesuffix('.timer')}.service"])
    return stops, starts


def live_snapshot(machine: node.Machine, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document that describes the settings as they are now, of all that ``document`` may change."""
    links = {one.get("ifname", ""): one for one in machine.ip("address", "show")}
    held = {key: machine.read("/proc/sys/" + key.replace(".", "/")).strip() for key in document["sysctl"]}
    return {
        "interfaces": [
            _port(machine, document, port, links[port["name"]])
            for port in document["interfaces"]
            if port["name"] in links
        ],
        "sysctl": {key: value for key, value in held.items() if value},
        "nic": {**document["nic"], "steps": []},
    }


def _port(
    machine: node.Machine, document: Mapping[str, Any], port: Mapping[str, Any], link: Mapping[str, Any]
) -> dict[str, Any]:
    found: dict[str, Any] = {
        **port,
        "rdma": "",
        "mtu": link["mtu"],
        "state": "up" if "UP" in link["flags"] else "down",
        # The first tool opens the way for the others (DCBX, trust), so it goes back last.
        "steps": list(_steps(machine, document, port))[::-1],
    }
    for part in node.families(port):
        found = _with_family(found, part["family"], {"address": part["address"], **_family(machine, part, link)})
    return found


def _family(machine: node.Machine, part: Mapping[str, Any], link: Mapping[str, Any]) -> dict[str, Any]:
    """Return the addresses, rules and routes of one family as they are, of all that ``part`` may change."""
    family, own = part["family"], str(part["table"])
    claimed = {*(node.route_key(one) for one in part["routes"]), *map(tuple, part.get("gone", ()))}
    held = [(key, one) for key, one in node.routes(machine, family) if key in claimed or key[1] == own]
    return {
        "addresses": node.addresses(link, family),
        "rules": node.rules(machine, part),
        "routes": [
            {
                **{"to": to, "table": table, "metric": metric, "mtu": node.route_mtu(one)},
                **{"via": one.get("gateway"), "dev": one.get("dev")},
                **({"src": one["prefsrc"]} if one.get("prefsrc") else {}),
            }
            for (to, table, metric), one in held
        ],
        "gone": sorted(claimed - {key for key, _ in held}),
    }


def _steps(machine: node.Machine, document: Mapping[str, Any], port: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the steps of a port with the values that its NIC has now as the wanted ones."""
    steps = document["nic"]["steps"]
    names = node.nic_names(machine, document, port["name"], machine.rdma_device(port["name"])) if steps else {}
    for step in steps:
        reads = []
        for read in step["reads"]:
            held = node.read_setting(machine, read, names)
            if read.get("one_way"):
                continue  # the vendor's tool can set it and cannot undo it
            if held or (isinstance(held, dict) and "removes" in step):
                kept = {key: value for key, value in read.items() if key not in {"clear", "rest", "at_least"}}
                reads.append({**kept, "want": held})
        if reads:
            yield {**step, "reads": reads, "writes": step.get("restore", step["writes"])}


def check(machine: node.Machine, files: Files, snapshots: Snapshots, bundle: Mapping[str, Any]) -> Answer:
    """Return what differs."""
    found, problems = node.check(machine, bundle["document"])
    counters = counter_changes(machine, files, bundle["document"])
    changes = [*files.changes(files.wanted(bundle)), *counters, *_live(found)]
    later, unread = _sorted(machine, bundle["document"], problems)
    snapshot = snapshots.load()
    interrupted = bool(snapshot and snapshot["state"] == OPEN)
    return {"changes": changes, "problems": [*later, *unread], "interrupted": interrupted}


def apply(machine: node.Machine, files: Files, snapshots: Snapshots, bundle: Mapping[str, Any]) -> Answer:
    """Change what differs. What cannot even be read is found before the first change, and then nothing is changed."""
    snapshot = snapshots.load()
    layers = snapshot["layers"] if snapshot and snapshot["state"] == OPEN else []
    document, wanted = bundle["document"], files.wanted(bundle)
    found, problems = node.check(machine, document)
    later, unread = _sorted(machine, document, problems)
    if unread:
        return {"changes": [], "problems": unread, "outcome": "nothing was changed"}
    counters = list(counter_changes(machine, files, document))
    planned = [*files.changes(wanted), *counters, *_live(found)]
    interrupted, state = bool(layers), COMPLETE if bundle["confirm"] and not later else OPEN
    if not planned:
        if layers:
            snapshots.save(layers, state)
        return {"changes": [], "problems": later, "interrupted": interrupted}
    digest = hashlib.sha256(json.dumps([wanted, document], sort_keys=True).encode()).hexdigest()
    if not layers or layers[-1]["intended"] != digest:
        # A file of counters is written again by a rollback, or goes with it: its content is never restored.
        held = [files.held(one["path"]) for one in wanted if not TEXTFILE.search(one["path"])]
        held += [{"path": one["subject"]} for one in counters if one["what"] == "counters"]
        earlier = {
            **live_snapshot(machine, document),
            "nic_counters": former_counters(files, bundle["places"]["document"]),
        }
        now = {"files": held, "document": earlier}
        layers = [*layers, {"intended": digest, **now}]
    snapshots.save(layers, OPEN)
    done, failed = _carry_out(machine, files, wanted, document)
    later, wrong = _sorted(machine, document, failed)
    if wrong:
        return {"changes": [], "problems": wrong, "outcome": _went_back(restore(machine, files, snapshots, layers))}
    snapshots.save(layers, state)
    changes = [*(one for one in planned if one["part"] == "files"), *counters, *_live(done)]
    return {"changes": changes, "problems": later, "interrupted": interrupted}


def _carry_out(
    machine: node.Machine, files: Files, wanted: Sequence[Mapping[str, Any]], document: Mapping[str, Any]
) -> tuple[list[node.Difference], list[node.Problem]]:
    paths = [one["subject"] for one in files.changes(wanted)]
    stops, starts = timer_commands(machine, files, wanted)
    try:
        for command in stops:
            machine.run(command)
        for one in wanted:
            files.make(one)
        for command in [*loads(machine, paths), *starts]:
            machine.run(command)
        write_counters(machine, document)
    except (OSError, node.FaultError) as fault:
        return [], [node.Problem("files", "change", str(fault))]
    return node.apply(machine, document)


def loads(machine: node.Machine, paths: Sequence[str]) -> list[list[str]]:
    """Return the commands that load changed files, none where systemd does not run on them."""
    if not runs_systemd(machine):
        return []
    commands = [
        list(command)
        for folder, command, running in LOADS
        if os.path.exists(running) and any(path.startswith(folder) for path in paths)
    ]
    for path in paths:
        if path.endswith(".nmconnection") and os.path.exists(path):
            name = os.path.basename(path).removesuffix(".nmconnection")
            commands.append(["nmcli", "--wait", "30", "connection", "up", "id", name])
    return commands


def runs_systemd(machine: node.Machine) -> bool:
    """Tell whether systemd runs on this node, which is no folder of a test."""
    return not machine.root and os.path.isdir(SYSTEMD)


def _went_back(left: Sequence[Mapping[str, str]]) -> str:
    if not left:
        return "the node is back at its snapshot"
    said = "; ".join(f"{one['subject']} {one['what']}: {one['message']}" for one in left)
    return f"the rollback to its snapshot is incomplete ({said}): repair this, then run `railweave hosts rollback`"


def restore(
    machine: node.Machine, files: Files, snapshots: Snapshots, layers: Sequence[Mapping[str, Any]]
) -> list[dict[str, str]]:
    """Go back to the oldest layer, the newest first; return what does not hold. The snapshot goes once all holds."""
    left: list[dict[str, str]] = []
    snapshots.save(layers, OPEN)
    for layer in reversed(layers):
        left = [one._asdict() for one in _carry_out(machine, files, layer["files"], layer["document"])[1]]
    if not left:
        snapshots.remove()
    return left


def rollback(machine: node.Machine, files: Files, snapshots: Snapshots, *, dry_run: bool) -> Answer:
    """Go back to the snapshot; ``changes`` is empty where there is none. A change that did not end is interrupted."""
    snapshot = snapshots.load()
    if snapshot is None:
        return {"changes": [], "problems": []}
    changes: dict[tuple[str, str], dict[str, str]] = {}
    problems: list[dict[str, str]] = []
    for layer in reversed(snapshot["layers"]):
        found, unread = node.check(machine, layer["document"])
        problems = [one._asdict() for one in unread]
        for one in [*files.changes(layer["files"]), *_live(found)]:
            changes[one["subject"], one["what"]] = one
    if not dry_run:
        problems = restore(machine, files, snapshots, snapshot["layers"])
    return {"changes": list(changes.values()), "problems": problems, "interrupted": snapshot["state"] == OPEN}


def _live(found: Sequence[node.Difference]) -> list[dict[str, str]]:
    return [change("live", one.subject, one.what, one.before, one.after) for one in found]


def _sorted(
    machine: node.Machine, document: Mapping[str, Any], problems: Sequence[node.Problem]
) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return one problem for each interface that gets its name, pinned by PCI address, only at the next start, and the
    problems of all others."""
    there = {one.get("ifname") for one in machine.ip("address", "show")}
    later = [one["name"] for one in document["interfaces"] if one["pci"] and one["name"] not in there]
    others = [
        one for one in problems if one.subject not in later and not any(f".{each}." in one.what for each in later)
    ]
    text = "gets its name when the node starts: restart it, and run this again"
    return [node.Problem(name, "network", text)._asdict() for name in later], [one._asdict() for one in others]


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and print its answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("check", "apply", "confirm", "rollback"))
    parser.add_argument("--bundle", metavar="FILE", required=True)
    parser.add_argument("--root", default="", metavar="DIR")
    parser.add_argument("--check", action="store_true", help="with rollback: change nothing")
    chosen = parser.parse_args(words)
    with open(chosen.bundle, encoding="utf-8") as file:
        bundle = json.load(file)
    machine, files = node.Machine(chosen.root), Files(chosen.root)
    snapshots = Snapshots(chosen.root, bundle["places"]["snapshot"])
    try:
        if chosen.verb in ("check", "apply"):
            bundle["owned"] += map(glob.escape, former_textfiles(files, snapshots, bundle))
            bundle["document"] = with_leaving(machine, files, snapshots, bundle)
        if chosen.verb == "check":
            answer = check(machine, files, snapshots, bundle)
        elif chosen.verb == "rollback" and chosen.check:
            answer = rollback(machine, files, snapshots, dry_run=True)
        else:
            with machine.locked():
                answer = _change(chosen.verb, machine, files, snapshots, bundle)
    except (OSError, node.FaultError) as fault:
        answer = _failed(chosen.verb, str(fault))
    except node.OTHER_FORM as error:
        answer = _failed(chosen.verb, node.other_form(error))
    print(json.dumps(answer))
    return 0


def _failed(verb: str, why: str) -> Answer:
    return {"changes": [], "problems": [{"subject": "node", "what": verb, "message": why}]}


def _change(verb: str, machine: node.Machine, files: Files, snapshots: Snapshots, bundle: Mapping[str, Any]) -> Answer:
    if verb == "apply":
        return apply(machine, files, snapshots, bundle)
    if verb == "rollback":
        return rollback(machine, files, snapshots, dry_run=False)
    snapshot = snapshots.load()
    if snapshot:
        snapshots.save(snapshot["layers"], COMPLETE)
    return {"changes": [], "problems": []}


if __name__ == "__main__":
    sys.exit(main())
