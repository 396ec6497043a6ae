"""The table of docs/nightly.md: a row for each part, with its last result; how old results are. Pure."""

import re
from dataclasses import dataclass

BEGIN = "<!-- written by tests/nightly -->"
END = "<!-- end of what tests/nightly writes -->"
HEAD = "| part | what it runs | last result | commit | date | minutes |\n| --- | --- | --- | --- | --- | --- |\n"
NOT_YET = "not yet run"
ROW = re.compile(
    r"\| `(?P<part>[a-z0-9-]+)` \| [^|]+ \| (?P<result>not yet run|\d+ passed, \d+ failed) "
    r"\| `(?P<commit>[0-9a-f]{8,40})` \| (?P<date>\d{4}-\d\d-\d\d) \| (?P<minutes>\d*) \|"
)

COMMITS_MAX = 60
# Where the commits cannot be counted because the clone is shallow, a result this old is as if it were too old.
DAYS_MAX = 14


class BadPage(ValueError):
    """The table is not as tests/nightly writes it."""


@dataclass(frozen=True)
class Row:
    """The last result of a part, and the commit that ran. A part that has not run yet has the commit since which it is
    listed."""

    part: str
    result: str
    commit: str
    date: str
    minutes: str = ""

    @property
    def has_run(self):
        return self.result != NOT_YET

    @property
    def failed(self):
        return self.has_run and not self.result.endswith(" 0 failed")


def _split(text):
    before, begin, rest = text.partition(BEGIN)
    table, end, after = rest.partition(END)
    if not begin or not end:
        raise BadPage(f"the table stands between '{BEGIN}' and '{END}': put these lines back")
    return before, table, after


def read(text):
    """{part: Row}"""
    rows = {}
    for line in _split(text)[1].strip().splitlines()[2:]:
        found = ROW.fullmatch(line)
        if not found:
            raise BadPage(f"this is no row as tests/nightly writes it: {line}")
        if found["part"] in rows:
            raise BadPage(f"part {found['part']} has two rows: leave the newer one")
        rows[found["part"]] = Row(**found.groupdict())
    return rows


def write(text, parts, rows, commit, date):
    """The page with a row for each of `parts` (name, what), and no other. One that had none has not run yet, and is
    listed since `commit`."""
    before, _, after = _split(text)
    lines = []
    for name, what in parts:
        row = rows.get(name) or Row(name, NOT_YET, commit, date)
        lines.append(f"| `{name}` | {what} | {row.result} | `{row.commit}` | {row.date} | {row.minutes} |\n")
    return f"{before}{BEGIN}\n{HEAD}{''.join(lines)}{END}{after}"


@dataclass(frozen=True)
class Age:
    row: Row
    commits: int
    is_known: bool  # or the commits since the row's date are counted
    is_too_old: bool

    def line(self):
        row = self.row
        since = "ran" if row.has_run else "has not run, and is listed since"
        text = f"{row.part}: {self.commits} commits: {since} at {row.commit}, {row.date}"
        if row.has_run:
            text += f", {row.result}"
        if not self.is_known:
            text += "; this clone does not have that commit: counted from the date"
        if self.is_too_old:
            text += f"; TOO OLD: tests/nightly --part {row.part}"
        return text


def age_of(row, history):
    """`history` counts: commits_since(commit), None if the commit is unknown; commits_after(date); days_after(date);
    is_shallow."""
    commits = history.commits_since(row.commit)
    if commits is not None:
        return Age(row, commits, True, commits > COMMITS_MAX)
    commits = history.commits_after(row.date)
    too_old = commits > COMMITS_MAX or (history.is_shallow and history.days_after(row.date) > DAYS_MAX)
    return Age(row, commits, False, too_old)


def by_age(ages):
    """The oldest first; of two as old as each other the one that never ran, then as listed."""
    return sorted(ages, key=lambda age: (-age.commits, age.row.has_run))
