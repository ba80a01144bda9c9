"""Host keys of a target's devices: read, shown to the operator, recorded; a changed key only on request."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nornir_railweave.device.trusting import ShownKey, Trust, devices_by_key, jump_of, look, look_at_jump
from nornir_railweave.target.known_hosts import record
from nornir_railweave.target.reach import resolve
from nornir_railweave.target.target_file import load_target
from railweave.api.design.intent import load_designed
from railweave.api.operator import Operator
from railweave.api.project import STATE, Project, find_target
from railweave.codec import members
from railweave.diagnostics import Diagnostic, Where, error, warning
from railweave.errors import RailweaveError, RefusedError
from railweave.fabric.names import known_switches
from railweave.files import cannot_write


@dataclass(frozen=True, slots=True)
class Trusted:
    """Every key seen, the names of those recorded now, and the file of the switches' keys.

    ``agreed`` is False if the operator declined.
    """

    keys: tuple[ShownKey, ...]
    recorded: tuple[str, ...]
    known_hosts: Path
    agreed: bool

    @property
    def ok(self) -> bool:
        """Tell whether every device's key is recorded now."""
        return self.agreed and not any(key.error for key in self.keys)


def trust(project: Project, target: str, devices: Sequence[str] = (), *, replace: bool = False) -> Trusted:
    """Read the host keys of ``devices``, by default of all, and record the new ones.

    The key of a jump host is read and recorded first. ``replace`` also records keys in place of earlier ones. Raises
    RefusedError if a key is revoked, or changed without ``replace``, before a key of that step is recorded; UsageError
    for an unknown device; RailweaveError if the jump host does not answer or the file cannot be written.
    """
    fabric = load_designed(project.intent).fabric
    file = find_target(target)
    loaded = load_target(file)
    known_switches(fabric, devices)
    reaches = resolve(fabric, loaded, STATE)
    # All switches of a target have their keys in one file.
    first_reach = next(iter(reaches.values()))
    known_hosts = _known_hosts(first_reach.options.get("alt_key_file"), file)
    jump_keys: tuple[ShownKey, ...] = ()
    recorded_jumps: tuple[str, ...] = ()
    jump = jump_of(reaches)
    # The jump host comes first: the switches' keys are read through it, and mean nothing if it is not the right one.
    if jump is not None:
        jump_key = look_at_jump(jump, loaded.timeouts.connect_s)
        if jump_key.trust is Trust.UNREACHABLE:
            raise RailweaveError(f"jump host {jump}: {jump_key.error}")
        jump_keys = (jump_key,)
        recorded = _record_agreed(jump_keys, jump.known_hosts_file, project.operator, replace=replace)
        if recorded is None:
            return Trusted(jump_keys, recorded=(), known_hosts=known_hosts, agreed=False)
        recorded_jumps = recorded
    requested = {name: reach for name, reach in reaches.items() if not devices or name in devices}
    keys = look(requested, known_hosts, loaded.rollout.workers)
    # Against the recorded keys of all switches, not only of the requested ones.
    devices_of_keys = devices_by_key(keys, reaches, known_hosts)
    project.operator.warn(_shared_key(key, names, known_hosts) for key, names in devices_of_keys.items())
    recorded = _record_agreed(keys, known_hosts, project.operator, replace=replace)
    if recorded is None:
        return Trusted((*jump_keys, *keys), recorded=recorded_jumps, known_hosts=known_hosts, agreed=False)
    all_recorded = (*recorded_jumps, *recorded)
    return Trusted((*jump_keys, *keys), recorded=all_recorded, known_hosts=known_hosts, agreed=True)


def _known_hosts(named_file: str | None, file: Path) -> Path:
    """Return the file of host keys that the target ``file`` names; raises RefusedError if it names none."""
    if named_file is None:
        refused = error(
            "RW605",
            f"{file} names no file for host keys",
            Where(str(file), path="ssh.known_hosts"),
            fix="add `ssh: {known_hosts: inventory/known_hosts}`, and commit that file with the rest",
        )
        raise RefusedError([refused])
    return Path(named_file)


def _record_agreed(
    keys: Sequence[ShownKey], known_hosts: Path, operator: Operator, *, replace: bool
) -> tuple[str, ...] | None:
    """Show the keys, and record the new and the changed ones if the operator agrees.

    Returns the devices whose key was recorded, None if the operator declined. Raises RefusedError for a revoked key,
    and for a changed one without ``replace``.
    """
    operator.show_keys(keys)
    diagnostics = [*_unacceptable_keys(keys, known_hosts, replace=replace)]
    if diagnostics:
        raise RefusedError(diagnostics)
    new_keys = [key for key in keys if key.trust in {Trust.NEW, Trust.CHANGED}]
    if not new_keys:
        return ()
    if not operator.approves_keys(new_keys, known_hosts):
        return None
    try:
        record(known_hosts, {key.name: key.key for key in new_keys})
    except OSError as exc:
        raise RailweaveError(cannot_write(known_hosts, exc)) from exc
    return tuple(key.device for key in new_keys)


def _unacceptable_keys(keys: Sequence[ShownKey], known_hosts: Path, *, replace: bool) -> Iterator[Diagnostic]:
    """Yield why keys must not be recorded: revoked ones never, changed ones only with ``replace``."""
    for key in keys:
        if key.trust is Trust.REVOKED:
            yield _revoked_key(key, known_hosts)
    for key in keys:
        if key.trust is Trust.CHANGED and not replace:
            yield _changed_key(key, known_hosts)


def _changed_key(key: ShownKey, known_hosts: Path) -> Diagnostic:
    return error(
        "RW605",
        f"{key.device} ({key.name}) shows another host key than the one recorded: {key.fingerprint}",
        Where(str(known_hosts)),
        devices=(key.device,),
        fix="find out why; if it was reinstalled, compare the fingerprint at its console, then add --replace",
    )


def _revoked_key(key: ShownKey, known_hosts: Path) -> Diagnostic:
    return error(
        "RW605",
        f"{key.device} ({key.name}) shows a host key that is marked @revoked: {key.fingerprint}",
        Where(str(known_hosts)),
        devices=(key.device,),
        fix="give the switch a new key at its console (`ssh-keygen -A` after removing the old one), then run it again",
    )


def _shared_key(fingerprint: str, names: Sequence[str], known_hosts: Path) -> Diagnostic:
    return warning(
        "RW605",
        f"{', '.join(names)} have the same host key, {fingerprint}: they are one switch at several addresses, "
        "or were installed from one image with its key, and each can pass for the others",
        Where(str(known_hosts)),
        devices=tuple(names),
        fix="compare their addresses in inventory/; give each switch a key of its own (`ssh-keygen -A`)",
    )


def key_fields(key: ShownKey) -> dict[str, str]:
    """Return a key as `railweave.report.trust` takes it."""
    return members(key, "device", "name", "trust", "algorithm", "fingerprint", "error")
