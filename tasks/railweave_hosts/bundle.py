"""All that one node needs in one file: its files, the document it is held to, and the program that holds it."""

import base64
from collections.abc import Mapping
from typing import Any

import orjson

from railweave.fabric.policy import NetworkBackend
from railweave.hosts.places import DOCUMENT, PROGRAM, Places


def bundle(
    files: Mapping[str, bytes],
    places: Places,
    backend: NetworkBackend,
    programs: Mapping[str, str],
    *,
    nic_settings: bool = True,
    confirm: bool = True,
    test: Mapping[str, Any] | None = None,
) -> bytes:
    """Return the JSON that the role's module works on; ``files`` are a node's rendered files, ``places`` where they go,
    ``programs`` those that work beside its own. ``confirm`` closes the snapshot with the change; ``test`` is its end of
    an RDMA test."""
    document = orjson.loads(files[DOCUMENT])
    if not nic_settings:
        document["nic"] |= {"steps": [], "firmware_query": []}
        files = {**files, DOCUMENT: orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)}
    path, target = places.start_at_boot
    content: dict[str, Any] = {
        "files": [
            {"path": one.path, "mode": one.mode, "content": one.content.decode()}
            for one in places.installed(files, backend)
        ],
        "links": [{"path": path, "target": target}],
        "owned": list(places.owned),
        "places": {"document": places.document, "snapshot": places.snapshot},
        "document": document,
        "programs": {"railweave_host.py": files[PROGRAM].decode(), **programs},
        "confirm": confirm,
        "test": test,
    }
    # In base64, because Ansible takes text with braces for a template.
    return base64.b64encode(orjson.dumps(content))
