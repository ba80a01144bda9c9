"""Growth beyond what a lab was laid out for: switches and nodes are added to running ones that take new interfaces."""

import json
from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

GROWN = (
    ("{leaves: 2, spines: 2}", "{leaves: 4, spines: 2}"),
    ("count: 4\n", "count: 5\n"),
    ("count: 2, down", "count: 4, down"),
)


def test_a_stripe_that_nothing_was_reserved_for_is_added(laid_out: Any, streams: Any, proves: Any) -> None:
    before = laid_out.started()
    laid_out.edit(*GROWN)
    running = streams(laid_out, ("gpu1", "-I 10.32.0.1 10.32.0.67"))
    told = laid_out.json("lab", "up")
    assert told["added"] == ["added-leaf3", "added-leaf4", "gpu5", "gpu6", "gpu7", "gpu8"]
    after = laid_out.started()
    assert {name: after[name] for name in before} == before, "none was restarted"
    assert len(after) == len(before) + 6
    assert laid_out.deploy()["result"] == "done"
    assert sum(stream.stop()[1] for stream in running) == 0
    laid_out.as_intended()
    assert laid_out.pings("gpu1", "-M do -s 8972 -I 10.32.0.1 10.32.0.129"), "gpu1 has the routes to the new leaves"
    assert laid_out.on("gpu5", "hostname") == "gpu5\n"
    assert laid_out.json("lab", "up")["added"] == []
    proves("a stripe beyond the reserve added under pings: none restarted, no packet lost, old nodes reach new ones")


def test_cables_that_would_move_are_refused_and_nothing_changes(laid_out: Any, proves: Any) -> None:
    before, text = laid_out.started(), laid_out.intent.read_text()
    laid_out.edit(("{leaves: 4, spines: 2}", "{leaves: 4, spines: 3}"))
    try:
        said = laid_out.run("lab", "up", status=1).stderr
    finally:
        laid_out.intent.write_text(text)
    assert "the running lab added cannot be changed like this; nothing was done:" in said
    assert "the cable of added-leaf1:eth31 leads to added-spine1:eth1, not to added-spine2:eth1" in said
    assert laid_out.started() == before
    proves("a reserve that moves cables of running switches is refused, with the cables")


def test_a_lab_that_is_not_as_it_was_noted_is_refused(laid_out: Any, proves: Any) -> None:
    noted = laid_out.folder / ".railweave" / "lab" / "added" / "running.json"
    text = noted.read_bytes()
    noted.unlink()
    try:
        said = laid_out.run("lab", "up", status=1).stderr
    finally:
        noted.write_bytes(text)
    assert "does not say with which nodes and cables" in " ".join(said.split())
    laid_out.docker("stop", "-t", "1", "clab-added-gpu8")
    said = laid_out.run("lab", "up", status=1).stderr
    assert "a lab added runs already, but not all of it (gpu8: exited)" in " ".join(said.split())
    assert json.loads(text)["nodes"]["gpu8"]
    proves("a lab without its notes, or with a node that stopped, is refused")
