"""The tasks that only read, as messages: a plan's reading, a verification's look, and whether a device boots what it
runs."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from nornir.core.task import Result

from nornir_railweave.device.reading import Comparer
from nornir_railweave.events import Event, Events, Step, silent
from nornir_railweave.rollout.looking_away import ports_towards
from nornir_railweave.rollout.planning import read_running
from nornir_railweave.tasks.draining import read_drained
from nornir_railweave.tasks.holding import HoldResult, hold_device
from nornir_railweave.tasks.verifying import FabricJudge, Judgment, verify_device
from nornir_railweave.workers.message import Request, decoded
from nornir_railweave.workers.spread_task import LostAsRefused
from nornir_railweave.workers.workbench import Workbench
from railweave.codec import as_json
from railweave.diagnostics import Blocker
from railweave.fabric.model import Fabric
from railweave.plan.document import change_json, change_of
from railweave.plan.manual_drain import DrainResult
from railweave.plan.model import Reading
from railweave.plan.verification import EVERYONE, unreachable
from railweave.sonic.delta.change import Change, Delta
from railweave.sonic.delta.conflicts import Conflict
from railweave.sonic.delta.delta import Sharing
from railweave.sonic.delta.diff import DeviceDiff
from railweave.sonic.delta.kept import Kept
from railweave.sonic.frr.maintenance import Maintenance


class ReadRunning(LostAsRefused):
    """``read_running``: the difference of a device from its intended configuration, for a plan.

    Secrets stay with the worker: changes have the form of a plan's file.
    """

    name = read_running.__name__
    changes = False

    def arguments(self, device: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return how the comparison treats unmanaged rows and unknown secrets."""
        del device
        compare: Comparer = params["compare"]
        return {"remove_conflicting": compare.remove_conflicting, "unresolved": compare.unresolved}

    def announce(self, params: Mapping[str, Any]) -> Events:
        """Return the plan's listener."""
        announce: Events = params["announce"]
        return announce

    def perform(self, bench: Workbench, request: Request, announce: Events) -> Any:
        """Read the device and compare it with the worker's own intended configuration."""
        asked: dict[str, bool] = decoded(dict[str, bool], request.arguments)
        unresolved = asked["unresolved"] or bool(bench.missing_secrets)
        compare = Comparer(bench.fabric, bench.intended, asked["remove_conflicting"], unresolved)
        params = {"compare": compare, "announce": announce}
        reading: Reading = bench.perform(read_running, request.device, params).result
        return reading_json(reading)

    def __init__(self) -> None:
        """Begin without changes."""
        self._plan: object = None
        # The changes of the plan's devices by their JSON.
        self._changes: dict[bytes, Change] = {}

    def result(self, device: str, params: Mapping[str, Any], value: Any, *, asked_s: float) -> Result:
        """Return a ``Reading``; equal changes of devices of one plan are one object."""
        del asked_s
        compare: Comparer = params["compare"]
        # Each plan has a comparer of its own.
        if self._plan is not compare:
            self._plan = compare
            self._changes = {}
        return Result(host=None, result=reading_of(value, compare.sharing or Sharing(), self._changes))

    def refused(self, device: str, params: Mapping[str, Any], why: str) -> Result:
        """Return the reading of a device that could not be read, and announce that."""
        self.announce(params)(Event(Step.UNREACHABLE, device, why))
        return Result(host=None, result=Reading(error=why))


def reading_json(reading: Reading) -> dict[str, Any]:
    """Return a reading as plain values, with the secrets in its changes hidden."""
    document = {name: as_json(getattr(reading, name)) for name in _READING}
    if reading.difference is not None:
        document["difference"] = _difference_json(reading.difference)
    return document


def _difference_json(difference: DeviceDiff) -> dict[str, Any]:
    document = {name: as_json(getattr(difference, name)) for name in _DIFFERENCE}
    document["changes"] = [change_json("", change) for change in difference.delta]
    document["conflicts"] = [
        [conflict.table, conflict.key, conflict.port, conflict.reason] for conflict in difference.conflicts
    ]
    document["blockers"] = [list(blocker) for blocker in difference.blockers]
    document["kept"] = as_json(difference.kept)
    return document


