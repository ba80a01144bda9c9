"""``config`` of the host: its name, features, time, DNS, banner, kdump and switches of the whole system."""

import click

from sonic_sim.commands.click7 import Choice, Run, argument, flag
from sonic_sim.commands.config.root import NOT_SAVED, config

_METADATA = "DEVICE_METADATA|localhost"
_ENABLED = Choice(["enabled", "disabled"])


@config.leaf(
    "hostname",
    "Change device hostname without impacting the traffic.",
    argument("new_hostname", metavar="<new_hostname>"),
)
def hostname(run: Run, new_hostname: str) -> None:
    run.db.set_fields(_METADATA, {"hostname": new_hostname})
    run.say(NOT_SAVED)


def _add_mode(name: str, field: str, text: str) -> None:
    """Add a command that enables or disables ``field`` of DEVICE_METADATA; ``text`` is its help."""

    @config.leaf(name, text, argument("mode", metavar="<enable|disable>"))
    def command(run: Run, mode: str) -> None:
        if mode not in ("enable", "disable"):
            raise click.BadParameter(f"Error: Invalid argument {mode}, expect either enable or disable")
        run.db.set_fields(_METADATA, {field: mode})
        if field == "synchronous_mode":
            run.say(
                f"Wrote {mode} synchronous mode into CONFIG_DB, swss restart required to apply the configuration: \n"
            )
            run.say("    Option 1. config save -y \n\n              config reload -y \n")
            run.say("    Option 2. systemctl restart swss")
        else:
            run.say(f"Wrote {mode} yang config validation into CONFIG_DB")


_add_mode("synchronous_mode", "synchronous_mode",
          "Enable or disable synchronous mode between orchagent and syncd \n\n    swss restart required to apply the "
          "configuration")  # fmt: skip
_add_mode("yang_config_validation", "yang_config_validation", "")


feature = config.branch("feature", "Configure features")


_feature_name = argument("name", metavar="<feature-name>")


def _must_be_feature(run: Run, name: str) -> dict[str, str]:
    """Return the row of a feature; an unknown feature ends the run."""
    row = run.db.get(f"FEATURE|{name}")
    if not row:
        run.stop(f"Feature '{name}' doesn't exist")
    return row


@feature.leaf(
    "state",
    "Enable/disable a feature",
    _feature_name,
    argument("state", metavar="<state>", type=_ENABLED),
    flag("--block", help="Wait till operation is finished"),
    short_help="Enable/disable a feature",
)
def feature_state(run: Run, name: str, state: str, block: bool) -> None:
    current = _must_be_feature(run, name).get("state", "")
    # init_cfg.json sets these for the containers without which nothing works.
    if current.startswith("always_"):
        run.stop(f"Feature '{name}' state is always {current.removeprefix('always_')} and can not be modified")
    run.db.set_fields(f"FEATURE|{name}", {"state": state})


@feature.leaf(
    "autorestart",
    "Enable/disable autorestart of a feature",
    _feature_name,
    argument("autorestart", metavar="<autorestart>", type=_ENABLED),
    short_help="Enable/disable autosrestart of a feature",
)
def feature_autorestart(run: Run, name: str, autorestart: str) -> None:
    if _must_be_feature(run, name).get("auto_restart") == "always_enabled":
        run.stop(f"Feature '{name}' auto-restart is always enabled and can not be modified", 0)
    run.db.set_fields(f"FEATURE|{name}", {"auto_restart": autorestart})
