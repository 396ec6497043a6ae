"""Whom tasks run as in containers of a local cluster: never root, and as far as possible somebody whom this machine
knows."""

import os
import pwd

ACCOUNT = "glim-job"  # made by deploy/install-deps
FIRST_FREE = 1_900_000_001  # of users whom this machine does not know; nobody's by convention
OTHERS = (65534, 65534)  # whoever has no right of their own to a file


def default_task_user():
    """(uid, gid) of tasks whose user has no uid in the registry: who called sudo, else the account for it. RuntimeError
    where there is neither."""
    caller = int(os.environ.get("SUDO_UID") or 0)
    if caller:
        return caller, int(os.environ.get("SUDO_GID") or caller)
    try:
        entry = pwd.getpwnam(ACCOUNT)
    except KeyError:
        raise RuntimeError(
            f"tasks in containers are never root, and there is no account {ACCOUNT} to run them as: "
            "make it with `deploy/install-deps run`, or call sudo from an account of your own"
        ) from None
    return entry.pw_uid, entry.pw_gid


def registry_ids(user, number):
    """(uid, gid) for a user of the registry: those of this machine, which must not contradict it, or ids that are
    nobody's here. `number` tells such users apart."""
    try:
        entry = pwd.getpwnam(user)
        return entry.pw_uid, entry.pw_gid
    except KeyError:
        return FIRST_FREE + number, FIRST_FREE + number


def closed_to(user, path, below="/"):
    """The first part of the path, from the folder `below` on, that the user, (uid, gid), may not pass or read; None:
    there is none."""
    path, above = os.path.realpath(path), os.path.realpath(below)
    for name in os.path.relpath(path, above).split("/")[:-1]:
        above = os.path.join(above, name)
        if not _may(user, above, 0o1):
            return above
    return None if _may(user, path, 0o5 if os.path.isdir(path) else 0o4) else path


def _may(user, path, wanted):
    info = os.stat(path)
    shift = 6 if info.st_uid == user[0] else 3 if info.st_gid == user[1] else 0
    return info.st_mode >> shift & wanted == wanted


def open_way(path, own):
    """Makes private folders of ours passable on the way to this one: those below /tmp, and `own` with what lies in
    it."""
    above, own = os.path.dirname(os.path.realpath(path)), os.path.realpath(own)
    while above.startswith("/tmp/") or above == own or above.startswith(own + "/"):
        info = os.stat(above)
        if not info.st_mode & 0o001 and info.st_uid == os.geteuid():
            os.chmod(above, info.st_mode & 0o777 | 0o011)
        above = os.path.dirname(above)
