"""Adds up what the parts' JUnit files say. A part without a file, without tests, or that ended badly although no test
failed counts as one failure; so does every skipped test: what was not run has not passed.

    count_results.py FOLDER PART...      FOLDER/PART.xml, FOLDER/PART.code (the exit code) and, where it is there,
                                         FOLDER/PART.faults (a line for each failure that is no test: a report)
"""

import os
import sys
import xml.etree.ElementTree as xml


def count(path):
    """(passed, [names that did not pass])"""
    passed, bad = 0, []
    for case in xml.parse(path).getroot().iter("testcase"):
        ended_badly = any(child.tag in ("failure", "error", "skipped") for child in case)
        if ended_badly or case.get("status") in ("fail", "notrun", "disabled"):
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


def main():
    folder, *parts = sys.argv[1:]
    total, all_bad = 0, []
    for part in parts:
        passed, bad = count_part(folder, part)
        print(f"{part}: {passed} passed, {len(bad)} failed")
        total += passed
        all_bad += bad
    for name in all_bad[:50]:
        print(f"  failed: {name}")
    print(f"{total} passed, {len(all_bad)} failed")
    sys.exit(1 if all_bad else 0)


if __name__ == "__main__":
    main()
