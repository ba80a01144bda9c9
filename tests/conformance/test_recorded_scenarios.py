"""The simulator answers recorded commands as SONiC did: exit status, texts and the change of CONFIG_DB.

The recordings lie beside the project; where they are not there, nothing is collected (the project's own unit tests hold
the same behavior in fewer cases).
"""

import json
import re
from typing import Any

import pytest
from recording import FOLDER, Ran, device_of, load, run, scenario_names

from sonic_sim.frr import show

NOT_REPLAYED: dict[str, tuple[tuple[int, ...], str]] = {
    # scenario: (steps, why)
    "frr/bgp-summary": ((2, 3), "the recording's interfaces are devices of a kernel"),
    "frr/routes": ((0, 2, 3), "the recording's interfaces are devices of a kernel"),
    "frr/vtysh-forms": ((1, 2, 3, 4, 6, 7, 8, 9, 10), "the recording's containers share the files of the host"),
}
RECORDED_FRR = "8.4.4"
_BROKEN_PIPE = re.compile(r"(?:Exception ignored in: .*|Traceback .*\n  \.\.\.)\nBrokenPipeError: .*\n")
_STAND_IN = re.compile(r"/usr/bin/docker: line \d+: syntax error: unexpected end of file\n")
_VARYING = (
    # what differs from machine to machine and from run to run, and what it is shown as
    (re.compile(r"(?<=\"time\": \")[^\"]+"), "TIME"),
    (re.compile(r"Uptime: .*"), "Uptime: TIME"),
    (re.compile(r"Date: .*"), "Date: TIME"),
    (re.compile(r"(?<=\"mac\": \")[0-9a-f:]{17}"), "MAC"),
    (re.compile(r"differ: char"), "differ: byte"),
    # which of many refusals comes first follows the order of a Python set
    (re.compile(r"Modification of \w+ table is illegal- validating function \S+"), "Modification is illegal"),
    (re.compile(r"up N hours, N minute|up N minutes?|up N days?.*"), "up N"),
)


def normal(text: str) -> str:
    """Remove what differs from run to run: the order of Python sets, and a writer's complaint about ``head``."""
    text = _STAND_IN.sub("", _BROKEN_PIPE.sub("", text))
    for pattern, shown in _VARYING:
        text = pattern.sub(shown, text)
    text = text.replace("-?, -h, --help", "-h, -?, --help")
    text = re.sub(r"(?<=Valid interface types:).*", lambda found: ",".join(sorted(found.group().split(","))), text)
    text = re.sub(r"\{('[^']*'(?:, '[^']*')+)\}", lambda found: str(sorted(found.group(1).split(", "))), text)
    return re.sub(r"(?<=localhost: Patch: )\[.*\]$", _sorted_patch, text, flags=re.MULTILINE)


def _sorted_patch(found: re.Match[str]) -> str:
    return str(sorted(json.dumps(one) for one in json.loads(found.group())))


def expected(step: dict[str, Any]) -> Ran:
    """Return what was recorded for a step."""
    diff = {name: part for name, part in (step.get("config_db_diff") or {}).items() if part}
    if set((diff.get("changed") or {}).get("DEVICE_METADATA|localhost", {}).get("set", ())) == {"mac"}:
        del diff["changed"]["DEVICE_METADATA|localhost"]  # made up in each run; test_sim_reload.py checks the real one
    return Ran(step["exit"], normal(step["stdout"]), normal(step.get("stderr") or ""), diff)


@pytest.fixture(autouse=True)
def recorded_frr_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "FRR_VERSION", RECORDED_FRR)


@pytest.mark.parametrize("name", scenario_names())
def test_a_recorded_scenario_ends_as_on_sonic(name: str) -> None:
    scenario = load(name)
    device = device_of(scenario)
    left_out, _ = NOT_REPLAYED.get(name, ((), ""))
    for number, step in enumerate(scenario["steps"]):
        ran = run(device, step)
        ran = Ran(ran.exit, normal(ran.stdout), normal(ran.stderr), ran.diff)
        if number not in left_out:
            assert ran == expected(step), f"step {number}: {step['command']}"


def test_the_tables_of_exceptions_name_real_scenarios() -> None:
    assert not FOLDER.exists() or NOT_REPLAYED.keys() <= set(scenario_names())
