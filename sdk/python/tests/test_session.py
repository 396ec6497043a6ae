"""The session's calls, on and off the cluster, against a strict agent."""

import os
import subprocess
import sys
import threading
import time

import pytest
from bounds import BOUND_S, wait_until
from fake_agent import FakeAgent

import glim
from glim.client import Client
from glim.environment import Environment


@pytest.fixture
def on_cluster(agent, monkeypatch):
    monkeypatch.setenv("GLIM_SOCKET", agent.path)
    monkeypatch.setenv("GLIM_RANK", "0")
    monkeypatch.setenv("RANK", "0")
    return agent


def connected(agent):
    agent.wait(lambda: agent.rank().connection is not None, what="a connection")


def test_off_the_cluster_everything_is_harmless():
    with glim.session() as run:
        assert run.restore() == 0
        assert list(run.steps(range(5), save_every=1)) == [0, 1, 2, 3, 4]
        assert run.interrupted() is None and not run.stopped and not run.extend(5)
        run.progress(step=3, loss=0.5)
        run.checkpoint_saved("/x", 3)
        run.restored(3)
        assert run.begin_step(5) and not run.should_stop_after(5)
        with run.critical():
            pass
        assert run.save() is None and run.loss == 0.5
        assert run.leave()


def test_off_the_cluster_epochs_and_yield():
    with glim.session() as run:
        seen = []
        for epoch in run.epochs(3):
            for item in run.steps("ab"):
                seen.append((epoch, item))
                if len(seen) == 5:
                    run.yield_now()
        assert seen == [(0, "a"), (0, "b"), (1, "a"), (1, "b"), (2, "a")] and run.stopped
    with glim.session() as run:
        assert "".join(run.steps("abc", epochs=2)) == "abcabc"


def test_a_full_run_tells_progress_and_finished(on_cluster):
    with glim.session() as run:
        assert list(run.steps(range(7), epochs=1)) == list(range(7))
        on_cluster.wait_taken("finished")
        on_cluster.interrupt()  # late: any stop step suits
        assert on_cluster.wait_taken("ack")[0]["finished"] is True
    assert on_cluster.taken("progress")[-1]["step"] == 6
    assert len(on_cluster.taken("finished")) == 1 and not on_cluster.taken("leaving")


def test_the_end_of_the_block_says_finished(on_cluster):
    with glim.session() as run:
        list(run.steps(range(3)))
        assert not on_cluster.taken("finished")  # another steps() might follow
    assert on_cluster.taken("finished")


def test_steps_stops_after_the_agreed_step_and_leaves(on_cluster):
    with glim.session() as run:
        done = []
        for step in run.steps(range(10_000)):
            if step == 3:
                on_cluster.interrupt(agreement=4)
                hold = on_cluster.wait_taken("ack")[0]["hold"]
                assert hold > 3
                on_cluster.tell({"type": "stop_at", "agreement": 4, "step": hold + 2})
            done.append(step)
            time.sleep(0.002)  # K counts steps in 250 ms
        assert run.stopped and done == list(range(hold + 3))
        notice = run.interrupted()
        assert (notice.agreement, notice.stop_step, notice.no_agreement) == (4, hold + 2, False)
        assert notice.reason == "job 2 needs 1 node" and 0 < notice.seconds_left <= 60
        run.checkpoint_saved("/save", done[-1], bytes=10)
    kinds = [m["type"] for m in on_cluster.rank().messages]
    assert kinds[-2:] == ["saved", "leaving"] and "finished" not in kinds
    assert on_cluster.taken("leaving")[0]["agreement"] == 4
    assert on_cluster.taken("progress")[-1]["step"] == hold + 2


def test_a_repeated_interrupt_gets_the_same_answer(on_cluster):
    with glim.session() as run:
        run.begin_step(0)
        on_cluster.interrupt()
        hold = on_cluster.wait_taken("ack")[0]["hold"]
        run.begin_step(1)
        on_cluster.drop_connection()  # what is in force is told again
        assert on_cluster.wait_taken("ack", 2)[1]["hold"] == hold
        on_cluster.tell({"type": "withdrawn", "agreement": 1})


def test_withdrawn_takes_the_flag_down_and_training_goes_on(on_cluster):
    with glim.session() as run:
        run.begin_step(0)
        on_cluster.interrupt()
        on_cluster.wait_taken("ack")
        assert run.interrupted()
        on_cluster.tell({"type": "withdrawn", "agreement": 1})
        wait_until(lambda: run.interrupted() is None)
        assert all(run.begin_step(i) for i in range(1, 50))
    assert on_cluster.taken("finished")


@pytest.mark.parametrize("rank, last", [(0, 0), (1, 1)])
def test_stop_now_stops_at_the_next_boundary(on_cluster, monkeypatch, rank, last):
    monkeypatch.setenv("GLIM_RANK", str(rank))
    monkeypatch.setenv("RANK", str(rank))
    with glim.session() as run:
        assert run.begin_step(0)
        on_cluster.interrupt()
        on_cluster.wait_taken("ack", number=rank)
        on_cluster.tell({"type": "stop_now", "agreement": 1})
        wait_until(lambda: run.interrupted().no_agreement)
        assert not run.begin_step(last + 1)
    assert on_cluster.taken("leaving", rank)


