"""Ports of schedulers that are killed and started again."""

import random
import socket

FIRST = 15_000
TRIES = 100


def steady_port(host):
    """A free port that no outgoing connection is given: of those that the kernel hands out one may be taken before the
    scheduler is back, even by an agent that calls that very port. 0, any port, if there is none."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        handed_out_from = int(file.read().split()[0])
    for _ in range(TRIES if handed_out_from > FIRST else 0):
        port = random.randrange(FIRST, handed_out_from)
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as one:
            try:
                one.bind((host, port))
            except OSError:
                continue
            return port
    return 0
