"""Saving and restoring PyTorch training, bit for bit. Imports torch, and only when it is used.

A replicated job has one checkpoint, written by rank 0 alone and without collectives, so that it also works
when there was no agreement on the step. No rank's generators are in it: every rank seeds those of torch, numpy and
Python before each step from (seed, rank, step), before each fetch from (seed, rank, epoch, position), and before the
loader's iterator is made, which hands seeds to its workers, from (seed, rank, epoch). The script's own generators
(generators.py) are seeded with them. So each rank finds its own numbers again on any node, and a skipped batch costs
its fetch but moves nothing.

Gradients that are being added up are in the save of a job of one rank (gradients.py). Each of several ranks may have
its own, so such a job stops and saves where an optimizer has used them: `may_stop`.
"""

from __future__ import annotations

import hashlib
import random
import sys
from typing import Any, Dict, List, Optional, Set, Tuple

from . import walk
from .generators import Generators
from .gradients import Gradients
from .source_parts import SourceParts
from .source_state import SourceStates
from .tracked import Tracked, generators_apart
from .tracked_values import has_methods

FORMAT = 3
_READS = (2, 3)  # 2: without what has been added since
_CURSOR = "glim"  # beside the tracked objects' names
_ADDS_UP_MOST = 1000  # steps without a stop: a script whose gradients never look used must stop all the same
_TOLD_MAX = 500  # lines that a save remembers
_NAMED_BY_A_SCRIPT = 2**40  # torch's own random seeds are 53 bits long


