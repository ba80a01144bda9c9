"""Small programs that print something: echo, printf, true, false, cd, pwd, id, whoami, date, exit and friends."""

import time

from sonic_sim.files import ROOT, home_of
from sonic_sim.shell.programs import Call, Result, find_command, program


@program("echo")
def echo(call: Call) -> Result:
    """Print the words."""
    words = call.argv[1:]
    if words[:1] == ["-n"]:
        return Result(out=" ".join(words[1:]))
    return Result(out=" ".join(words) + "\n")


@program("printf")
def printf(call: Call) -> Result:
    """Print a format with the further words in the places of ``%s``."""
    format_text = call.argv[1] if len(call.argv) > 1 else ""
    text = format_text.replace("\\n", "\n").replace("\\t", "\t")
    for word in call.argv[2:]:
        text = text.replace("%s", word, 1)
    return Result(out=text)


@program("true", ":", "stty", "terminal", "set", "export", "unset", "umask", "trap", "reset", "clear", "ulimit")
def true(call: Call) -> Result:
    """Do nothing, well."""
    return Result()


@program("false")
def false(call: Call) -> Result:
    """Do nothing, badly."""
    return Result(1)


@program("cd")
def cd(call: Call) -> Result:
    """Change the directory."""
    name = call.argv[1] if len(call.argv) > 1 else home_of(call.user)
    if not call.device.files.is_directory(call.path(name)):
        return Result(1, err=f"bash: cd: {name}: No such file or directory\n")
    return Result(cwd=call.path(name))


@program("pwd")
def pwd(call: Call) -> Result:
    """Print the directory."""
    return Result(out=call.cwd + "\n")


@program("whoami")
def whoami(call: Call) -> Result:
    """Print the user."""
    return Result(out=call.user + "\n")


@program("id")
def identity(call: Call) -> Result:
    """Print the user's numbers."""
    # Debian gives 1000 to its first user, and 27 to the group sudo.
    number = 0 if call.user == ROOT else 1000
    if call.argv[1:] == ["-u"]:
        return Result(out=f"{number}\n")
    return Result(out=f"uid={number}({call.user}) gid={number}({call.user}) groups={number}({call.user}),27(sudo)\n")


@program("date")
def date(call: Call) -> Result:
    """Print the time, in the form of ``+FORMAT`` if there is one."""
    now = call.device.clock.now()
    formats = [word.removeprefix("+") for word in call.argv[1:] if word.startswith("+")]
    form = formats[0] if formats else "%a %d %b %Y %r %Z"
    # Python's ``%s`` would read the time as one of this machine's zone.
    form = form.replace("%s", str(int(now)))
    return Result(out=time.strftime(form, time.gmtime(now)) + "\n")


@program("which", "type")
def which(call: Call) -> Result:
    """Print where a program is."""
    programs = [word for word in call.argv[1:] if find_command(word, call.device)]
    return Result(0 if programs else 1, out="".join(f"/usr/bin/{word}\n" for word in programs))
