"""checkpoint_convert: to PyTorch's formats and back with every bit, and nothing of a stranger's file is run."""

import collections
import io
import os
import pickle
import re
import subprocess
import sys

import numpy
import pytest
import torch
from extension import PYTHONPATH
from test_state_tree import same

from glim import checkpoint, checkpoint_convert, torch_file
from glim.checkpoint_convert import main


def make_state():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optim = torch.optim.Adam(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optim, [2, 2, 5])
    model(torch.ones(4, 3)).sum().backward()
    optim.step()
    return {
        "model": model.state_dict(),
        "optim": optim.state_dict(),
        "schedule": schedule.state_dict(),
        "step": 7,
        "half": torch.tensor([1.5, float("nan")], dtype=torch.bfloat16),
        "numpy": numpy.arange(3.0),
        "scalar": numpy.float32(2),
        "bytes": b"\x00\xff",
        "own": bytearray(b"x"),
        "tuple": (1, None, True),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "complex": torch.ones(2, dtype=torch.complex64),
    }


def test_torch_save_and_back(tmp_path, capsys):
    state = make_state()
    torch.save(state, tmp_path / "a.pt")
    assert main(["from-torch", str(tmp_path / "a.pt"), str(tmp_path / "ckpt"), "--step", "7", "--job", "12"]) == 0
    folder = capsys.readouterr().out.strip()
    assert folder == checkpoint.path_of(tmp_path / "ckpt", 1, 7)
    assert same(checkpoint.open_checkpoint(folder).load_state(), state)
    for source, target in ((folder, "b.pt"), (str(tmp_path / "ckpt"), "c.pt")):
        assert main(["to-torch", source, str(tmp_path / target)]) == 0
        assert same(torch.load(tmp_path / target, weights_only=False), state)


def test_arrays_without_a_structure_become_a_dict_of_tensors(tmp_path):
    with checkpoint.Checkpointer(tmp_path / "ckpt") as saver:
        saver.save_async(1, {"w": torch.arange(3.0), "b": b"ab"})
    assert main(["to-torch", str(tmp_path / "ckpt"), str(tmp_path / "w.pt")]) == 0
    wanted = {"b": torch.tensor([97, 98], dtype=torch.uint8), "w": torch.arange(3.0)}
    assert same(torch.load(tmp_path / "w.pt", weights_only=False), wanted)


def test_a_distributed_checkpoint_and_back(tmp_path, capsys):
    state = make_state()
    checkpoint_convert.write_glim(state, str(tmp_path / "ckpt"), "local", 7)
    assert main(["to-dcp", str(tmp_path / "ckpt"), str(tmp_path / "dcp")]) == 0
    assert main(["from-dcp", str(tmp_path / "dcp"), str(tmp_path / "again"), "--trust"]) == 0
    back = checkpoint.load_newest(tmp_path / "again")[1]
    assert same(back["model.0.weight"], state["model"]["0.weight"]) and same(back["half"], state["half"])
    assert same(back["optim.state.0.exp_avg"], state["optim"]["state"][0]["exp_avg"])
    assert same(back["optim.param_groups"], state["optim"]["param_groups"]) and back["step"] == 7
    assert same(back["tuple"], state["tuple"]) and same(back["numpy"], state["numpy"])
    with pytest.raises(SystemExit):
        main(["from-dcp", str(tmp_path / "dcp"), str(tmp_path / "more")])
    assert "say --trust" in capsys.readouterr().err and not (tmp_path / "more").exists()


class Evil:
    def __reduce__(self):
        return (exec, (f"open({self.mark!r}, 'w').close()",))


def evil(tmp_path):
    one = Evil()
    one.mark = str(tmp_path / "ran")
    return one


def refused(tmp_path, capsys, name="a.pt"):
    code = main(["from-torch", str(tmp_path / name), str(tmp_path / "ckpt")])
    assert code == 1 and not (tmp_path / "ckpt").exists() and not (tmp_path / "ran").exists()
    return capsys.readouterr().err


def test_a_strangers_file_runs_nothing(tmp_path, capsys):
    torch.save({"model": torch.ones(1), "x": evil(tmp_path)}, tmp_path / "a.pt")
    assert re.search(r"it needs (builtins|__builtin__)\.exec, which is not read", refused(tmp_path, capsys))
    torch.load(tmp_path / "a.pt", weights_only=False)
    assert (tmp_path / "ran").exists()  # it would have


