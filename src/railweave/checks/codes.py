"""The codes of rules that other rooms look after, each with its title.

Where the check catalog of the trade has an id (``T-3``, ``P-1``, ``Q-4``, ``M-1`` …) a rule has that id; the ``RW`` ids
are for everything else. An id is never given a second meaning and never reused. Blocks: RW0xx reading the intent file,
RW1xx its content against the catalog and itself, RW2xx design, RW3xx cabling, RW4xx device configuration, RW5xx plan
and deployment, RW6xx reaching devices, RW7xx labs, RW8xx GPU nodes.
"""

from railweave.checks.registry import rule

_TITLES = {
    # The design.
    "G-1": "panels, pools and AS ranges have room for the reserve",
    "P-4": "the medium of a link reaches its length",
    "T-1": "the leaves have ports for all nodes",
    "T-2": "the spines share the uplinks of a leaf evenly",
    "T-3": "the spines have ports for all leaves",
    "T-4": "the oversubscription of a leaf is as requested",
    "T-7": "a fabric has four spines or more",
    "T-8": "the growth target fits without moving a cable",
    # Reading the file.
    "RW001": "the intent file can be read",
    "RW002": "the intent file is UTF-8 text without control characters",
    "RW003": "the intent file is YAML",
    "RW004": "no duplicate key in a mapping",
    "RW005": "no YAML tags and no binary values",
    "RW006": "aliases name an anchor above them and stay small",
    "RW007": "the file is not larger or deeper than an intent can be",
    "RW008": "one file holds one intent",
    "RW009": "the intent is a mapping of keys",
    "RW010": "every key is known",
    "RW011": "every required key is present",
    "RW012": "every value has the type of its key",
    "RW013": "every number is in its range",
    "RW014": "every enumerated value is an allowed one",
    "RW015": "speeds, ratios, prefixes and names are well-formed",
    # The design.
    "RW201": "two tiers are enough; three are not designed in this version",
    "RW202": "spines join the rails; rail-only is not designed in this version",
    "RW203": "a leaf has ports for a node and for two spines",
    "RW204": "a stripe fits the downlinks of a leaf",
    "RW205": "every entry of nodes has stripes of its own",
    "RW206": "leaves are distributed evenly over the rails",
    "RW207": "the uplinks of all spines, and of the reserve, fit on a leaf",
    "RW208": "both ends of a link run at one speed",
    "RW209": "oversubscription is what is recommended for the workload",
    "RW210": "super-spines are named only where they are built",
    # Device configuration.
    "RW411": "every row is valid by SONiC's own YANG models",
    "RW412": "every table has a YANG model",
    # Plan and deployment.
    "RW501": "a plan file is unmodified and of this version",
    "RW502": "a plan matches the fabric, target, intent and rollout policy being deployed",
    "RW503": "devices have not changed since the plan was made",
    "RW504": "a plan lists the changes that this version would make",
    "RW505": "no unmanaged row conflicts with a managed one",
    "RW506": "running devices keep their AS numbers, loopbacks and addresses",
    "RW507": "devices are reloaded only with consent",
    "RW508": "no commit of another deployment awaits confirmation",
    "RW509": "a device is of the model that the intent names",
    "RW510": "drift ignore rules are valid",
    "RW511": "no drift ignore rule has expired",
    "RW512": "every drift ignore rule matches something",
    "RW513": "the rollout policy can be met",
    "RW514": "a change at both ends of links keeps the policy's floors",
    "RW515": "cables of running leaves are moved in phases, or in one step with consent",
    "RW516": "a lossless class changes its marking through switches that accept both",
    "RW517": "the marking of a lossless class changes in phases, or in one step with consent",
    "RW518": "a phase starts when the one before it is complete and its cables are in place",
    "RW519": "cables can be moved without taking more than one link of a pair away",
    "RW520": "a switch that GPU nodes depend on keeps undrained uplinks",
    "RW521": "a plane is drained one switch at a time, or more with consent",
    "RW522": "a drain leaves all traffic another path",
    "RW523": "ports are closed for good only when nothing uses them, or with consent",
    "RW524": "the MTU of running switches is lowered after that of the nodes, or in one step with consent",
    "RW530": "one rollout of a fabric and target runs at a time",
    "RW531": "a rollout is resumed or rolled back by its journal's version of railweave",
    "RW532": "only an unfinished rollout is resumed",
    "RW533": "a rollout is resumed or rolled back on its own fabric and target",
    "RW534": "a rollout is resumed or rolled back with its own intent",
    "RW535": "nothing newer changed what a resumed or rolled-back rollout planned",
    "RW536": "only a rollout that changed something is rolled back",
    "RW537": "devices to roll back still run what the rollout left",
    "RW538": "only a running rollout is paused, continued or aborted",
    "RW539": "every device to roll back has its rollback document",
    # Reaching devices.
    "RW601": "a target file is a mapping of known keys with valid values",
    "RW602": "every device has a management address",
    "RW603": "secrets are in the environment or the SSH agent",
    "RW604": "the simulator or lab of the fabric runs and knows its devices",
    "RW605": "a device presents its recorded host key",
    # GPU nodes.
    "RW805": "nodes are changed only where the intent says so",
    "RW806": "a target states how the nodes are reached",
    "RW807": "named nodes exist",
    # Labs.
    "RW701": "a lab has virtual switches with whole ports",
}

for _code, _title in _TITLES.items():
    rule(_code, _title)
