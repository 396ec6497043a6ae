"""state_tree: any state <-> arrays and a JSON structure, bit for bit, and without running anybody's code."""

import collections
import json
import math
import random
import struct

import numpy
import pytest
import torch

from glim import state_tree
from glim.state_tree import STRUCTURE_NAME, Structure, StructureError


def stored(arrays):
    """What a checkpoint makes of flatten()'s arrays: type name, shape and bytes of each."""
    kept = {}
    for name, array in arrays.items():
        if isinstance(array, bytes):
            kept[name] = ("U8", (len(array),), array)
        elif isinstance(array, torch.Tensor):
            assert array.is_contiguous()
            kept[name] = (state_tree.dtype_name(array), tuple(array.shape), bits(array))
        else:
            kept[name] = (state_tree.dtype_name(array), array.shape, array.tobytes())
        assert kept[name][0] is not None
    return kept


def read(kept, only=None):
    structure = Structure(kept[STRUCTURE_NAME][2], lambda name: kept[name][:2], only)
    for name, memory in structure.targets():
        raw = kept[name][2]
        if raw and isinstance(memory, torch.Tensor):
            memory.reshape(-1).view(torch.uint8).copy_(torch.frombuffer(bytearray(raw), dtype=torch.uint8))
        elif raw:
            memoryview(memory).cast("B")[:] = raw
    return structure.build()


def round_trip(tree):
    return read(stored(state_tree.flatten(tree)))


def bits(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg()
    tensor = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    flat = torch.empty(tensor.numel(), dtype=tensor.dtype)
    flat.copy_(tensor.reshape(-1))
    return flat.view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def same(a, b):
    """Equal in type, order and every bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return (
            len(a) == len(b)
            and getattr(a, "_metadata", None) == getattr(b, "_metadata", None)
            and all(same(x, y) and same(a[x], b[y]) for x, y in zip(a, b))
        )
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and not isinstance(a, numpy.generic):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, torch.Tensor):
        return (a.dtype, a.shape, a.requires_grad, bits(a)) == (b.dtype, b.shape, b.requires_grad, bits(b))
    if isinstance(a, (numpy.ndarray, numpy.generic)):
        return (a.dtype.str, a.shape, held(a)) == (b.dtype.str, b.shape, held(b))
    return a == b


def held(array):
    """Its bytes, without what pads x86's long doubles: 10 bytes of each 16 are the number."""
    is_padded = array.dtype.kind == "f" and array.dtype.itemsize == 16 and numpy.finfo(array.dtype).nmant == 63
    text = array.tobytes()
    return b"".join(text[at : at + 10] for at in range(0, len(text), 16)) if is_padded else text


QUIET, SIGNALLING = (struct.unpack(">d", bytes.fromhex(text))[0] for text in ("7ff8000000000123", "fff0000000000001"))
PLAIN = [
    None,
    True,
    False,
    0,
    -1,
    2**63 - 1,
    -(2**63),
    2**64,
    -(10**40),
    0.1,
    -0.0,
    5e-324,
    math.inf,
    -math.inf,
    QUIET,
    "",
    "text",
    "\ud800",
    "a\0b",
    b"",
    b"\x00\xff",
    bytearray(b"xy"),
]
TORCH_TYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.complex128,
    *(
        getattr(torch, name)
        for name in ("float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64")
        if hasattr(torch, name)
    ),
]
NUMPY_TYPES = [
    "?",
    "u1",
    "<i2",
    ">i4",
    "<u8",
    "<f2",
    "<f4",
    ">f8",
    "<c8",
    "<c16",
    "<U3",
    "S2",
    "<M8[ns]",
    "<m8[s]",
    numpy.dtype(numpy.longdouble).str,
]


def random_bytes(rng, count):
    return bytearray(rng.getrandbits(8) for _ in range(count))


def random_shape(rng):
    return tuple(rng.choice((0, 1, 2, 3)) for _ in range(rng.randint(0, 3)))


def random_tensor(rng):
    dtype, shape = rng.choice(TORCH_TYPES), random_shape(rng)
    size = torch.empty(0, dtype=dtype).element_size()
    if dtype is torch.bool:
        raw = bytearray(rng.randint(0, 1) for _ in range(math.prod(shape)))
    else:
        raw = random_bytes(rng, math.prod(shape) * size)
    tensor = torch.frombuffer(raw, dtype=dtype).reshape(shape) if raw else torch.empty(shape, dtype=dtype)
    change = rng.choice(("none", "transposed", "strided", "parameter", "grad"))
    if change == "transposed" and tensor.dim() > 1:
        return tensor.transpose(0, 1)
    if change == "strided" and tensor.dim() > 0:
        return tensor[::2]
    if change == "parameter" and dtype.is_floating_point:
        return torch.nn.Parameter(tensor, requires_grad=rng.random() < 0.5)
    if change == "grad" and dtype.is_floating_point:
        return tensor.clone().requires_grad_()
    return tensor


