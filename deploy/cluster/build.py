"""Builds what the story needs."""

import os
import re

from .commands import StepFailed, run_logged
from .processes import tail
from .progress import read_ninja

CONFIGURE = ("cmake", "--preset", "release")
BUILD = ("cmake", "--build", "--preset", "release", "--target", "glim_quickstart")
LINES = 20


def first_failure(text):
    """(what could not be made, the lines that say why) of ninja's output; None if that tells of no failed edge. Others
    may fail beside it; what failed first is what one mends first."""
    lines = iter(text.splitlines())
    target = next((line.partition(": ")[2].strip() for line in lines if line.startswith("FAILED: ")), None)
    if target is None:
        return None
    next(lines, None)  # the command
    said = []
    for line in lines:
        if read_ninja(line) or line.startswith(("FAILED: ", "ninja: ")):
            break
        said.append(line)
    begin = next((number for number, line in enumerate(said) if re.search(r"\berror\b", line)), 0)
    return target, said[begin : begin + LINES]


def failure_words(argv, code, log):
    """What a person needs who sees that it failed."""
    with open(log, errors="replace") as file:
        text = file.read()
    failure = first_failure(text)
    what, said = failure or ("", tail(log, LINES).splitlines())
    words = [f"`{' '.join(argv)}` failed (exit code {code})" + (f" at {what}:" if what else ":")]
    words += [f"    {line}" for line in said]
    if re.search(r"Killed signal terminated program|virtual memory exhausted|Cannot allocate memory", text):
        words.append("The machine has too little memory for compilers beside each other: try it again with")
        words.append("    CMAKE_BUILD_PARALLEL_LEVEL=1 deploy/quickstart")
    elif "No space left on device" in text:
        words.append("The disk is full: make room where the folder `build` is")
    words.append(f"All that was said is in {log}")
    return "\n".join(words)


def build(root, log, note=lambda reading: None):
    """Configures the release preset and builds what the story needs. `note` gets how far it is. Raises StepFailed."""
    env = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    for argv in (CONFIGURE, BUILD):

        def hear(line):
            reading = read_ninja(line)
            if reading:
                note(reading)

        code = run_logged(argv, log, cwd=root, env=env, on_line=hear)
        if code != 0:
            raise StepFailed(failure_words(argv, code, log))
