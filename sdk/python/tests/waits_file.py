"""What a process says that it waits for, as the agent reads it: docs/protocols/task-socket.md, Stacks."""

import os


def said_by(pid):
    """None: it has no such file; empty: it waits for nothing."""
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):
        try:
            if os.readlink(f"{folder}/{name}").startswith("/memfd:glim-waits"):
                with open(f"{folder}/{name}", "rb") as file:
                    return file.read().split(b"\0")[0].decode()
        except FileNotFoundError:
            pass  # closed meanwhile
    return None
