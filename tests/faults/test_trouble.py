"""The storage and the clocks of a fault run do what they are to do: a full disk is full, a slow folder hangs and
answers, a clock jumps for who reads it and for who waits by it."""

import errno
import os
import random
import subprocess
import sys
import threading
import time

import pytest
from clocks import Clocks
from own_world import run_apart
from storage import SlowFolder, SmallDisk

from cluster.processes import wait_until

# Waits for an hour by the time of day, as gRPC does, and says what came of it.
WAITS = """
import ctypes, errno, struct, sys, time
futex, wait_bitset_by_time_of_day, everything = 202 if sys.argv[1] == "x86_64" else 98, 9 | 256, 0xFFFFFFFF
word, until = ctypes.c_int(0), (ctypes.c_long * 2)(int(time.time()) + 3600, 0)
libc = ctypes.CDLL(None, use_errno=True)
print("waits", flush=True)
while True:
    a = [futex, ctypes.addressof(word), wait_bitset_by_time_of_day, 0, ctypes.addressof(until), 0, everything]
    libc.syscall(*map(ctypes.c_long, a))
    if ctypes.get_errno() != errno.EINTR:
        break
print(errno.errorcode[ctypes.get_errno()], flush=True)
"""


@pytest.fixture
def clocks(tmp_path):
    made = Clocks(str(tmp_path), ["n1", "n2"], random.Random(1), monotonic=False)
    yield made
    made.close()


def time_of(clocks, name):
    return int(subprocess.run([*clocks.prefix(name), "date", "+%s"], capture_output=True, check=True).stdout)


def test_each_daemon_has_a_wall_clock_of_its_own(clocks):
    clocks.set("n1", 7200)
    clocks.set("scheduler", -7200)
    now = time.time()
    assert 7100 < time_of(clocks, "n1") - now < 7300
    assert -7300 < time_of(clocks, "scheduler") - now < -7100
    assert -100 < time_of(clocks, "n2") - now < 100
    assert clocks.shift("n1") == 7200


def test_a_jump_ends_a_wait_by_the_time_of_day(clocks):
    argv = [*clocks.prefix("n1"), sys.executable, "-c", WAITS, os.uname().machine]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "waits\n"
    clocks.set("n1", 4000)
    assert child.communicate(timeout=60)[0] == "ETIMEDOUT\n"


def apart(work):
    return run_apart(work, as_user=os.geteuid() != 0)


def test_a_full_disk_has_no_block_left(tmp_path):
    def work():
        disk = SmallDisk(str(tmp_path / "small"), "1m")
        kept, more = os.path.join(disk.path, "kept"), os.path.join(disk.path, "more")
        with open(kept, "w") as file:
            file.write("kept")
        disk.fill()
        with open(more, "wb", buffering=0) as file, pytest.raises(OSError) as caught:
            file.write(bytes(4096))
        assert caught.value.errno == errno.ENOSPC
        disk.make_room()
        with open(more, "wb", buffering=0) as file:
            assert file.write(bytes(4096)) == 4096
        disk.close(keep=True)
        assert not os.path.ismount(disk.path)
        assert os.listdir(disk.path) and os.path.getsize(kept) == 4
        return 0

    assert apart(work) == 0


def test_a_slow_folder_hangs_and_answers(tmp_path):
    def work():
        slow = SlowFolder(str(tmp_path / "slow"), str(tmp_path / "behind"))
        with open(os.path.join(slow.path, "file"), "w") as file:
            file.write("one")
            file.flush()
            os.fsync(file.fileno())
        os.replace(os.path.join(slow.path, "file"), os.path.join(slow.path, "moved"))
        assert os.listdir(slow.behind) == ["moved"]
        slow.hang()
        found = []
        asks = threading.Thread(target=lambda: found.extend(os.listdir(slow.path)))
        asks.start()
        asks.join(0.5)
        assert asks.is_alive() and not found
        slow.answer()
        asks.join(20)
        assert found == ["moved"]
        slow.close()
        wait_until(lambda: not os.path.ismount(slow.path), 20, "it is gone")
        return 0

    assert apart(work) == 0


def test_nodes_have_monotonic_clocks_of_their_own(tmp_path):
    """And what a rank writes down goes by the machine's all the same."""

    def work():
        clocks = Clocks(str(tmp_path), ["n1"], random.Random(1), monotonic=True)
        code = "import time, rank; print(time.monotonic(), time.monotonic() - rank.AHEAD_S)"
        env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.abspath(__file__))}
        argv = [*clocks.prefix("n1"), sys.executable, "-c", code]
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
        own, machine = map(float, done.stdout.split())
        assert own > time.monotonic() + 900 and abs(machine - time.monotonic()) < 100
        clocks.close()
        return 0

    assert apart(work) == 0
