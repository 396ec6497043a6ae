"""Runs parts of the tests beside each other: what tests/run does once the machine has the packages.

    run_parts.py [--ci] [--full] [--no-build] PART...      the last line is "N passed, M failed"
"""

import argparse
import contextlib
import dataclasses
import datetime
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as xml

import choose_programs
import count_results
from runner import build, outcomes, parts, programs, sanitized, slower, unsteady
from runner.pool import Pool, run_process

ROOT = programs.ROOT


def say(text):
    print(f"\n==> {text}", flush=True)


def give_up(chosen, *words):
    """Fails the whole run: nothing that follows would mean anything."""
    print(*words, file=sys.stderr, flush=True)
    print(f"0 passed, {len(chosen)} failed", flush=True)
    sys.exit(1)


class Part:
    """What came of a part's jobs so far."""

    def __init__(self, name, jobs=()):
        self.name, self.left = name, len(jobs)
        self.began, self.ended, self.processor_s = float("inf"), 0.0, 0.0
        self.results, self.faults, self.seconds = [], [], {}

    def add(self, job, ended, outcome):
        self.left -= 1
        self.began = min(self.began, ended.began)
        self.ended = max(self.ended, ended.began + ended.seconds)
        self.processor_s += ended.processor_s
        self.seconds[job.name] = self.seconds.get(job.name, 0) + ended.seconds
        self.results.append((job, ended, outcome))

    def show(self):
        """Its section: what its jobs said, where that matters, and what it took."""
        say(self.name)
        for job, ended, outcome in self.results:
            if job.kind in ("gtest", "ctest") and not outcome.well:
                print(f"---- {job.name}\n{outcomes.failures_of(ended.said)}")
            elif job.kind not in ("gtest", "ctest") and not (job.quiet and outcome.well):
                print(ended.said.rstrip())
            for fault in outcome.faults:
                print(f"---- {fault}")
        if len(self.seconds) > 1:
            longest = sorted(self.seconds.items(), key=lambda entry: -entry[1])[:5]
            print("longest: " + ", ".join(f"{name} {seconds:.0f} s" for name, seconds in longest))
        wall = max(0, self.ended - self.began)
        print(f"{self.name} took {wall:.0f} s, {build.minutes(self.processor_s)} processor minutes", flush=True)

    def write(self, folder):
        """For count_results."""
        root = xml.Element("testsuites")
        faults = list(self.faults)
        for _, _, outcome in self.results:
            root.extend(outcome.suites)
            faults += outcome.faults
        bad = faults or any(outcome.failed for _, _, outcome in self.results)
        base = os.path.join(folder, self.name)
        xml.ElementTree(root).write(f"{base}.xml")
        for ending, text in (("faults", "".join(f"{fault}\n" for fault in faults)), ("code", f"{int(bool(bad))}\n")):
            with open(f"{base}.{ending}", "w") as file:
                file.write(text)


