"""Who reaches the users' port and has no token: a client that keeps to no rule of HTTP/2, and one that has all
connections of an address. Little memory is held, and who has a token is served, from the same address as well."""

import contextlib
import socket
import ssl
import threading
import time

import pytest

from cluster import raw_http2 as h2
from cluster.local_cluster import CONFIG
from cluster.processes import SLOWER, wait_until
from conftest import own_stage
from test_floods import forget_peak, peak_mib

SERVED_S = 20  # as long as the scheduler gives a handshake
LOGIN = "/glim.v1.ClientApi/GetLogin"


@pytest.fixture
def strict(fresh_folder):
    with own_stage(fresh_folder, nodes={"n1": ("A", "a1")}, config=CONFIG) as stage:
        yield stage


def open_tls(server):
    host, port = server.rsplit(":", 1)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    tls.set_alpn_protocols(["h2"])
    return tls.wrap_socket(socket.create_connection((host, int(port)), timeout=20 * SLOWER))


def calls(path, first, count, whole):
    """`count` calls; each but the first of a connection is a few bytes, for its headers are in the table."""
    names = {":path": path, ":authority": "l", "content-type": "application/grpc", "te": "trailers"}
    spelled = b"".join(b"\x40" + h2.literal(name, value)[1:] for name, value in names.items())
    known = bytes(0x80 | (62 + i) for i in range(len(names)))
    sent = []
    for i in range(first, first + count):
        sent.append(h2.frame(h2.HEADERS, h2.END_HEADERS, 2 * i + 1, b"\x83\x86" + (known if i else spelled)))
        if whole:
            sent.append(h2.frame(h2.DATA, h2.END_STREAM, 2 * i + 1, h2.message(b"")))
    return b"".join(sent)


class Lawless:
    """Connections that begin calls, acknowledge nothing and read nothing."""

    def __init__(self, server, connections, count, path=LOGIN, whole=False):
        self.server = server
        self.parts = [calls(path, first, 500, whole) for first in range(0, count, 500)]
        self.open, self.cut, self.sent = [], 0, 0
        self.lock, self.stop = threading.Lock(), threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(connections)]

    def run(self):
        with contextlib.suppress(OSError):
            connection = open_tls(self.server)
            self.open.append(connection)
            connection.sendall(h2.PREFACE + h2.frame(h2.SETTINGS, 0, 0, b""))
            connection.settimeout(2 * SLOWER)
            try:
                for part in self.parts:
                    connection.sendall(part)
                    with self.lock:
                        self.sent += 500
            except OSError:
                with self.lock:
                    self.cut += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        for connection in self.open:
            connection.close()
        for thread in self.threads:
            thread.join(20 * SLOWER)


def longest_queue_s(glim, until):
    """What the slowest of kim's calls took until then, each a process of its own from the same address."""
    longest = 0
    while True:
        began = time.monotonic()
        told = glim.run("--timeout", f"{round(SERVED_S * SLOWER)}s", "queue", user="kim")
        longest = max(longest, time.monotonic() - began)
        assert told.returncode == 0, told.stderr
        if until():
            return longest


@pytest.mark.parametrize("kind", ["half-sent calls", "calls whose answers nobody takes", "calls of no method"])
def test_strangers_who_keep_to_no_rule_hold_little(strict, kind):
    """200,000 calls over twenty connections. They took 2 GB, and the scheduler stood still for seconds."""
    glim, pid = strict.glim, strict.cluster.scheduler.pid
    assert glim.run("queue", user="kim").returncode == 0
    forget_peak(pid)
    before = peak_mib(pid)
    path = "/glim.v1.ClientApi/NoSuchCall" if kind == "calls of no method" else LOGIN
    with Lawless(strict.cluster.server, 20, 10_000, path, whole=kind.startswith("calls whose")) as lawless:
        longest = longest_queue_s(glim, lambda: not any(thread.is_alive() for thread in lawless.threads))
    longest = max(longest, longest_queue_s(glim, lambda: True))
    print(f"{kind}: {peak_mib(pid) - before:.0f} MiB, {longest:.1f} s, {lawless.sent} sent, {lawless.cut} cut")
    assert peak_mib(pid) - before < 300, f"{before} MiB before, {peak_mib(pid)} MiB at most since"
    assert longest < SERVED_S * SLOWER
    strict.cluster.check()


def test_strangers_with_all_connections_of_an_address_lock_nobody_out(strict, fresh_folder):
    """They come back as soon as they are hung up on."""
    glim = strict.glim
    host, port = strict.cluster.server.rsplit(":", 1)
    assert glim.run("queue", user="kim").returncode == 0
    following = glim.follow("events", "--follow", out=f"{fresh_folder}/events", user="kim")
    with contextlib.ExitStack() as stack:
        taken = [
            stack.enter_context(socket.create_connection((host, int(port)), timeout=20 * SLOWER)) for _ in range(600)
        ]
        assert len(taken) == 600
        wait_until(lambda: glim.run("queue", user="kim").returncode == 0, 20, "who works at the address is served")
        for _ in range(5):
            taken = [
                stack.enter_context(socket.create_connection((host, int(port)), timeout=20 * SLOWER))
                for _ in range(300)
            ]
            assert glim.run("queue", user="kim").returncode == 0
    assert following.poll() is None, "who was there stays"
    following.terminate()
    following.wait(20 * SLOWER)
