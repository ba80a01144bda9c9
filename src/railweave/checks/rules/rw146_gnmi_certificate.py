"""SONiC's gNMI server makes up its own certificate where it has only one of certificate and key, and serves without TLS
where it has neither: newer releases on the loopback address alone, older ones on all. Collectors then cannot tell whom
they talk to."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.model import Fabric

RULE = rule(
    "RW146",
    "the gNMI server of `telemetry.gnmi` has a certificate with its key",
    __doc__,
    "telemetry: {gnmi: {port: 8080}}",
)


@RULE.on_fabric
def check_certificate(fabric: Fabric) -> Breaches:
    """Yield an error if the intent states only one of certificate and key, or a warning if it states neither."""
    gnmi = fabric.policies.telemetry.gnmi
    if gnmi is None or (gnmi.certificate and gnmi.key):
        return
    fix = "state the paths of both files on the switches: `certificate: /etc/sonic/telemetry/server.cer`, `key`"
    if gnmi.certificate or gnmi.key:
        message = "telemetry.gnmi states only one of `certificate` and `key`: SONiC's server makes up its own"
        yield Breach("telemetry.gnmi", message, fix, Severity.ERROR)
        return
    message = "telemetry.gnmi states no certificate: where the switch has none, gNMI is served without TLS"
    yield Breach("telemetry.gnmi", message, fix, Severity.WARNING)
