"""Host keys for a person who is to compare them, and as JSON."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

_STYLES = {"known": "dim", "new": "yellow", "changed": "bold red", "unreachable": "bold red"}


def trust_view(keys: Iterable[Mapping[str, str]]) -> RenderableType:
    """Return a table of keys: ``device, name, trust, algorithm, fingerprint, error`` of each."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    for column in ("device", "address", "key", "kind", "fingerprint"):
        table.add_column(column, overflow="fold")
    for one in keys:
        table.add_row(
            one["device"],
            Text(one["name"]),
            Text(one["trust"], style=_STYLES[one["trust"]]),
            one["algorithm"],
            Text(one["fingerprint"] or one["error"]),
        )
    return table


def trust_json(keys: Iterable[Mapping[str, str]], file: str, recorded: Iterable[str]) -> dict[str, Any]:
    """Return the contract of ``trust --json``: every key seen, and the devices whose key was written to ``file``."""
    return {"known_hosts": file, "keys": [dict(one) for one in keys], "recorded": list(recorded)}
