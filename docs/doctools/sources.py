"""What the sources say that there is: keys, words, reasons. Pages are held against it."""

import re
from collections import defaultdict
from functools import lru_cache

from .page import ROOT

ENUM_WORDS = "scheduler/core/model/enum_words.h"
SPEC_KEYS = "scheduler/jobfile/spec_keys.cc"
POLICY = "scheduler/policy"
POLICY_ROWS = "scheduler/core/model/policy_keys.cc"
ROOMS = {  # where a refusal comes from, in a reader's words; the longest that fits
    "cli": "`glim`",
    "cli/doctor": "`glim doctor`",
    "cli/simulate": "`glim admin sched simulate`",
    "nodeagent": "agent",
    "nodeagent/programs": "a task's helpers",
    "proto": "HTTP",
    "scheduler": "scheduler",
    "scheduler/gateway": "HTTP",
    "scheduler/notify": "notifications",
    "scheduler/sim": "`glim-sim`",
    "scheduler/store": "store",
    "sdk": "SDK",
    "sdk/base": "all programs",
    "sdk/checkpoint": "checkpoints",
    "sdk/checkpoint/replica": "replicas",
    "sdk/https": "scheduler, `glim`",
    "sdk/pki": "certificates",
}
CALLS = re.compile(r"\b(?:WithReason|ErrorAnswer|PermissionDenied|Unauthenticated|Denied|Deny|Refuse|Refused)\(")
REASON = re.compile(r'"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)"')


def read(path, root=ROOT):
    return (root / path).read_text(encoding="utf-8")


@lru_cache(maxsize=None)
def production(root=ROOT):
    """The C++ sources, tests and what only tests use left out: (path, text)."""
    found = []
    for top in ("cli", "nodeagent", "proto", "scheduler", "sdk"):
        for path in sorted((root / top).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix in (".cc", ".h") and not name.endswith("_test.cc") and "/testing/" not in name:
                found.append((name, re.sub(r"^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)))
    return found


@lru_cache(maxsize=None)
def words_of_cmake(root=ROOT):
    tops = ("cli", "nodeagent", "proto", "scheduler", "sdk", "tests")
    files = [path for top in tops for path in (root / top).rglob("CMakeLists.txt")]
    return {word for path in files for word in re.findall(r"[\w-]+", path.read_text(encoding="utf-8"))}


@lru_cache(maxsize=None)
def wings_of_tests(root=ROOT):
    """The names that cmake/test_wings.cmake gives the programs of tests in the preset release, "_server" left out."""
    found = re.search(r"set\(wings ([^)]*?) \"", read("cmake/test_wings.cmake", root))
    assert found, "cmake/test_wings.cmake has no list of wings any more: mend docs/doctools/sources.py"
    return {
        folder.rpartition("/")[2] + "_tests" for folder in [*found[1].split(), "cli", "nodeagent", "scheduler", "sdk"]
    }


def is_target(name, root=ROOT):
    """A room's test is named after the room, and a wing's after the wing."""
    words = words_of_cmake(root)
    wing = name.replace("_server_tests", "_tests")
    return name in words or "glim_" + name.removesuffix("_test") in words or wing in wings_of_tests(root)


def enum_words(enum, root=ROOT):
    """The words of an enumeration of the core, in its order; the empty one left out."""
    text = read(ENUM_WORDS, root)
    found = re.search(rf"kEnumWords<{enum}> = std::to_array.*?\(\{{(.*?)\}}\);", text, re.DOTALL)
    assert found, f"{ENUM_WORDS} has no words of {enum} any more: mend docs/doctools/sources.py"
    return [word for word in re.findall(r'"(\w*)"', found[1]) if word]


def spec_keys(root=ROOT):
    """Paths of the job spec's keys, as pages write them: "placement.zones", "mounts.source"."""
    text = read(SPEC_KEYS, root)
    tables = dict(re.findall(r"constexpr SpecKey (k\w+)\[\] = \{(.*?)\};", text, re.DOTALL))
    sections = re.search(r"constexpr SpecSection kSections\[\] = \{(.*?)\};", text, re.DOTALL)
    assert sections and tables, f"{SPEC_KEYS} has no tables of keys any more: mend docs/doctools/sources.py"
    found = []
    for section, table in re.findall(r'\{"([\w\[\]]*)", (k\w+)\}', sections[1]):
        head = section.removesuffix("[]")
        for key, kind in re.findall(r'\{"(\w+)"(?:, (k\w+))?', tables[table]):
            if kind != "kRefused":
                found.append(f"{head}.{key}" if head else key)
    return found


def policy_keys(root=ROOT):
    """Every key that a policy file may have, by its own name."""
    found = set()
    for path in sorted((root / POLICY).glob("policy_*.cc")):
        if not path.name.endswith("_test.cc"):
            text = path.read_text(encoding="utf-8")
            found |= set(re.findall(r'\{"([a-z_]+)",\s*(?:yaml::)?(?:Into|into|ReadMap|\[)', text))
    rows = (root / POLICY_ROWS).read_text(encoding="utf-8")
    found |= set(re.findall(r'\b(?:Row|Time|Count|Permille|SpecBytes)\(k[A-Za-z]+, "([a-z_]+)"', rows))
    assert len(found) > 50, "the policy's tables of keys are not found: mend docs/doctools/sources.py"
    return sorted(found)


def inside(text, at):
    """What stands in the brackets that were opened just before `at`."""
    depth, begin, quoted = 1, at, False
    while depth and at < len(text):
        sign = text[at]
        if quoted:
            at += sign == "\\"
            quoted = sign != '"'
        elif sign == '"':
            quoted = True
        else:
            depth += (sign in "({") - (sign in ")}")
        at += 1
    return text[begin : at - 1]


@lru_cache(maxsize=None)
def reasons(root=ROOT):
    """{reason: rooms it comes from}"""
    found = defaultdict(set)
    for name, text in production(root):
        for call in CALLS.finditer(text):
            words = REASON.findall(inside(text, call.end()))
            for word in words if call[0] == "WithReason(" else words[:1]:
                if len(word) > 2:
                    found[word].add(room_of(name))
    return {reason: sorted(rooms) for reason, rooms in sorted(found.items())}


def room_of(path):
    fitting = [room for room in ROOMS if path.startswith(room + "/")]
    return ROOMS[max(fitting, key=len)]
