"""Whom tasks of a local cluster run as, and what they may read."""

import os
import pwd
import shutil
import tempfile

import pytest

from cluster import accounts

NOBODY = (1_900_000_001, 1_900_000_001)


def test_who_called_sudo_else_the_account_and_never_root(monkeypatch):
    monkeypatch.setenv("SUDO_UID", "1234")
    monkeypatch.setenv("SUDO_GID", "1235")
    assert accounts.default_task_user() == (1234, 1235)
    for uid in ("0", ""):
        monkeypatch.setenv("SUDO_UID", uid)
        monkeypatch.setattr(accounts, "ACCOUNT", "daemon")
        assert accounts.default_task_user() == (pwd.getpwnam("daemon").pw_uid, pwd.getpwnam("daemon").pw_gid)
        monkeypatch.setattr(accounts, "ACCOUNT", "no-such-account")
        with pytest.raises(RuntimeError, match="never root, and there is no account no-such-account.*install-deps run"):
            accounts.default_task_user()


def test_users_of_the_registry_do_not_contradict_this_machine():
    daemon = pwd.getpwnam("daemon")
    assert accounts.registry_ids("daemon", 0) == (daemon.pw_uid, daemon.pw_gid)
    uid, gid = accounts.registry_ids("nobody-of-that-name", 3)
    assert uid == gid == accounts.FIRST_FREE + 3
    with pytest.raises(KeyError):
        pwd.getpwuid(uid)


def test_what_is_closed_is_named(tmp_path):
    os.chmod(tmp_path, 0o755)
    for above in tmp_path.parents:
        if above.stat().st_uid == os.geteuid() and str(above).startswith("/tmp/"):
            os.chmod(above, 0o755)
    inner = tmp_path / "closed" / "inner"
    inner.mkdir(parents=True)
    file = inner / "file"
    file.write_text("x")
    os.chmod(file, 0o644)
    for mode, closed in ((0o700, inner.parent), (0o710, inner.parent), (0o701, None), (0o755, None)):
        os.chmod(inner.parent, mode)
        assert accounts.closed_to(NOBODY, file) == (closed and str(closed)), oct(mode)
    os.chmod(file, 0o640)
    assert accounts.closed_to(NOBODY, file) == str(file)
    assert accounts.closed_to((os.getuid(), os.getgid()), file) is None, "its owner"
    assert accounts.closed_to((NOBODY[0], os.getgid()), file) is None, "its group"


def test_the_way_to_a_cluster_is_opened_wherever_it_lies(tmp_path):
    own = tmp_path / "own"
    jobs = own / "jobs" / "of-somebody"
    jobs.mkdir(parents=True)
    for folder in (own, own / "jobs", jobs):
        os.chmod(folder, 0o700)
    accounts.open_way(jobs / "file", own)
    assert [folder.stat().st_mode & 0o777 for folder in (own, own / "jobs", jobs)] == [0o711] * 3


def test_what_lies_above_a_cluster_stays_as_it_is():
    above = tempfile.mkdtemp(dir="/var/tmp")
    try:
        own = os.path.join(above, "own")
        os.mkdir(own, 0o700)
        accounts.open_way(os.path.join(own, "file"), own)
        assert [os.stat(folder).st_mode & 0o777 for folder in (above, own)] == [0o700, 0o711]
    finally:
        shutil.rmtree(above)
