"""Arrays in a device's memory, over the stand-in for CUDA: saved from there, after what their stream has to do."""

import os
import subprocess
import sys

from bounds import BOUND_S
from extension import EXTENSION, PYTHONPATH

BUILD = os.path.dirname(EXTENSION)
STANDIN = os.path.join(BUILD, "sdk", "device", "libglim_device_standin.so")

# A process of its own: it loads a library that is called as CUDA's, and never lets go of it.
SAVES = """
import ctypes, sys
from glim import checkpoint

assert checkpoint._checkpoint.has_device_runtime() is (sys.argv[2] == "with")
if sys.argv[2] == "with":
    cuda = ctypes.CDLL("libcudart.so.12")
    memory, stream = ctypes.c_void_p(), ctypes.c_void_p()
    assert cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(4096)) == 0
    assert cuda.cudaStreamCreateWithFlags(ctypes.byref(stream), 1) == 0
    assert cuda.cudaMemsetAsync(memory, 7, ctypes.c_size_t(4096), stream) == 0
    address, streams = memory.value, {0: stream.value}
else:
    address, streams = ctypes.addressof(ctypes.create_string_buffer(4096)), {}
arrays = [("w", "U8", (4096,), "own", 0, 0, address, 4096, True), ("n", "U8", (0,), "own", 0, 0, 0, 0, False)]
with checkpoint.Checkpointer(sys.argv[1]) as saver:
    handle = checkpoint.SaveHandle(saver._saver.save_async(1, arrays, {}, streams))
    print(handle.wait().path)
"""


def save(tmp_path, which):
    libraries = tmp_path / "lib"
    libraries.mkdir()
    (libraries / "libcudart.so.12").symlink_to(STANDIN)
    loads = "import ctypes; ctypes.CDLL('libcudart.so.12')\n" if which == "with" else ""
    return subprocess.run(
        [sys.executable, "-c", loads + SAVES, str(tmp_path / "ckpt"), which],
        env={**os.environ, "PYTHONPATH": PYTHONPATH, "LD_LIBRARY_PATH": str(libraries)},
        capture_output=True,
        text=True,
        timeout=BOUND_S,
    )


def test_what_the_stream_had_written_is_what_is_saved(tmp_path):
    from glim.checkpoint import open_checkpoint

    done = save(tmp_path, "with")
    assert done.returncode == 0, done.stderr
    arrays = open_checkpoint(done.stdout.strip()).load(kind="numpy")
    assert arrays["w"].tobytes() == b"\x07" * 4096 and arrays["n"].size == 0


def test_without_cuda_nothing_on_a_device_is_taken(tmp_path):
    done = save(tmp_path, "without")
    assert done.returncode != 0 and "has not loaded CUDA's runtime" in done.stderr
