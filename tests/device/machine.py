"""What this machine is: its GPU, its CUDA, its versions."""

import ctypes
import glob
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass


@dataclass
class Cuda:
    runtime: str = ""  # path of libcudart, or of the stand-in
    is_real: bool = False
    problem: str = ""  # why there is none, and what to do

    @property
    def environment(self):
        """For test programs: sdk/device/testing/test_cuda.h."""
        return {"GLIM_TEST_CUDA": self.runtime} if self.is_real else {"GLIM_TEST_CUDA": "0"}


def standin(build):
    return Cuda(runtime=os.path.join(build, "sdk/device/libglim_device_standin.so"))


def find_cuda():
    """CUDA's runtime where torch's packages, the tool kit or the loader have it, the newest first."""
    if shutil.which("nvidia-smi") is None:
        return Cuda(problem="no NVIDIA GPU: nvidia-smi is not there; on a machine without one use --stand-in")
    folders = []
    package = importlib.util.find_spec("nvidia")
    for root in package.submodule_search_locations if package else []:
        folders += glob.glob(os.path.join(root, "*", "lib"))
    folders += glob.glob("/usr/local/cuda*/lib64") + glob.glob("/usr/local/cuda*/targets/*/lib")
    found = [path for folder in folders for path in glob.glob(os.path.join(folder, "libcudart.so*"))]
    found.sort(key=lambda path: [int(number) for number in re.findall("[0-9]+", os.path.basename(path))], reverse=True)
    for path in [os.path.realpath(path) for path in found] + ["libcudart.so.13", "libcudart.so.12", "libcudart.so"]:
        try:
            ctypes.CDLL(path)
            return Cuda(runtime=path, is_real=True)
        except OSError:
            continue
    return Cuda(problem="no libcudart.so: install CUDA 11 or later, or torch with its CUDA packages")


def facts(cuda):
    known = {"device": "cuda" if cuda.is_real else "stand-in", "card": None, "driver": None, "cuda": None}
    if cuda.is_real:
        smi = _said(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]).splitlines()
        if smi:
            known["card"], known["driver"] = [word.strip() for word in smi[0].split(",")][:2]
        version = ctypes.c_int()
        ctypes.CDLL(cuda.runtime).cudaRuntimeGetVersion(ctypes.byref(version))
        known["cuda"] = f"{version.value // 1000}.{version.value % 1000 // 10}"
    known["cores"] = len(os.sched_getaffinity(0))
    known["python"] = platform.python_version()
    known["torch"] = torch_version()
    known["gcc"] = _said(["g++", "-dumpfullversion"])
    known["glim"] = _glim_version()
    return known


def torch_version():
    """Of this Python's; None: there is none. Asked in a process of its own: it takes seconds and much memory."""
    return _said([sys.executable, "-c", "import torch; print(torch.__version__)"]) or None


def _glim_version():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, "sdk/python/glim/version.py")) as file:
        return re.search(r'^VERSION = "([^"]*)"', file.read(), re.MULTILINE)[1]


def _said(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.stdout.strip() if done.returncode == 0 else ""
