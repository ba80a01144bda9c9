"""A row that daemons have not taken names what makes them take it: a deployment would write nothing."""

import pytest

from railweave.sonic.taking_again import taken_again_by


@pytest.mark.parametrize(
    ("row", "field", "configured", "remedy"),
    [
        ("PORT|Ethernet0", "mtu", "9100", "`sudo config interface mtu Ethernet0 9100` sets it again"),
        ("PORT|Ethernet0", "autoneg", "on", "`sudo config interface autoneg Ethernet0 enabled` sets it again"),
        ("PORT|Ethernet0", "fec", "none", "`sudo config reload -y`"),
        ("BUFFER_PG|Ethernet0|3-4", "", "none", "`sudo config reload -y`"),
        ("SWITCH_HASH|GLOBAL", "ecmp_hash", "SRC_IP", "the ASIC takes no others"),
    ],
)
def test_what_makes_daemons_take_a_row(row: str, field: str, configured: str, remedy: str) -> None:
    assert taken_again_by(row, field, configured).startswith(remedy)
