"""``sonic-cfggen``: print, merge, render and write configuration documents."""

import argparse
import errno
import io
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

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
# SONiC's own sample configurations; railweave provisions from a plan, so they are known by name only.
_PRESETS = ("t1", "l2", "t1-smartswitch", "empty", "l1", "l3")
_TEMPLATES = ("/usr/share/sonic/templates", "/usr/files/build_templates")


def _parser() -> Parser:
    """Return the parser of the program's options."""
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
    """Run ``sonic-cfggen``: merge the data of all sources, and print, render or write it."""
    parsed = _PARSER.parse(call.argv[1:])
    if isinstance(parsed, Result):
        return parsed
    for option in ("minigraph", "yang", "device_description", "preset"):
        if getattr(parsed, option) is not None:
            return Result(1, err=f"sonic-cfggen --{option.replace('_', '-')}: this option is not simulated\n")
    if parsed.from_db and not call.device.initialized:
        # ConfigDBConnector.connect waits until CONFIG_DB_INITIALIZED is set.
        return Result(1, seconds=Wait.FOR_EVER)
    try:
        return Result(out=_output(call, parsed, _data(call, parsed)), seconds=_SECONDS)
    except NotSimulatedError as error:
        complaint = f"sonic-cfggen: {error}\n"
    except ProgramError as error:
        complaint = error.traceback()
    except (TypeError, AttributeError, LookupError, ZeroDivisionError) as error:
        # The program checks no shapes: what Python raises of a foreign document is what it prints.
        complaint = ProgramError(f"{type(error).__name__}: {error}").traceback()
    return Result(1, err=complaint)


