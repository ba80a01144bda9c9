"""The ACLs of a lab node's CONFIG_DB as a text of nft."""

from lab_node.filters import ruleset

ROWS = {
    "ACL_TABLE|SSH_ONLY": {"type": "CTRLPLANE", "services@": "SSH"},
    "ACL_TABLE|T-1": {"type": "T-1", "stage": "ingress", "ports@": "Ethernet4,Ethernet0"},
    "ACL_RULE|T-1|deny": {"IP_TYPE": "IP", "PACKET_ACTION": "DROP", "PRIORITY": "1"},
    "ACL_RULE|T-1|allow": {
        "IP_TYPE": "IPV4ANY",
        "SRC_IP": "10.0.0.0/31",
        "DST_IP": "10.0.0.4/31",
        "IN_PORTS": "Ethernet0",
        "PACKET_ACTION": "FORWARD",
        "PRIORITY": "20",
    },
    "ACL_RULE|T-1|guard": {"DSCP": "48", "PACKET_ACTION": "DROP", "PRIORITY": "30"},
    "ACL_RULE|T-1|unknown": {"VLAN_ID": "5", "PACKET_ACTION": "DROP", "PRIORITY": "40"},
}
EXPECTED = """\
table inet railweave
delete table inet railweave
table inet railweave {
 chain acl_T_1 {
  meta nfproto ipv4 ip dscp 48 drop
  meta nfproto ipv6 ip6 dscp 48 drop
  iifname { "Ethernet0" } meta nfproto ipv4 ip daddr 10.0.0.4/31 ip saddr 10.0.0.0/31 return
  meta nfproto ipv4 drop
  meta nfproto ipv6 drop
 }
 chain ports {
  type filter hook prerouting priority raw; policy accept;
  iifname { "Ethernet0", "Ethernet4" } jump acl_T_1
 }
}
"""


def test_a_table_is_a_chain_that_its_ports_jump_to() -> None:
    assert ruleset(ROWS) == EXPECTED


def test_without_tables_everything_passes() -> None:
    assert "jump" not in ruleset({"ACL_RULE|T-1|deny": ROWS["ACL_RULE|T-1|deny"]})
