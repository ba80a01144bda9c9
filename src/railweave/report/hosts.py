"""A run on GPU nodes for a terminal and as JSON."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.codec import as_json, members
from railweave.hosts.outcome import HostChange, HostResult, HostsRun, HostState
from railweave.report.layout import paragraphs, table, verdict
from railweave.report.tables import FittingTable
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
    document = members(run, "fabric", "target")
    if run.applied:
        document["result"] = _result(run)
        document["stopped_by"] = run.stopped_by or None
        document["rdma_test"] = run.tested or None
    document["hosts"] = {host.name: _host_json(host) for host in run.hosts}
    document["summary"] = {state.value: len(run.named(state)) for state in HostState}
    return document


def _host_json(host: HostResult) -> dict[str, Any]:
    """Return a node for the document: its state, changes, error and notes."""
    return {
        "state": host.state.value,
        "changes": [{name: value or None for name, value in as_json(change).items()} for change in host.changes],
        "error": host.error or None,
        "notes": [
            {**members(note, "subject", "what", "text"), "restart_pending": note.is_pending} for note in host.notes
        ],
    }


def _result(run: HostsRun) -> str:
    if run.stopped_by or not run.ok:
        return "stopped"
    if run.named(HostState.CHANGED):
        return "done"
    return "unchanged"


def hosts_view(run: HostsRun, *, files: bool = False) -> RenderableType:
    """Return the state of the nodes: a sentence, each change with its nodes, the errors.

    ``files`` adds the differences of files, line by line.
    """
    errors = [
        Text.assemble((f"{host.state.value:<12}", _STYLES[host.state]), f" {host.name}: {host.error}")
        for host in run.hosts
        if host.error
    ]
    not_attempted = run.named(HostState.NOT_ATTEMPTED)
    if not_attempted:
        errors.append(Text(f"not attempted: {compact(not_attempted)} ({len(not_attempted)})", style="dim"))
    parts: list[RenderableType | Sequence[RenderableType] | None] = [_headline(run), _changes(run)]
    parts += [list(_notes(run)), _interrupted(run)]
    if run.tested:
        parts.append(Text(run.tested))
    if files:
        parts += _file_differences(run)
    # Last, where the screen ends: what failed has to be read first.
    return paragraphs(*parts, errors)


_VERBS = {
    # (rollback, applied): what changed nodes did
    (False, False): "would change",
    (False, True): "changed",
    (True, False): "would be rolled back",
    (True, True): "rolled back",
}


def _headline(run: HostsRun) -> Text:
    """Return how many nodes changed or would change, and how many did not have to; or why the run stopped."""
    if run.stopped_by:
        return Text.assemble(("✗ stopped: ", "bold red"), run.stopped_by)
    changed = len(run.named(HostState.CHANGED))
    sentence = f"{counted(changed, 'node')} {_VERBS[run.is_rollback, run.applied]}"
    if not run.ok:
        return verdict(False, sentence)
    unchanged = f"{counted(len(run.named(HostState.UNCHANGED)), 'node')} as intended"
    if run.is_rollback:
        # A node that was never changed has nothing to go back to.
        unchanged = f"{counted(len(run.named(HostState.UNCHANGED)), 'node')} without a snapshot"
    if not changed:
        return verdict(True, f"no changes: {unchanged}")
    if run.applied:
        sentence = f"done: {sentence}"
    return verdict(True, f"{sentence}, {unchanged}")


def _changes(run: HostsRun) -> FittingTable | None:
    """Return a table with a row for each place and setting that changes, and its nodes; None without changes."""
    changes_by_setting: dict[tuple[str, str], dict[str, HostChange]] = defaultdict(dict)
    for host in run.hosts:
        for change in host.changes:
            changes_by_setting[change.subject, change.what][host.name] = change
    if not changes_by_setting:
        return None
    rows = []
    for (subject, what), changes_by_node in changes_by_setting.items():
        changes = changes_by_node.values()
        before = _common([change.before for change in changes])
        after = _common([change.after for change in changes])
        rows.append((subject, what, before, after, f"{compact(changes_by_node)} ({len(changes_by_node)})"))
    return table("where", "what", "before", "after", "nodes", rows=rows)


def _notes(run: HostsRun) -> Iterator[RenderableType]:
    """Yield a heading and a line for each firmware setting that does not fit, with its nodes; nothing without any."""
    nodes_by_note: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for host in run.hosts:
        for note in host.notes:
            nodes_by_note[note.subject, note.what, note.text].append(host.name)
    if nodes_by_note:
        yield Text("NIC firmware (reported, never changed by railweave):")
    for (subject, what, text), names in nodes_by_note.items():
        yield Text(f"  {subject} {what}: {text}  [{compact(names)}]")


def _interrupted(run: HostsRun) -> Text | None:
    """Return a line on the nodes that an earlier change left unfinished, None without any.

    A run that was applied has finished that change.
    """
    names = tuple(host.name for host in run.hosts if host.interrupted)
    if run.applied or not names:
        return None
    return Text(f"an earlier change did not end on {compact(names)}: apply continues it, rollback goes back")


def _common(values: Sequence[str]) -> str:
    """Return the value that all nodes have, or the first of different ones with an ellipsis; ``-`` for none."""
    first = values[0] or "-"
    if len(set(values)) == 1:
        return first
    return f"{first}, …"


def _file_differences(run: HostsRun) -> Iterator[list[RenderableType]]:
    for host in run.hosts:
        for change in host.changes:
            if change.diff:
                yield [Text(f"{host.name} {change.subject}", style="bold"), Text(change.diff.rstrip("\n"))]
