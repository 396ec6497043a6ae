"""The compiled parts of the SDK, glim/_NAME*.so: loaded, or what is wrong with them explained."""

from __future__ import annotations

import importlib
import os
import pkgutil
import platform
import re
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any, List, Optional

import glim

from .version import VERSION

_TAG = re.compile(r"\.(cpython-|pypy)([0-9])([0-9]+)[^.]*\.so$")
_VERSION = re.compile(r'^VERSION = "([^"]*)"', re.MULTILINE)


def load(name: str, wanted_by: str, without: str) -> Any:
    """The module glim.NAME. ImportError says what `wanted_by` lacks, for which Python it was built, and what works
    `without` it."""
    # It may lie in another folder `glim` of sys.path: a build's, or the node's when the SDK is a copy of the job's own.
    glim.__path__ = pkgutil.extend_path(glim.__path__, glim.__name__)
    try:
        module = importlib.import_module(f"glim.{name}")
    except ImportError as error:
        raise ImportError(
            f"{wanted_by} needs its compiled part: {_what_is_wrong(name, error)}. Without it: {without}"
        ) from error
    folder = os.path.dirname(os.path.abspath(getattr(module, "__file__", None) or __file__))
    release = _release_in(folder)
    if release not in (None, VERSION):
        raise ImportError(
            f"{wanted_by} is of glim {VERSION} in {os.path.dirname(os.path.abspath(__file__))}, but its "
            f"compiled part {folder}/{name}*.so of glim {release}: take that copy out of PYTHONPATH, or "
            f"use one of {release}. Without it: {without}"
        )
    return module


def built_for(file: str) -> str:
    """In words, the Python that a compiled part is for, by its file's name."""
    match = _TAG.search(file)
    if match is None:
        return "another Python"
    return f"{'CPython' if match[1] == 'cpython-' else 'PyPy'} {match[2]}.{match[3]}"


def _what_is_wrong(name: str, error: ImportError) -> str:
    files = _files(name)
    if not files:
        return (
            f"glim/{name}*.so is in no folder `glim` of sys.path; the SDK of a node has it (GLIM_SDK, in every "
            "task of Glim) where Glim was built with pybind11-dev and python3-dev"
        )
    fitting = [file for file in files if any(file.endswith(name + suffix) for suffix in EXTENSION_SUFFIXES)]
    if fitting:
        return f"{fitting[0]} cannot be loaded: {error}"
    this = f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}"
    return (
        f"it was built for {' and '.join(sorted({built_for(file) for file in files}))} ({files[0]}), and this is "
        f"{this} ({sys.executable}); run the job with the former"
    )


def _files(name: str) -> List[str]:
    found: List[str] = []
    for folder in glim.__path__:
        if os.path.isdir(folder):
            found += [
                os.path.join(folder, file)
                for file in sorted(os.listdir(folder))
                if file.startswith(name + ".") and file.endswith(".so")
            ]
    return found


def _release_in(folder: str) -> Optional[str]:
    """Of the SDK in a folder; None for one that has compiled parts alone, as in a build."""
    try:
        with open(os.path.join(folder, "version.py")) as file:
            match = _VERSION.search(file.read())
    except OSError:
        return None
    return match[1] if match else None
