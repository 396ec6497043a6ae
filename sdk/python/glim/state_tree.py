"""A nested state (what state_dict() returns, or many of them) <-> arrays with names and a JSON text, the structure.

No pickle: reading a stranger's checkpoint makes plain values, arrays and tensors, and runs none of his code. What the
structure cannot say is refused at saving, by a TypeError that names its path. The JSON, beside plain values, lists and
objects, has these objects with a "$":

    {"$": "tuple", "items": [...]}               {"$": "dict" | "OrderedDict" | "Counter", "items": [[key, value], ...]}
    {"$": "int", "hex": "-ff"}                   an int beyond 64 bits
    {"$": "float", "bits": "7ff8000000000000"}   NaN or infinity, as IEEE 754 has it
    {"$": "bytes" | "bytearray", "name": NAME}   the array NAME of U8
    {"$": "tensor", "name": NAME}                torch; with "dtype" for complex numbers, "parameter", "requires_grad"
    {"$": "array" | "scalar", "name": NAME, "dtype": "<f4"}    numpy; "raw": true if NAME has its bytes as U8
    {"$": "set" | "path" | "enum" | ...}         the kinds of state_kinds.py

A dict is an object if all its keys are strings and none is "$". Tensors that are the same memory in the same form have
one NAME, and are one again when read; views that only overlap become arrays of their own. Everything is kept bit for
bit, NaNs too; tensors come back in the CPU's memory, row-major.

Standard library alone; torch and numpy are used where the state, or the structure, has theirs.
"""

from __future__ import annotations

import collections
import functools
import json
import math
import re
import struct
import sys
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from . import state_kinds
from .dtypes import NUMPY_TO_SAFETENSORS, TORCH_TO_SAFETENSORS

STRUCTURE_NAME = "glim.structure"  # the array with the JSON text
_NAME_BYTES_MAX = 1000
_NOT_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_DICTS = {"dict": dict, "OrderedDict": collections.OrderedDict, "Counter": collections.Counter}


class StructureError(ValueError):
    """A structure that this version cannot read, or that does not fit the arrays beside it."""


@functools.lru_cache(maxsize=None)
def torch_dtype(name: str) -> Any:
    """torch's type of that name in a checkpoint ("BF16"); None if this torch has none."""
    import torch

    names = (text for text, known in TORCH_TO_SAFETENSORS.items() if known == name)
    return next((getattr(torch, text[len("torch.") :], None) for text in names), None)


@functools.lru_cache(maxsize=None)
def numpy_dtype(name: str) -> Any:
    """numpy's type of that name in a checkpoint; None for BF16 and FP8, which numpy has not."""
    import numpy

    return next((numpy.dtype(text) for text, known in NUMPY_TO_SAFETENSORS.items() if known == name), None)


def dtype_name(value: Any) -> Optional[str]:
    """The name in a checkpoint of a tensor's or array's element type."""
    return _dtype_name(value.dtype)


@functools.lru_cache(maxsize=None)
def _dtype_name(dtype: Any) -> Optional[str]:
    text = str(dtype)
    return TORCH_TO_SAFETENSORS.get(text) if text.startswith("torch.") else NUMPY_TO_SAFETENSORS.get(dtype.str)


def is_tensor(value: Any) -> bool:
    """Without importing torch: whoever has a tensor has imported it."""
    return "torch" in sys.modules and isinstance(value, sys.modules["torch"].Tensor)


def is_array(value: Any) -> bool:
    return "numpy" in sys.modules and isinstance(value, sys.modules["numpy"].ndarray)


def flatten(tree: Any) -> Dict[str, Any]:
    """The arrays of `tree` by name (contiguous tensors, numpy arrays, bytes), and among them the structure. What lies
    in memory without gaps is not copied. Raises TypeError for what cannot be kept."""
    flattener = _Flattener(copies=True)
    text = json.dumps(flattener.root(tree), separators=(",", ":"), allow_nan=False)
    return {**flattener.arrays, STRUCTURE_NAME: text.encode()}


