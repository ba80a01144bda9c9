"""The secrets of a target, resolved when they are needed: from the environment, a file, or what a command prints.

Where a secret comes from stands in the target's file, never in the intent. Values stay in the memory of this process;
they leave it through the SSH channel of a switch alone.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from unicodedata import category

from nornir_railweave.target.model import SecretSource, Target
from railweave.diagnostics import Diagnostic, Where, error
from railweave.errors import RefusedError
from railweave.masking import SHORTEST, mask_from_now_on
from railweave.secrets import reference

COMMAND_S = 60.0

# Categories of Unicode that no field and no line of FRR holds: control characters, and what Python puts in place of
# octets that it cannot decode.
_NO_TEXT = ("Cc", "Cs")


class _MissingError(Exception):
    """A secret cannot be resolved; the message says why, without anything of it."""


@dataclass
class SecretStore:
    """Resolves each secret once; ``values`` are those resolved so far, by name. They are masked in all output then."""

    target: Target
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    values: dict[str, str] = field(default_factory=dict, repr=False)

    def missing(self, places: Mapping[str, Where]) -> tuple[Diagnostic, ...]:
        """Resolve the secrets that ``places`` names; return an error for each that cannot be resolved, at its place."""
        diagnostics: list[Diagnostic] = []
        for name, where in places.items():
            try:
                self._resolve(name)
            except _MissingError as why:
                diagnostics.append(self._diagnostic(name, str(why), where))
        return tuple(diagnostics)

    def required(self, name: str) -> str:
        """Return the value of a secret. Raises RefusedError if it cannot be resolved."""
        where = self.target.places.get(f"secrets.{name}") or Where(f"inventory/{self.target.name}.yml")
        missing = self.missing({name: where})
        if missing:
            raise RefusedError(missing)
        return self.values[name]

    def _resolve(self, name: str) -> None:
        """Keep the value of a secret and mask it from now on. Raises _MissingError if it has no valid value."""
        if name in self.values:
            return
        source = self.target.secrets.get(name)
        if source is None:
            raise _MissingError("the target does not say where it comes from")
        value = self._read(source).rstrip("\r\n")
        if not value or "\n" in value or "\0" in value:
            raise _MissingError("what was found is empty, or more than one line")
        if any(category(character) in _NO_TEXT for character in value):
            raise _MissingError("what was found holds control characters, or bytes that are not UTF-8")
        if len(value) < SHORTEST:
            raise _MissingError(
                f"its value has fewer than {SHORTEST} characters, too few to be hidden wherever it is quoted"
            )
        mask_from_now_on(value, reference(name))
        self.values[name] = value

    def _read(self, source: SecretSource) -> str:
        """Return what a source holds. Raises _MissingError if it cannot be read."""
        if source.env is not None:
            if source.env not in self.environ:
                raise _MissingError(f"the environment variable {source.env} is not set")
            return self.environ[source.env]
        if source.file is not None:
            try:
                return source.file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as fault:
                raise _MissingError(f"{source.file}: {getattr(fault, 'strerror', None) or 'not a text'}") from None
        return _printed(source.command or ())

    def _diagnostic(self, name: str, why: str, where: Where) -> Diagnostic:
        return error(
            "RW603",
            f"secret {name} cannot be resolved: {why}",
            where,
            fix=f"state its source in inventory/{self.target.name}.yml, `secrets: {{{name}: {{env: VARIABLE}}}}`, or "
            "file: PATH, or command: [PROGRAM, ARGUMENT], and provide it there",
        )


def _printed(words: Sequence[str]) -> str:
    """Return what a command prints. Raises _MissingError if it fails."""
    try:
        completed = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=COMMAND_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise _MissingError(f"`{words[0]}` did not end within {COMMAND_S:g} s") from None
    except UnicodeDecodeError:
        raise _MissingError(f"what `{words[0]}` prints is not UTF-8 text") from None
    except (OSError, ValueError) as fault:
        raise _MissingError(f"`{words[0]}` cannot be run: {getattr(fault, 'strerror', None) or fault}") from None
    if completed.returncode:
        raise _MissingError(f"`{words[0]}` ended with status {completed.returncode}")
    return completed.stdout
