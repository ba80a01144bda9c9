"""The sections about a design: sizing, traffic classes from NIC to NIC, checks, failures, bill of materials, racks."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from railweave.bom.bill import Bill
from railweave.design.ratios import bandwidth_text
from railweave.diagnostics import Diagnostic, Severity
from railweave.drawing.elevation import RACKS, described
from railweave.fabric.buffers import SwitchBuffers
from railweave.fabric.management import Management
from railweave.fabric.model import Fabric
from railweave.fabric.policy import TrafficClass
from railweave.fabric.racks import RackLayout
from railweave.fabric.sizing import Sizing
from railweave.failures.analysis import FailureClass
from railweave.qos.path import Hop, NicPath, ends, hops, longest_path
from railweave.report.bom import racks_text, space_text
from railweave.report.failures import COST_COLUMNS, cost_cells, lossless_text
from railweave.report.page.content import (
    Cell,
    Chain,
    Facts,
    Grid,
    Part,
    Section,
    Sentences,
    Station,
    Tone,
    Words,
    linked,
)
from railweave.report.sizing import sizing_rows
from railweave.units import ipv4_text
from railweave.wording import command_line, compact, counted, first_few

# With racks each length that is sold is a part of its own; `railweave bom` has them all.
_MOST_PARTS = 200


def sizing_section(sizing: Sizing) -> Section:
    """Return the section about the sizes of a fabric, with the formula of each number."""
    steps = tuple((step.name, step.formula, Words(step.result)) for step in sizing.steps)
    return Section(
        "sizing",
        "Sizing",
        (
            Facts(tuple(sizing_rows(sizing))),
            Grid("Every number with its formula", ("step", "formula", "result"), steps),
            Sentences((Words(sizing.room.next_step),)),
        ),
    )


def qos_section(fabric: Fabric, buffers: tuple[SwitchBuffers, ...]) -> Section:
    """Return the section about traffic classes, and the path of each from NIC to NIC with the thresholds on the way."""
    classes = fabric.policies.classes
    columns = ("class", "carries", "DSCP", "priority and queue", "bandwidth", "lossless by")
    rows = tuple(_class_row(traffic_class) for traffic_class in classes)
    parts: list[Part] = [Grid("Traffic classes", columns, rows)]
    path = longest_path(fabric)
    if path is not None:
        parts += [_class_path(fabric, traffic_class, path, buffers) for traffic_class in classes]
    return Section("classes", "Traffic classes from NIC to NIC", tuple(parts))


def _class_row(traffic_class: TrafficClass) -> tuple[Cell, ...]:
    """Return the cells of a traffic class in the table of classes."""
    dscp = _dscp_text(traffic_class)
    if traffic_class.is_default:
        dscp = "all others"
    bandwidth = f"{traffic_class.share_percent} %"
    # A strict queue takes what it needs before the others share the rest.
    if traffic_class.strict:
        bandwidth = "strict"
    lossless_by = ""
    if traffic_class.lossless:
        lossless_by = "PFC and ECN"
    elif traffic_class.is_lossy_rdma:
        lossless_by = "nothing: ECN, and NICs that send again"
    priority = str(traffic_class.priority)
    return traffic_class.name, traffic_class.role.value, dscp, priority, bandwidth, lossless_by


def _dscp_text(traffic_class: TrafficClass) -> str:
    return ", ".join(map(str, traffic_class.dscp))


def _class_path(
    fabric: Fabric, traffic_class: TrafficClass, path: NicPath, buffers: tuple[SwitchBuffers, ...]
) -> Chain:
    """Return the stations of a class from NIC to NIC, with the settings of both NICs and each switch."""
    (sender, sending_port), (receiver, receiving_port) = ends(fabric, path)
    sent = f"sends DSCP {_dscp_text(traffic_class)}"
    if traffic_class.is_default:
        sent = "sends any DSCP that no class names"
    pausing = "not paused"
    if traffic_class.lossless:
        pausing = f"pauses priority {traffic_class.priority} when told (PFC)"
    answer = "receives"
    if traffic_class.marks:
        # RoCEv2's notification point: the NIC reports marked packets to the sender, whose rate goes down.
        answer = "answers ECN with a CNP"
    stations = [_station(sender.name, f"{sender.name} {sending_port.name}", sent, pausing)]
    stations += [
        _station(hop.switch.name, hop.switch.name, *_hop_lines(traffic_class, hop))
        for hop in hops(fabric, traffic_class, path, buffers)
    ]
    stations.append(_station(receiver.name, f"{receiver.name} {receiving_port.name}", answer))
    title = traffic_class.name
    if title != traffic_class.role.value:
        title = f"{title}: {traffic_class.role.value}"
    joints = tuple(f"{link.speed_gbps}G, {link.length_m} m" for link in path.links)
    return Chain(title, tuple(stations), joints)


def _station(device: str, title: str, *lines: str) -> Station:
    return Station(Words(title, opens=f"device-{device}"), lines)


def _hop_lines(traffic_class: TrafficClass, hop: Hop) -> Iterator[str]:
    """Yield the settings of a switch for a class, from the port that a packet arrives at to the port it leaves by."""
    yield f"in: priority group {hop.group}"
    if hop.headroom is not None:
        headroom = hop.headroom
        yield f"headroom {headroom.xoff_bytes:,} B for {headroom.speed_gbps}G over {headroom.length_m} m"
    if hop.pause_bytes is not None:
        yield f"PFC pauses at {hop.pause_bytes:,} B at the least"
    queue = hop.queue
    share = f"{queue.weight} % by weight"
    if queue.strict:
        share = "strict priority"
    if queue.limit_percent:
        share += f", at most {queue.limit_percent} % of the port"
    yield f"out: queue {queue.queue}, {share}"
    if hop.marking is not None:
        marking = hop.marking
        yield (
            f"ECN marks from {marking.minimum_bytes:,} B, {marking.probability_percent} % at "
            f"{marking.maximum_bytes:,} B"
        )
    elif traffic_class.lossless:
        yield "thresholds unknown: the model ships no buffers"


_TONES = {Severity.ERROR: Tone.BAD, Severity.WARNING: Tone.WARNING, Severity.INFO: Tone.DIM}


def diagnostics_section(diagnostics: tuple[Diagnostic, ...]) -> Section:
    """Return the section about the diagnostics of the checks."""
    if not diagnostics:
        return Section("checks", "Checks", (Sentences((Words("No check found anything.", Tone.GOOD),)),))
    rows = tuple(_diagnostic_row(diagnostic) for diagnostic in diagnostics)
    grid = Grid("What the checks found", ("severity", "code", "what", "place", "devices", "fix"), rows)
    return Section("checks", "Checks", (grid,))


def _diagnostic_row(diagnostic: Diagnostic) -> tuple[Cell, ...]:
    """Return the cells of a diagnostic in the table of what the checks found."""
    where = diagnostic.where
    place = where.file
    if where.file and where.line:
        place = f"{where.file}:{where.line}"
    severity = Words(diagnostic.severity.value, _TONES[diagnostic.severity])
    devices = compact(diagnostic.devices) if diagnostic.devices else ""
    return severity, diagnostic.code, diagnostic.message, place, devices, diagnostic.fix


def failures_section(classes: tuple[FailureClass, ...], lossless: Sequence[str]) -> Section:
    """Return the section about the ``classes`` of single failures and their cost, the worst first.

    A sentence says what failures mean for the ``lossless`` traffic classes.
    """
    rows: list[tuple[Cell, ...]] = []
    for failure_class in classes:
        component = failure_class.example[0]
        opens = f"device-{component.device}" if component.device else ""
        rows.append((Words(component.title, opens=opens), f"{failure_class.count:,}", *cost_cells(failure_class.cost)))
    about = Words(
        "What is left, in percent of the intact fabric: all ports of GPU nodes, those of the worst rail, the uplinks "
        "of the worst switch, the bandwidth between the worst two leaves, and that between the worst two GPU nodes "
        "with a link in service, rail by rail.",
        Tone.DIM,
    )
    sentence = lossless_text(lossless)
    about_lossless = Words(f"{sentence[0].upper()}{sentence[1:]}.", Tone.DIM)
    # All columns but that of the example.
    numeric = frozenset(range(1, len(COST_COLUMNS)))
    grid = Grid("Every single failure, by classes of symmetry", COST_COLUMNS, tuple(rows), numeric)
    return Section("failures", "What failures cost", (grid, Sentences((about, about_lossless))))


def bill_section(bill: Bill) -> Section:
    """Return the section about the bill of materials."""
    parts: list[Part] = [_parts_grid(bill)]
    sentences = tuple(_bill_sentences(bill))
    if sentences:
        parts.append(Sentences(sentences))
    return Section("parts", "Bill of materials", tuple(parts))


def _parts_grid(bill: Bill) -> Grid:
    """Return a table with a row for each part, and a column of spares if there are any."""
    has_spares = any(line.spares for line in bill.lines)
    count_columns = ["quantity"]
    if has_spares:
        count_columns.append("spares")
    rows: list[tuple[Cell, ...]] = []
    for line in bill.lines[:_MOST_PARTS]:
        counts = [f"{line.quantity:,}"]
        if has_spares:
            counts.append(f"{line.spares:,}")
        length = "" if line.length_m is None else f"{line.length_m} m"
        used_for = ", ".join(use.replace("_", "-") for use in line.where)
        rows.append((*counts, line.part, length, used_for, line.description))
    more = ""
    hidden = len(bill.lines) - _MOST_PARTS
    if hidden > 0:
        more = f"and {counted(hidden, 'part')} more: `{command_line('bom')}` shows them"
    columns = (*count_columns, "part", "length", "used for", "description")
    return Grid("Parts", columns, tuple(rows), numeric=frozenset(range(len(count_columns))), more=more)


def _bill_sentences(bill: Bill) -> Iterator[Words]:
    """Yield the price, the space and the racks of a bill as far as it has them, then its remarks."""
    if bill.total is not None:
        yield Words(f"{bill.currency} {bill.total:,.2f} in all")
    space = space_text(bill)
    if space:
        yield Words(space)
    if bill.racks is not None:
        for line in racks_text(bill.racks):
            yield Words(line)
    for remark in bill.remarks:
        yield Words(remark, Tone.WARNING)


def racks_section(fabric: Fabric, racks: RackLayout) -> Section:
    """Return the section about the devices of each rack, with a link to the front view."""
    rows = tuple(described(fabric, racks))
    columns = ("rack", "row", "devices from the top", "free units")
    link = Words("See them from the front", opens=RACKS)
    grid = Grid("Rack positions", columns, rows, numeric=frozenset({3}))
    return Section("rack-list", "Racks", (Sentences((link,)), grid))


def management_section(planned: Management) -> Section:
    """Return the section about the management network: the address and the cable of every port."""
    facts = Facts(
        (
            ("addresses", f"{planned.pool}, gateway {ipv4_text(planned.gateway)}"),
            ("switches", f"{len(planned.switches):,} x {planned.model}"),
            ("cables", f"{len(planned.ports):,} of {planned.length_m} m"),
        )
    )
    rows = tuple(
        (linked(port.device), port.name, ipv4_text(port.address), port.switch, str(port.port)) for port in planned.ports
    )
    columns = ("device", "port", "address", "management switch", "its port")
    return Section("management", "Management network", (facts, Grid("Management ports", columns, rows)))


def summary_facts(fabric: Fabric, diagnostics: Iterable[Diagnostic]) -> Facts:
    """Return the key figures of the design, for the top of the page."""
    sizing = fabric.sizing
    switch_counts = []
    for tier, switches in zip(fabric.tiers, fabric.tier_switches, strict=True):
        switch_counts.append(tier.counted(len(switches)))
    models = dict.fromkeys(switch.panel.model for switch in fabric.switches)
    # What all nodes can send into the fabric at once.
    bandwidth_gbps = sum(link.speed_gbps for link in fabric.links if link.is_access)
    rows: list[tuple[str, Cell]] = [
        ("GPUs", f"{sizing.gpus:,} in {counted(sizing.nodes, 'node')}"),
        ("bandwidth of all nodes", bandwidth_text(bandwidth_gbps)),
        ("switches", ", ".join(switch_counts)),
        ("models", first_few(models)),
        ("cables", f"{len(fabric.links):,}"),
        ("SONiC release", fabric.policies.sonic.release),
        ("checks", _checks_summary(diagnostics)),
    ]
    return Facts(tuple(rows))


def _checks_summary(diagnostics: Iterable[Diagnostic]) -> Words:
    """Return the numbers of errors and warnings as a link to the section of checks."""
    counts = Counter(diagnostic.severity for diagnostic in diagnostics)
    # Information asks for no action; its section lists it.
    problems = [
        counted(counts[severity], severity.value) for severity in (Severity.ERROR, Severity.WARNING) if counts[severity]
    ]
    if not problems:
        return Words("no error, no warning", Tone.GOOD, opens="checks")
    return Words(", ".join(problems), Tone.WARNING, opens="checks")