def check(tree: Any) -> None:
    """Raises the TypeError that flatten() would, without copying anything."""
    _Flattener(copies=False).root(tree)


class _Flattener:
    def __init__(self, copies: bool) -> None:
        self._copies = copies
        self.arrays: Dict[str, Any] = {STRUCTURE_NAME: b""}
        self._names: Dict[tuple, Tuple[str, Any]] = {}  # of memory that was seen; keeps it from being used anew

    def root(self, tree: Any) -> Any:
        try:
            return self.node(tree, ())
        except RecursionError:
            raise TypeError("nested too deep, or a container that contains itself") from None

    def node(self, value: Any, path: tuple) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if -(2**63) <= value < 2**64 else {"$": "int", "hex": format(value, "x")}
        if kind is float:
            return value if math.isfinite(value) else {"$": "float", "bits": struct.pack(">d", value).hex()}
        if kind is list or kind is tuple:
            items = [self.node(item, (*path, index)) for index, item in enumerate(value)]
            return items if kind is list else {"$": "tuple", "items": items}
        if kind in _DICTS.values():
            return self._dict(value, path)
        if kind is bytes or kind is bytearray:
            return {"$": kind.__name__, "name": self._add(path, bytes(value))}
        if is_tensor(value):
            return self._tensor(value, path)
        if is_array(value) or "numpy" in sys.modules and isinstance(value, sys.modules["numpy"].generic):
            return self._numpy(value, path)
        found = state_kinds.node_of(value, lambda part, key: self.node(part, (*path, key)))
        if found is None:
            raise _refusal(path, f"a {kind.__module__}.{kind.__qualname__}")
        return found

    def _dict(self, value: Any, path: tuple) -> Any:
        kind = type(value).__name__
        extra = dict(getattr(value, "__dict__", {}))
        metadata = extra.pop("_metadata", None)  # a Module's versions of its parts; load_state_dict reads them
        if extra:
            raise _refusal(path, f"an {kind} with attributes of its own ({', '.join(sorted(extra))})")
        if kind == "dict" and all(type(key) is str and key != "$" for key in value):
            return {key: self.node(item, (*path, key)) for key, item in value.items()}
        for key in value:
            if not isinstance(key, (str, int, float, bytes, tuple, type(None))):
                raise _refusal((*path, key), f"a key of type {type(key).__name__}")
        items = [[self.node(key, (*path, key)), self.node(item, (*path, key))] for key, item in value.items()]
        node = {"$": kind, "items": items}
        if metadata is not None:
            node["metadata"] = self.node(metadata, (*path, "_metadata"))
        return node

    def _tensor(self, value: Any, path: tuple) -> Any:
        import torch

        node: Dict[str, Any] = {"$": "tensor"}
        if type(value) is torch.nn.Parameter:
            node["parameter"] = True
        elif type(value) is not torch.Tensor:
            raise _refusal(path, f"a {type(value).__module__}.{type(value).__qualname__}")
        if value.layout is not torch.strided or value.is_quantized or value.device.type == "meta":
            raise _refusal(path, f"a tensor of layout {value.layout}, type {value.dtype} on {value.device}")
        if value.requires_grad:
            node["requires_grad"] = True
        plain = value.detach() if value.requires_grad else value
        if value.is_complex():
            node["dtype"] = str(value.dtype)[6:]
            plain = torch.view_as_real(plain.resolve_conj())
        if dtype_name(plain) is None:
            raise _refusal(path, f"a tensor of {value.dtype}")
        identity = (plain.device, plain.data_ptr(), plain.dtype, plain.shape, plain.stride(), plain.is_neg())
        name = self._known(identity, plain.numel())
        if name is None:
            name = self._add(path, plain.resolve_neg().contiguous() if self._copies else None, identity, plain)
        return {**node, "name": name}

    def _numpy(self, value: Any, path: tuple) -> Any:
        import numpy

        is_scalar = not is_array(value)
        if not is_scalar and type(value) is not numpy.ndarray:
            raise _refusal(path, f"a {type(value).__module__}.{type(value).__qualname__}")
        if value.dtype.hasobject or value.dtype.kind == "V":
            raise _refusal(path, f"a numpy array of {value.dtype}")
        node: Dict[str, Any] = {"$": "scalar" if is_scalar else "array", "dtype": value.dtype.str}
        array = numpy.asarray(value)
        identity = ("numpy", array.__array_interface__["data"][0], array.dtype.str, array.shape, array.strides)
        name = None if is_scalar else self._known(identity, array.size)
        plain = numpy.ascontiguousarray(array).reshape(array.shape)
        if array.dtype.str not in NUMPY_TO_SAFETENSORS:
            node["raw"] = True
            plain = numpy.frombuffer(plain.tobytes(), numpy.uint8).reshape(*array.shape, array.dtype.itemsize)
        if name is None:
            name = self._add(path, plain, None if is_scalar else identity, array)
        return {**node, "name": name}

    def _known(self, identity: tuple, elements: int) -> Optional[str]:
        return self._names[identity][0] if elements and identity in self._names else None

    def _add(self, path: tuple, array: Any, identity: Optional[tuple] = None, memory: Any = None) -> str:
        name = wanted = _name_of(path)
        count = 1
        while name in self.arrays:
            count += 1
            name = f"{wanted}~{count}"
        self.arrays[name] = array
        if identity is not None:
            self._names[identity] = (name, memory)
        return name


