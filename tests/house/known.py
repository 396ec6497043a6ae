"""known.toml: offences that are being mended. The list may only shrink.

An entry names a rule, the files (a glob) and how many offences there are; `what` narrows it to those that say this. More
offences fail, and so do fewer: then the entry's number goes down, or the entry goes.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from source_tree import Offence

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Known:
    rule: str
    files: str
    count: int
    why: str
    what: str = ""

    def covers(self, offence: Offence) -> bool:
        return offence.rule == self.rule and fnmatch(offence.file, self.files) and self.what in offence.what


def read_known() -> list[Known]:
    table = tomllib.loads((HERE / "known.toml").read_text(encoding="utf-8"))
    return [Known(**row) for row in table.get("known", [])]


def complaints(offences: Iterable[Offence], known: Iterable[Known]) -> list[str]:
    """What is to be said about these offences, seeing what is known."""
    left = list(offences)
    found = []
    for entry in known:
        covered = [offence for offence in left if entry.covers(offence)]
        left = [offence for offence in left if offence not in covered]
        if len(covered) > entry.count:
            said = "".join(f"\n{offence}" for offence in covered)
            found.append(f"{entry.rule} in {entry.files}: {len(covered)}, and {entry.count} are known; one is new:{said}")
        elif len(covered) < entry.count:
            mend = f"set its count to {len(covered)}" if covered else "take the entry out"
            where = f"known.toml, rule '{entry.rule}', files '{entry.files}', what '{entry.what}'"
            found.append(f"{where}: {entry.count - len(covered)} of {entry.count} are mended: {mend}")
    return [str(offence) for offence in left] + found
