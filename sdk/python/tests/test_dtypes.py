"""glim/dtypes.py and sdk/base/dtype.h say the same."""

import struct

import extension
import numpy
import pytest
from glim import dtypes


def test_python_and_cpp_have_one_table():
    missing = extension.missing("_hfreduce")
    if missing:
        pytest.fail(missing)
    from glim import hfreduce

    ours = [
        (row.name, row.bytes, row.safetensors, row.torch[len("torch.") :], row.numpy or "", row in dtypes.REDUCIBLE)
        for row in dtypes.DTYPES
    ]
    assert hfreduce._hfreduce.dtypes() == ours


def test_numpy_knows_the_types():
    for row in dtypes.DTYPES:
        if row.numpy:
            assert numpy.dtype(row.numpy).itemsize == row.bytes
            assert numpy.dtype(row.numpy).str == row.numpy


def test_letters_of_the_buffer_protocol_have_their_sizes():
    size = {row.name: row.bytes for row in dtypes.REDUCIBLE}
    for letter, name in dtypes.BUFFER_TO_REDUCIBLE.items():
        assert struct.calcsize(letter) == size[name], letter
