"""``config qos``: the templates of SKUs give what Jinja gave, and what is left where they cannot be rendered."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from by_check import sampled
from sku_documents import DOCUMENTS, digest

from railweave.catalog.load import load_catalog
from sonic_sim.device import Device
from sonic_sim.shell.programs import ProgramError
from sonic_sim.sku.data import MissingTemplateError
from sonic_sim.sku.templates import find_template

Run = Callable[..., tuple[int, str, str]]
RENDERED: dict[str, list[str]] = json.loads((Path(__file__).parent / "sku_templates_rendered.json").read_bytes())
del RENDERED["source"]


def _text(case: str, document: dict[str, Any]) -> str:
    """Return what a template gives, or the name of the error."""
    template = find_template(*case.split("/"))
    assert template is not None
    try:
        return template.text(document)
    except MissingTemplateError:
        return "TemplateNotFound"
    except ProgramError as error:
        return str(error).partition(":")[0].rpartition(".")[2]


@pytest.mark.parametrize("case", sampled(RENDERED, every=5))
def test_a_template_gives_what_jinja_gave(case: str) -> None:
    assert [digest(_text(case, document)) for document in DOCUMENTS] == RENDERED[case]


def test_the_catalog_and_the_templates_state_the_same_pools() -> None:
    catalog, compared = load_catalog(), 0
    models = (catalog.switch(name) for name in catalog.switch_ids())
    for model in (model for model in models if model.source.endswith("ff3c0c9f686a1d0dbddbe813b233b3b7a51bd8e2")):
        for sku in model.hwskus:
            template = find_template(model.platform, sku.name, "buffers.json.j2")
            if template is None or "t1" not in sku.buffer_pools:
                continue
            rows = json.loads(template.text(DOCUMENTS[1])).get("BUFFER_POOL", {})
            assert {name: row.get("size") for name, row in rows.items()} == {
                pool.name: None if pool.size_bytes is None else str(pool.size_bytes) for pool in sku.buffer_pools["t1"]
            }, sku.name
            compared += 1
    assert compared > 5


def test_a_reload_without_templates_leaves_the_tables_deleted(run: Run, switch: Device) -> None:
    switch.db.put("SCHEDULER|own", {"type": "STRICT"})
    switch.db.set_fields("DEVICE_METADATA|localhost", {"hwsku": "NoSuchSku"})
    folder = "/usr/share/sonic/device/x86_64-mlnx_msn2700-r0/NoSuchSku"
    said = f"Buffer definition template not found at {folder}/buffers.json.j2\n"
    assert run(switch, "config qos reload --no-dynamic-buffer")[:2] == (0, said)
    assert not switch.db.table("SCHEDULER")


def test_a_port_of_a_sku_without_templates_is_not_updated(run: Run, switch: Device) -> None:
    switch.db.put("QUEUE|Ethernet0|3", {"scheduler": "own"})
    switch.db.set_fields("DEVICE_METADATA|localhost", {"hwsku": "NoSuchSku"})
    assert run(switch, "config qos reload --ports Ethernet0")[::2] == (1, "Aborted!\n")
    assert switch.db.get("QUEUE|Ethernet0|3")


def test_a_reload_on_a_switch_of_another_tier_fails_after_the_tables_are_gone(run: Run, switch: Device) -> None:
    switch.db.put("SCHEDULER|own", {"type": "STRICT"})
    switch.db.set_fields("DEVICE_METADATA|localhost", {"type": "SpineRouter"})
    status, _, complaint = run(switch, "config qos reload --no-dynamic-buffer")
    assert status == 1
    assert "jinja2.exceptions.TemplateNotFound: 'buffers_defaults_t2.j2' not found in search paths: '/'" in complaint
    assert not switch.db.table("SCHEDULER")


def test_a_sku_that_is_not_simulated_says_so_and_loses_nothing(run: Run, switch: Device) -> None:
    switch.db.put("SCHEDULER|own", {"type": "STRICT"})
    switch.db.set_fields("DEVICE_METADATA|localhost", {"hwsku": "Mellanox-SN5600-C256S1"})
    said = "config qos reload: the QoS and buffer templates of Mellanox-SN5600-C256S1 are not simulated\n"
    assert run(switch, "config qos reload") == (1, "", said)
    assert switch.db.get("SCHEDULER|own")


@pytest.mark.parametrize(
    ("key", "fields", "use"),
    [
        ("DEVICE_METADATA|localhost", {"switch_type": "voq"}, "a card of a VoQ chassis"),
        ("DEVICE_METADATA|localhost", {"subtype": "DualToR"}, "a ToR that shares its servers with another (DualToR)"),
        ("DEVICE_METADATA|localhost", {"storage_device": "true"}, "a backend for storage"),
        (
            "SYSTEM_DEFAULTS|tunnel_qos_remap",
            {"status": "enabled"},
            "remapped traffic of a tunnel between two ToRs",
        ),
    ],
)
def test_a_use_that_is_not_simulated_says_so_and_loses_nothing(
    run: Run, switch: Device, key: str, fields: dict[str, str], use: str
) -> None:
    switch.db.put("SCHEDULER|own", {"type": "STRICT"})
    switch.db.set_fields(key, fields)
    said = f"config qos reload: the QoS and buffer rows of {use} are not simulated\n"
    assert run(switch, "config qos reload") == (1, "", said)
    assert switch.db.get("SCHEDULER|own")


def test_a_dry_run_for_ports_removes_their_rows_and_writes_none(run: Run, switch: Device) -> None:
    switch.db.put("QUEUE|Ethernet0|3", {"scheduler": "own"})
    assert run(switch, "config qos reload --ports Ethernet0 --dry_run /tmp/rows")[0] == 0
    assert not switch.db.get("QUEUE|Ethernet0|3")
    rows = json.loads(switch.files.read("/tmp/rows"))
    assert rows["QUEUE"]["Ethernet0|3"] == {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"}


def test_buffers_that_stay_in_the_application_database_fail_the_reload_at_its_end(run: Run, switch: Device) -> None:
    switch.spec = dataclasses.replace(switch.spec, asic="mellanox")
    switch.db.set_fields("DEVICE_METADATA|localhost", {"buffer_model": "dynamic"})
    switch.other.setdefault(0, {})["BUFFER_PG_TABLE:Ethernet0:0"] = {"profile": "x"}
    status, said, _ = run(switch, "config qos reload")
    assert status == 1
    assert said.startswith("Operation not completed successfully, please save and reload configuration.\n")
    assert switch.db.table("QUEUE")
