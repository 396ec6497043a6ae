"""A line of the kernel's log says that a node's hardware fails: operators see it, and the job that runs there goes on
elsewhere. Each agent has a pipe of its own in place of the kernel's log."""

import contextlib

from cluster.hardware import gpu_falls_off, problems_of_hardware
from cluster.kernel_logs import FELL_OFF_THE_BUS, KernelLogs
from cluster.local_cluster import CONFIG
from cluster.metrics import Metrics
from cluster.processes import wait_until
from cluster.story import PYTHON, Training, ranges_by_attempt
from between_saves import stop_between_saves
from conftest import own_stage
from watched import health_events

NODES = {"n1": ("A", "a1"), "n2": ("A", "a1")}
SAVE_EVERY = 10


@contextlib.contextmanager
def watched(folder, **options):
    """Nodes whose agents look after their hardware, of which there is none but what the logs say; with these logs."""
    logs = KernelLogs(folder)
    with own_stage(folder, **{"nodes": NODES, "config": CONFIG, "kernel_log": logs.options, **options}) as stage:
        yield stage, logs


def submit_saver(stage, steps):
    """A job that begins on n1 and saves every ten steps; its state is a chain, so a step left out or done twice
    shows."""
    spec = stage.examples.derive(
        "deaf",
        "saver",
        run=f"{PYTHON} train.py --steps {steps} --step-ms 50 --save-every {SAVE_EVERY} " '--out "$DEAF_OUT"',
        nodes=1,
        env={"DEAF_OUT": stage.path("saver")},
        checkpoint={"dir": stage.path("ckpt", "$GLIM_JOB_ID"), "keep": 100},
    )
    stage.glim.text("admin", "node", "cordon", "n2", "--reason", "the job begins on n1", "-y")
    job = stage.glim.submit(spec)
    stage.cluster.wait_state(job, "running", 60)
    stage.glim.text("admin", "node", "uncordon", "n2", "-y")
    return job


def newest(stage, job):
    return stage.glim.job(job)["attempts"][-1]


def test_what_the_kernel_says_of_a_node_is_seen(fresh_folder):
    with watched(fresh_folder) as (stage, logs):
        logs.say("n1", FELL_OFF_THE_BUS)
        event = wait_until(lambda: health_events(stage.glim, "n1"), 30, "the event is there")[0]
        assert "79" in event["message"] and "0000:3b:00.0" in event["message"], event
        assert health_events(stage.glim, "n2") == []


def test_a_job_goes_on_elsewhere_when_its_gpu_falls_off_the_bus(fresh_folder):
    with watched(fresh_folder) as (stage, logs):
        cluster, glim = stage.cluster, stage.glim
        job = submit_saver(stage, steps=150)

        def kept(step):
            return SAVE_EVERY < step == newest(stage, job)["durable_step"] < newest(stage, job)["last_step"]

        stop_between_saves(cluster, job, stage.path("saver"), SAVE_EVERY, kept)
        logs.say("n1", FELL_OFF_THE_BUS)
        wait_until(lambda: glim.job(job)["attempt_count"] == 2, 30, "it is restarted at once", every=0.05)
        first = glim.job(job)["attempts"][0]
        assert first["outcome"] == "gpu_failure"
        assert [task["node"] for task in first["tasks"]] == ["n1"]
        assert glim.nodes()["n1"]["cordon"]["by"] == "health"
        ended = cluster.wait_state(job, "succeeded", 120)
        assert ended["attempt_count"] == 2
        assert [task["node"] for task in ended["attempts"][1]["tasks"]] == ["n2"]
        base = ended["attempts"][1]["base_step"]
        assert base == ended["attempts"][0]["durable_step"], "from its last save"
        assert ranges_by_attempt(stage.path("saver"))[2] == (base + 1, 149)
        assert 0 < ended["attempts"][0]["steps_lost"] <= SAVE_EVERY
        assert glim.nodes()["n1"]["cordon"]["by"] == "health", "nobody comes until an operator says so"
        assert len(health_events(glim, "n1")) == 1


def test_the_storys_training_ends_with_the_same_weights_when_a_gpu_falls_off_the_bus(fresh_folder):
    """The act of deploy/quickstart, with its judges: ana and ben, in containers where the tests run as root."""
    metrics = Metrics()
    options = {"config": metrics.config(CONFIG), "nodes": None, "users": ("ana", "ben"), "checkpoint_root": True}
    with watched(fresh_folder, **options) as (stage, logs):
        stage.reference("reference", Training(seed=1, step_ms=0))
        story = gpu_falls_off(stage, logs, metrics, "hardware", "reference", seed=1)
    assert problems_of_hardware(story) == []
