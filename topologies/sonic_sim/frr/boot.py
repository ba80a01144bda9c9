"""The boot configuration of the bgp container by ``docker_routing_config_mode`` (docker_init.sh)."""

from sonic_sim.configdb import ConfigDb, Hash
from sonic_sim.files import Files

FRR_FOLDER = "/etc/sonic/frr"
VTYSH_CONF = f"{FRR_FOLDER}/vtysh.conf"
# zebra hands its routes to fpmsyncd, which knows next hops but no groups of them.
FPM_LINES = ("no fpm use-next-hop-groups", "fpm address 127.0.0.1", "no zebra nexthop kernel enable")


def boot_configuration(mode: str, db: ConfigDb, files: Files, hostname: str, now: float) -> tuple[str, bool]:
    """Return the boot configuration of a mode, and whether the container keeps the file ``frr.conf``.

    The files that docker_init.sh makes are written.
    """
    vtysh_line = "no service integrated-vtysh-config"
    if mode in ("split-unified", "unified"):
        vtysh_line = "service integrated-vtysh-config"
    files.write(VTYSH_CONF, f"{vtysh_line}\n".encode(), now=now)
    if mode == "split-unified":
        return _own_file(files, now), True
    if mode == "unified":
        text = from_config_db(db, hostname)
        files.write(f"{FRR_FOLDER}/frr.conf", text.encode(), now=now)
        return text, True
    if mode == "split":
        paths = [f"{FRR_FOLDER}/{name}.conf" for name in ("zebra", "staticd", "bgpd")]
        return "\n".join(files.read(path).decode() for path in paths if files.exists(path)), False
    return from_config_db(db, hostname), False


def _own_file(files: Files, now: float) -> str:
    """Return the user's own file after docker_init.sh has appended to it the lines that were missing."""
    path = f"{FRR_FOLDER}/frr.conf"
    text = files.read(path).decode(errors="replace") if files.exists(path) else ""
    missing = [line for line in FPM_LINES if line not in text.splitlines()]
    if missing:
        if text and not text.endswith("\n"):
            text += "\n"
        text += "\n".join(missing) + "\n"
        files.write(path, text.encode(), now=now)
    return text


def from_config_db(db: ConfigDb, hostname: str) -> str:
    """Return the configuration that the image's templates make of CONFIG_DB, as far as its lines matter here."""
    lines = [f"hostname {hostname}", "log syslog informational", "service integrated-vtysh-config", *FPM_LINES]
    as_number = db.get("DEVICE_METADATA|localhost").get("bgp_asn", "")
    # The templates make no instance without an AS number.
    if as_number.isdigit() and as_number != "0":
        lines += _instance(db, as_number)
    return "\n".join(lines) + "\n"


def _instance(db: ConfigDb, as_number: str) -> list[str]:
    """Return the BGP instance and its route-maps."""
    loopback = _loopback(db)
    peers = _ipv4_peers(db)
    lines = [f"router bgp {as_number}", " bgp log-neighbor-changes", " no bgp ebgp-requires-policy",
             " no bgp default ipv4-unicast", " bgp bestpath as-path multipath-relax"]  # fmt: skip
    if loopback:
        lines.append(f" bgp router-id {loopback.split('/')[0]}")
    if peers:
        lines.append(" neighbor PEER_V4 peer-group")
    default_status = db.get("DEVICE_METADATA|localhost").get("default_bgp_status", "up")
    for peer, row in peers.items():
        lines += _neighbor(peer, row, default_status)
    lines.append(" address-family ipv4 unicast")
    if loopback:
        lines.append(f"  network {loopback}")
    if peers:
        lines += ["  neighbor PEER_V4 soft-reconfiguration inbound", "  neighbor PEER_V4 route-map FROM_BGP_PEER_V4 in",
                  "  neighbor PEER_V4 route-map TO_BGP_PEER_V4 out"]  # fmt: skip
    lines += [f"  neighbor {peer} activate" for peer in peers]
    lines += ["  maximum-paths 514", " exit-address-family", "exit"]
    if peers:
        lines += ["route-map FROM_BGP_PEER_V4 permit 100", "exit", "route-map TO_BGP_PEER_V4 permit 100", "exit"]
    return lines


def _ipv4_peers(db: ConfigDb) -> dict[str, Hash]:
    """Return the rows of the IPv4 neighbors that have an AS number, by address."""
    peers: dict[str, Hash] = {}
    for key, row in db.table("BGP_NEIGHBOR").items():
        # A key may begin with a VRF.
        peer = key.rsplit("|", 1)[-1]
        if "." in peer and row.get("asn", "").isdigit():
            peers[peer] = row
    return peers


def _loopback(db: ConfigDb) -> str:
    """Return the IPv4 address of Loopback0 with its prefix length, empty for none."""
    for key in db.table("LOOPBACK_INTERFACE"):
        name, _, address = key.partition("|")
        if name == "Loopback0" and "." in address:
            return address
    return ""


def _neighbor(peer: str, row: Hash, default_status: str) -> list[str]:
    lines = [f" neighbor {peer} remote-as {row['asn']}", f" neighbor {peer} peer-group PEER_V4"]
    if row.get("name"):
        lines.append(f" neighbor {peer} description {row['name']}")
    if row.get("keepalive") and row.get("holdtime"):
        lines.append(f" neighbor {peer} timers {row['keepalive']} {row['holdtime']}")
    if row.get("admin_status", default_status) == "down":
        lines.append(f" neighbor {peer} shutdown")
    return lines
