"""Automatic values that growth would change on running switches: refused, with lines that leave nothing to change."""

from typing import Any

import pytest

pytestmark = pytest.mark.e2e

NICS = "nics: {count: 2, speed: 100G, ports: 1, model: connectx-6, pcie: gen4x16}"
STORE = "  - {{name: store, role: storage, count: 2, gpus: 0, {keys}{nics}}}\ntopology:\n"
# Without a reserve of leaves, so that storage begins at the next power of two above twice the stripes.
OWN_LEAVES = (
    ("topology:\n", STORE.format(keys="", nics=NICS)),
    ("count: 2, downlink", "downlink"),
    ("leaves: 4, ", ""),
)
SHARED_LEAVES = (
    ("topology:\n", STORE.format(keys="share_leaves: true, ", nics=NICS)),
    ("  stripe: 4                  # nodes that share a pair of leaves\n", ""),
    ("  links_per_pair: 1          # one cable from each leaf to each spine\n", ""),
    ("  reserve: {leaves: 4, spines: 4}", ""),
)


def deployed(project: Any, *edits: tuple[str, str]) -> Any:
    project.edit(*edits)
    project.up()
    assert project.deploy()["result"] == "done"
    return project


def refusals(project: Any) -> list[tuple[str, str]]:
    """Return the refused identities of a deployment, each with its fix. It changes no switch."""
    before = project.running("lab-leaf1")
    answer = project.deploy(status=1)
    assert project.running("lab-leaf1") == before
    return [(found["message"], found["fix"]) for found in answer["diagnostics"] if found["code"] == "RW506"]


def test_storage_that_an_automatic_first_stripe_would_move_stays(new_project: Any) -> None:
    project = deployed(new_project("lab-4.yml"), *OWN_LEAVES)
    # 2 stripes of GPU nodes: the next power of two above 2 × 2 is 8, and storage runs in stripe 4.
    project.edit(("count: 4\n", "count: 8\n"))
    project.up()
    assert refusals(project) == [
        (
            "the leaves of 'store' run from stripe 4 on; first_stripe: auto is 8 now, which replaces them by other"
            " switches",
            "state first_stripe: 4 for 'store', which keeps what runs",
        )
    ]
    project.edit(("count: 2, gpus: 0", "count: 2, gpus: 0, first_stripe: 4"))
    project.up()
    devices = {name: device["state"] for name, device in project.plan()["devices"].items()}
    assert {name for name, state in devices.items() if state == "unchanged"} == {
        "lab-leaf1", "lab-leaf2", "lab-leaf9", "lab-leaf10",
    }  # fmt: skip
    assert project.deploy()["result"] == "done"
    # The nodes of before with the line: nothing to change but what the growth has added.
    assert not project.plan()["changes"]


def test_nodes_that_share_leaves_keep_their_ports(new_project: Any) -> None:
    project = deployed(new_project("lab-4.yml"), *SHARED_LEAVES)
    project.edit(("count: 2, gpus: 0", "count: 3, gpus: 0"))
    project.up()
    [(message, fix)] = refusals(project)
    assert message == (
        "the automatic stripe of 'gpu' was 18 and is 16 and the automatic stripe of 'store' was 2 and is 4: cables and"
        " addresses that run would change"
    )
    assert fix == (
        "state stripe: 18 for 'gpu', state stripe: 2 for 'store' and state leaf.count: 4 under topology, which keeps"
        " what runs"
    )
    # Two nodes as before, with the lines: nothing is to change.
    project.edit(
        ("count: 3, gpus: 0", "count: 2, gpus: 0, stripe: 2"), ("    gpus: 2\n", "    gpus: 2\n    stripe: 18\n")
    )
    project.up()
    assert not project.plan()["changes"]
