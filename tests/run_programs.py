"""Runs GoogleTest programs, each once, several at a time, and writes what their cases came to for count_results.py.

    run_programs.py PRESET OUT.xml --label unit [--label server] [--only NAME]... [--jobs N] [--filter PATTERN]

The programs are those of build/PRESET/tests.txt (name, label, sources). One that takes long is cut into shards, so that
the last one does not run alone. A program that dies names the case in which it died; one that hangs is killed.
"""

import argparse
import concurrent.futures
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT_S = 900  # of one shard: sanitized and on a slow machine
# Programs that take longest, in shards; they begin first.
SHARDS = {
    "sim_test": 2,
    "planted_test": 2,
    "server_test": 3,
    "agent_test": 4,
    "core_lifecycle_test": 2,
    "hfreduce_communicator_test": 2,
    "ckpt_replica_test": 2,
}


def programs(preset, labels, only):
    """[(name, label)] as tests.txt lists them."""
    found = []
    with open(os.path.join(ROOT, "build", preset, "tests.txt")) as file:
        for line in file:
            name, label, *_ = line.split()
            if label in labels and (not only or name in only):
                found.append(name)
    return found


def run_shard(preset, name, shard, shards, pattern, folder):
    """(name, seconds, cases as an XML element, what it printed if that matters)"""
    report = os.path.join(folder, f"{name}.{shard}.xml")
    command = [os.path.join(ROOT, "build", preset, "test", name), f"--gtest_output=xml:{report}"]
    if pattern:
        command.append(f"--gtest_filter={pattern}")
    env = dict(os.environ, GTEST_TOTAL_SHARDS=str(shards), GTEST_SHARD_INDEX=str(shard))
    began = time.monotonic()
    # A session of its own: what the cases started and left behind does not outlive them.
    process = subprocess.Popen(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=LIMIT_S)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
        code = f"killed after {LIMIT_S} s"
    seconds = time.monotonic() - began
    try:
        cases = xml.parse(report).getroot()
    except (OSError, xml.ParseError):
        cases = xml.Element("testsuites")
    if code != 0 and cases.find(".//failure") is None:  # (an element without children is false)
        add_failure(cases, name, f"ended with {code} in {last_begun(said)}")
    return name, seconds, cases, "" if code == 0 else said


def last_begun(said):
    """The case that began and did not end."""
    begun = [line[12:].strip() for line in said.splitlines() if line.startswith("[ RUN      ]")]
    return begun[-1] if begun else "no case"


def add_failure(cases, name, message):
    suite = xml.SubElement(cases, "testsuite", name=name)
    case = xml.SubElement(suite, "testcase", classname=name, name=message)
    xml.SubElement(case, "failure", message=message)


def failures_of(said):
    """Of a long output: the cases that failed, whole, and the last lines."""
    kept, block = [], []
    for line in said.splitlines():
        if line.startswith("[ RUN      ]"):
            block = []
        block.append(line)
        if line.startswith("[  FAILED  ]") and len(block) > 1:
            kept += block[-200:]
            block = []
    return "\n".join(kept + ["..."] + said.splitlines()[-20:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("preset")
    parser.add_argument("out")
    parser.add_argument("--label", action="append", required=True)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--filter", default="")
    words = parser.parse_args()

    folder = words.out + ".d"
    os.makedirs(folder, exist_ok=True)
    names = programs(words.preset, words.label, words.only)
    names.sort(key=lambda name: -SHARDS.get(name, 1))
    shards = [(name, at) for name in names for at in range(SHARDS.get(name, 1))]
    whole, bad, slow = xml.Element("testsuites"), 0, {}
    with concurrent.futures.ThreadPoolExecutor(words.jobs) as pool:
        runs = [
            pool.submit(run_shard, words.preset, name, at, SHARDS.get(name, 1), words.filter, folder)
            for name, at in shards
        ]
        for run in concurrent.futures.as_completed(runs):
            name, seconds, cases, said = run.result()
            slow[name] = slow.get(name, 0) + seconds
            whole.extend(list(cases))
            if said:
                bad += 1
                print(f"---- {name}\n{failures_of(said)}", flush=True)
    xml.ElementTree(whole).write(words.out)
    longest = sorted(slow.items(), key=lambda entry: -entry[1])[:5]
    print("longest: " + ", ".join(f"{name} {seconds:.0f} s" for name, seconds in longest))
    sys.exit(1 if bad or not names else 0)


if __name__ == "__main__":
    main()
