"""What a switch would refuse of a reload, in words: where, why, and the command that removes it; never a secret."""

import pytest

from railweave.plan.models_check import invalid_blockers
from railweave.sonic.delta.change import Change, Delta, Disruption, Method, Op
from railweave.sonic.delta.rejected import ModelsVerdict
from railweave.sonic.rows import ConfigDb

HOSTNAME = Change(
    Op.UPDATE, "DEVICE_METADATA", "localhost", "hostname", "a", "b", Disruption.RELOAD, Method.RELOAD, "the name"
)
CANDIDATE: ConfigDb = {
    "PORT": {"Ethernet0": {"mtu": "1", "adv_speeds": ("1", "2"), "foreign": "x"}},
    "STP": {f"Vlan{number}": {} for number in range(5)},
    "SNMP_COMMUNITY": {"s3cret": {"TYPE": "bad"}},
    "TACPLUS": {"global": {"passkey": "s3cret"}},
}
INTENDED: ConfigDb = {"PORT": {"Ethernet0": {"mtu": "1"}}}
DB = "sonic-db-cli CONFIG_DB"


@pytest.mark.parametrize(
    ("rejected", "message", "fix"),
    [
        (("PORT", "Ethernet0", "mtu", "bad"), "PORT|Ethernet0 mtu: bad", "correct it in the intent"),
        (("PORT", "Ethernet0", "", "bad"), "PORT|Ethernet0: bad", "correct it in the intent"),
        (("PORT", "Ethernet0", "foreign", "x"), "foreign: x", f"`{DB} HDEL 'PORT|Ethernet0' foreign`"),
        (("PORT", "Ethernet0", "adv_speeds", "x"), "adv_speeds: x", f"`{DB} HDEL 'PORT|Ethernet0' adv_speeds@`"),
        (("STP", "Vlan1", "", "x"), "STP|Vlan1: x", f"`{DB} DEL 'STP|Vlan1'`"),
        (("STP", "", "", "no model"), "table STP: no model", f"`{DB} KEYS 'STP|*' | xargs -d '\\n' {DB} DEL`"),
        (("SNMP_COMMUNITY", "s3cret", "", "x"), "SNMP_COMMUNITY|(hidden): x", f"`{DB} KEYS 'SNMP_COMMUNITY|*'` shows"),
        (
            ("TACPLUS", "global", "passkey", 'value "s3cret" is bad'),
            'value "(hidden)"',
            "HDEL 'TACPLUS|global' passkey",
        ),
        (("", "", "", "no idea"), "refuse the configuration: no idea", "read the words of SONiC"),
    ],
)
def test_a_refusal_names_the_place_the_reason_and_the_way_out(
    rejected: tuple[str, str, str, str], message: str, fix: str
) -> None:
    (found,) = invalid_blockers(ModelsVerdict((rejected,)), Delta((HOSTNAME,)), CANDIDATE, INTENDED)
    assert found.code == "RW527"
    assert message in found.message
    assert fix in found.fix
    assert "leave out the changes that need the reload (DEVICE_METADATA|localhost)" in found.fix
    assert "s3cret" not in found.message + found.fix
