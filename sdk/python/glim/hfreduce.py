"""Collectives over all ranks of a job: through shared memory inside a node, along two trees between nodes.

    from glim import hfreduce
    with hfreduce.init() as group:                  # ranks, zones and gateways from the environment
        group.all_reduce(gradients, op="average")   # in place
        handle = group.all_reduce(more, async_op=True)
        ...                                         # goes on while this computes; leave `more` alone
        handle.wait()

Every rank makes the same calls in the same order, from one thread at a time. Buffers are numpy arrays, whatever else
has the buffer protocol, and torch tensors; nothing is copied in Python, so they must be contiguous. Of a tensor on a
GPU is read, and written, what the current stream had at the call; that stream waits for nothing: use the result on it
after the handle is done. Import torch, with CUDA, before init(). An
argument that cannot be used is a ValueError or TypeError that names it, before any rank is told; what goes wrong
between ranks is an HfreduceError. While a call waits, other threads run; a signal is handled when it is over.

Needs the compiled part (sdk/hfreduce/python), not torch or numpy.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Tuple

from .compiled import load
from .dtypes import BUFFER_TO_REDUCIBLE, REDUCIBLE, TORCH_TO_REDUCIBLE

_hfreduce = load("_hfreduce", "glim.hfreduce", "torch.distributed, with gloo or nccl")

if TYPE_CHECKING:
    Handle = Any  # the compiled part tells no types
else:
    Handle = _hfreduce.Handle
HfreduceError = _hfreduce.HfreduceError
HfreduceError.__module__ = __name__

_TYPES = tuple(row.name for row in REDUCIBLE)
_OPS = ("sum", "average", "min", "max", "product")


class Communicator:
    """What init() returns. `close()`, or the end of a `with` block, fails what is in flight on every rank."""

    def __init__(self, group: Any) -> None:
        self._group = group
        self.rank: int = group.rank
        self.size: int = group.size
        self.node: int = group.node  # this rank's, counted in the order of ranks
        self.nodes: int = group.nodes
        self.transport: str = group.transport  # of the first rank of a node: "tcp", "ucx" or "verbs"; else "none"

    def __enter__(self) -> "Communicator":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def all_reduce(
        self, tensor: Any, op: str = "sum", *, out: Any = None, dtype: Optional[str] = None, async_op: bool = False
    ) -> Optional[Handle]:
        """Every rank gets the reduction of all ranks' tensors: in `out`, or in place."""
        source, target = _pair(tensor, out, writes=True)
        return _answer(
            self._group.all_reduce(source.memory, target.memory, _type(source, target, dtype), _op(op)), async_op
        )

    def reduce(
        self,
        tensor: Any,
        root: int = 0,
        op: str = "sum",
        *,
        out: Any = None,
        dtype: Optional[str] = None,
        async_op: bool = False,
    ) -> Optional[Handle]:
        """Rank `root` alone gets it; the others' `out` is not used."""
        self._check_root(root)
        source, target = _pair(tensor, out, writes=self.rank == root)
        return _answer(
            self._group.reduce(source.memory, target.memory, _type(source, target, dtype), _op(op), root), async_op
        )

    def broadcast(self, tensor: Any, root: int = 0, *, async_op: bool = False) -> Optional[Handle]:
        """Every rank's tensor becomes the root's. Elements of any type."""
        self._check_root(root)
        buffer = _Buffer("tensor", tensor, writes=self.rank != root)
        return _answer(self._group.broadcast(buffer.memory, root), async_op)

    def all_gather(self, tensor: Any, out: Any, *, async_op: bool = False) -> Optional[Handle]:
        """`out` gets every rank's tensor, in the order of ranks. Elements of any type."""
        source, target = _Buffer("tensor", tensor, writes=False), _Buffer("out", out, writes=True)
        source.check_same_place(target)
        if target.bytes != source.bytes * self.size:
            raise ValueError(
                f"out: has {target.bytes} bytes, {self.size} ranks with {source.bytes} each need "
                f"{source.bytes * self.size}"
            )
        return _answer(self._group.all_gather(source.memory, target.memory), async_op)

    def reduce_scatter(
        self, tensor: Any, out: Any, op: str = "sum", *, dtype: Optional[str] = None, async_op: bool = False
    ) -> Optional[Handle]:
        """`tensor` is a part for every rank, in their order; `out` gets the reduction of this rank's."""
        source, target = _Buffer("tensor", tensor, writes=False), _Buffer("out", out, writes=True)
        source.check_same_place(target)
        if source.bytes != target.bytes * self.size:
            raise ValueError(
                f"tensor: has {source.bytes} bytes, {self.size} ranks with {target.bytes} each need "
                f"{target.bytes * self.size}"
            )
        if source.overlaps(target):
            raise ValueError("out: overlaps tensor; give it memory of its own")
        return _answer(
            self._group.reduce_scatter(source.memory, target.memory, _type(source, target, dtype), _op(op)), async_op
        )

    def barrier(self, *, async_op: bool = False) -> Optional[Handle]:
        """Ends when every rank has called it."""
        return _answer(self._group.barrier(), async_op)

    def abort(self, reason: str) -> None:
        """What is in flight fails with this reason on every rank, and so does what comes after. From any thread."""
        self._group.abort(reason)

    def bytes_sent_to(self, node: int) -> int:
        """Payload and headers that this node has sent to another; 0 on ranks that are not the first of their node."""
        return self._group.bytes_sent_to(node)

    def close(self) -> None:
        self._group.close()

    def _check_root(self, root: int) -> None:
        if not 0 <= root < self.size:
            raise ValueError(f"root: is {root}; the ranks are 0 to {self.size - 1}")


