"""See whether anything still uses a switch that is to leave the fabric."""

from collections.abc import Mapping

from nornir.core.task import Result, Task

from nornir_railweave.device.quiet import wait_until_quiet
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from railweave.plan.retirement import Use


def observe_use(
    task: Task, *, hosts_of: Mapping[str, Mapping[str, str]], packets_per_s: float, timeout_s: float, interval_s: float
) -> Result:
    """Return a ``Use``. ``hosts_of`` gives the GPU node on each of a leaf's ports; its ports are watched for at most
    ``timeout_s`` until fewer than ``packets_per_s`` pass each of them."""
    with session(task) as opened:
        try:
            driver = opened.driver
            state = driver.get_interfaces()
            traffic = getattr(driver, "traffic", None)
            use = Use(
                drained=bool(traffic.drained()) if traffic is not None else False,
                busy=wait_until_quiet(
                    driver,
                    [port for port, one in state.items() if one["is_up"]],
                    packets_per_s=packets_per_s,
                    timeout_s=timeout_s,
                    interval_s=interval_s,
                ),
                hosts_up=tuple(
                    host for port, host in hosts_of[task.host.name].items() if state.get(port, {}).get("is_up")
                ),
            )
        except DEVICE_ERRORS as fault:
            use = Use(error=error_text(fault))
    return Result(host=task.host, result=use)
