"""``sonic-cfggen``: print, merge, render and write configuration documents."""

import argparse
import errno
import io
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sonic_sim.commands.merge import merge_into, read_document
from sonic_sim.commands.parsing import Parser
from sonic_sim.configdb import to_json
from sonic_sim.device import Device
from sonic_sim.platform import ASIC_SENSORS, cages
from sonic_sim.shell.programs import Call, ProgramError, Result, Wait, program
from sonic_sim.sku.data import MissingTemplateError, NotSimulatedError
from sonic_sim.sku.templates import Template, find_template

if TYPE_CHECKING:
    import jinja2

_SECONDS = 0.15
_ERRORS = {FileNotFoundError: errno.ENOENT, PermissionError: errno.EACCES, IsADirectoryError: errno.EISDIR,
           NotADirectoryError: errno.ENOTDIR}  # fmt: skip
_PRESETS = ("t1", "l2", "t1-smartswitch", "empty", "l1", "l3")
_TEMPLATES = ("/usr/share/sonic/templates", "/usr/files/build_templates")


def _parser() -> Parser:
    about = "Render configuration file from minigraph data and jinja2 template."
    parser = Parser("sonic-cfggen", description=about)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-m", "--minigraph", help="minigraph xml file", nargs="?", const="/etc/sonic/minigraph.xml")
    group.add_argument("-Y", "--yang", help="yang data json file", nargs="?", const="/etc/sonic/config_yang.json")
    group.add_argument("-M", "--device-description", help="device description xml file")
    group.add_argument("-k", "--hwsku", help="HwSKU")
    parser.add_argument("-n", "--namespace", help="namespace name", nargs="?")
    parser.add_argument("-p", "--port-config", help="port config file, used with -m or -k", nargs="?")
    parser.add_argument("-S", "--hwsku-config", help="hwsku config file, used with -p and -m or -k", nargs="?")
    variables = "file that contains additional variables"
    parser.add_argument("-y", "--yaml", help=f"yaml {variables}", action="append", default=[])
    parser.add_argument("-j", "--json", help=f"json {variables}", action="append", default=[])
    parser.add_argument("-a", "--additional-data", help="addition data, in json string")
    parser.add_argument("-d", "--from-db", help="read config from configdb", action="store_true")
    parser.add_argument("-H", "--platform-info", help="read platform and hardware info", action="store_true")
    parser.add_argument("-s", "--redis-unix-sock-file", help="unix sock file for redis connection")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-t", "--template", help="render the data with the template file", action="append", default=[])
    parser.add_argument("-T", "--template_dir", help="search base for the template files", action="store")
    group.add_argument("-v", "--var", help="print the value of a variable, support jinja2 expression")
    group.add_argument("--var-json", help="print the value of a variable, in json format")
    group.add_argument("--preset", help="generate sample configuration from a preset template", choices=_PRESETS)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--print-data", help="print all data", action="store_true")
    group.add_argument("-w", "--write-to-db", help="write config into configdb", action="store_true")
    group.add_argument("-K", "--key", help="Lookup for a specific key")
    return parser


_PARSER = _parser()


@program("sonic-cfggen", reads_stdin=lambda argv: "/dev/stdin" in argv)
def cfggen(call: Call) -> Result:
    """Run ``sonic-cfggen``."""
    parsed = _PARSER.parse(call.argv[1:])
    if isinstance(parsed, Result):
        return parsed
    for option in ("minigraph", "yang", "device_description", "preset"):
        if getattr(parsed, option) is not None:
            return Result(1, err=f"sonic-cfggen --{option.replace('_', '-')}: this option is not simulated\n")
    if parsed.from_db and not call.device.initialized:
        return Result(1, seconds=Wait.FOR_EVER)
    try:
        return Result(out=_output(call, parsed, _data(call, parsed)), seconds=_SECONDS)
    except (NotSimulatedError, ProgramError) as error:
        return Result(1, err=error.traceback() if isinstance(error, ProgramError) else f"sonic-cfggen: {error}\n")
    except (TypeError, AttributeError, LookupError, ZeroDivisionError) as error:
        # what a document of another shape does to the program
        return Result(1, err=ProgramError(f"{type(error).__name__}: {error}").traceback())


