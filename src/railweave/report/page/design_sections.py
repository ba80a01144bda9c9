"""The sections about a design: sizes, the way of each class, diagnostics, what failures cost, what to buy."""

from collections.abc import Iterable, Iterator, Sequence

from railweave.bom.bill import Bill
from railweave.design.ratios import bandwidth_text
from railweave.diagnostics import Diagnostic, Severity
from railweave.drawing.elevation import RACKS, described
from railweave.fabric.buffers import SwitchBuffers
from railweave.fabric.management import Management
from railweave.fabric.model import Fabric, Link
from railweave.fabric.policy import TrafficClass
from railweave.fabric.racks import Racks
from railweave.fabric.sizing import Sizing
from railweave.failures.analysis import FailureClass
from railweave.qos.path import Hop, NicPath, ends, hops, longest_path
from railweave.report.bom import racks_text, space_text
from railweave.report.failures import COST_COLUMNS, cost_cells, lossless_text
from railweave.report.page.content import Cell, Chain, Facts, Grid, Section, Sentences, Step, Tone, Words, linked
from railweave.report.sizing import sizing_rows
from railweave.units import ipv4_text
from railweave.wording import command_line, compact, counted, first_few

_MOST_PARTS = 200


def sizing_section(sizing: Sizing) -> Section:
    """Return the sizes with the formula of every number."""
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
    """Return the traffic classes, and the way of each from NIC to NIC with its thresholds at every switch."""
    classes = fabric.policies.classes
    rows = tuple(
        (
            one.name,
            one.role.value,
            "all others" if one.is_default else ", ".join(map(str, one.dscp)),
            str(one.priority),
            "strict" if one.strict else f"{one.share_percent} %",
            "PFC and ECN" if one.lossless else "",
        )
        for one in classes
    )
    columns = ("class", "carries", "DSCP", "priority and queue", "bandwidth", "lossless by")
    path = longest_path(fabric)
    chains = () if path is None else tuple(_way(fabric, one, path, buffers) for one in classes)
    return Section("classes", "Traffic classes from NIC to NIC", (Grid("Traffic classes", columns, rows), *chains))


def _way(fabric: Fabric, one: TrafficClass, path: NicPath, buffers: tuple[SwitchBuffers, ...]) -> Chain:
    (first, sends), (last, receives) = ends(fabric, path)
    marked = "any DSCP that no class names" if one.is_default else f"DSCP {', '.join(map(str, one.dscp))}"
    pause = f"pauses priority {one.priority} when told (PFC)" if one.lossless else "not paused"
    steps = [
        Step(Words(f"{first.name} {sends.name}", opens=f"device-{first.name}"), (f"sends {marked}", pause)),
        *(
            Step(Words(hop.switch.name, opens=f"device-{hop.switch.name}"), tuple(_hop_lines(one, hop)))
            for hop in hops(fabric, one, path, buffers)
        ),
        Step(
            Words(f"{last.name} {receives.name}", opens=f"device-{last.name}"),
            ("answers ECN with a CNP",) if one.lossless else ("receives",),
        ),
    ]
    return Chain(
        one.name if one.name == one.role.value else f"{one.name}: {one.role.value}",
        tuple(steps),
        tuple(_cable(link) for link in path.links),
    )


def _hop_lines(one: TrafficClass, hop: Hop) -> Iterator[str]:
    yield f"in: priority group {hop.group}"
    if hop.headroom is not None:
        room = hop.headroom
        yield f"headroom {room.xoff_bytes:,} B for {room.speed_gbps}G over {room.length_m} m"
    if hop.pause_bytes is not None:
        yield f"PFC pauses at {hop.pause_bytes:,} B at the least"
    share = "strict priority" if hop.queue.strict else f"{hop.queue.weight} % by weight"
    limit = f", at most {hop.queue.limit_percent} % of the port" if hop.queue.limit_percent else ""
    yield f"out: queue {hop.queue.queue}, {share}{limit}"
    if hop.marking is not None:
        mark = hop.marking
        yield f"ECN marks from {mark.minimum_bytes:,} B, {mark.probability_percent} % at {mark.maximum_bytes:,} B"
    elif one.lossless:
        yield "thresholds unknown: the model ships no buffers"


def _cable(link: Link) -> str:
    return f"{link.speed_gbps}G, {link.length_m} m"


_TONES = {Severity.ERROR: Tone.BAD, Severity.WARNING: Tone.WARNING, Severity.INFO: Tone.DIM}


def diagnostics_section(diagnostics: tuple[Diagnostic, ...]) -> Section:
    """Return what the checks found."""
    if not diagnostics:
        return Section("checks", "Checks", (Sentences((Words("No check found anything.", Tone.GOOD),)),))
    rows = tuple(_diagnostic(one) for one in diagnostics)
    grid = Grid("What the checks found", ("severity", "code", "what", "place", "devices", "fix"), rows)
    return Section("checks", "Checks", (grid,))


