"""The files of a checkpoint as somebody else reads them.

Shards by read_safetensors.py, the manifest by docs/reference/checkpoint-format.md. The checkpoint is what ckpt_shards
writes.
"""

import json
import os
import pathlib
import struct
import subprocess
import sys

import numpy
import pytest
from bounds import BOUND_S
from extension import EXTENSION

ROOT = pathlib.Path(__file__).resolve().parents[3]
CHUNK_BYTES = 4 << 20

sys.path.insert(0, str(ROOT / "sdk/checkpoint/testing"))
import read_safetensors  # noqa: E402


@pytest.fixture(scope="module", params=[1, 3])
def checkpoint(request, tmp_path_factory):
    """A folder with a checkpoint of so many ranks."""
    program = pathlib.Path(EXTENSION).parent / "bin/ckpt_shards"
    if not os.access(program, os.X_OK):
        pytest.fail(f"{program} is not built")
    folder = tmp_path_factory.mktemp("checkpoint")
    subprocess.run([program, folder, str(request.param)], check=True, timeout=BOUND_S)
    return folder


def read_manifest(folder):
    return json.loads((folder / "manifest.json").read_text("utf-8"))


def expected_bytes(name, count):
    at = numpy.arange(count, dtype=numpy.uint64)
    return ((at * 2654435761 >> 29) ^ name.encode()[0]).astype(numpy.uint8).tobytes()


def crc32c(data):
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def test_every_shard_opens(checkpoint):
    manifest = read_manifest(checkpoint)
    assert sorted(os.listdir(checkpoint)) == sorted([s["file"] for s in manifest["shards"]] + ["manifest.json"])
    for shard in manifest["shards"]:
        path = checkpoint / shard["file"]
        assert path.stat().st_size == shard["bytes"]
        arrays = read_safetensors.read_shard(path)
        assert arrays
        (length,) = struct.unpack("<Q", path.read_bytes()[:8])
        assert (8 + length) % 4096 == 0
        assert crc32c(path.read_bytes()[: 8 + length]) == shard["header_crc32c"]


def test_whole_tensors_have_their_names_in_the_shard(checkpoint):
    manifest = read_manifest(checkpoint)
    arrays = {
        name: array
        for shard in manifest["shards"]
        for name, array in read_safetensors.read_shard(checkpoint / shard["file"]).items()
    }
    assert arrays["step"][:2] == ("F64", [])
    assert arrays["none"][:2] == ("F16", [0, 4])
    assert bytes(arrays["mask"][2]) == expected_bytes("mask", 3)
    assert ("embedding" in arrays) == (manifest["world_size"] == 1)
    if manifest["world_size"] == 3:
        assert arrays[f"embedding@{333 * 33 * 4}"][:2] == ("F32", [333, 33])


def test_the_manifest_gives_every_byte_of_every_tensor(checkpoint):
    manifest = read_manifest(checkpoint)
    shards = [(checkpoint / shard["file"]).read_bytes() for shard in manifest["shards"]]
    names = [tensor["name"] for tensor in manifest["tensors"]]
    assert names == sorted(names, key=str.encode)
    assert {"embedding", "large", 'quoted "\\ \u00f6', "rng.0"} < set(names)
    for tensor in manifest["tensors"]:
        size = read_safetensors.SIZES[tensor["dtype"]] * int(numpy.prod(tensor["shape"], dtype=numpy.int64))
        found = b""
        for piece in tensor["pieces"]:
            assert piece["at"] == len(found)
            data = shards[piece["shard"]][piece["offset"] : piece["offset"] + piece["bytes"]]
            chunks = [data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
            assert len(chunks) == len(piece["crc32c"])
            assert crc32c(chunks[-1]) == piece["crc32c"][-1]
            found += data
        assert found == expected_bytes(tensor["name"], size)


def test_the_manifest_ends_with_its_checksum(checkpoint):
    text = (checkpoint / "manifest.json").read_bytes()
    body, seal = text.rsplit(b',"manifest_crc32c":', 1)
    assert seal == b"%d}\n" % crc32c(body)


def framed(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def u8(begin, end):
    return {"dtype": "U8", "shape": [end - begin], "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 7,
        struct.pack("<Q", 10 << 30) + b"{}",
        framed(b"[]"),
        framed(b" {}"),
        framed(b"{"),
        framed(b'{"a":1,"a":1}'),
        framed({"a": u8(1, 2)}, b"12"),
        framed({"a": u8(0, 2), "b": u8(1, 3)}, b"123"),
        framed({"a": u8(0, 1), "b": u8(2, 3)}, b"123"),
        framed({"a": u8(0, 1)}, b"12"),
        framed({"a": u8(0, 3)}, b"12"),
        framed({"a": {"dtype": "U16", "shape": [2], "data_offsets": [0, 2]}}, b"12"),
    ],
)
def test_the_reader_itself_refuses_what_the_library_does(content, tmp_path):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError):
        read_safetensors.read_shard(path)
