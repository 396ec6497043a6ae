"""Programs that may take minutes and say much: their words go to a file."""

import os
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

from .processes import SLOWER


class StepFailed(RuntimeError):
    """A step before the story failed: what, why as far as it is known, and where one reads on."""


def run_logged(argv, log, cwd=None, env=None, seconds=None, on_line=None):
    """Runs a program to its end, its words appended to the file `log`; `on_line` gets each line. Returns the exit code;
    None: it was not done after `seconds`. However this ends, nothing of the program runs on: it is a process group of
    its own, which a Ctrl-C on the terminal does not reach, and which we end in order."""
    # Python raises KeyboardInterrupt in the main thread alone: another one starts the program, so that it is there to
    # be ended when the Ctrl-C comes meanwhile.
    with open(log, "ab") as file, ThreadPoolExecutor(1) as starter:
        late = threading.Event()
        timer = threading.Timer(seconds or 0, lambda: (late.set(), signal_group(starting.result(), signal.SIGKILL)))
        timer.daemon = True
        starting = starter.submit(
            subprocess.Popen,
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process = starting.result()
            if seconds is not None:
                timer.start()
            for line in process.stdout:
                file.write(line)
                if on_line:
                    on_line(line.decode(errors="replace"))
            process.wait()
        except BaseException:
            end_group(starting.result())
            raise
        finally:
            timer.cancel()
            starting.result().stdout.close()
    return None if late.is_set() else process.returncode


def signal_group(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def end_group(process, seconds=10):
    """SIGINT, as a Ctrl-C: ninja passes it on to its compilers, which are groups of their own. SIGKILL if that does not
    help in time, or if we are interrupted once more."""
    signal_group(process, signal.SIGINT)
    try:
        process.wait(seconds * SLOWER)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        pass
    signal_group(process, signal.SIGKILL)
    process.wait()