def test_code_in_older_formats_and_in_programs_is_not_run_either(tmp_path, capsys):
    torch.save([evil(tmp_path)], tmp_path / "a.pt", _use_new_zipfile_serialization=False)
    assert "not of torch.save's zip format" in refused(tmp_path, capsys)
    (tmp_path / "a.pt").write_bytes(pickle.dumps(evil(tmp_path)))
    assert "zip format" in refused(tmp_path, capsys)
    torch.jit.script(torch.nn.Linear(1, 1)).save(str(tmp_path / "a.pt"))
    assert "TorchScript" in refused(tmp_path, capsys)


@pytest.mark.parametrize(
    "value, what",
    [
        (torch.device("cpu"), "torch.device"),
        (collections.defaultdict(list), "collections.defaultdict"),
        (torch.storage._load_from_bytes, "torch.storage._load_from_bytes"),
        (numpy.load, "numpy.load"),
        (torch.load, "torch.serialization.load"),
        (collections.namedtuple, "collections.namedtuple"),
        (print, "print"),
        (torch.nn.Linear(1, 1), "torch.nn.modules.linear.Linear"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",  # a function's own words have its address
)
def test_what_is_not_on_the_list_is_named(tmp_path, capsys, value, what):
    torch.save({"x": value}, tmp_path / "a.pt")
    assert what in refused(tmp_path, capsys)


def test_tensors_that_share_a_storage_share_it_again(tmp_path):
    base = torch.arange(12.0)
    views = {
        "rows": base.view(3, 4),
        "part": base[2:5],
        "strided": base[::3],
        "turned": base.view(3, 4).t(),
        "empty": base[:0],
        "bool": torch.tensor([True, False]),
    }
    torch.save(views, tmp_path / "a.pt")
    back = torch_file.read(tmp_path / "a.pt")
    assert same(back, views)
    back["rows"][0, 3] = 99
    assert back["part"][1] == 99 and back["strided"][1] == 99 and back["turned"][3, 0] == 99


class Rebuilt:
    """As a tensor says how it is made."""

    def __init__(self, *arguments):
        self.arguments = arguments

    def __reduce__(self):
        return torch._utils._rebuild_tensor_v2, self.arguments


def test_lazy_conjugates_and_negatives_of_newer_files(tmp_path):
    storage = torch.full((2,), 1 + 2j).storage()
    torch.save(
        [
            Rebuilt(storage, 0, (2,), (1,), False, {}, {"conj": True}),
            Rebuilt(torch.ones(2).storage(), 0, (2,), (1,), True, {}, {"neg": True}),
        ],
        tmp_path / "a.pt",
    )
    conjugate, negative = torch_file.read(tmp_path / "a.pt")
    assert conjugate.tolist() == [1 - 2j] * 2 and negative.tolist() == [-1.0] * 2 and negative.requires_grad


@pytest.mark.parametrize("size, stride, offset", [((1000,), (1,), 0), ((1,), (1,), 2), ((2, 2), (1, 1), 0)])
def test_a_tensor_beyond_its_storage_is_refused(tmp_path, capsys, size, stride, offset):
    torch.save([Rebuilt(torch.ones(2).storage(), offset, size, stride, False, {})], tmp_path / "a.pt")
    assert "out of bounds for storage" in refused(tmp_path, capsys)


def test_broken_files_are_refused(tmp_path, capsys):
    file = io.BytesIO()
    torch.save(make_state(), file)
    whole = file.getvalue()
    for content in (b"", b"text", whole[:-200], whole.replace(b"data.pkl", b"date.pkl")):
        (tmp_path / "a.pt").write_bytes(content)
        assert "glim.checkpoint_convert: " in refused(tmp_path, capsys)
    assert "No such file" in refused(tmp_path, capsys, "nothing.pt")


def test_a_directory_of_checkpoints_is_not_written_into(tmp_path, capsys):
    checkpoint_convert.write_glim({}, str(tmp_path / "ckpt"), "local", 1)
    torch.save({}, tmp_path / "a.pt")
    assert main(["from-torch", str(tmp_path / "a.pt"), str(tmp_path / "ckpt")]) == 1
    assert "already" in capsys.readouterr().err


def test_as_a_program(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "glim.checkpoint_convert", "to-torch", str(tmp_path / "none"), "x"],
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and done.stderr.startswith("glim.checkpoint_convert: ") and not os.path.exists("x")
