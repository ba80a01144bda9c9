"""Host keys to compare, for a terminal and as JSON."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.report.layout import table

_STYLES = {"known": "dim", "new": "yellow", "changed": "bold red", "revoked": "bold red", "unreachable": "bold red"}


def trust_view(keys: Iterable[Mapping[str, str]]) -> RenderableType:
    """Return a table of keys, each with ``device, name, trust, algorithm, fingerprint, error``."""
    rows = []
    for key in keys:
        trust = Text(key["trust"], style=_STYLES[key["trust"]])
        # A device that did not answer has an error instead of a fingerprint.
        rows.append((key["device"], key["name"], trust, key["algorithm"], key["fingerprint"] or key["error"]))
    return table("device", "address", "key", "kind", "fingerprint", rows=rows)


def trust_json(keys: Iterable[Mapping[str, str]], file: str, recorded: Iterable[str]) -> dict[str, Any]:
    """Return the document of ``trust --json``: every key, and the devices whose key was written to ``file``."""
    return {"known_hosts": file, "keys": [dict(key) for key in keys], "recorded": list(recorded)}