def stop_without_agreement(agent, run):
    """After its first step."""
    run.begin_step(0)
    agent.interrupt()
    agent.wait_taken("ack")
    agent.tell({"type": "stop_now", "agreement": 1})
    wait_until(lambda: run.interrupted().no_agreement)


def test_a_collective_that_breaks_without_an_agreement_is_no_failure(on_cluster, capfd):
    with pytest.raises(SystemExit) as ended:
        with glim.session() as run:
            stop_without_agreement(on_cluster, run)
            raise RuntimeError("connection closed by peer")
    assert ended.value.code == 0 and on_cluster.taken("leaving")
    assert "connection closed by peer" in capfd.readouterr().err


@pytest.mark.parametrize("code, told", [((), ["leaving"]), ((0,), ["leaving"]), ((1,), [])])
def test_a_script_that_ends_itself_inside_the_block_leaves_with_0_alone(on_cluster, code, told):
    with pytest.raises(SystemExit):
        with glim.session() as run:
            stop_without_agreement(on_cluster, run)
            assert not run.begin_step(1)
            sys.exit(*code)
    kinds = [kind for kind in ("leaving", "finished") if on_cluster.taken(kind)]
    assert kinds == told, "else a job that is half trained would look like one that is done"


def test_an_exception_with_an_agreement_is_a_failure(on_cluster):
    with pytest.raises(RuntimeError):
        with glim.session() as run:
            run.begin_step(0)
            on_cluster.interrupt()
            on_cluster.tell({"type": "stop_at", "agreement": 1, "step": 5})
            wait_until(lambda: run.interrupted() and run.interrupted().stop_step == 5)
            raise RuntimeError("a bug")
    assert not on_cluster.taken("leaving") and not on_cluster.taken("finished")


def test_who_only_reports_never_acknowledges_but_sees_the_flag(on_cluster):
    with glim.session() as run:
        run.progress(step=1)
        run.checkpoint_saved("/save", 1)
        on_cluster.interrupt()
        wait_until(lambda: run.interrupted() is not None)
        on_cluster.drop_connection()
        run.checkpoint_saved("/save", 2)
        on_cluster.wait_taken("saved", 2)
        on_cluster.tell({"type": "stop_now", "agreement": 1})
        assert run.leave()
    assert not on_cluster.taken("ack") and not on_cluster.taken("finished")
    assert on_cluster.taken("leaving")[0]["agreement"] == 1


def test_an_interrupt_before_the_first_step_is_answered_at_the_first_step(on_cluster):
    with glim.session() as run:
        on_cluster.interrupt()
        wait_until(lambda: run.interrupted() is not None)
        assert not on_cluster.taken("ack")
        steps = run.steps(range(100), start=40)
        assert next(steps) == 0
        assert on_cluster.wait_taken("ack")[0]["hold"] in (40, 41)
        on_cluster.tell({"type": "stop_at", "agreement": 1, "step": 41})
        assert list(steps) == [1]


def test_waits_at_the_hold_while_the_agent_is_away(on_cluster):
    with glim.session() as run:
        run.begin_step(0)
        on_cluster.interrupt()
        hold = on_cluster.wait_taken("ack")[0]["hold"]
        on_cluster.stop()
        answers = []
        ask = threading.Thread(target=lambda: answers.extend(run.begin_step(i) for i in range(1, hold + 2)))
        ask.start()
        wait_until(lambda: run._hold.waiting, what="the hold")
        assert answers == [True] * hold
        on_cluster.in_force.append({"type": "stop_at", "agreement": 1, "step": hold})
        on_cluster.start()
        ask.join(BOUND_S)
        assert answers == [True] * hold + [False]


def test_should_stop_after_works_without_steps(on_cluster):
    with glim.session() as run:
        step = 0
        while not run.should_stop_after(step):
            step += 1
            time.sleep(0.002)
            if step == 5:
                on_cluster.interrupt()
                hold = on_cluster.wait_taken("ack")[0]["hold"]
                on_cluster.tell({"type": "stop_at", "agreement": 1, "step": hold + 1})
        assert step == hold + 1
    assert on_cluster.taken("progress")[-1]["step"] == hold + 1


def test_extend_critical_and_yield(on_cluster):
    with glim.session() as run:
        run.begin_step(0)
        with run.critical():
            on_cluster.interrupt()
            wait_until(lambda: run.interrupted() is not None)
            assert run.extend(90.2) and run.begin_step(1)
            assert on_cluster.wait_taken("needs")[0]["seconds"] == 91
            assert not on_cluster.taken("ack")
        on_cluster.wait_taken("ack")
        on_cluster.tell({"type": "withdrawn", "agreement": 1})
        wait_until(lambda: run.interrupted() is None)
        run.yield_now()
        assert not run.begin_step(2)
    assert on_cluster.taken("leaving")[0]["agreement"] == 0


