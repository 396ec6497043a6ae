"""The counts at the end of tests/run: what did not run has not passed."""

import pytest
from count_results import count_part

GOOD = '<testcase classname="a" name="b" status="run"/>'


@pytest.mark.parametrize(
    "cases, code, expected",
    [
        (GOOD * 3, 0, (3, 0)),
        (GOOD + '<testcase name="x"><failure/></testcase>', 1, (1, 1)),
        (GOOD + '<testcase name="x"><skipped/></testcase>', 0, (1, 1)),
        (GOOD + '<testcase name="x" status="notrun"/>', 8, (1, 1)),
        (GOOD, 2, (1, 1)),
        ("", 0, (0, 1)),
    ],
)
def test_counts(tmp_path, cases, code, expected):
    (tmp_path / "p.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    (tmp_path / "p.code").write_text(f"{code}\n")
    passed, bad = count_part(str(tmp_path), "p")
    assert (passed, len(bad)) == expected


@pytest.mark.parametrize("content", [None, "<testsuite><testcase"])
def test_a_part_without_readable_results_is_a_failure(tmp_path, content):
    if content is not None:
        (tmp_path / "p.xml").write_text(content)
    passed, bad = count_part(str(tmp_path), "p")
    assert passed == 0 and len(bad) == 1 and "could not run" in bad[0]


def test_each_report_of_a_sanitizer_is_a_failure_though_every_test_passed(tmp_path):
    (tmp_path / "p.xml").write_text(f"<testsuite>{GOOD}</testsuite>")
    (tmp_path / "p.code").write_text("0\n")
    (tmp_path / "p.faults").write_text("tsan report.glim-agent.17\ntsan report.glim-shim.18\n")
    assert count_part(str(tmp_path), "p") == (1, ["tsan report.glim-agent.17", "tsan report.glim-shim.18"])
