"""Questions of the ``config`` programs, answered on standard input."""

from sonic_sim.shell.programs import Result


def ask(question: str, stdin: str) -> Result | str:
    """Return the question's text when the answer is yes, else what an aborted command leaves."""
    text = f"{question} [y/N]: "
    answer = stdin.partition("\n")[0].strip().lower()
    if answer in ("y", "yes"):
        return text
    return Result(1, out=text + ("\n" if not answer else ""), err="Aborted!\n")