def random_array(rng):
    dtype, shape = numpy.dtype(rng.choice(NUMPY_TYPES)), random_shape(rng)
    count = math.prod(shape)
    if dtype.kind in "US":
        array = numpy.array(
            [
                "".join(rng.choice("aé") for _ in range(3)).encode()[:2] if dtype.kind == "S" else "é"
                for _ in range(count)
            ],
            dtype,
        ).reshape(shape)
    elif dtype.kind == "b" or dtype.itemsize == 16 and dtype.kind == "f":
        array = numpy.array([rng.randint(0, 1) for _ in range(count)], dtype).reshape(shape)
    else:
        array = (
            numpy.frombuffer(bytes(random_bytes(rng, count * dtype.itemsize)), dtype).reshape(shape)
            if count
            else numpy.empty(shape, dtype)
        )
    if rng.random() < 0.3 and array.ndim > 1:
        array = array.T
    return array[(0,) * array.ndim] if count and rng.random() < 0.3 else array


def random_key(rng):
    return rng.choice(("a", "b", "a.b", "$", "", "x\n", 0, -1, True, None, 1.5, b"k", (1, "t"), 2**70))


def random_tree(rng, depth=3):
    kinds = ["plain", "tensor", "array"] + ["list", "tuple", "dict", "OrderedDict", "Counter"] * (depth > 0)
    kind = rng.choice(kinds)
    if kind == "plain":
        return rng.choice(PLAIN)
    if kind == "tensor":
        return random_tensor(rng)
    if kind == "array":
        return random_array(rng)
    items = [random_tree(rng, depth - 1) for _ in range(rng.randint(0, 4))]
    if kind in ("list", "tuple"):
        return items if kind == "list" else tuple(items)
    if kind == "Counter":
        return collections.Counter({rng.randint(0, 99): rng.randint(0, 9) for _ in items})
    made = {"dict": dict, "OrderedDict": collections.OrderedDict}[kind]((random_key(rng), item) for item in items)
    if kind == "OrderedDict" and rng.random() < 0.5:
        made._metadata = collections.OrderedDict({"": {"version": 2}})
    return made


@pytest.mark.parametrize("seed", range(20))
def test_any_state_comes_back_bit_for_bit(seed):
    rng = random.Random(seed)
    for _ in range(40):
        tree = random_tree(rng)
        assert same(round_trip(tree), tree), (seed, tree)


@pytest.mark.parametrize(
    "value",
    [
        *PLAIN,
        SIGNALLING,
        torch.tensor(3),
        torch.empty(0, 3),
        torch.zeros(2, 0),
        torch.ones(3).expand(2, 3),
        torch.ones(2, dtype=torch.complex64).conj(),
        numpy.float32("nan"),
        numpy.str_("s"),
        numpy.array(7),
        (),
    ],
    ids=repr,
)
def test_each_value_alone(value):
    assert same(round_trip(value), value) and same(round_trip([value]), [value])


def test_a_modules_state_keeps_its_versions():
    state = torch.nn.BatchNorm1d(3).state_dict()
    back = round_trip(state)
    assert same(back, state) and back._metadata[""]["version"] == 2


def test_what_shares_memory_is_stored_once_and_shares_again():
    weight = torch.arange(6.0)
    tree = {
        "tied": [weight, weight.view(6), weight.t()],
        "view": weight[:3],
        "rows": weight.view(2, 3),
        "array": [numpy.arange(3)] * 2,
    }
    arrays = state_tree.flatten(tree)
    assert sorted(arrays) == ["array.0", STRUCTURE_NAME, "rows", "tied.0", "view"]
    back = read(stored(arrays))
    back["tied"][0][0] = 9
    back["array"][0][0] = 9
    assert back["tied"][1][0] == 9 and back["tied"][2][0] == 9 and back["array"][1][0] == 9
    assert back["view"][0] == 0 and back["rows"][0, 0] == 0


def test_memory_that_was_freed_is_not_taken_for_shared():
    tree = [torch.full((3,), complex(i, 1)).conj() for i in range(20)]  # each needs a copy that is soon gone
    assert same(round_trip(tree), tree)


