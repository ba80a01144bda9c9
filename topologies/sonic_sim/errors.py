"""The simulator's error."""

import errno
from pathlib import Path


class SimulatorError(Exception):
    """A request that the simulator cannot carry out; the text gives the reason and a way out."""


def disk_text(folder: Path, fault: OSError) -> str:
    """Return why the simulator of ``folder`` cannot write its state, and what to do about a full disk."""
    text = f"the simulator cannot write its state in {folder}: {fault.strerror or fault}"
    if fault.errno in (errno.ENOSPC, errno.EDQUOT):
        text += f"; free space on its disk (`df -h {folder.parent}`), or stop simulators: `railweave sim down --all`"
    elif fault.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        text += "; work in a folder that this user may write to"
    elif fault.errno in (errno.ENOTDIR, errno.EEXIST):
        text += "; a file has the place of one of these folders: move it away"
    elif fault.errno == errno.EMFILE:
        text += "; allow it more open files: `ulimit -n 4096`"
    return text
