"""Comparing a NIC's settings, as read by a node's program, with the steps of its vendor's pack.

The node's own program decides the same (``railweave_host.py``, which cannot import this module there); a property test
compares the two on every read of every pack.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from railweave.catalog.load import load_catalog
from railweave.hosts.packs import filled_steps
from railweave.hosts.values import NodeSettings, same_class

Read = Mapping[str, Any]
"""A read of a step, with the values of a fabric filled in (catalog/data/README.md)."""
Setting = str | Mapping[str, str]
"""The result of a read: a word, a number in decimal, or a map."""


class UnmetSetting(NamedTuple):
    """A setting (``what``) of a NIC that differs from the intended one; ``effect`` is the consequence, if known."""

    what: str
    actual: str
    intended: str
    effect: str


def is_as_intended(read: Read, actual: Setting) -> bool:
    """Tell whether a setting has the value that ``read`` wants, or ``read`` wants none.

    The ECN bits of a ToS byte do not count.
    """
    if "want" not in read:
        return True
    want = read["want"]
    if isinstance(want, Mapping) and isinstance(actual, Mapping):
        return not list(_unmet_keys(read, want, actual))
    if read.get("is_tos") and isinstance(actual, str) and actual.isdigit():
        return same_class(int(actual), int(want))
    return bool(actual == want)


def unmet_settings(node: NodeSettings, settings: Mapping[str, Setting]) -> Iterator[UnmetSetting]:
    """Yield the settings that differ from the intended ones; ``settings`` are by the names of the vendor's reads.

    Settings with a fact of their own are left out: other checks compare them.
    """
    for read in _compared_reads(node):
        name = read["what"]
        actual = settings.get(name)
        if actual is not None and not is_as_intended(read, actual):
            actual_text, intended_text = _texts(read, actual)
            yield UnmetSetting(name, actual_text, intended_text, _effect(node, name))


def unread_settings(node: NodeSettings, settings: Mapping[str, Setting]) -> Iterator[str]:
    """Yield the names of reads without a result, except ``optional`` ones, which a driver may lack."""
    for read in _compared_reads(node):
        if read["what"] not in settings and not read.get("optional"):
            yield read["what"]


def _effect(node: NodeSettings, name: str) -> str:
    """Return what follows if a setting differs, as the vendor's pack states it; empty if it states nothing."""
    if not node.vendor:
        return ""
    for start, effect in load_catalog().vendor_pack(node.vendor).effects.items():
        if name.startswith(start):
            return effect.replace("$relief", _relief(node))
    return ""


def _relief(node: NodeSettings) -> str:
    """Return what happens in place of ECN: packets of lossy RDMA are dropped, others paused."""
    if node.marking is not None and node.marking.is_lossy:
        return "switches drop packets"
    return "PFC pauses"


def _compared_reads(node: NodeSettings) -> Iterator[Read]:
    """Yield the reads of a node's NICs that want a value and have no fact of their own."""
    if node.vendor is None or node.marking is None:
        return
    pack = load_catalog().vendor_pack(node.vendor)
    with_fact = {source["what"] for source in pack.facts.values()}
    for step in filled_steps(pack, node.marking, node.receive):
        for read in step["reads"]:
            if "want" in read and read["what"] not in with_fact:
                yield read


def _unmet_keys(read: Read, want: Mapping[str, str], actual: Mapping[str, str]) -> Iterator[str]:
    """Yield the keys of the map ``actual`` whose entries may not stay as they are."""
    # Buffers may be larger than intended.
    if read.get("at_least"):
        for key, least in want.items():
            if int(actual.get(key, "0")) < int(least):
                yield key
        return
    for key, value in want.items():
        if actual.get(key) != value:
            yield key
    unintended = {key: value for key, value in actual.items() if key not in want}
    yield from _surplus_keys(read, unintended)


def _surplus_keys(read: Read, unintended: Mapping[str, str]) -> Iterator[str]:
    """Yield the keys of unintended entries that may not stay: all of them, unless ``read`` names values to clear."""
    if "clear" not in read:
        yield from unintended
        return
    # Other keys may keep any value except the cleared ones, in whose place they get that of ``rest``.
    cleared_values = {*read["clear"]} - {read["rest"]}
    for key, value in unintended.items():
        if value in cleared_values:
            yield key


def _texts(read: Read, actual: Setting) -> tuple[str, str]:
    """Return a setting and its intended value as texts; of a map only the entries that differ."""
    want = read["want"]
    if not isinstance(want, Mapping) or not isinstance(actual, Mapping):
        return str(actual), str(want)
    keys = list(_unmet_keys(read, want, actual))
    actual_text = " ".join(f"{key}:{actual.get(key, 'none')}" for key in keys)
    # The value that an unintended entry gets.
    rest = read.get("rest", "none")
    intended_text = " ".join(f"{key}:{want.get(key, rest)}" for key in keys)
    return actual_text, intended_text
