"""Strangers and careless clients send too much: the scheduler's memory stays small, and others are served."""

import concurrent.futures
import contextlib
import gzip
import os
import socket
import ssl
import threading
import time

import pytest

from cluster import header_flood
from cluster import raw_http2 as h2
from cluster.greedy_user import GreedyUser
from cluster.local_cluster import CONFIG
from cluster.processes import SLOWER, wait_until
from conftest import own_stage

KIB, MIB = 1 << 10, 1 << 20
ONE = {"n1": ("A", "a1")}
GREEDY_S = float(os.environ.get("GLIM_TEST_GREEDY_S", 15))  # the part `hostile` of tests/nightly: a minute
LIMITS = "limits: {user: {queued_mib: 4, calls: 100}}\n"


@pytest.fixture
def small(fresh_folder):
    with own_stage(fresh_folder, nodes=ONE, config=LIMITS + CONFIG, secure=False) as stage:
        yield stage


def peak_mib(pid):
    """The most resident memory that the process has had since forget_peak."""
    with open(f"/proc/{pid}/status") as file:
        kib = next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
    return kib / 1024


def forget_peak(pid):
    with open(f"/proc/{pid}/clear_refs", "w") as file:
        file.write("5")


def packed_call(payload):
    """Submit with one message that is packed, small enough for the window that a server opens at first."""
    packed = gzip.compress(payload, 9)
    message = b"\1" + len(packed).to_bytes(4, "big") + packed
    assert len(message) < 65535
    frames = [message[at : at + 16384] for at in range(0, len(message), 16384)]
    sent = h2.PREFACE + h2.frame(h2.SETTINGS, 0, 0, b"")
    sent += h2.call_headers("/glim.v1.ClientApi/Submit", more={"glim-user": "kim", "grpc-encoding": "gzip"})
    sent += b"".join(h2.frame(h2.DATA, 0, 1, part) for part in frames[:-1])
    return sent + h2.frame(h2.DATA, h2.END_STREAM, 1, frames[-1])


def test_a_packed_bomb_is_not_unpacked(small):
    """Eight messages at a time of 56 MiB of zeros, which are 56 KiB each when they are packed."""
    pid = small.cluster.scheduler.pid
    host, port = small.cluster.server.rsplit(":", 1)
    sent = packed_call(b"\x12" + b"\x80\x80\x80\x1c" + bytes(56 * MIB))  # a field of 56 MiB
    forget_peak(pid)
    before = peak_mib(pid)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: h2.exchange(host, int(port), sent, 30), range(32)))
    for frames in answers:
        ended = [payload for _, flags, stream, payload in frames if stream == 1 and flags & h2.END_STREAM]
        assert len(ended) == 1 and b"gzip" in ended[0], frames  # an answer that says what it does not take
    assert small.glim.run("queue").returncode == 0
    assert peak_mib(pid) - before < 32, f"{before} MiB before, {peak_mib(pid)} MiB at most since"


def settings(**of):
    ids = {"window": 4}
    payload = b"".join(ids[name].to_bytes(2, "big") + value.to_bytes(4, "big") for name, value in of.items())
    return h2.frame(h2.SETTINGS, 0, 0, payload)


@contextlib.contextmanager
def deaf_client(server, job, calls, user):
    """Asks for a job again and again and lets no answer through: its windows are closed."""
    host, port = server.rsplit(":", 1)
    payload = h2.message(b"\x08" + bytes([job]))
    with socket.create_connection((host, int(port)), timeout=20 * SLOWER) as connection:
        sent = h2.PREFACE + settings(window=0)
        for i in range(calls):
            stream = 2 * i + 1
            sent += h2.call_headers("/glim.v1.ClientApi/GetJob", stream, {"glim-user": user})
            sent += h2.frame(h2.DATA, h2.END_STREAM, stream, payload)
        connection.sendall(sent)
        drain = threading.Thread(target=swallow, args=(connection,), daemon=True)
        drain.start()
        yield
        connection.shutdown(socket.SHUT_RDWR)
        drain.join(20 * SLOWER)


def swallow(connection):
    """Frames of the connection itself must be read, or nothing is closed but TCP's window."""
    with contextlib.suppress(OSError):
        while connection.recv(65536):
            pass


