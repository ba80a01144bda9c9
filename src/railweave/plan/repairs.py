"""Commands that make a switch apply its configuration where it runs something else.

A deployment changes rows and lines that differ. If they are as intended and the running state is not, a plan is empty
and would not help: an interface was changed behind CONFIG_DB, or a BGP session has not opened since.
"""

from collections.abc import Iterable, Iterator

from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.sonic.taking_again import mtu_command
from railweave.wording import counted


def repairs_of(checks: Iterable[VerifyCheck]) -> tuple[str, ...]:
    """Return sentences with the commands that make interfaces and sessions apply their configuration."""
    failed = [check for check in checks if not check.ok]
    return (*_of_timers(failed), *_of_bfd(failed), *_of_mtu(failed), *_of_addresses(failed))


def _of_timers(failed: Iterable[VerifyCheck]) -> Iterator[str]:
    peers: dict[str, list[str]] = {}
    for check in failed:
        if check.kind is CheckKind.TIMERS and check.actual.startswith("keepalive"):
            peers.setdefault(check.device, []).append(check.subject)
    for device, subjects in peers.items():
        more = ""
        if len(subjects) > 1:
            more = f", and so on for {counted(len(subjects) - 1, 'session')} more"
        yield (
            f"FRR takes BGP timers when a session opens: on {device}, `sudo vtysh -c 'clear bgp {subjects[0]}'` opens"
            f" it again (about 2 s without it){more}, one after the other; where the neighbor is configured with a"
            " shorter hold time, deploy the intent there first"
        )


def _of_bfd(failed: Iterable[VerifyCheck]) -> Iterator[str]:
    for check in failed:
        if check.kind is CheckKind.TIMERS and check.actual.startswith("silence"):
            peer = check.subject.removesuffix(" (BFD)")
            yield (
                f"on {check.device}, `sudo vtysh -c 'show bfd peers'` shows which end of the session with {peer} has"
                " other timers of BFD: FRR keeps those of `neighbor … bfd 5 1000 1000` and does not print them;"
                " `no neighbor … bfd` and then `neighbor … bfd` takes them away"
            )


def _of_mtu(failed: Iterable[VerifyCheck]) -> Iterator[str]:
    for check in failed:
        if check.kind is CheckKind.MTU and check.actual.isdecimal():
            yield (
                f"on {check.device}, `{mtu_command(check.subject, check.expected)}` sets the MTU of the"
                " interface again, also where CONFIG_DB has it"
            )


def _of_addresses(failed: Iterable[VerifyCheck]) -> Iterator[str]:
    for check in failed:
        if check.kind is not CheckKind.ADDRESS:
            continue
        intended = set(check.expected.split(", "))
        held = set(check.actual.split(", "))
        for address in sorted(held - intended - {"none"}):
            yield (
                f"on {check.device}, {check.subject} has the further address {address}: `sudo ip addr del {address} dev"
                f" {check.subject}` removes it where CONFIG_DB does not have it"
            )
