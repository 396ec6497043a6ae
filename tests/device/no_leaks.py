"""Fails if a build used a header that a machine without Debian's packages may lack.

    no_leaks.py BUILD BUNDLE

Allowed are the source tree, the build, the bundle, and what a compiler with its C library and Python have. dpkg says
what belongs to whom; where there is no dpkg there are no packages of Debian that could have been used.
"""

import os
import re
import shutil
import subprocess
import sys

COMPILER = re.compile(
    r"^(libc6-dev|linux-libc-dev|libcrypt-dev|libstdc\+\+-\d+-dev|libgcc-\d+-dev|libpython3.*-dev)" r"(:\w+)?$"
)


def headers(build):
    """Every header that was used, by the first object that did."""
    listed = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    used, target = {}, ""
    for line in listed.splitlines():
        if not line.startswith(" "):
            target = line.split(":")[0]
        elif line.strip() and target.endswith(".o"):  # newer CMakes also list what a linker read
            used.setdefault(os.path.normpath(os.path.join(build, line.strip())), target)
    return used


def owners(paths):
    """The packages of files, where they have one."""
    found = {}
    for at in range(0, len(paths), 500):
        done = subprocess.run(["dpkg-query", "-S", *paths[at : at + 500]], capture_output=True, text=True)
        for line in done.stdout.splitlines():
            package, _, path = line.partition(": ")
            found[path] = package
    return found


def leaks(used, ours):
    """What is wrong with the headers that were used (by whom, by path); `ours` are folders that are allowed."""
    others = [path for path in sorted(used) if not path.startswith(tuple(ours))]
    packages = owners(others)
    return [
        f"{path} of {packages[path]}: used by {used[path]}; carry it (tests/device/bundle) or make it optional"
        for path in others
        if path in packages and not COMPILER.match(packages[path])
    ]


def main():
    build, bundle = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    used = headers(build)
    if not used:
        print("the build has no dependencies: was anything built?")
        return 1
    if shutil.which("dpkg-query") is None:
        return 0
    found = leaks(used, [root + os.sep, build + os.sep, bundle + os.sep])
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
