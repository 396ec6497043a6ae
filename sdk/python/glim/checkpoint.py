"""Checkpoints: tensors copied aside at once and written in the background, read back verified.

    from glim.checkpoint import Checkpointer, load_newest, open_checkpoint

    with Checkpointer("/shared/ckpt/my-job") as saver:
        handle = saver.save_async(step, {"weight": weight, "bias": bias})   # returns when both are copied
        ...                                                                 # they may change again
        print(handle.wait().path)                                           # durable

    checkpoint, state = load_newest("/shared/ckpt/my-job")       # falls back to the one before a bad one
    some = open_checkpoint(path).load("encoder.*")               # by a shell pattern

Arrays are torch tensors, numpy arrays, and whatever has the buffer protocol (as bytes). They must be contiguous; those
in the memory of the CPU or of CUDA's devices are copied once, into the buffer that is written. save_state_async() takes
a nested state with anything that state_tree.py can keep. While a call copies, reads or waits, other Python threads run.

What is wrong with an argument is a TypeError or ValueError; anything else is a CheckpointError. Needs the compiled
part (sdk/checkpoint/python), not torch or numpy. Format and rules: docs/reference/checkpoint-format.md.
"""

from __future__ import annotations

import functools
import math
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import state_tree
from .compiled import load as load_compiled
from .errors import CheckpointError
from .state_tree import STRUCTURE_NAME, Structure, StructureError

_checkpoint = load_compiled(
    "_checkpoint",
    "glim.checkpoint",
    "glim.session() with saves of your own " "(run.checkpoint_saved(), run.resume_path), and glim-task",
)
if TYPE_CHECKING:
    SaveReport = Any  # the compiled part tells no types
else:
    SaveReport = _checkpoint.SaveReport
_FOLDER = re.compile(r"(?P<root>.+)/attempt-(?P<attempt>[0-9]+)/step-(?P<step>[0-9]{8,})/*")


@dataclass(frozen=True)
class Replicated:
    """All writers hold the same array: it is written once, by them in turn."""

    array: Any


@dataclass(frozen=True)
class Rows:
    """This writer's rows of a distributed array, from row `first` on; `total` rows are there in all. For loading, the
    rows to read; any split will do, and `total` is not needed."""

    array: Any
    first: int
    total: int = -1


class ArrayInfo(NamedTuple):
    dtype: str  # safetensors' names: "F32", "BF16", ...
    shape: Tuple[int, ...]

    @property
    def bytes(self) -> int:
        bits = 8 if self.dtype == "BOOL" else int(re.findall("[0-9]+", self.dtype)[0])
        return math.prod(self.shape) * bits // 8


