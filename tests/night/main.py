"""Runs parts of the long tests; docs/nightly.md has them, and what each came to last.

  tests/nightly --part NAME    one part; `oldest`: one after the other, the oldest first
  tests/nightly                every part
  tests/nightly --list         the parts
  tests/nightly --oldest       the name of the part that is due
  tests/nightly --ages         how many commits ago each part ran; exit code 1 if that is too long ago
  tests/nightly --page         writes docs/nightly.md: a part that is new gets its row

Exit codes: 0: all passed. 1: something failed. 2: wrong use. 69: this machine lacks something for the part. 75: cut
off: run it again, and it goes on where it was, as long as the sources that it goes by are the same.
"""

import argparse
import datetime
import fcntl
import math
import os
import signal
import subprocess
import sys
import time

from run_parts import factor

from . import page
from .checkout import PAGE, Checkout, NoGit
from .parts import BY_NAME, PARTS
from .progress import Progress, state_folder
from .run_part import Deadline, PartRun, run_bounded, tail
from .tree import Tree

FAILED, LACKS, CUT_OFF = 1, 69, 75
MINUTES = 45


def number(text):
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 10**9:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 to 999999999")
    return int(text)


def arguments(argv):
    parser = argparse.ArgumentParser(
        prog="tests/nightly",
        usage="tests/nightly [options]",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--part", choices=[*BY_NAME, "oldest"], metavar="NAME")
    for flag in ("--list", "--oldest", "--ages", "--page"):
        what.add_argument(flag, action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--minutes", type=number, help="cuts off each part then (45; without --part: never)")
    parser.add_argument(
        "--beside",
        action="store_true",
        help="runs HEAD in a checkout of its own (build/nightly/tree), at the lowest priority, while you work here",
    )
    parser.add_argument("--no-build", dest="build", action="store_false", help="uses what is built")
    parser.add_argument("--jobs", type=number, default=os.cpu_count() or 2, help="commands at once (all cores)")
    parser.add_argument("--page-of", metavar="CHECKOUT", help=argparse.SUPPRESS)  # what --beside gives
    return parser.parse_args(argv)


class Nightly:
    def __init__(self, root, args):
        self.args, self.root = args, root
        self.checkout = Checkout(root)
        self.page = os.path.join(args.page_of or root, PAGE)
        self.tree = Tree(root)

    # The page

    def rows(self):
        with open(self.page, encoding="utf-8") as file:
            return page.read(file.read())

    def ages(self):
        """Of every part; one without a row is listed since now."""
        rows, now = self.rows(), datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        counted = Checkout(self.args.page_of or self.root)
        return [
            page.age_of(rows.get(part.name) or page.Row(part.name, page.NOT_YET, counted.head, now), counted)
            for part in PARTS
        ]

    def write_page(self, row=None):
        with open(self.page, encoding="utf-8") as file:
            text = file.read()
        rows = page.read(text)
        if row:
            rows[row.part] = row
        names = [(part.name, part.what) for part in PARTS]
        now = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        with open(self.page + ".new", "w", encoding="utf-8") as file:
            file.write(page.write(text, names, rows, self.checkout.head, now))
        os.replace(self.page + ".new", self.page)

    # Parts

    def lacks(self, part):
        """What this machine has not, or ''."""
        if "root" in part.needs and os.geteuid() != 0:
            return "root's rights"
        if "npm" in part.needs and not self.npm_reaches():
            return "npm's packages (npm ping)"
        return ""

    def npm_reaches(self):
        try:
            return subprocess.run(["npm", "ping"], capture_output=True, timeout=90).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False

    def oldest_first(self):
        return [BY_NAME[age.row.part] for age in page.by_age(self.ages())]

    def oldest(self):
        return next((part for part in self.oldest_first() if not self.lacks(part)), None)

    def run(self, part, minutes):
        """An exit code."""
        lacking = self.lacks(part)
        if lacking:
            say(f"{part.name}: cannot run here: it needs {lacking}")
            return LACKS
        began, deadline = time.monotonic(), Deadline(minutes)
        sources = (*part.sources, "tests/night")
        before, commit = self.checkout.fingerprint(sources), self.checkout.head
        progress = Progress(state_folder(), part.name, before + ("" if self.args.build else "-as-built"))
        spent = progress.seconds
        say(f"==> {part.name}: {part.what}")
        folder = os.path.join(self.root, "build", "nightly", part.name)
        os.makedirs(folder, exist_ok=True)
        built = self.build(part, deadline, folder)
        if built is None:
            return cut_off(part, minutes, "the build has not ended")
        if not built:
            return FAILED
        slower = factor()
        items = part.items(self.tree)
        done_before = len(progress.items)
        if done_before:
            say(f"{done_before} of {len(items)} ended before: going on behind them")
        try:
            ended = PartRun(items, progress, deadline, folder, self.root, say, slower).run(self.args.jobs)
        finally:
            progress.seconds = spent + time.monotonic() - began
            changed = self.checkout.fingerprint(sources) != before
            progress.drop() if changed else progress.save()
        if changed:
            say(f"{part.name}: its sources were changed while it ran: the result is of neither. Use --beside.")
            return FAILED
        if not ended:
            none = ", none of them in this time, so give it more" if len(progress.items) == done_before else ""
            return cut_off(part, minutes, f"{len(progress.items)} of {len(items)} done{none}")
        return self.end(part, items, progress, commit)

    def build(self, part, deadline, folder):
        """True; False: it failed; None: cut off."""
        steps = []
        groups = ["build", "run", "test", *part.packages]
        if subprocess.run(["deploy/install-deps", *groups, "--check"], cwd=self.root, capture_output=True).returncode:
            steps.append(lambda: ["deploy/install-deps", *groups])
        if part.preset and self.args.build:
            steps.append(lambda: ["cmake", "--preset", part.preset])
            target = ["cmake", "--build", self.tree.built(part.preset), "--target"]
            steps.append(lambda: target + (part.targets(self.tree) or ["all"]))
        out = os.path.join(folder, "build")
        for step in steps:
            open(out, "w").close()
            code = run_bounded(step(), deadline.left(), out, out, cwd=self.root)
            if code is None:
                return None
            if code != 0:
                say(tail(out, 80) + f"{part.name}: {step()[0]} ended with exit code {code}")
                say("0 passed, 1 failed")
                return False
        return True

    def end(self, part, items, progress, commit):
        passed = sum(progress.items[item.name][0] for item in items)
        failed = [name for item in items for name in progress.items[item.name][1]]
        minutes = str(math.ceil(progress.seconds / 60))
        progress.forget()
        different = self.checkout.differences()
        if not self.args.build:
            say("no row in docs/nightly.md: what was there was run, of whatever sources that was built")
        elif different:
            say(f"no row in docs/nightly.md: {len(different)} files are not as the commit has them ({different[0]})")
        else:
            today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
            self.write_page(page.Row(part.name, f"{passed} passed, {len(failed)} failed", commit, today, minutes))
        for name in failed[:50]:
            say(f"  failed: {name}")
        say(f"{part.name} took {minutes} minutes in all")
        say(f"{passed} passed, {len(failed)} failed")
        return FAILED if failed else 0

    def run_oldest(self, minutes):
        """One part after the other, until the minutes are over."""
        deadline, tried, worst = Deadline(minutes), set(), 0
        while not deadline.is_over():
            part = next((one for one in self.oldest_first() if one.name not in tried and not self.lacks(one)), None)
            if not part:
                break
            tried.add(part.name)
            code = self.run(part, deadline.left() / 60)
            worst = worse(worst, code)
        return worst


def worse(one, other):
    """Of two exit codes: what failed counts most, then what was cut off."""
    order = (0, LACKS, CUT_OFF, FAILED)
    return max(one, other, key=order.index)


def cut_off(part, minutes, how_far):
    say(f"{part.name}: cut off at {minutes:.0f} minutes: {how_far}; run it again to go on")
    return CUT_OFF


def say(text):
    print(text, flush=True)


def print_ages(nightly):
    ages = nightly.ages()
    for age in ages:
        print(age.line())
    for age in ages:
        if age.row.failed:
            print(f"{age.row.part} failed when it last ran")
    old = sum(age.is_too_old for age in ages)
    print(f"{len(ages)} parts, {old} older than {page.COMMITS_MAX} commits")
    return FAILED if old else 0


def run_beside(root, argv):
    """The same with HEAD's sources in a checkout of their own; it shares nothing with this one but the page."""
    tree = os.path.join(root, "build", "nightly", "tree")
    if not os.path.isdir(os.path.join(tree, ".git")):
        subprocess.run(["git", "init", "--quiet", tree], check=True)
    git = ["git", "-C", tree]
    subprocess.run([*git, "fetch", "--quiet", "--update-shallow", root, "HEAD"], check=True)
    subprocess.run([*git, "checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"], check=True)
    subprocess.run([*git, "clean", "--quiet", "--force", "-d"], check=True)
    os.nice(19)
    argv = [word for word in argv if word != "--beside"]
    program = os.path.join(tree, "tests", "nightly")
    os.execv(program, [program, *argv, "--page-of", root])


def lock():
    """One run at a time on a machine: two would only slow each other down until tests take too long."""
    os.makedirs(state_folder(), exist_ok=True)
    file = open(os.path.join(state_folder(), "lock"), "a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        sys.exit(f"tests/nightly: process {file.read().strip()} runs a part already: wait for it, or end it")
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def main(root, argv):
    args = arguments(argv)
    nightly = Nightly(root, args)
    try:
        if args.list:
            for part in PARTS:
                print(f"{part.name}: {part.what}")
            return 0
        if args.ages:
            return print_ages(nightly)
        if args.oldest:
            part = nightly.oldest()
            print(part.name if part else "this machine can run no part")
            return 0 if part else LACKS
        if args.page:
            nightly.write_page()
            return 0
        if args.beside:
            run_beside(root, argv)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with lock():
            return run(nightly, args)
    except (page.BadPage, NoGit, LookupError, ValueError) as error:
        print(f"tests/nightly: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("tests/nightly: stopped; what ended is kept: run it again to go on", file=sys.stderr)
        return 130


def run(nightly, args):
    if args.part == "oldest":
        return nightly.run_oldest(args.minutes or MINUTES)
    if args.part:
        return nightly.run(BY_NAME[args.part], args.minutes or MINUTES)
    worst, came_to = 0, []
    for part in PARTS:
        code = nightly.run(part, args.minutes)
        worst = worse(worst, code)
        came_to.append((part.name, {0: "passed", FAILED: "FAILED", LACKS: "cannot run here", CUT_OFF: "cut off"}[code]))
    for name, what in came_to:
        print(f"{name}: {what}")
    return worst
