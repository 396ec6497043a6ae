"""Reads a file of torch.save without running it.

torch.load cannot be asked for that: torch 1.13's weights_only knows no floating-point numbers, and takes no other
unpickler. So the zip format (torch 1.6 and newer) is read here: `data.pkl`, a pickle that may name what is on the list
below and nothing else, and `data/KEY`, the bytes of each storage. A tensor is type, offset, size and stride in a
storage; those that share one share it again.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import Any, Dict, Tuple

import torch

from .checkpoint import CheckpointError

_STORAGES = {
    "FloatStorage": torch.float32,
    "DoubleStorage": torch.float64,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
    "ComplexFloatStorage": torch.complex64,
    "ComplexDoubleStorage": torch.complex128,
    "UntypedStorage": torch.uint8,
}
# Each makes a value and does nothing else.
_ALLOWED = {
    ("collections", "OrderedDict"),
    ("collections", "Counter"),
    ("_codecs", "encode"),
    ("builtins", "bytearray"),
    ("__builtin__", "bytearray"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    *(
        (module, name)
        for module in ("numpy.core.multiarray", "numpy._core.multiarray")
        for name in ("_reconstruct", "scalar")
    ),
}


def read(path: str) -> Any:
    """The value, in the CPU's memory. Raises CheckpointError that names what is not on the list."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive)
    except (OSError, zipfile.BadZipFile) as error:
        raise CheckpointError(
            f"{path}: is not of torch.save's zip format: {error}", "DATA_LOSS", fix="an older format needs --trust"
        ) from error
    except (
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
        pickle.UnpicklingError,
    ) as error:
        raise CheckpointError(f"{path}: {error}", "DATA_LOSS") from error


def _read(archive: zipfile.ZipFile) -> Any:
    names = archive.namelist()
    top = names[0].split("/")[0] if names else ""
    if f"{top}/constants.pkl" in names:
        raise ValueError("is TorchScript, a program; save its state_dict() instead")
    if f"{top}/byteorder" in names and archive.read(f"{top}/byteorder") != b"little":
        raise ValueError("was written on a big-endian machine")
    if f"{top}/data.pkl" not in names:
        raise ValueError("has no data.pkl; is it a file of torch.save?")
    return _Unpickler(archive, top).load()


class _Unpickler(pickle.Unpickler):
    def __init__(self, archive: zipfile.ZipFile, top: str) -> None:
        super().__init__(io.BytesIO(archive.read(f"{top}/data.pkl")), encoding="utf-8")
        self._archive, self._top = archive, top
        self._storages: Dict[str, torch.Tensor] = {}  # as bytes

    def find_class(self, module: str, name: str) -> Any:
        if module in ("torch", "torch.storage") and name in _STORAGES:
            return _STORAGES[name]
        if module == "torch" and isinstance(getattr(torch, name, None), torch.dtype):
            return getattr(torch, name)
        if module == "torch._utils" and name in ("_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter"):
            return getattr(self, name)
        if (module, name) in _ALLOWED:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"it needs {module}.{name}, which is not read from a file that is not trusted; if "
            "it is your own, say --trust"
        )

    def persistent_load(self, identity: Any) -> Tuple[torch.Tensor, torch.dtype]:
        kind, dtype, key = identity[:3]
        if kind != "storage" or not isinstance(dtype, torch.dtype) or not isinstance(key, str):
            raise pickle.UnpicklingError(f"{str(identity)[:100]} is no storage")
        if key not in self._storages:
            content = bytearray(self._archive.read(f"{self._top}/data/{key}"))
            self._storages[key] = (
                torch.frombuffer(content, dtype=torch.uint8) if content else torch.empty(0, dtype=torch.uint8)
            )
        return self._storages[key], dtype

    # ---- what torch._utils has under these names

    def _rebuild_tensor_v2(
        self,
        storage: Tuple[torch.Tensor, torch.dtype],
        offset: int,
        size: tuple,
        stride: tuple,
        requires_grad: bool,
        hooks: Any,
        metadata: Any = None,
    ) -> torch.Tensor:
        content, dtype = storage
        tensor = content.view(dtype).as_strided(size, stride, offset)
        if metadata and metadata.get("conj"):
            tensor = tensor.conj()
        if metadata and metadata.get("neg"):
            tensor = torch._neg_view(tensor)
        return tensor.requires_grad_() if requires_grad else tensor

    def _rebuild_tensor_v3(
        self,
        storage: Tuple[torch.Tensor, torch.dtype],
        offset: int,
        size: tuple,
        stride: tuple,
        requires_grad: bool,
        hooks: Any,
        dtype: torch.dtype,
        metadata: Any = None,
    ) -> torch.Tensor:
        return self._rebuild_tensor_v2((storage[0], dtype), offset, size, stride, requires_grad, hooks, metadata)

    def _rebuild_parameter(self, data: torch.Tensor, requires_grad: bool, hooks: Any) -> torch.nn.Parameter:
        return torch.nn.Parameter(data, requires_grad)
