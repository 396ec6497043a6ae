"""A job's ranks stopped between two saves: how far they are does not depend on how busy the machine is."""

import contextlib
import signal

from cluster.processes import NotInTime, kill_process, processes_of, start_time, wait_until
from cluster.story import steps_done


def stop_between_saves(cluster, job_id, out, every, is_kept):
    """Stops all processes of the job's tasks some steps after a save, which are lost when they are killed. It saves
    after each `every` steps; `is_kept(step)` says whether the save of that step is where it is to be."""

    def stopped():
        step = steps_done(out)
        if not 2 <= step % every <= every - 3:
            return False
        pids = [(pid, start_time(pid)) for pid in processes_of(cluster.folder, job_id)]
        for pid, started in pids:
            kill_process(pid, started, signal.SIGSTOP)
        step = steps_done(out)
        if 2 <= step % every <= every - 3:
            with contextlib.suppress(NotInTime):  # a save that is under way is stopped as well
                wait_until(lambda: is_kept(step - step % every - 1), 3, "the save is kept")
                return True
        for pid, started in pids:
            kill_process(pid, started, signal.SIGCONT)
        return False

    wait_until(stopped, 120, "it is between two saves, and the first of them is kept", every=0.02)