def _data(call: Call, parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the merged data of all sources. They are read in the program's order, and later ones win.

    Raises ProgramError and NotSimulatedError.
    """
    data: dict[str, Any] = {}
    if parsed.namespace is not None and not parsed.namespace.startswith("asic"):
        raise ProgramError(f"ValueError: Unknown asic namespace name {parsed.namespace}")
    if parsed.hwsku is not None:
        _update(data, {"DEVICE_METADATA": {"localhost": {"hwsku": parsed.hwsku}}})
        if parsed.port_config:
            _update(data, {"PORT": _ports_of_file(_read(call, parsed.port_config))})
        else:
            _update(data, _ports_of_sku(call, parsed.hwsku))
    for path in parsed.json:
        _update(data, with_tuples(read_document(_read(call, path))))
    for path in parsed.yaml:
        _update(data, with_tuples(_yaml(_read(call, path), path)))
    if parsed.additional_data is not None:
        _update(data, read_document(parsed.additional_data))
    if parsed.from_db:
        _refuse_namespace(parsed)
        _update(data, with_tuples(call.device.db.document()))
    if parsed.platform_info:
        _update(data, _hardware(call.device))
    return data


def _hardware(device: Device) -> dict[str, Any]:
    """Return the hardware data of ``-H``."""
    localhost = {"platform": device.platform, "mac": device.spec.mac}
    data: dict[str, Any] = {"DEVICE_METADATA": {"localhost": localhost}}
    if device.platform in ASIC_SENSORS:
        data["ASIC_SENSORS"] = {
            "ASIC_SENSORS_POLLER_INTERVAL": {"interval": "10"},
            "ASIC_SENSORS_POLLER_STATUS": {"admin_status": "enable"},
        }
    return data


def _refuse_namespace(parsed: argparse.Namespace) -> None:
    """Raise ProgramError for the database of an ASIC: a switch of one has none of its own."""
    if parsed.namespace is not None:
        raise ProgramError(f"RuntimeError: Key :{parsed.namespace} is not a valid key name in config file")


def _ports_of_sku(call: Call, hwsku: str) -> dict[str, dict[str, dict[str, str]]]:
    """Return PORT and BREAKOUT_CFG of the switch's own SKU; of any other SKU an empty PORT."""
    spec = call.device.spec
    # The image has no folder of another SKU, which the program does not take for an error.
    if hwsku != spec.hwsku:
        return {"PORT": {}}
    ports: dict[str, dict[str, str]] = {}
    modes: dict[str, dict[str, str]] = {}
    for name, cage in cages(spec).items():
        ports |= cage.children(cage.default)
        modes[name] = {"brkout_mode": cage.default}
    return {"PORT": ports, "BREAKOUT_CFG": modes}


def _ports_of_file(text: str) -> dict[str, dict[str, str]]:
    """Return the PORT rows of the port_config.ini ``text``. A comment with ``name`` in it has the names of columns."""
    titles = ["name", "lanes", "alias", "index"]
    ports: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        cells = line.split()
        if line.startswith("#"):
            if "name" in line:
                titles = line.strip("#").split()
        elif len(cells) > 1:
            row = dict(zip(titles, cells, strict=False))
            name = row.pop("name")
            ports[name] = {**row, "alias": row.get("alias", name)}
    return ports


def _read(call: Call, path: str) -> str:
    """Return the text of a file. Raises ProgramError if it cannot be opened."""
    try:
        return call.read(path)
    except OSError as error:
        raise _not_opened(error, path) from error


def _not_opened(error: OSError, path: str) -> ProgramError:
    """Return what Python prints of a file that cannot be opened."""
    # The simulated files raise the exceptions of the operating system without their numbers.
    number = errno.EIO
    for error_type, number_of_type in _ERRORS.items():
        if isinstance(error, error_type):
            number = number_of_type
    return ProgramError(f"{type(error).__name__}: [Errno {number}] {os.strerror(number)}: '{path}'")


def _yaml(text: str, path: str) -> Any:
    """Return the document of a YAML file. Raises ProgramError as PyYAML does."""
    import yaml

    stream = io.BytesIO(text.encode())
    stream.name = path
    try:
        return yaml.safe_load(stream)
    except yaml.YAMLError as error:
        module = type(error).__module__.rpartition(".")[2]
        raise ProgramError(f"yaml.{module}.{type(error).__name__}: {error}") from error


def with_tuples(document: Any) -> Any:
    """Return a document with keys of several parts as tuples, as templates see them."""
    for table in document:
        rows = document[table]
        if isinstance(rows, dict):
            document[table] = {_tuple_key(key): row for key, row in rows.items()}
    return document


def _tuple_key(key: str) -> str | tuple[str, ...]:
    return tuple(key.split("|")) if "|" in key else key


def _update(target: dict[Any, Any], source: Any) -> None:
    """Merge ``source`` into ``target``: mappings key by key, any other value replaces the one before."""
    for name, value in source.items():
        if isinstance(value, dict):
            _update(target.setdefault(name, {}), value)
        else:
            target[name] = value


def _with_text_keys(value: Any) -> Any:
    """Return a document with its tuple keys as text again. They come last, as sonic-cfggen sorts rows."""
    if not isinstance(value, dict):
        return value
    plain: dict[str, Any] = {}
    joined: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(key, tuple):
            joined["|".join(key)] = _with_text_keys(inner)
        else:
            plain[key] = _with_text_keys(inner)
    return plain | joined


def table_text(data: Mapping[str, Any], table: str, key: str | None = None) -> str:
    """Return the output of ``--var-json`` for a table, or for its row with ``key``; empty if there is no such table."""
    if table not in data:
        return ""
    rows = data[table]
    if key is not None and isinstance(rows, dict):
        # Any part of a key of several parts means its row; only the first row is printed.
        matching = [name for name in rows if name == key or (isinstance(name, tuple) and key in name)]
        rows = {name: rows[name] for name in matching[:1]}
    return to_json(_with_text_keys(rows)) + "\n"


def _output(call: Call, parsed: argparse.Namespace, data: dict[str, Any]) -> str:
    """Return the output in the program's order: templates, values, the whole data."""
    renderings = [_rendering(text) for text in parsed.template]
    folders = _template_folders(call, parsed.template_dir, [rendering.path for rendering in renderings])
    out = "".join(_render(call, folders, data, rendering) for rendering in renderings)
    if parsed.var is not None:
        out += _value(data, parsed.var) + "\n"
    if parsed.var_json is not None:
        out += table_text(data, parsed.var_json, parsed.key)
    if parsed.write_to_db:
        _refuse_namespace(parsed)
        merge_into(call.device.db, {name: _with_text_keys(rows) for name, rows in data.items()})
    if parsed.print_data:
        out += to_json(_with_text_keys(data)) + "\n"
    return out


class _Rendering(NamedTuple):
    """A template to render: its path, and where its text goes, None for standard output."""

    path: str
    target: str | None


def _rendering(text: str) -> _Rendering:
    """Return the value ``TEMPLATE[,TARGET]`` of ``-t`` in parts. Raises ProgramError if it has more of them."""
    path, comma, target = text.partition(",")
    if "," in target:
        raise ProgramError("ValueError: too many values to unpack (expected 2)")
    return _Rendering(path, target if comma else None)


def _template_folders(call: Call, template_dir: str | None, paths: Iterable[str]) -> list[str]:
    """Return the folders in which templates are searched, as the error of a missing template lists them."""
    installed, build = _TEMPLATES
    folders = ["/", installed]
    if template_dir:
        folders.append(template_dir)
    folders_of_templates = [call.path(path).rpartition("/")[0] or "/" for path in paths]
    return [*folders, build, *folders_of_templates]


def _environment(**settings: Any) -> "jinja2.Environment":
    # Templates come over the network of the simulated switch, so they get at data alone.
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(**settings)


def _value(data: Mapping[str, Any], expression: str) -> str:
    """Return the value of a jinja2 expression as text. Raises ProgramError."""
    return _rendered(lambda: _environment().from_string("{{" + expression + "}}").render(data))


def _render(call: Call, folders: list[str], data: dict[str, Any], rendering: _Rendering) -> str:
    """Render a template to its target, and return what is printed of it.

    The target is standard output, a file or, for ``config-db``, ``data``. Raises ProgramError and NotSimulatedError.
    """
    path = rendering.path
    target = rendering.target
    template = sku_template(call.device, call.path(path))
    if template is None:
        name = path.rpartition("/")[2]
        text = _rendered(lambda: _template(call, folders, name).render(data))
    else:
        text = _text_of_sku(template, folders, data)
    if target is None:
        return f"{text}\n"
    if target == "config-db":
        _update(data, with_tuples(read_document(text)))
    elif target == "":
        raise ProgramError("FileNotFoundError: [Errno 2] No such file or directory: ''")
    else:
        _write(call, target, f"{text}\n".encode())
    return ""


def _write(call: Call, path: str, content: bytes) -> None:
    try:
        call.device.files.write(call.path(path), content, user=call.user, now=call.device.clock.now())
    except OSError as error:
        raise _not_opened(error, path) from error


def platform_folder(device: Device) -> str:
    """Return the folder of the platform."""
    # get_path_to_platform_dir of sonic_py_common prefers the folder that containers have.
    container = "/usr/share/sonic/platform"
    if device.files.is_directory(container):
        return container
    return f"/usr/share/sonic/device/{device.platform}"


def sku_template(device: Device, path: str) -> Template | None:
    """Return the template of the image at ``path``; None if the path is not in the folder of an SKU.

    Raises NotSimulatedError.
    """
    folder, _, name = path.rpartition("/")
    above, _, hwsku = folder.rpartition("/")
    if above != platform_folder(device):
        return None
    return find_template(device.platform, hwsku, name)


def _text_of_sku(template: Template, folders: list[str], data: Mapping[str, Any]) -> str:
    """Return the text of a template of the image. Raises ProgramError if it includes a template that is missing."""
    try:
        return template.text(data)
    except MissingTemplateError as error:
        name = "jinja2.exceptions.TemplateNotFound"
        raise ProgramError(f"{name}: {_not_found(str(error), folders)}") from error


def _not_found(name: str, folders: Iterable[str]) -> str:
    return f"{name!r} not found in search paths: {', '.join(repr(folder) for folder in folders)}"


def _template(call: Call, folders: Iterable[str], name: str) -> "jinja2.Template":
    """Return the template ``name`` from the first of ``folders`` that has it. Raises jinja2.TemplateError."""
    import jinja2

    def load(template_name: str) -> str:
        for folder in folders:
            path = f"{folder.rstrip('/')}/{template_name}"
            if call.device.files.exists(path):
                return call.device.files.read(path, call.user).decode()
        raise jinja2.TemplateNotFound(template_name, _not_found(template_name, folders))

    environment = _environment(loader=jinja2.FunctionLoader(load), trim_blocks=True)
    return environment.get_template(name)


def _rendered(render: Any) -> str:
    """Return the text that ``render`` returns. Raises ProgramError with the template's error."""
    import jinja2

    try:
        return str(render())
    except jinja2.TemplateError as error:
        raise ProgramError(f"jinja2.exceptions.{type(error).__name__}: {error}") from error
