"""The socket's thread against a strict agent over a real Unix socket."""

import os
import threading
import time

import pytest
from bounds import BOUND_S, wait_until
from fake_agent import FakeAgent

from glim.client import Client
from glim.outbox import LINE_BYTES_MAX, PENDING_MAX, Outbox


@pytest.fixture
def client(agent):
    heard = []
    client = Client(agent.path, rank=0, on_message=heard.append)
    client.heard = heard
    client.start()
    yield client
    client.close(2)


def saved(step):
    return {"type": "saved", "step": step, "path": f"/s/{step}", "bytes": 1, "shard": 0, "shards": 1, "duration_ms": 0}


def steps(agent, number=0):
    return [m["step"] for m in agent.taken("saved", number)]


def test_says_hello_then_numbers_from_one(agent, client):
    for step in range(5):
        client.post(saved(step))
    assert client.flush(BOUND_S)
    assert [m["seq"] for m in agent.rank().messages] == [1, 2, 3, 4, 5]
    hello = agent.rank().hellos[0]
    assert hello["pid"] == os.getpid() and hello["rank"] == 0 and hello["sdk"]


def test_sends_again_in_order_what_was_not_acknowledged(agent, client):
    entry = client.post(saved(0))
    assert client.flush(BOUND_S) and entry.done
    agent.acknowledge = False
    for step in (1, 2, 3):
        entry = client.post(saved(step))
    agent.wait_taken("saved", 4)
    assert not entry.done and not client.flush(0.05)
    agent.rank().seq = 2  # it was killed before it kept the last two
    del agent.rank().messages[2:]
    agent.acknowledge = True
    agent.drop_connection()
    assert client.flush(BOUND_S) and entry.done
    assert steps(agent) == [0, 1, 2, 3]


def test_many_broken_connections_lose_and_repeat_nothing(agent, client):
    stop = threading.Event()

    def breaker():
        while not stop.wait(0.03):
            agent.drop_connection()

    thread = threading.Thread(target=breaker)
    thread.start()
    for step in range(300):
        client.post(saved(step))
        if step % 10 == 0:
            time.sleep(0.002)  # spreads the posts over several connections
    stop.set()
    thread.join()
    assert client.flush(BOUND_S)
    assert steps(agent) == list(range(300))
    assert len(agent.rank().hellos) > 1


def test_an_agent_that_starts_late_or_restarts_gets_everything(agent, client):
    agent.stop()
    client.post(saved(0))
    assert not client.flush(0.1)
    agent.start()
    assert client.flush(BOUND_S) and steps(agent) == [0]


def test_an_agent_that_forgot_everything_is_numbered_anew(agent, client):
    client.post(saved(0))
    assert client.flush(BOUND_S)
    agent.rank().seq = 0
    agent.drop_connection()
    client.post(saved(1))
    assert client.flush(BOUND_S)
    assert agent.taken("saved")[-1]["seq"] == 1


def test_a_second_process_of_the_same_rank_goes_on_counting(agent, client):
    client.post(saved(0))
    assert client.flush(BOUND_S) and client.close(2)
    second = Client(agent.path, rank=0, on_message=lambda message: None)
    second.post(saved(1))  # before it is connected, even
    second.start()
    assert second.close(BOUND_S)
    assert [m["seq"] for m in agent.rank().messages] == [1, 2] and steps(agent) == [0, 1]


def test_progress_is_thinned_out_but_the_newest_gets_through(agent, client):
    agent.wait(lambda: agent.rank().connection is not None)
    began = time.monotonic()
    for step in range(20_000):
        client.post_progress(step, 1)
    agent.wait(lambda: agent.taken("progress") and agent.taken("progress")[-1]["step"] == 19_999)
    took = time.monotonic() - began
    assert len(agent.taken("progress")) <= took * 50 + 2
    numbers = [m["step"] for m in agent.taken("progress")]
    assert numbers == sorted(numbers)


def test_the_newest_progress_gets_through_at_exit(agent, client):
    client.post_progress(1, 1)
    agent.wait_taken("progress")
    client.post_progress(2, 1)
    client.post_progress(3, 1)
    assert client.close(BOUND_S)
    assert agent.taken("progress")[-1]["step"] == 3


def test_messages_of_the_agent_arrive_also_after_a_reconnect(agent, client):
    agent.interrupt()
    agent.tell({"type": "stop_at", "agreement": 1, "step": 9})
    wait_until(lambda: len(client.heard) == 2)
    agent.drop_connection()
    wait_until(lambda: len(client.heard) == 4)
    assert [m["type"] for m in client.heard] == ["interrupt", "stop_at"] * 2


