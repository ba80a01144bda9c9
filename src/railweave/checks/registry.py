"""The registry of rules: what each code stands for, what its checks look at, and what they yield.

A rule with checks is declared in a file of its own beside them, the codes of all other diagnostics in ``codes.toml``;
a code never gets a second meaning. A check is registered by what it looks at, and yields a ``Breach`` for everything
that breaks the rule: an intent, a fabric, the two ends of a link, the tables of a switch, or what was read of a GPU
node.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any, NamedTuple

from railweave.diagnostics import Diagnostic, Severity, Where
from railweave.fabric.devices import Host
from railweave.fabric.model import Fabric
from railweave.fabric.policy import Policies, TrafficClass
from railweave.hosts.facts import readable_facts
from railweave.hosts.values import NodeSettings, Rail, host_vendor, node_of
from railweave.intent.model import Intent
from railweave.qos.buffering import BufferPlan
from railweave.wording import natural_key

# Checks of an intent alone never need these.
if TYPE_CHECKING:
    from railweave.sonic.port_settings import PortSettings
    from railweave.sonic.resolved import ResolvedTables
    from railweave.sonic.rows import ConfigDb

Plans = Callable[[str], BufferPlan | None]
"""How a switch divides its buffer, by name; None if no source states its buffer."""


class LinkEnds(NamedTuple):
    """A link with its two ends, as they are set and as they are designed."""

    # The end nearer to the GPUs.
    lower: "PortSettings"
    upper: "PortSettings"
    lower_design: "PortSettings"
    upper_design: "PortSettings"
    # Speed, length and medium are as designed.
    speed_gbps: int
    length_m: int
    media: str
    policies: Policies
    plans: Plans

    @property
    def ends(self) -> "tuple[PortSettings, PortSettings]":
        """Return both ends, the upper one first."""
        return self.upper, self.lower

    @property
    def switches(self) -> "tuple[PortSettings, ...]":
        """Return the ends that are switches."""
        return tuple(end for end in (self.lower, self.upper) if not end.is_host)

    @property
    def lossless(self) -> frozenset[int]:
        """Return the priorities that are to be lossless on it."""
        return frozenset(traffic_class.priority for traffic_class in self.lossless_classes)

    @property
    def lossless_classes(self) -> tuple[TrafficClass, ...]:
        """Return the classes that are to be lossless on it."""
        return tuple(traffic_class for traffic_class in self.policies.classes if traffic_class.lossless)

    @property
    def marked_classes(self) -> tuple[TrafficClass, ...]:
        """Return the classes whose packets ECN marks on it."""
        return tuple(traffic_class for traffic_class in self.policies.classes if traffic_class.marks)

    def design(self, end: "PortSettings") -> "PortSettings":
        """Return an end as it is designed."""
        if end is self.lower:
            return self.lower_design
        return self.upper_design

    def far(self, end: "PortSettings") -> "PortSettings":
        """Return the other end."""
        if end is self.lower:
            return self.upper
        return self.lower


class SwitchRead(NamedTuple):
    """A switch of a fabric and its tables, as they are set or were read, and as they are designed."""

    fabric: Fabric
    name: str
    read: "ResolvedTables"
    design: "ResolvedTables"

    @property
    def tables(self) -> "ConfigDb":
        """Return the tables as they are set or were read."""
        return self.read.tables


class NodePort(NamedTuple):
    """A port of a node as it was read."""

    # ``device:port``.
    name: str
    facts: Mapping[str, Any]
    # The switch at its other end, empty without a link.
    far: str
    # The node and that switch.
    devices: tuple[str, ...]
    # Speed of all ports of its NIC together, in Gb/s: they share one PCIe slot.
    nic_gbps: int
    # Facts that the tools of its vendor report.
    readable: frozenset[str]

    def __str__(self) -> str:
        """Return ``device:port``."""
        return self.name

    @property
    def interface(self) -> str:
        """Return the port's name on its node."""
        return self.name.partition(":")[2]

    def absent(self, facts: Mapping[str, str]) -> Iterator[str]:
        """Yield the words of each fact that the vendor's tools can report but have not reported for this port.

        ``facts`` maps facts to words.
        """
        # Without any of their facts the tools did not run at all, which is reported elsewhere.
        if self.readable.isdisjoint(self.facts):
            return
        for fact, words in facts.items():
            if fact in self.readable and fact not in self.facts:
                yield words


class NodeRead(NamedTuple):
    """A GPU node and its facts."""

    fabric: Fabric
    host: Host
    document: Mapping[str, Any]

    @property
    def ports(self) -> Iterator[NodePort]:
        """Yield the node's ports in their order."""
        far_of = {link.lower_port: link.upper for link in self.fabric.links_of[self.host.name]}
        readable = readable_facts(host_vendor(self.fabric, self.host))
        for index, port in enumerate(self.host.ports):
            far = far_of.get(index, "")
            devices: tuple[str, ...] = (self.host.name,)
            if far:
                devices = (self.host.name, far)
            yield NodePort(
                name=f"{self.host.name}:{port.name}",
                facts=self.nic(port.name),
                far=far,
                devices=devices,
                nic_gbps=sum(other.speed_gbps for other in self.host.ports if other.nic == port.nic),
                readable=readable,
            )

    @property
    def intended(self) -> NodeSettings:
        """Return the node as it is intended."""
        return node_of(self.fabric, self.host)

    @property
    def rails(self) -> tuple[Rail, ...]:
        """Return the rails of the node as they are intended."""
        return self.intended.rails

    @property
    def switches(self) -> tuple[str, ...]:
        """Return the switches that the node is connected to."""
        return tuple(sorted({link.upper for link in self.fabric.links_of[self.host.name]}))

    def nic(self, name: str) -> Mapping[str, Any]:
        """Return the facts of an interface."""
        facts: Mapping[str, Any] = self.document.get("nics", {}).get(name, {})
        return facts


