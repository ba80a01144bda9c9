"""All faults of a document from models that tell only the first: what is faulty is taken out, the rest judged."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from railweave.sonic.rows import ConfigDb
from railweave.yang.check import MOST_VIOLATIONS, violations
from railweave.yang.schema import ConfigPlace, Failure, SchemaIndex

ROOT = "/sonic-port:sonic-port/PORT/PORT_LIST"
OUT_OF_RANGE = 'value "{}" is out of the allowed range.'
NO_TARGET = 'Invalid leafref value "{}" - no target instance "/port" with the same value.'


@dataclass
class Judge:
    """Models whose rules are functions of the XML; the first that finds something speaks, as libyang does."""

    index: SchemaIndex
    rules: tuple[Callable[[str], Failure | None], ...]
    name: str = "test"
    asked: int = 0

    def first_failure(self, xml: str) -> Failure | None:
        self.asked += 1
        return next((fault for rule in self.rules if (fault := rule(xml.replace("\n", "")))), None)


def small_mtu(xml: str) -> Failure | None:
    for name, body in re.findall(r"<PORT_LIST><name>(\w+)</name>(.*?)</PORT_LIST>", xml):
        for mtu in re.findall(r"<mtu>(\d+)</mtu>", body):
            if int(mtu) > 9216:
                return Failure(OUT_OF_RANGE.format(mtu), f"{ROOT}[name='{name}']/mtu")
    return None


def speed_there(xml: str) -> Failure | None:
    ports = re.findall(r"<PORT_LIST><name>\w+</name>(.*?)</PORT_LIST>", xml)
    lacking = any("<speed>" not in body for body in ports)
    return Failure('Mandatory node "speed" instance does not exist.', f"{ROOT}/speed") if lacking else None


def ports_of_interfaces(xml: str) -> Failure | None:
    ports = set(re.findall(r"<PORT_LIST><name>(\w+)</name>", xml))
    for element, name in re.findall(r"<(INTERFACE\w*)><name>(\w+)</name>", xml):
        if name not in ports:
            keys = f"[name='{name}']" + ("[ip-prefix='10.0.0.1/31']" if "IPPREFIX" in element else "")
            path = f"/sonic-interface:sonic-interface/INTERFACE/{element}{keys}/name"
            return Failure(NO_TARGET.format(name), path)
    return None


def judge(index: SchemaIndex) -> Judge:
    return Judge(index, (speed_there, small_mtu, ports_of_interfaces))


def port(**fields: str) -> dict[str, str]:
    return {"speed": "400000", **fields}


def test_a_valid_document_has_no_findings_and_is_asked_once(index: SchemaIndex) -> None:
    models = judge(index)
    assert violations({"PORT": {"Ethernet0": port()}, "INTERFACE": {"Ethernet0": {}}}, models) == ()
    assert models.asked == 1


def test_one_value_on_many_ports_is_one_finding_with_the_number_of_rows(index: SchemaIndex) -> None:
    tables: ConfigDb = {"PORT": {f"Ethernet{n}": port(mtu="9300") for n in range(64)}}
    (found,) = violations(tables, judge(index))
    assert (found.place, found.value, found.rows) == (ConfigPlace("PORT", "Ethernet0", "mtu"), "9300", 64)
    assert found.words == OUT_OF_RANGE.format("9300")


def test_different_values_are_different_findings(index: SchemaIndex) -> None:
    tables: ConfigDb = {"PORT": {"Ethernet0": port(mtu="9300"), "Ethernet8": port(mtu="9400")}}
    assert [one.value for one in violations(tables, judge(index))] == ["9300", "9400"]


def test_references_to_a_row_that_was_found_faulty_are_no_findings(index: SchemaIndex) -> None:
    tables: ConfigDb = {
        "PORT": {"Ethernet0": {}, "Ethernet8": {}},
        "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.1/31": {}, "Ethernet8": {}},
    }
    (found,) = violations(tables, judge(index))
    assert (str(found.place), found.rows) == ("PORT|Ethernet0|speed", 2)


def test_a_reference_to_nothing_is_one_finding_for_all_rows_of_its_table(index: SchemaIndex) -> None:
    tables: ConfigDb = {
        "PORT": {"Ethernet0": port()},
        "INTERFACE": {"Ethernet0": {}, "Ethernet9": {}, "Ethernet9|10.0.0.1/31": {}},
    }
    (found,) = violations(tables, judge(index))
    assert (found.place, found.rows) == (ConfigPlace("INTERFACE", "Ethernet9"), 2)


def test_what_cannot_be_translated_and_what_is_not_valid_come_together(index: SchemaIndex) -> None:
    tables: ConfigDb = {
        "PORT": {"Ethernet0": port(mtu="9300", spede="1"), "Ethernet8": port(spede="1")},
        "INTERFACE": {"Ethernet9": {}},
        "PORTS": {"x": {}},
    }
    found = {str(one.place): one for one in violations(tables, judge(index))}
    assert set(found) == {"PORT|Ethernet0|spede", "PORT|Ethernet0|mtu", "INTERFACE|Ethernet9", "PORTS"}
    assert found["PORT|Ethernet0|spede"].rows == 2
    assert found["PORTS"].unmodelled


def test_the_input_is_left_as_it_was(index: SchemaIndex) -> None:
    tables = {"PORT": {"Ethernet0": port(mtu="9300")}}
    violations(tables, judge(index))
    assert tables == {"PORT": {"Ethernet0": port(mtu="9300")}}


def test_a_fault_without_a_place_is_told_and_ends_the_search(index: SchemaIndex) -> None:
    models = Judge(index, (lambda _: Failure("out of memory"),))
    (found,) = violations({"PORT": {"Ethernet0": port()}}, models)
    assert (found.place, found.words) == (ConfigPlace(""), "out of memory")


def test_the_search_is_bounded(index: SchemaIndex) -> None:
    tables: ConfigDb = {"PORT": {f"Ethernet{n}": port(mtu=str(9300 + n)) for n in range(100)}}
    assert len(violations(tables, judge(index))) == MOST_VIOLATIONS
