"""``config vlan``."""

from sonic_sim.commands.clicklike import Argument, Option, Parsed, leaf
from sonic_sim.shell.programs import Result

_VID = Argument("<vid>")
_LOW, _HIGH = 2, 4094


def _bad(parsed: Parsed) -> str:
    text = parsed.values["<vid>"]
    return "" if text.isdigit() and _LOW <= int(text) <= _HIGH else f"Invalid VLAN ID {text} ({_LOW}-{_HIGH})"


@leaf("config vlan add", "[OPTIONS] <vid>", arguments=(_VID,))
def add(parsed: Parsed) -> Result:
    """Make a VLAN."""
    vid, db = parsed.values["<vid>"], parsed.call.device.db
    if _bad(parsed):
        return parsed.fail(_bad(parsed))
    if f"VLAN|Vlan{vid}" in db.rows:
        return parsed.fail(f"Vlan{vid} already exists.")
    db.put(f"VLAN|Vlan{vid}", {"vlanid": vid})
    return Result()


@leaf("config vlan del", "[OPTIONS] <vid>", arguments=(_VID,))
def remove(parsed: Parsed) -> Result:
    """Remove a VLAN without members and addresses."""
    vid, db = parsed.values["<vid>"], parsed.call.device.db
    if _bad(parsed):
        return parsed.fail(_bad(parsed))
    if f"VLAN|Vlan{vid}" not in db.rows:
        return parsed.fail(f"Vlan{vid} does not exist")
    if any(key.startswith(f"VLAN_INTERFACE|Vlan{vid}|") for key in db.rows):
        return parsed.fail(f"Vlan{vid} can not be removed. First remove IP addresses assigned to this VLAN")
    if any(key.startswith(f"VLAN_MEMBER|Vlan{vid}|") for key in db.rows):
        return parsed.fail(f"VLAN ID {vid} can not be removed. First remove all members assigned to this VLAN.")
    db.delete(f"VLAN|Vlan{vid}")
    return Result()


@leaf(
    "config vlan member add",
    "[OPTIONS] <vid> port",
    options=(Option(("-u", "--untagged")),),
    arguments=(_VID, Argument("port")),
)
def member_add(parsed: Parsed) -> Result:
    """Put a port into a VLAN."""
    vid, port, db = parsed.values["<vid>"], parsed.values["port"], parsed.call.device.db
    if _bad(parsed):
        return parsed.fail(_bad(parsed))
    if f"VLAN|Vlan{vid}" not in db.rows:
        return parsed.fail(f"Vlan{vid} does not exist")
    if f"VLAN_MEMBER|Vlan{vid}|{port}" in db.rows:
        return parsed.fail(f"{port} is already a member of Vlan{vid}")
    if f"INTERFACE|{port}" in db.rows:
        return parsed.fail(f"{port} is a router interface!")
    mode = "untagged" if "untagged" in parsed.flags else "tagged"
    db.put(f"VLAN_MEMBER|Vlan{vid}|{port}", {"tagging_mode": mode})
    return Result()


@leaf("config vlan member del", "[OPTIONS] <vid> <port>", arguments=(_VID, Argument("<port>")))
def member_remove(parsed: Parsed) -> Result:
    """Take a port out of a VLAN."""
    vid, port, db = parsed.values["<vid>"], parsed.values["<port>"], parsed.call.device.db
    if not db.delete(f"VLAN_MEMBER|Vlan{vid}|{port}"):
        return parsed.fail(f"{port} is not a member of Vlan{vid}")
    return Result()
