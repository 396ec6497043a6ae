"""Converts checkpoints from and to PyTorch's own formats:

    python3 -m glim.checkpoint_convert to-torch   SRC FILE       for torch.load
    python3 -m glim.checkpoint_convert from-torch FILE DIR       a file of torch.save
    python3 -m glim.checkpoint_convert to-dcp     SRC FOLDER     for torch.distributed.checkpoint
    python3 -m glim.checkpoint_convert from-dcp   FOLDER DIR --trust

SRC is a checkpoint's folder (DIR/attempt-N/step-S), or a directory of checkpoints, whose newest good one counts. DIR
must not be a directory of checkpoints already; the result is its attempt 1, with --step.

Trust: reading a Glim checkpoint runs nothing of its writer's. PyTorch's formats are pickles, and reading one can run
anything. from-torch reads only the zip format (torch 1.6 and newer), and in it only tensors, parameters, numpy arrays,
plain containers and values; what else is there is refused by name (torch_file.py). With --trust torch.load does as it
likes: for files of your own. A distributed checkpoint can only be read that way.

A distributed checkpoint has no nesting: to-dcp joins the names of nested dicts by dots, and from-dcp leaves them so;
lists and plain values are stored as they are, pickled. Tensors keep their bits both ways.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import inspect
import os
import sys
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple
from unittest import mock

from .atomic_file import atomic_write
from .checkpoint import (
    STRUCTURE_NAME,
    Checkpoint,
    Checkpointer,
    CheckpointError,
    load_newest,
    open_checkpoint,
    split_path,
)


def read_torch(path: str, trust: bool) -> Any:
    """What torch.save wrote. Raises CheckpointError; with `trust`, whatever torch.load raises."""
    if trust:
        import torch

        return torch.load(path, map_location="cpu", weights_only=False)
    from . import torch_file

    return torch_file.read(path)


def write_torch(state: Any, path: str) -> None:
    import torch

    atomic_write(path, lambda file: torch.save(state, file))


def read_glim(path: str) -> Any:
    """A nested state, or, where there is none, a dict of tensors."""
    if split_path(path) is not None:
        return _content(open_checkpoint(path))
    return load_newest(path, _content, lambda corrupt, error: print(f"{corrupt}: {error}", file=sys.stderr))[1]


def write_glim(state: Any, path: str, job: str, step: int) -> str:
    """The checkpoint's folder."""
    if os.path.exists(os.path.join(path, "job.json")):
        raise CheckpointError(f"{path}: is a directory of checkpoints already", "ALREADY_EXISTS", fix="name a new one")
    with Checkpointer(path, job=job, attempt=1) as saver:
        handle = saver.save_state_async(step, state)
        assert handle is not None  # no other is on its way
        return handle.wait().path


def read_distributed(path: str) -> Dict[str, Any]:
    import torch

    dcp = _distributed()
    reader = dcp.FileSystemReader(path)
    state: Dict[str, Any] = {}
    for name, entry in reader.read_metadata().state_dict_metadata.items():
        is_tensor = isinstance(entry, dcp.TensorStorageMetadata)
        state[name] = torch.empty(entry.size, dtype=entry.properties.dtype) if is_tensor else None
    dcp.load_state_dict(state, reader, no_dist=True)
    return state


def write_distributed(state: Any, path: str) -> None:
    if not isinstance(state, dict):
        raise TypeError(f"a distributed checkpoint is a dict; this is a {type(state).__name__}")
    dcp = _distributed()
    dcp.save_state_dict(dict(_joined(state, "")), dcp.FileSystemWriter(path), no_dist=True, **_unflattened(dcp))


def _content(checkpoint: Checkpoint) -> Any:
    return checkpoint.load_state() if STRUCTURE_NAME in checkpoint.arrays else checkpoint.load()


def _joined(state: Dict[Any, Any], prefix: str) -> Iterator[Tuple[str, Any]]:
    for key, value in state.items():
        if isinstance(value, dict) and value:
            yield from _joined(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _unflattened(dcp: Any) -> Dict[str, Any]:
    """Names as they are: torch 2 would split lists, too, into an entry for each of their values."""
    planner = getattr(dcp, "DefaultSavePlanner", None)
    if planner is None or "flatten_state_dict" not in inspect.signature(planner).parameters:
        return {}
    return {"planner": planner(flatten_state_dict=False)}


def _distributed() -> Any:
    """torch.distributed.checkpoint (torch 2), or what came before it."""
    try:
        import torch.distributed.checkpoint as found
    except ImportError:
        with _hashable_dataclasses():
            import torch.distributed._shard.checkpoint as found
    if not hasattr(found, "save_state_dict"):
        raise CheckpointError(
            "this torch has no torch.distributed.checkpoint.save_state_dict",
            "UNIMPLEMENTED",
            fix="use torch 1.13 to 2.x",
        )
    return found


def _hashable_dataclasses() -> contextlib.AbstractContextManager:
    """torch 1.13 has dataclasses as defaults of others' fields, which Python 3.11 takes only if they have a hash."""
    made = dataclasses.dataclass

    def hashable(kind: Optional[type] = None, **options: Any) -> Any:
        if kind is None:
            return lambda decorated: hashable(decorated, **options)
        if "__hash__" not in vars(kind):
            options.setdefault("unsafe_hash", True)
        return made(kind, **options)

    return mock.patch.object(dataclasses, "dataclass", hashable)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The exit code: 0, or 1 with a line on stderr."""
    parser = argparse.ArgumentParser(
        prog="glim.checkpoint_convert", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=("to-torch", "from-torch", "to-dcp", "from-dcp"))
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--trust", action="store_true", help="the source is yours: it may run code")
    parser.add_argument("--step", type=int, default=0, help="of the checkpoint that is made; default 0")
    parser.add_argument("--job", default="local", help="whose directory it makes; a job's number, or local")
    given = parser.parse_args(arguments)
    if given.kind == "from-dcp" and not given.trust:
        parser.error("a distributed checkpoint is a pickle, which can run anything: say --trust if it is yours")
    try:
        if given.kind == "to-torch":
            write_torch(read_glim(given.source), given.target)
        elif given.kind == "to-dcp":
            write_distributed(read_glim(given.source), given.target)
        else:
            state = (
                read_torch(given.source, given.trust) if given.kind == "from-torch" else read_distributed(given.source)
            )
            print(write_glim(state, given.target, given.job, given.step))
    except (CheckpointError, OSError, TypeError) as error:
        print(f"glim.checkpoint_convert: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
