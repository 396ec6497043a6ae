"""The digits example, four real ranks of DistributedDataParallel on a fake platform: however it is interrupted, the
batches and the final weights are, bit for bit, those of a run that was left alone."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile

import pytest
from bounds import BOUND_S
from extension import PYTHONPATH
from fake_agent import FakeAgent
from test_ddp_buckets import free_port

TESTS = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(TESTS, "..", "..", "..", "deploy", "examples", "digits")
WORLD = 4
EPOCHS, STEPS = 2, 44  # 1,437 digits, 4 ranks, 16 a batch: 22 steps an epoch


class Platform:
    """Launches attempts as `launcher: per-gpu` does, two nodes with two ranks each, and keeps what was saved."""

    def __init__(self, folder, sockets, step_ms):
        self.out = str(folder / "out")
        self.checkpoints = str(folder / "checkpoints")
        self.socket = sockets + "/agent"
        self.step_ms = step_ms
        self.attempt = 0
        self.base = {"step": -1, "path": ""}

    def run(self, at_step=None, kill=False, save_every=None, agree=True):
        """One attempt; at that step it is interrupted, or killed as soon as there is a save. The agent, for its
        record."""
        self.attempt += 1
        agent = FakeAgent(self.socket, world=WORLD if agree else 0)

        def on_progress(rank, step):
            if rank == 0 and step >= at_step and (not kill or agent.taken("saved")):
                agent.on_progress = None
                if kill:
                    for child in ranks:
                        child.kill()
                else:
                    agent.interrupt()
                    if not agree:
                        agent.tell({"type": "stop_now", "agreement": 1})

        with contextlib.ExitStack() as children:
            ranks = [children.enter_context(child) for child in self._launch(save_every)]
            with agent.changed:
                agent.on_progress = on_progress if at_step is not None else None
            outputs = [child.communicate(timeout=2 * BOUND_S)[0] for child in ranks]
        agent.stop()
        assert agent.faults == []
        codes = [child.returncode for child in ranks]
        assert codes == [-signal.SIGKILL if kill else 0] * WORLD, "\n".join(outputs)
        saves = agent.taken("saved")
        if saves:
            self.base = max(saves, key=lambda save: save["step"])
        return agent

    def _launch(self, save_every):
        port = free_port()
        command = [
            sys.executable,
            "train.py",
            "--epochs",
            str(EPOCHS),
            "--seed",
            "7",
            "--out",
            self.out,
            "--step-ms",
            str(self.step_ms),
        ]
        command += ["--save-every", str(save_every)] if save_every else []
        for rank in range(WORLD):
            env = {
                **os.environ,
                "PYTHONPATH": PYTHONPATH,
                "GLIM_SOCKET": self.socket,
                "GLIM_JOB_ID": "1",
                "GLIM_ATTEMPT": str(self.attempt),
                "GLIM_RANK": str(rank),
                "GLIM_NODE_RANK": str(rank // 2),
                "GLIM_NNODES": "2",
                "GLIM_CHECKPOINT_DIR": self.checkpoints,
                "GLIM_RESUME_STEP": str(self.base["step"]),
                "GLIM_RESUME_PATH": self.base["path"],
                "RANK": str(rank),
                "LOCAL_RANK": str(rank % 2),
                "WORLD_SIZE": str(WORLD),
                "LOCAL_WORLD_SIZE": "2",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
            }
            yield subprocess.Popen(
                command, cwd=EXAMPLE, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )

    def check(self, reference=None):
        command = [sys.executable, os.path.join(EXAMPLE, "check.py"), self.out]
        done = subprocess.run(
            command + (["--reference", reference] if reference else []), capture_output=True, text=True, timeout=BOUND_S
        )
        report = json.loads(done.stdout)
        assert (done.returncode == 0) == report["ok"]
        return report


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    with short_folder() as sockets:
        platform = Platform(tmp_path_factory.mktemp("reference"), sockets, step_ms=0)
        agent = platform.run()
        assert all(agent.taken("finished", rank) for rank in range(WORLD))
        report = platform.check()
        assert report["ok"] and report["steps"] == STEPS and report["attempts"] == 1
        assert report["accuracy"] > 0.8  # two epochs; the job's six reach 0.98
        yield platform.out


@contextlib.contextmanager
def short_folder():
    with tempfile.TemporaryDirectory(prefix="glim-sdk-", dir="/tmp") as folder:
        yield folder


@pytest.mark.parametrize("seed", [1, 2])
def test_interrupted_at_a_random_step_it_ends_with_the_same_bits(tmp_path, short_dir, reference, seed):
    platform = Platform(tmp_path, short_dir, step_ms=30)
    at_step = random.Random(seed).randint(2, 30)
    agent = platform.run(at_step)
    stop = agent.agreed_step
    assert at_step < stop < STEPS - 1
    for rank in range(WORLD):
        assert agent.taken("progress", rank)[-1]["step"] == stop
        assert [m["agreement"] for m in agent.taken("leaving", rank)] == [1]
    assert [(m["step"], m["shards"]) for m in agent.taken("saved")] == [(stop, 1)]
    assert not platform.check()["ok"]  # not at its end yet
    agent = platform.run()
    assert all(agent.taken("restored", rank)[0]["step"] == stop for rank in range(WORLD))
    report = platform.check(reference)
    assert report["ok"] and report["every_step_once"] and report["equals_reference"], report
    assert report["first_step_of_attempt"] == {"1": 0, "2": stop + 1}


def test_without_an_agreement_rank_zero_saves_alone_and_no_rank_fails(tmp_path, short_dir, reference):
    """The others are somewhere in a collective with rank 0 that is gone; that must not look like a failure."""
    platform = Platform(tmp_path, short_dir, step_ms=30)
    agent = platform.run(at_step=11, agree=False)
    assert all(agent.taken("leaving", rank) for rank in range(WORLD))
    assert len(agent.taken("saved")) == 1 and platform.base["step"] >= 11
    platform.run()
    assert platform.check(reference)["equals_reference"]


def test_killed_it_redoes_steps_and_still_ends_with_the_same_bits(tmp_path, short_dir, reference):
    platform = Platform(tmp_path, short_dir, step_ms=30)
    platform.run(at_step=30, kill=True, save_every=20)
    assert platform.base["step"] == 19
    platform.run()
    report = platform.check(reference)
    assert report["equals_reference"] and report["steps_redone"] >= 4 and not report["every_step_once"], report


def test_check_tells_what_is_wrong(tmp_path, reference):
    out = tmp_path / "out"
    out.mkdir()
    for name in os.listdir(reference):
        with open(os.path.join(reference, name)) as file:
            (out / name).write_text(file.read())
    platform = Platform(tmp_path, "/nowhere", 0)
    assert platform.check(reference)["ok"]
    lines = (out / "rank-2.txt").read_text().splitlines(keepends=True)
    (out / "rank-2.txt").write_text("".join(lines[:5] + lines[6:]))
    report = platform.check(reference)
    assert report["problems"][0] == "rank 2: 1 steps missing, the first is 5" and not report["every_step_once"]
    attempt, step, digest = lines[5].split()
    (out / "rank-2.txt").write_text("".join(lines) + f"{attempt} {step} {digest[::-1]}\n")
    report = platform.check()
    assert "rank 2: step 5 was done with two different batches" in report["problems"] and report["steps_redone"] == 1
    (out / "rank-2.txt").write_text("".join(lines))
    result = json.loads((out / "result.json").read_text())
    (out / "result.json").write_text(json.dumps({**result, "weights_digest": "0" * 64}))
    report = platform.check(reference)
    assert report["every_step_once"] and not report["equals_reference"] and not report["ok"]
