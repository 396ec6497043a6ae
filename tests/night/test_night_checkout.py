"""What git says about a checkout: ages, also in a shallow clone; and which files are as they were."""

import os
import subprocess

import pytest

from night.checkout import Checkout, NoGit

DAYS = ("2026-11-01", "2026-11-02", "2026-11-02", "2026-11-20")


def git(folder, *words, **env):
    author = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    argv = ["git", "-C", folder, "-c", "init.defaultBranch=main", *words]
    return subprocess.run(
        argv, check=True, capture_output=True, text=True, env={**os.environ, **author, **env}
    ).stdout.strip()


@pytest.fixture
def clone(tmp_path):
    """Four commits, the first two of which the others build on; .commits are their names."""
    folder = tmp_path / "clone"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "docs").mkdir()
    (folder / ".gitignore").write_text("/build/\n")
    checkout = Checkout(str(folder))
    checkout.commits = []
    for number, day in enumerate(DAYS):
        (folder / "code").write_text(f"{number}\n")
        (folder / "docs" / "nightly.md").write_text("rows\n")
        git(folder, "add", "-A")
        when = f"{day}T12:00:00Z"
        git(folder, "commit", "-q", "-m", f"{number}", GIT_AUTHOR_DATE=when, GIT_COMMITTER_DATE=when)
        checkout.commits.append(checkout.head)
    return checkout


@pytest.mark.parametrize("at, since", [(0, 3), (2, 1), (3, 0)])
def test_commits_are_counted_from_a_commit(clone, at, since):
    assert clone.commits_since(clone.commits[at]) == since


def test_a_commit_that_the_clone_does_not_have(clone):
    assert clone.commits_since("0123abcd") is None
    assert not clone.is_shallow


@pytest.mark.parametrize(
    "date, commits, days", [("2026-10-31", 4, 20), ("2026-11-01", 3, 19), ("2026-11-02", 1, 18), ("2026-11-20", 0, 0)]
)
def test_commits_and_days_after_a_date(clone, date, commits, days):
    assert (clone.commits_after(date), clone.days_after(date)) == (commits, days)


def test_a_shallow_clone_knows_that_it_is_one(clone, tmp_path):
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{clone.root}", "shallow")
    shallow = Checkout(str(tmp_path / "shallow"))
    assert shallow.is_shallow
    assert shallow.commits_since(clone.commits[0]) is None and shallow.commits_since(clone.commits[2]) == 1
    assert shallow.commits_after("2026-10-31") == 2, "as far as it reaches"


def test_a_folder_that_is_no_clone_says_so(tmp_path):
    with pytest.raises(NoGit, match="has to be a clone"):
        Checkout(str(tmp_path)).head


@pytest.mark.parametrize(
    "path, differs", [("code", True), ("new", True), ("docs/nightly.md", False), ("build/x", False), ("docs/x", False)]
)
def test_the_fingerprint_is_of_the_files_as_they_are(clone, path, differs):
    sources = (".", ":(exclude)docs/x")
    before = clone.fingerprint(sources)
    full = os.path.join(clone.root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w") as file:
        file.write("other\n")
    assert (clone.fingerprint(sources) != before) == differs
    assert bool(clone.differences()) == (path not in ("docs/nightly.md", "build/x"))
    assert git(clone.root, "diff", "--cached", "--name-only") == "", "the index is as it was"


def test_a_commit_changes_the_fingerprint_of_what_it_changes_alone(clone):
    code, docs = clone.fingerprint(("code",)), clone.fingerprint(("docs",))
    git(clone.root, "checkout", "-q", clone.commits[1])
    assert clone.fingerprint(("code",)) != code and clone.fingerprint(("docs",)) == docs
