"""Names as consumers accept them: refused or shortened before anything is written.

Label values and names of objects follow Kubernetes' rules; a label value that is too long is shortened as topograph
does, to ``x`` and its FNV-1a hash, so that both write the same value.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from railweave.diagnostics import Diagnostic, Where, error

MOST_LABEL: Final = 63
"""Longest label value, and longest part of a host name (RFC 1123)."""
_MOST_SUBDOMAIN = 253
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?")
_DNS_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_KEY_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
# Slurm's names end a word of its file, and brackets and commas form lists (slurm.conf(5), NodeName).
_SLURM = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*)")
_MOST_SLURM = 64
"""Linux's HOST_NAME_MAX, which bounds Slurm's node names."""

# The parameters of 64-bit FNV-1 (RFC 9923 section 5); Go's fnv.New64a, which topograph uses, is FNV-1a.
_FNV_OFFSET = 0xCBF29CE484222325
_FNV_PRIME = 0x100000001B3


class NameRule(NamedTuple):
    """What a consumer accepts as a name."""

    consumer: str
    most: int
    pattern: re.Pattern[str]
    rule: str

    def fault(self, name: str) -> str:
        """Return what is wrong with a name, empty for an accepted one."""
        if len(name) > self.most:
            return f"it has {len(name)} characters, {self.consumer} accepts {self.most}"
        if not self.pattern.fullmatch(name):
            return f"{self.consumer} accepts {self.rule}"
        return ""


SLURM = NameRule("Slurm", _MOST_SLURM, _SLURM, "letters, digits, `.`, `_` and `-`, a letter or digit first")
LABEL_VALUE = NameRule(
    "a Kubernetes label", MOST_LABEL, _LABEL_VALUE, "letters, digits, `.`, `_` and `-`, a letter or digit at both ends"
)
SUBDOMAIN = NameRule(
    consumer="Kubernetes",
    most=_MOST_SUBDOMAIN,
    pattern=re.compile(rf"{_DNS_LABEL.pattern}(?:\.{_DNS_LABEL.pattern})*"),
    rule="lower-case letters, digits, `-` and `.`, a letter or digit at the ends of each part (RFC 1123)",
)
DNS_LABEL = NameRule("DNS", MOST_LABEL, _DNS_LABEL, "lower-case letters, digits and `-` in a part of a name (RFC 1123)")
INTERFACE = NameRule(
    # IFNAMSIZ of Linux is 16 with the closing zero.
    consumer="Linux",
    most=15,
    pattern=re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*"),
    rule="letters, digits, `.`, `_` and `-` in the name of an interface",
)
GROUP = NameRule(
    "Ansible", 255, re.compile(r"[A-Za-z_][A-Za-z0-9_]*"), "letters, digits and `_` in the name of a group"
)


def name_faults(names: Iterable[str], rule: NameRule, what: str, where: Where, fix: str) -> Iterator[Diagnostic]:
    """Yield an error for each name that a consumer refuses; ``what`` is the kind of thing that is named."""
    for name in dict.fromkeys(names):
        fault = rule.fault(name)
        if fault:
            yield error("RW950", f"{what} {name!r}: {fault}", where, fix=fix)


def key_fault(key: str) -> str:
    """Return what is wrong with a label's key, empty for an accepted one.

    A key is a name of at most 63 characters, which may have a DNS name and a slash in front.
    """
    prefix, slash, name = key.rpartition("/")
    if slash:
        prefix_fault = SUBDOMAIN.fault(prefix)
        if prefix_fault:
            return f"the prefix {prefix!r}: {prefix_fault}"
    if len(name) > MOST_LABEL:
        return f"the name {name!r} has {len(name)} characters, Kubernetes accepts {MOST_LABEL}"
    if not _KEY_NAME.fullmatch(name):
        return f"the name {name!r}: {LABEL_VALUE.consumer} accepts {LABEL_VALUE.rule}"
    return ""


def label_value(name: str) -> str:
    """Return a name as a label value; one of more than 63 characters becomes ``x`` and its hash, as in topograph."""
    if len(name) <= MOST_LABEL:
        return name
    return f"x{fnv_1a(name):x}"


def fnv_1a(text: str) -> int:
    """Return the 64-bit FNV-1a hash of a text."""
    value = _FNV_OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _FNV_PRIME & 0xFFFFFFFFFFFFFFFF
    return value


def collisions(names: Iterable[tuple[str, str]], what: str, where: Where, fix: str) -> Iterator[Diagnostic]:
    """Yield an error for each name that is written as an earlier one is; ``names`` are pairs (name, as written)."""
    first_names: dict[str, str] = {}
    for name, written in names:
        first_name = first_names.setdefault(written, name)
        if first_name != name:
            message = f"{what} {first_name!r} and {name!r} would both be written as {written!r}"
            yield error("RW951", message, where, fix=fix)
