"""Commands of daily operation: status, drain, undrain, replace, retire, trust, audit, recover, selftest, worker."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from railweave import api
from railweave.cli import completion
from railweave.cli.options import AsJson, IntentArgument, IntentOption, TargetOption, Yes, open_compared
from railweave.cli.show import print_document, print_result, print_text, print_view
from railweave.cli.status import EXIT_FAILED, exit_status
from railweave.cli.terminal import Terminal
from railweave.errors import UsageError

Wait = Annotated[
    float | None, typer.Option("--wait", metavar="SECONDS", min=0, help="Longest wait; default: the target's.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    for command in (status, drain, undrain, replace, retire, trust, audit, recover, selftest, worker):
        app.command()(command)


def status(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    json: AsJson = False,
) -> int:
    """Show what the switches run, open rollouts, timers and drains.

    Changes nothing and may run beside a rollout. Exit status 1 if a switch could not be read; the others are shown.
    """
    from railweave.report.status import status_json, status_view

    fabric_status = api.status(api.open_project(intent or option, Terminal(quiet=json)), target)
    print_result(fabric_status, status_json, status_view, as_json=json)
    return exit_status(ok=not fabric_status.unread)


def drain(
    devices: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DEVICE", help="Switches; default: show what is drained.", autocompletion=completion.switches
        ),
    ] = None,
    links: Annotated[
        list[str] | None,
        typer.Option(
            "--links", metavar="PEER|PORT|DEVICE", help="Only these links of one switch; repeat it, or use commas."
        ),
    ] = None,
    wait: Wait = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    yes: Yes = False,
    several: Annotated[bool, typer.Option("--several", help="Allow several switches of a plane at once.")] = False,
    json: AsJson = False,
) -> int:
    """Move traffic away from switches or links.

    Uses BGP graceful shutdown and waits until their traffic is gone. The drain lasts until `undrain`.
    """
    from railweave.report.draining import drain_view, drained_json, drained_view, draining_json

    project = api.open_project(option, Terminal(yes=yes, quiet=json))
    if not devices:
        states = api.drained(project, target)
        print_result(states, drained_json, drained_view, as_json=json)
        return exit_status(ok=not any(state.error for state in states))
    # --links may be repeated and may hold commas; a comma too many leaves an empty name.
    peers = tuple(peer for peer in ",".join(links or ()).split(",") if peer)
    request = api.DrainRequest(devices=tuple(devices), links=peers, wait_s=wait, several=several)
    results = api.drain(project, target, request)
    if results is None:
        return EXIT_FAILED
    view = partial(drain_view, requested=len(set(devices)), intent=str(project.intent), target=target)
    print_result(results, draining_json, view, as_json=json)
    return exit_status(ok=all(result.ok for result in results))


def undrain(
    devices: Annotated[
        list[str],
        typer.Argument(metavar="DEVICE", help="Switches, such as pod1-spine2.", autocompletion=completion.switches),
    ],
    wait: Wait = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    yes: Yes = False,
    json: AsJson = False,
) -> int:
    """Return drained switches and links to service, and verify them.

    Does not ask; --yes is accepted for symmetry with `drain`.
    """
    from railweave.report.draining import draining_json, undrain_view

    results, verification = api.undrain(api.open_project(option, Terminal(yes=yes)), target, devices, wait_s=wait)
    if json:
        print_document(draining_json(results, verification))
    else:
        print_view(undrain_view(results, verification))
    verified = verification is None or verification.ok
    return exit_status(ok=verified and all(result.ok for result in results))


def replace(
    device: Annotated[
        str,
        typer.Argument(
            metavar="DEVICE", help="The switch to replace, such as pod1-spine2.", autocompletion=completion.switches
        ),
    ],
    serial: Annotated[
        str, typer.Option("--serial", metavar="SERIAL", help="Serial number of the new switch, from its label.")
    ] = "",
    option: IntentOption = None,
    target: TargetOption = "sim",
    json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a work order with checkboxes.")] = False,
) -> None:
    """Show the steps to replace a switch, and which one is next.

    Changes nothing.
    """
    from railweave.report.work import work_json, work_markdown, work_view

    steps = api.replace(api.open_project(option, Terminal()), target, device, serial=serial)
    title = f"replace {device}"
    if serial:
        title += f" by the switch with serial number {serial}"
    if json:
        print_document(work_json(title, steps))
    elif markdown:
        print_text(work_markdown(title, steps), end="")
    else:
        print_view(work_view(title, steps))


def retire(
    base: Annotated[str, typer.Argument(metavar="BASE", help="Git revision of the intent that still has them.")],
    head: Annotated[str, typer.Argument(metavar="HEAD", help="Git revision after; default: the working tree.")] = "",
    option: IntentOption = None,
    target: TargetOption = "sim",
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", min=0, help="Longest wait for idle ports.")] = 5.0,
    json: AsJson = False,
) -> int:
    """Prove that switches removed from the intent are unused.

    Changes nothing.
    """
    from railweave.report.retirement import is_proven, retirement_json, retirement_view

    leaving, proofs = api.retire(open_compared(option, head, Terminal()), target, base, head, wait_s=wait)
    if json:
        print_document(retirement_json(leaving, proofs))
    else:
        print_view(retirement_view(leaving, proofs, target))
    return exit_status(ok=is_proven(leaving, proofs))


def trust(
    devices: Annotated[
        list[str] | None,
        typer.Argument(metavar="DEVICE", help="Switches; default: all.", autocompletion=completion.switches),
    ] = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    yes: Yes = False,
    replace: Annotated[bool, typer.Option("--replace", help="Also replace recorded keys that changed.")] = False,
    json: AsJson = False,
) -> int:
    """Show the SSH host keys of the switches and record new ones."""
    from railweave.api.targets.host_keys import key_fields
    from railweave.report.trust import trust_json

    project = api.open_project(option, Terminal(yes=yes, quiet=json))
    trusted = api.trust(project, target, devices or (), replace=replace)
    if json:
        print_document(trust_json(map(key_fields, trusted.keys), str(trusted.known_hosts), trusted.recorded))
    elif trusted.recorded:
        print_view(f"recorded in {trusted.known_hosts}: {', '.join(trusted.recorded)}")
    elif trusted.agreed:
        print_view("no new host keys")
    return exit_status(ok=trusted.ok)


def audit(
    verify: Annotated[bool, typer.Option("--verify", help="Check that no line was changed or removed.")] = False,
    head: Annotated[
        str, typer.Option("--head", metavar="SHA256", help="With --verify: a line that must still be there.")
    ] = "",
    json: AsJson = False,
) -> int:
    """Show who deployed what from this project, with the results."""
    from railweave.report.audit import audit_json, audit_view, chain_view

    if head and not verify:
        raise UsageError("--head needs --verify")
    log = api.audit(head=head)
    if json:
        print_document(audit_json(log))
    elif verify:
        print_view(chain_view(log))
    else:
        print_view(audit_view(log))
    return exit_status(ok=not (verify and log.chain.faults))


def recover(
    devices: Annotated[
        list[str],
        typer.Argument(metavar="DEVICE...", help="Switches, such as pod1-leaf3.", autocompletion=completion.switches),
    ],
    accept_running: Annotated[
        bool, typer.Option("--accept-running", help="Keep the running configuration if nothing can be restored.")
    ] = False,
    option: IntentOption = None,
    target: TargetOption = "sim",
    json: AsJson = False,
) -> int:
    """Repair switches whose last change was interrupted."""
    from railweave.report.recovery import recovery_json, recovery_view

    project = api.open_project(option, Terminal(quiet=json))
    results = api.recover(project, target, devices, accept_running=accept_running)
    print_result(results, recovery_json, recovery_view, as_json=json)
    return exit_status(ok=all(result.ok for result in results))


def selftest(
    device: Annotated[
        str,
        typer.Argument(
            metavar="DEVICE", help="An unused switch, such as pod1-leaf9.", autocompletion=completion.switches
        ),
    ],
    spare: Annotated[bool, typer.Option("--spare", help="The switch is unused: it may be changed.")] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Look only; change nothing.")] = False,
    reloads: Annotated[bool, typer.Option("--reload", help="Also try a reload.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write the bundle, without names and secrets, here.")
    ] = None,
    timer: Annotated[
        int, typer.Option("--timer", metavar="SECONDS", min=1, help="Revert timer of the test that lets it expire.")
    ] = 20,
    option: IntentOption = None,
    target: TargetOption = "sim",
    yes: Yes = False,
    json: AsJson = False,
) -> int:
    """Test railweave's assumptions about SONiC on one unused switch.

    The switch is left as it was found.
    """
    from railweave.report.selftest import selftest_json, selftest_view

    project = api.open_project(option, Terminal(yes=yes, quiet=json))
    options = api.SelftestOptions(spare=spare, reads_only=read_only, reloads=reloads, timer_s=timer)
    report = api.selftest(project, target, device, options)
    if report is None:
        return EXIT_FAILED
    print_result(report, selftest_json, selftest_view, as_json=json)
    if out is not None:
        project.operator.tell(f"bundle: {api.write_bundle(report, out)}")
    return exit_status(ok=report.ok)


def worker(
    site: Annotated[
        str,
        typer.Option(
            "--site", metavar="SITE", help="Take requests from the queue of this site; default: stdin/stdout."
        ),
    ] = "",
    option: IntentOption = None,
    target: TargetOption = "sim",
) -> None:
    """Run a worker at a remote site (queue or stdin/stdout)."""
    api.worker(api.open_project(option, Terminal()), target, site=site)
