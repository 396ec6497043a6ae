"""Peers that begin a header block and never end it, which gRPC 1.51 keeps for as long as it comes (CVE-2023-33953)."""

import contextlib
import os
import socket
import ssl

from . import raw_http2 as h2
from .processes import SLOWER

MIB = 1 << 20
SENT_MAX = MIB  # until it is hung up on; what lies in buffers of the two kernels is among it
GROWN_MAX_MIB = 16
ENOUGH = 64 * MIB  # then nobody hangs up
PEERS = ("stranger", "user", "node")
WHOAMI, REVIEW = "/glim.v1.ClientApi/WhoAmI", "/glim.v1.AgentApi/ReviewSaves"


def memory_mib(pid):
    """What is resident now."""
    with open(f"/proc/{pid}/status") as file:
        kib = next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
    return kib / 1024


@contextlib.contextmanager
def connected(server, certificate=None):
    """TLS with HTTP/2 agreed on. `certificate`: a file with a key and its certificate."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    tls.set_alpn_protocols(["h2"])
    if certificate:
        tls.load_cert_chain(certificate)
    host, port = server.rsplit(":", 1)
    plain = socket.create_connection((host, int(port)), timeout=20 * SLOWER)
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 << 10)
    with tls.wrap_socket(plain) as connection:
        connection.sendall(h2.PREFACE + h2.frame(h2.SETTINGS, 0, 0, b"") + h2.frame(h2.SETTINGS, 1, 0, b""))
        yield connection


def call(connection, path, token=None):
    """A whole call on stream 1, which is answered."""
    more = {"authorization": f"Bearer {token}"} if token else {}
    connection.sendall(h2.call_headers(path, more=more) + h2.frame(h2.DATA, h2.END_STREAM, 1, h2.message(b"")))
    data = b""
    while not any(stream == 1 and flags & h2.END_STREAM for _, flags, stream, _ in h2.frames_of(data)):
        part = connection.recv(65536)
        assert part, "hung up on before the flood"
        data += part


def flood(connection, small=b"".join(h2.literal("x", "y") for _ in range(3000))):
    """Headers on stream 3 without end. How many bytes were given until it was hung up on, or ENOUGH."""
    sent = 0
    with contextlib.suppress(OSError):
        connection.sendall(h2.frame(h2.HEADERS, 0, 3, b""))
        while sent < ENOUGH:
            connection.sendall(h2.frame(h2.CONTINUATION, 0, 3, small))
            sent += len(small)
    return sent


def try_flood(cluster, who):
    """One of PEERS at a cluster's scheduler, the last two after a good call. In words; AssertionError: it may go on, or
    it costs memory."""
    certificate = token = None
    if who == "node":
        certificate = os.path.join(cluster.agent_state(sorted(cluster.node_places)[0]), "identity", "node.pem")
    if who == "user":
        with open(os.path.join(cluster.state_dir, "operator", "token")) as file:
            token = file.read().strip()
    before = memory_mib(cluster.scheduler.pid)
    with connected(cluster.agents_server if who == "node" else cluster.server, certificate) as connection:
        if who != "stranger":
            call(connection, REVIEW if who == "node" else WHOAMI, token)
        sent = flood(connection)
    grown = memory_mib(cluster.scheduler.pid) - before
    words = f"a {who} sent {sent / MIB:.2f} MiB of headers, and the scheduler grew by {grown:.1f} MiB"
    assert sent < SENT_MAX and grown < GROWN_MAX_MIB, words
    return words
