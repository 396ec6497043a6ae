"""The SDK with torch's tensors on a GPU. tests/device/run runs these where torch sees one."""

import os
import sys

import pytest
import torch

SDK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sdk", "python")
sys.path[:0] = [os.path.join(SDK, "tests"), SDK]
from extension import EXTENSION  # noqa: E402
from hfreduce_ranks import Ranks  # noqa: E402

sys.path.append(EXTENSION)

from glim.checkpoint import Checkpointer, open_checkpoint  # noqa: E402


def sums(group, count):
    """What all_reduce gives in place, into another tensor, and when the tensor is written just before on the stream."""
    start = torch.full((count,), float(group.rank + 1), device="cuda:0")
    in_place = start.clone()
    group.all_reduce(in_place)
    apart = torch.zeros_like(start)
    group.all_reduce(start, out=apart)
    written = torch.zeros_like(start)
    written.add_(start)  # on the stream, still to come at the call
    handle = group.all_reduce(written, async_op=True)
    handle.wait()
    return [bool((tensor == 3.0).all()) for tensor in (in_place, apart, written)] + [
        bool((start == group.rank + 1).all())
    ]


@pytest.mark.parametrize("zones", [[[2]], [[1, 1]]])
@pytest.mark.parametrize("count", [1, 4097, 1_000_003])
def test_all_reduce_of_two_ranks_on_one_card(zones, count):
    ranks = Ranks(sums, count, zones=zones, transport="tcp")  # CUDA's runtime is the one that torch has loaded
    try:
        assert ranks.results() == [[True] * 4] * 2
    finally:
        ranks.stop()


def test_a_tensor_on_a_gpu_and_one_on_the_host_are_not_mixed():
    from glim import hfreduce

    on_card, on_host = torch.zeros(4, device="cuda:0"), torch.zeros(4)
    with pytest.raises(ValueError, match="is on the CPU"):
        hfreduce._pair(on_card, on_host, writes=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_a_checkpoint_holds_what_the_card_had(tmp_path, dtype):
    tensor = torch.arange(100_003, device="cuda:0").to(dtype)
    with Checkpointer(tmp_path / "c") as saver:
        handle = saver.save_async(1, {"t": tensor})
        saved = tensor.clone()
        tensor.zero_()  # the next step writes it
        path = handle.wait().path
    assert torch.equal(open_checkpoint(path).load()["t"].cuda(), saved)


def test_a_state_with_an_optimizer_on_the_card_comes_back(tmp_path):
    model = torch.nn.Linear(64, 8).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 64, device="cuda:0")).sum().backward()
    optimizer.step()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    with Checkpointer(tmp_path / "c") as saver:
        path = saver.save_state_async(1, state).wait().path
    back = open_checkpoint(path).load_state()
    for name, tensor in state["model"].items():
        assert torch.equal(back["model"][name].cpu(), tensor.cpu())
    moments = state["optimizer"]["state"][0]["exp_avg"]
    assert torch.equal(back["optimizer"]["state"][0]["exp_avg"].cpu(), moments.cpu())
