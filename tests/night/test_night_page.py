"""The table of docs/nightly.md: what is read, what is written, and from when on a row is too old."""

import dataclasses

import pytest

from night import page

TEXT = f"# The page\n\n{page.BEGIN}\n{page.HEAD}{page.END}\n\nAfter.\n"
PARTS = [("seeds", "many seeds"), ("vm", "every guest")]
SEEDS = page.Row("seeds", "9998 passed, 2 failed", "0123abcd", "2026-11-20", "38")


def test_a_part_without_a_row_has_not_run_and_is_listed_since_now():
    text = page.write(TEXT, PARTS, {"seeds": SEEDS}, "fedc9876", "2026-11-28")
    assert "| `seeds` | many seeds | 9998 passed, 2 failed | `0123abcd` | 2026-11-20 | 38 |\n" in text
    assert "| `vm` | every guest | not yet run | `fedc9876` | 2026-11-28 |  |\n" in text
    assert text.startswith("# The page\n") and text.endswith("\n\nAfter.\n")
    rows = page.read(text)
    assert rows == {"seeds": SEEDS, "vm": page.Row("vm", page.NOT_YET, "fedc9876", "2026-11-28")}
    assert page.write(text, PARTS, rows, "00000000", "2027-01-01") == text, "what has a row keeps it"


def test_a_part_that_is_gone_loses_its_row():
    text = page.write(TEXT, PARTS, {"seeds": SEEDS}, "fedc9876", "2026-11-28")
    assert list(page.read(page.write(text, PARTS[1:], page.read(text), "00000000", "2027-01-01"))) == ["vm"]


@pytest.mark.parametrize(
    "row, failed, has_run",
    [
        (SEEDS, True, True),
        (dataclasses.replace(SEEDS, result="10000 passed, 0 failed"), False, True),
        (dataclasses.replace(SEEDS, result="1 passed, 10 failed"), True, True),
        (dataclasses.replace(SEEDS, result=page.NOT_YET), False, False),
    ],
)
def test_what_a_result_says(row, failed, has_run):
    assert (row.failed, row.has_run) == (failed, has_run)


@pytest.mark.parametrize(
    "change, complaint",
    [
        (lambda text: text.replace(page.END, ""), "put these lines back"),
        (lambda text: text.replace("2 failed", "some failed"), "no row as tests/nightly writes it: | `seeds`"),
        (lambda text: text.replace("`vm`", "`seeds`"), "part seeds has two rows"),
    ],
)
def test_a_table_that_somebody_broke_is_refused(change, complaint):
    text = page.write(TEXT, PARTS, {"seeds": SEEDS}, "fedc9876", "2026-11-28")
    with pytest.raises(page.BadPage, match=complaint.replace("|", r"\|")):
        page.read(change(text))


@dataclasses.dataclass
class History:
    since: object = None
    after: int = 0
    days: int = 0
    is_shallow: bool = False

    def commits_since(self, commit):
        return self.since

    def commits_after(self, date):
        return self.after

    def days_after(self, date):
        return self.days


@pytest.mark.parametrize(
    "history, commits, is_known, is_too_old",
    [
        (History(since=0), 0, True, False),
        (History(since=60, days=400), 60, True, False),
        (History(since=61), 61, True, True),
        (History(since=61, is_shallow=True), 61, True, True),
        (History(after=60, days=400), 60, False, False),
        (History(after=61), 61, False, True),
        (History(after=0, days=14, is_shallow=True), 0, False, False),
        (History(after=0, days=15, is_shallow=True), 0, False, True),
    ],
)
@pytest.mark.parametrize("result", ["5 passed, 0 failed", page.NOT_YET])
def test_from_when_on_a_row_is_too_old(history, commits, is_known, is_too_old, result):
    age = page.age_of(dataclasses.replace(SEEDS, result=result), history)
    assert (age.commits, age.is_known, age.is_too_old) == (commits, is_known, is_too_old)
    assert ("TOO OLD: tests/nightly --part seeds" in age.line()) == is_too_old
    assert ("does not have that commit" in age.line()) != is_known


def test_the_oldest_comes_first_and_what_never_ran_before_what_is_as_old():
    ages = [
        page.age_of(page.Row(name, result, "0123abcd", "2026-11-20"), History(since=commits))
        for name, result, commits in (
            ("new", "1 passed, 0 failed", 1),
            ("ran", "1 passed, 0 failed", 9),
            ("never", page.NOT_YET, 9),
            ("old", "0 passed, 1 failed", 30),
        )
    ]
    assert [age.row.part for age in page.by_age(ages)] == ["old", "never", "ran", "new"]
