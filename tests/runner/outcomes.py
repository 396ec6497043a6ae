"""What a job came to: the cases of its JUnit file, and what went wrong that is no failed case."""

import os
import re
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field

from count_results import ended_badly

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Words of a crash, of a sanitizer, of a broken invariant: chance explains none of them.
CRASH = re.compile(
    r"CHECK failed: |(Address|Leak|Memory|Thread|UndefinedBehavior)Sanitizer|: runtime error: |terminate called"
    r"|Segmentation fault|\bAborted\b|core dumped|Fatal Python error|SIG(SEGV|ABRT|BUS|ILL|FPE)\b"
    r"|exit (?:code|status) -(?:4|6|7|8|11)\b|node down: |crashed while running|VIOLATION"
)


@dataclass
class Failed:
    """A case that failed. `name`: as tests/unsteady.md has it. `source`: the file that the test is defined in, or
    None. `text`: what was said while it ran."""

    name: str
    element: xml.Element
    source: str
    text: str
    job: object


@dataclass
class Outcome:
    """`faults`: why the job failed beside its cases; no case explains them."""

    suites: list = field(default_factory=list)
    failed: list = field(default_factory=list)
    faults: list = field(default_factory=list)

    @property
    def well(self):
        return not self.failed and not self.faults


def read(job, ended):
    """The Outcome of a job that has ended."""
    if job.kind == "command":
        return _of_command(job, ended)
    suites = _suites(job.report)
    elements = [case for suite in suites for case in suite.iter("testcase")]
    failed = [_failed(job, case, ended.said) for case in elements if ended_badly(case)]
    outcome = Outcome(suites, failed)
    # 1: cases failed. Any other code is a fault, whatever the cases say, and so is a 1 that no case explains.
    if ended.code != (1 if failed else 0) and not (job.kind == "ctest" and failed):
        outcome.faults.append(f"{job.name} {_ending(job, ended)}")
    return outcome


def _suites(report):
    try:
        root = xml.parse(report).getroot()
    except (OSError, xml.ParseError):
        return []
    return [root] if root.tag == "testsuite" else list(root)


def _of_command(job, ended):
    suite = xml.Element("testsuite", name=job.part)
    case = xml.SubElement(suite, "testcase", classname=job.part, name=job.name)
    if ended.code == 0:
        return Outcome([suite])
    xml.SubElement(case, "failure", message=_ending(job, ended))
    return Outcome([suite], [Failed(job.name, case, None, ended.said, job)])


def _ending(job, ended):
    how = f"was killed after {job.limit_s:.0f} s" if ended.code is None else f"ended with {ended.code}"
    return f"{how} in {last_begun(ended.said)}" if job.kind == "gtest" else how


def last_begun(said):
    """The case of GoogleTest's that began and did not end."""
    begun = [line[12:].strip() for line in said.splitlines() if line.startswith("[ RUN      ]")]
    return begun[-1] if begun else "no case"


def _failed(job, case, said):
    suite, name = case.get("classname") or "", case.get("name") or ""
    file = case.get("file")
    source = os.path.relpath(os.path.join(ROOT, file), ROOT) if file else None
    if job.kind == "pytest":
        full = node_id(source, suite, name)
        return Failed(full, case, source, pytest_block(said, name), job)
    full = f"{suite}.{name}" if job.kind == "gtest" else f"{suite} {name}".strip()
    return Failed(full, case, source, gtest_block(said, full), job)


def node_id(source, suite, name):
    """tests/e2e/test_a.py::TestClass::test_b[c]; pytest's report has the file, and as its class the file and the class
    with dots."""
    if source is None:
        return f"{suite}::{name}"
    classes = suite[len(source[:-3]) + 1 :]
    return "::".join([source, *filter(None, classes.split(".")), name])


def gtest_block(said, full):
    """From a case's first line to its last."""
    lines = said.splitlines()
    begun = [at for at, line in enumerate(lines) if line.startswith("[ RUN      ]") and line[12:].strip() == full]
    if not begun:
        return ""
    ends = [at for at, line in enumerate(lines) if at > begun[0] and line.startswith("[  FAILED  ]")]
    return "\n".join(lines[begun[0] : ends[0] + 1 if ends else len(lines)])


HEADING = re.compile(r"^(?:_{3,} (?P<case>.+) _{3,}|=+ .+ =+)$")


def pytest_block(said, name):
    """What pytest says of a case: below each heading with its name, or with a class before it, or "ERROR at teardown
    of". Cases of one name in two modules are not told apart."""
    lines, on = [], False
    for line in said.splitlines():
        heading = HEADING.match(line)
        if heading:
            case = heading["case"] or ""
            on = case == name or case.endswith((f".{name}", f" {name}"))
        if on:
            lines.append(line)
    return "\n".join(lines)


def failures_of(said):
    """Of a long output of GoogleTest's: the cases that failed, whole, and the last lines."""
    kept, block = [], []
    for line in said.splitlines():
        if line.startswith("[ RUN      ]"):
            block = []
        block.append(line)
        if line.startswith("[  FAILED  ]") and len(block) > 1:
            kept += block[-200:]
            block = []
    return "\n".join(kept + ["..."] + said.splitlines()[-20:])
