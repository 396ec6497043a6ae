"""The sources as the house's rules see them: every C++ file with its includes, and its code without words."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOP_FOLDERS = ("cli", "cmake", "deploy", "nodeagent", "proto", "scheduler", "sdk", "tests")
READ_SUFFIXES = (".h", ".cc", ".cmake", ".py", ".proto", ".toml")
READ_NAMES = ("CMakeLists.txt", "README.md")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# In this order: what begins first wins.
WORDS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]{0,16})\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|' r"(?<![0-9A-Za-z_])'(?:[^'\\\n]|\\.)+'",
    re.DOTALL,
)


@dataclass(frozen=True)
class Offence:
    """One broken rule. `what` names no line, so that a known one is found again when lines move."""

    rule: str
    file: str
    line: int
    what: str
    mend: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.what}\n    {self.mend}"


@dataclass(frozen=True)
class Include:
    line: int
    name: str
    quoted: bool


def _blank(match: re.Match[str]) -> str:
    text = match.group(0)
    quote = '""' if text[0] in '"R' else "' '" if text[0] == "'" else ""
    return quote + "\n" * text.count("\n")


class SourceFile:
    def __init__(self, path: str, text: str):
        self.path = path
        self.text = text
        self.folder, _, self.name = path.rpartition("/")

    @property
    def unit(self) -> str:
        """A header and the source of its name are one unit."""
        return re.sub(r"\.(h|cc)$", "", self.path)

    @property
    def is_test(self) -> bool:
        return self.name.endswith("_test.cc")

    @property
    def is_testing(self) -> bool:
        """A test, or what tests alone may use."""
        return self.is_test or "testing" in self.folder.split("/")

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def includes(self) -> list[Include]:
        found = []
        for number, line in enumerate(self.lines, 1):
            if "#" in line and (match := INCLUDE.match(line)):
                found.append(Include(number, match[2], match[1] == '"'))
        return found

    @cached_property
    def without_comments(self) -> str:
        """Roughly: whatever follows a comment's mark is gone. The lines keep their numbers."""
        return re.sub(r"(?:^|(?<=\s))(?:#|//)[^\n]*" if self.name.endswith(".py") else r"//[^\n]*", "", self.text)

    @cached_property
    def code(self) -> str:
        """Without comments and with empty strings; the lines keep their numbers. Includes are left out, too."""
        without_words = WORDS.sub(_blank, self.text)
        return re.sub(r"^[ \t]*#[ \t]*include[^\n]*", "", without_words, flags=re.MULTILINE)


class Tree:
    """Files by path. `with_file` makes a copy in which one file is another: for the tests of the rules."""

    def __init__(self, files: dict[str, SourceFile]):
        self.files = files

    @staticmethod
    def read(root: Path = ROOT) -> "Tree":
        files = {}
        for top in TOP_FOLDERS:
            for path in sorted((root / top).rglob("*")):
                wanted = path.suffix in READ_SUFFIXES or path.name in READ_NAMES
                if wanted and path.is_file() and "__pycache__" not in path.parts:
                    name = path.relative_to(root).as_posix()
                    files[name] = SourceFile(name, path.read_text(encoding="utf-8"))
        for name in ("CMakeLists.txt", "README.md"):
            if (root / name).is_file():
                files[name] = SourceFile(name, (root / name).read_text(encoding="utf-8"))
        return Tree(files)

    def with_file(self, path: str, text: str) -> "Tree":
        return Tree({**self.files, path: SourceFile(path, text)})

    def with_line(self, path: str, line: str) -> "Tree":
        """The file with one line more, after its includes' first: where a wrong include would be written."""
        lines = list(self.files[path].lines)
        at = self.files[path].includes[0].line if self.files[path].includes else 0
        return self.with_file(path, "\n".join(lines[:at] + [line] + lines[at:]))

    def replaced(self, path: str, old: str, new: str) -> "Tree":
        text = self.files[path].text
        assert old in text, f"{path} has no {old!r} any more: mend this test"
        return self.with_file(path, text.replace(old, new))

    def without(self, path: str) -> "Tree":
        return Tree({name: file for name, file in self.files.items() if name != path})

    @cached_property
    def cpp(self) -> list[SourceFile]:
        return [file for file in self.files.values() if file.name.endswith((".h", ".cc"))]

    def text(self, path: str) -> str:
        return self.files[path].text


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected parts of more than one node, each sorted."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(start: str) -> None:
        open_nodes = [(start, iter(sorted(graph.get(start, ()))))]
        index[start] = low[start] = len(index)
        stack.append(start)
        while open_nodes:
            node, rest = open_nodes[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    open_nodes.append((other, iter(sorted(graph.get(other, ())))))
                    break
                if other in stack:
                    low[node] = min(low[node], index[other])
            else:
                open_nodes.pop()
                if open_nodes:
                    low[open_nodes[-1][0]] = min(low[open_nodes[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    if len(stack) - at > 1:
                        found.append(sorted(stack[at:]))
                    del stack[at:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)
