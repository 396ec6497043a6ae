"""Whether anything of one user's is readable or writable by another, in a fault run whose jobs are several users'.
Each rank leaves open marks (files that anybody may write) wherever it may, as a careless program does, and looks for
others'; afterwards the modes of what Glim keeps are held against whose it is."""

import os
import stat

# Every task has these; whoever was here before must have left nothing in them.
EVERYBODYS = ("/tmp", "/dev/shm", "/dev/mqueue", "/run/glim")
LOOKED_AT_MAX = 5000


def mark_of(user):
    return f"mark-of-{user}"


def leave_marks(user, folders):
    """Readable and writable by whoever gets there."""
    for folder in folders:
        try:
            fd = os.open(os.path.join(folder, mark_of(user)), os.O_WRONLY | os.O_CREAT, 0o666)
        except OSError:
            continue  # no room, or no place for files
        try:
            os.fchmod(fd, 0o666)
        except OSError:
            pass
        os.close(fd)


def _may(path, flags):
    try:
        os.close(os.open(path, flags | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def had_of_others(user, folders, shared=()):
    """Marks of other users that this process can find, and whether it may read or write them. `shared`: folders
    that jobs are given by their specs, whoever submits them."""
    found, looked_at = [], 0
    for folder in folders:
        for path, below, names in os.walk(folder):
            below[:] = [name for name in below if os.path.join(path, name) not in shared]
            for name in names:
                looked_at += 1
                if name.startswith("mark-of-") and name != mark_of(user):
                    place = os.path.join(path, name)
                    ways = [way for way, flags in (("read", os.O_RDONLY), ("write", os.O_WRONLY)) if _may(place, flags)]
                    found.append(f"{place}: found, may {' and '.join(ways) or 'do nothing'}")
            if looked_at > LOOKED_AT_MAX:
                return found
    return found


def places_of_a_task(environ, shared=()):
    """Where a rank looks: everybody's places, and as far up from its saves and its workdir as there may be others'."""
    above = []
    for path in (environ["GLIM_CHECKPOINT_DIR"], os.path.dirname(environ["GLIM_SOCKET"]), os.getcwd()):
        above += [path, os.path.dirname(path), os.path.dirname(os.path.dirname(path))]
    return [*EVERYBODYS, *dict.fromkeys(path for path in above if path not in ("/", *shared))]


def check_had(accounts):
    """What ranks wrote down that they had."""
    return [f"{account.who} had {line['of']}" for account in accounts for line in account.of("had")]


def check_modes(folders, uids):
    """`folders`: {folder of a job's saves or logs: its user}; `uids`: {user: uid}. Each is its user's or root's, and
    closed to everybody else, down to each file."""
    found = []
    for folder, user in folders.items():
        for path, _, names in os.walk(folder):
            for place in (path, *(os.path.join(path, name) for name in names)):
                info = os.lstat(place)
                if info.st_uid not in (uids[user], 0):
                    found.append(f"{place} is uid {info.st_uid}'s, not {user}'s")
            if path == folder and stat.S_IMODE(os.lstat(path).st_mode) & 0o077:
                found.append(f"{path} of {user} is open to others: {oct(stat.S_IMODE(os.lstat(path).st_mode))}")
    return found