class TorchState:
    """The tracked objects of one rank. Used by the training thread only."""

    def __init__(self, rank: int = 0, world: int = 1) -> None:
        self._rank, self._world = rank, world
        self._objects: Dict[str, Tracked] = {}
        self._sampler: Any = None
        self._seed: Optional[int] = None
        self._is_seed_given = False
        self._told: Set[str] = set()
        self._restored: Optional[Dict[str, Any]] = None  # until the loop has gone on from it
        self._marks: Dict[str, Any] = {}
        self._settled: Optional[Dict[str, Any]] = None
        self._adds_up_since: Optional[int] = None
        # The script asks before each step, or behind it, in a loop of its own: in this attempt, in the restored save.
        self._is_by_hand = self._was_by_hand = False
        self._parts = SourceParts()
        self.gradients = Gradients()
        self.generators = Generators()
        self.sources = SourceStates(self.tell)
        self._nodes: List[Tuple[str, Any]] = []  # of the source that is gone over

    def track(self, objects: Dict[str, Any], sampler: Any, seed: Optional[int], reseed: bool) -> None:
        """Raises TypeError for what cannot be saved."""
        import torch

        objects, generators = generators_apart(objects)
        for name, value in objects.items():
            value = _unwrapped(value)
            if name == _CURSOR:
                raise TypeError(f"track({name}=...): the name is taken; use another")
            self._objects[name] = Tracked(name, value, self.tell)
            self.gradients.watch(name, value)
            for part, inner in self._objects[name].parts().items():
                if has_methods(inner):
                    self.gradients.watch(f"{name}/{part}", inner)
        for name, value in generators:
            self.generators.add(name, value, is_stepwise=True)
        if sampler is not None:
            self._sampler = sampler
            if hasattr(sampler, "state_dict") and hasattr(sampler, "load_state_dict"):
                self._objects["sampler"] = Tracked("sampler", sampler, self.tell)
        if not reseed:
            self._seed = None
        elif seed is not None or self._seed is None:
            self._seed = torch.initial_seed() if seed is None else seed
            self._is_seed_given = seed is not None

    @property
    def tracked(self) -> Dict[str, Any]:
        """The objects by their names."""
        return {name: one.value for name, one in self._objects.items()}

    @property
    def tracked_parts(self) -> Dict[str, Any]:
        """What tracked containers and objects of the script's hold, by name, that saves have and put back in place."""
        return {f"{name}/{at}": part for name, one in self._objects.items() for at, part in one.parts().items()}

    @property
    def is_seed_chance(self) -> bool:
        """Whether the seed looks like one that torch has drawn, and not the script named."""
        return self._seed is not None and not self._is_seed_given and self._seed > _NAMED_BY_A_SCRIPT

    def tell(self, text: str) -> None:
        """A line on stderr, once."""
        if text not in self._told and self._rank == 0:
            self._told.add(text)
            print(f"glim: {text}", file=sys.stderr, flush=True)

    def is_new(self, what: str) -> bool:
        """Whether nothing was told of it, in this attempt or in one before; now it is."""
        is_new = what not in self._told
        self._told.add(what)
        return is_new

    # ---- the loop

    def look_around(self, frame: Any) -> None:
        """Before the first step: what random generators the script has, and how its data is before it changes."""
        nodes = list(walk.walk(walk.script_variables(frame), self.tracked.values()))
        self.generators.add_all(nodes, is_stepwise=True)
        for name, one in self._objects.items():
            self.generators.add_all(walk.walk({name: one.value}), is_stepwise=True)
        self.generators.add_of_modules()
        self.sources.look(nodes, [(path, value) for path, value in nodes if "." not in path])

    def brings_itself_back(self, source: Any) -> bool:
        """Whether the source, or the tracked sampler in it, comes back at its position by itself. A sampler that
        workers read ahead of the training does not."""
        if any(one.value is source and one.has_methods for name, one in self._objects.items() if name != "sampler"):
            return True
        return "sampler" in self._objects and not (walk.is_loader(source) and source.num_workers > 0)

    def begin_part(self, key: str) -> None:
        """A part of the script between two loops begins."""
        self._reseed(key)
        self._settle()

    def begin_epoch(self, call: str, source: Any, key: str, epoch: int) -> None:
        """`call` names the run.steps(), `key` the epoch of it."""
        self._nodes = self._nodes_of(source)
        self.generators.begin_epoch()
        if self._seed is not None and not walk.is_one_shot(source):
            self.generators.add_all(self._nodes, is_stepwise=False)
            self.sources.begin(call, source, self._nodes)
            self._begin_workers_anew()
        if hasattr(self._sampler, "set_epoch"):
            self._sampler.set_epoch(epoch)
        by_itself = {"sampler"} if self.brings_itself_back(source) else set()
        by_itself |= {name for name, one in self._objects.items() if one.value is source and one.has_methods}
        self._parts.begin(call, source, self._objects, by_itself)
        self._reseed(f"epoch {key}", all_of_them=True)

    def reads_in_threads(self) -> None:
        """The source has begun threads, which may draw from the generators that it has."""
        self.generators.leave_alone(self._nodes)

    def begin_fetch(self, key: str, position: int) -> None:
        self._parts.fetch(position)
        if self._restored is not None and position == self._restored[_CURSOR].get("position"):
            self._put_back_changed(self._parts.take_behind())
        self._reseed(f"fetch {key} {position}")

    def begin_step(self, step: int) -> None:
        self._reseed(f"step {step}")

    def begin_step_by_hand(self, step: int, frame: Any) -> None:
        """Of a loop that does not go over steps()."""
        if not self._is_by_hand:
            self._is_by_hand = True
            self.look_around(frame)
        self.begin_step(step)

    def end_call(self, call: str, source: Any) -> None:
        """All batches of a run.steps() are over, in this attempt or in one before."""
        if self._seed is not None and not walk.is_one_shot(source):
            self.sources.end(call, source, self._nodes_of(source))
        self._parts.end()
        self._reseed(f"end {call}")
        self._settle()

    def _settle(self) -> None:
        self._settled = {name: one.mark() for name, one in self._objects.items()}

    def has_changed(self) -> bool:
        """Whether the script has changed what is tracked since the loop or the body began or ended: what it did will be
        done again by an attempt that goes on from there."""
        return self._settled is not None and self._settled != {n: one.mark() for n, one in self._objects.items()}

    def source_measures(self) -> Dict[str, Any]:
        return self.sources.measures(self._nodes)

    @property
    def source_nodes(self) -> List[Tuple[str, Any]]:
        return self._nodes

    def may_stop(self, step: int) -> bool:
        """Whether the boundary before `step` is one at which all ranks hold the same. Gradients that are being added
        up may be each rank's own (no_sync(), a reduction of the script's own at the end): rank 0 cannot save the
        others'. All ranks go on to the next step of an optimizer, which is the same one."""
        if self._ranks() == 1 or not self.gradients.are_added_up():
            self._adds_up_since = None
            return True
        if self._adds_up_since is None:
            self._adds_up_since = step
        if step - self._adds_up_since < _ADDS_UP_MOST:
            return False
        self.tell(f"gradients were added up for {_ADDS_UP_MOST} steps: saves hold those of rank 0 alone")
        return True

    def _ranks(self) -> int:
        import torch

        group = torch.distributed
        is_known = group.is_available() and group.is_initialized()
        return int(group.get_world_size()) if is_known else self._world

    # ---- saves

    def state(self, cursor: Dict[str, Any]) -> Dict[str, Any]:
        """What a checkpoint holds: every tracked object's state by its name, and where training stands. Of the cursor,
        `step` is the last complete one, `position` the batches done in `epoch`; loop.py has the rest."""
        if self._restored is not None:  # the loop has not gone on yet
            return {**self._restored, _CURSOR: {**self._restored[_CURSOR], **cursor, "format": FORMAT}}
        cursor = {
            "format": FORMAT,
            **cursor,
            "seed": self._seed,
            "generators": self.generators.seeds(),
            "by_hand": self._is_by_hand,
            "left_alone": self.generators.left_alone(bool(cursor.get("begun"))),
            "sources": self.sources.state(),
            "parts": self._parts.state(cursor.get("position", 0)),
            "kept": {name: kept for name, kept in ((n, one.kept()) for n, one in self._objects.items()) if kept},
            "gradients": self.gradients.state(),
            "told": sorted(self._told)[:_TOLD_MAX],
        }
        return {_CURSOR: cursor, **{name: one.state() for name, one in self._objects.items()}}

    def put_back(self, path: str, state: Any) -> Dict[str, Any]:
        """Puts every tracked object back as `state` has it. Returns the cursor. Raises RuntimeError that
        names `path`, having changed nothing, if it is not a state of the same objects."""
        cursor = state.get(_CURSOR) if isinstance(state, dict) else None
        if not isinstance(cursor, dict) or cursor.get("format") not in _READS:
            raise RuntimeError(
                f"{path}: not a save of format {FORMAT} (or {_READS[0]}); was it written by run.track() and steps()?"
            )
        saved, tracked = set(state) - {_CURSOR}, set(self._objects)
        if saved != tracked:
            raise RuntimeError(
                f"{path}: saved were {sorted(saved)}, tracked are {sorted(tracked)}; " "track the same names"
            )
        if self._rank == 0 and self._seed is not None:
            if not self._is_seed_given:
                self._seed = cursor.get("seed", self._seed)
            self.generators.adopt(cursor.get("generators", {}))
        self.generators.adopt_alone(cursor.get("left_alone", ()))
        self.sources.adopt(cursor.get("sources", {}))
        self._parts.adopt(cursor.get("parts"))
        self._told.update(cursor.get("told", ()))
        self._was_by_hand = bool(cursor.get("by_hand"))
        self._restored = state
        self._put_back_all()
        return {name: value for name, value in cursor.items() if name not in _NOT_THE_LOOPS}

    def go_on_by_hand(self, step: int, frame: Any) -> None:
        """After put_back(): in a loop of the script's own nothing is asked before the next step, if it asks behind."""
        if self._was_by_hand:
            self.begin_step_by_hand(step, frame)

    def go_on(self, source: Any = None, is_last: bool = True) -> None:
        """The script has come to where the save was made. What it has done since restore() it had done before the save
        as well, so what it has changed is put back once more. `source` is gone over already: what brings itself back
        at a position of it stays. `is_last`: from here on the training goes on."""
        if self._restored is None:
            return
        kept = {n for n, one in self._objects.items() if source is not None and one.value is source and one.has_methods}
        kept |= {"sampler", *self._parts.settled} if source is not None else set()
        self._put_back_changed(set(self._objects) - kept)
        if is_last:
            self.gradients.put_back(self._restored[_CURSOR].get("gradients", {}))
            self._restored, self._marks = None, {}

    def _put_back_all(self) -> None:
        assert self._restored is not None
        for name in self._objects:
            self._put_back_one(name)
        self.gradients.put_back(self._restored[_CURSOR].get("gradients", {}))

    def _put_back_changed(self, names: Set[str]) -> None:
        for name in names:
            if self._objects[name].mark() != self._marks[name]:
                self._put_back_one(name)

    def _put_back_one(self, name: str) -> None:
        assert self._restored is not None
        self._objects[name].put_back(self._restored[name], self._restored[_CURSOR].get("kept", {}).get(name, ()))
        self._marks[name] = self._objects[name].mark()

    def _nodes_of(self, source: Any) -> List[Tuple[str, Any]]:
        roots = {"": source} if self._sampler is None else {"": source, "sampler": self._sampler}
        return list(walk.walk(roots, self.tracked.values()))

    def _begin_workers_anew(self) -> None:
        """Workers that outlive an epoch have drawn numbers in it that new workers cannot have drawn."""
        for path, value in self._nodes:
            if walk.is_loader(value) and value.persistent_workers and value._iterator is not None:
                value._iterator = None
                self.tell(
                    f"{path or 'the loader'}: persistent_workers are started anew for each epoch, so that they draw "
                    "the same numbers after an interrupt; run.track(reseed=False) leaves them"
                )

    def _reseed(self, purpose: str, all_of_them: bool = False) -> None:
        if self._seed is None:
            return
        import torch

        digest = hashlib.sha256(f"{self._seed} {self._rank} {purpose}".encode()).digest()
        torch.manual_seed(int.from_bytes(digest[:8], "little") >> 1)
        random.seed(digest[8:16])
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(int.from_bytes(digest[16:20], "little"))
        self.generators.reseed(purpose, all_of_them)


_NOT_THE_LOOPS = ("format", "seed", "generators", "by_hand", "left_alone", "sources", "parts", "kept", "gradients") + (
    "told",
)


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
