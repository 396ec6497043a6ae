"""What a life leaves behind is seen, each kind of it: in a world of its own a test leaves it behind, and looks."""

import ctypes
import os
import subprocess
import sys

import leftovers
import pytest
from own_world import LIBC, run_apart

from cluster.processes import wait_until

PYTHON = sys.executable
DAEMON = """
import os, signal, time
if os.fork():
    os._exit(0)
os.setsid()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(600)
"""


def leave_process(folder):
    """A daemon with a session of its own and an empty environment; its parent is gone."""
    subprocess.run([PYTHON, "-c", DAEMON], env={}, check=True)


def leave_mount(folder):
    subprocess.run(["mount", "-t", "tmpfs", "left", folder], check=True)


def leave_name(folder):
    with open("/dev/shm/psm_left", "w"):
        pass


def leave_segment(folder):
    assert LIBC.shmget(ctypes.c_int(4711), ctypes.c_size_t(4096), 0o1600) >= 0  # IPC_CREAT


def leave_device(folder):
    subprocess.run(["ip", "link", "add", "left0", "type", "dummy"], check=False)
    if "left0" not in leftovers.devices():  # a kernel without that kind
        subprocess.run(["ip", "link", "add", "left0", "type", "bridge"], check=True)


def leave_network(folder):
    """A namespace that is held by a name alone."""
    subprocess.run(["ip", "netns", "add", "left"], check=True)


def told_after(leave, folder):
    """In a world of its own."""

    def work():
        before = leftovers.Before()
        leave(folder)
        for line in before.told({1, os.getpid()}):
            print(line, flush=True)
        return 0

    return run_apart(work, as_user=os.geteuid() != 0)


@pytest.mark.parametrize(
    ("leave", "words"),
    [
        (leave_process, "is left: " + PYTHON),
        (leave_mount, "(tmpfs) is left"),
        (leave_name, "/dev/shm/psm_left is left"),
        (leave_segment, "System V shm"),
        (leave_device, "the network device left0 is left"),
        (leave_network, "the mount /run/netns/left (nsfs) is left"),
    ],
)
def test_what_is_left_behind_is_seen(leave, words, tmp_path, capfd):
    assert told_after(leave, str(tmp_path)) == 0
    told = capfd.readouterr().out
    assert words in told, told


def test_a_name_that_tasks_may_leave_is_not_told(tmp_path, capfd):
    def work():
        before = leftovers.Before(["/dev/shm/psm_left"])
        leave_name(str(tmp_path))
        print(*before.told({1, os.getpid()}), flush=True)
        return 0

    assert run_apart(work, as_user=os.geteuid() != 0) == 0
    assert capfd.readouterr().out == "\n"


def test_nothing_is_told_where_nothing_is_left(tmp_path, capfd):
    assert told_after(lambda folder: None, str(tmp_path)) == 0
    assert capfd.readouterr().out == ""


def test_a_namespace_that_a_file_holds_is_seen(tmp_path, capfd):
    """Nobody is in it, and it has no name."""

    def work():
        child = subprocess.Popen(["unshare", "--ipc", "sleep", "600"])
        mine = leftovers.namespaces_of([os.getpid()])
        place = f"/proc/{child.pid}/ns/ipc"
        wait_until(lambda: os.readlink(place) not in mine, 20, "a namespace is there")
        with open(place):
            child.kill()
            child.wait()
            print(*(set(leftovers.namespaces()) - leftovers.namespaces_of([1, os.getpid()])), flush=True)
        return 0

    assert run_apart(work, as_user=os.geteuid() != 0) == 0
    assert "ipc:[" in capfd.readouterr().out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root names networks")
def test_networks_of_others_are_not_taken_along(capfd):
    name = f"glim-other-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:

        def work():
            print(leftovers.namespaces().values(), flush=True)
            return 0

        assert run_apart(work) == 0
        assert name not in capfd.readouterr().out
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


def test_groups_and_folders_of_tasks_are_seen(tmp_path):
    """In each hierarchy, and that of version 2 alone."""
    for path in (
        "memory/glim/tag/n1/7.1.0",
        "unified/glim/tag/n1/7.1.0",
        "glim/tag/n2/8.1.0",
        "unified/glim/other/n1/9",
    ):
        os.makedirs(tmp_path / path)
    found = leftovers.groups_of_tasks("/glim/tag", top=str(tmp_path))
    assert {os.path.relpath(path, tmp_path) for path in found} == {
        "memory/glim/tag/n1/7.1.0",
        "unified/glim/tag/n1/7.1.0",
        "glim/tag/n2/8.1.0",
    }
    assert len(leftovers.groups_of("tag", top=str(tmp_path))) == 3
    os.makedirs(tmp_path / "c" / "n1" / "tasks" / "7.1.0")
    assert len(leftovers.folders_of_tasks(str(tmp_path / "c"))) == 1


def test_all_of_a_world_is_gone_with_its_first_process(tmp_path):
    """A daemon, too; and the exit code is the one of the work."""
    alive = tmp_path / "alive"

    def work():
        code = (
            f"import os, time\nif os.fork():\n os._exit(0)\nos.setsid()\nos.mkfifo('{alive}')\nopen('{alive}', 'w')\n"
        )
        subprocess.run([PYTHON, "-c", code + "time.sleep(600)"], env={}, check=True)
        wait_until(alive.exists, 20, "the daemon is there")
        return 3

    assert run_apart(work, as_user=os.geteuid() != 0) == 3
    reader = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    assert os.read(reader, 1) == b"", "nobody has it open for writing"
    os.close(reader)
