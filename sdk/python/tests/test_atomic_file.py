"""atomic_write: whole or not at all, and what went before survives."""

import os
import random
import subprocess
import sys
import time

import pytest

import glim

CHUNK, CHUNKS = 16 * 1024, 64
WRITER = """
import sys, glim
def write(version):
    def chunks(file):
        for _ in range(int(sys.argv[3])):
            file.write(bytes([version % 256]) * int(sys.argv[2]))
            file.flush()
    return chunks
for version in range(10**6):
    glim.atomic_write(sys.argv[1], write(version))
    print(version, flush=True)
"""


def test_writes_makes_folders_and_replaces(tmp_path):
    path = tmp_path / "a" / "b" / "file"
    assert glim.atomic_write(path, lambda file: file.write(b"one")) == 3
    assert glim.atomic_write(str(path), lambda file: file.write(b"three")) == 5
    assert path.read_bytes() == b"three" and [p.name for p in path.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_what_is_made_is_its_owners_alone_unless_the_folder_is_its_groups(tmp_path, umask):
    own, shared = tmp_path / "own", tmp_path / "shared"
    own.mkdir(), shared.mkdir()
    own.chmod(0o755), shared.chmod(0o2770)
    before = os.umask(umask)
    try:
        for folder in (own, shared):
            glim.atomic_write(folder / "a" / "b" / "file", lambda file: file.write(b"one"))
    finally:
        os.umask(before)
    names = ("a", "a/b", "a/b/file")
    assert [(own / name).stat().st_mode & 0o7777 for name in names] == [0o700, 0o700, 0o600]
    assert [(shared / name).stat().st_mode & 0o7777 for name in names] == [0o2750, 0o2750, 0o640]


def test_a_writer_that_raises_leaves_the_old_file_and_no_rest(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def half(file):
        file.write(b"ne")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        glim.atomic_write(path, half)
    assert path.read_bytes() == b"old" and [p.name for p in tmp_path.iterdir()] == ["file"]


def test_the_file_is_synced_before_it_gets_its_name_and_the_folder_after(tmp_path, monkeypatch):
    calls = []
    fsync, rename = os.fsync, os.rename
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append(os.readlink(f"/proc/self/fd/{fd}")), fsync(fd)))
    monkeypatch.setattr(os, "rename", lambda a, b: (calls.append("rename"), rename(a, b)))
    glim.atomic_write(tmp_path / "new" / "file", lambda file: file.write(b"x"))
    folder = str(tmp_path / "new")
    assert calls[0] == str(tmp_path)  # the folder's own name
    assert calls[1].startswith(folder + "/.file.") and calls[2:] == ["rename", folder]


def test_a_writer_killed_at_any_point_leaves_a_whole_file(tmp_path):
    rng = random.Random(5)
    env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(glim.__file__)))}
    halves = 0
    for trial in range(25):
        path = tmp_path / str(trial) / "file"
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(CHUNK), str(CHUNKS)],
            env=env,
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            for _ in range(rng.randint(1, 5)):
                printed = int(child.stdout.readline())
            time.sleep(rng.random() * 0.005)  # not a wait: the moment of death
            child.kill()
            printed = int((child.stdout.read().split() or [printed])[-1])
        content = path.read_bytes()
        assert len(content) == CHUNK * CHUNKS and content == content[:1] * len(content), f"trial {trial}"
        assert content[0] in (printed % 256, (printed + 1) % 256)
        halves += any(p.name.endswith(".tmp") for p in path.parent.iterdir())
    assert halves > 0  # some did die in the middle of a write
