"""``endpoints.json``: how to reach the switches and nodes of a running simulator or lab; in the project's state.

The simulator writes it by itself (``sonic_sim``, which imports nothing of railweave); the lab's is written here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from railweave.codec import InvalidValueError, as_json, read_text

ENDPOINTS = "endpoints.json"


@dataclass(frozen=True, slots=True)
class SwitchEndpoint:
    """Where a switch is reached; port 0 where the driver's transport has none."""

    address: str
    port: int


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The content of the file; without ``key_file`` the switches take the login of the target."""

    devices: Mapping[str, SwitchEndpoint]
    # Options of the driver, such as its transport.
    options: Mapping[str, Any] = field(default_factory=dict)
    username: str = ""
    key_file: str = ""
    known_hosts: str = ""
    # The simulator's process; 0 of a lab.
    pid: int = 0
    # Where the GPU nodes are reached, as root with the same key; empty where there are none.
    nodes: Mapping[str, SwitchEndpoint] = field(default_factory=dict)
    # The real seconds in which a second of a test on these nodes passes; 0 where it is not stated, as for 1.
    pace: float = 0.0


def read_endpoints(file: Path) -> Endpoints:
    """Return the content of the file. Raises OSError, and CodecError if the content is not valid."""
    endpoints: Endpoints = read_text(Endpoints, file.read_bytes())
    if endpoints.key_file and not (endpoints.username and endpoints.known_hosts):
        raise InvalidValueError(("key_file",), "a key without its user and the file of host keys")
    return endpoints


def write_endpoints(file: Path, endpoints: Endpoints) -> None:
    """Write the file, without the members that are empty."""
    document = {name: value for name, value in as_json(endpoints).items() if value or name == "devices"}
    file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
