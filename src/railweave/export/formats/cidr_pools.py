"""``CIDRPool`` objects of NVIDIA's IPAM plugin: the /31s of our links as static allocations, one pool an interface.

The leaf has the even address, index 0, and is the gateway, which the plugin never gives to a pod. An exclusion of index
1, as tools write whose leaves have the odd address, would take the only address of a node (nvidia-k8s-ipam,
pkg/ipam-node/allocator). A pool matches our nodes alone: another node would get a /31 that belongs to one of them.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from railweave.diagnostics import Diagnostic, error
from railweave.export.model import ExportFormat, ExportSource, demand, header, kubernetes_nodes
from railweave.export.names import DNS_LABEL, name_faults
from railweave.export.yaml_text import yaml_documents
from railweave.fabric.model import IPV6_LINK_LENGTH, Fabric
from railweave.fabric.policy import Pool
from railweave.hosts.values import LINK_PREFIX_LENGTH, Rail, RailAddress
from railweave.units import ipv4_text, ipv6_text

_ABOUT = "CIDRPool objects of nvidia-k8s-ipam, the addresses of the intent as static allocations"
_HOSTNAME = "kubernetes.io/hostname"


def _write(source: ExportSource) -> str:
    """Return the objects of all pools; raises RefusedError without addresses, and for names that Kubernetes refuses."""
    pools = list(_objects(source))
    if not pools:
        fix = "state `addressing.hosts` or `addressing.hosts_ipv6`"
        demand([error("RW952", "the links to nodes have no addresses to allocate", source.top, fix=fix)])
    demand([*kubernetes_nodes(source), *_refused_names(source, pools)])
    return header(source, _ABOUT) + yaml_documents(pools)


def _refused_names(source: ExportSource, pools: list[dict[str, Any]]) -> Iterator[Diagnostic]:
    names = [pool["metadata"]["name"] for pool in pools]
    yield from name_faults(names, DNS_LABEL, "CIDRPool", source.top, "rename the fabric")
    namespace = [source.options.namespace]
    yield from name_faults(namespace, DNS_LABEL, "namespace", source.top, "give another --namespace")


def _objects(source: ExportSource) -> Iterator[dict[str, Any]]:
    """Yield the pools of every fabric, one for each interface, IP version and set of networks that it reaches."""
    for fabric in source.fabrics:
        addressing = fabric.policies.addressing
        cidr_of = {4: addressing.hosts, 6: addressing.hosts_ipv6}
        name_counts: dict[str, int] = {}
        for key, allocations in _allocations(source, fabric).items():
            name = _unique(f"{key.interface}{_suffix(key.version)}", name_counts)
            yield _pool(source, name, cidr_of[key.version], key.reached, allocations)


class _PoolKey(NamedTuple):
    """What the addresses of one pool have in common."""

    interface: str
    # 4 or 6.
    version: int
    reached: tuple[Pool, ...]


def _allocations(source: ExportSource, fabric: Fabric) -> dict[_PoolKey, list[dict[str, str]]]:
    """Return the static allocations of each pool of a fabric."""
    allocations: dict[_PoolKey, list[dict[str, str]]] = {}
    for host in fabric.hosts:
        for rail in source.settings(fabric, host).rails:
            for version, address in _addresses(rail):
                allocation = _allocation(source.node(host.name), version, address)
                key = _PoolKey(rail.name, version, address.reached)
                allocations.setdefault(key, []).append(allocation)
    return allocations


def _addresses(rail: Rail) -> Iterator[tuple[int, RailAddress]]:
    if rail.ipv4 is not None:
        yield 4, rail.ipv4
    if rail.ipv6 is not None:
        yield 6, rail.ipv6


def _suffix(version: int) -> str:
    return "-ipv6" if version == 6 else ""


def _unique(name: str, name_counts: dict[str, int]) -> str:
    """Return ``name``, with a number behind it if it was returned before; ``name_counts`` are updated.

    Interfaces of one name that reach different networks have pools of their own.
    """
    name_counts[name] = name_counts.get(name, 0) + 1
    if name_counts[name] == 1:
        return name
    return f"{name}-{name_counts[name]}"


def _allocation(node: str, version: int, address: RailAddress) -> dict[str, str]:
    if version == 4:
        gateway = ipv4_text(address.gateway)
        return {"nodeName": node, "prefix": f"{gateway}/{LINK_PREFIX_LENGTH}", "gateway": gateway}
    gateway = ipv6_text(address.gateway)
    return {"nodeName": node, "prefix": f"{gateway}/{IPV6_LINK_LENGTH}", "gateway": gateway}


def _pool(
    source: ExportSource, name: str, cidr: Pool | None, reached: tuple[Pool, ...], allocations: list[dict[str, str]]
) -> dict[str, Any]:
    """Return the object of a pool: its static allocations, for their nodes alone, and its routes."""
    # All prefixes of a pool have the same length: it has one IP version.
    _, _, length = allocations[0]["prefix"].rpartition("/")
    names = [allocation["nodeName"] for allocation in allocations]
    expression = {"key": _HOSTNAME, "operator": "In", "values": names}
    return {
        "apiVersion": "nv-ipam.nvidia.com/v1alpha1",
        "kind": "CIDRPool",
        "metadata": {"name": name, "namespace": source.options.namespace},
        "spec": {
            "cidr": str(cidr),
            "gatewayIndex": 0,
            "perNodeNetworkPrefix": int(length),
            "routes": [{"dst": str(pool)} for pool in reached],
            "staticAllocations": allocations,
            "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]},
        },
    }


FORMAT = ExportFormat(
    name="cidr-pools",
    title="NVIDIA IPAM: CIDRPools with the /31s of the links",
    file="cidr-pools.yaml",
    write=_write,
    kind="CIDRPool",
    objects=_objects,
)
