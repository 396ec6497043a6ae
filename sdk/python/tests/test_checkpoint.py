"""glim.checkpoint: arrays and nested states to a directory and back, and the errors in between."""

import gc
import os
import random
import subprocess
import sys
import threading

import numpy
import pytest
import torch
from extension import SDK
from bounds import BOUND_S, wait_until
from test_state_tree import TORCH_TYPES, random_tree, same

from glim import checkpoint
from glim.checkpoint import Checkpointer, CheckpointError, Replicated, Rows, load_newest, open_checkpoint

sys.path.insert(0, os.path.join(os.path.dirname(SDK), "checkpoint", "testing"))
import read_safetensors  # noqa: E402


def save(folder, arrays, step=1, metadata=None, **options):
    """The opened checkpoint."""
    with Checkpointer(folder, **options) as saver:
        report = saver.save_async(step, arrays, metadata).wait()
    assert (report.step, report.path) == (step, checkpoint.path_of(folder, options.get("attempt", 1), step))
    return open_checkpoint(report.path)


def shards(path):
    return sorted(entry.path for entry in os.scandir(path) if entry.name.endswith(".safetensors"))


# ---- arrays


def test_arrays_of_every_type_come_back(tmp_path):
    real = [dtype for dtype in TORCH_TYPES if not dtype.is_complex]
    arrays = {str(dtype): torch.arange(6).reshape(2, 3).to(dtype) for dtype in real}
    arrays |= {
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(0, 4),
        "bytes": b"ab",
        "none": b"",
        "numpy": numpy.arange(4, dtype="i2"),
        "view": memoryview(bytearray(b"xyz")),
    }
    opened = save(tmp_path / "ckpt", arrays, metadata={"run": "é"})
    assert opened.metadata == {"run": "é"} and (opened.attempt, opened.step) == (1, 1)
    back = opened.load()
    assert sorted(back) == sorted(arrays)
    for dtype in real:
        assert same(back[str(dtype)], arrays[str(dtype)])
    assert same(back["scalar"], arrays["scalar"]) and back["empty"].shape == (0, 4)
    assert bytes(back["bytes"].numpy()) == b"ab" and bytes(back["view"].numpy()) == b"xyz" and len(back["none"]) == 0
    assert same(opened.load("numpy", kind="numpy"), {"numpy": arrays["numpy"]})
    assert all(info.bytes == back[name].numel() * back[name].element_size() for name, info in opened.arrays.items())
    opened.verify()


def test_types_that_torch_or_numpy_lacks_are_left_to_the_other(tmp_path):
    opened = save(tmp_path / "ckpt", {"u": numpy.arange(4, dtype="u2"), "b": torch.ones(2, dtype=torch.bfloat16)})
    assert opened.load("u", kind="numpy")["u"].tolist() == [0, 1, 2, 3]
    with pytest.raises(TypeError, match="b: numpy has no type BF16"):
        opened.load(kind="numpy")
    if not hasattr(torch, "uint16"):
        with pytest.raises(TypeError, match="u: torch .* has no type U16"):
            opened.load()


def test_what_was_passed_may_change_at_once(tmp_path):
    with Checkpointer(tmp_path / "ckpt") as saver:
        array = torch.arange(1_000_000.0)
        handle = saver.save_async(1, {"w": array})
        array.zero_()
        assert handle.wait().bytes >= 4_000_000
        assert handle.done()
    assert torch.equal(
        checkpoint.load_newest(tmp_path / "ckpt", lambda one: one.load()["w"])[1], torch.arange(1_000_000.0)
    )


