"""What a process that does no step says of its collectives in NCCL: torch's record is told by a stand-in, of the form
of torch 2.5's; with NCCL itself it has not been run."""

import json
import os
import subprocess
import sys

import pytest
from bounds import BOUND_S, wait_until
from waits_file import said_by

from glim import nccl_waits

CONFIG = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}, "1": {"name": "1", "desc": "", "ranks": "[0]"}}


def entry(record_id, name, state, pg_id=0, number=7, **more):
    group = CONFIG[str(pg_id)]
    return {
        "record_id": record_id,
        "pg_id": pg_id,
        "process_group": [group["name"], group["desc"]],
        "collective_seq_id": number,
        "profiling_name": f"nccl:{name}",
        "state": state,
        "is_p2p": False,
        **more,
    }


def status(enqueued, completed):
    numbers = {"enqueued": enqueued, "started": -1, "completed": completed}
    return {f"last_{kind}_collective": str(number) for kind, number in numbers.items()}


@pytest.mark.parametrize(
    "record, words",
    [
        ({}, ""),
        ({"entries": [], "pg_config": CONFIG, "pg_status": {"0": status(-1, -1)}}, ""),
        (
            {"entries": [entry(9, "all_gather", "scheduled", number=8), entry(8, "all_reduce", "started")]},
            "NCCL: waits in all_reduce (operation 7 of default_pg)",
        ),
        (
            {"entries": [entry(5, "all_reduce", "started"), entry(4, "broadcast", "started", pg_id=1, number=2)]},
            "NCCL: waits in broadcast (operation 2 of 1), all_reduce (operation 7 of default_pg)",
        ),
        (
            {"entries": [entry(5, "send", "started", is_p2p=True), entry(6, "all_reduce", "completed")]},
            "",
        ),
        (
            {"entries": [], "pg_config": CONFIG, "pg_status": {"0": status(6, 6), "1": status(2, 2)}},
            "NCCL: waits in nothing; done last: operation 6 of default_pg, operation 2 of 1",
        ),
    ],
    ids=["no_record", "nothing_yet", "the_oldest", "two_groups", "no_collective", "the_one_that_is_missing"],
)
def test_the_words_for_a_record(record, words):
    assert nccl_waits.words_of(record) == words


TORCH = """
import json, os, sys, types

record = os.environ["RECORD"]

class C10d:
    def _dump_nccl_trace_json(includeCollectives, onlyActive):
        assert includeCollectives and onlyActive
        print("asked", flush=True)
        with open(record) as file:
            return file.read().encode()

torch = types.ModuleType("torch")
torch._C = types.SimpleNamespace(_distributed_c10d=C10d)
distributed = types.ModuleType("torch.distributed")
distributed.is_initialized = lambda: True
sys.modules.update({"torch": torch, "torch.distributed": distributed})

from glim.nccl_waits import NcclWaits

def still_s():
    print("looked", flush=True)
    with open(os.environ["STILL"]) as file:
        return float(file.read())

waits = NcclWaits(still_s, look_every_s=0.02)
waits.start()
sys.stdin.read()
waits.stop()
"""


def next_line_but(process, word):
    """The next that is another one; empty: there is none."""
    return next((line.strip() for line in process.stdout if line.strip() != word), "")


def replace(path, text):
    path.with_suffix(".new").write_text(text)
    os.replace(path.with_suffix(".new"), path)


@pytest.fixture
def program(tmp_path):
    record, still = tmp_path / "record", tmp_path / "still"
    replace(record, json.dumps({"entries": [entry(8, "all_reduce", "started")]}))
    replace(still, "0")
    folder = os.path.dirname(os.path.dirname(nccl_waits.__file__))
    environment = {**os.environ, "PYTHONPATH": folder, "RECORD": str(record), "STILL": str(still)}
    process = subprocess.Popen(
        [sys.executable, "-c", TORCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    yield process, record, still
    process.stdin.close()
    assert process.wait(BOUND_S) == 0


def test_it_is_said_while_no_step_is_done_and_taken_back_then(program):
    process, record, still = program
    replace(still, str(nccl_waits.STILL_S))
    assert next_line_but(process, "looked") == "asked"
    wait_until(lambda: said_by(process.pid), what="it says what it waits for")
    assert said_by(process.pid) == "NCCL: waits in all_reduce (operation 7 of default_pg)"
    replace(still, "0")
    wait_until(lambda: said_by(process.pid) == "", what="it waits for nothing any more")


def test_torch_is_not_asked_while_steps_are_done(program):
    process, _, still = program
    replace(still, str(nccl_waits.STILL_S - 1))
    assert [process.stdout.readline() for _ in range(10)] == ["looked\n"] * 10
    assert said_by(process.pid) is None
    replace(still, str(nccl_waits.STILL_S))
    assert next_line_but(process, "looked") == "asked", "for the first time"


def test_a_record_of_another_form_ends_the_looking_and_nothing_else(program):
    process, record, still = program
    replace(record, '{"entries": [{"state": "started"}]}')
    replace(still, str(nccl_waits.STILL_S))
    assert next_line_but(process, "looked") == "asked"
    replace(record, json.dumps({"entries": [entry(8, "all_reduce", "started")]}))
    process.stdin.close()
    assert next_line_but(process, "looked") == "", "once, and never again"