class Run:
    def __init__(self, settings, chosen, changed, builds):
        self.settings, self.changed, self.builds = settings, changed, builds
        self.sanitized = [part for part in chosen if part in parts.SANITIZED]
        self.plain = [part for part in chosen if part not in parts.SANITIZED]
        self.parts, self.lock, self.background = {}, threading.Lock(), None
        self.pool = Pool(settings.cores, self._on_end)

    def _on_end(self, job, ended):
        if ended is None:
            return
        outcome = outcomes.read(job, ended)
        with self.lock:
            part = self.parts[job.part]
            part.add(job, ended, outcome)
            if job.part in self.plain and part.left == 0:
                part.show()
                if self.background and not any(self.parts[name].left for name in self.plain):
                    self.background.hurry()

    def tests(self):
        """Runs everything; what is sanitized is built meanwhile."""
        jobs = {part: parts.jobs_of(part, self.settings) for part in self.plain}
        self.parts = {part: Part(part, jobs[part]) for part in self.plain}
        self.parts.update({part: Part(part) for part in self.sanitized})
        # What waits longest begins first, and what computes beside it.
        order = sorted(self.plain, key=parts.ORDER.index)
        if self.sanitized:
            sanitized.clear_reports({parts.SANITIZED[part][0] for part in self.sanitized})
            allowed = float(os.environ.get("GLIM_CI_MINUTES") or 5) if self.settings.ci else None
            self.background = sanitized.Background(
                self.sanitized, self.settings, self.changed, self.pool, allowed, self.builds
            )
            self.background.start()
            if not self.plain:
                self.background.hurry()
        self.pool.add([job for part in order for job in jobs[part]])
        try:
            self.pool.drain(lambda: self.background is not None and not self.background.done)
        except BaseException:
            if self.background:
                self.background.stop()
            raise
        for part in self.sanitized:
            self._end_sanitized(part)

    def _end_sanitized(self, name):
        part = self.parts[name]
        part.faults += [fault for of, fault in self.background.faults if of == name]
        preset = parts.SANITIZED[name][0]
        if name == preset:
            for path in sanitized.reports(preset):
                with open(path, errors="replace") as file:
                    print(f"--- {path}\n{file.read(20000)}")
                part.faults.append(f"{preset} {os.path.basename(path)}")
        if part.results or part.faults:
            part.show()
            print(self.background.told(name))
        else:  # nothing of it differs, or the time allowed none
            say(name)
            print(f"{name} is left out: {self.background.told(name)}")
            del self.parts[name]

    def again(self):
        """A test that failed is run again, alone, twice (runner/unsteady.py): what then passes has passed. Prints the
        section about it."""
        chances, refused = {}, {}
        for part in self.parts.values():
            for job, ended, outcome in part.results:
                for failed in outcome.failed:
                    why = "its part has a report" if part.faults else None
                    why = why or unsteady.why_not_again(failed, ended, self.changed)
                    if why:
                        refused[failed.name] = why
                    else:
                        chances.setdefault(failed.name, []).append((failed, outcome))
        if len(chances) > unsteady.NAMES_MOST:
            why = f"{len(chances)} tests failed, and of more than {unsteady.NAMES_MOST} none is"
            refused.update(dict.fromkeys(chances, why))
        if not chances and not refused:
            return
        say("unsteady")
        for name, why in refused.items():
            print(f"{name} is not run again: {why}")
        passed = [name for name in chances if name not in refused and self._passes_twice(chances[name][0][0])]
        for name in passed:
            print(f"{name} failed, and passed twice when it was run alone. When it failed it said:")
            for failed, outcome in chances[name]:
                print("\n".join((failed.text or unsteady.message_of(failed.element)).splitlines()[-200:]))
                outcome.failed.remove(failed)
                for child in list(failed.element):
                    failed.element.remove(child)
        if passed:
            print(f"\nThe next change enters these lines into {unsteady.PAGE}, with the cause that you suspect:")
            for name in passed:
                print(unsteady.line_of(name, datetime.date.today().isoformat(), self._commit()))

    def _passes_twice(self, failed):
        part = failed.job.part
        for which in ("first", "second"):
            report = os.path.join(self.settings.folder, "again.xml")
            with contextlib.suppress(FileNotFoundError):
                os.remove(report)
            argv, env = unsteady.again(failed, report)
            ended = run_process(argv, env, programs.LIMIT_S * self.settings.slower)
            try:
                passed, bad = count_results.count(report)
            except (OSError, xml.ParseError):
                passed, bad = 0, []
            reported = part in parts.SANITIZED and sanitized.reports(parts.SANITIZED[part][0])
            if ended.code != 0 or bad or passed == 0 or reported:
                print(f"{failed.name} failed again, alone, the {which} time:\n{ended.said[-20000:]}", flush=True)
                return False
        return True

    def _commit(self):
        done = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True)
        return done.stdout.strip()


