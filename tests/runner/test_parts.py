"""What a change can break, and that what the parts name is there."""

import os

import pytest

from runner import parts
from runner.programs import ROOT


@pytest.mark.parametrize(
    "part, changed, found",
    [
        ("web", ["webui/src/a.ts", "scheduler/core/a.cc"], ["webui/src/a.ts"]),
        ("web", ["scheduler/core/a.cc", "docs/cli.md"], []),
        ("openapi", ["docs/openapi.json"], ["docs/openapi.json"]),
        ("openapi", ["webui/src/a.ts"], []),
        ("pages", ["docs/cli.md", "docs/decisions/0001-a.md"], ["docs/cli.md"]),
        ("pages", ["docs/decisions/0001-a.md", "docs/nightly.md"], []),
        ("pages", ["tests/e2e/test_story.py"], []),
        ("pages", ["tests/e2e/test_pages.py"], ["tests/e2e/test_pages.py"]),
        ("e2e", ["CHANGELOG.md"], None),  # always run
        ("web", None, None),  # the base is unknown
    ],
)
def test_a_part_is_left_out_where_nothing_of_its_sources_differs(part, changed, found):
    assert parts.differing(part, changed) == found


@pytest.mark.parametrize("path", sorted({*parts.PYTHON_TESTS, *parts.PAGES, *sum(parts.SOURCES.values(), [])}))
def test_what_is_named_is_there(path):
    assert os.path.exists(os.path.join(ROOT, path))


def test_every_part_that_is_not_sanitized_has_jobs(monkeypatch, tmp_path):
    monkeypatch.setattr(parts.programs, "read_tests", lambda preset: [])
    settings = parts.Settings(True, False, "HEAD~1", str(tmp_path), 1, 2)
    assert {*parts.ORDER, *parts.SANITIZED} == set(parts.PARTS)
    for part in parts.ORDER:
        jobs = parts.jobs_of(part, settings)
        assert all(job.part == part for job in jobs) and (jobs or part in ("unit", "sim"))


def test_in_ci_the_pages_are_a_part_of_their_own(tmp_path):
    contributors, ci = (
        parts.jobs_of("e2e", parts.Settings(ci, False, "HEAD~1", str(tmp_path), 1, 2))[0].argv for ci in (False, True)
    )
    assert [word for word in ci if word not in contributors] == [f"--ignore={path}" for path in parts.PAGES]
