"""Files that are either there whole or not there: a reader never sees half of one, not even after a power cut."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO, Callable

TEMPORARY_SUFFIX = ".tmp"


def atomic_write(path: "str | os.PathLike[str]", write: Callable[[BinaryIO], object]) -> int:
    """Calls `write(file)` on a temporary file in the same folder, syncs it, renames it to `path` and syncs the folder.
    Missing folders are made. What is made is its owner's alone, and in a folder that is its group's (set-group-ID) the
    group may read it. Returns the size in bytes. Whatever `write` raises leaves an older `path` untouched."""
    path = os.path.abspath(os.fspath(path))
    folder = os.path.dirname(path)
    make_durable_folder(folder)
    temporary = os.path.join(folder, f".{os.path.basename(path)}.{os.getpid()}{TEMPORARY_SUFFIX}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            os.fchmod(file.fileno(), _modes_in(folder)[0])
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
    try:
        os.mkdir(folder, 0o700)
        mode = _modes_in(parent)[1]
        if mode != 0o700:
            os.chmod(folder, mode)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise
    sync_folder(parent)


def _modes_in(folder: str) -> "tuple[int, int]":
    """Of a new file and a new folder in this one, as sdk/io/shared_folder.h has it."""
    is_shared = os.stat(folder).st_mode & (stat.S_ISGID | stat.S_IRGRP) == stat.S_ISGID | stat.S_IRGRP
    return (0o640, 0o2750) if is_shared else (0o600, 0o700)


def sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
