"""Devices that could not be read for one reason are one line."""

from railweave.report.reasons import by_reason, reason_lines


def test_devices_share_a_line_where_only_their_addresses_differ() -> None:
    refused = "login as 'ops' was refused; check user, password or key"
    reasons = {f"pod1-leaf{number}": f"192.0.2.{number}:22: {refused}" for number in range(1, 5)}
    reasons["pod1-spine1"] = "[2001:db8::1]:22: no answer within 15 s"
    assert reason_lines(reasons) == [
        f"4 switches (pod1-leaf1…4): {refused}",
        "pod1-spine1: [2001:db8::1]:22: no answer within 15 s",
    ]


def test_switches_whose_host_keys_are_unknown_share_the_command_that_records_them() -> None:
    reasons = {
        name: f"jump host ops: the host key is unknown. `railweave trust {name} --target production` records it"
        for name in ("pod1-leaf1", "pod1-leaf2", "pod1-leaf10")
    }
    assert reason_lines(reasons) == [
        "3 switches (pod1-leaf1, pod1-leaf2, pod1-leaf10): jump host ops: the host key is unknown. "
        "`railweave trust --target production` records it"
    ]


def test_a_reason_without_an_address_is_shared_as_it_is() -> None:
    reason = "the answer is no JSON: line 3"
    assert by_reason({"b": reason, "a": reason}) == {reason: ("b", "a")}


def test_no_device_is_lost_where_the_reason_of_one_is_what_others_share() -> None:
    shared = "192.0.2.1:22: no route"
    reasons = {"a": shared, "b": f"192.0.2.2:22: {shared}", "c": f"192.0.2.3:22: {shared}"}
    assert by_reason(reasons) == {shared: ("a", "b", "c")}