def test_parts_are_read_straight_into_memory(tmp_path):
    table = torch.arange(600.0).reshape(100, 6)
    opened = save(tmp_path / "ckpt", {"a.w": table, "a.b": torch.ones(2), "c": torch.zeros(1)})
    assert sorted(opened.load("a.*")) == ["a.b", "a.w"] and sorted(opened.load("[ac]*")) == ["a.b", "a.w", "c"]
    assert opened.arrays["a.w"] == ("F32", (100, 6))
    whole, rows, raw = torch.empty(100, 6), numpy.empty((7, 6), "f4"), bytearray(600 * 4)
    pointer = whole.data_ptr()
    assert opened.load(into={"a.w": whole})["a.w"].data_ptr() == pointer and torch.equal(whole, table)
    opened.load(into={"a.w": Rows(rows, 40)})
    assert numpy.array_equal(rows, table[40:47].numpy())
    opened.load(into={"a.w": raw})
    assert bytes(raw) == table.numpy().tobytes()
    opened.load(into={"a.w": Rows(numpy.empty((0, 6), "f4"), 100)})


@pytest.mark.parametrize(
    "into, error, what",
    [
        ({"x": torch.empty(2)}, KeyError, "no such array"),
        ({"w": torch.empty(3, 2)}, ValueError, "was saved"),
        ({"w": torch.empty(2, 3, dtype=torch.float64)}, ValueError, r"is F64 .*F32 \[2, 3\] was saved"),
        ({"w": torch.empty(3, 2).t()}, ValueError, "not contiguous"),
        ({"w": bytes(24)}, ValueError, "read-only"),
        ({"w": numpy.frombuffer(bytes(24), "f4").reshape(2, 3)}, ValueError, "read-only"),
        ({"w": 3}, TypeError, "neither"),
        ({"w": Rows(torch.empty(2, 3), 1)}, ValueError, "rows up to 3"),
        ({"w": Rows(torch.empty(1, 3), -1)}, ValueError, "at least 0"),
        ({"w": Rows(torch.empty(1, 2), 0)}, ValueError, "was saved"),
        ({"w": bytearray(23)}, ValueError, "has 23 bytes of 24"),
    ],
)
def test_memory_that_does_not_fit_is_refused(tmp_path, into, error, what):
    opened = save(tmp_path / "ckpt", {"w": torch.ones(2, 3)})
    with pytest.raises(error, match=what):
        opened.load(into=into)


@pytest.mark.parametrize(
    "arrays, error, what",
    [
        ({"w": torch.ones(2, 3).t()}, ValueError, "w: is not contiguous"),
        ({1: b""}, TypeError, "1 is no name"),
        ({"w": numpy.ones((2, 3)).T}, ValueError, "w: is not contiguous"),
        ({"w": [1]}, TypeError, "w: a list is neither"),
        ({"w": torch.ones(2, dtype=torch.complex64)}, TypeError, "w: elements of torch.complex64"),
        ({"w": numpy.ones(2, ">f4")}, TypeError, "w: elements of >f4"),
        ({"": b"x"}, CheckpointError, "name"),
        ({"w\n": b"x"}, CheckpointError, "control"),
        ({"w": Rows(torch.ones(2), 1, 2)}, ValueError, "rows 1 to 3 of total 2"),
        ({"w": Rows(torch.tensor(1.0), 0, 1)}, ValueError, "need an array with rows"),
    ],
)
def test_what_cannot_be_saved_disturbs_nothing(tmp_path, arrays, error, what):
    with Checkpointer(tmp_path / "ckpt") as saver:
        with pytest.raises(error, match=what):
            saver.save_async(1, arrays)
        saver.save_async(1, {"w": b"good"}).wait()
    assert len(checkpoint.checkpoints(tmp_path / "ckpt")) == 1


@pytest.mark.parametrize(
    "options, what", [({"when_busy": "perhaps"}, "when_busy: 'perhaps'"), ({"io": "tape"}, "io: 'tape'")]
)
def test_options_that_are_not_there(tmp_path, options, what):
    with pytest.raises(ValueError, match=what):
        Checkpointer(tmp_path / "ckpt", **options)


# ---- several ranks


def save_by(folder, arrays_of, world, step=1):
    """One checkpoint by `world` writers."""
    savers = [Checkpointer(folder, rank=rank, world=world, parts_timeout_s=BOUND_S) for rank in range(world)]
    handles = [saver.save_async(step, arrays_of(rank)) for rank, saver in enumerate(savers)]
    reports = [handle.wait() for handle in handles]
    for saver in savers:
        saver.close()
    return open_checkpoint(reports[0].path), reports


