"""docs/openapi.json against a real scheduler: for each route a right request, and one of each wrong kind that it can
have. More, from any seed: tests/e2e/http_requests.py."""

import itertools

import pytest
from cluster.folders import make_folder, remove_folder
from cluster.local_cluster import LocalCluster
from conftest import BIN
from http_kinds import WRONG
from http_requests import ONE_NODE, start_runner

SEED = 20_261_123
MORE = 200  # right and wrong ones, of any route


@pytest.fixture(scope="module")
def served():
    """A cluster of its own, for what is asked of it changes it."""
    folder = make_folder("glim-http-")
    cluster = LocalCluster(BIN, folder, nodes=ONE_NODE, runtime="process")
    try:
        cluster.start()
        yield start_runner(cluster)
    except BaseException:
        print(cluster.tails())
        raise
    finally:
        faults = cluster.stop(cancel=False)
        remove_folder(folder)
    assert faults == []


def test_each_route_keeps_its_promises(served):
    runner, requests = served
    made = requests(SEED)
    faults = runner.run(itertools.chain(made.each_kind(), itertools.islice(made.endless(), MORE)))
    assert not faults, f"{len(faults)} promises are broken:\n" + "\n".join(faults[:20])
    asked = {what for what, _ in runner.counts}
    assert len(asked) == len(WRONG) + 1, "each kind has been asked"
    assert sum(count for (what, status), count in runner.counts.items() if what == "right" and status == 200) >= 20
    assert runner.look_at_scheduler() == []


def test_an_answer_that_is_not_as_described_is_seen(served):
    """The check can fail: of a job's answer a field is gone, another type, one too many."""
    runner, _ = served
    answer = {"version": 2, "job_ids": [7], "saves": [], "notes": []}
    schema = {"$ref": "#/components/schemas/SubmitResponse"}
    faults = runner.description.faults
    assert faults(answer, schema) == []
    assert faults({**answer, "job_ids": ["7"]}, schema) and faults({**answer, "job_ids": [2**64]}, schema)
    assert faults({**answer, "more": 1}, schema) and faults({"version": 2}, schema)
    assert faults({**answer, "version": 3}, schema)
