"""``config`` and ``show``: the two click programs."""

from sonic_sim.commands.clicklike import dispatch
from sonic_sim.files import ROOT
from sonic_sim.shell.programs import Call, Result, program


def _prompts(argv: list[str]) -> bool:
    words = argv[1:]
    asks = (bool(words) and words[0] in ("save", "load", "reload")) or "breakout" in words
    return (asks and not any(word in ("-y", "--yes", "-h", "--help") for word in words)) or (
        words[:1] == ["apply-patch"] and words[-1] in ("/dev/stdin", "-")
    )


@program("config", reads_stdin=_prompts)
def config(call: Call) -> Result:
    """Run ``config``; it wants root for everything."""
    if call.user != ROOT:
        return Result(1, err="Root privileges are required for this operation\n")
    return dispatch("config", call)


@program("show")
def show(call: Call) -> Result:
    """Run ``show``."""
    return dispatch("show", call)
