"""Adds up what the parts' JUnit files say. A part without a file, without tests, or that ended badly although no test
failed counts as one failure; so does every skipped test: what was not run has not passed.

    count_results.py FOLDER PART...      FOLDER/PART.xml, FOLDER/PART.code (the exit code) and, where it is there,
                                         FOLDER/PART.faults (a line for each failure that is no test: a report)
"""

import os
import sys
import xml.etree.ElementTree as xml


def ended_badly(case):
    """Of a testcase of JUnit's, GoogleTest's or CTest's: whether it did not pass."""
    marks = {child.tag for child in case} | {case.get("status")}
    return bool(marks & {"failure", "error", "skipped", "fail", "notrun", "disabled"})


def count(path):
    """(passed, [names that did not pass])"""
    passed, bad = 0, []
    for case in xml.parse(path).getroot().iter("testcase"):
        if ended_badly(case):
            bad.append(f"{case.get('classname') or ''} {case.get('name')}".strip())
        else:
            passed += 1
    return passed, bad


def count_part(folder, part):
    try:
        passed, bad = count(os.path.join(folder, f"{part}.xml"))
        with open(os.path.join(folder, f"{part}.code")) as file:
            code = int(file.read())
    except (OSError, ValueError, xml.ParseError) as error:
        return 0, [f"{part} could not run: {error}"]
    faults = os.path.join(folder, f"{part}.faults")
    if os.path.exists(faults):
        with open(faults) as file:
            bad += file.read().splitlines()
    if passed + len(bad) == 0:
        bad.append(f"{part} has no tests")
    if code != 0 and not bad:
        bad.append(f"{part} ended with exit code {code}")
    return passed, bad


def report(folder, parts):
    """Prints what the parts came to; whether all is well."""
    total, all_bad = 0, []
    for part in parts:
        passed, bad = count_part(folder, part)
        print(f"{part}: {passed} passed, {len(bad)} failed")
        total += passed
        all_bad += bad
    for name in all_bad[:50]:
        print(f"  failed: {name}")
    print(f"{total} passed, {len(all_bad)} failed")
    return not all_bad


if __name__ == "__main__":
    sys.exit(0 if report(sys.argv[1], sys.argv[2:]) else 1)
