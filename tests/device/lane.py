"""What tests/device/run does, step after step. One process; every program it starts is bounded in time."""

import argparse
import os
import shutil
import sys
import time

import checkpoints
import collectives
import machine
import node_checks
import suites
from journal import Journal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build", "device")
BUNDLE = os.path.join(ROOT, "build", "device-bundle")
PARTS = ["contracts", "node", "allreduce", "checkpoint", "programs", "python"]
QUICK_PARTS = PARTS[:3]
# What --quick builds: enough to see that all of it builds without gRPC, and that devices do what they should.
QUICK_TARGETS = [
    "device_test",
    "device_contract_test",
    "hfreduce_device_contract_test",
    "ckpt_device_copier_test",
    "validate_gpu_contract_test",
    "hfreduce-bench",
    "fake-nvml",
    "glim-health",
    "glim-inventory",
    "glim-validate",
]


def parse():
    parser = argparse.ArgumentParser(prog="tests/device/run", description="see tests/device/README.md")
    parser.add_argument("--stand-in", action="store_true", help="over the stand-in for CUDA, on any machine")
    parser.add_argument("--quick", action="store_true", help="contract tests and one size of each comparison")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="these parts (default: all)")
    parser.add_argument("--seconds", type=float, default=570, help="for everything (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="for the build and the tests")
    return parser.parse_args()


def build(journal, options):
    """Whether everything was built. Nothing but the bundle, the C library and Python may have been used."""
    if not os.path.isdir(BUNDLE):
        if not options.stand_in:
            journal.fail("bundle", f"{BUNDLE} is not there: make it by tests/device/bundle on Debian 12 and carry it")
            return False
        if not journal.run("bundle", [os.path.join(ROOT, "tests/device/bundle")], seconds=300):
            return False
    configure = [
        "cmake",
        "--preset",
        "device",
        "-D",
        f"GLIM_BUNDLE={BUNDLE}",
        "-D",
        f"GLIM_PYTHON={sys.executable}",
        "-D",
        f"CMAKE_PROJECT_TOP_LEVEL_INCLUDES={ROOT}/tests/device/bundle_provider.cmake",
    ]
    targets = QUICK_TARGETS if options.quick else []
    return (
        journal.run("configure", configure, seconds=180)
        and journal.run("build", ["ninja", "-C", BUILD, f"-j{options.jobs}", *targets], seconds=journal.left())
        and journal.run(
            "no leaks", [sys.executable, os.path.join(ROOT, "tests/device/no_leaks.py"), BUILD, BUNDLE], seconds=60
        )
    )


def main():
    options = parse()
    out = os.environ.get("OUT") or os.path.join(BUILD, "out")
    os.makedirs(out, exist_ok=True)
    os.chdir(ROOT)
    with Journal(out, options.seconds) as journal:
        for program in ("cmake", "ninja", "g++"):
            if shutil.which(program) is None:
                journal.fail("machine", f"{program} is not there: install it")
                return journal.end()
        cuda = machine.standin(BUILD) if options.stand_in else machine.find_cuda()
        if cuda.problem:
            journal.fail("machine", cuda.problem)
            return journal.end()
        journal.describe(machine.facts(cuda))
        if build(journal, options):
            run_parts(journal, cuda, options)
        return journal.end()


def run_parts(journal, cuda, options):
    parts = {
        "contracts": lambda: suites.run_contracts(journal, BUILD, cuda),
        "node": lambda: node_checks.look(journal, BUILD, cuda, options.quick),
        "allreduce": lambda: collectives.compare(journal, BUILD, cuda, options.quick),
        "checkpoint": lambda: checkpoints.compare(journal, ROOT, BUILD, cuda),
        "programs": lambda: suites.run_programs(journal, ROOT, options.jobs),
        "python": lambda: suites.run_sdk(journal, ROOT, BUILD, cuda, options.jobs),
    }
    for name in PARTS:
        if name in options.only and (not options.quick or name in QUICK_PARTS):
            began = time.monotonic()
            parts[name]()
            journal.line(f"part {name}", seconds=round(time.monotonic() - began, 1))


if __name__ == "__main__":
    sys.exit(main())