def _data(call: Call, parsed: argparse.Namespace) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if parsed.namespace is not None and not parsed.namespace.startswith("asic"):
        raise ProgramError(f"ValueError: Unknown asic namespace name {parsed.namespace}")
    if parsed.hwsku is not None:
        _update(data, {"DEVICE_METADATA": {"localhost": {"hwsku": parsed.hwsku}}})
        if parsed.port_config:
            _update(data, {"PORT": _ports(_read(call, parsed.port_config))})
        else:
            _update(data, _ports_of_sku(call, parsed.hwsku))
    for path in parsed.json:
        _update(data, with_tuples(read_document(_read(call, path))))
    for path in parsed.yaml:
        _update(data, with_tuples(_yaml(_read(call, path), path)))
    if parsed.additional_data is not None:
        _update(data, read_document(parsed.additional_data))
    if parsed.from_db:
        _of_one_asic(parsed)
        _update(data, with_tuples(call.device.db.document()))
    if parsed.platform_info:
        hardware = {"platform": call.device.platform, "mac": call.device.spec.mac}
        _update(data, {"DEVICE_METADATA": {"localhost": hardware}})
        if call.device.platform in ASIC_SENSORS:
            poller = {"INTERVAL": {"interval": "10"}, "STATUS": {"admin_status": "enable"}}
            _update(data, {"ASIC_SENSORS": {f"ASIC_SENSORS_POLLER_{name}": row for name, row in poller.items()}})
    return data


def _of_one_asic(parsed: argparse.Namespace) -> None:
    """Raise ProgramError for the database of an ASIC: a switch of one has none of its own."""
    if parsed.namespace is not None:
        raise ProgramError(f"RuntimeError: Key :{parsed.namespace} is not a valid key name in config file")


def _ports_of_sku(call: Call, hwsku: str) -> dict[str, dict[str, dict[str, str]]]:
    """Return PORT and BREAKOUT_CFG of the switch's own SKU; of any other the image has no folder, which is no error."""
    spec = call.device.spec
    if hwsku != spec.hwsku:
        return {"PORT": {}}
    known = cages(spec)
    ports = {name: row for cage in known.values() for name, row in cage.children(cage.default).items()}
    return {"PORT": ports, "BREAKOUT_CFG": {name: {"brkout_mode": cage.default} for name, cage in known.items()}}


def _ports(text: str) -> dict[str, dict[str, str]]:
    """Return the PORT rows of a port_config.ini: a comment with ``name`` names the columns."""
    titles = ["name", "lanes", "alias", "index"]
    ports = {}
    for line in text.splitlines():
        if line.startswith("#"):
            titles = line.strip("#").split() if "name" in line else titles
        elif len(line.split()) > 1:
            row = dict(zip(titles, line.split(), strict=False))
            name = row.pop("name")
            ports[name] = {**row, "alias": row.get("alias", name)}
    return ports


def _read(call: Call, path: str) -> str:
    try:
        return call.read(path)
    except OSError as error:
        raise _not_opened(error, path) from error


def _not_opened(error: OSError, path: str) -> ProgramError:
    number = next((number for kind, number in _ERRORS.items() if isinstance(error, kind)), errno.EIO)
    return ProgramError(f"{type(error).__name__}: [Errno {number}] {os.strerror(number)}: '{path}'")


def _yaml(text: str, path: str) -> Any:
    """Return the document of a YAML file. Raises ProgramError as PyYAML does."""
    import yaml

    stream = io.BytesIO(text.encode())
    stream.name = path
    try:
        return yaml.safe_load(stream)
    except yaml.YAMLError as error:
        raise ProgramError(
            f"yaml.{type(error).__module__.rpartition('.')[2]}.{type(error).__name__}: {error}"
        ) from error


def with_tuples(document: Any) -> Any:
    """Return a document with keys of several parts as tuples, as templates see them."""
    for table in document:
        rows = document[table]
        if isinstance(rows, dict):
            document[table] = {tuple(key.split("|")) if "|" in key else key: row for key, row in rows.items()}
    return document


def _update(target: dict[Any, Any], source: Any) -> None:
    for name, value in source.items():
        if isinstance(value, dict):
            _update(target.setdefault(name, {}), value)
        else:
            target[name] = value


def _with_keys(value: Any) -> Any:
    """Return a document with tuples as keys of text again; these come last."""
    if not isinstance(value, dict):
        return value
    plain = {key: _with_keys(one) for key, one in value.items() if not isinstance(key, tuple)}
    return plain | {"|".join(key): _with_keys(one) for key, one in value.items() if isinstance(key, tuple)}


