"""``config snmp``, ``snmpagentaddress`` and ``snmptrap``."""

import ipaddress
import re

from sonic_sim.commands.click7 import AbbreviationGroup, Choice, Run, argument, option
from sonic_sim.commands.config.names import is_address
from sonic_sim.commands.config.root import config
from sonic_sim.interfaces import kernel_interfaces
from sonic_sim.shell.programs import ProgramError

_BARRED = "['@', ':']"
_EMAIL = re.compile(r"^[\w\.\+\-]+\@[\w]+\.[a-z]{2,3}$")

snmp = config.branch("snmp", "SNMP configuration tasks")
community = snmp.branch("community", "")
contact = snmp.branch("contact", "")
location = snmp.branch("location", "")
user = snmp.branch("user", "")


def _restart(one: Run, text: str) -> None:
    one.say(f"{text}\nRestarting SNMP service...")


def _check_secret(one: Run, text: str, status: int, what: str, name: str = "", least: int = 0, most: int = 32) -> None:
    """Refuse a text that is too short or long or has barred signs, with all rules first."""
    long = f"length should {'not be' if name else 'be not be'} greater than {most}{' characters' if name else ''}"
    short = f"{what} length should be at least {least} characters"
    signs = f"should not have any of these special symbols {_BARRED}"
    rules = [short] if least else []
    rules.append(f"{what} length should be not be greater than {most}{' characters' if name else ''}")
    rules.append(f"{'SNMP community string' if name else what} {signs}")
    if len(text) < least:
        one.stop("\n".join([*rules, f"FAILED: {short}"]), status)
    if len(text) > most:
        one.stop("\n".join([*rules, f"FAILED: {what} {long}"]), status)
    if any(sign in text for sign in "@:"):
        one.stop("\n".join([*rules, f"FAILED: {what} {signs}"]), status)


def _check_choice(one: Run, value: str, choices: tuple[str, ...], text: str, status: int) -> None:
    if value not in choices:
        one.stop(text, status)


_ACCESS = "Invalid community type.  Must be either RO or RW"


@community.leaf(
    "add", "Add snmp community string", argument("community", metavar="<snmp_community>"),
    argument("string_type", metavar="<RO|RW>"),
)  # fmt: skip
def community_add(one: Run, community: str, string_type: str) -> None:
    _check_choice(one, string_type.upper(), ("RO", "RW"), _ACCESS, 1)
    _check_secret(one, community, 2, "SNMP community string")
    if f"SNMP_COMMUNITY|{community}" in one.db.rows:
        one.stop(f"SNMP community {community} is already configured", 3)
    one.db.put(f"SNMP_COMMUNITY|{community}", {"TYPE": string_type.upper()})
    _restart(one, f"SNMP community {community} added to configuration")


@community.leaf("del", "Delete snmp community string", argument("community", metavar="<snmp_community>"))
def community_del(one: Run, community: str) -> None:
    if not one.db.delete(f"SNMP_COMMUNITY|{community}"):
        one.stop(f"SNMP community {community} is not configured")
    _restart(one, f"SNMP community {community} removed from configuration")


@community.leaf(
    "replace", "Replace snmp community string", argument("old", metavar="<current_community_string>"),
    argument("new", metavar="<new_community_string>"),
)  # fmt: skip
def community_replace(one: Run, old: str, new: str) -> None:
    if f"SNMP_COMMUNITY|{old}" not in one.db.rows:
        one.stop(f"Current SNMP community {old} is not configured")
    _check_secret(one, new, 2, "SNMP community string")
    if f"SNMP_COMMUNITY|{new}" in one.db.rows:
        one.stop(f"New SNMP community {new} to replace current SNMP community {old} already configured", 3)
    one.db.put(f"SNMP_COMMUNITY|{new}", one.db.get(f"SNMP_COMMUNITY|{old}"))
    one.db.delete(f"SNMP_COMMUNITY|{old}")
    one.say(f"SNMP community {new} added to configuration")
    _restart(one, f"SNMP community {new} replace community {old}")


def _check_email(one: Run, email: str) -> None:
    if not _EMAIL.search(email):
        one.stop(f"Contact email {email} is not valid", 2)


_contact = argument("contact", metavar="<contact_name>")


@contact.leaf("add", "Add snmp contact name and email", _contact, argument("email", metavar="<contact_email>"))
def contact_add(one: Run, contact: str, email: str) -> None:
    if one.db.get("SNMP|CONTACT"):
        one.stop("Contact already exists.  Use sudo config snmp contact modify instead")
    _check_email(one, email)
    one.db.put("SNMP|CONTACT", {contact: email})
    _restart(one, f"Contact name {contact} and contact email {email} have been added to configuration")


