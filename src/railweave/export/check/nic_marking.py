"""Templates of NVIDIA's network operator that a cluster has, compared with the marking that the switches expect.

The operator would set NICs differently from the switches: their packets would be lossy, or pause the wrong class. Each
difference is shown with both places, the template's and the intent's.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from railweave.diagnostics import Diagnostic, Where, error, warning
from railweave.export.check.placed import PlacedValue
from railweave.export.formats.nic_configuration import (
    NIC_TYPES,
    ManagedKind,
    has_rich_fields,
    managed_kinds,
    nic_templates,
)
from railweave.export.model import ExportSource
from railweave.export.nodes import KIND_LABEL, NodeKind
from railweave.fabric.policy import ClassRole
from railweave.hosts.values import same_class
from railweave.wording import command_line

KIND = "NicConfigurationTemplate"
_QOS = ("spec", "template", "roceOptimized", "qos")
# What the operator sets where a template with roceOptimized says nothing (pkg/configuration/configvalidation.go).
_DEFAULTS = {"CNP_DSCP": "4", "CNP_802P_PRIO": "6", "ROCE_CC_PRIO_MASK": "255"}


def _fix() -> str:
    written = command_line("export", "nic-configuration")
    return f"apply `{written}`, or change the class in the intent, in phases"


class _Setting(NamedTuple):
    """A setting of a template and the value that the switches expect."""

    path: tuple[str, ...]
    intended: str
    # The path of the intent that states it.
    source: str


def compare_templates(source: ExportSource, templates: Sequence[PlacedValue]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each setting of marking, PFC, ECN and cable length that contradicts the switches.

    A template that selects no NIC and a kind of nodes that no template selects have one, too.
    """
    kinds = managed_kinds(source)
    for template in templates:
        selected = [managed for managed in kinds if _selects(template, managed.kind)]
        if not selected:
            message = f"{KIND} {template.text('metadata', 'name')!r} selects no NIC of the intent ({source.top})"
            yield warning("RW953", message, template.where, fix="correct nicSelector or nodeSelector")
        for managed in selected:
            yield from _compare(source, managed, template)
    for kind, _ in kinds:
        if not any(_selects(template, kind) for template in templates):
            message = f"no {KIND} selects the {kind.host.nic_model} NICs of {kind.name!r}"
            where = source.where(kind.fabric, "nodes")
            yield error("RW953", f"{message} ({where})", Where(templates[0].where.file), fix=_fix())


def _selects(template: PlacedValue, kind: NodeKind) -> bool:
    """Tell whether a template selects NICs of a kind of nodes: by NIC type, label of the kind and PCI addresses."""
    selector = template.at("spec", "nicSelector")
    if selector is None or selector.text("nicType") != NIC_TYPES[kind.host.nic_model]:
        return False
    if template.text("spec", "nodeSelector", KIND_LABEL) not in ("", kind.name):
        return False
    addresses = {address.text() for address in selector.items("pciAddresses")}
    own_addresses = {port.pci for port in kind.host.ports}
    has_own_addresses = own_addresses != {""}
    # Without addresses on either side the type alone selects.
    if not addresses or not has_own_addresses:
        return True
    return not addresses.isdisjoint(own_addresses)


def _compare(source: ExportSource, managed: ManagedKind, template: PlacedValue) -> Iterator[Diagnostic]:
    """Yield the differences of one template from the marking of one kind of nodes that it selects."""
    kind = managed.kind
    if template.text("spec", "template", "spectrumXOptimized", "enabled") == "true":
        message = "spectrumXOptimized takes marking from the operator's profile, which is not compared"
        profile = template.at("spec", "template", "spectrumXOptimized") or template
        yield warning("RW953", message, profile.where, fix="compare the profile's DSCP and priorities with the intent")
        return
    if template.text("spec", "template", "roceOptimized", "enabled") != "true":
        settings = template.at("spec", "template") or template
        classes = source.where(kind.fabric, "traffic_classes")
        message = f"roceOptimized is off, so the operator sets no marking; the switches expect that of {classes}"
        yield error("RW953", message, settings.where, fix=_fix())
        return
    (intended_object,) = nic_templates(source, [managed])
    intended = intended_object["spec"]["template"]
    for setting in _settings(managed, intended["roceOptimized"]["qos"], source.options.release):
        yield from _compare_setting(source, kind, template, setting)
    yield from _compare_firmware(source, kind, template, intended["rawNvConfig"])