def left_out(chosen, changed, settings):
    """The parts that are run; of the others it is said why not."""
    kept = []
    for part in chosen:
        differing = parts.differing(part, changed) if settings.ci else None
        if differing is not None and not differing:
            sources = " ".join(parts.SOURCES[part][:7])
            print(f"{part} is left out: nothing of {sources} differs from {settings.base}; tests/nightly has it")
        else:
            kept.append(part)
    for part in [part for part in kept if part in parts.OF_NPM]:
        missing = subprocess.run(["deploy/install-deps", part, "--check"], capture_output=True).returncode != 0
        if missing and subprocess.run(["deploy/install-deps", part]).returncode != 0:
            give_up(chosen, f"the packages for {part} could not be installed")
        if (settings.ci or settings.full) and subprocess.run(parts.PING, capture_output=True).returncode != 0:
            print(f"{part} is left out: npm does not reach its packages ({' '.join(parts.PING)})")
            kept.remove(part)
    return kept


def checks_of_ci(settings):
    """What only CI asks: each is a part with one case for each fault."""
    checked = []
    for name, faults in (("unsteady", unsteady.check_page()), ("nightly", ages_of_nightly())):
        suite = xml.Element("testsuite", name=name)
        for fault in faults or [f"tests/{name}: well"]:
            case = xml.SubElement(suite, "testcase", classname=name, name=fault)
            if faults:
                xml.SubElement(case, "failure")
        xml.ElementTree(suite).write(os.path.join(settings.folder, f"{name}.xml"))
        with open(os.path.join(settings.folder, f"{name}.code"), "w") as file:
            file.write(f"{int(bool(faults))}\n")
        for fault in faults:
            print(fault)
        checked.append(name)
    return checked


def ages_of_nightly():
    """Prints when each of its parts ran last; the fault if one is too old."""
    done = run_process(["tests/nightly", "--ages"])
    print(done.said.rstrip(), flush=True)
    return [] if done.code == 0 else [f"tests/nightly --ages ended with {done.code}: run the oldest part"]


def factor():
    """GLIM_TEST_SLOWER as it is set, else as this machine is."""
    if not os.environ.get("GLIM_TEST_SLOWER"):
        measured, words = slower.measure()
        os.environ["GLIM_TEST_SLOWER"] = f"{measured:g}"
        print(f"GLIM_TEST_SLOWER={measured:g}, measured: {words}", flush=True)
    else:
        print(f"GLIM_TEST_SLOWER={os.environ['GLIM_TEST_SLOWER']}, as it was set", flush=True)
    return float(os.environ["GLIM_TEST_SLOWER"])


def interrupted(number, frame):
    raise KeyboardInterrupt


def run_all(words, folder):
    base = os.environ.get("GLIM_CI_BASE") or "HEAD~1"
    settings = parts.Settings(words.ci, words.full, base, folder, 1.0, os.cpu_count() or 2)
    changed = choose_programs.changed_files(base) if words.ci else None
    chosen = left_out(list(dict.fromkeys(words.parts)), changed, settings)
    if parts.NEED_RELEASE & set(chosen) and not words.no_build:
        say("Building")
        if not build.release(settings):
            give_up(chosen, "the build of preset release failed, and nothing was tested")
    say("This machine")
    settings = dataclasses.replace(settings, slower=factor())
    checked = checks_of_ci(settings) if words.ci else []
    run = Run(settings, chosen, changed, not words.no_build)
    run.tests()
    if words.ci:
        run.again()
    for part in run.parts.values():
        part.write(folder)
    say("All parts")
    return count_results.report(folder, [*checked, *(part for part in chosen if part in run.parts)])


def main():
    parser = argparse.ArgumentParser()
    for flag in ("--ci", "--full", "--no-build"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("parts", nargs="+", choices=parts.PARTS)
    words = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, interrupted)
    os.chdir(ROOT)
    folder = tempfile.mkdtemp(prefix="glim-tests-", dir="/tmp")
    try:
        return 0 if run_all(words, folder) else 1
    except KeyboardInterrupt:
        print("tests/run was interrupted", file=sys.stderr)
        return 129
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
