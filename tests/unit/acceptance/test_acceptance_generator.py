"""The modelled fabric of the acceptance tests: what it writes is possible, and a fault changes what it should."""

import json
from pathlib import Path
from random import Random
from typing import Any

import networkx as nx
import pytest
from acceptance_faults.carry_out import carry_out
from acceptance_faults.fabric import max_min_rates
from acceptance_faults.nature import Conditions, Loss
from acceptance_faults.queues import congest
from acceptance_faults.small_plan import small_plan

from railweave.acceptance.counters import read_counters
from railweave.acceptance.document import read_plan
from railweave.acceptance.folder import read_results
from railweave.acceptance.readings import Answer


def carried_out(folder: Path, conditions: Conditions | None = None, seed: int = 1) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "plan.json").write_text(json.dumps(small_plan()))
    carry_out(folder, conditions or Conditions(), seed)
    return folder


def growth(folder: Path, round_id: str, device: str, table: str, row: str, name: str) -> int:
    """Return how much a counter grew over a round."""
    before, after = (
        json.loads((folder / "counters" / round_id / when / f"{device}.json").read_text())[table][row][name]
        for when in ("before", "after")
    )
    return int(after - before)


def lost_on(folder: Path, round_id: str, link: dict[str, Any]) -> int:
    """Return the bytes that left a node and did not reach its leaf."""
    sent = growth(folder, round_id, link["a"]["device"], "nics", link["a"]["port"], "tx_bytes_phy")
    name = "SAI_PORT_STAT_IF_IN_OCTETS"
    return sent - growth(folder, round_id, link["b"]["device"], "ports", link["b"]["port"], name)


def test_equal_seeds_write_equal_bytes(tmp_path: Path) -> None:
    written = [
        {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.*"))}
        for folder in (carried_out(tmp_path / "first"), carried_out(tmp_path / "second"))
    ]
    assert written[0] == written[1]
    assert len(written[0]) > 100


def test_links_share_their_rate_evenly_and_what_is_left_goes_to_others() -> None:
    # Two flows share link 0; the second leaves link 1 to the third, which its own limit holds back.
    rates = max_min_rates([[0], [0, 1], [1], [2]], [100.0, 200.0, 400.0], [float("inf")] * 3 + [30.0])
    assert rates == [50.0, 50.0, 150.0, 30.0]


def test_a_single_pair_of_ends_gets_its_maximum_flow() -> None:
    rng = Random(3)
    graph = nx.MultiDiGraph()
    paths = []
    capacities = []
    for middle in range(4):
        capacities += [rng.choice([50.0, 100.0]), rng.choice([50.0, 100.0])]
        graph.add_edge("a", middle, capacity=capacities[-2])
        graph.add_edge(middle, "b", capacity=capacities[-1])
        paths.append([2 * middle, 2 * middle + 1])
    rates = max_min_rates(paths, capacities, [float("inf")] * 4)
    assert sum(rates) == nx.maximum_flow_value(nx.DiGraph(graph), "a", "b")


def test_every_byte_of_a_healthy_cable_arrives_but_for_frames_between_the_readings(tmp_path: Path) -> None:
    folder = carried_out(tmp_path / "plan")
    for link in small_plan()["links"][:8]:
        assert abs(lost_on(folder, "r002", link)) <= 500


@pytest.mark.parametrize("counted", [False, True])
def test_a_lossy_cable_loses_its_share_and_counts_it_where_asked(tmp_path: Path, counted: bool) -> None:
    folder = carried_out(tmp_path / "plan", Conditions(loss={(2, True): Loss(0.05, counted)}))
    link = small_plan()["links"][2]
    sent = growth(folder, "r002", link["a"]["device"], "nics", link["a"]["port"], "tx_bytes_phy")
    assert lost_on(folder, "r002", link) / sent == pytest.approx(0.05, rel=0.02)
    name = "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES"
    errors = growth(folder, "r002", link["b"]["device"], "ports", link["b"]["port"], name)
    assert (errors > 0) is counted


def test_a_congested_queue_marks_before_it_pauses_unless_its_buffer_is_small() -> None:
    nature = Conditions().constants
    senders = (400.0,) * 4
    healthy = congest(400.0, senders, (True,) * 4, None, True, nature)
    assert healthy.marks > 0
    assert sum(healthy.pauses) == 0
    small = congest(400.0, senders, (True,) * 4, 30e3, True, nature)
    assert small.marks == 0
    assert sum(small.pauses) > 0
    assert sum(small.drops) == 0
    unpaused = congest(400.0, senders, (False, True, True, True), 30e3, True, nature)
    assert unpaused.drops[0] > 0
    assert unpaused.drops[1:] == (0, 0, 0)


def test_the_readers_understand_all_that_the_model_prints(tmp_path: Path) -> None:
    folder = carried_out(tmp_path / "plan", Conditions(numbered=True, swapped=[(0, 1)]))
    plan = read_plan(folder).plan
    results, diagnostics = read_results(folder, plan)
    readings = tuple(read_counters(folder, plan))
    assert (diagnostics, [reading for reading in readings if reading.diagnostics or reading.unread]) == ((), [])
    assert {reading.round for reading in readings} == {planned.id for planned in plan.rounds}
    answers = {(result.test, result.node): result.reading.answer for result in results}
    assert answers["r002-0002", "gpu2"] is Answer.OK
    assert answers["r002-0000", "gpu1"] is Answer.NOT_MEASURED, "its cable is in the place of another one"
