"""The stacks that a process tells when it is asked by a signal: whatever it hangs in, and it goes on."""

import os
import signal
import subprocess
import sys

from extension import SDK
from bounds import wait_until

from glim import stacks

HANGS = """
import os, sys, threading, time
from glim import stacks

assert stacks.open_door() and stacks.open_door()
lock = threading.Lock()
lock.acquire()

def open_it():
    sys.stdin.read()
    lock.release()

def wait_for_peer():
    print("hangs", flush=True)
    lock.acquire()

threading.Thread(target=open_it, daemon=True).start()
wait_for_peer()
print("goes on", flush=True)
"""


def start(code, **variables):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": SDK, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def doors(pid):
    """The files in memory by whose names an agent knows that it may ask."""
    folder = f"/proc/{pid}/fd"
    links = {f"{folder}/{name}": os.readlink(f"{folder}/{name}") for name in os.listdir(folder)}
    return [path for path, target in links.items() if target.startswith(f"/memfd:glim-stacks-{stacks.SIGNAL}")]


def test_stacks_of_all_threads_are_told_and_the_program_goes_on():
    program = start(HANGS)
    assert program.stdout.readline() == "hangs\n"
    (door,) = doors(program.pid)
    for times in (1, 2):
        os.kill(program.pid, stacks.SIGNAL)

        def told():
            with open(door) as file:
                return file.read()

        wait_until(lambda: told().count("in wait_for_peer") == times, what="the stacks")
        assert told().count("in open_it") == times, "every thread's"
    out, err = program.communicate("")
    assert (program.returncode, out, err) == (0, "goes on\n", ""), "nothing of it is in the output"


def test_a_program_that_uses_the_signal_itself_keeps_it():
    takes = "import signal; from glim import stacks; signal.signal(stacks.SIGNAL, lambda *_: None)"
    program = start(f"{takes}; print(stacks.open_door())")
    assert program.communicate()[0] == "False\n"


def test_a_session_opens_the_door_on_the_cluster_alone(agent):
    code = "import glim; run = glim.session(); print('there', flush=True); input()"
    for socket, wanted in (("", 0), (agent.path, 1)):
        program = start(code, GLIM_SOCKET=socket, GLIM_RANK="0", RANK="0")
        assert program.stdout.readline() == "there\n"
        assert len(doors(program.pid)) == wanted
        program.communicate("\n")


def test_the_signal_is_one_that_programs_leave_alone():
    assert signal.SIGRTMIN < stacks.SIGNAL < signal.SIGRTMAX
