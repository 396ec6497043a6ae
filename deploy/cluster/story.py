"""The main story: a training job makes room for a more urgent one and comes back at its step; a job that does not
answer and a job that leaves a daemon behind. Each function does one part on a running cluster and returns what
happened as plain data; `problems_*` say what of it is not as it must be."""

import glob
import json
import os
import random
import subprocess
from dataclasses import dataclass
from typing import Optional

from .processes import SLOWER, process_inside, processes_of, start_time, wait_until
from .watch import Watch

PYTHON = "/usr/bin/python3"
WITNESS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "witness.py")
PHASES = ("notify", "agree", "save", "release", "start")
LONG_S = 600  # for a part of the story, on a machine that is busy with other work
# How many steps job C does, in the shell: its first attempt goes on until it is killed, however late that is; the next
# one does a few steps more.
UNTIL_KILLED = '$([ "$GLIM_ATTEMPT" = 1 ] && echo 1000000 || echo $((GLIM_RESUME_STEP + 21)))'


@dataclass(frozen=True)
class Training:
    """How job A trains. Its result depends on seed and epochs alone. `step_ms`: the least duration of a step, so that
    the first attempt is still there when it is to be interrupted; `later_step_ms`: of the later attempts."""

    seed: int = 1
    epochs: int = 6
    step_ms: int = 100
    later_step_ms: Optional[int] = None  # None: as the first attempt's

    def command(self):
        return (
            f"{PYTHON} train.py --epochs {self.epochs} --seed {self.seed} --step-ms {self._step_ms_in_shell()} "
            '--out "$DIGITS_OUT"'
        )

    def _step_ms_in_shell(self):
        first, later = slower_ms(self.step_ms), slower_ms(self.later_step_ms or 0)
        if self.later_step_ms is None:
            return str(first)
        return f'$([ "$GLIM_ATTEMPT" = 1 ] && echo {first} || echo {later})'


def slower_ms(ms):
    """A duration that a job takes so that others have the time to act: a slow machine needs more of it."""
    return round(ms * SLOWER)


def written_steps(path):
    """[(attempt, step), ...] as a rank wrote them into its file, which may grow meanwhile: whole lines alone."""
    try:
        with open(path) as file:
            lines = file.read().split("\n")[:-1]
    except FileNotFoundError:
        return []
    return [(int(attempt), int(step)) for attempt, step in (line.split()[:2] for line in lines)]


def steps_done(out, rank=0):
    """Number of the last step that the rank itself wrote down; -1: none."""
    written = written_steps(os.path.join(out, f"rank-{rank}.txt"))
    return written[-1][1] if written else -1


def check_run(examples, out, reference=None):
    """What the example's own check.py says about a run."""
    argv = [PYTHON, examples.path("digits", "check.py"), out]
    result = subprocess.run([*argv, *(["--reference", reference] if reference else [])], capture_output=True, text=True)
    if not result.stdout:
        raise RuntimeError(f"check.py: exit code {result.returncode}: {result.stderr}")
    return json.loads(result.stdout)


