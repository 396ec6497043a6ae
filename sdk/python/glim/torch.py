"""Saving and restoring PyTorch training, bit for bit. Imports torch, and only when it is used.

A replicated job has one checkpoint, written by rank 0 alone and without collectives, so that it also works
when there was no agreement on the step. No rank's generators are in it: every rank seeds those of torch, numpy and
Python before each step from (seed, rank, step), before each fetch from (seed, rank, epoch, position), and before the loader's
iterator is made, which hands seeds to its workers, from (seed, rank, epoch). So each rank finds its own numbers again
on any node, and a skipped batch costs its fetch but moves nothing.
"""

from __future__ import annotations

import hashlib
import random
import sys
from typing import Any, Dict, Optional

FORMAT = 2
_CURSOR = "glim"                                 # beside the tracked objects' names


class TorchState:
    """The tracked objects of one rank. Used by the training thread only."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._objects: Dict[str, Any] = {}
        self._sampler: Any = None
        self._seed: Optional[int] = None

    def track(self, objects: Dict[str, Any], sampler: Any, seed: Optional[int], reseed: bool) -> None:
        """Raises TypeError for what cannot be saved."""
        import torch

        from .state_tree import check

        for name, value in objects.items():
            value = _unwrapped(value)
            if name == _CURSOR:
                raise TypeError(f"track({name}=...): the name is taken; use another")
            if not (hasattr(value, "state_dict") and hasattr(value, "load_state_dict")):
                raise TypeError(f"track({name}=...): a {type(value).__name__} has no state_dict() and "
                                "load_state_dict(); give it both, or save it yourself")
            check({name: value.state_dict()})    # now, and not at the first save, hours into the training
            self._objects[name] = value
        if sampler is not None:
            self._sampler = sampler
            if hasattr(sampler, "state_dict") and hasattr(sampler, "load_state_dict"):
                check({"sampler": sampler.state_dict()})
                self._objects["sampler"] = sampler
        if not reseed:
            self._seed = None
        elif seed is not None or self._seed is None:
            self._seed = torch.initial_seed() if seed is None else seed

    @property
    def sampler_skips(self) -> bool:
        """Whether the tracked sampler comes back at its position by itself."""
        return "sampler" in self._objects

    def begin_epoch(self, epoch: int) -> None:
        if hasattr(self._sampler, "set_epoch"):
            self._sampler.set_epoch(epoch)
        self._reseed(f"epoch {epoch}")

    def begin_fetch(self, epoch: int, position: int) -> None:
        self._reseed(f"fetch {epoch} {position}")

    def begin_step(self, step: int) -> None:
        self._reseed(f"step {step}")

    def state(self, step: int, epoch: int, position: int) -> Dict[str, Any]:
        """What a checkpoint holds: every tracked object's state by its name, and where training stands: `step` is the
        last complete one, `position` the batches done in `epoch`."""
        cursor = {"format": FORMAT, "step": step, "epoch": epoch, "position": position}
        return {_CURSOR: cursor, **{name: value.state_dict() for name, value in self._objects.items()}}

    def put_back(self, path: str, state: Any) -> Dict[str, int]:
        """Puts every tracked object back as `state` has it. Returns step, epoch and position. Raises RuntimeError that
        names `path`, having changed nothing, if it is not a state of the same objects."""
        cursor = state.get(_CURSOR) if isinstance(state, dict) else None
        if not isinstance(cursor, dict) or cursor.get("format") != FORMAT:
            raise RuntimeError(f"{path}: not a save of format {FORMAT}; was it written by run.track() and steps()?")
        saved, tracked = set(state) - {_CURSOR}, set(self._objects)
        if saved != tracked:
            raise RuntimeError(f"{path}: saved were {sorted(saved)}, tracked are {sorted(tracked)}; "
                               "track the same names")
        for name, value in self._objects.items():
            value.load_state_dict(state[name])
        return {name: int(cursor[name]) for name in ("step", "epoch", "position")}

    def _reseed(self, purpose: str) -> None:
        if self._seed is None:
            return
        import torch

        digest = hashlib.sha256(f"{self._seed} {self._rank} {purpose}".encode()).digest()
        torch.manual_seed(int.from_bytes(digest[:8], "little") >> 1)
        random.seed(digest[8:16])
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(int.from_bytes(digest[16:20], "little"))


def weights_digest(model: Any) -> str:
    """SHA-256 over the raw bytes of the model's state, in the order of the names: equal only for equal bits."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(_unwrapped(model).state_dict().items()):
        digest.update(name.encode() + b"\0")
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _unwrapped(value: Any) -> Any:
    """The model inside DistributedDataParallel or DataParallel, so that a save does not depend on the wrapper."""
    import torch

    wrappers = (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)
    return value.module if isinstance(value, wrappers) else value