_READING = (
    "running_sha256",
    "pending",
    "error",
    "answered",
    "unapplied",
    "applied_unknown",
    "unseen",
    "generation",
    "release",
    "broken",
)
_DIFFERENCE = ("unmanaged", "unprovisioned", "drained", "lossless_removed", "maintenance")


def reading_of(value: Any, share: Callable[[Delta], Delta], changes: dict[bytes, Change]) -> Reading:
    """Return the reading from its plain values, the reverse of ``reading_json``.

    Most devices of a fabric have most changes in common, so equal ones become one object: ``share`` returns the object
    for a delta, and ``changes`` has those of single changes by their JSON. Raises MessageError if the values are not
    valid.
    """
    document = decoded(dict[str, Any], value)
    difference = document.pop("difference", None)
    if difference is not None:
        document["difference"] = _difference(decoded(dict[str, Any], difference), share, changes)
    reading: Reading = decoded(Reading, document)
    return reading


def _difference(document: dict[str, Any], share: Callable[[Delta], Delta], changes: dict[bytes, Change]) -> DeviceDiff:
    """Return the difference from its plain values, the reverse of ``_difference_json``."""
    conflicts = decoded(tuple[tuple[str, str, str, str], ...], document.get("conflicts"))
    blockers = decoded(tuple[tuple[str, str, str], ...], document.get("blockers"))
    return DeviceDiff(
        delta=share(_delta(document.get("changes"), changes)),
        unmanaged=decoded(dict[str, int], document.get("unmanaged")),
        conflicts=tuple(Conflict(*conflict) for conflict in conflicts),
        unprovisioned=decoded(bool, document.get("unprovisioned")),
        blockers=tuple(Blocker(*blocker) for blocker in blockers),
        drained=decoded(tuple[str, ...], document.get("drained")),
        lossless_removed=decoded(tuple[int, ...], document.get("lossless_removed")),
        maintenance=decoded(Maintenance, document.get("maintenance")),
        kept=decoded(tuple[Kept, ...], document.get("kept")),
    )


def _delta(documents: Any, changes: dict[bytes, Change]) -> Delta:
    """Return the delta from its plain values; equal changes are taken from ``changes``, and new ones added to it."""
    delta: list[Change] = []
    for document in decoded(tuple[dict[str, Any], ...], documents):
        encoded = orjson.dumps(document)
        if encoded not in changes:
            changes[encoded] = change_of(document)
        delta.append(changes[encoded])
    return Delta(tuple(delta))


