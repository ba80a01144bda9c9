"""A flap of a lab node's NIC: which interfaces went down, and what is restored when they are up again."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from lab_node import rails
from lab_node.rails import Rail, RailRoute, Watch, commands

BEFORE = Rail(
    7,
    9000,
    True,
    ("10.32.0.1/31", "fd00::1/127"),
    (RailRoute("-4", "10.32.0.0/11 via 10.32.0.0 table 100"), RailRoute("-6", "fd00::/56 via fd00:: table 100")),
)
ROUTES = [
    "ip -4 route add 10.32.0.0/11 via 10.32.0.0 table 100 dev rail0",
    "ip -6 route add fd00::/56 via fd00:: table 100 dev rail0",
]


def restoring(now: Rail) -> list[str]:
    return [" ".join(words) for words in commands("rail0", BEFORE, now)]


def test_an_interface_that_came_up_again_gets_its_routes() -> None:
    assert restoring(replace(BEFORE, routes=())) == ROUTES
    assert restoring(replace(BEFORE, routes=BEFORE.routes[:1])) == ROUTES[1:]
    assert restoring(BEFORE) == []


def test_one_that_was_made_anew_gets_everything() -> None:
    assert restoring(Rail(9, 1500, False, (), ())) == [
        "ip link set dev rail0 mtu 9000 up",
        "ip addr add 10.32.0.1/31 dev rail0",
        "ip addr add fd00::1/127 dev rail0 nodad",
        *ROUTES,
    ]


def test_addresses_that_somebody_removed_stay_removed() -> None:
    assert restoring(replace(BEFORE, addresses=(), routes=())) == []


@pytest.mark.parametrize(
    ("line", "down"),
    [
        ("7: rail0@if8: <BROADCAST,MULTICAST> mtu 9000 qdisc noqueue state DOWN group default", {"rail0"}),
        ("Deleted 7: rail0@NONE: <BROADCAST,MULTICAST> mtu 9000 qdisc noop state DOWN group default", {"rail0"}),
        ("7: rail0@if8: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc noqueue state UP", set()),
        # The far end went down: the kernel keeps the routes.
        ("7: rail0@if8: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 9000 qdisc noqueue state LOWERLAYERDOWN", set()),
        ("7: rail0    inet 10.32.0.1/31 scope global rail0", set()),
        ("Deleted 10.32.0.0/11 via 10.32.0.0 dev rail0 table 100", set()),
    ],
)
def test_what_the_kernel_says_of_an_interface_that_went_down(
    line: str, down: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rails, "read_rails", lambda: {"rail0": BEFORE})
    watch = Watch()
    watch.hear([line])
    assert watch.down == down


DOWN = "7: rail0@if8: <BROADCAST,MULTICAST> mtu 9000 qdisc noqueue state DOWN group default"
GONE = "Deleted 7: rail0@NONE: <BROADCAST,MULTICAST> mtu 9000 qdisc noop state DOWN group default"
UNADDRESSED = "Deleted 7: rail0    inet 10.32.0.1/31 scope global rail0\\       valid_lft forever preferred_lft forever"


@pytest.mark.parametrize(("lines", "restored"), [([DOWN], 2), ([UNADDRESSED, DOWN], 0), ([UNADDRESSED, GONE], 2)])
def test_an_interface_that_is_configured_anew_is_left_alone(
    lines: list[str], restored: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rails, "read_rails", lambda: {"rail0": BEFORE})
    watch = Watch()
    watch.hear(lines)
    ran: list[Sequence[str]] = []

    def run(words: Sequence[str]) -> bool:
        ran.append(words)
        return True

    monkeypatch.setattr(rails, "read_rails", lambda: {"rail0": replace(BEFORE, routes=())})
    monkeypatch.setattr(rails, "succeeds", run)
    watch.look()
    assert len(ran) == restored


def test_what_is_configured_anew_is_kept_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    state = {"rail0": BEFORE}
    monkeypatch.setattr(rails, "read_rails", lambda: dict(state))
    watch = Watch()
    state["rail0"] = replace(BEFORE, is_up=False, addresses=(), routes=())
    watch.hear([UNADDRESSED])
    watch.look()
    # The kernel's events of one command may come in two bursts.
    watch.hear([DOWN])
    watch.look()
    state["rail0"] = BEFORE
    watch.look()
    assert watch.rails == {"rail0": BEFORE}
    assert watch.down == set()
