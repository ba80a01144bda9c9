"""The files of GPU nodes that differ because the templates of the project do."""

from collections.abc import Mapping

from railweave.fabric.model import Fabric
from railweave.hosts.render import HostRenderer
from railweave.templates import Templates, files_of

_FOLDER = "hosts/"


def files_by_templates(fabric: Fabric, before: Templates, after: Templates) -> Mapping[str, list[str]]:
    """Return the files that the templates ``before`` write differently from ``after``, each with its nodes.

    Names of files are those below a node's folder. Raises TemplateFaultError for a template that cannot be filled in.
    """
    # To render the nodes takes long in a large fabric, and nearly no change is about their templates.
    if _node_templates(before) == _node_templates(after):
        return {}
    old = HostRenderer(fabric, before)
    new = HostRenderer(fabric, after)
    nodes_of: dict[str, list[str]] = {}
    for host in fabric.hosts:
        files_before = old.files(host)
        for name, content in new.files(host).items():
            if files_before.get(name) != content:
                nodes_of.setdefault(name, []).append(host.name)
    return nodes_of


def _node_templates(templates: Templates) -> Mapping[str, bytes]:
    return {name: content for name, content in files_of(templates).items() if name.startswith(_FOLDER)}
