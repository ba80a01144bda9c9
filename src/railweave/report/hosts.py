"""A run on GPU nodes for a person and as JSON."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from railweave.hosts.outcome import HostChange, HostsRun, HostState
from railweave.wording import compact, counted

_STYLES = {
    HostState.UNCHANGED: "green",
    HostState.CHANGED: "yellow",
    HostState.FAILED: "bold red",
    HostState.UNREACHABLE: "bold red",
    HostState.NOT_ATTEMPTED: "dim",
}


def hosts_json(run: HostsRun) -> dict[str, Any]:
    """Return ``{fabric, target, hosts: {NAME: {state, changes, error, notes}}, summary}``.

    An applied run has ``result`` and ``stopped_by`` too.
    """
    document: dict[str, Any] = {"fabric": run.fabric, "target": run.target}
    if run.applied:
        document["result"] = _result(run)
        document["stopped_by"] = run.stopped_by or None
    document["hosts"] = {
        host.name: {
            "state": host.state.value,
            "changes": [_change_json(change) for change in host.changes],
            "error": host.error or None,
            "notes": [
                {"subject": note.subject, "what": note.what, "text": note.text, "restart_pending": note.is_pending}
                for note in host.notes
            ],
        }
        for host in run.hosts
    }
    document["summary"] = {state.value: len(run.named(state)) for state in HostState}
    return document


def _result(run: HostsRun) -> str:
    if run.stopped_by or not run.ok:
        return "stopped"
    return "done" if run.named(HostState.CHANGED) else "unchanged"


def _change_json(change: HostChange) -> dict[str, Any]:
    return {
        "kind": change.kind.value,
        "subject": change.subject,
        "what": change.what,
        "before": change.before or None,
        "after": change.after or None,
        "diff": change.diff or None,
    }


def hosts_view(run: HostsRun, *, files: bool = False) -> RenderableType:
    """Return how the nodes stand: a sentence, what changes with the nodes that it changes on, what went wrong.

    ``files`` adds the differences of files, line by line.
    """
    parts: list[RenderableType] = [_headline(run)]
    groups = _groups(run)
    if groups:
        parts += [Text(), _changes(groups)]
    parts += list(_notes(run))
    if files:
        parts += list(_file_differences(run))
    faults = [host for host in run.hosts if host.error]
    if faults:
        parts += [Text()]
        parts += [
            Text.assemble((f"{host.state.value:<12}", _STYLES[host.state]), f" {host.name}: {host.error}")
            for host in faults
        ]
    left = run.named(HostState.NOT_ATTEMPTED)
    if left:
        parts.append(Text(f"not attempted: {compact(left)} ({len(left)})", style="dim"))
    return Group(*parts)


def _headline(run: HostsRun) -> Text:
    changed = counted(len(run.named(HostState.CHANGED)), "node")
    same = counted(len(run.named(HostState.UNCHANGED)), "node")
    if run.stopped_by:
        return Text.assemble(("✗ stopped: ", "bold red"), run.stopped_by)
    if not run.ok:
        return Text.assemble(("✗ ", "bold red"), f"{changed} changed" if run.applied else f"{changed} would change")
    if not run.named(HostState.CHANGED):
        return Text.assemble(("✓ ", "green"), f"no changes: {same} as intended")
    words = f"done: {changed} changed" if run.applied else f"{changed} would change"
    return Text.assemble(("✓ ", "green"), f"{words}, {same} as intended")


def _groups(run: HostsRun) -> dict[tuple[str, str], dict[str, tuple[str, str]]]:
    """Return, for each place and setting that changes, the nodes with their values before and after."""
    groups: dict[tuple[str, str], dict[str, tuple[str, str]]] = defaultdict(dict)
    for host in run.hosts:
        for change in host.changes:
            groups[change.subject, change.what][host.name] = (change.before, change.after)
    return groups


def _changes(groups: dict[tuple[str, str], dict[str, tuple[str, str]]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    for column in ("where", "what", "before", "after", "nodes"):
        table.add_column(column, overflow="fold")
    for (subject, what), nodes in groups.items():
        before, after = (_common(values) for values in zip(*nodes.values(), strict=True))
        table.add_row(
            *(Text(cell) for cell in (subject, what, before, after, f"{compact(tuple(nodes))} ({len(nodes)})"))
        )
    return table


def _notes(run: HostsRun) -> Iterator[RenderableType]:
    """Yield the firmware settings that do not fit, each with its nodes."""
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for host in run.hosts:
        for note in host.notes:
            groups[note.subject, note.what, note.text].append(host.name)
    if groups:
        yield Text("\nNIC firmware (reported, never changed by railweave):")
    for (subject, what, text), names in groups.items():
        yield Text(f"  {subject} {what}: {text}  [{compact(tuple(names))}]")


def _common(values: Sequence[str]) -> str:
    """Return what all nodes have, or the first of what each has of its own."""
    first = values[0] or "-"
    return first if len(set(values)) == 1 else f"{first}, …"


def _file_differences(run: HostsRun) -> Iterator[RenderableType]:
    for host in run.hosts:
        for change in host.changes:
            if change.diff:
                yield Text(f"\n{host.name} {change.subject}", style="bold")
                yield Text(change.diff.rstrip("\n"))
