"""The ``tenants:`` of the intent: which nodes belong together, and which others they reach."""

from enum import StrEnum
from typing import Annotated

from railweave.fabric.policy import Tenant
from railweave.intent.keys import Keys, default, key
from railweave.intent.kinds import Text, Word
from railweave.intent.racks import Names

# The name begins the keys of its ACL rules, so it holds no dot, which ends it there.
_NAME = r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?"
TenantName = Annotated[str, Text(what="a tenant name", pattern=_NAME, example="research")]
FabricKey = Annotated[str, Text(what="a key of `fabrics`", example="storage")]
NodeNames = Annotated[tuple[str, ...], Names(what="a name of a node", example="gpu1-16")]


class TenantIsolation(StrEnum):
    """How tenants are kept apart."""

    FILTERED = "filtered"


class TenantKeys(Keys):
    """A tenant: nodes that reach each other and, of all others, only those of the tenants in ``reaches``."""

    name: TenantName = key("name of the tenant; begins the names of its rules on the leaves")
    nodes: NodeNames = key("its nodes: names or ranges like gpu1-16")
    fabrics: tuple[FabricKey, ...] = default([], "the fabrics that it is in, of an intent with several; by default all")
    isolation: Annotated[TenantIsolation, Word(words=TenantIsolation, what="isolation")] = default(
        "filtered", "filtered: an ACL on the node ports of every leaf"
    )
    reaches: tuple[TenantName, ...] = default(
        [], "further tenants that its nodes reach, and whose nodes reach them: the way to share storage"
    )

    def policy(self) -> Tenant:
        """Return the tenant."""
        return Tenant(self.name, self.nodes, self.fabrics, self.reaches)
