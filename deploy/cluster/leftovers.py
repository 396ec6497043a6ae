"""What a cluster on this machine may leave behind (processes, networks, jobs), found by the cluster's own folder."""

import json
import os

from .folders import remove_folder, tag_of
from .glim_cli import Glim
from .network import Network, remove_control_groups
from .processes import NotInTime, all_pids, environment_of, kill_process, start_time, wait_until
from .tokens import Tokens


def cancel_queue(glim):
    """The operator may; without identity each job's owner alone."""
    for job in reversed(glim.json("queue")["jobs"]):
        glim.run("cancel", job["id"], user=None if glim.tokens else job["user"])


def stop_remembered(folder):
    """Stops a cluster that another process left running, and removes its folder."""
    folder = os.path.realpath(folder)
    try:
        with open(os.path.join(folder, "cluster.json")) as file:
            state = json.load(file)
    except OSError:
        raise SystemExit(f"{folder} is not the folder of a cluster that --keep left running") from None
    tokens = None
    if state["secure"]:
        tokens = Tokens(os.path.join(folder, "scheduler", "operator"), os.path.join(folder, "users"))
    glim = Glim(os.path.join(state["bin"], "glim"), state["server"], folder, tokens)
    try:
        cancel_queue(glim)
        wait_until(lambda: not any(n["holder"] for n in glim.nodes().values()), 30, "every node is free")
    except Exception as error:
        print(f"the jobs could not be cancelled: {error}")
    for sign, seconds in ((15, 10), (9, 5)):
        for child in state["processes"]:
            kill_process(child["pid"], child["start_time"], sign)
        try:
            wait_until(
                lambda: all(start_time(c["pid"]) != c["start_time"] for c in state["processes"]),
                seconds,
                "all have ended",
            )
            break
        except NotInTime:
            continue
    kill_tasks_under(folder)
    if state["prefix"]:
        tag = tag_of(folder)
        Network(tag, state["nodes"], state["prefix"]).remove()
    remove_control_groups(f"/glim/{tag_of(folder)}")
    remove_folder(folder)


def kill_tasks_under(folder):
    """Kills tasks' processes whose socket, and shims whose task folder, lies in a cluster's own folder."""

    def ours(pid):
        if environment_of(pid).get("GLIM_SOCKET", "").startswith(folder + "/"):
            return True
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            return False
        return (
            len(words) > 1
            and os.path.basename(words[0]) == b"glim-shim"
            and words[1].startswith(os.fsencode(folder) + b"/")
        )

    killed = []
    for _ in range(50):  # what forks meanwhile is found the next time
        left = [(pid, start_time(pid)) for pid in all_pids() if ours(pid)]
        left = [(pid, started) for pid, started in left if started is not None]
        if not left:
            break
        for pid, started in left:
            kill_process(pid, started)
        killed += [pid for pid, _ in left if pid not in killed]
        try:
            wait_until(lambda: all(start_time(pid) != started for pid, started in left), 0.2, "gone", every=0.02)
        except NotInTime:
            continue
    return killed