def random_step(seed, training, steps):
    """A step in the middle of an epoch: neither its first few nor, with the way to the agreed one ahead, its last."""
    epoch_steps = steps // training.epochs
    rng = random.Random(f"interrupt {seed}")
    epoch = rng.randrange(0, max(1, training.epochs - 1))
    return epoch * epoch_steps + rng.randrange(2, max(3, epoch_steps * 2 // 3))


class Stage:
    """A cluster, the examples, and a folder for what jobs write. `say` gets a line of progress."""

    def __init__(self, cluster, examples, folder, say=lambda line: None):
        self.cluster, self.examples, self.folder, self.say = cluster, examples, folder, say
        self.glim = cluster.glim

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    # ---- submitting

    def submit_training(self, name, training, user="ana"):
        spec = self.examples.derive(
            "digits",
            name,
            run=training.command(),
            env={"DIGITS_OUT": self.path(name)},
            checkpoint={"dir": self.path("ckpt", "$GLIM_JOB_ID"), "keep": 3},
        )
        return self.glim.submit(spec, user=user)

    def submit_urgent(self, name, victims, steps=200, user="ben"):
        """Job B on all four nodes. Before anything else, each of its ranks writes down who of its victims is there."""
        spec = self.examples.derive(
            "urgent",
            name,
            run=f"{self.witness(name, victims, 4)} && exec {PYTHON} train.py " f"--steps {steps}",
            placement={"leaf": "pack", "cross_zone": "auto"},
        )
        return self.glim.submit(spec, user=user)

    def submit_visitor(self, name, victims, nodes=4, user="ben", then="true", **fields):
        """A job of high priority that looks whether its victims' first attempts are gone, does `then`, and ends."""
        spec = self.examples.make(
            name, f"{self.witness(name, victims, nodes)} && {then}", nodes=nodes, priority="high", **fields
        )
        return self.glim.submit(spec, user=user)

    def witness(self, name, victims, ranks):
        """The command line that has each rank's beginning witnessed."""
        out = self.path(name + "-saw")
        Watch(self.cluster.folder, [f"{job}.1" for job in victims], out, ranks).start()
        self.cluster.open_to_tasks(out)
        return f"{PYTHON} {WITNESS} --out {out} --wait {round(30 * SLOWER)}"

    def seen(self, name, ranks):
        """What a submitted job's ranks saw at their beginning, in rank order."""
        reports = []
        for rank in range(ranks):
            with open(self.path(name + "-saw", f"rank-{rank}.json")) as file:
                reports.append(json.load(file))
        return reports

    # ---- parts of the story

    def reference(self, name, training, seconds=LONG_S):
        """Job A, left alone. Returns check.py's report."""
        job_id = self.submit_training(name, training)
        self.cluster.wait_state(job_id, "succeeded", seconds, every=0.2)
        report = check_run(self.examples, self.path(name))
        if not report["ok"] or report["attempts"] != 1:
            raise AssertionError(f"the uninterrupted run {name} is not a whole one: {report}")
        return report

    def interrupted(self, name, training, step, reference, urgent="urgent", urgent_steps=200, seconds=LONG_S):
        """Job A, interrupted by job B when A's first rank has done `step`."""
        cluster, out = self.cluster, self.path(name)
        a = self.submit_training(name, training)
        wait_until(
            lambda: cluster.check() or steps_done(out) >= step,
            seconds,
            lambda: f"job {a} did step {step}: {cluster.describe(self.glim.job(a))}",
            every=0.01,
        )
        b = self.submit_urgent(urgent, [a], urgent_steps)
        self.say(f"job {a} (A) has done step {steps_done(out)}: submitted job {b} (B), four nodes, priority high")
        cluster.wait_job(
            b,
            lambda job: job["attempts"] and job["attempts"][0]["started_at_ms"] > 0,
            seconds,
            f"job {b} starts",
            every=0.02,
        )
        agreements = self.glim.job(a)["attempts"][0]["agreements"]
        if not agreements:
            raise AssertionError(f"job {a} (A) ended by itself before job {b} (B) could interrupt it")
        stop = agreements[-1]["stop_step"]
        self.say(f"job {a} (A) agreed on step {stop}, saved and left; job {b} (B) has all four nodes")
        b_job = cluster.wait_state(b, "succeeded", seconds)
        self.say(f"job {b} (B) is done")
        cluster.wait_job(a, lambda job: job["attempt_count"] >= 2, seconds, f"job {a} comes back")
        a_job = cluster.wait_state(a, "succeeded", seconds)
        self.say(f"job {a} (A) came back at step {a_job['attempts'][1]['base_step'] + 1} and finished")
        return {
            "a": a_job,
            "b": b_job,
            "receipts": self.glim.receipts(a),
            "seen": self.seen(urgent, 4),
            "asked_at_step": step,
            "check": check_run(self.examples, out, self.path(reference)),
            "steps_of_a": ranges_by_attempt(out),
        }

    def deaf_and_stubborn(self, step, deaf="deaf", stubborn="stubborn", seconds=LONG_S):
        """Jobs C and D, both in the way of a third."""
        cluster = self.cluster
        c = self.submit_deaf(deaf)
        d = self.submit_stubborn(stubborn)
        daemon = self.wait_daemon(stubborn)
        wait_until(
            lambda: cluster.check() or steps_done(self.path(deaf)) >= step,
            seconds,
            lambda: f"job {c} did step {step}: {cluster.describe(self.glim.job(c))}",
            every=0.02,
        )
        visitor, told_of_c = f"{deaf}-visitor", self.glim.job(c)["attempts"][0]
        e = self.submit_visitor(visitor, [c, d])
        self.say(f"jobs {c} (C) and {d} (D) run: submitted job {e}, four nodes, priority high")
        node = self.glim.job(d)["attempts"][0]["tasks"][0]["node"]
        too_early = self.watch_node(node, d, daemon, seconds)
        self.say(f"node {node} of job {d} (D) was given away after its daemon (process {daemon[0]}) was gone")
        e_job = cluster.wait_state(e, "succeeded", seconds)
        self.glim.text("cancel", d, user="ana")
        c_job = cluster.wait_state(c, "succeeded", seconds)
        self.say(f"job {c} (C) came back at step {c_job['attempts'][1]['base_step'] + 1} and finished")
        d_job = cluster.wait_state(d, "cancelled", seconds)
        return {
            "c": c_job,
            "d": d_job,
            "e": e_job,
            "receipts": self.glim.receipts(c),
            "seen": self.seen(visitor, 4),
            "node": node,
            "node_given_too_early": too_early,
            "told_of_c": told_of_c,
            "steps_of_c": ranges_by_attempt(self.path(deaf)),
            "heartbeat": self.heartbeats(stubborn, e_job),
        }

    def submit_deaf(self, name, steps=UNTIL_KILLED, grace="2s", save_every=20, user="ana"):
        spec = self.examples.derive(
            "deaf",
            name,
            run=f"{PYTHON} train.py --steps {steps} --step-ms {slower_ms(50)} --save-every {save_every} "
            '--out "$DEAF_OUT"',
            env={"DEAF_OUT": self.path(name)},
            interrupt={"mode": "cooperative", "grace": grace, "max_grace": "10s"},
            checkpoint={"dir": self.path("ckpt", "$GLIM_JOB_ID"), "keep": 3},
        )
        return self.glim.submit(spec, user=user)

    def submit_stubborn(self, name, user="ana"):
        """Each attempt has a folder of its own, so that the first one's daemon stays known."""
        os.makedirs(self.path(name), exist_ok=True)
        self.cluster.open_to_tasks(self.path(name))
        spec = self.examples.derive(
            "stubborn",
            name,
            env={"STUBBORN_OUT": self.path(name)},
            run=f"{PYTHON} run.py --main stay --seconds {round(LONG_S * SLOWER)} "
            '--out "$STUBBORN_OUT/$GLIM_ATTEMPT"',
        )
        return self.glim.submit(spec, user=user)

    def wait_daemon(self, name, seconds=LONG_S):
        """(process id, start time) of the daemon that job D's first attempt leaves behind."""
        path = self.path(name, "1", "daemon.pid")
        wait_until(lambda: self.cluster.check() or os.path.exists(path), seconds, f"{name}'s daemon runs")
        with open(path) as file:
            inside = int(file.read())
        job = next(j["id"] for j in self.glim.json("queue")["jobs"] if j["spec"]["name"] == name)
        pid = process_inside(processes_of(self.cluster.folder, job), inside)
        return pid, start_time(pid)

    def watch_node(self, node, job_id, daemon, seconds):
        """Until the job's first attempt does not hold the node any more. True if that was so while the daemon was still
        there. (Who holds it then may be gone before we look; that the attempt has ended stays so.)"""

        def given_up():
            holder = self.glim.nodes()[node]["holder"]
            return (holder and holder["job_id"] != job_id) or self.glim.job(job_id)["attempts"][0]["ended_at_ms"] > 0

        wait_until(given_up, seconds, f"job {job_id} gives node {node} up", every=0.02)
        return start_time(daemon[0]) == daemon[1] and daemon[1] is not None

    def heartbeats(self, name, preemptor):
        """The daemon's last sign of life, and when its preemptor had all its nodes: seconds since the epoch."""
        with open(self.path(name, "1", "heartbeat")) as file:
            return {"last": float(file.read()), "preemptor_started": preemptor["attempts"][0]["started_at_ms"] / 1000}


def ranges_by_attempt(out):
    """{attempt: (first step, last step)} as the job's ranks wrote them down: the first that any began with, the last
    that any completed. When a gang is killed, one rank may have completed a step that another had only begun."""
    ranges = {}
    for path in glob.glob(os.path.join(glob.escape(out), "rank-*.txt")):
        for attempt, step in written_steps(path):
            first, last = ranges.get(attempt, (step, step))
            ranges[attempt] = (min(first, step), max(last, step))
    return ranges
