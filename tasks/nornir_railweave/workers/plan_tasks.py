"""The smaller tasks of a plan, as messages: links towards silent neighbors, ports in use, commits that expired."""

from collections.abc import Mapping, Sequence
from typing import Any

from nornir.core.task import Result

from nornir_railweave.events import Events, silent
from nornir_railweave.rollout.planning import find_live_ports
from nornir_railweave.tasks.links_up_towards import ports_up
from nornir_railweave.tasks.timers import revert_expired_commit
from nornir_railweave.workers.message import Request, decoded
from nornir_railweave.workers.spread_task import LostAsRefused
from nornir_railweave.workers.workbench import Workbench
from railweave.codec import as_json
from railweave.sonic.delta.closing import ClosingPort


class PortsUp(LostAsRefused):
    """``ports_up``: which of a switch's ports are up."""

    name = ports_up.__name__
    changes = False

    def arguments(self, device: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the ports."""
        return {"ports": list(params["ports_of"][device])}

    def announce(self, params: Mapping[str, Any]) -> Events:
        """Return nobody."""
        del params
        return silent

    def perform(self, bench: Workbench, request: Request, announce: Events) -> Any:
        """Look at the ports."""
        del announce
        ports = decoded(tuple[str, ...], request.arguments["ports"])
        params = {"ports_of": {request.device: dict.fromkeys(ports, "")}}
        return list(bench.perform(ports_up, request.device, params).result)

    def result(self, device: str, params: Mapping[str, Any], value: Any, *, asked_s: float) -> Result:
        """Return the names of ports."""
        del device, params, asked_s
        return Result(host=None, result=decoded(tuple[str, ...], value))

    def refused(self, device: str, params: Mapping[str, Any], why: str) -> Result:
        """Return all ports: those of a neighbor that does not answer count as up."""
        del why
        return Result(host=None, result=tuple(params["ports_of"][device]))


class FindLivePorts(LostAsRefused):
    """``find_live_ports``: which ports that close for good are in use."""

    name = find_live_ports.__name__
    changes = False

    def arguments(self, device: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the ports that close, the nodes at their far ends that stay, and what counts as quiet."""
        closing: Sequence[ClosingPort] = params["ports_of"][device]
        stay = sorted({port.far_end for port in closing} & params["hosts"])
        return {"ports": as_json(list(closing)), "hosts": stay, "packets_per_s": params["packets_per_s"]}

    def announce(self, params: Mapping[str, Any]) -> Events:
        """Return nobody."""
        del params
        return silent

    def perform(self, bench: Workbench, request: Request, announce: Events) -> Any:
        """Look at the ports and count their packets."""
        del announce
        asked = request.arguments
        params = {
            "ports_of": {request.device: decoded(tuple[ClosingPort, ...], asked["ports"])},
            "hosts": decoded(frozenset[str], asked["hosts"]),
            "packets_per_s": decoded(float, asked["packets_per_s"]),
        }
        return as_json(bench.perform(find_live_ports, request.device, params).result)

    def result(self, device: str, params: Mapping[str, Any], value: Any, *, asked_s: float) -> Result:
        """Return the ports in use."""
        del device, params, asked_s
        return Result(host=None, result=decoded(tuple[ClosingPort, ...], value))

    def refused(self, device: str, params: Mapping[str, Any], why: str) -> Result:
        """Return all ports: those of a device that does not answer count as in use."""
        del why
        return Result(host=None, result=tuple(params["ports_of"][device]))


class RevertExpired(LostAsRefused):
    """``revert_expired_commit``: revert what a switch's own timer should have reverted.

    ``changes`` is false, as no plan is carried out by it.
    """

    name = revert_expired_commit.__name__
    changes = False

    def arguments(self, device: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return nothing: the switch knows its commit."""
        del device, params
        return {}

    def announce(self, params: Mapping[str, Any]) -> Events:
        """Return the plan's listener."""
        announce: Events = params["announce"]
        return announce

    def perform(self, bench: Workbench, request: Request, announce: Events) -> Any:
        """Revert a commit whose deadline has passed."""
        return bool(bench.perform(revert_expired_commit, request.device, {"announce": announce}).result)

    def result(self, device: str, params: Mapping[str, Any], value: Any, *, asked_s: float) -> Result:
        """Return whether there was such a commit."""
        del device, params, asked_s
        return Result(host=None, result=value is True)

    def refused(self, device: str, params: Mapping[str, Any], why: str) -> Result:
        """Return that nothing was reverted; the reading that follows finds why."""
        del device, params
        return Result(host=None, result=False, failed=True, error=why)
