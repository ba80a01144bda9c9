"""A schema index made by hand, so that nothing here needs libyang or SONiC's models."""

import pytest

from railweave.yang.schema import MapFields, RowSchema, SchemaIndex, TableSchema


def table(module: str, *lists: RowSchema, **fixed: RowSchema) -> TableSchema:
    return TableSchema(module, f"urn:{module}", lists, fixed)


def form(
    element: str, keys: str, leaves: str = "", leaf_lists: str = "", map_fields: MapFields | None = None
) -> RowSchema:
    return RowSchema(element, tuple(keys.split()), frozenset(leaves.split()), frozenset(leaf_lists.split()), map_fields)


INDEX: SchemaIndex = {
    "DEVICE_METADATA": table("sonic-device_metadata", localhost=form("localhost", "", "hostname mac platform")),
    "PORT": table("sonic-port", form("PORT_LIST", "name", "speed mtu lanes description", "adv_speeds tags")),
    "INTERFACE": table(
        "sonic-interface",
        form("INTERFACE_LIST", "name", "vrf_name"),
        form("INTERFACE_IPPREFIX_LIST", "name ip-prefix", "scope"),
    ),
    "BGP_NEIGHBOR": table(
        "sonic-bgp-neighbor",
        form("BGP_NEIGHBOR_TEMPLATE_LIST", "neighbor", "asn"),
        form("BGP_NEIGHBOR_OTHER_LIST", "neighbor", "asn bfd"),
    ),
    "DSCP_TO_TC_MAP": table(
        "sonic-dscp-tc-map",
        form("DSCP_TO_TC_MAP_LIST", "name", map_fields=MapFields("DSCP_TO_TC_MAP", "dscp", "tc")),
    ),
    "VLAN": table("sonic-vlan", form("VLAN_LIST", "name", "vlanid")),
    "VLAN_MEMBER": table("sonic-vlan", form("VLAN_MEMBER_LIST", "name port", "tagging_mode")),
}


@pytest.fixture(scope="session")
def index() -> SchemaIndex:
    return INDEX
