"""Where each of FRR's daemons saves its own file, a save that fails or is cut off leaves no mixture of old and new."""

import json
from collections.abc import Sequence

import pytest
from switch_cases import new_world
from virtual_switch import FRR_IGNORED, World

from railweave_switch import frr
from railweave_switch.host import Done

FOLDER = "/etc/sonic/frr"
NEW = ("router bgp 65001", "bgp log-neighbor-changes")


def separate() -> World:
    """Return a switch whose daemons have files of their own, with a change that is not saved."""
    world = new_world()
    world.rows["DEVICE_METADATA|localhost"]["docker_routing_config_mode"] = "split"
    world.files |= {f"{FOLDER}/zebra.conf": b"zebra of before\n", f"{FOLDER}/bgpd.conf": b"bgpd of before\n"}
    world.save()
    world.frr_line(NEW)
    return world


def save(world: World) -> dict[str, str]:
    return world.call("save", "--id", "saved", "--frr-ignored", FRR_IGNORED)


@pytest.mark.parametrize(
    "done",
    [
        Done(1, "Building Configuration...\n", "Can't open configuration file /etc/frr/bgpd.conf\n"),
        Done(0, "Configuration saved to /etc/frr/zebra.conf\nCan't open configuration file /etc/frr/bgpd.conf\n", ""),
    ],
)
def test_files_of_before_stand_again_where_a_daemon_cannot_save(done: Done) -> None:
    world = separate()
    before = {path: text for path, text in world.files.items() if path.startswith(FOLDER)}

    def refused(words: Sequence[str]) -> Done | None:
        if list(words) != ["vtysh", "-c", "write memory"]:
            return None
        world.files |= {f"{FOLDER}/zebra.conf": b"zebra anew\n", f"{FOLDER}/staticd.conf": b"staticd anew\n"}
        return done

    world.refuse = refused
    told = save(world)
    assert "Can't open configuration file /etc/frr/bgpd.conf" in told["error"]
    assert {path: text for path, text in world.files.items() if path.startswith(FOLDER)} == before


def test_a_save_that_a_power_loss_cut_off_saves_what_ran_then() -> None:
    """The daemons boot a mixture, which must not become what is saved."""
    world = separate()

    def power_loss(words: Sequence[str]) -> Done | None:
        if list(words) == ["vtysh", "-c", "write memory"]:
            world.refuse = lambda _: None
            world.reboot()
        return None

    world.refuse = power_loss
    save(world)
    assert NEW not in world.lines, "the switch booted what stood in the file"
    saved: list[Sequence[frr.Line]] = []

    def written(words: Sequence[str]) -> Done | None:
        if list(words) == ["vtysh", "-c", "write memory"]:
            saved.append(list(world.lines))
        return None

    world.refuse = written
    world.call("status")
    assert saved
    assert all(NEW in lines for lines in saved)
    assert "saved" not in json.dumps([path for path in world.files if path.endswith("save.json")])
