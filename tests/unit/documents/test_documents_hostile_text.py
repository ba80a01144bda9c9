"""Text that a device chose, such as an LLDP name or a description, is shown and does nothing."""

from collections.abc import Callable

import pytest
from planned_devices import planned
from rich.text import Text

from nornir_railweave.device.session import error_text
from railweave.cli.show import print_error, print_note, print_view
from railweave.plan.model import DeviceState, Plan
from railweave.printable import printable
from railweave.report.layout import cell, code, table
from railweave.report.plan import plan_markdown
from railweave.sonic.delta.change import Change, Delta, Disruption, Method, Op

EVIL = "a\x1b]0;owned\x07\x1b[2Jb\r\x9b31mc\u202edcba\ud800"
MARKUP = "[x](http://evil) ![i](https://evil/t.png) @team <img src=x> | `a` *b* \\ \n# c"


def test_control_characters_marks_of_direction_and_surrogates_are_replaced() -> None:
    shown = printable(EVIL + "\tkept\n")
    assert shown == "a\ufffd]0;owned\ufffd\ufffd[2Jb\ufffd\ufffd31mc\ufffddcba\ufffd\tkept\n"
    shown.encode()


@pytest.mark.parametrize(
    "show",
    [
        lambda: print_view(table("name", rows=[(EVIL,)])),
        lambda: print_view(Text(EVIL), stderr=True),
        lambda: print_error(EVIL),
        lambda: print_note(EVIL),
    ],
)
def test_nothing_of_a_device_steers_a_terminal(show: Callable[[], None], capsys: pytest.CaptureFixture[str]) -> None:
    show()
    shown = "".join(capsys.readouterr())
    assert "owned" in shown
    assert not {"\x1b", "\x07", "\r", "\x9b", "\u202e"} & set(shown)


def test_a_devices_error_is_one_plain_line() -> None:
    assert error_text(OSError(f"{EVIL}\nmore")) == printable(" ".join(f"{EVIL}\nmore".split()))


def test_markdown_holds_no_link_image_tag_cell_or_notification_of_a_device() -> None:
    shown = cell(MARKUP)
    for active in ("://", "@team", "<img", " | ", "`", " *b", "\n"):
        assert active not in shown
    assert shown.startswith("[x\\](http:"), "no link"
    assert cell("model@ff3c") == "model@ff3c"
    assert code("a`b|c\x1b") == "`a'b\\|c\ufffd`"


def test_a_plan_as_a_comment_shows_what_runs_and_nothing_else() -> None:
    change = Change(
        Op.UPDATE,
        "PORT",
        "Ethernet0",
        "description",
        f"{EVIL}{MARKUP}```\n",
        "to-leaf1",
        Disruption.NONE,
        Method.WRITE,
        "",
    )
    devices = {
        "leaf1": planned(DeviceState.CHANGED, "leaf", running_sha256="aa"),
        "leaf2": planned(DeviceState.UNREACHABLE, "leaf", error=f"{EVIL}{MARKUP}"),
    }
    text = plan_markdown(
        Plan("pod1", "production", "f" * 64, devices, (("leaf1",),)).with_deltas({"leaf1": Delta((change,))})
    )
    text.encode()
    assert printable(text) == text
    assert text.count("```") == 2, "the fence around the changes is opened and closed once"
    outside, _, _ = text.partition("```")
    plain = "".join(outside.split("`")[::2])
    assert not any(active in plain for active in ("://", "@team", "<img", "x]("))