class VerifyDevice(LostAsRefused):
    """``verify_device``: the checks of what a device shows, judged where it is read."""

    name = verify_device.__name__
    changes = False

    def arguments(self, device: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return how long to wait, and which of the device and its neighbors are settled (None: all).

        Return None instead for another judge than that of a whole fabric, which a worker cannot make.
        """
        judge = params["judge"]
        if not isinstance(judge, FabricJudge):
            return None
        settled = None
        if judge.settled is not EVERYONE:
            settled = neighbors_in(judge.fabric, device, judge.settled)
        return {"settled": settled, "timeout_s": params["timeout_s"], "interval_s": params["interval_s"]}

    def announce(self, params: Mapping[str, Any]) -> Events:
        """Return the verification's listener."""
        announce: Events = params["announce"]
        return announce

    def perform(self, bench: Workbench, request: Request, announce: Events) -> Any:
        """Read the device and judge it by the worker's own expectation."""
        arguments = request.arguments
        settled = decoded(frozenset[str] | None, arguments["settled"])
        if settled is None:
            settled = EVERYONE
        params = {
            "judge": FabricJudge(bench.fabric, settled, bench.scope),
            "timeout_s": decoded(float, arguments["timeout_s"]),
            "interval_s": decoded(float, arguments["interval_s"]),
            "announce": announce,
            "clock": bench.clock,
        }
        judgment = bench.perform(verify_device, request.device, params).result
        # orjson makes plain values of dataclasses, and is ten times as fast as `as_json`.
        return orjson.loads(orjson.dumps(judgment))

    def result(self, device: str, params: Mapping[str, Any], value: Any, *, asked_s: float) -> Result:
        """Return a ``Judgment``."""
        del params, asked_s
        return Result(host=None, result=decoded(Judgment, value))

    def refused(self, device: str, params: Mapping[str, Any], why: str) -> Result:
        """Return the failed check of a device that could not be read, and announce that."""
        self.announce(params)(Event(Step.UNREACHABLE, device, why))
        return Result(host=None, result=Judgment((unreachable(device, why),)))


class ReadDrained(LostAsRefused):
    """``read_drained``: what is drained on a device, for the floors of a rollout."""

    name = read_drained.__name__
    changes = False

    def arguments(self, device: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the caller's own hold."""
        del device
        return {"hold": params["hold"]}

    def announce(self, params: Mapping[str, Any]) -> Events:
        """Return nobody: the task tells no step."""
        del params
        return silent

    def perform(self, bench: Workbench, request: Request, announce: Events) -> Any:
        """Read the device."""
        del announce
        arguments = {"hold": decoded(str, request.arguments["hold"])}
        return as_json(bench.perform(read_drained, request.device, arguments).result)

    def result(self, device: str, params: Mapping[str, Any], value: Any, *, asked_s: float) -> Result:
        """Return a ``DrainResult``."""
        del device, params, asked_s
        return Result(host=None, result=decoded(DrainResult, value))

    def refused(self, device: str, params: Mapping[str, Any], why: str) -> Result:
        """Return that the device does not say."""
        del params
        return Result(host=None, result=DrainResult(device, error=why))


class ReadPortsTowards(LostAsRefused):
    """``ports_towards``: over which ports a device sends to a prefix, for the floors of a rollout."""

    name = ports_towards.__name__
    changes = False

    def arguments(self, device: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the prefix that the device is asked for."""
        return {"prefix": params["prefixes"][device]}

    def announce(self, params: Mapping[str, Any]) -> Events:
        """Return nobody: the task tells no step."""
        del params
        return silent

    def perform(self, bench: Workbench, request: Request, announce: Events) -> Any:
        """Read the device."""
        del announce
        prefixes = {request.device: decoded(str, request.arguments["prefix"])}
        return sorted(bench.perform(ports_towards, request.device, {"prefixes": prefixes}).result)

    def result(self, device: str, params: Mapping[str, Any], value: Any, *, asked_s: float) -> Result:
        """Return the ports."""
        del device, params, asked_s
        return Result(host=None, result=decoded(frozenset[str], value))

    def refused(self, device: str, params: Mapping[str, Any], why: str) -> Result:
        """Return no port: the device does not say."""
        del device, params, why
        return Result(host=None, result=frozenset())


class HoldDevice(LostAsRefused):
    """``hold_device``: hold a device before a rollout reads what is drained on the others, or end that hold."""

    name = hold_device.__name__
    changes = False

    def arguments(self, device: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the hold of one device."""
        values = {name: params[name] for name in ("hold", "seconds", "message")}
        return {**values, "peers": [*params["peers_of"][device]], "over": params["over"].get(device, "")}

    def announce(self, params: Mapping[str, Any]) -> Events:
        """Return nobody: the task tells no step."""
        del params
        return silent

    def perform(self, bench: Workbench, request: Request, announce: Events) -> Any:
        """Hold the device."""
        del announce
        asked = request.arguments
        arguments = {
            "hold": decoded(str, asked["hold"]),
            "peers_of": {request.device: decoded(tuple[str, ...], asked["peers"])},
            "seconds": decoded(float, asked["seconds"]),
            "message": decoded(str, asked["message"]),
            "over": {request.device: decoded(str, asked["over"])},
        }
        return as_json(bench.perform(hold_device, request.device, arguments).result)

    def result(self, device: str, params: Mapping[str, Any], value: Any, *, asked_s: float) -> Result:
        """Return a ``HoldResult``."""
        del device, params, asked_s
        return Result(host=None, result=decoded(HoldResult, value))

    def refused(self, device: str, params: Mapping[str, Any], why: str) -> Result:
        """Return that the device does not answer: without a hold it refuses its drain."""
        del device, params, why
        return Result(host=None, result=HoldResult(silent=True))


def neighbors_in(fabric: Fabric, device: str, settled: Any) -> list[str]:
    """Return, sorted, which of a device and its neighbors are in ``settled``: no others matter to that device."""
    ends = {end for link in fabric.links_of.get(device, ()) for end in (link.lower, link.upper)}
    return sorted(end for end in ends if end in settled)