def test_rows_are_read_back_in_any_other_split(tmp_path):
    table = torch.arange(70.0).reshape(10, 7)
    starts = [0, 2, 7, 10]
    opened, _ = save_by(
        tmp_path / "ckpt",
        lambda rank: {
            "table": Rows(table[starts[rank] : starts[rank + 1]], starts[rank], 10),
            f"own.{rank}": torch.full((1,), rank),
        },
        3,
    )
    assert torch.equal(opened.load("table")["table"], table)
    assert sorted(opened.load("own.*")) == ["own.0", "own.1", "own.2"]
    for first, last in ((0, 5), (5, 10), (1, 9)):
        part = torch.empty(last - first, 7)
        opened.load(into={"table": Rows(part, first)})
        assert torch.equal(part, table[first:last])


def test_a_replicated_state_is_written_once_by_all(tmp_path):
    state = {"layers": [torch.full((300, 300), float(i)) for i in range(6)], "lr": 0.1}
    savers = [Checkpointer(tmp_path / "ckpt", rank=rank, world=2) for rank in range(2)]
    handles = [saver.save_state_async(4, state) for saver in savers]
    reports = [handle.wait() for handle in handles]
    for saver in savers:
        saver.close()
    size = 6 * 300 * 300 * 4
    assert size < sum(report.bytes for report in reports) < size * 1.1 and min(r.bytes for r in reports) > size * 0.3
    assert same(load_newest(tmp_path / "ckpt")[1], state)


def test_other_threads_run_while_one_waits(tmp_path):
    """Rank 0 waits for rank 1's part, which another Python thread writes."""
    first, second = (Checkpointer(tmp_path / "ckpt", rank=rank, world=2, parts_timeout_s=BOUND_S) for rank in range(2))
    handle = first.save_async(1, {"a": b"0"})
    waits = threading.Event()

    def write_part():
        waits.wait(BOUND_S)
        second.save_async(1, {"b": b"1"}).wait()

    other = threading.Thread(target=write_part)
    other.start()
    assert not handle.done()
    waits.set()
    assert handle.wait().step == 1
    other.join()
    first.close()
    second.close()


def test_a_forked_child_waits_for_nothing(tmp_path):
    first = Checkpointer(tmp_path / "ckpt", rank=0, world=2, parts_timeout_s=BOUND_S)
    handle = first.save_async(1, {"a": b"0"})  # on its way until rank 1 has written
    child = os.fork()
    if child == 0:
        try:
            first.save_async(2, {"a": b"0"})
        except CheckpointError as error:
            refused = "forked" in str(error)
        del first, handle
        gc.collect()
        os._exit(0 if refused else 1)
    ended = []
    wait_until(lambda: ended.append(os.waitpid(child, os.WNOHANG)) or ended[-1][0] == child, what="the child ends")
    assert os.waitstatus_to_exitcode(ended[-1][1]) == 0
    with Checkpointer(tmp_path / "ckpt", rank=1, world=2) as second:
        second.save_async(1, {"b": b"1"}).wait()
    assert handle.wait().step == 1
    first.close()


# ---- states


@pytest.mark.parametrize("seed", range(4))
def test_any_state_comes_back_from_the_disk(tmp_path, seed):
    rng = random.Random(seed)
    state = [random_tree(rng) for _ in range(40)]
    with Checkpointer(tmp_path / "ckpt") as saver:
        saver.save_state_async(1, state)
    assert same(load_newest(tmp_path / "ckpt")[1], state)


def test_some_entries_of_a_state(tmp_path):
    with Checkpointer(tmp_path / "ckpt") as saver:
        path = saver.save_state_async(1, {"model": {"w": torch.ones(2)}, "optim": [1]}).wait().path
    opened = open_checkpoint(path)
    assert same(opened.load_state(only=["model"]), {"model": {"w": torch.ones(2)}})
    assert sorted(opened.load()) == ["model.w"], "the structure is not one of the arrays"
    with pytest.raises(KeyError):
        opened.load_state(only=["other"])