class SaveHandle:
    """One save on its way. Any thread."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def done(self) -> bool:
        """Whether wait() would return, or raise, at once."""
        return self._handle.done()

    def wait(self) -> SaveReport:
        """Waits until the checkpoint is durable. The report has step, path (of the checkpoint's folder), bytes (of this
        rank's shard), and in microseconds stall_micros (what save_async took for waiting and copying), copy_micros,
        durable_micros (from the call on); made_room is how many older checkpoints a full disk or quota cost.
        Raises CheckpointError; the newest checkpoint before is then untouched."""
        return self._handle.wait()

    def wait_for_replica(self) -> SaveReport:
        """The same, and waits until the copy is there, too, or has failed: the report has `replica` (peer, bytes,
        micros) or None, and `replica_error`. A copy's failure is not the save's."""
        return self._handle.wait_for_replica()


class Checkpointer:
    """Writes one rank's part of an attempt's checkpoints under `path`. One thread uses it, and it has one of its own.
    Its buffer is as large as this rank's shard, and is kept from save to save."""

    def __init__(
        self,
        path: "str | os.PathLike[str]",
        *,
        job: str = "local",
        attempt: int = 1,
        rank: int = 0,
        world: int = 1,
        when_busy: str = "wait",
        keep: int = 3,
        keep_max_age_s: float = 0.0,
        io: str = "auto",
        direct: bool = True,
        writers_per_target: int = 2,
        parts_timeout_s: float = 300.0,
        replica: Any = None,
    ) -> None:
        """Begins the attempt, if begin_attempt() has not.

        job: whose directory it is; another's is refused. rank, world: of those that write; with world > 1 every rank
        makes the same saves, and rank 0 publishes when all parts are there, waiting `parts_timeout_s` at most.
        when_busy: "wait" or "skip", for a save that comes before the one before is durable. keep: that many, newest
        first; keep_max_age_s: but not older (0: of any age). io: "auto", "io_uring", "pwrite" or "usrbio".
        writers_per_target: does nothing today. replica: a glim.replica.Replica,
        which gets a copy of each save while that is written; the buffer is in use until the copy is there."""
        options = _checkpoint.SaverOptions()
        options.path, options.job, options.attempt = os.path.abspath(os.fspath(path)), job, attempt
        options.rank, options.world, options.when_busy = rank, world, when_busy
        options.keep, options.keep_max_age_ms = keep, round(keep_max_age_s * 1000)
        options.io, options.direct, options.writers_per_target = io, direct, writers_per_target
        options.parts_timeout_ms = round(parts_timeout_s * 1000)
        options.replica = None if replica is None else replica.writer(attempt, rank, world)
        self.path = options.path
        self._saver = _checkpoint.Saver(options)
        base = self._saver.base
        self.base: Optional[str] = None if base is None else path_of(self.path, *base)

    def __enter__(self) -> "Checkpointer":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def save_async(
        self, step: int, arrays: Mapping[str, Any], metadata: Optional[Mapping[str, str]] = None
    ) -> Optional[SaveHandle]:
        """Returns when the arrays' memory may change again; None: skipped, as another save is on its way. `step` is the
        last complete one. A value may be Replicated or Rows; any other is this rank's alone. Raises for arrays that
        cannot be saved, and disturbs nothing then."""
        parts = [_part(name, value) for name, value in arrays.items()]
        streams = {part.device: _current_stream(part.device) for part in parts if part.device >= 0}
        handle = self._saver.save_async(step, [part.arguments for part in parts], dict(metadata or {}), streams)
        return None if handle is None else SaveHandle(handle)

    def save_state_async(
        self, step: int, state: Any, metadata: Optional[Mapping[str, str]] = None
    ) -> Optional[SaveHandle]:
        """The same for a nested state, as load_state() gives it back. Raises TypeError that names what cannot be kept.
        With world > 1 all ranks must hold the same."""
        arrays = state_tree.flatten(state)
        if self._saver.world > 1:
            arrays = {name: Replicated(array) for name, array in arrays.items()}
        return self.save_async(step, arrays, metadata)

    def load(self, tried: Optional[Callable[[str, Exception], None]] = None) -> Tuple["Checkpoint", Any]:
        """load_newest() of this directory."""
        return load_newest(self.path, tried=tried)

    def close(self) -> None:
        """Waits for what is on its way. The Checkpointer cannot be used after."""
        self._saver.close()


class Checkpoint:
    """One checkpoint, opened: `path`, `attempt`, `step`, `metadata` (the user's), `arrays` (ArrayInfo by name), `peers`
    (whose memory it comes from; none: the disk). One thread uses it."""

    def __init__(self, path: str, attempt: int, step: int, reader: Any, peers: Tuple[str, ...] = ()) -> None:
        self.path, self.attempt, self.step, self.peers = path, attempt, step, peers
        self._reader = reader
        self.metadata: Dict[str, str] = self._reader.metadata
        self.arrays: Dict[str, ArrayInfo] = {
            name: ArrayInfo(dtype, shape) for name, dtype, shape in self._reader.arrays()
        }

    def load(
        self, pattern: str = "*", *, into: Optional[Mapping[str, Any]] = None, kind: str = "torch"
    ) -> Dict[str, Any]:
        """The arrays whose names match a shell pattern (*, ?, [...]), as torch tensors or, with kind="numpy", numpy's.
        Or those in `into`, straight into its arrays' memory; a value may be Rows. All are verified."""
        if into is None:
            make = {"torch": _new_tensor, "numpy": _new_array}[kind]
            into = {
                name: make(name, *self.arrays[name])
                for name in self._reader.matching(pattern)
                if name != STRUCTURE_NAME or pattern == STRUCTURE_NAME
            }
        self._fill((name, self._checked(name, value)) for name, value in into.items())
        return dict(into)

    def load_state(self, only: Optional[Iterable[str]] = None) -> Any:
        """What save_state_async() was given; of a dict, `only` these entries. Raises CheckpointError, and TypeError for
        a checkpoint that was written by save_async() and has no structure."""
        if STRUCTURE_NAME not in self.arrays:
            raise TypeError(f"{self.path}: has arrays only, no nested state; read it by load()")
        text = bytearray(self.arrays[STRUCTURE_NAME].shape[0])
        self._fill([(STRUCTURE_NAME, _Part(STRUCTURE_NAME, text, writes=True))])
        try:
            structure = Structure(bytes(text), self.arrays.__getitem__, only)
            self._fill((name, _Part(name, memory, writes=True)) for name, memory in structure.targets())
            return structure.build()
        except StructureError as error:
            raise CheckpointError(f"{self.path}: {error}", "DATA_LOSS") from error

    def verify(self) -> None:
        """Reads everything and checks it against the manifest. Raises CheckpointError."""
        self._reader.verify()

    def _fill(self, targets: Iterable[Tuple[str, "_Part"]]) -> None:
        targets = list(targets)
        self._reader.load([(name, part.at, part.address, part.bytes) for name, part in targets])

    def _checked(self, name: str, value: Any) -> "_Part":
        info = self.arrays.get(name)
        if info is None:
            raise KeyError(f"{name}: {self.path} has no such array")
        part = _Part(name, value, writes=True)
        shape = info.shape if part.rows is None else (part.shape[:1] + info.shape[1:])
        if part.dtype == "bytes" and part.bytes != info.bytes:
            raise ValueError(f"{name}: has {part.bytes} bytes of {info.bytes}")
        if part.dtype != "bytes" and (part.dtype != info.dtype or part.shape != shape):
            raise ValueError(f"{name}: is {part.dtype} {list(part.shape)}, but {info.dtype} {list(shape)} was saved")
        if part.rows is not None:
            if not info.shape or part.rows + part.shape[0] > info.shape[0]:
                raise ValueError(f"{name}: rows up to {part.rows + part.shape[0]} are asked for, of {list(info.shape)}")
            part.at = part.rows * (part.bytes // part.shape[0] if part.shape[0] else 0)
        return part


def path_of(root: "str | os.PathLike[str]", attempt: int, step: int) -> str:
    """The folder of a checkpoint."""
    return os.path.join(os.path.abspath(os.fspath(root)), f"attempt-{attempt}", f"step-{step:08d}")


def split_path(path: "str | os.PathLike[str]") -> Optional[Tuple[str, int, int]]:
    """(directory, attempt, step) of a checkpoint's folder; None if that is no such path."""
    match = _FOLDER.fullmatch(os.path.abspath(os.fspath(path)))
    return (match["root"], int(match["attempt"]), int(match["step"])) if match else None


def begin_attempt(
    root: "str | os.PathLike[str]",
    job: str,
    attempt: int,
    *,
    is_told: bool = False,
    base: Optional[str] = None,
    is_elsewhere: bool = False,
) -> Optional[str]:
    """Publishes what the attempt goes on from: by itself the newest checkpoint that counts, with `is_told` what an
    authority over the directory (the scheduler) says: `base`, a checkpoint's folder under `root`, or nothing. The first
    rank decides; every one is told what was decided. Raises CheckpointError: FAILED_PRECONDITION if a later attempt has
    begun or the directory is another job's, NOT_FOUND if `base` is not there; is_elsewhere: it was read from a
    neighbour's memory, and need not be."""
    root = os.path.abspath(os.fspath(root))
    where = split_path(base) if base else None
    decided = _checkpoint.begin_attempt(root, job, attempt, is_told, where and where[1:], is_elsewhere)
    return None if decided is None else path_of(root, *decided)


def open_checkpoint(path: "str | os.PathLike[str]", *, io: str = "auto") -> Checkpoint:
    """Opens a checkpoint's folder, DIR/attempt-N/step-S, whether it counts by the directory's rule or not."""
    where = split_path(path)
    if where is None:
        raise CheckpointError(
            f"{os.fspath(path)}: is no checkpoint's folder",
            "NOT_FOUND",
            fix="name one like DIR/attempt-1/step-00000100",
        )
    return Checkpoint(os.path.abspath(os.fspath(path)), *where[1:], _checkpoint.Reader(*where, io))


def checkpoints(root: "str | os.PathLike[str]", attempt: Optional[int] = None) -> List[str]:
    """The folders of the checkpoints that count, newest last: of the highest attempt that has begun, or `attempt`."""
    root = os.path.abspath(os.fspath(root))
    return [path_of(root, *where) for where in _checkpoint.visible(root, attempt)]


def first_good(
    paths: Iterable[str],
    load: Callable[[Checkpoint], Any],
    tried: Optional[Callable[[str, Exception], None]] = None,
    elsewhere: Optional[Callable[[str], Optional[Tuple[Checkpoint, Any]]]] = None,
) -> Tuple[Checkpoint, Any]:
    """load(checkpoint) of the first of `paths` that is whole. `tried` is told of each that is not. `elsewhere` is asked
    before the disk, and what it has is taken. Raises CheckpointError: NOT_FOUND if there is none, else the first's."""
    first: Optional[CheckpointError] = None
    for path in paths:
        found = elsewhere(path) if elsewhere is not None else None
        if found is not None:
            return found
        try:
            checkpoint = open_checkpoint(path)
            return checkpoint, load(checkpoint)
        except CheckpointError as error:
            if not error.is_corrupt:
                raise
            first = first or _in_path(path, error)
            if tried is not None:
                tried(path, error)
    raise first or CheckpointError("there is no checkpoint", "NOT_FOUND")


def load_newest(
    root: "str | os.PathLike[str]",
    load: Callable[[Checkpoint], Any] = Checkpoint.load_state,
    tried: Optional[Callable[[str, Exception], None]] = None,
) -> Tuple[Checkpoint, Any]:
    """(the newest checkpoint that counts and is whole, what `load` made of it). See first_good()."""
    found = checkpoints(root)
    if not found:
        raise CheckpointError(f"{os.fspath(root)}: has no checkpoint that counts", "NOT_FOUND")
    return first_good(reversed(found), load, tried)


def _in_path(path: str, error: CheckpointError) -> CheckpointError:
    return error if path in str(error) else CheckpointError(f"{path}: {error}", error.code, error.reason, error.field)


class _Part:
    """An array's memory, as it is saved or to be filled. `owner` keeps it."""

    def __init__(self, name: str, value: Any, writes: bool) -> None:
        self.name, self.at, self.rows, self.total = name, 0, None, -1
        self.device = -1  # of CUDA's, on which the memory lies; -1: the CPU's
        self.placement = "own"
        if isinstance(value, Replicated):
            self.placement, value = "replicated", value.array
        elif isinstance(value, Rows):
            self.placement, self.rows, self.total, value = "rows", value.first, value.total, value.array
        find = (
            self._tensor if state_tree.is_tensor(value) else self._array if state_tree.is_array(value) else self._buffer
        )
        find(value, writes)
        if self.rows is not None and (not self.shape or self.rows < 0):
            raise ValueError(f"{name}: rows need an array with rows, and `first` at least 0")

    def _tensor(self, value: Any, writes: bool) -> None:
        if value.device.type != "cpu":
            if writes:
                raise ValueError(f"{self.name}: is on {value.device}; load into the CPU's memory")
            value = value.detach()
            if _is_copied_by_us(value):
                self.device = value.device.index
            else:
                value = value.cpu()
        if str(value.layout) != "torch.strided" or not value.is_contiguous() or value.is_neg() or value.is_conj():
            raise ValueError(f"{self.name}: is not contiguous; pass a copy from .contiguous()")
        self.owner, self.address, self.bytes = value, value.data_ptr(), value.numel() * value.element_size()
        self._typed(value)

    def _array(self, value: Any, writes: bool) -> None:
        if not value.flags.c_contiguous:
            raise ValueError(f"{self.name}: is not contiguous; pass a copy from numpy.ascontiguousarray()")
        if writes and not value.flags.writeable:
            raise ValueError(f"{self.name}: is read-only")
        self.owner, self.address, self.bytes = value, value.__array_interface__["data"][0], value.nbytes
        self._typed(value)

    def _typed(self, value: Any) -> None:
        dtype = state_tree.dtype_name(value)
        if dtype is None:
            raise TypeError(f"{self.name}: elements of {value.dtype} cannot be saved; view them as another type")
        self.dtype, self.shape = dtype, tuple(value.shape)

    def _buffer(self, value: Any, writes: bool) -> None:
        try:
            view = memoryview(value)
        except TypeError as error:
            raise TypeError(
                f"{self.name}: a {type(value).__name__} is neither a tensor nor a buffer; "
                "save_state_async() takes other things"
            ) from error
        if not view.c_contiguous:
            raise ValueError(f"{self.name}: is not contiguous")
        if writes and view.readonly:
            raise ValueError(f"{self.name}: is read-only")
        self.owner, self.address, self.bytes = view, _checkpoint.address_of(view), view.nbytes
        self.dtype, self.shape = "bytes", (view.nbytes,)

    @property
    def arguments(self) -> tuple:
        shape = self.shape
        first, count = 0, 0
        if self.placement == "rows":
            first, count, shape = self.rows or 0, shape[0], (self.total, *shape[1:])
            if self.total < first + count:
                raise ValueError(f"{self.name}: rows {first} to {first + count} of total {self.total}")
        dtype = "U8" if self.dtype == "bytes" else self.dtype
        return self.name, dtype, shape, self.placement, first, count, self.address, self.bytes, self.device >= 0


def _part(name: Union[str, Any], value: Any) -> _Part:
    if not isinstance(name, str):
        raise TypeError(f"arrays: {name!r} is no name; use strings")
    return _Part(name, value, writes=False)


def _is_copied_by_us(tensor: Any) -> bool:
    """Whether a device's tensor goes from there straight into the buffer that is written. Else torch copies it into the
    CPU's memory first: without CUDA's runtime (AMD's, a torch that has CUDA linked in), and where there is nothing."""
    return tensor.is_cuda and tensor.numel() > 0 and _has_device_runtime()


@functools.lru_cache(maxsize=None)
def _has_device_runtime() -> bool:
    return _checkpoint.has_device_runtime()


def _current_stream(device: int) -> int:
    import torch

    return torch.cuda.current_stream(device).cuda_stream


def _new_tensor(name: str, dtype: str, shape: Tuple[int, ...]) -> Any:
    import torch

    found = state_tree.torch_dtype(dtype)
    if found is None:
        raise TypeError(f"{name}: torch {torch.__version__} has no type {dtype}; use a newer one")
    return torch.empty(shape, dtype=found)


def _new_array(name: str, dtype: str, shape: Tuple[int, ...]) -> Any:
    import numpy

    found = state_tree.numpy_dtype(dtype)
    if found is None:
        raise TypeError(f'{name}: numpy has no type {dtype}; load it with kind="torch"')
    return numpy.empty(shape, found)
