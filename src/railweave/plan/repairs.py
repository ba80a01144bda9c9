"""Commands that make a switch apply its configuration where it runs something else.

A deployment changes rows and lines that differ. If they are as intended and the running state is not, a plan is empty
and would not help: an interface was changed behind CONFIG_DB, or a BGP session has not opened since.
"""

from collections.abc import Iterable, Iterator

from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.sonic.taking_again import mtu_command
from railweave.wording import counted


def repairs_of(checks: Iterable[VerifyCheck]) -> tuple[str, ...]:
    """Return sentences with the commands that make interfaces and sessions apply their configuration.

    Checks that passed, and failed ones that no such command repairs, have none.
    """
    failed = [check for check in checks if not check.ok]
    return (*_timer_repairs(failed), *_bfd_repairs(failed), *_mtu_repairs(failed), *_address_repairs(failed))


def _timer_repairs(failed: Iterable[VerifyCheck]) -> Iterator[str]:
    """Yield a sentence for each device with sessions that do not run their configured timers."""
    peers_of_device: dict[str, list[str]] = {}
    for check in failed:
        if check.kind is CheckKind.TIMERS and check.actual.startswith("keepalive"):
            peers_of_device.setdefault(check.device, []).append(check.subject)
    for device, peers in peers_of_device.items():
        other_sessions = ""
        if len(peers) > 1:
            other_sessions = f", and so on for {counted(len(peers) - 1, 'session')} more"
        yield (
            f"FRR takes BGP timers when a session opens: on {device}, `sudo vtysh -c 'clear bgp {peers[0]}'` opens"
            f" it again (about 2 s without it){other_sessions}, one after the other; where the neighbor is configured"
            " with a shorter hold time, deploy the intent there first"
        )


def _bfd_repairs(failed: Iterable[VerifyCheck]) -> Iterator[str]:
    """Yield a sentence for each session whose BFD does not have FRR's default timers."""
    for check in failed:
        if check.kind is CheckKind.TIMERS and check.actual.startswith("silence"):
            peer = check.subject.removesuffix(" (BFD)")
            yield (
                f"on {check.device}, `sudo vtysh -c 'show bfd peers'` shows which end of the session with {peer} has"
                " other timers of BFD: FRR keeps those of `neighbor … bfd 5 1000 1000` and does not print them;"
                " `no neighbor … bfd` and then `neighbor … bfd` takes them away"
            )


def _mtu_repairs(failed: Iterable[VerifyCheck]) -> Iterator[str]:
    """Yield a sentence for each interface with another MTU."""
    for check in failed:
        if check.kind is CheckKind.MTU and check.actual.isdecimal():
            yield (
                f"on {check.device}, `{mtu_command(check.subject, check.expected)}` sets the MTU of the"
                " interface again, also where CONFIG_DB has it"
            )


def _address_repairs(failed: Iterable[VerifyCheck]) -> Iterator[str]:
    """Yield a sentence for each address that an interface has beside those of the intent."""
    for check in failed:
        if check.kind is not CheckKind.ADDRESS:
            continue
        intended_addresses = set(check.expected.split(", "))
        seen_addresses = set(check.actual.split(", "))
        for address in sorted(seen_addresses - intended_addresses - {"none"}):
            yield (
                f"on {check.device}, {check.subject} has the further address {address}: `sudo ip addr del {address} dev"
                f" {check.subject}` removes it where CONFIG_DB does not have it"
            )