@pytest.mark.parametrize(
    "junk",
    [
        b"not json\n",
        b"[1]\n",
        b"{}\n",
        b'{"type":7}\n',
        b'{"type":"ack","seq":"x"}\n',
        b"\xff\xfe\n",
        b"[" * 5000 + b"\n",
        b"\n",
    ],
)
def test_lines_that_are_no_messages_change_nothing(agent, client, junk, capfd):
    agent.wait(lambda: agent.rank().connection is not None)
    agent.send_raw(junk)
    client.post(saved(0))
    assert client.flush(BOUND_S)
    assert len(agent.rank().hellos) == 1 and client.heard == []


def test_a_line_without_end_makes_it_connect_anew(agent, client, capfd):
    agent.wait(lambda: agent.rank().connection is not None)
    try:
        agent.send_raw(b"x" * (LINE_BYTES_MAX * 3))
    except OSError:
        pass
    agent.wait(lambda: len(agent.rank().hellos) >= 2, what="a new connection")
    client.post(saved(0))
    assert client.flush(BOUND_S) and steps(agent) == [0]


def test_a_refused_message_counts_as_taken_in_and_is_told(agent, client, capfd):
    agent.acknowledge = False
    entry = client.post(saved(0))
    agent.wait_taken("saved")
    agent.send_raw(b'{"type":"refused","seq":1,"error":"path: not absolute"}\n')
    assert client.flush(BOUND_S) and entry.done
    assert "path: not absolute" in capfd.readouterr().err


def test_a_refused_hello_is_told_once(agent, capfd):
    agent.hello_error = "rank: 9 is not a rank of this node"
    client = Client(agent.path, rank=9, on_message=lambda message: None)
    client.start()
    agent.wait(lambda: agent.refused_hellos >= 4, what="reconnects")
    client.close(0.1)
    assert capfd.readouterr().err.count("not a rank of this node") == 1


def test_a_handler_that_raises_does_not_end_the_thread(agent, capfd):
    def fail(message):
        raise KeyError("agreement")

    client = Client(agent.path, rank=0, on_message=fail)
    client.start()
    agent.wait(lambda: agent.rank().connection is not None)
    agent.send_raw(b'{"type":"interrupt"}\n')
    client.post(saved(0))
    assert client.close(BOUND_S)


def test_an_oversize_message_is_refused_before_it_is_sent(agent, client):
    with pytest.raises(ValueError, match="longer than"):
        client.post({**saved(0), "path": "x" * LINE_BYTES_MAX})


def test_a_long_socket_path_works(short_dir):
    folder = os.path.join(short_dir, "d" * 120)
    os.mkdir(folder)
    agent = FakeAgent(short_dir + "/s")
    os.symlink(short_dir + "/s", folder + "/s")
    client = Client(folder + "/s", rank=0, on_message=lambda message: None)
    client.start()
    client.post(saved(0))
    assert client.close(BOUND_S) and steps(agent) == [0]
    agent.stop()


def test_closing_without_an_agent_is_bounded(short_dir):
    client = Client(short_dir + "/nobody", rank=0, on_message=lambda message: None)
    client.start()
    client.post(saved(0))
    began = time.monotonic()
    assert not client.close(0.2)
    assert time.monotonic() - began < BOUND_S


def test_the_outbox_is_bounded_and_never_gives_up_an_answer():
    outbox = Outbox()
    outbox.add({"type": "ack", "agreement": 1, "hold": 3})
    for step in range(3 * PENDING_MAX):
        outbox.add(saved(step))
    outbox.add({"type": "leaving", "agreement": 1})
    assert len(outbox) == PENDING_MAX and outbox.dropped > 0
    outbox.welcome(0)
    lines = outbox.next_lines(10**9).decode().splitlines()
    assert '"ack"' in lines[0] and '"leaving"' in lines[-1] and f'"step": {3 * PENDING_MAX - 1}' in lines[-2]


def test_a_replaced_progress_leaves_no_gap_after_a_reconnect():
    outbox = Outbox()
    outbox.welcome(0)
    outbox.add({"type": "progress", "step": 1, "step_ms": 1})
    outbox.add(saved(1))
    assert outbox.next_lines(10**6).count(b"\n") == 2
    outbox.add({"type": "progress", "step": 2, "step_ms": 1})
    assert b'"seq": 3' in outbox.next_lines(10**6)
    outbox.welcome(0)  # nothing had arrived
    lines = outbox.next_lines(10**6)
    assert b'"seq": 1' in lines and b'"seq": 2' in lines and b'"seq": 3' not in lines