@contact.leaf("del", "Delete snmp contact name and email", _contact)
def contact_del(one: Run, contact: str) -> None:
    row = one.db.get("SNMP|CONTACT")
    if not row:
        one.stop(f"Contact name {contact} is not configured", 2)
    if contact not in next(iter(row)):
        one.stop(f"SNMP contact {contact} is not configured")
    one.db.delete("SNMP|CONTACT")
    _restart(one, f"SNMP contact {contact} removed from configuration")


@contact.leaf(
    "modify", "Modify snmp contact", argument("contact", metavar="<contact>"),
    argument("email", metavar="<contact email>"),
)  # fmt: skip
def contact_modify(one: Run, contact: str, email: str) -> None:
    row = one.db.get("SNMP|CONTACT")
    if not row:
        one.stop(f"Contact name {contact} is not configured", 3)
    same = next(iter(row)) == contact
    if same and row[contact] == email:
        one.stop(f"SNMP contact {contact} {email} already exists")
    _check_email(one, email)
    one.db.put("SNMP|CONTACT", {contact: email})
    _restart(one, f"SNMP contact {contact} " + (f"email updated to {email}" if same else
                                                f"and contact email {email} updated"))  # fmt: skip


_words = argument("location", metavar="<location>", required=True, nargs=-1)


@location.leaf("add", "Add snmp location", _words)
def location_add(one: Run, location: tuple[str, ...]) -> None:
    text = " ".join(location)
    if one.db.get("SNMP|LOCATION"):
        one.stop("Location already exists")
    one.db.put("SNMP|LOCATION", {"Location": text})
    _restart(one, f"SNMP Location {text} has been added to configuration")


@location.leaf("del", "Delete snmp location", _words)
def location_del(one: Run, location: tuple[str, ...]) -> None:
    text, held = " ".join(location), one.db.get("SNMP|LOCATION").get("Location")
    if held is None:
        one.stop(f"SNMP Location {text} is not configured", 2)
    if text != held:
        one.stop(f"SNMP Location {text} does not exist.  The location is {held}")
    one.db.delete("SNMP|LOCATION")
    _restart(one, f"SNMP Location {text} removed from configuration")


@location.leaf("modify", "Modify snmp location", _words)
def location_modify(one: Run, location: tuple[str, ...]) -> None:
    text, held = " ".join(location), one.db.get("SNMP|LOCATION").get("Location")
    if held is None:
        must = "You must use 'config snmp location add command <snmp_location>'"
        one.stop(f"Cannot modify SNMP Location.  {must}", 2)
    if text in held:
        one.stop(f"SNMP location {text} already exists")
    one.db.set_fields("SNMP|LOCATION", {"Location": text})
    _restart(one, f"SNMP location {text} modified in configuration")


_TYPES = {"noauthnopriv": "noAuthNoPriv", "authnopriv": "AuthNoPriv", "priv": "Priv"}


@user.leaf(
    "add", "Add snmp user", argument("user", metavar="<snmp_user>"),
    argument("kind", metavar="<noAuthNoPriv|AuthNoPriv|Priv>"), argument("access", metavar="<RO|RW>"),
    argument("auth", metavar="<MD5|SHA|HMAC-SHA-2>", required=False),
    argument("auth_password", metavar="<auth_password>", required=False),
    argument("cipher", metavar="<DES|AES>", required=False),
    argument("cipher_password", metavar="<encrypt_password>", required=False),
)  # fmt: skip
def user_add(
    one: Run, user: str, kind: str, access: str, auth: str | None, auth_password: str | None, cipher: str | None,
    cipher_password: str | None,
) -> None:  # fmt: skip
    _check_secret(one, user, 1, f"SNMP user {user}", user)
    _check_choice(one, kind.lower(), tuple(_TYPES), "Invalid user type.  Must be one of these one of these three "
                  "'noauthnopriv' or 'authnopriv' or 'priv'", 2)  # fmt: skip
    level = _TYPES[kind.lower()]
    _check_choice(one, access.upper(), ("RO", "RW"), _ACCESS, 3)
    if level == "noAuthNoPriv":
        if auth:
            one.stop("User auth type not used with 'noAuthNoPriv'.  Please use 'AuthNoPriv' or 'Priv' instead", 4)
    else:
        auth = _checked_key(one, auth, auth_password, "auth", ("MD5", "SHA", "HMAC-SHA-2"), 5)
        if level == "AuthNoPriv" and cipher:
            one.stop("User encrypt type not used with 'AuthNoPriv'.  Please use 'Priv' instead", 9)
        if level == "Priv":
            cipher = _checked_key(one, cipher, cipher_password, "encrypt", ("DES", "AES"), 10)
    if f"SNMP_USER|{user}" in one.db.rows:
        one.stop(f"SNMP user {user} is already configured", 14)
    values = {"TYPE": level, "PERMISSION": access.upper(), "AUTH_TYPE": auth, "AUTH_PASSWORD": auth_password,
              "ENCRYPTION_TYPE": cipher, "ENCRYPTION_PASSWORD": cipher_password}  # fmt: skip
    one.db.put(f"SNMP_USER|{user}", {f"SNMP_USER_{name}": value or "" for name, value in values.items()})
    _restart(one, f"SNMP user {user} added to configuration")