def test_arrays_alone_are_no_state(tmp_path):
    with pytest.raises(TypeError, match="has arrays only"):
        save(tmp_path / "ckpt", {"w": b""}).load_state()


# ---- the directory


def test_the_newest_good_one_is_loaded_and_faults_are_told(tmp_path):
    with Checkpointer(tmp_path / "ckpt") as saver:
        for step in (1, 2, 3):
            path = saver.save_state_async(step, {"step": step, "w": torch.ones(5)}).wait().path
        with open(shards(path)[0], "r+b") as file:
            file.seek(4096)
            file.write(b"\xff")
        told = []
        opened, state = saver.load(tried=lambda path, error: told.append((path, error.code)))
    assert (opened.step, state["step"], told) == (2, 2, [(path, "DATA_LOSS")])
    with pytest.raises(CheckpointError, match="tensor '.*' .*checksum") as refused:
        open_checkpoint(path).verify()
    assert refused.value.code == "DATA_LOSS" and refused.value.is_corrupt and refused.value.fix in str(refused.value)


def test_what_is_not_there(tmp_path):
    for call in (
        lambda: open_checkpoint(tmp_path / "attempt-1" / "step-00000001"),
        lambda: open_checkpoint(tmp_path),
        lambda: load_newest(tmp_path),
        lambda: load_newest(tmp_path / "nothing"),
        lambda: checkpoint.begin_attempt(tmp_path, "a", 2, is_told=True, base=checkpoint.path_of(tmp_path, 1, 1)),
    ):
        with pytest.raises(CheckpointError) as refused:
            call()
        assert refused.value.code == "NOT_FOUND"


def test_only_those_kept_stay(tmp_path):
    with Checkpointer(tmp_path / "ckpt", keep=2) as saver:
        assert saver.base is None
        for step in range(6):
            saver.save_async(step, {"w": b"x"}).wait()
    steps = [checkpoint.split_path(path)[2] for path in checkpoint.checkpoints(tmp_path / "ckpt")]
    assert steps == [4, 5]
    with Checkpointer(tmp_path / "ckpt", attempt=2) as saver:
        assert saver.base == checkpoint.path_of(tmp_path / "ckpt", 1, 5)


def test_a_closed_checkpointer_is_refused(tmp_path):
    saver = Checkpointer(tmp_path / "ckpt")
    saver.close()
    saver.close()
    with pytest.raises(CheckpointError, match="closed"):
        saver.save_async(1, {})


# ---- the format


def test_every_shard_is_a_safetensors_file(tmp_path):
    table = torch.arange(700.0).reshape(100, 7)
    opened, _ = save_by(
        tmp_path / "ckpt",
        lambda rank: {
            "table": Rows(table[rank * 50 : rank * 50 + 50], rank * 50, 100),
            "all": Replicated(torch.ones(5)),
            f"own.{rank}": torch.zeros(2, 2, dtype=torch.bfloat16),
            f"empty.{rank}": b"",
        },
        2,
    )
    read = [read_safetensors.read_shard(path) for path in shards(opened.path)]
    assert len(read) == 2 and sum("all" in tensors for tensors in read) == 1
    assert [tensors[f"own.{rank}"][:2] for rank, tensors in enumerate(read)] == [("BF16", [2, 2])] * 2
    halves = [value for tensors in read for name, value in tensors.items() if name.startswith("table")]
    assert b"".join(bytes(value[2]) for value in halves) == table.numpy().tobytes() and halves[0][1] == [50, 7]


def test_without_the_compiled_part_the_import_says_so():
    env = {**os.environ, "PYTHONPATH": SDK}
    done = subprocess.run([sys.executable, "-c", "import glim.checkpoint"], env=env, capture_output=True, text=True)
    assert done.returncode == 1 and "ImportError: glim.checkpoint needs its compiled part" in done.stderr
