"""What every benchmark needs: where the programs are, its options, and what a program tells."""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("GLIM_TEST_BIN", os.path.join(ROOT, "build", "release", "bin"))
PATIENCE_S = 600
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

sys.path.insert(0, os.path.join(ROOT, "deploy"))  # for `cluster`, which the benchmarks share with tests/e2e


def parser_of(name, description, quick):
    """The parser of a benchmark's options. `quick`: what --quick changes of their defaults."""
    parser = argparse.ArgumentParser(
        prog=f"tests/bench/run {name}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", default=BIN, help="where the programs are [build/release/bin, or GLIM_TEST_BIN]")
    parser.add_argument("--quick", action="store_true", help="small numbers, for some seconds: that it works")
    parser.quick = quick
    return parser


def options_of(parser):
    """What is given stands, --quick or not. From here on a SIGTERM ends the program like Ctrl-C, with all stopped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if parser.parse_known_args()[0].quick:
        parser.set_defaults(**parser.quick)
    return parser.parse_args()


def chosen(parser, option, words, known):
    """The names in `words`, which commas separate, each of them one of `known`."""
    names = words.split(",")
    for name in names:
        if name not in known:
            parser.error(f"--{option}: '{name}' is none; there are: {', '.join(known)}")
    return names


def size_of(word):
    """Bytes: 64, 64KiB, 1GiB."""
    return int(word[:-3]) * UNITS[word[-3:]] if word[-3:] in UNITS else int(word)


def output_of(argv, patience=PATIENCE_S, env=None, codes=(0,)):
    """What a program prints; ends this one, with its words, if it fails."""
    argv = [str(word) for word in argv]
    try:
        result = subprocess.run(argv, capture_output=True, text=True, timeout=patience, env=env)
    except FileNotFoundError:
        raise SystemExit(f"{argv[0]} is not there; build it, or say --bin") from None
    except subprocess.TimeoutExpired:
        raise SystemExit(f"{' '.join(argv)}: not done after {patience:g} s") from None
    if result.returncode not in codes:
        raise SystemExit(f"{' '.join(argv)}: exit code {result.returncode}: {result.stderr}")
    return result.stdout


def told_by(argv, patience=PATIENCE_S, env=None, codes=(0,)):
    """The one document of JSON that a program prints."""
    return json.loads(output_of(argv, patience, env, codes))


def lines_of(argv, patience=PATIENCE_S, env=None):
    """The lines of JSON that a program prints."""
    return [json.loads(line) for line in output_of(argv, patience, env).splitlines()]


def test_program(bin_folder, source):
    """The path of the test program that has the source, which may be a whole wing's."""
    build = os.path.dirname(os.path.abspath(bin_folder))
    try:
        with open(os.path.join(build, "tests.txt")) as file:
            tests = [line.split() for line in file]
    except FileNotFoundError:
        raise SystemExit(f"{build} is no folder of a build: it has no tests.txt; say --bin") from None
    for name, _, *sources in filter(None, tests):
        if any(os.path.normpath(path).endswith("/" + source) for path in sources):
            return os.path.join(build, "test", name)
    raise SystemExit(f"no test program in {build} has {source}: build it")


def alternate(contenders, rounds):
    """{name: call} -> {name: [what each round's call gave]}: they take turns, so that all see the same noise."""
    told = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            told[name].append(call())
    return told


def median(values):
    return statistics.median(values)
