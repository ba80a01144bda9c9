"""The software of a simulated switch, as its programs name it."""

from dataclasses import dataclass

from sonic_sim.frr.show import SONIC_202505, Build


@dataclass(frozen=True, slots=True)
class Image:
    """The software of a switch, as ``show version`` names it."""

    version: str = "SONiC.202505.0-simulated"
    distribution: str = "Debian 12.11"
    kernel: str = "6.1.0-29-2-amd64"
    commit: str = "ff3c0c9f6"
    date: str = "Sat Nov 21 00:00:00 UTC 2026"
    built_by: str = "railweave@simulator"
    frr: Build = SONIC_202505
    # The release that the version file states; empty: the one that the version begins with.
    release: str = ""

    def version_file(self, asic: str) -> str:
        """Return ``sonic_version.yml``: the release is in it where the branch was released, else ``none``."""
        build = self.version.removeprefix("SONiC.")
        branch = self.release or build.partition(".")[0]
        release = branch if branch.isdecimal() else "none"
        lines = (f"build_version: '{build}'", f"asic_type: {asic}", f"commit_id: '{self.commit}'",
                 f"branch: '{branch}'", f"release: '{release}'")  # fmt: skip
        return "\n".join(("---", *lines, ""))
