"""What a rank of glim.hfreduce says outside of itself while it waits for another: the agent's evidence has it
(docs/protocols/task-socket.md, Stacks)."""

import multiprocessing
import re

import extension
import hfreduce_ranks
import numpy
import pytest
from bounds import BOUND_S, wait_until
from waits_file import said_by


def waits_for_rank_1(group, come):
    if group.rank == 1:
        assert come.wait(BOUND_S)
    group.all_reduce(numpy.ones(1 << 22, dtype="f4"))


@pytest.mark.parametrize(
    "zones, whom",
    [
        ([[1, 1]], "waits for node 1 (rank 1) in AllReduce of 4194304 fp32 (sum)"),
        ([[2]], "rank 1 has not called AllReduce of 4194304 fp32 (sum)"),
    ],
    ids=["between_nodes", "on_a_node"],
)
def test_who_does_not_come_is_said_by_who_waits(zones, whom):
    missing = extension.missing("_hfreduce")
    assert not missing, missing
    come = multiprocessing.get_context("spawn").Event()
    ranks = hfreduce_ranks.Ranks(waits_for_rank_1, come, zones=zones)
    try:
        pid = ranks.processes[0].pid
        wait_until(lambda: said_by(pid), "rank 0 says what it waits for")
        # init() has had operations of its own
        assert re.fullmatch(re.escape(f"hfreduce: {whom} (operation ") + r"\d+\)", said_by(pid)), said_by(pid)
        come.set()
        ranks.results()
        assert said_by(pid) == "", "it waits for nobody"
    finally:
        come.set()
        ranks.stop()
