"""An independent reader of the published safetensors layout: what it refuses, that format's own library refuses."""

import json
import math
import struct
import sys

HEADER_BYTES_MAX = 100_000_000
SIZES = {
    "BOOL": 1,
    "U8": 1,
    "I8": 1,
    "F8_E4M3": 1,
    "F8_E5M2": 1,
    "U16": 2,
    "I16": 2,
    "F16": 2,
    "BF16": 2,
    "U32": 4,
    "I32": 4,
    "F32": 4,
    "U64": 8,
    "I64": 8,
    "F64": 8,
}


def check(holds, what):
    if not holds:
        raise ValueError(what)


def read_object(pairs):
    check(len(dict(pairs)) == len(pairs), "a name twice")
    return dict(pairs)


def read_shard(path):
    """{name: (dtype, shape, bytes)} of the file at `path`; ValueError says why it is none."""
    with open(path, "rb") as file:
        content = file.read()
    check(len(content) >= 8, "no length")
    (length,) = struct.unpack("<Q", content[:8])
    check(length <= min(HEADER_BYTES_MAX, len(content) - 8), f"a header of {length} bytes")
    text, data = content[8 : 8 + length].decode("utf-8"), memoryview(content)[8 + length :]
    check(text.startswith("{"), "the header does not begin with '{'")
    header = json.loads(text, object_pairs_hook=read_object)
    metadata = header.pop("__metadata__", {})
    check(all(isinstance(value, str) for value in metadata.values()), "metadata that is not text")
    arrays, end = {}, 0
    for name, array in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, after = array["data_offsets"]
        check(begin == end, f"{name}: a hole or an overlap at {end}")
        size = math.prod(array["shape"]) * SIZES[array["dtype"]]
        check(after - begin == size, f"{name}: another size than its shape")
        arrays[name], end = (array["dtype"], array["shape"], data[begin:after]), after
    check(end == len(data), f"{len(data)} bytes of data, {end} described")
    return arrays


if __name__ == "__main__":
    for shard in sys.argv[1:]:
        for key, (dtype, shape, _) in read_shard(shard).items():
            print(shard, key, dtype, shape)
