"""``crm`` and ``counterpoll``: what SONiC's own programs answered for the same words and rows."""

from collections.abc import Callable

import pytest

from sonic_sim.device import Device

Run = Callable[..., tuple[int, str, str]]
STATS = {"crm_stats_ipv4_route_used": "12", "crm_stats_ipv4_route_available": "1000"}


def test_a_threshold_is_kept_under_the_name_of_its_resource(run: Run, switch: Device) -> None:
    for words in ("ipv4 route type used", "acl group entry low 5", "nexthop group member high 9"):
        assert run(switch, f"crm config thresholds {words}") == (0, "", "")
    row = switch.db.get("CRM|Config")
    assert row["ipv4_route_threshold_type"] == "used"
    assert row["acl_entry_low_threshold"] == "5"
    assert row["nexthop_group_member_high_threshold"] == "9"


@pytest.mark.parametrize("words", ["polling interval 0", "thresholds ipv4 route type most", "thresholds fdb low x"])
def test_a_wrong_value_is_a_usage_error(run: Run, switch: Device, words: str) -> None:
    before = switch.db.get("CRM|Config")
    assert run(switch, f"crm config {words}")[0] == 2
    assert switch.db.get("CRM|Config") == before


def test_the_use_of_a_resource_is_shown_once_it_is_counted(run: Run, switch: Device) -> None:
    said = "\nCRM counters are not ready. They would be populated after the polling interval.\n"
    assert run(switch, "crm show resources ipv4 route") == (0, said, "")
    switch.other.setdefault(2, {})["CRM:STATS"] = STATS
    assert run(switch, "crm show resources ipv4 route")[1] == (
        "\nResource Name      Used Count    Available Count\n"
        "---------------  ------------  -----------------\n"
        "ipv4_route                 12               1000\n\n"
    )


def test_routes_are_counted_where_the_asic_can(run: Run, switch: Device) -> None:
    waiting = "Waiting for swss to initialize route flow counter capability, please try again later\n"
    assert run(switch, "counterpoll flowcnt-route enable") == (1, waiting, "")
    switch.other.setdefault(6, {})["FLOW_COUNTER_CAPABILITY_TABLE|route"] = {"support": "true"}
    assert run(switch, "counterpoll flowcnt-route enable") == (0, "", "")
    assert switch.db.get("FLEX_COUNTER_TABLE|FLOW_CNT_ROUTE") == {"FLEX_COUNTER_STATUS": "enable"}


def test_the_interval_of_router_interfaces_takes_any_text(run: Run, switch: Device) -> None:
    assert run(switch, "counterpoll rif interval soon")[0] == 0
    assert run(switch, "counterpoll phy interval 99")[0] == 2
    assert "RIF_STAT" in run(switch, "counterpoll show")[1]