def _settings(managed: ManagedKind, qos: Mapping[str, object], release: str) -> Iterator[_Setting]:
    """Yield the settings that the operator of a release takes, with the values of the intended ``qos``."""
    kind, marking = managed
    rdma = _class_path(kind, ClassRole.RDMA)
    yield _Setting(("trust",), str(qos["trust"]), rdma)
    yield _Setting(("pfc",), str(qos["pfc"]), f"{rdma}.priority")
    yield _Setting(("tos",), str(qos["tos"]), f"{rdma}.dscp")
    if has_rich_fields(release):
        yield _Setting(("cableLen",), str(kind.cable_m), "cabling.host.length_m")
        yield _Setting(("ecn", "enabled"), "true", rdma)
        yield _Setting(("ecn", "priority"), str(marking.priority), f"{rdma}.priority")
        yield _Setting(("pauseFrames", "enabled"), "false", rdma)


def _class_path(kind: NodeKind, role: ClassRole) -> str:
    """Return the path of the first traffic class of a role with a DSCP, or that of all classes if there is none."""
    for number, traffic in enumerate(kind.fabric.policies.classes):
        if traffic.role is role and traffic.dscp:
            return f"traffic_classes[{number}]"
    return "traffic_classes"


def _stated(source: ExportSource, kind: NodeKind, path: str) -> str:
    """Return the place and the path of a value in the intent, as text."""
    where = source.where(kind.fabric, path)
    # A default has no place of its own, only the start of the file.
    if (where.line, where.column) == (1, 1):
        return f"{where.file}, by default of {path}"
    return f"{where}, {path}"


def _compare_setting(
    source: ExportSource, kind: NodeKind, template: PlacedValue, setting: _Setting
) -> Iterator[Diagnostic]:
    """Yield an error if a template lacks a setting or has another value."""
    intent_place = _stated(source, kind, setting.source)
    name = ".".join(("qos", *setting.path))
    member = template.at(*_QOS, *setting.path)
    if member is None:
        parent = template.at(*_QOS) or template
        message = f"{name} is missing, the switches expect {setting.intended} ({intent_place})"
        yield error("RW953", message, parent.where, fix=_fix())
        return
    actual = member.text()
    if actual == setting.intended:
        return
    # The last two bits of ToS are ECN's, which the operator's own setting decides.
    if setting.path == ("tos",) and actual.isdigit() and same_class(int(actual), int(setting.intended)):
        return
    message = f"{name} is {actual}, the switches expect {setting.intended} ({intent_place})"
    yield error("RW953", message, member.where, fix=_fix())


def _compare_firmware(
    source: ExportSource, kind: NodeKind, template: PlacedValue, intended: Sequence[Mapping[str, str]]
) -> Iterator[Diagnostic]:
    """Yield an error for each firmware setting that the template, or else the operator's default, sets differently."""
    entries = {entry.text("name"): entry for entry in template.items("spec", "template", "rawNvConfig")}
    intent_place = _stated(source, kind, _class_path(kind, ClassRole.CNP))
    for setting in intended:
        name = setting["name"]
        entry = entries.get(name)
        if entry is None:
            # The names of settings end with the number of a port: CNP_DSCP_P1.
            default_name, _, _ = name.rpartition("_P")
            value = _DEFAULTS.get(default_name, "")
            subject = f"the operator's default for {name}"
            where = (template.at("spec", "template", "rawNvConfig") or template).where
        else:
            value = entry.text("value")
            subject = name
            where = entry.where
        if value != setting["value"]:
            message = f"{subject} is {value}, the switches expect {setting['value']} ({intent_place})"
            yield error("RW953", message, where, fix=_fix())
