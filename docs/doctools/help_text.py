"""The programs' own words: what --help says, as data. The command line's reference and its manual pages are made of
it, so that all three say the same."""

import re
import subprocess
from dataclasses import dataclass, field
from functools import lru_cache

# Option, what it takes, and what the parser adds: "-o,--output TEXT [table]", "--gpus UINT:INT in [0 - 64]=0".
OPTION = re.compile(r"^(?P<names>(?:-{1,2}[\w-]+)(?:,-{1,2}[\w-]+)*)(?: (?P<takes>.*?))?(?P<needed> REQUIRED)?$")


@dataclass
class Option:
    names: list
    takes: str  # empty: nothing
    help: str


@dataclass
class Command:
    words: str  # "glim admin node"
    about: str
    usage: str
    positionals: list
    options: list
    commands: list = field(default_factory=list)  # Command
    aliases: list = field(default_factory=list)
    examples: list = field(default_factory=list)
    notes: str = ""

    def names_of_options(self):
        return [name for one in self.options for name in one.names]

    def walk(self):
        yield self
        for one in self.commands:
            yield from one.walk()


VALUES = {
    "after": "WHEN",
    "as": "USER",
    "at": "WHEN",
    "before": "WHEN",
    "ca": "FILE",
    "deadline": "DURATION",
    "for": "DURATION",
    "gpus": "N",
    "gpus-per-node": "N",
    "grace": "DURATION",
    "grep": "TEXT",
    "limit": "N",
    "nodes": "N",
    "output": "FORMAT",
    "reason": "TEXT",
    "server": "HOST:PORT",
    "since": "WHEN",
    "timeout": "DURATION",
    "until": "WHEN",
}
LEFT = 30  # columns; the right one is in the next line where the left needs more


def entries(lines):
    """(left, right) of each row of a section."""
    found = []
    for at, line in enumerate(lines):
        goes_on = lines[at + 1 : at + 2] and lines[at + 1].startswith(" " * LEFT)
        if line.startswith(" " * LEFT) and found:
            found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
        elif len(line) <= LEFT or line[LEFT - 1] != " " or goes_on:
            found.append([line.strip(), ""])
        else:
            found.append([line[:LEFT].strip(), line[LEFT:].strip()])
    return [tuple(row) for row in found]


def read_option(left, right):
    found = OPTION.match(left)
    names, takes = found["names"].split(","), found["takes"] or ""
    usual = re.search(r"=(\S+)$", takes)
    takes = re.sub(r"=\S+$", "", takes)
    words = re.sub(r"^(?:TEXT|UINT|INT|FLOAT)\b(?::.*)?", value_of(names[-1]), takes).strip()
    bounds = re.search(r"in \[(-?\d+) - (-?\d+)\]", takes)
    told = right
    if bounds and f"{bounds[1]} to {bounds[2]}" not in right:
        told += f"; {bounds[1]} to {bounds[2]}"
    if usual and f"({usual[1]}" not in right:
        told += f" ({usual[1]})"
    if found["needed"]:
        told += " (has to be given)"
    return Option(names, words, told.strip("; "))


def value_of(name):
    """What stands for an option's word: the help's TEXT tells nobody anything."""
    last = name.lstrip("-").split("-")[-1]
    return VALUES.get(name.lstrip("-"), VALUES.get(last, last.upper()))


def read_help(words, text):
    lines = text.replace("\r", "").split("\n")
    usage_at = next(at for at, line in enumerate(lines) if line.startswith("Usage: "))
    usage = re.sub(r"^Usage: (?:\S*/)?(?:glim[\w-]*)", words.split()[0], lines[usage_at])
    sections, name, notes = {}, None, []
    for line in lines[usage_at + 1 :]:
        if re.fullmatch(r"[A-Z][\w ()-]*:", line):
            name = line[:-1]
            sections[name] = []
        elif line.startswith("  ") and name:
            sections[name].append(line)
        elif line.strip():
            name = None
            notes.append(line.strip())
    command = Command(words, " ".join(lines[:usage_at]).strip(), usage, [], [], notes="\n".join(notes))
    for left, right in entries(sections.get("Positionals", [])):
        name, _, takes = left.partition(" ")
        more = " ..." if "..." in takes else ""
        command.positionals.append(Option([name + more], "", right))
    command.options = [read_option(*row) for row in entries(sections.get("Options", []))]
    command.options = [one for one in command.options if "--help" not in one.names]
    for key in ("Example", "Examples"):
        command.examples += [line.strip() for line in sections.get(key, [])]
    below = entries(sections.get("Subcommands", []))
    return command, [(left.split(", ")[0], left.split(", ")[1:]) for left, _ in below]


@lru_cache(maxsize=None)
def ask(program, words=(), depth=0):
    """The command with all commands below it, as the program itself tells."""
    name = program.name
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, f"{name} {' '.join(words)} --help: {done.stderr}"
    command, below = read_help(" ".join([name, *words]), done.stdout)
    for word, aliases in below if depth < 4 else []:
        command.commands.append(ask(program, (*words, word), depth + 1))
        command.commands[-1].aliases = aliases
    return command
