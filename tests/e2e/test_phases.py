"""The scheduler's and the agent's idea of each phase of a task: a real scheduler and a real agent are brought through
every row of the table in docs/protocols/agent-sync.md, in both runtimes. The table says what is expected; a row without
a scenario fails, and so does a scenario without a row."""

import json
import os
import re
import shutil
import signal

import pytest

from cluster.local_cluster import CONFIG, LocalCluster, default_runtime
from cluster.processes import processes_of, start_time, wait_until
from cluster.spec import Examples
from cluster.story import Stage
from conftest import BIN, ROOT, lasting

RUNTIMES = ("runc", "process") if default_runtime() == "runc" else ("process",)
DEAF = "trap '' TERM; echo up; while :; do sleep 0.2; done"  # until it is killed
SLOW_STOPS = CONFIG.replace("kill_after_term: 1s", f"kill_after_term: {lasting(5)}")


def table():
    """{situation: (left, reported, phase, node)}"""
    with open(os.path.join(ROOT, "docs", "protocols", "agent-sync.md")) as file:
        text = file.read()
    rows = {}
    for line in text[text.index("| situation | left |") :].splitlines()[2:]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        rows[re.match(r"`(\w+)`", cells[0])[1]] = tuple(cells[1:5])
    return rows


ROWS = table()


class SlowToStart(LocalCluster):
    """One node; a shim waits before it does anything, as long as the file `hold` is there."""

    def __init__(self, folder, runtime):
        self.programs = os.path.join(folder, "programs")
        self.hold = os.path.join(folder, "hold")
        os.makedirs(self.programs)
        for name in ("glim-init", "glim-inventory", "glim-paths", "glim-task", "glim-unpack"):
            os.symlink(os.path.join(BIN, name), os.path.join(self.programs, name))
        with open(os.path.join(self.programs, "glim-shim"), "w") as file:
            file.write(f"#!/bin/sh\nwhile [ -e {self.hold} ]; do /bin/sleep 0.05; done\n")
            file.write(f'exec {BIN}/glim-shim "$@"\n')
        os.chmod(file.name, 0o755)
        super().__init__(BIN, folder, nodes={"n1": ("A", "a1")}, config=SLOW_STOPS, runtime=runtime)

    def runtime_options(self, name):
        return [*super().runtime_options(name), "--shim", os.path.join(self.programs, "glim-shim")]


class Sides:
    """What each side says of a job's first task, in its newest attempt."""

    def __init__(self, cluster):
        self.cluster = cluster

    def task(self, job):
        return f"{job}.{self.cluster.glim.job(job)['attempt_count']}.0"

    def agent(self, task):
        with open(os.path.join(self.cluster.logs, "agent-n1.log")) as file:
            lines = re.findall(rf'event=task_phase task={re.escape(task)} phase="?([A-Za-z_ ]+?)"? exit', file.read())
        return lines[-1] if lines else ""

    def scheduler(self, job, attempt):
        tasks = self.cluster.glim.job(job)["attempts"][attempt - 1]["tasks"]
        holder = self.cluster.glim.nodes()["n1"]["holder"]
        held = bool(holder) and (holder["job_id"], holder["number"]) == (job, attempt)
        return tasks[0]["phase"] if tasks else "pending", "held" if held else "free"

    def left(self, task):
        """Whether anything of it runs: by the kernel's account for root, which knows of more than its marks."""
        group = f"/sys/fs/cgroup/unified{self.cluster.control_group}/n1/{task}"
        if not os.path.isdir("/sys/fs/cgroup/unified"):
            group = f"/sys/fs/cgroup{self.cluster.control_group}/n1/{task}"
        try:
            with open(os.path.join(group, "cgroup.events")) as file:
                return "populated 1" in file.read()
        except OSError:
            job, attempt, _ = task.split(".")
            return bool(processes_of(self.cluster.folder, int(job), int(attempt)))


