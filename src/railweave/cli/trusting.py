"""Recording host keys: shown first, asked for, written at once; a changed key never by accident."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.project import STATE, find_target, load_designed
from railweave.diagnostics import Diagnostic, Where, error
from railweave.errors import RailweaveError, RefusedError, UsageError

if TYPE_CHECKING:
    from nornir_railweave.device.trusting import ShownKey


@dataclass(frozen=True, slots=True)
class Consent:
    """What the person agreed to on the command line. ``quiet`` shows no tables."""

    yes: bool = False
    replace: bool = False
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Trusted:
    """Every key seen, the names of those recorded now, and the file of the switches' keys. ``agreed``: or said no."""

    keys: "tuple[ShownKey, ...]"
    recorded: tuple[str, ...]
    known_hosts: Path
    agreed: bool

    @property
    def ok(self) -> bool:
        """Tell whether every device's key is recorded now."""
        return self.agreed and not any(one.error for one in self.keys)


def run_trust(path: Path, target: str, devices: Sequence[str], consent: Consent) -> Trusted:
    """Look at the host keys of ``devices`` (none named: all) and record the new ones; the jump host's first.

    Raises RefusedError where a key changed and that was not agreed to, with nothing written of that kind; UsageError
    for an unknown device; RailweaveError where the jump host does not answer or the file cannot be written.
    """
    from nornir_railweave.device.trusting import Trust, jump_of, look, look_at_jump
    from nornir_railweave.target.reach import resolve
    from nornir_railweave.target.target_file import load_target

    fabric = load_designed(path).fabric
    file = find_target(target)
    chosen = load_target(file)
    if unknown := [name for name in devices if name not in fabric.switch_of]:
        raise UsageError(f"{fabric.name} has no device {', '.join(unknown)}")
    reaches = resolve(fabric, chosen, STATE)
    known_hosts = _known_hosts(next(iter(reaches.values())).options.get("alt_key_file"), file)
    seen: tuple[ShownKey, ...] = ()
    recorded: tuple[str, ...] = ()
    if jump := jump_of(reaches):
        shown = look_at_jump(jump, chosen.timeouts.connect_s)
        if shown.trust is Trust.UNREACHABLE:
            raise RailweaveError(f"jump host {jump}: {shown.error}")
        seen = (shown,)
        agreed = _settle(seen, jump.known_hosts_file, consent)
        if agreed is None:
            return Trusted(seen, (), known_hosts, agreed=False)
        recorded = agreed
    wanted = {name: reach for name, reach in reaches.items() if not devices or name in devices}
    shown_keys = look(wanted, known_hosts, chosen.rollout.workers)
    agreed = _settle(shown_keys, known_hosts, consent)
    return Trusted((*seen, *shown_keys), (*recorded, *(agreed or ())), known_hosts, agreed=agreed is not None)


def _known_hosts(named: str | None, file: Path) -> Path:
    if named is None:
        raise RefusedError(
            [
                error(
                    "RW605",
                    f"{file} names no file for host keys",
                    Where(str(file), path="ssh.known_hosts"),
                    fix="add `ssh: {known_hosts: inventory/known_hosts}`, and commit that file with the rest",
                )
            ]
        )
    return Path(named)


def _settle(keys: "Sequence[ShownKey]", known_hosts: Path, consent: Consent) -> tuple[str, ...] | None:
    """Show the keys, ask, record; return the devices recorded, None where the person said no."""
    from nornir_railweave.device.trusting import Trust
    from nornir_railweave.target.known_hosts import record

    if not consent.quiet:
        _show(keys)
    changed = [one for one in keys if one.trust is Trust.CHANGED]
    if changed and not consent.replace:
        raise RefusedError([_refusal(one, known_hosts) for one in changed])
    fresh = [one for one in keys if one.trust in {Trust.NEW, Trust.CHANGED}]
    if not fresh:
        return ()
    if not consent.yes and not _asked(len(fresh), len(changed), known_hosts):
        return None
    try:
        record(known_hosts, {one.name: one.key for one in fresh})
    except OSError as problem:
        raise RailweaveError(f"{known_hosts} cannot be written: {problem.strerror}") from problem
    return tuple(one.device for one in fresh)


def _show(keys: "Sequence[ShownKey]") -> None:
    from railweave.cli.show import print_view
    from railweave.report.trust import trust_view

    print_view(trust_view([key_words(one) for one in keys]))


def key_words(one: "ShownKey") -> dict[str, str]:
    """Return a key as the views take it."""
    return {
        "device": one.device,
        "name": one.name,
        "trust": one.trust.value,
        "algorithm": one.algorithm,
        "fingerprint": one.fingerprint,
        "error": one.error,
    }


def _refusal(one: "ShownKey", known_hosts: Path) -> Diagnostic:
    return error(
        "RW605",
        f"{one.device} ({one.name}) shows another host key than the one recorded: {one.fingerprint}",
        Where(str(known_hosts)),
        devices=(one.device,),
        fix="find out why; if it was reinstalled, compare the fingerprint at its console, then add --replace",
    )


def _asked(fresh: int, changed: int, known_hosts: Path) -> bool:
    if not sys.stdin.isatty():
        raise RailweaveError("without a terminal to ask on, trust needs --yes; nothing was recorded")
    what = f"{fresh} host key{'' if fresh == 1 else 's'}" + (
        f", {changed} of them in place of another" if changed else ""
    )
    print(
        f"Compare the fingerprints with the devices' own. Record {what} in {known_hosts}? Only `yes` goes on: ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    return sys.stdin.readline().strip() == "yes"