def init(
    *,
    rank: Optional[int] = None,
    zones: Optional[Sequence[Sequence[int]]] = None,
    gateways: Sequence[int] = (),
    store: Optional[Tuple[str, int]] = None,
    listen: str = "",
    environment: Optional[Mapping[str, str]] = None,
    name: str = "0",
    transport: str = "auto",
    congestion: str = "",
    device: str = "",
    service_level: int = -1,
    timeout: float = 60.0,
    cuda_runtime: str = "auto",
) -> Communicator:
    """Waits until all ranks are here, `timeout` seconds at most; an operation may also be so long without progress.

    Without `zones`, the environment says who takes part: Glim's, or torchrun's (docs/protocols/task-socket.md).
    With them, `zones=[[2, 2], [4]]` is a zone of two nodes with two ranks each and one of a node with four; ranks count
    through them. `gateways` are the nodes that talk across zones (the first of each); `store` is the host and port
    where rank 0 listens meanwhile; `listen` this node's address (the one from which the store's host is reached).
    `transport` between nodes, the same on all ranks: "auto" takes verbs where every node can, else TCP, and rank 0 says
    which on stderr; "tcp"; "verbs", or an error that says what is missing; "ucx": verbs, else UCX's own tcp.
    `cuda_runtime` is the path of the library for tensors on a GPU ("auto": the one that torch has loaded).
    `name` tells apart the communicators of a job that live at the same time; all ranks make them in the same order.
    """
    options = _hfreduce.Options()
    options.id, options.transport, options.listen = name, transport, listen
    options.congestion, options.device, options.service_level = congestion, device, service_level
    options.cuda_runtime = cuda_runtime
    options.timeout_ms = round(timeout * 1000)
    if zones is None:
        explicit = {"rank": rank is not None, "gateways": gateways, "store": store, "listen": listen}
        for argument in (name for name, given in explicit.items() if given):
            raise ValueError(f"{argument}: comes from the environment, unless zones is given")
        variables = dict(os.environ if environment is None else environment)
        return Communicator(_hfreduce.from_variables(variables, options))
    if rank is None or store is None or environment is not None:
        raise ValueError("zones: needs rank and store beside it, and no environment")
    host, port = store
    return Communicator(
        _hfreduce.from_arguments([list(zone) for zone in zones], list(gateways), rank, host, port, options)
    )


