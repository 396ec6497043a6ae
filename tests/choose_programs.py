"""Which test programs a run under the sanitizers takes, the most telling first.

    choose_programs.py PRESET LABEL... [--base REF] [--share K/N]      prints "NAME WHY" lines

WHY is "differs": a source of the program, or one that it reaches by includes (of a header, its source too), is not what
it was at REF. Or "share": one of every N of the others, which rotates with K. What is neither is not printed. If REF
(default: $GLIM_CI_BASE, else HEAD~1) is unknown, everything differs. Pure reading of the sources: nothing has to be
built.
"""

import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def changed_files(base):
    """Relative paths; None if `base` is unknown."""
    said = subprocess.run(["git", "-C", ROOT, "diff", "--name-only", base, "--"], capture_output=True, text=True)
    return set(said.stdout.split()) if said.returncode == 0 else None


def includes_of(path, known={}):
    if path not in known:
        try:
            with open(os.path.join(ROOT, path), errors="replace") as file:
                known[path] = INCLUDE.findall(file.read())
        except OSError:
            known[path] = []
    return known[path]


def reach(sources):
    """The sources, all that they include, and the source beside each header of ours."""
    seen, pending = set(), list(sources)
    while pending:
        path = pending.pop()
        if path in seen or not os.path.exists(os.path.join(ROOT, path)):
            continue
        seen.add(path)
        pending += includes_of(path)
        if path.endswith(".h"):
            pending.append(path[:-2] + ".cc")
    return seen


def reaches(sources, changed):
    """Whether a change is in what they reach. A source without a header of its name is a part of its folder's
    others."""
    reached = reach(sources)
    if reached & changed:
        return True
    folders = {os.path.dirname(path) for path in reached}
    parts = [
        path
        for path in changed
        if path.endswith(".cc")
        and not path.endswith("_test.cc")
        and not os.path.exists(os.path.join(ROOT, path[:-3] + ".h"))
    ]
    return any(os.path.dirname(path) in folders for path in parts)


def choose(tests, changed, share):
    """[(name, why)]; tests: [(name, sources)]. Those whose own folder changed come before those that only reach a
    change."""
    near, far, share_of_rest = [], [], []
    at, every = share
    rest = []
    for name, sources in tests:
        if changed is None or reaches(sources, changed):
            folders = {os.path.dirname(source) for source in sources}
            own = changed is not None and any(os.path.dirname(path) in folders for path in changed)
            (near if own else far).append((name, "differs"))
        else:
            rest.append(name)
    # Where everything differs and time is short, another part comes first each time.
    turn = at % max(1, len(far))
    far = far[turn:] + far[:turn]
    share_of_rest = [(name, "share") for index, name in enumerate(rest) if index % every == at % every]
    return near + far + share_of_rest


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("preset")
    parser.add_argument("labels", nargs="+")
    parser.add_argument("--base", default=os.environ.get("GLIM_CI_BASE") or "HEAD~1")
    parser.add_argument("--share", default="0/4")
    words = parser.parse_args()
    at, every = (int(number) for number in words.share.split("/"))
    tests = []
    with open(os.path.join(ROOT, "build", words.preset, "tests.txt")) as file:
        for line in file:
            name, label, *sources = line.split()
            if label in words.labels:
                tests.append((name, [os.path.relpath(source, ROOT) for source in sources]))
    for name, why in choose(tests, changed_files(words.base), (at, every)):
        print(name, why)


if __name__ == "__main__":
    sys.exit(main())
