"""Journals on a branch of a git repository, one file a record, one commit a change.

Nothing is ever forced: a commit stands on what this runner saw last, so the remote rejects it where another runner came
first. Then the branch is fetched, and the record is made again on top of it if its name is still free. The project's
own repository holds the objects and says how one logs in; its branches, index and work tree are not touched.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from nornir_railweave.journals.store import StoreError, later_than

_ATTEMPTS = 8
_TIMEOUT_S = 60.0
# What removes a file in `git update-index --index-info`: mode 0 and no object.
_GONE = f"0 {'0' * 40}"
# The account of a pipeline often has no user.name, without which git refuses to commit.
_IDENTITY = {
    f"GIT_{who}_{part}": value
    for who in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "railweave"), ("EMAIL", "railweave@localhost"))
}


_LOGIN_IN_URL = re.compile(r"(?P<scheme>(?:https?|ftps?)://)(?P<user>[^/:@]*)(?::(?P<password>[^/]*))?@(?P<rest>.*)")
# A credential helper (git-credential(7)) that names variables: git hands URLs to other programs as arguments.
_LOGIN_HELPER = (
    '!answer() { [ "$1" = get ] && '
    'printf "username=%s\\npassword=%s\\n" "$RAILWEAVE_GIT_USER" "$RAILWEAVE_GIT_PASSWORD"; }; answer'
)


class _Remote(NamedTuple):
    """A remote as git's commands name it, and the variables of their environment that log in there."""

    name: str
    login: Mapping[str, str]


def _without_login(remote: str) -> _Remote:
    """Return a remote with the login of its URL in environment variables instead.

    In the URL, every list of processes would show it.
    """
    url = _LOGIN_IN_URL.fullmatch(remote)
    if url is None:
        return _Remote(remote, {})
    user = unquote(url["user"])
    password = unquote(url["password"] or "")
    # The user's own credential helpers are asked first for a missing password. With a password none of them is asked
    # (an empty value clears their list), so that none of them stores it.
    settings = [("credential.username", user)]
    if password:
        settings = [("credential.helper", "")]
    settings.append(("credential.helper", _LOGIN_HELPER))
    login = {"RAILWEAVE_GIT_USER": user, "RAILWEAVE_GIT_PASSWORD": password}
    # Settings of git in the environment are numbered (git-config(1)); these follow those that are there.
    first_number = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
    for number, (key, value) in enumerate(settings, start=first_number):
        login[f"GIT_CONFIG_KEY_{number}"] = key
        login[f"GIT_CONFIG_VALUE_{number}"] = value
    login["GIT_CONFIG_COUNT"] = str(first_number + len(settings))
    return _Remote(url["scheme"] + url["rest"], login)


