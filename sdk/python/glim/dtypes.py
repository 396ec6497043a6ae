"""Element types and their names: the table of sdk/base/dtype.h in Python (a test compares the two)."""

from __future__ import annotations

import struct
from typing import Dict, NamedTuple, Optional, Tuple


class DType(NamedTuple):
    """One element type."""

    name: str  # in hfreduce's arguments and messages
    bytes: int  # of one element
    safetensors: str  # in a checkpoint
    torch: str  # str(tensor.dtype)
    numpy: Optional[str]  # array.dtype.str; None: numpy has no such type


DTYPES: Tuple[DType, ...] = (
    DType("fp32", 4, "F32", "torch.float32", "<f4"),
    DType("fp64", 8, "F64", "torch.float64", "<f8"),
    DType("fp16", 2, "F16", "torch.float16", "<f2"),
    DType("bf16", 2, "BF16", "torch.bfloat16", None),
    DType("fp8_e4m3", 1, "F8_E4M3", "torch.float8_e4m3fn", None),
    DType("fp8_e5m2", 1, "F8_E5M2", "torch.float8_e5m2", None),
    DType("int32", 4, "I32", "torch.int32", "<i4"),
    DType("int64", 8, "I64", "torch.int64", "<i8"),
    DType("bool", 1, "BOOL", "torch.bool", "|b1"),
    DType("uint8", 1, "U8", "torch.uint8", "|u1"),
    DType("int8", 1, "I8", "torch.int8", "|i1"),
    DType("uint16", 2, "U16", "torch.uint16", "<u2"),
    DType("int16", 2, "I16", "torch.int16", "<i2"),
    DType("uint32", 4, "U32", "torch.uint32", "<u4"),
    DType("uint64", 8, "U64", "torch.uint64", "<u8"),
)
REDUCIBLE = DTYPES[:8]

TORCH_TO_SAFETENSORS: Dict[str, str] = {row.torch: row.safetensors for row in DTYPES}
NUMPY_TO_SAFETENSORS: Dict[str, str] = {row.numpy: row.safetensors for row in DTYPES if row.numpy}
TORCH_TO_REDUCIBLE: Dict[str, str] = {row.torch: row.name for row in REDUCIBLE}
# The buffer protocol's letters are those of C's types: a long has 4 or 8 bytes.
BUFFER_TO_REDUCIBLE: Dict[str, str] = {
    "f": "fp32",
    "d": "fp64",
    "e": "fp16",
    "i": "int32",
    "q": "int64",
    "l": "int64" if struct.calcsize("l") == 8 else "int32",
}
