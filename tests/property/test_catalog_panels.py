"""Properties of front panels over every model and any split of the cages."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from railweave.catalog.load import load_catalog
from railweave.catalog.model import SwitchModel
from railweave.catalog.panel import LANE_RATES_GBPS, PortGroup, build_panel, logical_ports_per_cage, speeds
from railweave.diagnostics import Blocker

CATALOG = load_catalog()
SPEEDS = (10, 25, 40, 50, 100, 200, 400, 800, 1600)


@st.composite
def splits(draw: st.DrawFn) -> tuple[str, tuple[PortGroup, ...]]:
    """Draw a model by its ID, which stays short where hypothesis prints an example: a chassis has hundreds of cages."""
    name = draw(st.sampled_from(CATALOG.switch_ids()))
    model = CATALOG.switch(name)
    groups = draw(
        st.lists(st.builds(PortGroup, st.integers(0, len(model.cages)), st.sampled_from(speeds(model))), max_size=4)
    )
    return name, tuple(groups)


@given(splits())
def test_no_lane_name_or_alias_of_a_panel_is_used_twice(split: tuple[str, tuple[PortGroup, ...]]) -> None:
    model, groups = CATALOG.switch(split[0]), split[1]
    panel = build_panel(model, groups)
    if isinstance(panel, Blocker):
        assert panel.message
        assert panel.fix
        return
    # SONiC numbers lanes per chip, and the cards of a chassis have a chip or two each.
    assert model.chassis or unique(lane for port in panel.ports for lane in port.lanes.split(","))
    assert unique(port.name for port in panel.ports)
    assert unique(port.alias for port in panel.ports)
    assert unique((port.panel, port.subport) for port in panel.ports)
    assert [port.index for port in panel.ports] == list(range(len(panel.ports)))


@given(splits())
def test_the_ports_of_a_cage_take_its_lanes_in_order(split: tuple[str, tuple[PortGroup, ...]]) -> None:
    model, groups = CATALOG.switch(split[0]), split[1]
    panel = build_panel(model, groups)
    if isinstance(panel, Blocker):
        return
    used: dict[int, list[int]] = {}
    for port in panel.ports:
        used.setdefault(port.panel, []).extend(int(lane) for lane in port.lanes.split(","))
    for cage in model.cages:
        assert tuple(used.get(cage.port_index, ())) == cage.lanes[: len(used.get(cage.port_index, ()))]
    assert len(used) == sum(group.cages for group in groups)


@given(splits())
def test_a_panel_is_refused_only_for_too_many_cages_or_ports_or_a_cage_without_the_mode(
    split: tuple[str, tuple[PortGroup, ...]],
) -> None:
    model, groups = CATALOG.switch(split[0]), split[1]
    panel = build_panel(model, groups)
    too_many = sum(group.cages for group in groups) > len(model.cages)
    lacks = any(mode.not_on for mode in model.breakout_modes)
    if isinstance(panel, Blocker):
        assert too_many or lacks or wanted_ports(model, groups) > (model.asic.logical_ports or 0)
    else:
        assert not too_many
        assert len(panel.ports) == wanted_ports(model, groups)


@given(st.sampled_from(CATALOG.switch_ids()), st.sampled_from(SPEEDS))
def test_every_model_gives_every_speed_a_panel_or_a_refusal(model_id: str, speed_gbps: int) -> None:
    model = CATALOG.switch(model_id)
    panel = build_panel(model, (PortGroup(len(model.cages), speed_gbps),))
    per_cage = logical_ports_per_cage(model, speed_gbps)
    if isinstance(panel, Blocker):
        limit = model.asic.logical_ports or len(model.cages) * 8
        assert (
            per_cage is None or per_cage * len(model.cages) > limit or any(mode.not_on for mode in model.breakout_modes)
        )
        return
    assert per_cage is not None
    assert len(panel.ports) == per_cage * len(model.cages)
    assert per_cage * speed_gbps <= model.cage_type.lanes * model.cage_type.lane_gbps
    for port in panel.ports:
        lanes = port.lanes.count(",") + 1
        # some lane rate that exists carries the speed on at most these lanes
        assert any(speed_gbps % rate == 0 and speed_gbps // rate <= lanes for rate in LANE_RATES_GBPS)
        assert port.fec == ("none" if speed_gbps in (10, 40) else "rs")


def wanted_ports(model: SwitchModel, groups: tuple[PortGroup, ...]) -> int:
    return sum(group.cages * (logical_ports_per_cage(model, group.speed_gbps) or 0) for group in groups)


def unique(values: object) -> bool:
    return max(Counter(values).values(), default=0) <= 1  # type: ignore[call-overload]
