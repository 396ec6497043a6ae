"""layers.toml as Python sees it, checked: the one table that every rule asks."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from source_tree import SourceFile

HERE = Path(__file__).resolve().parent
EVERYONES = "sdk/base"
EVERY_TESTS = ("gtest", "json")


@dataclass(frozen=True)
class Room:
    name: str
    order: int
    what: str
    uses: tuple[str, ...]
    libraries: tuple[str, ...]
    tests: tuple[str, ...]
    pure: bool


class FloorPlan:
    def __init__(self, table: dict[str, Any]):
        self.table = table
        self.rooms: dict[str, Room] = {}
        for order, (name, row) in enumerate(table["room"].items()):
            unknown = set(row) - {"what", "uses", "libraries", "tests", "pure"}
            assert not unknown, f"layers.toml: room {name} has unknown keys {sorted(unknown)}"
            uses, libraries, tests = tuple(row["uses"]), tuple(row["libraries"]), tuple(row.get("tests", ()))
            self.rooms[name] = Room(name, order, row["what"], uses, libraries, tests, row.get("pure", False))

    @staticmethod
    def read() -> "FloorPlan":
        return FloorPlan(tomllib.loads((HERE / "layers.toml").read_text(encoding="utf-8")))

    def room_of(self, file: SourceFile) -> str:
        """The folder; for ROOM/testing, where that is no room of its own, ROOM."""
        if file.folder in self.rooms or not file.folder.endswith("/testing"):
            return file.folder
        return file.folder.removesuffix("/testing")

    def reached(self, name: str) -> set[str]:
        """What the room uses, directly or through others, and itself."""
        found: set[str] = set()
        pending = [name]
        while pending:
            room = pending.pop()
            if room in found:
                continue
            found.add(room)
            if room in self.rooms:
                pending += [self.base_of(used) for used in self.rooms[room].uses]
        return found

    def base_of(self, used: str) -> str:
        """`used` may name a room or its testing folder."""
        return used if used in self.rooms else used.removesuffix("/testing")

    def library_of(self, header: str) -> str | None:
        """The library of others that a header is of; None: of the C++ library or the system, or unknown."""
        for name, row in self.table["library"].items():
            for begin in row["headers"]:
                if "*" in begin:
                    pattern = re.escape(begin).replace(r"\*", "[a-z_]+")
                    if re.fullmatch(pattern, header):
                        return str(name)
                elif header == begin or (begin.endswith("/") and header.startswith(begin)):
                    return str(name)
        return None

    def is_system(self, header: str) -> bool:
        system = self.table["system"]
        if re.fullmatch(r"[a-z_]+", header):  # a header of the C++ library
            return True
        return header in system["headers"] or header.startswith(tuple(system["folders"]))
