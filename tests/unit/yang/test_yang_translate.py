"""CONFIG_DB to XML and back to a place, by SONiC's own translation rules."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.sonic.rows import ConfigDb
from railweave.yang.schema import ConfigPlace, Failure, SchemaIndex
from railweave.yang.translate import Translation, Translator, place_of


def tree_of(translation: Translation) -> ElementTree.Element:
    """Return the document below one root; XML of a data tree has several."""
    return ElementTree.fromstring(f"<data>{translation.xml}</data>")


def flat(translation: Translation) -> str:
    return translation.xml.replace("\n", "")


def test_a_row_becomes_an_entry_of_its_tables_list(index: SchemaIndex) -> None:
    translation = Translator().translate({"PORT": {"Ethernet0": {"speed": "400000", "mtu": "9100"}}}, index)
    assert flat(translation) == (
        '<sonic-port xmlns="urn:sonic-port"><PORT><PORT_LIST><name>Ethernet0</name><speed>400000</speed>'
        "<mtu>9100</mtu></PORT_LIST></PORT></sonic-port>"
    )
    assert translation.refused == ()


def test_the_parts_of_a_key_choose_the_list(index: SchemaIndex) -> None:
    xml = flat(Translator().translate({"INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.1/31": {}}}, index))
    assert "<INTERFACE_LIST><name>Ethernet0</name></INTERFACE_LIST>" in xml
    assert (
        "<INTERFACE_IPPREFIX_LIST><name>Ethernet0</name><ip-prefix>10.0.0.1/31</ip-prefix></INTERFACE_IPPREFIX_LIST>"
        in xml
    )


def test_of_lists_with_equal_keys_the_first_that_knows_all_fields_is_taken(index: SchemaIndex) -> None:
    xml = flat(Translator().translate({"BGP_NEIGHBOR": {"10.0.0.1": {"asn": "1"}, "10.0.0.2": {"bfd": "true"}}}, index))
    assert "<BGP_NEIGHBOR_TEMPLATE_LIST><neighbor>10.0.0.1</neighbor>" in xml
    assert "<BGP_NEIGHBOR_OTHER_LIST><neighbor>10.0.0.2</neighbor>" in xml


def test_a_fixed_row_is_a_container_of_its_name(index: SchemaIndex) -> None:
    xml = flat(Translator().translate({"DEVICE_METADATA": {"localhost": {"hostname": "pod1-leaf1"}}}, index))
    assert "<DEVICE_METADATA><localhost><hostname>pod1-leaf1</hostname></localhost></DEVICE_METADATA>" in xml


def test_every_field_of_a_map_row_is_an_entry_of_the_inner_list(index: SchemaIndex) -> None:
    xml = flat(Translator().translate({"DSCP_TO_TC_MAP": {"FABRIC": {"26": "3", "48": "6"}}}, index))
    assert (
        "<name>FABRIC</name><DSCP_TO_TC_MAP><dscp>26</dscp><tc>3</tc></DSCP_TO_TC_MAP>"
        "<DSCP_TO_TC_MAP><dscp>48</dscp><tc>6</tc></DSCP_TO_TC_MAP>"
    ) in xml


def test_a_list_gives_a_leaf_for_each_value_and_some_texts_are_lists(index: SchemaIndex) -> None:
    xml = flat(
        Translator().translate({"PORT": {"Ethernet0": {"tags": ("a", "b"), "adv_speeds": "100000,200000"}}}, index)
    )
    assert "<tags>a</tags><tags>b</tags><adv_speeds>100000</adv_speeds><adv_speeds>200000</adv_speeds>" in xml


def test_tables_of_one_module_share_its_root_element(index: SchemaIndex) -> None:
    tables: ConfigDb = {
        "VLAN": {"Vlan10": {"vlanid": "10"}},
        "PORT": {"Ethernet0": {}},
        "VLAN_MEMBER": {"Vlan10|Ethernet0": {"tagging_mode": "untagged"}},
    }
    roots = [element.tag for element in tree_of(Translator().translate(tables, index))]
    assert roots == ["{urn:sonic-vlan}sonic-vlan", "{urn:sonic-port}sonic-port"]


def test_text_is_escaped_and_never_shifts_a_line(index: SchemaIndex) -> None:
    translation = Translator().translate({"PORT": {"Ethernet0": {"description": "a<b>&\n\rc", "mtu": "1"}}}, index)
    leaf = tree_of(translation).find(".//{urn:sonic-port}description")
    assert leaf is not None
    assert leaf.text == "a<b>&\n\rc"
    lines = translation.xml.splitlines()
    assert translation.places[lines.index("<mtu>1</mtu>")] == ConfigPlace("PORT", "Ethernet0", "mtu")


@pytest.mark.parametrize(
    ("tables", "place", "words"),
    [
        ({"PORTS": {"Ethernet0": {}}}, ConfigPlace("PORTS"), "no table of this name"),
        ({"PORT": {"Ethernet0|x": {}}}, ConfigPlace("PORT", "Ethernet0|x"), "keys there: <name>"),
        ({"DEVICE_METADATA": {"host": {}}}, ConfigPlace("DEVICE_METADATA", "host"), "keys there: localhost"),
        ({"PORT": {"Ethernet0": {"spede": "1"}}}, ConfigPlace("PORT", "Ethernet0", "spede"), "no such field"),
        (
            {"PORT": {"Ethernet0": {"tags": "a"}}},
            ConfigPlace("PORT", "Ethernet0", "tags"),
            "list of values, and not text",
        ),
        (
            {"PORT": {"Ethernet0": {"mtu": ("1", "2")}}},
            ConfigPlace("PORT", "Ethernet0", "mtu"),
            "one text, and not a list",
        ),
        ({"PORT": {"Ethernet0": {"mtu": "1\x00"}}}, ConfigPlace("PORT", "Ethernet0", "mtu"), "character"),
        ({"PORT": {"Ether\x01": {}}}, ConfigPlace("PORT", "Ether\x01"), "character"),
        ({"DSCP_TO_TC_MAP": {"A": {"\x02": "1"}}}, ConfigPlace("DSCP_TO_TC_MAP", "A", "\x02"), "character"),
    ],
)
def test_what_has_no_place_in_the_models_is_told(
    index: SchemaIndex, tables: ConfigDb, place: ConfigPlace, words: str
) -> None:
    (found,) = Translator().translate(tables, index).refused
    assert found.place == place
    assert words in found.words


def test_a_field_without_a_leaf_leaves_the_rest_of_its_row_to_be_judged(index: SchemaIndex) -> None:
    translation = Translator().translate({"PORT": {"Ethernet0": {"spede": "1", "mtu": "9100"}}}, index)
    assert "<name>Ethernet0</name><mtu>9100</mtu>" in flat(translation)


@pytest.mark.parametrize(
    ("fault", "place"),
    [
        (
            Failure("x", "/sonic-port:sonic-port/PORT/PORT_LIST[name='Ethernet0']/mtu"),
            ConfigPlace("PORT", "Ethernet0", "mtu"),
        ),
        (
            Failure("x", "/sonic-port:sonic-port/PORT/PORT_LIST[name='Ethernet0']/name"),
            ConfigPlace("PORT", "Ethernet0"),
        ),
        (Failure("x", "/sonic-port:sonic-port/PORT"), ConfigPlace("PORT")),
        (
            Failure("x", "/sonic-interface:sonic-interface/INTERFACE/INTERFACE_IPPREFIX_LIST"
                  "[name='Ethernet0'][ip-prefix='10.0.0.1/31']"),
            ConfigPlace("INTERFACE", "Ethernet0|10.0.0.1/31"),
        ),
        (
            Failure("x", "/sonic-dscp-tc-map:sonic-dscp-tc-map/DSCP_TO_TC_MAP/DSCP_TO_TC_MAP_LIST[name='A]/b']"
                  "/DSCP_TO_TC_MAP[dscp='26']/tc"),
            ConfigPlace("DSCP_TO_TC_MAP", "A]/b", "26"),
        ),
        (
            Failure("x", "/sonic-device_metadata:sonic-device_metadata/DEVICE_METADATA/localhost/mac"),
            ConfigPlace("DEVICE_METADATA", "localhost", "mac"),
        ),
        (Failure("x", "/sonic-port:sonic-port/PORT/PORT_LIST[name=\"a'b\"]/mtu"), ConfigPlace("PORT", "a'b", "mtu")),
        (Failure("x", "/sonic-port:sonic-port/PORT/PORT_LIST/speed"), ConfigPlace("PORT", "Ethernet8", "speed")),
        (Failure("x", "", 5), ConfigPlace("PORT", "Ethernet0", "speed")),
        (Failure("x"), ConfigPlace("")),
    ],
)  # fmt: skip
def test_a_fault_leads_back_to_its_row_and_field(index: SchemaIndex, fault: Failure, place: ConfigPlace) -> None:
    tables: ConfigDb = {"PORT": {"Ethernet0": {"speed": "1"}, "Ethernet8": {"mtu": "1"}}}
    assert place_of(fault, Translator().translate(tables, index), tables, index) == place


anything = st.text(max_size=12)
keys = st.one_of(anything, st.sampled_from(["Ethernet0", "Ethernet0|10.0.0.1/31", "localhost", "FABRIC"]))
fields = st.dictionaries(
    st.one_of(anything, st.sampled_from(["mtu", "tags", "adv_speeds", "vrf_name", "hostname", "26"])),
    st.one_of(anything, st.lists(anything, max_size=3).map(tuple)),
    max_size=3,
)
documents = st.dictionaries(
    st.one_of(anything, st.sampled_from(["PORT", "INTERFACE", "DSCP_TO_TC_MAP", "DEVICE_METADATA", "VLAN"])),
    st.dictionaries(keys, fields, max_size=3),
    max_size=4,
)


@given(tables=documents)
def test_any_document_is_translated_or_refused_part_by_part(index: SchemaIndex, tables: ConfigDb) -> None:
    translation = Translator().translate(tables, index)
    tree_of(translation)  # well-formed, whatever the text is
    assert translation.xml.count("\n") == len(translation.places)
    translated = set(translation.places)
    refused = {one.place for one in translation.refused}
    for table, rows in tables.items():
        for key, row in rows.items():
            whole = {ConfigPlace(table), ConfigPlace(table, key)} & refused
            assert whole or ConfigPlace(table, key) in translated
            for name, value in row.items():
                place = ConfigPlace(table, key, name)
                assert whole or place in refused or place in translated or value == ()
