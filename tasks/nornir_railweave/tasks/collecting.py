"""Collecting facts: what the devices of a fabric run, one document each."""

from collections.abc import Callable, Collection

from nornir.core import Nornir

from nornir_railweave.events import Announcer, Event, Events, Step, silent
from nornir_railweave.target.connect import only
from nornir_railweave.tasks.read_facts import FactReading, read_facts


def collect(
    nr: Nornir, names: Collection[str], keep: Callable[[str], str], *, events: Events = silent
) -> dict[str, FactReading]:
    """Return the facts of the devices ``names``, made by ``keep`` of the configuration that each one prints."""
    announce = Announcer([events])
    announce(Event(Step.READING, text=f"reading {len(names)} devices", details={"devices": len(names)}))
    results = only(nr, names).run(read_facts, on_failed=True, keep=keep, announce=announce) if names else {}
    found = {}
    for name in names:
        result = results[name][0]
        if result.exception is not None:
            raise result.exception
        found[name] = result.result if isinstance(result.result, FactReading) else FactReading(error="not attempted")
    return found