def test_who_does_not_take_the_answers_gets_no_more_and_others_do(small):
    glim, pid = small.glim, small.cluster.scheduler.pid
    wide = {f"V{i}": "x" * 15_000 for i in range(15)}  # an answer of 220 KiB
    job = glim.submit(small.examples.make("wide", "exec sleep 600", env=wide))
    small.cluster.wait_state(job, "running", 30)
    forget_peak(pid)
    before = peak_mib(pid)
    with deaf_client(small.cluster.server, job, 900, "flood"):

        def refused():
            told = glim.run("status", job, user="flood")
            return told if told.returncode == 8 else None

        told = wait_until(refused, 30, "its user is refused")
        assert "limits.user." in told.stderr and "try again in" in told.stderr, told.stderr
        for _ in range(5):
            assert glim.run("status", job, user="kim").returncode == 0
        assert peak_mib(pid) - before < 64, f"{before} MiB before, {peak_mib(pid)} MiB at most since"
    wait_until(lambda: glim.run("status", job, user="flood").returncode == 0, 30, "what it held is given back")
    assert os.path.exists(f"/proc/{pid}")


def test_who_takes_what_he_can_get_costs_little_and_is_told(fresh_folder):
    """A user who submits as fast as he can, in every way at a time: his bounds count bytes."""
    with own_stage(fresh_folder, nodes=ONE) as stage:
        greedy = GreedyUser(stage.cluster, "kim")
        bounds = {"OVERLOADED", "TOO_MANY_BYTES"}
        begun = time.monotonic()

        def spends():  # until he has met both bounds: a busy machine takes longer
            greedy.spend(GREEDY_S)
            spent = time.monotonic() - begun
            wait_until(lambda: greedy.cost()[0] < 64 * MIB, 30, "he costs little")  # without bounds 500 MiB in 5 s
            memory, store = greedy.cost()
            print(f"{memory / MIB:.0f} MiB of memory, {store / MIB:.0f} MiB of store: {greedy.taken}, {greedy.told}")
            assert store < 64 * MIB + max(0, spent - 60) * 256 * KIB  # `changes_kib_per_second` go on
            return bounds <= greedy.words.keys()

        wait_until(spends, 120, "he has met both bounds")
        assert ("OVERLOADED", "limits.user.changes_kib_per_second") in greedy.told, greedy.told
        assert "unfinished_spec_bytes_per_user_max" in greedy.words["TOO_MANY_BYTES"], greedy.words
        assert "try again in" in greedy.words["OVERLOADED"], greedy.words
        stage.glim.submit(stage.examples.make("modest", "true"), user="ben")
        greedy.cancel_all()
        stage.cluster.wait_idle(60)


@contextlib.contextmanager
def strangers(server, connections, calls):
    """Ask without a token where to log in, over TLS, and let no answer through."""
    host, port = server.rsplit(":", 1)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    tls.set_alpn_protocols(["h2"])
    with contextlib.ExitStack() as stack:
        for _ in range(connections):
            connection = tls.wrap_socket(
                stack.enter_context(socket.create_connection((host, int(port)), timeout=20 * SLOWER))
            )
            sent = h2.PREFACE + settings(window=0)
            for i in range(calls):
                sent += h2.call_headers("/glim.v1.ClientApi/GetLogin", 2 * i + 1)
                sent += h2.frame(h2.DATA, h2.END_STREAM, 2 * i + 1, h2.message(b""))
            connection.sendall(sent)
            stack.callback(connection.close)
        yield


def test_headers_without_end_are_hung_up_on_whoever_sends_them(fresh_folder):
    """A stranger, a user after a good call, a node with its certificate: four of each at a time, again and again."""
    with own_stage(fresh_folder, nodes=ONE) as stage:
        for who in header_flood.PEERS:
            for _ in range(2):
                with concurrent.futures.ThreadPoolExecutor(4) as pool:
                    print(*pool.map(lambda _, who=who: header_flood.try_flood(stage.cluster, who), range(4)), sep="\n")
        assert stage.glim.run("queue").returncode == 0


def test_strangers_do_not_lock_out_who_has_a_token(fresh_folder):
    """On the host where users work: they hold as many calls as one user may, and the address may more."""
    limits = "limits: {user: {calls: 50}, peer: {calls: 120}}\n"
    with own_stage(fresh_folder, nodes=ONE, config=limits + CONFIG) as stage:
        glim = stage.glim
        fingerprint = glim.json("whoami")["ca_fingerprint"]
        ask = ("login", "--oidc", "--server", stage.cluster.server, "--ca-fingerprint", fingerprint)
        with strangers(stage.cluster.server, connections=4, calls=15):  # a connection of theirs may have 16
            refused = wait_until(lambda: (r := glim.run(*ask)).returncode == 8 and r, 30, "strangers have all they may")
            assert "limits.user.calls" in refused.stderr, refused.stderr
            for _ in range(5):
                assert glim.run("queue", user="kim").returncode == 0
