"""The driver's ping: its command, and what ping says when nothing comes back."""

from typing import Any

from napalm_sonic.ping import ping, ping_command
from napalm_sonic.session import Completed

LOST = """\
PING 10.0.0.9 (10.0.0.9) 100(128) bytes of data.
From 10.0.0.1 icmp_seq=1 Destination Host Unreachable

--- 10.0.0.9 ping statistics ---
2 packets transmitted, 0 received, +1 errors, 100% packet loss, time 1001ms
"""


class Answering:
    def __init__(self, status: int, out: str, err: str = "") -> None:
        self.answer = (status, out, err)
        self.commands: list[str] = []

    def as_root(self, command: str) -> str:
        return f"sudo -n {command}"

    def run(self, command: str, timeout_s: float) -> Completed:
        self.commands.append(command)
        return Completed(command, *self.answer)


def asked(session: Any) -> Any:
    return ping(session, ping_command("10.0.0.9", "", 255, 2, 100, 2, ""), 6.0)


def test_every_part_of_the_question_stands_in_the_command() -> None:
    command = ping_command("10.0.0.9", "Loopback0", 3, 1, 8972, 4, "mgmt")
    assert command == "ip vrf exec mgmt ping -n -c 4 -W 1 -t 3 -s 8972 -I Loopback0 10.0.0.9"


def test_a_destination_is_one_word_of_the_shell() -> None:
    assert ping_command("a; reboot", "", 255, 2, 100, 5, "").endswith("'a; reboot'")


def test_lost_packets_are_a_result_not_an_error() -> None:
    session = Answering(1, LOST)
    told = asked(session)["success"]
    assert (told["probes_sent"], told["packet_loss"], told["rtt_avg"], told["results"]) == (2, 2, 0.0, [])
    assert session.commands == ["sudo -n ping -n -c 2 -W 2 -t 255 -s 100 10.0.0.9"]


def test_a_ping_that_cannot_be_sent_is_an_error() -> None:
    assert asked(Answering(2, "", "ping: nowhere: Name or service not known\n")) == {
        "error": "ping: nowhere: Name or service not known"
    }


def test_an_ipv6_answer_has_its_whole_address() -> None:
    text = (
        "108 bytes from fe80::1: icmp_seq=1 ttl=64 time=0.05 ms\n\n"
        "1 packets transmitted, 1 received, 0% packet loss, time 0ms\nrtt min/avg/max/mdev = 0.05/0.05/0.05/0.00 ms\n"
    )
    assert asked(Answering(0, text))["success"]["results"] == [{"ip_address": "fe80::1", "rtt": 0.05}]
