"""Acceptance tests on GPU nodes, through Ansible: one task a node for each part, none for a round."""

import base64
import json
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol

import orjson

from railweave.acceptance.running.answers import NodeAnswer
from railweave.fabric.devices import Host
from railweave.hosts.outcome import HostState
from railweave.hosts.places import DOCUMENT, PROGRAM
from railweave.hosts.render import HostRenderer
from railweave_hosts.access import HostAccess, inventory_of
from railweave_hosts.runner import NodeReading, Report, read_nodes

ROLE = "railweave_acceptance"
_PREPARE = "prepare"
_TITLES = {_PREPARE: "preparing", "start": "starting", "fetch": "fetching", "stop": "ending"}
# A program that is sent to thousands of nodes is packed by as many workers as there are.
_LEAST_FORKS = 5


class NodeProgress(Protocol):
    """Shows how a part gets on; receives the name and state of each node (`Operator.node_progress`)."""

    def __call__(self, title: str, count: int) -> AbstractContextManager[Report | None]:
        """Return what receives the nodes of a part."""


class AnsibleNodes:
    """The nodes of an acceptance (``railweave.acceptance.running.answers.NodeSet``)."""

    def __init__(
        self, fabric: str, renderer: HostRenderer, access: HostAccess, hosts: Sequence[Host], progress: NodeProgress
    ) -> None:
        """Reach ``hosts`` by ``access``; raises RefusedError, which names every node without an address."""
        self._inventory = inventory_of(access, hosts, fabric)
        self._hosts = {host.name: host for host in hosts}
        self._renderer = renderer
        self._access = access
        self._progress = progress

    def ask(self, part: str, requests: Mapping[str, Mapping[str, Any]]) -> dict[str, NodeAnswer]:
        """Return the answers of the nodes of ``requests`` to a part; raises RailweaveError if Ansible does not run."""
        if not requests:
            return {}
        # When the answer of each node arrived, in Unix seconds.
        arrived_at: dict[str, float] = {}
        bundles = {node: self._bundle(part, node, request) for node, request in requests.items()}
        inventory = {node: self._inventory[node] for node in requests}
        forks = max(_LEAST_FORKS, min(len(requests), self._access.batches.forks))
        access = replace(self._access, batches=replace(self._access.batches, forks=forks))
        with self._progress(_TITLES[part], len(requests)) as show:

            def report(name: str, state: HostState) -> None:
                arrived_at[name] = time.time()
                if show is not None:
                    show(name, state)

            readings = read_nodes(access, inventory, bundles, report, part=part, role=ROLE)
        return {reading.name: _answer(reading, arrived_at.get(reading.name)) for reading in readings}

    def _bundle(self, part: str, node: str, request: Mapping[str, Any]) -> bytes:
        """Return a node's request for the role's module: JSON in base64."""
        content = dict(request)
        if part == _PREPARE:
            content["facts"] = self._facts_programs(node)
        # In base64, because Ansible evaluates text with double braces as a template.
        return base64.b64encode(orjson.dumps(content))

    def _facts_programs(self, node: str) -> dict[str, Any]:
        """Return the programs that read a node's settings, and the document that names them."""
        files = self._renderer.files(self._hosts[node])
        document = orjson.loads(files[DOCUMENT])
        if not self._access.nic_settings:
            document["nic"] |= {"steps": [], "firmware_query": []}
        programs = {"railweave_host.py": files[PROGRAM].decode(), **self._renderer.programs()}
        return {"programs": programs, "document": document}


def _answer(reading: NodeReading, arrived_at: float | None) -> NodeAnswer:
    """Return the answer in what the node's module printed, with the offset of the node's clock.

    ``arrived_at`` is when it arrived, in Unix seconds; None means now.
    """
    if reading.facts is None:
        return NodeAnswer(error=reading.error or "it did not answer")
    try:
        document = json.loads(zlib.decompress(base64.b64decode(reading.facts["packed"])))
        clock = float(reading.facts["clock"])
    except (KeyError, ValueError, TypeError, zlib.error):
        return NodeAnswer(error="the answer of its program cannot be read")
    if arrived_at is None:
        arrived_at = time.time()
    return NodeAnswer(document, offset_s=clock - arrived_at)