class Scenarios:
    """Each brings a job of its own into the situation and returns it with its attempt's number."""

    def __init__(self, stage):
        self.stage, self.cluster, self.glim = stage, stage.cluster, stage.glim

    def submit(self, run, **more):
        return self.glim.submit(self.stage.examples.make("phases", run, **more))

    def runs(self, run=DEAF):
        job = self.submit(run)
        self.cluster.wait_state(job, "running", 30)
        wait_until(lambda: processes_of(self.cluster.folder, job, 1), 30, "its ranks run")
        return job

    def shim(self, job):
        with open(os.path.join(self.cluster.folder, "n1", "tasks", f"{job}.1.0", "shim.json")) as file:
            shim = json.load(file)
        assert start_time(shim["pid"]) == shim["start_ticks"]
        return shim["pid"]

    def starting(self):
        open(self.cluster.hold, "w").close()
        return self.submit("true"), 1

    def running(self):
        return self.runs(), 1

    def stopping(self):
        job = self.runs()
        self.glim.run("cancel", job)
        return job, 1

    def leftovers(self):
        # The rank ends only when who is left behind is deaf to SIGTERM.
        deaf = 'trap "" TERM; echo > /tmp/deaf-$GLIM_JOB_ID; exec sleep 1000'
        wait = "until [ -e /tmp/deaf-$GLIM_JOB_ID ]; do sleep 0.05; done; rm /tmp/deaf-$GLIM_JOB_ID"
        return self.submit(f"( setsid bash -c '{deaf}' & ); {wait}; echo up; exit 0"), 1

    def released(self):
        return self.submit("exit 7"), 1

    def start_failed(self):
        path = os.path.join(self.stage.folder, "a-file")
        open(path, "w").close()
        return self.submit("true", workdir=path), 1

    def lost_live(self):
        job = self.runs()
        os.kill(self.shim(job), signal.SIGKILL)
        return job, 1

    def lost_gone(self):
        job, attempt = self.lost_live()
        self.glim.run("cancel", job)  # it would run again, and the row of this attempt's task would go
        return job, attempt

    def unknown(self):
        """The machine was set up anew under the agent's identity."""
        job = self.runs()
        self.cluster.kill("n1")
        self.cluster.kill_tasks_of("n1")
        shutil.rmtree(os.path.join(self.cluster.folder, "n1", "tasks"))
        os.remove(os.path.join(self.cluster.folder, "n1", "desired.pb"))
        self.glim.run("cancel", job)
        self.cluster.start_again("n1")
        return job, 1

    def unheard(self):
        job = self.runs()
        self.cluster.kill("n1")
        with open(os.path.join(self.cluster.logs, "agent-n1.log"), "w"):
            pass  # from here on it says nothing
        wait_until(lambda: self.glim.nodes()["n1"]["state"] == "silent", 30, "the node is silent")
        return job, 1


@pytest.fixture(scope="module", params=RUNTIMES)
def phases(request, tmp_path_factory):
    from cluster.folders import make_folder, remove_folder

    folder = make_folder("glim-phases-")
    cluster = SlowToStart(folder, request.param)
    try:
        cluster.start()
        yield Scenarios(Stage(cluster, Examples(ROOT, cluster.jobs, cluster.task_user), cluster.jobs, print))
    finally:
        print(cluster.tails())
        faults = cluster.stop()
        remove_folder(folder)
    assert faults == []


def test_every_row_has_a_scenario():
    scenarios = {name for name in vars(Scenarios) if name in ROWS}
    assert scenarios == set(ROWS) and len(ROWS) == 10


@pytest.mark.parametrize("situation", ROWS)
def test_both_sides_have_the_same_idea(phases, situation):
    left, reported, phase, node = ROWS[situation]
    cluster, sides = phases.cluster, Sides(phases.cluster)
    wanted = " ".join(word.strip() for word in reported.split(",")).strip()
    try:
        job, attempt = getattr(phases, situation)()
        task = f"{job}.{attempt}.0"
        seen = []

        def as_the_table_says():
            now = (sides.agent(task), *sides.scheduler(job, attempt))
            if not seen or seen[-1] != now:
                seen.append(now)
            return now == (wanted, phase, node)

        try:
            wait_until(as_the_table_says, 40, "both sides say what the table says", every=0.03)
        except AssertionError:
            raise AssertionError(f"{situation}: wanted {(wanted, phase, node)}, seen {seen}") from None
        if left == "no":
            assert not sides.left(task), "something runs of what was reported released"
        elif situation != "starting":
            assert sides.left(task), "its ranks run"
    finally:
        if os.path.exists(cluster.hold):
            os.remove(cluster.hold)
        if "n1" in cluster.away:
            cluster.start_again("n1")
        cluster.wait_ready()
        cluster.cancel_all()
        cluster.wait_idle()
