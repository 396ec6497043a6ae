"""The parts of tests/nightly: each with what it builds, its items, and the words that docs/nightly.md has for it."""

import os
from dataclasses import dataclass
from typing import Callable

from runner.parts import SANITIZED
from runner.sanitized import FILTERS
from runner.seeds import first_seed

from .items import MINUTE, Item, fuzz_items, last_line, pytest_item, seed_items

SEEDS, SEED_PARTS, PORTION = 10000, 3, 50  # a seed takes a second of a core
EVENTS = 5000
STORIES, MOVES, HOSTILE_ROUNDS, REDUCE_ROUNDS = 10, 200, 500, 1000
GREEDY_S = 60
SAVE_S = 7
LIVES, ROUNDS_A_LIFE = 25, 20
CONTRACT_FORMS = 10
FUZZ_RUNS = 1_000_000

# What a part goes by, as pathspecs. A part that was cut off goes on as long as these files are as they were.
ALL = (".", ":(exclude)docs/decisions", ":(exclude)CHANGELOG.md")
PROGRAMS = ("CMakeLists.txt", "CMakePresets.json", "cmake", "proto", "sdk", "scheduler", "nodeagent", "cli", "deploy")
PROGRAMS += ("docs/openapi.json", "docs/job-spec.md", "docs/permissions.md", "tests/sides")
SIMULATOR = ("CMakeLists.txt", "CMakePresets.json", "cmake", "proto", "sdk", "scheduler")
FUZZ = (*PROGRAMS, "tests/fuzz")

ASAN_PARTS, TSAN_PARTS = 4, 2

# Fuzz targets that are a whole scheduler, agent or connection: some hundred calls a second.
CALLS = ("fuzz_handlers", "fuzz_fetch", "fuzz_http_connection")


def nothing(tree):
    return []


@dataclass(frozen=True)
class Part:
    name: str
    what: str
    items: Callable  # of the tree, after the build
    sources: tuple = ALL
    preset: str = ""  # "": the commands build what they need
    targets: Callable = nothing  # of the tree, after CMake; none: all
    packages: tuple = ()  # groups of deploy/install-deps on top of what builds, runs and tests
    needs: tuple = ()  # "root", "npm"


