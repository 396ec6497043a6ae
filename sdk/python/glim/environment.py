"""What the scheduler tells a rank through environment variables (docs/protocols/task-socket.md), checked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Mapping, Optional, Tuple


@dataclass(frozen=True)
class Environment:
    """One rank's view of its attempt. Off the cluster `socket_path` is empty and the rest has harmless defaults."""

    socket_path: str = ""
    rank: int = 0  # global rank of this process
    world_size: int = 1  # how many processes the gang has; 1: not said
    declared_rank: int = 0  # the rank by which the scheduler knows it
    job_id: str = ""
    attempt: int = 0  # 0: not said
    checkpoint_dir: str = ""  # empty: not said
    resume_path: str = ""  # empty: this attempt starts from the beginning
    resume_step: int = -1  # last complete step of that save; -1: from the beginning
    checkpoint_local: bool = False  # that folder is this node's own: other nodes see nothing of it
    checkpoint_every_ms: int = 0  # 0: not said
    checkpoint_keep: int = 0  # 0: not said
    local_rank: int = 0
    host_list: str = ""  # empty: it is too long for a variable, or this is off the cluster
    hosts_file: str = ""  # the same, one address a line; empty: off the cluster
    replica_peer: str = ""  # KEY@host:port of the service that holds the copies of this node's saves; empty: none
    replica_sources: Tuple[str, ...] = ()  # where copies of `resume_path` may be
    replica_token_file: str = ""  # empty: no copies are made or read
    replica_tls: str = ""  # UCX's transports; empty: all
    replica_device: str = ""  # UCX's devices; empty: all
    replica_service_level: int = -1  # InfiniBand's; -1: the device's
    launched_workers: bool = False  # a node-level launcher (torchrun) started this process as one of several

    @property
    def speaks(self) -> bool:
        """Whether this process is the one that the scheduler knows under `declared_rank`."""
        return bool(self.socket_path) and (not self.launched_workers or self.local_rank == 0)

    @property
    def is_rank_zero(self) -> bool:
        """Whether this rank writes the save of a replicated job."""
        return self.rank == 0

    def hosts(self) -> Tuple[str, ...]:
        """The addresses of the gang's nodes, by node rank; empty off the cluster."""
        if self.host_list:
            return tuple(self.host_list.split(","))
        if not self.hosts_file:
            return ()
        with open(self.hosts_file, encoding="utf-8") as lines:
            return tuple(line.rstrip("\n") for line in lines)

    @classmethod
    def read(cls, variables: Optional[Mapping[str, str]] = None) -> "Environment":
        env = os.environ if variables is None else variables

        def number(name: str, default: int, least: int = 0) -> int:
            return _integer(name, env.get(name) or str(default), least)

        declared = number("GLIM_RANK", number("RANK", 0))
        rank = number("RANK", declared)
        return cls(
            socket_path=env.get("GLIM_SOCKET", ""),
            rank=rank,
            world_size=number("WORLD_SIZE", 1, least=1),
            declared_rank=declared,
            job_id=env.get("GLIM_JOB_ID", ""),
            attempt=number("GLIM_ATTEMPT", 0),
            checkpoint_dir=env.get("GLIM_CHECKPOINT_DIR", ""),
            resume_path=env.get("GLIM_RESUME_PATH", ""),
            resume_step=number("GLIM_RESUME_STEP", -1, least=-1),
            checkpoint_local=env.get("GLIM_CHECKPOINT_LOCAL", "") == "1",
            checkpoint_every_ms=number("GLIM_CHECKPOINT_EVERY_MS", 0),
            checkpoint_keep=number("GLIM_CHECKPOINT_KEEP", 0),
            replica_peer=env.get("GLIM_REPLICA_PEER", ""),
            replica_sources=tuple(peer for peer in env.get("GLIM_REPLICA_SOURCES", "").split(",") if peer),
            replica_token_file=env.get("GLIM_REPLICA_TOKEN_FILE", ""),
            replica_tls=env.get("GLIM_REPLICA_TLS", ""),
            replica_device=env.get("GLIM_REPLICA_DEVICE", ""),
            replica_service_level=number("GLIM_REPLICA_SERVICE_LEVEL", -1, least=-1),
            local_rank=number("LOCAL_RANK", 0),
            host_list=env.get("GLIM_HOSTS", ""),
            hosts_file=env.get("GLIM_HOSTS_FILE", ""),
            # With `launcher: node` Glim knows one rank a node; torchrun starts workers with ranks of their own.
            launched_workers="TORCHELASTIC_RUN_ID" in env or rank != declared,
        )


def _integer(name: str, text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"{name}: {text!r} is not an integer; the scheduler sets it, do not overwrite it") from None
    if not least <= value <= 2**62:
        raise ValueError(f"{name}: {value} is out of range, at least {least} is needed")
    return value
