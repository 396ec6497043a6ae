"""The build of the preset release, which most parts run over."""

import contextlib
import os
import subprocess
import time

from .pool import run_process

LARGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"


def minutes(seconds):
    """Begun ones."""
    return -(-int(seconds) // 60)


@contextlib.contextmanager
def large_pages(wanted):
    """On some virtual machines page faults are dear, and a compiler has many: with large pages it takes two thirds of
    the time (docs/decisions/0019-minutes.md). A machine of continuous integration may be set so for the build; the
    tests run as everywhere."""
    before = None
    if wanted and os.access(LARGE_PAGES, os.W_OK):
        with open(LARGE_PAGES) as file:
            before = file.read().partition("[")[2].partition("]")[0]
    try:
        if before:
            _write(LARGE_PAGES, "always")
        yield
    finally:
        if before:
            _write(LARGE_PAGES, before)


def benchmarks(settings):
    """Whether the programs that only measure are built: minutes that no test needs."""
    if not settings.ci:
        return "ON"
    same = subprocess.run(["git", "diff", "--quiet", settings.base, "--", "tests/bench"], capture_output=True)
    count = subprocess.run(["git", "rev-list", "--count", "HEAD"], capture_output=True, text=True)
    return "OFF" if same.returncode == 0 and int(count.stdout.strip() or 0) % 4 else "ON"


def release(settings):
    """Whether it went well; what was said is shown if not."""
    began, processor_s = time.monotonic(), 0.0
    with large_pages(settings.ci):
        for argv in (
            ["cmake", "--preset", "release", f"-DGLIM_BENCHMARKS={benchmarks(settings)}"],
            ["cmake", "--build", "build/release", "--target", "all"],
        ):
            ended = run_process(argv)
            processor_s += ended.processor_s
            if ended.code != 0:
                print("\n".join(ended.said.splitlines()[-80:]))
                return False
    print(f"built release in {time.monotonic() - began:.0f} s, {minutes(processor_s)} processor minutes", flush=True)
    return True


def _write(path, text):
    with open(path, "w") as file:
        file.write(text)
