"""Host keys for a person who is to compare them, and as JSON."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.report.layout import table

_STYLES = {"known": "dim", "new": "yellow", "changed": "bold red", "revoked": "bold red", "unreachable": "bold red"}


def trust_view(keys: Iterable[Mapping[str, str]]) -> RenderableType:
    """Return a table of keys: ``device, name, trust, algorithm, fingerprint, error`` of each."""
    rows = (
        (
            *(one["device"], one["name"], Text(one["trust"], style=_STYLES[one["trust"]])),
            *(one["algorithm"], one["fingerprint"] or one["error"]),
        )
        for one in keys
    )
    return table("device", "address", "key", "kind", "fingerprint", rows=rows)


def trust_json(keys: Iterable[Mapping[str, str]], file: str, recorded: Iterable[str]) -> dict[str, Any]:
    """Return the contract of ``trust --json``: every key seen, and the devices whose key was written to ``file``."""
    return {"known_hosts": file, "keys": [dict(one) for one in keys], "recorded": list(recorded)}
