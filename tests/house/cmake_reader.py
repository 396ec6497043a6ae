"""Targets of the CMakeLists, read well enough to know each one's sources and links.

What our files use of CMake is played: set, list, file(GLOB), foreach(IN ITEMS), functions with cmake_parse_arguments.
Both branches of an if() count, as if every optional library were there; branches of sanitized builds do not.
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch

from source_tree import Tree

TOKEN = re.compile(
    r'\s+|#[^\n]*|(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<paren>[()])|(?P<bare>(?:\$<[^\n]*?>(?=[\s)])|[^\s()"#])+)'
)
SCOPES = {"PUBLIC", "PRIVATE", "INTERFACE"}
KINDS = {"STATIC", "SHARED", "MODULE", "OBJECT", "INTERFACE", "EXCLUDE_FROM_ALL", "NO_EXTRAS"}
DECLARES = {
    "glim_library": "library",
    "add_library": "library",
    "glim_program": "program",
    "add_executable": "program",
    "pybind11_add_module": "module",
    "glim_test": "test",
    "glim_shared_or_static": "alias",  # libraries of others under a name of ours
}
KEYWORDS = ("SOURCES", "LINKS", "LABEL", "APART", "NOT_SANITIZED", "RUNS", "INSTEAD")


@dataclass
class Target:
    name: str
    kind: str
    path: str  # of the CMakeLists.txt
    line: int
    sources: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    @property
    def folder(self) -> str:
        return posixpath.dirname(self.path)


@dataclass
class Command:
    name: str
    line: int
    args: list[str]
    quoted: list[bool]


def commands(text: str) -> Iterator[Command]:
    at, line, depth = 0, 1, 0
    name, current = "", Command("", 0, [], [])
    while at < len(text):
        match = TOKEN.match(text, at)
        assert match, f"cannot read {text[at:at + 40]!r} in line {line}"
        token = match[0]
        if match["paren"] == "(":
            depth += 1
            if depth == 1:
                current = Command(name.lower(), line, [], [])
        elif match["paren"] == ")":
            depth -= 1
            if depth == 0:
                yield current
        elif match["bare"] and depth == 0:
            name = token
        elif match["bare"] or match["quoted"]:
            current.args.append(token[1:-1] if match["quoted"] else token)
            current.quoted.append(bool(match["quoted"]))
        line += token.count("\n")
        at = match.end()


class Reader:
    def __init__(self, tree: Tree):
        self.tree = tree
        self.targets: dict[str, Target] = {}
        self.functions: dict[str, tuple[list[str], list[Command]]] = {}
        self.path = ""
        self.read_folder("", {})

    @property
    def folder(self) -> str:
        return posixpath.dirname(self.path)

    def read_folder(self, folder: str, env: dict[str, list[str]]) -> None:
        before, self.path = self.path, posixpath.join(folder, "CMakeLists.txt")
        if self.path in self.tree.files:
            self.play(list(commands(self.tree.text(self.path))), dict(env))
        self.path = before

    def play(self, body: list[Command], env: dict[str, list[str]]) -> None:
        branches: list[bool] = []  # of each open if(): does its present branch count?
        at = 0
        while at < len(body):
            command = body[at]
            at += 1
            if command.name == "if":
                branches.append(not command.args[0].startswith("GLIM_SANITIZE"))
            elif command.name in ("elseif", "else"):
                branches[-1] = True
            elif command.name == "endif":
                branches.pop()
            elif command.name in ("foreach", "function"):
                end = self.end_of(body, at, command.name)
                if command.name == "function":
                    self.functions[command.args[0]] = (command.args[1:], body[at:end])
                elif all(branches):
                    self.repeat(command, body[at:end], env)
                at = end + 1
            elif all(branches):
                self.one(command, env, inside_if=bool(branches))

    @staticmethod
    def end_of(body: list[Command], at: int, name: str) -> int:
        depth = 1
        while depth:
            depth += {name: 1, "end" + name: -1}.get(body[at].name, 0)
            at += 1
        return at - 1

    def repeat(self, command: Command, body: list[Command], env: dict[str, list[str]]) -> None:
        variable, *items = self.expand(command, env)
        if items[:2] != ["IN", "LISTS"]:
            for item in items:
                if item not in ("IN", "ITEMS"):
                    env[variable] = [item]
                    self.play(body, env)

    def expand(self, command: Command, env: dict[str, list[str]]) -> list[str]:
        known = {"CMAKE_SOURCE_DIR": [""], "CMAKE_CURRENT_SOURCE_DIR": [self.folder], **env}
        result = []
        for arg, quoted in zip(command.args, command.quoted):
            whole = re.fullmatch(r"\$\{(\w+)\}", arg)
            if whole and not quoted and whole[1] in known:
                result += known[whole[1]]
            else:
                result.append(re.sub(r"\$\{(\w+)\}", lambda m: ";".join(known.get(m[1], [m[0]])), arg))
        return result

    def one(self, command: Command, env: dict[str, list[str]], inside_if: bool) -> None:
        args = self.expand(command, env)
        name = command.name
        if name == "set":
            env[args[0]] = (env.get(args[0], []) if inside_if else []) + args[1:]
        elif name == "list":
            self.change_list(args, env)
        elif name == "file" and args[0] == "GLOB":
            env[args[1]] = [path for pattern in args[2:] for path in self.glob(pattern)]
        elif name == "cmake_parse_arguments":
            self.parse_arguments(args, env)
        elif name == "add_subdirectory":
            self.read_folder(posixpath.join(self.folder, args[0]), env)
        elif name in DECLARES:
            self.declare(command, args)
        elif name == "target_link_libraries" and args[0] in self.targets:
            self.targets[args[0]].links += [link for link in args[1:] if link not in SCOPES]
        elif name == "target_sources" and args[0] in self.targets:
            self.targets[args[0]].sources += self.paths(args[1:])
        elif name in self.functions:
            parameters, body = self.functions[name]
            inner = {**env, **{key: [value] for key, value in zip(parameters, args)}, "ARGN": args[len(parameters) :]}
            self.play(body, inner)

    def change_list(self, args: list[str], env: dict[str, list[str]]) -> None:
        if args[0] == "APPEND":
            env[args[1]] = env.get(args[1], []) + args[2:]
        elif args[0] == "FILTER":
            keep = args[2] == "INCLUDE"
            pattern = re.compile(args[4].replace("\\\\", "\\"))
            env[args[1]] = [item for item in env.get(args[1], []) if bool(pattern.search(item)) == keep]

    def glob(self, pattern: str) -> list[str]:
        wanted = posixpath.normpath(posixpath.join(self.folder, pattern))
        depth = wanted.count("/")
        return sorted("/" + p for p in self.tree.files if p.count("/") == depth and fnmatch(p, wanted))

    @staticmethod
    def parse_arguments(args: list[str], env: dict[str, list[str]]) -> None:
        prefix, options, ones, many = args[0], *(words.split(";") for words in args[1:4])
        keys = {key for key in options + ones + many if key}
        for key in keys:
            env.pop(f"{prefix}_{key}", None)
        key = ""
        for word in args[4:]:
            if word in keys:
                key = word
                env.setdefault(f"{prefix}_{key}", [])
            elif key:
                env[f"{prefix}_{key}"].append(word)

    def declare(self, command: Command, args: list[str]) -> None:
        target = Target(args[0], DECLARES[command.name], self.path, command.line)
        self.targets[args[0]] = target
        into = target.links if target.kind == "alias" else target.sources
        for word in args[1:]:
            if word in KINDS:
                continue
            if word in KEYWORDS:
                into = target.links if word == "LINKS" else target.sources if word == "SOURCES" else []
            else:
                into.append(word)
        target.sources = self.paths(target.sources)

    def paths(self, sources: list[str]) -> list[str]:
        """From the root; what is made by the build and objects of other targets are left out."""
        found = []
        for source in sources:
            if "$" in source or source in SCOPES:
                continue
            found.append(source[1:] if source[0] == "/" else posixpath.normpath(posixpath.join(self.folder, source)))
        return found
