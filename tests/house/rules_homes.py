"""One home for each contract (homes.toml): a second copy is found by how it would look."""

import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from source_tree import Offence, SourceFile, Tree

TABLE = "tests/house/homes.toml"
Homes = dict[str, dict[str, Any]]


def read_homes() -> Homes:
    text = (Path(__file__).resolve().parent / "homes.toml").read_text(encoding="utf-8")
    contracts: Homes = tomllib.loads(text)["contract"]
    for name, row in contracts.items():
        unknown = set(row) - {"home", "copies", "mend", "files", "besides"}
        assert not unknown, f"{TABLE}: contract '{name}' has unknown keys {sorted(unknown)}"
    return contracts


def _is_asked(file: SourceFile, row: dict[str, Any]) -> bool:
    if "files" in row:
        return any(fnmatch(file.path, pattern) for pattern in row["files"])
    return file.name.endswith((".h", ".cc")) and not file.is_testing and not file.path.startswith("tests/")


def second_copies(tree: Tree, homes: Homes) -> Iterator[Offence]:
    for name, row in homes.items():
        copies = re.compile("|".join(f"(?:{pattern})" for pattern in row["copies"]), re.MULTILINE)
        for file in tree.files.values():
            if not _is_asked(file, row) or any(fnmatch(file.path, home) for home in row["home"]):
                continue
            if file.path in row.get("besides", {}):
                continue
            if copy := copies.search(file.without_comments):  # one of a file: it is the file that has to be mended
                number = file.without_comments.count("\n", 0, copy.start()) + 1
                line = file.lines[number - 1].strip()[:80]
                what = f"{name}: a second copy beside {', '.join(row['home'])}: {line}"
                yield Offence("home", file.path, number, what, row["mend"])


def stale_entries(tree: Tree, homes: Homes) -> Iterator[Offence]:
    """Every home is there and holds what it is the home of; every exception still matches."""
    for name, row in homes.items():
        for home in row["home"]:
            if not any(fnmatch(path, home) for path in tree.files):
                yield Offence("home", TABLE, 1, f"{name}: its home {home} is not there", "write the file that it is in")
        for path in row.get("besides", {}):
            text = tree.files[path].without_comments if path in tree.files else ""
            if not any(re.search(copy, text, re.MULTILINE) for copy in row["copies"]):
                yield Offence("home", TABLE, 1, f"{name}: {path} is no exception any more", "take the entry out")