def _seeds(at):
    last = [SEEDS * number // SEED_PARTS for number in range(SEED_PARTS + 1)]
    count = last[at] - last[at - 1]

    def items(tree):
        first = first_seed(tree.root) + last[at - 1]
        return list(seed_items(tree.built("release", "bin", "glim-sim"), first, count, EVENTS, PORTION))

    return Part(
        f"seeds-{at}",
        f"{SEEDS:,} seeds of the simulator, other ones each day, {EVENTS:,} events each, with faults: share {at} of "
        f"{SEED_PARTS}",
        items,
        sources=SIMULATOR,
        preset="release",
        targets=lambda tree: ["glim-sim"],
    )


def _of_source(name, what, source, sources, portion, **env):
    return Part(
        name,
        what,
        lambda tree: tree.cases_in(source, portion=portion, **env),
        sources=sources,
        preset="release",
        targets=lambda tree: [tree.program_with("release", source)],
    )


def _sanitized(part, at, of, what):
    """A share of what `tests/run` runs as one part."""
    preset, labels = SANITIZED[part]

    def programs(tree):
        return tree.programs_of_share(preset, labels, at, of)

    return Part(
        f"{part}-{at}",
        f"{what}: share {at} of {of} of the test programs",
        lambda tree: tree.sanitized(preset, programs(tree), FILTERS[part]),
        sources=PROGRAMS,
        preset=preset,
        targets=programs,
    )


def _fuzz(name, what, is_of_it, portion):
    def targets(tree):
        return [target for target in tree.fuzz_targets() if is_of_it(target)]

    def items(tree):
        commands = tree.fuzz_commands()
        return [item for target in targets(tree) for item in fuzz_items(commands[target], FUZZ_RUNS, portion)]

    return Part(name, what, items, sources=FUZZ, preset="asan-ubsan", targets=targets)


def _stories(tree):
    test = "tests/e2e/test_story.py::test_an_interrupted_training_ends_as_if_left_alone"
    env = {"GLIM_TEST_STORIES": str(STORIES)}
    return [pytest_item(f"story {at}", f"{test}[{at}]", env, 15 * MINUTE) for at in range(1, STORIES + 1)]


def _hostile(tree):
    source, rounds = "nodeagent/agent_hostile_test.cc", {"GLIM_HOSTILE_ROUNDS": str(HOSTILE_ROUNDS)}
    test = "tests/e2e/test_floods.py::test_who_takes_what_he_can_get_costs_little_and_is_told"
    greedy = pytest_item("greedy user", test, {"GLIM_TEST_GREEDY_S": str(GREEDY_S)}, 10 * MINUTE)
    return [*tree.cases_in(source, portion=1, **rounds), greedy]


def _newcomer(tree):
    test = "tests/e2e/test_newcomer.py::test_ones_own_job_comes_back_on_other_nodes"
    env = {"GLIM_TEST_MOVES": str(MOVES // 2)}  # in each runtime with folders of the nodes' own, and with a shared one
    cases = [f"{runtime}-{folders}-folders" for runtime in ("runc", "process") for folders in ("own", "shared")]
    return [pytest_item(f"newcomer {case}", f"{test}[{case}]", env, 45 * MINUTE) for case in cases]


def _contract(tree):
    test = "sdk/python/tests/contract/test_contract_new_processes.py::test_a_form_by_wholly_new_processes"
    env = {"GLIM_TEST_CONTRACT": "all"}
    return [pytest_item(f"contract {at}", f"{test}[{at}]", env, 30 * MINUTE) for at in range(1, CONTRACT_FORMS + 1)]


def _faults(store, runtime):
    def items(tree):
        argv = ("tests/faults/run", "--seed", "1", "--rounds", str(ROUNDS_A_LIFE))
        argv += ("--store", store, "--runtime", runtime)
        for life in range(1, LIVES + 1):
            name = f"life {life}"  # root's has a world of its own, so that lives run beside each other
            yield Item(name, (*argv, "--life", str(life)), last_line(name))

    words = {"process": "plain processes", "runc": "containers"}[runtime]
    name = {"sqlite": "SQLite", "postgres": "PostgreSQL"}[store]
    return Part(
        f"faults-{store}",
        f"{LIVES * ROUNDS_A_LIFE} faults on real clusters, with {name} and {words}",
        lambda tree: list(items(tree)),
        preset="release",
        needs=("root",),
    )


def _command(name, what, *argv, env=None, **more):
    """One command that counts by itself. What it runs over is built before: `preset`."""
    item = Item(name, argv, last_line(name), env or {}, limit_s=90 * MINUTE)
    return Part(name, what, lambda tree: [item], **more)


def _of_tests_run(name, **more):
    return _command(name, f"`tests/run {name}`", "tests/run", name, "--no-build", **more)


def _guests(tree):
    for guest in sorted(os.listdir(os.path.join(tree.root, "tests", "vm", "guests"))):
        yield Item(guest, ("tests/vm/run", guest), last_line(guest), lane="machine", limit_s=90 * MINUTE)


PARTS = (
    *(_seeds(at) for at in range(1, SEED_PARTS + 1)),
    _of_source(
        "planted",
        "the planted bugs, each of which has to be found, and as many seeds without any",
        "scheduler/sim/world/planted_test.cc",
        SIMULATOR,
        portion=1,
    ),
    _of_source(
        "hfreduce-rounds",
        f"{REDUCE_ROUNDS:,} times hfreduce's communicators made and destroyed, over each transport",
        "sdk/hfreduce/communicator/rounds_test.cc",
        PROGRAMS,
        portion=1,
        GLIM_HFREDUCE_ROUNDS=str(REDUCE_ROUNDS),
    ),
    Part(
        "hostile",
        f"{HOSTILE_ROUNDS} tasks that do what they can to stay, in each runtime; a user who takes what he can get",
        _hostile,
        sources=(*PROGRAMS, "deploy", "tests/e2e"),
        preset="release",
    ),
    _of_source(
        "requests",
        f"twenty forms of programs that are asked by a signal, each with a save of {SAVE_S} s in a grace of 20 s",
        "nodeagent/agent_request_test.cc",
        PROGRAMS,
        portion=1,
        GLIM_TEST_SAVE_S=str(SAVE_S),
    ),
    _fuzz(
        "fuzz-readers",
        f"{FUZZ_RUNS:,} inputs for each fuzz target that is a reader of files, tokens, certificates or messages",
        lambda target: target not in CALLS,
        FUZZ_RUNS // 4,
    ),
    _fuzz(
        "fuzz-calls",
        f"{FUZZ_RUNS:,} calls each of a scheduler, of an agent and of a connection of HTTP",
        lambda target: target in CALLS,
        FUZZ_RUNS // 50,
    ),
    *(
        _sanitized("asan-ubsan", at, ASAN_PARTS, "the address and undefined-behaviour sanitizers")
        for at in range(1, ASAN_PARTS + 1)
    ),
    *(_sanitized("tsan", at, TSAN_PARTS, "the thread sanitizer") for at in range(1, TSAN_PARTS + 1)),
    Part(
        "stories",
        f"{STORIES} seeds of the story: an interrupted training ends as if left alone",
        _stories,
        preset="release",
    ),
    Part(
        "newcomer",
        f"a newcomer's job, interrupted {MOVES} times, in each runtime",
        _newcomer,
        preset="release",
        needs=("root",),
    ),
    Part(
        "contract",
        f"{CONTRACT_FORMS} forms of training loops, stopped and killed at each step, by wholly new processes",
        _contract,
        sources=("CMakeLists.txt", "CMakePresets.json", "cmake", "sdk"),
        preset="release",
        targets=lambda tree: ["glim_sdk_sessions"],
    ),
    _faults("sqlite", "process"),
    _faults("postgres", "runc"),
    _command(
        "systemd",
        "the units under a real systemd, on both hierarchies of control groups",
        "tests/systemd/run",
        preset="release",
        packages=("systemd",),
        needs=("root",),
    ),
    Part(
        "vm",
        "every guest of the emulated machine",
        lambda tree: list(_guests(tree)),
        preset="release",
        packages=("vm",),
        needs=("root",),
    ),
    _of_tests_run("web", preset="release", packages=("web",), needs=("npm",)),
    _of_tests_run("pages", preset="release"),
    _of_tests_run("openapi", packages=("openapi",), needs=("npm",)),
    _of_tests_run("device"),
    _of_tests_run("dev"),
    _command(
        "benches",
        "each benchmark's quick form: `tests/bench/run quick`",
        *("tests/bench/run", "quick"),
        env={"BENCH_NO_BUILD": "1"},
        preset="release",
        packages=("bench", "web"),
        needs=("root",),
    ),
)
BY_NAME = {part.name: part for part in PARTS}