def test_names_are_paths_and_are_told_apart():
    tree = {
        "a": {"b": b"1"},
        "a.b": b"2",
        "c": [b"3", (b"4",)],
        5: b"5",
        "5": b"6",
        "x\n\x7f\ud800": b"7",
        STRUCTURE_NAME: b"8",
        "": b"9",
        "é" * 2000: b"10",
    }
    names = [name for name in state_tree.flatten(tree) if name != STRUCTURE_NAME]
    assert names[:7] == ["a.b", "a.b~2", "c.0", "c.1.0", "5", "5~2", "x___"]
    assert names[7:9] == [f"{STRUCTURE_NAME}~2", "_"] and names[9] == "é" * 500
    assert same(round_trip(tree), tree)
    assert "value" in state_tree.flatten(torch.ones(1))


def test_only_some_entries_are_read():
    kept = stored(state_tree.flatten({"model": {"w": torch.ones(2)}, "optim": [torch.zeros(3)]}))
    del kept["optim.0"]
    assert same(read(kept, only=["model"]), {"model": {"w": torch.ones(2)}})
    with pytest.raises(KeyError):
        read(kept, only=["nothing"])


class Custom:
    pass


@pytest.mark.parametrize(
    "value, what",
    [
        ({"a": [0, {"b": Custom()}]}, r"a\.1\.b: a .*Custom cannot"),
        ({"f": len}, "f: a builtins.builtin_function_or_method"),
        ({"p": numpy.array([None])}, "p: a numpy array of object"),
        ({"p": numpy.zeros(1, "i4,i4")}, "numpy array of"),
        (numpy.ma.array([1]), "Masked"),
        (collections.defaultdict(lambda: 0), "defaultdict"),
        ({Custom: 1}, "a key of type"),
        ({"s": torch.eye(2).to_sparse()}, "s: a tensor of layout"),
        (torch.empty(2, device="meta"), "on meta"),
        (torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.quint8), "quint8"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_path(value, what):
    for refuse in (state_tree.flatten, state_tree.check):
        with pytest.raises(TypeError, match=what):
            refuse(value)


def test_a_state_that_contains_itself_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(TypeError, match="contains itself"):
        state_tree.flatten(endless)


def test_attributes_of_an_ordered_dict_are_refused():
    state = collections.OrderedDict()
    state.extra = 1
    with pytest.raises(TypeError, match="attributes of its own"):
        state_tree.flatten({"model": state})


ARRAYS = {"u": ("U8", (4,), b"abcd"), "f": ("F32", (2,), bytes(8)), "b": ("BF16", (2,), bytes(4))}


@pytest.mark.parametrize(
    "structure",
    [
        b"",
        b"\xff",
        b"{",
        b"[" * 100_000,
        {"$": "tuple"},
        {"$": "tuple", "items": 3},
        {"$": "os.system", "items": []},
        {"$": "dict", "items": [[1]]},
        {"$": "dict", "items": [[[], 1]]},
        {"$": "int", "hex": "zz"},
        {"$": "int"},
        {"$": "float", "bits": "00"},
        {"$": "float", "bits": "q"},
        {"$": 3},
        {"$": {}},
        {"$": []},
        {"$": "tensor", "name": "nothing"},
        {"$": "tensor", "name": 3},
        {"$": "tuple", "items": [], "name": "u"},
        {"$": "bytes", "name": "f"},
        {"$": "tensor", "name": "f", "dtype": "complex128"},
        {"$": "tensor", "name": "u", "dtype": "complex64"},
        {"$": "tensor", "name": "u", "requires_grad": True},
        {"$": "array", "name": "f"},
        {"$": "array", "name": "f", "dtype": "<f8"},
        {"$": "array", "name": "f", "dtype": "O"},
        {"$": "array", "name": "u", "dtype": "O", "raw": True},
        {"$": "array", "name": "u", "dtype": "<i4,<i4", "raw": True},
        {"$": "array", "name": "u", "dtype": "<i8", "raw": True},
        {"$": "array", "name": "b", "dtype": "<f4"},
        {"$": "array", "name": "f", "dtype": "(2,)f4"},
        {"$": "Counter", "items": [], "metadata": {"$": "tuple"}},
    ],
    ids=repr,
)
def test_a_structure_that_lies_is_refused(structure):
    text = structure if isinstance(structure, bytes) else json.dumps([structure]).encode()
    with pytest.raises(StructureError):
        read({**ARRAYS, STRUCTURE_NAME: ("U8", (len(text),), text)})
