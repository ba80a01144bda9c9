"""An intent of several fabrics in one file, small enough to count by hand: four nodes below virtual switches."""

from collections.abc import Iterable, Mapping

_NODES = """\
fabric: pod1
workload: {kind: inference}
nodes:
  - name: gpu
    count: 4
    gpus: 2
    nics:
"""
_SWITCHES = "stripe: 4, links_per_pair: 1, leaf: {model: sonic-vs}, spine: {model: sonic-vs, count: 4}"


def intent_of_fabrics(nics: Iterable[str], fabrics: Mapping[str, str]) -> str:
    """Return an intent with these groups of ``nics``, each in YAML, and ``fabrics`` with the keys of topology that each
    states beside its switches, in YAML up to a comma; empty for none."""
    groups = "".join(f"      - {group}\n" for group in nics)
    sections = "".join(f"  {name}: {{topology: {{{keys}{_SWITCHES}}}}}\n" for name, keys in fabrics.items())
    return f"{_NODES}{groups}fabrics:\n{sections}"