def table_text(data: Mapping[str, Any], table: str, key: str | None = None) -> str:
    """Return what ``--var-json`` prints of a table, or of the row of a key."""
    if table not in data:
        return ""
    rows = data[table]
    if key is not None and isinstance(rows, dict):
        found = [name for name in rows if (key in name if isinstance(name, tuple) else key == name)]
        rows = {name: rows[name] for name in found[:1]}
    return to_json(_with_keys(rows)) + "\n"


def _output(call: Call, parsed: argparse.Namespace, data: dict[str, Any]) -> str:
    named = [(*template.split(","), None)[: max(2, template.count(",") + 1)] for template in parsed.template]
    if any(len(words) > 2 for words in named):
        raise ProgramError("ValueError: too many values to unpack (expected 2)")
    own = (call.path(path).rpartition("/")[0] or "/" for path, _ in named)
    folders = ["/", *_TEMPLATES[:1], *([parsed.template_dir] if parsed.template_dir else []), *_TEMPLATES[1:], *own]
    out = "".join(_render(call, folders, data, path, target) for path, target in named)
    if parsed.var is not None:
        out += _value(data, parsed.var) + "\n"
    if parsed.var_json is not None:
        out += table_text(data, parsed.var_json, parsed.key)
    if parsed.write_to_db:
        _of_one_asic(parsed)
        merge_into(call.device.db, {name: _with_keys(rows) for name, rows in data.items()})
    if parsed.print_data:
        out += to_json(_with_keys(data)) + "\n"
    return out


def _environment(**settings: Any) -> "jinja2.Environment":
    # templates come over the network of the simulated switch: they get at data alone
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(**settings)


def _value(data: Mapping[str, Any], expression: str) -> str:
    return _rendered(lambda: _environment().from_string("{{" + expression + "}}").render(data))


def _render(call: Call, folders: list[str], data: dict[str, Any], path: str, target: str | None) -> str:
    """Render a template: to standard output (None), a file, or (``config-db``) into the data."""
    of_sku = sku_template(call.device, call.path(path))
    if of_sku is None:
        text = _rendered(lambda: _template(call, folders, path.rpartition("/")[2]).render(data))
    else:
        text = _of_sku(of_sku, folders, data)
    if target == "config-db":
        _update(data, with_tuples(read_document(text)))
    elif target == "":
        raise ProgramError("FileNotFoundError: [Errno 2] No such file or directory: ''")
    elif target is not None:
        content = f"{text}\n".encode()
        now = call.device.clock.now()
        try:
            call.device.files.write(call.path(target), content, user=call.user, now=now)
        except OSError as error:
            raise _not_opened(error, target) from error
    return f"{text}\n" if target is None else ""


def platform_folder(device: Device) -> str:
    """Return the folder of the platform: as containers have it where that is there, else the image's."""
    container = "/usr/share/sonic/platform"
    return container if device.files.is_directory(container) else f"/usr/share/sonic/device/{device.platform}"


def sku_template(device: Device, path: str) -> Template | None:
    """Return the template of the image at a path, if there is one. Raises NotSimulatedError."""
    folder, _, name = path.rpartition("/")
    above, _, hwsku = folder.rpartition("/")
    return find_template(device.platform, hwsku, name) if above == platform_folder(device) else None


def _of_sku(template: Template, folders: list[str], data: Mapping[str, Any]) -> str:
    try:
        return template.text(data)
    except MissingTemplateError as error:
        name = "jinja2.exceptions.TemplateNotFound"
        raise ProgramError(f"{name}: {_not_found(str(error), folders)}") from error


def _not_found(name: str, folders: Iterable[str]) -> str:
    return f"{name!r} not found in search paths: {', '.join(repr(folder) for folder in folders)}"


def _template(call: Call, folders: Iterable[str], name: str) -> "jinja2.Template":
    import jinja2

    def load(wanted: str) -> str:
        for folder in folders:
            path = f"{folder.rstrip('/')}/{wanted}"
            if call.device.files.exists(path):
                return call.device.files.read(path, call.user).decode()
        raise jinja2.TemplateNotFound(wanted, _not_found(wanted, folders))

    environment = _environment(loader=jinja2.FunctionLoader(load), trim_blocks=True)
    return environment.get_template(name)


def _rendered(render: Any) -> str:
    """Return a rendered text. Raises ProgramError with the template's error."""
    import jinja2

    try:
        return str(render())
    except jinja2.TemplateError as error:
        raise ProgramError(f"jinja2.exceptions.{type(error).__name__}: {error}") from error
