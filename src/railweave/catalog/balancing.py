"""What a chip and the releases of SONiC have to spread load beyond one hash: fields, flowlets, spraying, trimming.

Nothing is guessed: what no source states is missing, with the reason (``data/load_balancing.json``).
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from railweave.catalog.model import Asic
from railweave.codec import read_text
from railweave.fabric.releases import RELEASES

HASH = "hash"
TRIMMING = "trimming"


class BalancingMethod(NamedTuple):
    """A method of load balancing: ``missing`` says why a chip or all releases lack it, by ``source``."""

    title: str
    missing: str
    source: str


class Balancing(NamedTuple):
    """A method on one chip; ``release`` is the first SONiC release that has it, None where none does."""

    method: str
    title: str
    release: str | None
    # Why there is none; empty where there is one.
    missing: str
    source: str


@cache
def balancing_methods() -> Mapping[str, BalancingMethod]:
    """Return the methods by the words of an intent and of the catalog."""
    text = Path(__file__).with_name("data").joinpath("load_balancing.json").read_text(encoding="utf-8")
    methods: dict[str, BalancingMethod] = read_text(dict[str, BalancingMethod], text)
    return methods


def balancing_of(asic: Asic) -> tuple[Balancing, ...]:
    """Return every method on a chip, with the first release that has it or the reason why none does."""
    methods = []
    for name, method in balancing_methods().items():
        release, source = _support(name, asic, method)
        missing = ""
        if not release:
            missing = method.missing
        methods.append(Balancing(name, method.title, release, missing, source))
    return tuple(methods)


def _support(name: str, asic: Asic, method: BalancingMethod) -> tuple[str | None, str]:
    """Return the first release that has a method on a chip, None if none has, and the source that states it."""
    if name == HASH and asic.hash_fields:
        first = next(release for release, differences in RELEASES.items() if differences.hash_fields)
        return first, asic.source
    if name == TRIMMING and asic.trimming is not None:
        return asic.trimming.release, asic.trimming.source
    return None, method.source