def _diagnostic(one: Diagnostic) -> tuple[Cell, ...]:
    where = one.where
    place = f"{where.file}:{where.line}" if where.file and where.line else where.file
    return (
        Words(one.severity.value, _TONES[one.severity]),
        one.code,
        one.message,
        place,
        compact(one.devices) if one.devices else "",
        one.fix,
    )


def failures_section(found: tuple[FailureClass, ...], lossless: Sequence[str]) -> Section:
    """Return what each single failure costs, the worst first, and what all mean for the ``lossless`` classes."""
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        component = one.example[0]
        rows.append(
            (
                Words(component.title, opens=f"device-{component.device}" if component.device else ""),
                f"{one.count:,}",
                *cost_cells(one.cost),
            )
        )
    about = Words(
        "What is left, in percent of the intact fabric: all ports of GPU nodes, those of the worst rail, the uplinks "
        "of the worst switch, the bandwidth between the worst two leaves, and that between the worst two GPU nodes "
        "with a link in service, rail by rail.",
        Tone.DIM,
    )
    text = lossless_text(lossless)
    safe = Words(f"{text[0].upper()}{text[1:]}.", Tone.DIM)
    numbers = frozenset(range(1, len(COST_COLUMNS)))
    grid = Grid("Every single failure, by classes of symmetry", COST_COLUMNS, tuple(rows), numbers)
    return Section("failures", "What failures cost", (grid, Sentences((about, safe))))


def bill_section(bill: Bill) -> Section:
    """Return the bill of materials."""
    priced = bool(bill.currency)
    rows = tuple(
        (
            f"{line.quantity:,}",
            *([f"{line.spares:,}"] if any(one.spares for one in bill.lines) else []),
            line.part,
            "" if line.length_m is None else f"{line.length_m} m",
            ", ".join(place.replace("_", "-") for place in line.where),
            line.description,
        )
        for line in bill.lines[:_MOST_PARTS]
    )
    spares = ("spares",) if any(one.spares for one in bill.lines) else ()
    columns = ("quantity", *spares, "part", "length", "used for", "description")
    hidden = len(bill.lines) - _MOST_PARTS
    more = f"and {counted(hidden, 'part')} more: `{command_line('bom')}` shows them" if hidden > 0 else ""
    grid = Grid("Parts", columns, rows, frozenset(range(len(spares) + 1)), more)
    remarks = tuple(Words(one, Tone.WARNING) for one in bill.remarks)
    total = (Words(f"{bill.currency} {bill.total:,.2f} in all"),) if priced and bill.total is not None else ()
    space = (Words(space_text(bill)),) if space_text(bill) else ()
    racks = () if bill.racks is None else tuple(Words(one) for one in racks_text(bill.racks))
    said = (*total, *space, *racks, *remarks)
    return Section("parts", "Bill of materials", (grid, *([Sentences(said)] if said else [])))


def racks_section(fabric: Fabric, racks: Racks) -> Section:
    """Return what stands in each rack."""
    rows = tuple((name, row, devices, free) for name, row, devices, free in described(fabric, racks))
    columns = ("rack", "row", "devices from the top", "free units")
    seen = Words("See them from the front", opens=RACKS)
    return Section("rack-list", "Racks", (Sentences((seen,)), Grid("What stands where", columns, rows, frozenset({3}))))


def management_section(planned: Management) -> Section:
    """Return the address and the cable of every management port."""
    facts = Facts(
        (
            ("addresses", f"{planned.pool}, gateway {ipv4_text(planned.gateway)}"),
            ("switches", f"{len(planned.switches):,} x {planned.model}"),
            ("cables", f"{len(planned.ports):,} of {planned.length_m} m"),
        )
    )
    rows = tuple(
        (linked(one.device), one.name, ipv4_text(one.address), one.switch, str(one.port)) for one in planned.ports
    )
    columns = ("device", "port", "address", "management switch", "its port")
    return Section("management", "Management network", (facts, Grid("Management ports", columns, rows)))


def summary_facts(fabric: Fabric, diagnostics: Iterable[Diagnostic]) -> Facts:
    """Return what a reader wants to know first."""
    sizing = fabric.sizing
    found = [one.severity for one in diagnostics]
    severities = [
        counted(found.count(each), each.value) for each in (Severity.ERROR, Severity.WARNING) if each in found
    ]
    models = dict.fromkeys(switch.panel.model for switch in fabric.switches)
    bandwidth = sum(link.speed_gbps for link in fabric.links if link.is_access)
    rows: list[tuple[str, Cell]] = [
        ("GPUs", f"{sizing.gpus:,} in {counted(sizing.nodes, 'node')}"),
        ("bandwidth of all nodes", bandwidth_text(bandwidth)),
        (
            "switches",
            ", ".join(tier.counted(len(own)) for tier, own in zip(fabric.tiers, fabric.tier_switches, strict=True)),
        ),
        ("models", first_few(models)),
        ("cables", f"{len(fabric.links):,}"),
        ("SONiC release", fabric.policies.sonic.release),
        (
            "checks",
            Words(", ".join(severities) or "no error, no warning", Tone.WARNING if severities else Tone.GOOD, "checks"),
        ),
    ]
    return Facts(tuple(rows))