class GitBranch:
    """A branch that holds nothing but records; ``remote`` is the name of a remote or its URL."""

    def __init__(self, remote: str, branch: str) -> None:
        """Name the branch; nothing is fetched yet. Raises StoreError for a remote that git would take for an option."""
        if not remote or remote.startswith("-"):
            raise StoreError(f"git:{remote} names no remote: `git:origin`, or `git:URL`")
        self._named = remote
        self._ref = f"refs/heads/{branch}"
        self._head = ""

    def names(self, folder: str = "") -> list[str]:
        """Fetch the branch, and return the names of its records; only those of ``folder`` if it is given."""
        self._fetch()
        return [name for name in self._names() if not folder or name.startswith(f"{folder}/")]

    def read(self, names: Sequence[str]) -> Mapping[str, bytes]:
        """Return the records of the branch as it was fetched last."""
        stored = set(self._names())
        present = [name for name in names if name in stored]
        objects = "".join(f"{self._head}:{name}\n" for name in present)
        output = self._git("cat-file", "--batch", data=objects.encode())
        records: dict[str, bytes] = {}
        for name in present:
            # Each object is `ID TYPE LENGTH`, its content, and a line feed after that.
            heading, _, output = output.partition(b"\n")
            length = int(heading.rsplit(b" ", 1)[-1])
            records[name] = output[:length]
            output = output[length + 1 :]
        return records

    def create(self, name: str, data: bytes, removing: Sequence[str] = ()) -> bool:
        """Commit a record and push it, with the records of ``removing`` removed.

        Return False if another runner has stored a record of this name, or a later one. Raises StoreError if the remote
        refuses the commit for another reason, or other runners are faster each time.
        """
        for _ in range(_ATTEMPTS):
            stored = set(self._names())
            if name in stored:
                return self.read([name])[name] == data
            if later_than(name, stored):
                return False
            commit = self._commit(name, data, [record for record in removing if record in stored])
            refusal = self._push(commit)
            if not refusal:
                self._head = commit
                return True
            last_head = self._head
            self._fetch()
            # The remote refused it for another reason than a commit of another runner.
            if self._head == last_head:
                raise StoreError(f"{self._shown} cannot be written: {refusal}")
        raise StoreError(f"{self._shown} cannot be written: others write there all the time")

    @cached_property
    def _remote(self) -> _Remote:
        """Return the remote that is fetched from, without a login."""
        return self._remote_of()

    @cached_property
    def _push_remote(self) -> _Remote:
        """Return the remote that is pushed to, without a login: a project's own one may have a ``pushurl``."""
        return self._remote_of("--push")

    def _remote_of(self, *options: str) -> _Remote:
        """Return the remote without a login; ``options`` are those of `git remote get-url`.

        A remote that was given by its name keeps the name, unless it has one URL and that has a login.
        """
        if ":" in self._named:
            return _without_login(self._named)
        by_name = _Remote(self._named, {})
        try:
            urls = self._git("remote", "get-url", "--all", *options, self._named).decode().splitlines()
        except (StoreError, UnicodeDecodeError):
            return by_name
        # git pushes to all of several URLs, and only by the name of the remote.
        if len(urls) != 1:
            return by_name
        remote = _without_login(urls[0])
        if remote.login:
            return remote
        return by_name

    def _reach(self, verb: str, *words: str) -> bytes:
        """Run a git command that talks to the remote, and return its output.

        Options among ``words`` come before the name of the remote, the others after it.
        """
        remote = self._push_remote if verb == "push" else self._remote
        options = [word for word in words if word.startswith("-")]
        arguments = [word for word in words if not word.startswith("-")]
        return self._git(verb, *options, remote.name, *arguments, variables=remote.login)

    @property
    def _shown(self) -> str:
        return f"the branch {self._ref.removeprefix('refs/heads/')} of {self._named}"

    def _names(self) -> list[str]:
        if not self._head:
            return []
        return self._git("ls-tree", "-r", "-z", "--name-only", self._head).decode().split("\0")[:-1]

    def _fetch(self) -> None:
        """Fetch the branch, unless its newest commit is the one that was seen last."""
        words = self._reach("ls-remote", "--quiet", self._ref).decode().split()
        head = words[0] if words else ""
        if head not in ("", self._head):
            # FETCH_HEAD and branches are not written: several processes of one clone may fetch at once.
            self._reach("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--refmap=", self._ref)
        self._head = head

    def _commit(self, name: str, data: bytes, removing: Sequence[str]) -> str:
        """Make a commit that adds a record and removes others; return its id."""
        blob = self._git("hash-object", "-w", "--stdin", data=data).decode().strip()
        entries = "".join(f"{_GONE}\t{record}\n" for record in removing) + f"100644 {blob}\t{name}\n"
        with tempfile.TemporaryDirectory() as folder:
            # An index of its own: what a person has staged in the project stays as it is.
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self._git("read-tree", *([self._head] if self._head else ["--empty"]), variables=index)
            self._git("update-index", "--index-info", data=entries.encode(), variables=index)
            tree = self._git("write-tree", variables=index).decode().strip()
        parent = ["-p", self._head] if self._head else []
        return self._git("commit-tree", *parent, "-m", name, tree, variables=_IDENTITY).decode().strip()

    def _push(self, commit: str) -> str:
        """Push a commit; return why the remote did not take it, empty if it did."""
        try:
            # The project's hooks are for its own branches. Without `+` the remote refuses a commit that does not follow
            # its newest one.
            self._reach("push", "--quiet", "--no-verify", f"{commit}:{self._ref}")
        except StoreError as refused:
            return str(refused)
        return ""

    def _git(self, *words: str, data: bytes = b"", variables: Mapping[str, str] | None = None) -> bytes:
        """Run git with ``data`` as its input and further environment ``variables``; return its output.

        Raises StoreError if it fails, or does not end in time.
        """
        # git must not ask for a password: nobody could answer.
        quiet = {
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_SSH_COMMAND": os.environ.get("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
        }
        try:
            completed = subprocess.run(
                ["git", *words], input=data, capture_output=True, check=False, timeout=_TIMEOUT_S,
                env={**os.environ, **quiet, **(variables or {})},
            )  # fmt: skip
        except OSError as fault:
            raise StoreError(f"git cannot be run: {fault.strerror}") from None
        except subprocess.TimeoutExpired:
            raise StoreError(f"git {words[0]}: no answer within {_TIMEOUT_S:g} s") from None
        if completed.returncode:
            raise StoreError(f"git {words[0]}: {_reason(completed.stderr)}")
        return completed.stdout


def _reason(stderr: bytes) -> str:
    """Return the line of git's output that says why it failed; the other lines are advice and progress."""
    lines = [line for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    reasons = [line for line in lines if line.startswith(("fatal:", "error:", " ! "))]
    return (reasons or lines or ["failed"])[0].strip()
