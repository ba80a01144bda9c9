"""The stable ids of railweave's own findings, each with its title.

Where the check catalogue of the trade has an id (``T-3``, ``P-1``, ``Q-4``, ``M-1`` …) a finding carries that id;
the ``RW`` ids are for everything else. An id is never given a second meaning and never reused. Blocks: RW0xx reading
the intent file, RW1xx its content against the catalogue and itself, RW2xx design, RW3xx cabling, RW4xx device
configuration, RW5xx plan and deployment, RW6xx reaching devices, RW7xx labs,
RW8xx GPU nodes.
"""

from collections.abc import Mapping
from typing import Final

CATALOGUE: Final[Mapping[str, str]] = {
    "B-1": "AS numbers are private, not reserved, and the ranges of the tiers do not meet",
    "B-10": "the BGP hold time is at least three keepalives",
    "B-3": "no address, subnet or loopback is given twice",
    "B-6": "a leaf has no more equal paths than a route can have",
    "E-1": "marking rises from its first to its last threshold, within the queue",
    "E-2": "ECN marks before a single congested priority group pauses",
    "E-3": "ECN marks everything before a single congested priority group pauses",
    "E-4": "ECN marks before PFC pauses with every port congested",
    "E-5": "ECN marks in time even where one port feeds all others",
    "G-1": "panels, pools and AS ranges have room for the reserve",
    "H-budget": "the headroom of all lossless classes fits the buffer",
    "H-headroom": "the headroom of every lossless class is enough for its cable",
    "M-1": "the MTU of the hosts fits the fabric's",
    "L-1": "adjacent tiers hash differently, or all flows of a leaf take one path",
    "M-2": "both ends of a link carry packets of one size",
    "M-4": "the MTU of the hosts carries RoCE packets of 4096 bytes",
    "N-4": "NCCL marks its traffic with a DSCP of the RDMA class",
    "P-1": "the PCIe slot carries all ports of the NIC",
    "P-2": "the NIC can have that many ports of that speed",
    "P-3": "both ends of a link have the speed, and a medium that links their lane rates",
    "P-4": "the medium of a link reaches its length",
    "P-5": "both ends of a link correct errors alike",
    "P-6": "both ends of a link negotiate, or neither does",
    "Q-1": "every lossless class has a priority, queue and priority group of its own",
    "Q-2": "hosts and switches agree on the priority of every code point",
    "Q-3": "both ends of a link pause the same priorities, the lossless ones",
    "Q-5": "ECN marks every lossless queue and no other",
    "Q-4": "congestion notification is never paused and goes first",
    "T-1": "the leaves have ports for all nodes",
    "T-2": "the spines share the uplinks of a leaf evenly",
    "T-3": "the spines have ports for all leaves",
    "T-4": "the oversubscription of a leaf is as asked",
    "T-7": "a fabric has four spines or more",
    "T-8": "the growth target fits without moving a cable",
    "W-1": "the PFC watchdog watches exactly the lossless queues",
    "W-2": "the times of the PFC watchdog fit together",
}
"""Ids of the trade's check catalogue that the intent's own checks use."""

TITLES: Final[Mapping[str, str]] = {
    # Reading the file.
    "RW001": "the intent file can be read",
    "RW002": "the intent file is UTF-8 text without control characters",
    "RW003": "the intent file is YAML",
    "RW004": "no key stands twice in one mapping",
    "RW005": "no YAML tags and no binary values",
    "RW006": "aliases name an anchor above them and stay small",
    "RW007": "the file is not larger or deeper than an intent can be",
    "RW008": "one file holds one intent",
    "RW009": "the intent is a mapping of keys",
    "RW010": "every key is known",
    "RW011": "every required key is there",
    "RW012": "every value has the kind that its key asks for",
    "RW013": "every number is in its range",
    "RW014": "every word is one of the allowed ones",
    "RW015": "speeds, ratios, prefixes and names have their form",
    "RW016": "keys that exclude each other do not stand together",
    # The content, against the catalogue and against itself.
    "RW101": "switch, NIC, media and PCIe ids are in the catalogue",
    "RW102": "the GPUs of the workload are those of the nodes",
    "RW103": "the NICs of a node divide evenly over rails and planes",
    "RW104": "names of hosts and devices are unique",
    "RW105": "traffic classes have names, priorities and code points of their own",
    "RW106": "exactly one traffic class takes the code points that no other names, and it is not lossless",
    "RW107": "every class is strict or has a share, and shares sum to at most 100",
    "RW108": "BGP and BFD ride a class that is never paused",
    "RW109": "address pools hold only addresses that can be used",
    "RW110": "overrides name a role or device of this fabric",
    "RW111": "overrides leave alone what no intent may state",
    "RW113": "a tier without a catalogue model can be sized but not configured",
    "RW114": "RDMA has a class, and it is lossless",
    "RW115": "address pools are private",
    # The design.
    "RW201": "two tiers are enough; three are not designed in this version",
    "RW202": "spines join the rails; rail-only is not designed in this version",
    "RW203": "a leaf has ports for a node and for two spines",
    "RW204": "a stripe fits the downlinks of a leaf",
    "RW205": "every entry of nodes has stripes of its own",
    "RW206": "leaves are shared out evenly over the rails",
    "RW207": "the uplinks of all spines, and of the reserve, fit on a leaf",
    "RW208": "both ends of a link run at one speed",
    "RW209": "oversubscription is what is recommended for the workload",
    "RW210": "super-spines are named only where they are built",
    # Device configuration.
    "RW402": "overrides add rows and change none that railweave renders",
    "RW404": "facts are of the fabric's devices, and can be read",
    "RW403": "marking starts above what one flow at line rate has on its way",
    "RW411": "every row is valid by SONiC's own YANG models",
    "RW412": "every table has a YANG model",
    # Plan and deployment.
    "RW501": "a plan file is an untouched plan of this version",
    "RW502": "a plan is of the fabric, target and intent that are deployed",
    "RW503": "devices run what they ran when the plan was made",
    "RW504": "a plan lists the changes that this version would do",
    "RW505": "no row that is not ours stands in the way of ours",
    "RW506": "devices that run keep their AS numbers, loopbacks and addresses",
    "RW507": "devices are reloaded only with consent",
    "RW508": "no commit of another deployment waits for its confirmation",
    "RW509": "a device is of the model that the intent names",
    "RW510": "rules that ignore drift are read as they are meant",
    "RW511": "no rule that ignores drift is past its date",
    "RW512": "every rule that ignores drift matches some",
    "RW513": "the rollout policy can be met",
    # Reaching devices.
    "RW601": "a target file is a mapping of known keys with values of their kind",
    "RW602": "every device has a management address",
    "RW603": "secrets are in the environment or the SSH agent",
    "RW604": "the simulator or lab of the fabric runs and knows its devices",
    "RW605": "a device shows the host key that was recorded of it",
    # GPU nodes.
    "RW801": "the tools that set a NIC are its vendor's",
    "RW802": "there is a vendor pack for the NICs of managed nodes",
    "RW803": "PCI addresses and RDMA devices are as many as NICs and ports, each once",
    "RW804": "the interfaces of managed nodes have names that stay",
    "RW805": "nodes are changed only where the intent says so",
    "RW806": "a target says how the nodes are reached",
    "RW807": "nodes that are named exist",
    # Labs.
    "RW701": "a lab has virtual switches with whole ports",
}
"""Every ``RW`` id with the rule whose breach it reports."""
