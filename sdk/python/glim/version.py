"""Which SDK this is, and whether it and the node's agent understand each other."""

from __future__ import annotations

import os
from typing import Any

VERSION = "0.1.0"
PROTOCOL = 2  # of the task socket (docs/protocols/task-socket.md)


def disagreement(protocol: Any, version: Any) -> str:
    """What to tell people, in one line, when the agent speaks another protocol: who speaks which, and what mends it."""
    here = os.path.dirname(os.path.abspath(__file__))
    told = (
        f"this SDK, glim {VERSION} in {here}, speaks protocol {PROTOCOL}, the node's agent "
        f"({version or 'an older one'}) protocol {protocol}: the scheduler hears nothing of this rank, and can only "
        "kill it"
    )
    nodes = os.environ.get("GLIM_SDK", "")
    if nodes and not here.startswith(os.path.join(nodes, "")):
        return (
            f"{told}; take that copy of glim out of PYTHONPATH, or uninstall it: it hides the node's own, "
            f"{nodes}/python/glim"
        )
    return f"{told}; ask the operator to install agent and SDK of one release on the node (glim-agent --sdk)"