class Breach(NamedTuple):
    """A breach of a rule, and the fix. ``path`` is the place in the intent, empty for a check of devices."""

    path: str
    message: str
    fix: str
    severity: Severity = Severity.ERROR
    devices: tuple[str, ...] = ()

    def diagnostic(self, code: str, where: Where) -> Diagnostic:
        """Return it as a diagnostic of a rule."""
        return Diagnostic(
            code=code, severity=self.severity, message=self.message, where=where, devices=self.devices, fix=self.fix
        )


class LinkBreach(NamedTuple):
    """A breach of a rule at one end of a link; those of one device and ``kind`` are reported once."""

    end: "PortSettings"
    kind: str
    message: str
    fix: str
    severity: Severity = Severity.ERROR


Breaches = Iterator[Breach]
LinkBreaches = Iterator[LinkBreach]

FabricCheck = Callable[[Fabric], Breaches]
IntentCheck = Callable[[Intent], Breaches]
LinkCheck = Callable[[LinkEnds], LinkBreaches]
SwitchCheck = Callable[[SwitchRead], Breaches]
NodeCheck = Callable[[NodeRead], Breaches]

FABRIC_CHECKS: list[tuple[str, FabricCheck]] = []
INTENT_CHECKS: list[tuple[str, IntentCheck]] = []
LINK_CHECKS: list[tuple[str, LinkCheck]] = []
SWITCH_CHECKS: list[tuple[str, SwitchCheck]] = []
NODE_CHECKS: list[tuple[str, NodeCheck]] = []
"""Codes of rules with their checks, by what these look at."""


class Rule(NamedTuple):
    """A rule with its explanation in the reference."""

    code: str
    # The state that the rule requires.
    title: str
    explanation: str
    # An intent that breaks it.
    example: str
    # The usual fix.
    fix: str
    # Why the reference can show no example.
    no_example: str = ""

    def on_fabric(self, check: FabricCheck) -> FabricCheck:
        """Register a check of the designed fabric."""
        FABRIC_CHECKS.append((self.code, check))
        return check

    def on_intent(self, check: IntentCheck) -> IntentCheck:
        """Register a check of the intent alone."""
        INTENT_CHECKS.append((self.code, check))
        return check

    def on_link(self, check: LinkCheck) -> LinkCheck:
        """Register a check of the two ends of a link, as they are set."""
        LINK_CHECKS.append((self.code, check))
        return check

    def on_switch(self, check: SwitchCheck) -> SwitchCheck:
        """Register a check of the tables of one switch."""
        SWITCH_CHECKS.append((self.code, check))
        return check

    def on_node(self, check: NodeCheck) -> NodeCheck:
        """Register a check of the facts of one GPU node."""
        NODE_CHECKS.append((self.code, check))
        return check


_RULES: dict[str, Rule] = {}


def rule(
    code: str, title: str, explanation: str | None, example: str = "", *, fix: str = "", no_example: str = ""
) -> Rule:
    """Declare a rule and return it; raises ValueError if its code is declared already."""
    if code in _RULES:
        raise ValueError(f"{code} stands for `{_RULES[code].title}` already")
    _RULES[code] = Rule(code, title, " ".join((explanation or "").split()), example, fix, no_example)
    return _RULES[code]


@cache
def all_rules() -> dict[str, Rule]:
    """Return every rule by its code."""
    import tomllib

    package = import_module("railweave.checks")
    # Importing a module declares its rules.
    for module in walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)
    for code, text in tomllib.loads(Path(__file__).with_name("codes.toml").read_text("utf-8")).items():
        rule(code, **text)
    return {code: _RULES[code] for code in sorted(_RULES, key=natural_key)}


def priorities_text(numbers: Collection[int] | None) -> str:
    """Return ``3, 4``, or that there is none."""
    if not numbers:
        return "no priority"
    return ", ".join(map(str, sorted(numbers)))


def unlike(link: LinkEnds, what: str, lower: object, upper: object) -> LinkBreaches:
    """Yield a breach if a setting was read at both ends and differs, so that the link stays down.

    ``what`` names the setting; ``lower`` and ``upper`` are its values, None if they were not read.
    """
    if lower is not None and upper is not None and lower != upper:
        message = f"{link.lower} has {what} {lower}, {link.upper} {upper}: the link stays down"
        yield LinkBreach(link.upper, what, message, f"set {what} alike on both ends")


def not_exactly(
    link: LinkEnds, end: "PortSettings", does: str, means: str, numbers: tuple[frozenset[int] | None, frozenset[int]]
) -> LinkBreaches:
    """Yield a breach if a switch does something for other priorities than the intended ones.

    ``does`` is what it does, such as ``keeps headroom for``, and ``means`` the setting for that. ``numbers`` are the
    actual priorities, None if they were not read, and the intended ones.
    """
    actual, intended = numbers
    if actual is None or actual == intended:
        return
    intended_text = priorities_text(intended)
    message = (
        f"{end} {does} {priorities_text(actual)}, while {intended_text} is lossless between it and {link.far(end)}"
    )
    yield LinkBreach(end, does, message, f"put {means} of {end} on {intended_text} and nothing else")