def test_leave_is_bounded_when_nobody_listens(on_cluster):
    with glim.session() as run:
        connected(on_cluster)
        on_cluster.stop()
        began = time.monotonic()
        assert not run.leave(timeout_s=0.2)
        assert time.monotonic() - began < BOUND_S


def test_leave_waits_for_an_agent_that_comes_back_however_late(on_cluster, monkeypatch):
    """Who exits with 0 and was not heard counts as done, so nobody may give up waiting."""
    bounds = []
    flush = Client.flush
    monkeypatch.setattr(Client, "flush", lambda self, bound: bounds.append(bound) or flush(self, bound))
    with glim.session() as run:
        connected(on_cluster)
        on_cluster.stop()
        heard = []
        leaving = threading.Thread(target=lambda: heard.append(run.leave()))
        leaving.start()
        wait_until(lambda: bounds == [None])
        on_cluster.start()
        leaving.join(BOUND_S)
        assert heard == [True]
    assert on_cluster.taken("leaving")


def test_restore_without_tracked_objects_skips_what_was_done(on_cluster, monkeypatch):
    monkeypatch.setenv("GLIM_RESUME_STEP", "6")
    monkeypatch.setenv("GLIM_RESUME_PATH", "/somewhere/step-6")
    with glim.session() as run:
        assert run.restore() == 7 and run.resume_path == "/somewhere/step-6"
        assert list(run.steps(range(10))) == [7, 8, 9]
    assert on_cluster.taken("restored")[0]["step"] == 6
    assert on_cluster.taken("progress")[-1]["step"] == 9


@pytest.mark.parametrize("world", [2, 5])
def test_ranks_of_one_process_group_stop_together(short_dir, world):
    """Several sessions in lockstep, through sockets: every one runs through S and no step more."""
    agent = FakeAgent(short_dir + "/s", world=world)
    last, barrier = {}, threading.Barrier(world)

    def train(rank):
        env = Environment(socket_path=agent.path, rank=rank, declared_rank=rank)
        with glim.Session(environment=env) as run:
            for step in run.steps(range(100_000)):
                barrier.wait(BOUND_S)  # the collective
                last[rank] = step
                time.sleep(0.001 * (1 + rank % 3))

    threads = [threading.Thread(target=train, args=(rank,)) for rank in range(world)]
    for thread in threads:
        thread.start()
    for rank in range(world):
        agent.wait_taken("progress", number=rank)
    agent.interrupt()
    for thread in threads:
        thread.join(BOUND_S)
    for rank in range(world):
        agent.wait_taken("leaving", number=rank)
    assert agent.agreed_step is not None and last == {rank: agent.agreed_step for rank in range(world)}
    assert agent.faults == []
    agent.stop()


@pytest.mark.parametrize(
    "variables, rank, declared, speaks, agrees",
    [
        ({"GLIM_RANK": "3", "RANK": "3", "LOCAL_RANK": "1"}, 3, 3, True, True),  # per-gpu
        ({"GLIM_RANK": "1"}, 1, 1, True, True),  # node, one process
        ({"GLIM_RANK": "1", "RANK": "8", "LOCAL_RANK": "0", "TORCHELASTIC_RUN_ID": "x"}, 8, 1, True, False),
        ({"GLIM_RANK": "0", "RANK": "1", "LOCAL_RANK": "1", "TORCHELASTIC_RUN_ID": "x"}, 1, 0, False, False),
    ],
)
def test_ranks_of_each_launcher(variables, rank, declared, speaks, agrees):
    env = Environment.read({"GLIM_SOCKET": "/s", **variables})
    assert (env.rank, env.declared_rank, env.speaks, not env.launched_workers) == (rank, declared, speaks, agrees)


def test_a_broken_environment_names_the_variable():
    with pytest.raises(ValueError, match="GLIM_ATTEMPT"):
        Environment.read({"GLIM_ATTEMPT": "two"})
    with pytest.raises(ValueError, match="GLIM_RESUME_STEP"):
        Environment.read({"GLIM_RESUME_STEP": "-2"})


def test_arguments_are_checked():
    with glim.session() as run:
        with pytest.raises(ValueError, match="save_every"):
            run.steps([], save_every=0)
        with pytest.raises(ValueError, match="shard"):
            run.checkpoint_saved("/x", 1, shard=2, shards=2)


def test_the_standard_library_is_enough():
    code = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "numpy", "grpc", "google"):
            raise ImportError("blocked: " + name)
sys.meta_path.insert(0, Block())
import glim
with glim.session() as run:
    assert run.restore() == 0
    assert list(run.steps(range(3))) == [0, 1, 2]
stdlib = getattr(sys, "stdlib_module_names", None)      # from Python 3.10 on
foreign = [n for n in sys.modules if stdlib and n.split(".")[0] not in stdlib and not n.startswith("glim")
           and n not in ("__main__", "__mp_main__", "sitecustomize")]
assert foreign == [], foreign
"""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(glim.__file__)))
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env={"PYTHONPATH": folder}, capture_output=True, text=True, timeout=BOUND_S
    )
    assert done.returncode == 0, done.stderr
