"""A world of a life's own: processes, mounts, names in /dev/shm, System V's objects and networks of a fault run's life
are in namespaces that hold nothing else. So whatever is there at the end was left behind, whatever it is called; and
all of it is gone when the life's first process ends, however that comes. For root; the control groups are the
machine's."""

import ctypes
import os
import signal
import subprocess

NEW_MOUNTS, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NETWORK = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG = 1
MNT_DETACH = 2
LIBC = ctypes.CDLL(None, use_errno=True)


def _checked(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def run_apart(work, as_user=False):
    """Calls `work` in a world of its own; returns the exit code that it returned. `as_user`: for who is not root, who
    then is root in there, of nothing but the world itself. An interrupt or SIGTERM ends all that is in it."""
    keeper = os.fork()
    if keeper == 0:
        _or_die(lambda: _keep(work, as_user))
    try:
        return os.waitstatus_to_exitcode(os.waitpid(keeper, 0)[1])
    except BaseException:
        os.kill(keeper, signal.SIGTERM)
        os.waitpid(keeper, 0)
        raise


def _or_die(step):
    """A forked process never returns into its parent's code."""
    code = 70
    try:
        code = step()
    except BaseException as error:
        print(f"own world: {type(error).__name__}: {error}", flush=True)
    finally:
        os._exit(code)


def _keep(work, as_user):
    """The process outside: the next one that it makes is the first one inside."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    user, group = os.getuid(), os.getgid()
    flags = NEW_MOUNTS | NEW_IPC | NEW_PIDS | NEW_NETWORK | (NEW_USER if as_user else 0)
    _checked(LIBC.unshare(flags), "unshare")
    if as_user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    return _wait_for(lambda: _first(work))


def _first(work):
    """Number 1 of the world: it buries who has no parent, and its end is everybody's."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    private, shm = 0x40000 | 0x4000, b"mode=1777"  # MS_PRIVATE | MS_REC
    _checked(LIBC.mount(None, b"/", None, private, None), "mounts of its own")
    _let_go_of_networks()
    os.makedirs("/run/netns", exist_ok=True)
    for kind, place, words in (
        (b"proc", b"/proc", None),
        (b"tmpfs", b"/dev/shm", shm),
        (b"tmpfs", b"/run/netns", None),
    ):
        _checked(LIBC.mount(kind, place, kind, 0, words), place.decode())
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    return _wait_for(lambda: _work(work))


def _let_go_of_networks():
    """The names of others' networks came along as mounts; each would keep its network for as long as this world is."""
    with open("/proc/self/mountinfo") as file:
        places = [line.split()[4] for line in file]
    for place in reversed(places):
        if place == "/run/netns" or place.startswith("/run/netns/"):
            LIBC.umount2(place.encode(), MNT_DETACH)  # (who is not root may not)


def _work(work):
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return work()


def _wait_for(step):
    """The exit code of a process that does `step`; a SIGTERM is handed on, an interrupt of the terminal is there
    already. Children of others are buried."""
    child = os.fork()
    if child == 0:
        _or_die(step)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: os.kill(child, signal.SIGTERM))
    while True:
        pid, status = os.wait()
        if pid == child:
            return abs(os.waitstatus_to_exitcode(status))
