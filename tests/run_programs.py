"""Runs GoogleTest programs of a preset, several at a time, and writes what their cases came to for count_results.py.

    run_programs.py PRESET OUT.xml --label unit [--label server] [--only NAME]... [--jobs N] [--filter PATTERN]

A program that dies names the case in which it died; one that hangs is killed. tests/run has a wider view: see
runner/programs.py, which has the programs as jobs.
"""

import argparse
import os
import sys
import threading
import xml.etree.ElementTree as xml

from runner import outcomes, programs
from runner.pool import Pool


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("preset")
    parser.add_argument("out")
    parser.add_argument("--label", action="append", required=True)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--filter", default="")
    words = parser.parse_args()

    chosen = [
        (name, label)
        for name, label, _ in programs.read_tests(words.preset)
        if label in words.label and (not words.only or name in words.only)
    ]
    slower = float(os.environ.get("GLIM_TEST_SLOWER") or 1)
    alike = dict.fromkeys(words.label, 1)  # so many jobs at a time, whatever they wait for
    jobs = programs.jobs_of("", words.preset, chosen, words.out + ".d", slower, words.filter, alike)
    whole, bad, lock = xml.Element("testsuites"), [], threading.Lock()

    def on_end(job, ended):
        outcome = outcomes.read(job, ended)
        with lock:
            whole.extend(outcome.suites)
            if outcome.faults:
                suite = xml.SubElement(whole, "testsuite", name=job.name)
                for fault in outcome.faults:
                    case = xml.SubElement(suite, "testcase", classname=job.name, name=fault)
                    xml.SubElement(case, "failure", message=fault)
            if not outcome.well:
                bad.append(job.name)
                print(f"---- {job.name}\n{outcomes.failures_of(ended.said)}", flush=True)

    pool = Pool(words.jobs, on_end)
    pool.add(jobs)
    pool.drain()
    xml.ElementTree(whole).write(words.out)
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
