"""The rows of SONiC's gNMI server, which reads them when its container starts (docker-sonic-gnmi, gnmi-native.sh).

Only what ``telemetry.gnmi`` states is ours: operators write other fields of the same rows. The files are on the
switches, so that no key is in the intent.
"""

from railweave.fabric.policy import Policies
from railweave.fabric.releases import nearest
from railweave.fabric.telemetry import GNMI_USERS
from railweave.sonic.ownership import GNMI
from railweave.sonic.rows import Row


def gnmi_rows(policies: Policies) -> tuple[Row, ...]:
    """Return the rows of every switch in the order of their keys; none without ``telemetry.gnmi``."""
    gnmi = policies.telemetry.gnmi
    if gnmi is None:
        return ()
    rows = []
    files = {"ca_crt": gnmi.ca, "server_crt": gnmi.certificate, "server_key": gnmi.key}
    certificates = {field: path for field, path in files.items() if path is not None}
    if certificates:
        rows.append(Row(GNMI, "certs", certificates, "telemetry.gnmi: files of the gNMI server on the switch."))
    fields = {"port": str(gnmi.port)}
    if gnmi.client_auth is not None:
        fields["client_auth"] = str(gnmi.client_auth).lower()
    if gnmi.user_auth is not None and nearest(policies.sonic.release) >= GNMI_USERS.since:
        fields["user_auth"] = gnmi.user_auth.value
    rows.append(Row(GNMI, "gnmi", fields, "telemetry.gnmi: port of the gNMI server, and who may ask it."))
    return tuple(rows)
