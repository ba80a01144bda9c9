"""The bundle of a node: its files, the document with its intended settings, and the program that applies them."""

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
    """Return a node's bundle for the role's module: JSON in base64.

    ``files`` are the rendered files, ``places`` their paths on the node, ``programs`` further programs by file name.
    Without ``nic_settings`` the bundle has no settings of NICs, and no query of their firmware. ``confirm`` closes the
    snapshot with the change; ``test`` is this node's part of an RDMA test.
    """
    document = orjson.loads(files[DOCUMENT])
    if not nic_settings:
        document["nic"] |= {"steps": [], "firmware_query": []}
        files = {**files, DOCUMENT: orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)}
    content: dict[str, Any] = {
        "files": [
            {"path": file.path, "mode": file.mode, "content": file.content.decode()}
            for file in places.installed(files, backend)
        ],
        "links": [{"path": path, "target": target} for path, target in places.links(files)],
        "owned": list(places.owned),
        "places": {"document": places.document, "snapshot": places.snapshot},
        "document": document,
        "programs": {"railweave_host.py": files[PROGRAM].decode(), **programs},
        "confirm": confirm,
        "test": test,
    }
    # In base64, because Ansible evaluates text with double braces as a template.
    return base64.b64encode(orjson.dumps(content))