class _Buffer:
    """An argument's memory; refuses what cannot be used as it lies there."""

    def __init__(self, argument: str, value: Any, writes: bool) -> None:
        self.argument = argument
        # By its methods and not by its class: torch is not imported here.
        is_tensor = hasattr(value, "data_ptr") and hasattr(value, "is_contiguous")
        find = self._find_tensor if is_tensor else self._find_buffer
        self.device, stream = -1, 0
        if is_tensor and value.device.type == "cuda":
            self.device, stream = value.device.index, _current_stream(value.device)
        self.address, self.bytes, owner = find(value, writes)
        self.memory = _hfreduce.Memory(self.address, self.bytes, owner, self.device, stream)

    def _find_tensor(self, value: Any, writes: bool) -> Tuple[int, int, Any]:
        if value.device.type not in ("cpu", "cuda"):
            raise ValueError(f"{self.argument}: is on {value.device}; copy it to the CPU's memory")
        if str(value.layout) != "torch.strided" or not value.is_contiguous():
            raise ValueError(f"{self.argument}: is not contiguous; pass a copy from .contiguous()")
        self.dtype, self.found = TORCH_TO_REDUCIBLE.get(str(value.dtype)), str(value.dtype)
        return value.data_ptr(), value.numel() * value.element_size(), value

    def _find_buffer(self, value: Any, writes: bool) -> Tuple[int, int, Any]:
        try:
            view = memoryview(value)
        except (TypeError, ValueError) as error:  # numpy: ValueError for element types that the protocol lacks
            kind = type(value).__name__
            raise TypeError(f"{self.argument}: {kind} is neither a tensor nor a buffer: {error}") from None
        if not view.c_contiguous:
            raise ValueError(f"{self.argument}: is not contiguous; pass a copy from numpy.ascontiguousarray()")
        if writes and view.readonly:
            raise ValueError(f"{self.argument}: is read-only, and the result goes there")
        self.dtype, self.found = BUFFER_TO_REDUCIBLE.get(view.format.lstrip("@")), f"format {view.format!r}"
        return _hfreduce.address_of(view), view.nbytes, view

    def check_same_place(self, other: "_Buffer") -> None:
        if self.device != other.device:
            places = ["the CPU" if device < 0 else f"GPU {device}" for device in (other.device, self.device)]
            raise ValueError(f"{other.argument}: is on {places[0]}, {self.argument} on {places[1]}")

    def overlaps(self, other: "_Buffer") -> bool:
        return self.address < other.address + other.bytes and other.address < self.address + self.bytes


def _current_stream(device: Any) -> int:
    import torch  # has made the tensor: nothing is loaded here

    return torch.cuda.current_stream(device).cuda_stream


def _pair(tensor: Any, out: Any, writes: bool) -> Tuple[_Buffer, _Buffer]:
    source = _Buffer("tensor", tensor, writes=writes and out is None)
    if out is None or not writes:
        return source, source
    target = _Buffer("out", out, writes=True)
    source.check_same_place(target)
    if target.bytes != source.bytes:
        raise ValueError(f"out: has {target.bytes} bytes, tensor {source.bytes}")
    if source.overlaps(target) and source.address != target.address:
        raise ValueError("out: overlaps tensor without being the same")
    return source, target


def _type(source: _Buffer, target: _Buffer, dtype: Optional[str]) -> str:
    if dtype is not None:
        if dtype not in _TYPES:
            raise ValueError(f"dtype: {dtype!r} is none of {', '.join(_TYPES)}")
        return dtype
    for buffer in (source, target):
        if buffer.dtype is None:
            raise TypeError(
                f"{buffer.argument}: elements of {buffer.found} cannot be reduced; pass one of "
                f"{', '.join(_TYPES)}, or say by dtype= what the bytes are"
            )
    if source.dtype != target.dtype:
        raise TypeError(f"out: is {target.dtype}, tensor {source.dtype}")
    assert source.dtype is not None
    return source.dtype


def _op(op: str) -> str:
    if op not in _OPS:
        raise ValueError(f"op: {op!r} is none of {', '.join(_OPS)}")
    return op


def _answer(handle: Handle, async_op: bool) -> Optional[Handle]:
    if async_op:
        return handle
    handle.wait()
    return None
