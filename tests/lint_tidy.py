"""clang-tidy over what differs from a base, bounded in files and in time.

    lint_tidy.py --base REF [--files N] [--minutes M]

A source is looked at if it differs, or if a header that differs has nobody nearer to be compiled by: the source of the
header's name, else its test, else the first source that includes it. Only lines that differ are told of. If more
sources differ than the bounds allow, a share of them that rotates with the number of commits is taken; what is left out
is printed. If REF is unknown, such a share of all sources is taken, with all their lines. Exit 1: something was found.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time

from choose_programs import ROOT, includes_of

LINT = os.path.join(ROOT, "build", "lint")
TIDY = "clang-tidy-14"
HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")
FOUND = re.compile(r"^(/\S+?):\d+:\d+: (warning|error): .*\[", re.MULTILINE)


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)


def changed_lines(base):
    """{path: [[first, last], ...]} of C++ files as they are now; None if `base` is unknown."""
    said = git("diff", "-U0", "--no-prefix", "--diff-filter=d", base, "--", "*.cc", "*.h")
    return lines_of_diff(said.stdout) if said.returncode == 0 else None


def lines_of_diff(text):
    lines, path = {}, None
    for line in text.splitlines():
        if line.startswith("+++ "):
            path = line[4:].split("\t")[0]
        hunk = HUNK.match(line)
        if hunk:
            first, count = int(hunk[1]), int(hunk[2] or 1)
            if count:
                lines.setdefault(path, []).append([first, first + count - 1])
    return lines


def sources_for(changed, known):
    """The sources to compile so that every file of `changed` is seen, of those that are `known`."""
    chosen = set()
    for path in sorted(changed):
        if path in known:
            chosen.add(path)
        elif path.endswith(".h"):
            near = [path[:-2] + ".cc", path[:-2] + "_test.cc"]
            near += [source for source in sorted(known) if path in includes_of(source)]
            chosen.update([source for source in near if source in known][:1])
    return sorted(chosen)


def share(sources, most, turn):
    """At most so many, beginning elsewhere at every turn; and the rest."""
    if len(sources) <= most:
        return sources, []
    at = turn * most % len(sources)
    turned = sources[at:] + sources[:at]
    return turned[:most], sorted(turned[most:])


def make_database():
    """Compile commands of every source for itself, without precompiled headers. Headers that protoc makes are the
    release build's where there is one. Returns the sources that have a command."""
    configured = subprocess.run(
        [
            "cmake",
            "-S",
            ROOT,
            "-B",
            LINT,
            "-G",
            "Ninja",
            "-DCMAKE_BUILD_TYPE=Release",
            "-DGLIM_UNITY=OFF",
            "-DGLIM_PCH=OFF",
        ],
        capture_output=True,
        text=True,
    )
    if configured.returncode:
        sys.exit(f"lint: CMake cannot configure build/lint:\n{configured.stdout[-4000:]}{configured.stderr[-4000:]}")
    made = os.path.join(ROOT, "build", "release", "proto")
    if not os.path.isdir(os.path.join(made, "glim")):
        made = os.path.join(LINT, "proto")
        built = subprocess.run(["cmake", "--build", LINT, "--target", "glim_proto"], capture_output=True, text=True)
        if built.returncode:
            sys.exit(f"lint: the headers of proto/ cannot be made:\n{built.stdout[-4000:]}")
    path = os.path.join(LINT, "compile_commands.json")
    with open(path) as file:
        commands = json.load(file)
    for command in commands:
        command["command"] = command["command"].replace(os.path.join(LINT, "proto") + " ", made + " ")
    with open(path, "w") as file:
        json.dump(commands, file)
    return {os.path.relpath(command["file"], ROOT) for command in commands}


def tidy(source, line_filter, deadline):
    """(source, what clang-tidy found in words, or None if the time was over)."""
    words = [TIDY, "--quiet", "-p", LINT, "--extra-arg=-Wno-unknown-warning-option", os.path.join(ROOT, source)]
    if line_filter:
        words.append("--line-filter=" + json.dumps(line_filter))
    left = deadline - time.monotonic()
    try:
        said = subprocess.run(words, capture_output=True, text=True, timeout=left) if left > 0 else None
    except subprocess.TimeoutExpired:
        said = None
    if said is None:
        return source, None
    return source, said.stdout if said.returncode or FOUND.search(said.stdout) else ""


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--base", required=True)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--minutes", type=float, default=6)
    args = parser.parse_args()
    changed = changed_lines(args.base)
    if changed is not None and not changed:
        print("clang-tidy: no line of C++ differs")
        return 0
    known = make_database()
    sources = sources_for(changed, known) if changed is not None else sorted(s for s in known if os.path.exists(s))
    turn = int(git("rev-list", "--count", "HEAD").stdout.strip() or 0)
    chosen, left_out = share(sources, args.files, turn)
    line_filter = [{"name": path, "lines": lines} for path, lines in sorted((changed or {}).items())]
    deadline = time.monotonic() + args.minutes * 60
    faults = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, said in pool.map(lambda source: tidy(source, line_filter, deadline), chosen):
            if said is None:
                left_out.append(source)
            elif said:
                print(said.rstrip())
                faults += 1
    print(
        f"clang-tidy: {len(chosen)} of {len(sources)} sources chosen, {faults} with findings, "
        f"left out for want of time or turn: {len(left_out)}"
    )
    for source in left_out:
        print(f"  {source}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
