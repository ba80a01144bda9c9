"""``config ecn``, ``mmu`` and ``pfcwd``."""

import click

from sonic_sim.commands.click7 import Choice, Integer, Range, Run, argument, flag, option
from sonic_sim.commands.config.root import config
from sonic_sim.commands.ecnconfig import FIELDS, run_ecnconfig
from sonic_sim.commands.mmuconfig import ALPHA, run_mmuconfig
from sonic_sim.commands.pfcwd import run_pfcwd
from sonic_sim.shell.programs import Call, Handler

_verbose = flag("--verbose", help="Enable verbose output")


def _threshold(short: str, field: str) -> click.Option:
    """Return the option for a field of a WRED profile: a probability or a threshold."""
    color, kind, quantity = field.split("_")
    if quantity == "probability":
        name = f"{color} drop probability"
        return option(f"-{short}", metavar=f"<{name}>", type=Range(0, 100), help=f"Set {name}")
    return option(
        f"-{short}", metavar=f"<{color} threshold {kind}>", type=Integer(), help=f"Set {color} {kind} threshold"
    )


@config.leaf(
    "ecn", "ECN-related configuration tasks",
    option("-profile", metavar="<profile_name>", required=True, help="Profile name"),
    *(_threshold(*pair) for pair in FIELDS.items()), flag("-v", "--verbose", help="Enable verbose output"),
    option("--namespace", "-n", type=Choice([""]), show_default=True, help="Namespace name or all"),
)  # fmt: skip
def ecn(run: Run, profile: str, verbose: bool, namespace: str | None, **values: int | None) -> None:
    words = ["ecnconfig", "-p", profile]
    for short in FIELDS:
        if values[short] is not None:
            words += [f"-{short}", str(values[short])]
    if verbose:
        words.append("-vv")
    _pass_on(run, run_ecnconfig, words + _asic(namespace), verbose=verbose)


@config.leaf(
    "mmu", "mmuconfig configuration tasks",
    option("-p", metavar="<profile_name>", required=True, help="Profile name"),
    option("-a", metavar="<alpha>", type=ALPHA, help="Set alpha for profile type dynamic"),
    option("-s", metavar="<staticth>", type=Range(0), help="Set staticth for profile type static"),
    option("-t", type=Choice(["on", "off"]), help="Set packet trimming eligibility"),
    flag("--verbose", "-vv", help="Enable verbose output"),
    option("--namespace", "-n", help="Namespace name or all"),
)  # fmt: skip
def mmu(run: Run, p: str, verbose: bool, namespace: str | None, **values: int | str | None) -> None:
    words = ["mmuconfig", "-p", p]
    for name in "ast":
        if values[name] is not None:
            words += [f"-{name}", str(values[name])]
    words += _asic(namespace)
    if verbose:
        words.append("-vv")
    # Unlike config ecn this command does not say what it runs.
    _pass_on(run, run_mmuconfig, words, verbose=False)


def _asic(namespace: str | None) -> list[str]:
    """Return the words that pass on a namespace."""
    return [] if namespace is None else ["-n", namespace]


def _pass_on(run: Run, handler: Handler, words: list[str], *, verbose: bool) -> None:
    """Run another program, whose command line is ``words``, and end as it does."""
    if verbose:
        run.say(f"Running command: {' '.join(words)}")
    run.finish(handler(Call(run.device, words)))


pfcwd = config.branch("pfcwd", "Configure pfc watchdog")


@pfcwd.leaf(
    "start",
    """Start PFC watchdog on port(s). To config all ports, use all as input.

Example:
    config pfcwd start --action drop all 400 --restoration-time 400
""",
    option("--action", "-a", type=Choice(["drop", "forward", "alert"])),
    option("--restoration-time", "-r", type=Range(100, 60000)),
    _verbose,
    argument("ports", nargs=-1),
    argument("detection-time", type=Range(100, 5000)),
)
def start(
    run: Run, action: str | None, restoration_time: int | None, ports: tuple[str, ...], detection_time: int,
    verbose: bool,
) -> None:  # fmt: skip
    words = ["pfcwd", "start"]
    if action:
        words += ["--action", action]
    words += [port for port in dict.fromkeys(ports) if port not in ("ports", "detection-time")]
    words.append(str(detection_time))
    if restoration_time:
        words += ["--restoration-time", str(restoration_time)]
    _pass_on(run, run_pfcwd, words, verbose=verbose)


@pfcwd.leaf("stop", "Stop PFC watchdog", _verbose)
def stop(run: Run, verbose: bool) -> None:
    _pass_on(run, run_pfcwd, ["pfcwd", "stop"], verbose=verbose)


@pfcwd.leaf(
    "interval",
    "Set PFC watchdog counter polling interval (ms)",
    _verbose,
    argument("poll_interval", type=Range(100, 3000)),
)
def interval(run: Run, poll_interval: int, verbose: bool) -> None:
    _pass_on(run, run_pfcwd, ["pfcwd", "interval", str(poll_interval)], verbose=verbose)


def _add_switch(name: str, text: str) -> None:
    """Add a command that takes ``enable`` or ``disable``; ``text`` is its help."""

    @pfcwd.leaf(name, text, _verbose, argument(name, type=Choice(["enable", "disable"])))
    def command(run: Run, verbose: bool, **values: str) -> None:
        _pass_on(run, run_pfcwd, ["pfcwd", name, values[name]], verbose=verbose)


_add_switch("counter_poll", "Enable/disable counter polling")
_add_switch("big_red_switch", "Enable/disable BIG_RED_SWITCH mode")


@pfcwd.leaf("start_default", "Start PFC WD by default configurations", _verbose)
def start_default(run: Run, verbose: bool) -> None:
    _pass_on(run, run_pfcwd, ["pfcwd", "start_default"], verbose=verbose)
