"""Facts about processes, from /proc, and children with a log each."""

import os
import signal
import subprocess
import time

# How many times slower this machine is than those that the bounds here were chosen for: an emulated one, for example.
SLOWER = float(os.environ.get("GLIM_TEST_SLOWER", "1"))


class NotInTime(AssertionError):
    """A condition did not come true within its bound."""


def wait_until(condition, seconds, what, every=0.05):
    """Calls `condition` until it returns something true, and returns that. Raises NotInTime. `what` may be a function
    that says how things stand."""
    seconds, every = seconds * SLOWER, every * SLOWER
    until = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= until:
            raise NotInTime(f"not within {seconds:g} s: {what() if callable(what) else what}")
        time.sleep(every)


def start_time(pid):
    """When the process started, in clock ticks since boot; None if there is none or it is a zombie. With the process
    id it names one process for good."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def environment_of(pid):
    """{name: value} as the process was started with; empty if it is gone or another user's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError:
        return {}
    pairs = (os.fsdecode(entry).partition("=") for entry in entries if b"=" in entry)
    return {name: value for name, _, value in pairs}


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def processes_with(name, value):
    """Process ids of those that were started with this variable of the environment; zombies have none."""
    return [pid for pid in all_pids() if environment_of(pid).get(name) == value]


def processes_of(folder, job, attempt=None):
    """Process ids of a job's tasks (of one attempt, if given), those that daemonised too: GLIM_TASK marks them all.
    Zombies do not count, nor does another cluster on this machine: `folder` is the one of the cluster."""
    prefix = f"{job}." if attempt is None else f"{job}.{attempt}."

    def belongs(environment):
        return environment.get("GLIM_TASK", "").startswith(prefix) and environment.get("GLIM_SOCKET", "").startswith(
            folder + "/"
        )

    return [pid for pid in all_pids() if belongs(environment_of(pid)) and start_time(pid) is not None]


def process_inside(pids, inside):
    """Which of `pids` has the number `inside` in its own container; None if none has."""
    for pid in pids:
        try:
            with open(f"/proc/{pid}/status") as file:
                numbers = next((line.split()[1:] for line in file if line.startswith("NSpid:")), [])
        except OSError:
            continue
        if numbers and int(numbers[-1]) == inside:
            return pid
    return None


def tail(path, lines=40):
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - 64 * 1024))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
    except OSError as error:
        return f"({error})"


class Child:
    """A daemon that we started: its output goes to a file, it is stopped by its own process id, and a Ctrl-C on the
    terminal does not reach it (we stop it in order)."""

    def __init__(self, name, argv, log, env=None):
        self.name, self.log = name, log
        with open(log, "ab") as file:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=env, start_new_session=True
            )
        self.pid = self.process.pid
        self.start_time = start_time(self.pid)

    def alive(self):
        return self.process.poll() is None

    def check(self):
        if not self.alive():
            raise RuntimeError(f"{self.name} ended with exit code {self.process.returncode}:\n{tail(self.log)}")

    def stop(self, term_seconds=10):
        """SIGTERM, and SIGKILL if that does not help. Returns whether SIGTERM was enough."""
        if not self.alive():
            return True
        self.process.terminate()
        try:
            self.process.wait(term_seconds * SLOWER)
            return True
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return False


def kill_process(pid, started, sign=signal.SIGKILL):
    """Signals exactly that process; one that has taken over its number is left alone."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if start_time(pid) == started and started is not None:
            signal.pidfd_send_signal(handle, sign)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)
