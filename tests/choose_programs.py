"""Which test programs and fuzz targets a change reaches.

A program differs if a source of it, or one that it reaches by includes (of a header, its source too), is not what it
was at the commit that is compared with. Pure reading of the sources: nothing has to be built.
"""

import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def changed_files(base):
    """Relative paths of what is not as at `base`, files that git does not know yet among them; None if `base` is
    unknown."""
    changed = set()
    for words in (["diff", "--name-only", "-z", base, "--"], ["ls-files", "--others", "--exclude-standard", "-z"]):
        try:
            said = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)
        except OSError:  # no git
            return None
        if said.returncode != 0:
            return None
        changed.update(filter(None, said.stdout.split("\0")))
    return changed


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


def choose(tests, changed):
    """Of tests [(name, sources)] the names of those that differ; everything does if `changed` is None. Those whose own
    folder changed come before those that only reach a change."""
    near, far = [], []
    for name, sources in tests:
        if changed is None or reaches(sources, changed):
            folders = {os.path.dirname(source) for source in sources}
            own = changed is not None and any(os.path.dirname(path) in folders for path in changed)
            (near if own else far).append(name)
    return near + far
