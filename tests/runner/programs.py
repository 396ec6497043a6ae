"""GoogleTest programs as jobs. build/PRESET/tests.txt lists them: name, label, sources.

A program is cut into shards by the number of its cases, so that no long one is left to run alone at the end; GoogleTest
deals the cases out to the shards in turn."""

import concurrent.futures
import os
import subprocess

from .pool import Job

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CASES_OF_A_SHARD = 30
LIMIT_S = 900  # of one shard: sanitized and on a slow machine
# What a program of a label keeps busy, in cores. Label server waits for its servers: six at a time on two cores.
WEIGHTS = {"unit": 1, "sim": 1, "server": 1 / 3}


def read_tests(preset):
    """[(name, label, [sources])], the sources relative to the root."""
    with open(os.path.join(ROOT, "build", preset, "tests.txt")) as file:
        lines = [line.split() for line in file if line.strip()]
    return [
        (name, label, [os.path.relpath(os.path.join(ROOT, source), ROOT) for source in sources])
        for name, label, *sources in lines
    ]


def shards_of(cases):
    """In how many shards a program with so many cases is run."""
    return max(1, -(-cases // CASES_OF_A_SHARD))


def count_cases(program, pattern=""):
    """As GoogleTest lists them; 0 if the program cannot say (running it will say why)."""
    words = [program, "--gtest_list_tests", *([f"--gtest_filter={pattern}"] if pattern else [])]
    try:
        said = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return sum(line.startswith("  ") for line in said.stdout.splitlines()) if said.returncode == 0 else 0


def program_path(preset, name):
    return os.path.join(ROOT, "build", preset, "test", name)


def jobs_of(part, preset, chosen, folder, slower=1, pattern="", weights=None):
    """The shards of programs [(name, label)]: those that wait first, for they take longest; else the one with the most
    cases."""
    weights = WEIGHTS if weights is None else weights
    os.makedirs(folder, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        paths = [program_path(preset, name) for name, _ in chosen]
        counts = list(threads.map(lambda path: count_cases(path, pattern), paths))
    jobs = []
    order = sorted(zip(chosen, counts), key=lambda entry: (weights.get(entry[0][1], 1), -entry[1]))
    for (name, label), cases in order:
        shards = shards_of(cases)
        for at in range(shards):
            report = os.path.join(folder, f"{name}.{at}.xml")
            argv = [program_path(preset, name), f"--gtest_output=xml:{report}"]
            argv += [f"--gtest_filter={pattern}"] if pattern else []
            env = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(at)}
            weight = weights.get(label, 1)
            jobs.append(Job(part, name, argv, "gtest", report, weight, LIMIT_S * slower, env, label))
    return jobs
