"""Files that are either there whole or not there: a reader never sees half of one, not even after a power cut."""

from __future__ import annotations

import os
from typing import BinaryIO, Callable

TEMPORARY_SUFFIX = ".tmp"


def atomic_write(path: "str | os.PathLike[str]", write: Callable[[BinaryIO], object]) -> int:
    """Calls `write(file)` on a temporary file in the same folder, syncs it, renames it to `path` and syncs the folder.
    Missing folders are made. Returns the size in bytes. Whatever `write` raises leaves an older `path` untouched."""
    path = os.path.abspath(os.fspath(path))
    folder = os.path.dirname(path)
    make_durable_folder(folder)
    temporary = os.path.join(folder, f".{os.path.basename(path)}.{os.getpid()}{TEMPORARY_SUFFIX}")
    try:
        with open(temporary, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            size = os.fstat(file.fileno()).st_size
        os.rename(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise
    sync_folder(folder)
    return size


def make_durable_folder(folder: str) -> None:
    """Like os.makedirs, and the new names survive a power cut."""
    if os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    make_durable_folder(parent)
    os.makedirs(folder, exist_ok=True)
    sync_folder(parent)


def sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
