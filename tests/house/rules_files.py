"""What one file may hold: pure code where the room is pure, and no more than somebody can read at once."""

import re
from collections.abc import Iterator

from floor_plan import FloorPlan
from source_tree import Offence, SourceFile, Tree

TABLE = "tests/house/layers.toml"


def pure(tree: Tree, plan: FloorPlan) -> Iterator[Offence]:
    """Pure rooms have no clock, I/O, threads, randomness, environment or wire types, and no library of others."""
    table = plan.table["pure"]
    calls = [(name, re.compile(rf"(?:^|[^A-Za-z0-9_.>]){name}\s*\(", re.MULTILINE)) for name in table["calls"]]
    for file in tree.cpp:
        room = plan.rooms.get(plan.room_of(file))
        if room is None or not room.pure or file.is_testing:
            continue
        may = set(table["exceptions"].get(file.path, {}).get("may", ()))
        mend = f"hand the value in from outside: {room.name} is pure ([pure] in {TABLE})"
        for include in file.includes:
            if include.name in tree.files:
                other = plan.rooms.get(plan.room_of(tree.files[include.name]))
                if other and not other.pure:
                    what = f"pure code includes {include.name} of {other.name}, which is not"
                    yield Offence("pure", file.path, include.line, what, mend)
            elif include.name not in table["headers"] and f"<{include.name}>" not in may:
                yield Offence("pure", file.path, include.line, f"pure code includes {include.name}", mend)
        for word in table["words"]:
            at = file.code.find(word)
            if at >= 0 and word not in may:
                yield Offence("pure", file.path, _line(file, at), f"pure code uses {word}", mend)
        for name, call in calls:
            if name not in may and (found := call.search(file.code)):
                yield Offence("pure", file.path, _line(file, found.end()), f"pure code calls {name}", mend)


def _line(file: SourceFile, at: int) -> int:
    return file.code.count("\n", 0, at) + 1


def lengths(tree: Tree, plan: FloorPlan) -> Iterator[Offence]:
    sizes = plan.table["sizes"]
    for file in tree.cpp:
        lines = file.text.count("\n")
        if lines > sizes["file_lines_max"]:
            what = f"has {lines} lines, more than {sizes['file_lines_max']}"
            yield Offence("file length", file.path, lines, what, "it has two subjects: give the second a file of its own")
        for name, begin, length in functions(file):
            if length > sizes["function_lines_max"]:
                what = f"{name} has {length} lines, more than {sizes['function_lines_max']}"
                yield Offence("function length", file.path, begin, what, "name its parts and make them functions")
    for file in tree.files.values():
        if not file.name.endswith((".h", ".cc", ".cmake", "CMakeLists.txt", ".proto")):
            continue  # black and flake8 see to Python
        for number, text in enumerate(file.lines, 1):
            if len(text) > sizes["columns_max"]:
                what = f"a line of {len(text)} columns: {text.strip()[:60]}"
                yield Offence("columns", file.path, number, what, f"break it: {sizes['columns_max']} at most")


OUTER = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
NAME = re.compile(r"([A-Za-z_~][\w:~]*|operator\s*\S+?)\s*\(")


def functions(file: SourceFile) -> Iterator[tuple[str, int, int]]:
    """Name, first line and number of lines of every function that is defined in the file, lambdas not apart."""
    code = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.)*(?:\\\n[^\n]*)*", _keep_lines, file.code, flags=re.MULTILINE)
    stack: list[tuple[str, str, int]] = []  # kind, name, first line
    head_begin, line, head_line = 0, 1, 1
    for at, sign in enumerate(code):
        if sign == "\n":
            line += 1
            if not code[head_begin:at].strip():
                head_line = line
        elif sign == ";" and _is_outer(stack):
            head_begin, head_line = at + 1, line
        elif sign == "{":
            head = code[head_begin:at]
            if not _is_outer(stack):
                kind, name = "inner", ""
            elif "(" in head and not code[at - 1].isspace():
                kind, name = "initialiser", ""  # of a member, before a constructor's body
            else:
                kind, name = _kind(head)
            stack.append((kind, name, head_line))
            if kind == "outer":
                head_begin, head_line = at + 1, line
        elif sign == "}" and stack:
            kind, name, begin = stack.pop()
            if kind == "function":
                yield name, begin, line - begin + 1
            if kind in ("function", "outer", "data") and _is_outer(stack):
                head_begin, head_line = at + 1, line


def _keep_lines(match: re.Match[str]) -> str:
    return "\n" * match.group(0).count("\n")


def _is_outer(stack: list[tuple[str, str, int]]) -> bool:
    return not stack or stack[-1][0] == "outer"


def _kind(head: str) -> tuple[str, str]:
    head = re.sub(r"\b(public|private|protected)\s*:", "", head).strip()
    name = NAME.search(head)
    if name and not re.search(r"(?<![=!<>])=(?!=)[^(]*$", head.split("(")[0]):
        return "function", name[1]
    return ("outer", "") if OUTER.search(head) else ("data", "")


RULES = (pure, lengths)
