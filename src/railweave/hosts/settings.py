"""Whether a NIC's settings, as a node's program reads them, are as the steps of its vendor's pack want them.

The node's own program decides the same for itself (``railweave_host.py``, which runs there alone); a property test
compares the two on every read of every pack.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from railweave.catalog.load import load_catalog
from railweave.catalog.model import VendorPack
from railweave.hosts.packs import filled_steps
from railweave.hosts.values import Node

Read = Mapping[str, Any]
"""A read of a step, with the values of a fabric filled in (catalog/data/README.md)."""
Setting = str | Mapping[str, str]
"""What a read shows: a word, a number in decimal, or a map."""


class UnmetSetting(NamedTuple):
    """A setting (``what``) of a NIC that differs from what is intended; ``effect`` is what that costs, if known."""

    what: str
    actual: str
    intended: str
    effect: str


def is_as_intended(read: Read, actual: Setting) -> bool:
    """Tell whether a setting is as ``read`` wants it: of a map with ``clear`` no other key may have one of these
    values, of one with ``at_least`` entries may be larger, and of a ToS byte the ECN bits do not count."""
    if "want" not in read:
        return True
    want = read["want"]
    if isinstance(want, Mapping) and isinstance(actual, Mapping):
        return not list(_unmet_entries(read, want, actual))
    if read.get("is_tos") and isinstance(actual, str) and actual.isdigit():
        return int(actual) // 4 == int(want) // 4
    return bool(actual == want)


def unmet_settings(node: Node, settings: Mapping[str, Setting]) -> Iterator[UnmetSetting]:
    """Yield which of ``settings``, by the names of the vendor's reads, differ from what is intended.

    Those that have a fact of their own are left out: other checks compare them.
    """
    for read in _compared(node):
        actual = settings.get(read["what"])
        if actual is not None and not is_as_intended(read, actual):
            shown, intended = _texts(read, actual)
            yield UnmetSetting(read["what"], shown, intended, _effect(node, read["what"]))


def unread_settings(node: Node, settings: Mapping[str, Setting]) -> Iterator[str]:
    """Yield the names of reads that were not taken; a driver may lack an ``optional`` one."""
    for read in _compared(node):
        if read["what"] not in settings and not read.get("optional"):
            yield read["what"]


def _effect(node: Node, what: str) -> str:
    if node.vendor is None:
        return ""
    effects = load_catalog().vendor_pack(node.vendor).effects
    return next((effect for start, effect in effects.items() if what.startswith(start)), "")


def _compared(node: Node) -> Iterator[Read]:
    """Yield the reads of a node's NICs that want something and have no fact of their own."""
    if node.vendor is None or node.marking is None:
        return
    pack = load_catalog().vendor_pack(node.vendor)
    own_facts = _with_own_fact(pack)
    for step in filled_steps(pack, node.marking, node.receive):
        yield from (read for read in step["reads"] if "want" in read and read["what"] not in own_facts)


def _with_own_fact(pack: VendorPack) -> set[str]:
    return {source["what"] for source in pack.facts.values()}


def _unmet_entries(read: Read, want: Mapping[str, str], actual: Mapping[str, str]) -> Iterator[str]:
    """Yield the keys of a map whose entries are otherwise than intended."""
    if read.get("at_least"):
        yield from (key for key, least in want.items() if int(actual.get(key, "0")) < int(least))
        return
    yield from (key for key, value in want.items() if actual.get(key) != value)
    if "clear" in read:
        # What is cleared gets the value of the rest, and may have it already.
        cleared = (key for key, value in actual.items() if key not in want and value in read["clear"])
        yield from (key for key in cleared if actual[key] != read["rest"])
    else:
        yield from (key for key in actual if key not in want)


def _texts(read: Read, actual: Setting) -> tuple[str, str]:
    """Return a setting and what is intended as text; of a map the entries that differ."""
    want = read["want"]
    if not isinstance(want, Mapping) or not isinstance(actual, Mapping):
        return str(actual), str(want)
    keys = list(_unmet_entries(read, want, actual))
    shown = " ".join(f"{key}:{actual.get(key, 'none')}" for key in keys)
    intended = " ".join(f"{key}:{want.get(key, read.get('rest', 'none'))}" for key in keys)
    return shown, intended