def _checked_key(
    one: Run, name: str | None, password: str | None, what: str, choices: tuple[str, ...], status: int
) -> str:
    """Return the name of a method that has a good password; the exit statuses follow each other."""
    if not name:
        one.stop(f"User {what} type is missing.  Must be " + ("MD5, SHA, or HMAC-SHA-2" if what == "auth" else
                                                              "DES or AES"), status)  # fmt: skip
    wrong = ("Invalid user authentication type. Must be one of these 'MD5', 'SHA', or 'HMAC-SHA-2'" if what == "auth"
             else "Invalid user encryption type.  Must be one of these two 'DES' or 'AES'")  # fmt: skip
    _check_choice(one, name.upper(), choices, wrong, status + 1)
    if not password:
        one.stop(f"User {what} password is missing", status + 2)
    _check_secret(one, password, status + 3, "SNMP user password", least=8, most=64)
    return name.upper()


@user.leaf("del", "Del snmp user", argument("user", metavar="<snmp_user>"))
def user_del(one: Run, user: str) -> None:
    if not one.db.delete(f"SNMP_USER|{user}"):
        one.stop(f"SNMP user {user} is not configured")
    _restart(one, f"SNMP user {user} removed from configuration")


_address = argument("agentip", metavar="<SNMP AGENT LISTENING IP Address>")
_listening = (option("-p", "--port", help="SNMP AGENT LISTENING PORT"),
              option("-v", "--vrf", help="VRF Name mgmt/DataVrfName/None"))  # fmt: skip
agents = config.branch("snmpagentaddress", "SNMP agent listening IP address, port, vrf configuration",
                       cls=AbbreviationGroup)  # fmt: skip


@agents.leaf("add", "Add the SNMP agent listening IP:Port%Vrf configuration", _address, *_listening)
def agent_add(one: Run, agentip: str, port: str | None, vrf: str | None) -> None:
    address = agentip.partition("%")[0]
    if not is_address(address):
        one.stop("Invalid IP address", 0)
    if not vrf and one.db.get("MGMT_VRF_CONFIG|vrf_global").get("mgmtVrfEnabled") == "true":
        one.stop("ManagementVRF is Enabled. Provide vrf.", 0)
    try:
        wanted = str(ipaddress.ip_address(address))
    except ValueError as error:  # netaddr, which was asked first, takes more
        raise ProgramError(f"ValueError: {error}") from error
    held = {info["local"] for link in kernel_interfaces(one.device) for info in link["addr_info"]}
    if wanted not in held:
        one.stop("IP address is not available", 0)
    one.db.put(f"SNMP_AGENT_ADDRESS_CONFIG|{agentip}|{port or ''}|{vrf or ''}", {})


@agents.leaf("del", "Delete the SNMP agent listening IP:Port%Vrf configuration", _address, *_listening)
def agent_del(one: Run, agentip: str, port: str | None, vrf: str | None) -> None:
    one.db.delete(f"SNMP_AGENT_ADDRESS_CONFIG|{agentip}|{port or ''}|{vrf or ''}")


_version = argument("ver", metavar="<SNMP Version>", type=Choice(["1", "2", "3"]))
traps = config.branch("snmptrap", "SNMP Trap server configuration to send traps")


@traps.leaf(
    "modify", "Modify the SNMP Trap server configuration", _version,
    argument("serverip", metavar="<SNMP TRAP SERVER IP Address>"),
    option("-p", "--port", help="SNMP Trap Server port, default 162", default="162"),
    option("-v", "--vrf", help="VRF Name mgmt/DataVrfName/None", default="None"),
    option("-c", "--comm", help="Community", default="public"),
)  # fmt: skip
def trap_modify(one: Run, ver: str, serverip: str, port: str, vrf: str, comm: str) -> None:
    row = {"DestIp": serverip, "DestPort": port, "vrf": vrf, "Community": comm}
    one.db.set_fields(f"SNMP_TRAP_CONFIG|v{ver}TrapDest", row)


@traps.leaf("del", "Delete the SNMP Trap server configuration", _version)
def trap_del(one: Run, ver: str) -> None:
    one.db.delete(f"SNMP_TRAP_CONFIG|v{ver}TrapDest")
