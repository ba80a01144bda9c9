"""The running document: what is read, what is refused, what counts as the same."""

import json

import pytest

from railweave.sonic.document import DocumentError, dump, parse_running, running_from, same_value


def test_lists_become_tuples_and_the_placeholder_of_an_empty_row_disappears() -> None:
    running = parse_running('{"INTERFACE": {"Ethernet0": {"NULL": "NULL"}}, "ACL_TABLE": {"A": {"ports": ["x", "y"]}}}')
    assert running.config_db == {"INTERFACE": {"Ethernet0": {}}, "ACL_TABLE": {"A": {"ports": ("x", "y")}}}


def test_numbers_and_booleans_become_the_text_that_redis_holds() -> None:
    running = running_from({"PORT": {"Ethernet0": {"mtu": 9100, "on": True}}})
    assert running.config_db["PORT"]["Ethernet0"] == {"mtu": "9100", "on": "true"}


@pytest.mark.parametrize("bgpraw", ["", "  \n", None, 3])
def test_an_frr_that_did_not_answer_is_unknown_not_empty(bgpraw: object) -> None:
    assert running_from({"bgpraw": bgpraw}).frr is None
    assert running_from({}).frr is None


def test_what_is_read_is_written_as_it_was() -> None:
    document = {
        "PORT": {"Ethernet8": {"mtu": "9100"}, "Ethernet16": {"adv_speeds": ["1", "2"]}},
        "bgpraw": "frr version",
    }
    running = running_from(document)
    assert json.loads(dump(running)) == document
    assert list(json.loads(dump(running))["PORT"]) == ["Ethernet8", "Ethernet16"]


def test_the_text_of_a_running_configuration_is_not_in_its_repr() -> None:
    assert "secret" not in repr(running_from({"bgpraw": "neighbor 10.0.0.1 password secret"}))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[]", "not a JSON object"),
        ("{", "not JSON"),
        ('{"PORT": 3}', "PORT"),
        ('{"PORT": {"Ethernet0": []}}', "PORT|Ethernet0"),
        ('{"PORT": {"Ethernet0": {"mtu": null}}}', "PORT|Ethernet0|mtu"),
        ('{"PORT": {"Ethernet0": {"mtu": {"a": "b"}}}}', "PORT|Ethernet0|mtu"),
        ('{"PORT": {"Ethernet0": {"mtu": [["x"]]}}}', "PORT|Ethernet0|mtu"),
        ('{"PORT": {"Ethernet0": {"mtu": NaN}}}', "NaN is not JSON"),
        ('{"PORT": {"Ethernet0": {"mtu": -Infinity}}}', "-Infinity is not JSON"),
    ],
)
def test_a_wrong_document_is_refused_with_its_place(text: str, place: str) -> None:
    with pytest.raises(DocumentError) as refused:
        parse_running(text)
    assert place in str(refused.value)


def test_the_order_of_a_list_is_free_and_an_empty_one_reads_back_as_one_empty_text() -> None:
    assert same_value(("a", "b"), ("b", "a"))
    assert same_value((), ("",))
    assert not same_value(("a", "b"), "a,b")
    assert not same_value(None, "")
    assert same_value(None, None)