def _refusal(path: tuple, what: str) -> TypeError:
    where = ".".join(map(str, path)) or "the state"
    return TypeError(
        f"{where}: {what} cannot be kept in a checkpoint; make it of dicts, lists, tuples, sets, numbers, "
        "strings, bytes, numpy arrays and tensors, or leave it out of state_dict()"
    )


def _name_of(path: tuple) -> str:
    text = ".".join(map(str, path)) if path else "value"
    if text.isascii() and text.isprintable() and 0 < len(text) <= _NAME_BYTES_MAX:
        return text  # as almost all are, and a state may have a hundred thousand
    return _NOT_IN_NAMES.sub("_", text).encode()[:_NAME_BYTES_MAX].decode(errors="ignore") or "_"


class Structure:
    """A structure that was read. Two steps: what memory it needs, then, with that filled, the values."""

    def __init__(
        self, text: bytes, shape_of: Callable[[str], Tuple[str, Tuple[int, ...]]], only: Optional[Iterable[str]] = None
    ) -> None:
        """`shape_of`: element type and shape of an array by its name; KeyError if there is none. `only`: of a dict,
        these entries. Raises StructureError; KeyError for an entry that is not there."""
        self._shape_of = shape_of
        self._memory: Dict[tuple, Any] = {}
        try:
            self._root = json.loads(text)
            if only is not None:
                self._root = {name: self._root[name] for name in only}
            self._reserve(self._root)
        except StructureError:
            raise
        except (RecursionError, TypeError, ValueError) as error:
            raise StructureError(f"the structure is no JSON of ours: {error}") from error

    def targets(self) -> List[Tuple[str, Any]]:
        """(name of an array, memory of just its size and type), each to be filled; a name may come more than once."""
        return [(key[0], memory) for key, memory in self._memory.items()]

    def build(self) -> Any:
        """Raises StructureError."""
        try:
            return self._build(self._root)
        except StructureError:
            raise
        except (RuntimeError, TypeError, ValueError) as error:
            raise StructureError(f"the structure does not fit its arrays: {error}") from error

    def _reserve(self, node: Any) -> None:
        if isinstance(node, list):
            for item in node:
                self._reserve(item)
        elif isinstance(node, dict) and "$" not in node:
            for item in node.values():
                self._reserve(item)
        elif isinstance(node, dict):
            for part in ("items", "metadata"):
                self._reserve(node.get(part))
            if "name" in node:
                key = self._key(node)
                if key not in self._memory:
                    self._memory[key] = self._allocate(node)

    @staticmethod
    def _key(node: Dict[str, Any]) -> tuple:
        return (_text(node, "name"), _text(node, "$"), str(node.get("dtype")), bool(node.get("raw")))

    def _allocate(self, node: Dict[str, Any]) -> Any:
        name = node["name"]
        try:
            dtype, shape = self._shape_of(name)
        except KeyError:
            raise StructureError(f"the structure names an array {name!r}, which the checkpoint has not") from None
        if node["$"] in ("bytes", "bytearray"):
            _expect(dtype == "U8" and len(shape) == 1, node)
            return bytearray(shape[0])
        if node["$"] == "tensor":
            import torch

            found = torch_dtype(dtype)
            if found is None:
                raise StructureError(f"{name}: this torch ({torch.__version__}) has no type {dtype}; use a newer one")
            return torch.empty(shape, dtype=found)
        _expect(node["$"] in ("array", "scalar"), node)
        import numpy

        found = _dtype_of(node)
        if node.get("raw"):
            _expect(dtype == "U8" and len(shape) > 0 and shape[-1] == found.itemsize, node)
            return numpy.empty(shape, numpy.uint8)
        _expect(NUMPY_TO_SAFETENSORS.get(found.str) == dtype, node)
        return numpy.empty(shape, found)

    def _build(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self._build(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$" not in node:
            return {key: self._build(item) for key, item in node.items()}
        kind = node["$"]
        if "name" in node:
            return self._leaf(node, self._memory[self._key(node)])
        if kind == "int":
            return int(_text(node, "hex"), 16)
        if kind == "float":
            bits = bytes.fromhex(_text(node, "bits"))
            _expect(len(bits) == 8, node)
            return struct.unpack(">d", bits)[0]
        if kind in state_kinds.KINDS:
            try:
                return state_kinds.build(node, self._build)
            except KeyError as error:
                raise StructureError(f"the structure has what this version cannot read: {str(node)[:200]}") from error
        _expect(isinstance(node.get("items"), list), node)
        if kind == "tuple":
            return tuple(self._build(item) for item in node["items"])
        _expect(kind in _DICTS and all(isinstance(item, list) and len(item) == 2 for item in node["items"]), node)
        value = _DICTS[kind]()
        for key, item in node["items"]:
            value[self._build(key)] = self._build(item)
        if "metadata" in node:
            value._metadata = self._build(node["metadata"])
        return value

    def _leaf(self, node: Dict[str, Any], memory: Any) -> Any:
        kind = node["$"]
        if kind == "bytes":
            return bytes(memory)
        if kind == "tensor":
            return _tensor_of(node, memory)
        if kind in ("array", "scalar") and node.get("raw"):
            import numpy

            memory = (
                numpy.frombuffer(memory.tobytes(), _dtype_of(node)).reshape(memory.shape[:-1]).copy()
                if memory.size
                else numpy.empty(memory.shape[:-1], _dtype_of(node))
            )
        return memory[()] if kind == "scalar" else memory


def _tensor_of(node: Dict[str, Any], memory: Any) -> Any:
    import torch

    if "dtype" in node:
        _expect(memory.is_floating_point() and memory.dim() > 0 and memory.shape[-1] == 2, node)
        memory = torch.view_as_complex(memory)
        _expect(str(memory.dtype) == f"torch.{node['dtype']}", node)
    if node.get("parameter"):
        return torch.nn.Parameter(memory, requires_grad=bool(node.get("requires_grad")))
    return memory.detach().requires_grad_() if node.get("requires_grad") else memory


def _dtype_of(node: Dict[str, Any]) -> Any:
    import numpy

    text = _text(node, "dtype")
    try:
        found = numpy.dtype(text)
    except (TypeError, ValueError, SyntaxError) as error:
        raise StructureError(f"{node['name']}: {text!r} is no element type of numpy: {error}") from error
    _expect(found.str == text and not found.hasobject and found.kind != "V", node)
    return found


def _text(node: Dict[str, Any], field: str) -> str:
    _expect(isinstance(node.get(field), str), node)
    return node[field]


def _expect(condition: bool, node: Dict[str, Any]) -> None:
    if not condition:
        raise StructureError(f"the structure has what this version cannot read: {str(node)[:200]}")
