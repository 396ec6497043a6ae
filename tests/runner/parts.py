"""The parts that tests/run knows: what each runs, what it needs, and what a change can break of it."""

import os
from dataclasses import dataclass

from . import programs
from .pool import Job
from .seeds import first_seed

PYTHON = "/usr/bin/python3"
PARTS = (
    *("unit", "sim", "python", "e2e", "pages", "web", "lint", "device", "openapi"),
    *("asan-ubsan", "tsan", "fuzz", "seeds", "dev"),
)
SANITIZED = {  # part: preset, labels of its programs
    "asan-ubsan": ("asan-ubsan", ("unit", "server", "sim")),
    "tsan": ("tsan", ("server",)),  # nothing else has threads
    "fuzz": ("asan-ubsan", ("fuzz",)),
}
# As they begin: what waits long first, and then what computes beside it.
ORDER = ("e2e", "sim", "python", "pages", "web", "unit", "openapi", "lint", "seeds", "device", "dev")
NEED_RELEASE = {"unit", "sim", "python", "e2e", "pages", "web", "seeds"}
OF_NPM = {"web", "openapi"}
PING = ["timeout", "20", "npm", "ping"]

PYTHON_TESTS = ["sdk/python/tests"] + [
    f"tests/{name}" for name in ("alerts", "cluster", "docs", "faults", "house", "night", "runner")
]
# Modules of tests/e2e that do what pages tell their readers to do, and nothing else.
PAGES = [
    f"tests/e2e/test_{name}.py"
    for name in (
        *("operators_blocks", "operators_machines", "operators_tls", "pages"),
        *("quickstart_page", "researchers_pages", "three_machines"),
    )
]
# What can break a part. CI leaves a part out where nothing of this differs; tests/nightly has all of them.
SOURCES = {
    "web": ["webui/", "scheduler/gateway/", "proto/", "docs/openapi.json", "tests/web/", "deploy/cluster/"],
    "device": ["CMakeLists.txt", "CMakePresets.json", "cmake/", "sdk/", "nodeagent/", "tests/device/"],
    "openapi": ["docs/openapi.json", "scheduler/gateway/", "proto/", "tests/openapi/"],
    "pages": ["docs/", "README.md", "deploy/", "cli/", "sdk/python/", "tests/e2e/conftest.py", "tests/e2e/machines.py"]
    + PAGES,
}
NO_SOURCES = {"pages": ["docs/decisions/", "docs/pictures/", "docs/nightly.md"]}  # without commands that are typed


@dataclass(frozen=True)
class Settings:
    """Of a run: CI's, the full one, or neither; the commit that it is compared with, where reports go, the factor."""

    ci: bool
    full: bool
    base: str
    folder: str
    slower: float
    cores: int


def differing(part, changed):
    """Which of the changed files can break the part; None if everything may have changed."""
    if changed is None or part not in SOURCES:
        return None
    sources, besides = tuple(SOURCES[part]), tuple(NO_SOURCES.get(part, ()))
    return sorted(path for path in changed if path.startswith(sources) and not (besides and path.startswith(besides)))


def pytest_job(part, settings, workers, weight, *words, **env):
    """Files go to the workers as they come; each worker of e2e has a cluster of its own."""
    report = os.path.join(settings.folder, f"{part}.0.xml")
    argv = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", programs.ROOT, "-o"]
    argv += ["junit_family=xunit1", "--durations=5", "--junitxml", report]  # (its reports name the files)
    argv += ["-n", str(workers), "--dist", "loadfile", *words]
    return Job(part, part, argv, "pytest", report, weight, env={"OMP_NUM_THREADS": "1", **env})


def command(part, *argv, weight=1.0):
    return [Job(part, " ".join(argv), list(argv), weight=weight)]


def jobs_of(part, settings):
    """The jobs of a part that is not sanitized."""
    stories = {"GLIM_TEST_STORIES": os.environ.get("GLIM_TEST_STORIES") or ("10" if settings.full else "2")}
    if part in ("unit", "sim"):
        labels = ("unit", "server") if part == "unit" else ("sim",)
        chosen = [(name, label) for name, label, _ in programs.read_tests("release") if label in labels]
        return programs.jobs_of(part, "release", chosen, settings.folder, settings.slower)
    if part == "python":
        return [pytest_job(part, settings, 3, 1, *PYTHON_TESTS)]
    if part == "e2e":  # in CI the pages are a part of their own
        without = [f"--ignore={path}" for path in PAGES] if settings.ci else []
        return [pytest_job(part, settings, 5, 1, *without, "tests/e2e", **stories)]
    if part == "pages":
        return [pytest_job(part, settings, 3, 0.5, *PAGES)]
    if part == "web":
        report = os.path.join(settings.folder, "web.0.xml")
        main = ["--main"] if settings.ci else []
        return [Job(part, part, ["tests/web/run", *main, "--junit", report], "suites", report)]
    if part == "lint":
        return command(part, "tests/lint", "--base", settings.base)
    if part == "openapi":
        return command(part, "tests/openapi/run", weight=0.5)
    if part == "device":
        return [pytest_job(part, settings, 1, settings.cores, "tests/device/test_stand_in.py")]
    if part == "seeds":
        words = ["build/release/bin/glim-sim", "--events", "5000", "--faults", "--seeds", "50", "--seed"]
        first = first_seed(programs.ROOT)
        return [Job(part, f"seeds from {at}", [*words, str(at)], quiet=True) for at in range(first, first + 500, 50)]
    if part == "dev":
        targets = "core_model_test core_lifecycle_test core_planning_test"
        build = f"cmake --preset dev && cmake --build build/dev --target {targets} -- --quiet"
        script = f"{build} && build/dev/test/core_model_test"
        return command(part, "bash", "-c", script, weight=settings.cores)
    raise KeyError(part)
