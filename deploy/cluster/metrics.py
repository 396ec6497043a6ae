"""The scheduler's metrics, read as Prometheus does."""

import random
import re
import socket
import urllib.request

from .processes import SLOWER


def free_address():
    """Until the scheduler listens there, no other program gets the port by chance: it would use another address."""
    host = f"127.{random.randint(1, 254)}.{random.randint(0, 255)}.{random.randint(1, 254)}"
    with socket.create_server((host, 0)) as free:
        return f"{host}:{free.getsockname()[1]}"


class Metrics:
    """At an address of this machine alone, which `config` has the scheduler serve."""

    def __init__(self):
        self.address = free_address()

    def config(self, text):
        """A configuration with the metrics left out, with them."""
        return text.replace("metrics: none", f"metrics: {self.address}")

    def value(self, name, **labels):
        """The sum over the series that have these labels; 0.0: there is none."""
        with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=30 * SLOWER) as answer:
            lines = answer.read().decode().splitlines()
        found = (re.fullmatch(rf"{re.escape(name)}(?:\{{(.*)\}})? (\S+)", line) for line in lines)
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        return sum(float(one[2]) for one in found if one and all(label in (one[1] or "") for label in wanted))
