"""The other example jobs, run for real: one that ignores interrupts, one that leaves a daemon behind, a short one."""

import os
import signal
import subprocess
import sys

import pytest
from extension import PYTHONPATH
from bounds import BOUND_S, wait_until
from test_ddp_buckets import free_port

SDK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXAMPLES = os.path.join(SDK, "..", "..", "deploy", "examples")


def start(example, script, *arguments, **variables):
    return subprocess.Popen(
        [sys.executable, script, *arguments],
        cwd=os.path.join(EXAMPLES, example),
        env={**os.environ, "PYTHONPATH": PYTHONPATH, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def deaf(tmp_path, agent, attempt, resume="", steps=1000):
    return start(
        "deaf",
        "train.py",
        "--steps",
        str(steps),
        "--step-ms",
        "3",
        "--out",
        str(tmp_path / "out"),
        GLIM_SOCKET=agent.path,
        GLIM_RANK="0",
        RANK="0",
        WORLD_SIZE="1",
        GLIM_ATTEMPT=str(attempt),
        GLIM_CHECKPOINT_DIR=str(tmp_path / "saves"),
        GLIM_RESUME_PATH=resume,
    )


def test_the_deaf_job_answers_nothing_and_goes_on_from_its_last_save(agent, tmp_path):
    child = deaf(tmp_path, agent, attempt=1)
    try:
        agent.wait_taken("saved", 2)
        agent.interrupt()
        agent.tell({"type": "stop_now", "agreement": 1})
        child.send_signal(signal.SIGTERM)
        heard = len(agent.taken("saved"))
        agent.wait_taken("saved", heard + 3)  # it runs on all the same
        assert child.poll() is None
        assert not agent.taken("ack") and not agent.taken("leaving") and not agent.taken("finished")
    finally:
        child.kill()
        child.communicate()
    durable = agent.taken("saved")[-1]
    assert (durable["step"] + 1) % 20 == 0 and (durable["shard"], durable["shards"]) == (0, 1)
    agent.in_force.clear()
    last = durable["step"] + 30
    child = deaf(tmp_path, agent, attempt=2, resume=durable["path"], steps=last + 1)
    output = child.communicate(timeout=BOUND_S)[0]
    assert child.returncode == 0 and agent.taken("restored")[0]["step"] == durable["step"], output
    lines = [tuple(map(int, line.split())) for line in (tmp_path / "out" / "rank-0.txt").read_text().splitlines()]
    assert [step for attempt, step in lines if attempt == 2] == list(range(durable["step"] + 1, last + 1))
    whole = start("deaf", "train.py", "--steps", str(last + 1), "--step-ms", "0", "--out", str(tmp_path / "whole"))
    assert whole.communicate(timeout=BOUND_S)[0].splitlines()[-1] == output.splitlines()[-1]


@pytest.mark.parametrize("main", ["exit", "stay"])
def test_the_stubborn_job_leaves_a_daemon_that_ignores_sigterm(tmp_path, main):
    def heartbeat():
        return (tmp_path / "heartbeat").read_text() if (tmp_path / "heartbeat").exists() else ""

    child = start("stubborn", "run.py", "--out", str(tmp_path), "--main", main, "--seconds", "60", GLIM_TASK="9.1.0")
    daemon = 0
    try:
        assert child.stdout.readline() == "the daemon runs\n"
        daemon = int((tmp_path / "daemon.pid").read_text())
        if main == "stay":
            child.send_signal(signal.SIGTERM)
        wait_until(heartbeat, what="a heartbeat")
        if main == "exit":
            assert child.wait(BOUND_S) == 0
        else:
            assert child.poll() is None
        with open(f"/proc/{daemon}/environ", "rb") as file:
            assert b"GLIM_TASK=9.1.0" in file.read()
        with open(f"/proc/{daemon}/stat") as file:
            parent, _, session = file.read().rsplit(")", 1)[1].split()[1:4]
        assert int(parent) != child.pid and int(session) != os.getsid(0)
        os.kill(daemon, signal.SIGTERM)
        before = heartbeat()
        wait_until(lambda: heartbeat() not in ("", before), what="a heartbeat after SIGTERM")
    finally:
        if daemon:
            os.kill(daemon, signal.SIGKILL)
        child.kill()
        child.wait()
        child.stdout.close()


def test_the_urgent_job_learns_and_ends():
    port = str(free_port())
    ranks = [
        start("urgent", "train.py", RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        for rank in range(2)
    ]
    outputs = [rank.communicate(timeout=2 * BOUND_S)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], outputs
    assert "accuracy 0.9" in outputs[0]
