"""The checker of the fault run sees each thing that it is there for, and nothing in a run where all is well."""

import checker
import pytest
from checker import chain
from event_times import Moment
from records import Account
from workload import Planned

STEPS = 4
PLAN = Planned(1, "good", "f1-good", "ana", 2, STEPS, 50, -1)


def result(rank):
    state = ""
    for step in range(STEPS):
        state = chain(state, rank, step)
    return state


def account(attempt, rank, node, began, *words, job=1):
    """Its words come a second apart."""
    lines = [{"at": began + i, **word} for i, word in enumerate(words)]
    return Account(job, attempt, rank, node=node, lines=lines)


def step(number):
    return {"what": "step", "step": number}


def good_run():
    """Two ranks; interrupted after step 1, saved, and gone on from there on another node."""
    stop = {"what": "stop", "step": 1, "agreed": 1}
    first = ({"what": "begin"}, {"what": "base", "step": -1}, step(0), step(1), {"what": "saved", "step": 1}, stop)
    second = ({"what": "begin"}, {"what": "base", "step": 1}, step(2), step(3))
    return [
        account(1, 0, "n1", 0, *first),
        account(1, 1, "n2", 0, *first),
        account(2, 0, "n3", 100, *second, {"what": "end", "step": 3, "state": result(0)}),
        account(2, 1, "n4", 100, *second, {"what": "end", "step": 3, "state": result(1)}),
    ]


def good_story():
    rows = [
        {"ref": {"number": 1}, "outcome": "interrupted", "save": "saved", "durable_step": 1},
        {"ref": {"number": 2}, "outcome": "succeeded", "save": "", "durable_step": -1},
    ]
    return {1: {"state": "succeeded", "message": "", "attempts": rows}}


def problems(accounts, told=None, listed=((1, "f1-good"),), lost=None, heard=None):
    return checker.check_all(accounts, told or good_story(), {1: PLAN}, listed, lost or {}, heard or {})


def test_a_good_run_has_no_problems():
    assert problems(good_run()) == []


def lost_submission(run):
    return problems(run, listed=())


def doubled_submission(run):
    return problems(run, listed=((1, "f1-good"), (2, "f1-good")))


def invented_job(run):
    return problems(run, listed=((1, "f1-good"), (2, "f2-good")))


def two_on_a_node(run):
    return problems([*run, account(1, 0, "n3", 102, {"what": "begin"}, job=7)])


def a_daemon_stays(run):
    return problems(
        [
            *run,
            Account(7, 1, 0, True, "n3", [{"at": 1, "what": "beat"}, {"at": 101, "what": "beat"}]),
        ]
    )


def two_attempts_at_once(run):
    run[0].lines.append({"at": 101.0, "what": "beat"})
    return problems(run)


def lost_too_late(run):
    run[0].lines.append({"at": 101.0, "what": "beat"})
    return problems(run, lost={"n1": [Moment(1, 100.5, 100.7)]})


def ranks_of_a_lost_node_stay(run):
    run[0].lines.append({"at": 120.0, "what": "beat"})
    return problems(run, lost={"n1": [Moment(1, 50.0, 50.1)]}, heard={"n1": [Moment(2, 100.0, 105.0)]})


def a_step_left_out(run):
    del run[2].lines[2]
    return problems(run)


def a_step_done_twice(run):
    run[2].lines.insert(3, {**run[2].lines[2]})
    return problems(run)


def another_result(run):
    run[2].lines[-1]["state"] = "0"
    return problems(run)


def too_few_steps(run):
    run[2].lines[-1]["step"] = 2
    return problems(run)


def stops_differ(run):
    run[1].lines[-1].update(step=2, agreed=2)
    return problems(run)


def bases_differ(run):
    run[3].lines[1]["step"] = 0
    return problems(run)


def from_a_save_that_never_was(run):
    del run[1].lines[4]
    return problems(run)


def work_lost(run):
    for rank in run[:2]:
        rank.lines.append({"at": 50.0, "what": "beat"})
    for rank in run[2:]:
        rank.lines[1]["step"] = -1
    return problems(run)


def another_end(run):
    told = good_story()
    told[1]["state"] = "failed"
    return problems(run, told)


def told_as_saved_elsewhere(run):
    told = good_story()
    told[1]["attempts"][0]["durable_step"] = 0
    return problems(run, told)


def a_success_without_an_end(run):
    del run[3].lines[-1]
    return problems(run)


def an_attempt_nobody_was_told_of(run):
    told = good_story()
    del told[1]["attempts"][0]
    return problems(run, told)


def test_a_ledger_that_leaks_is_seen():
    assert checker.check_ledger({"total_gpu_ms": 5, "registered_gpu_ms": 5}) == []
    assert checker.check_ledger({"total_gpu_ms": 4, "registered_gpu_ms": 5}) != []


def test_the_ranks_of_a_lost_node_may_live_until_its_agent_is_heard():
    run = good_run()
    run[0].lines.append({"at": 114.0, "what": "beat"})
    lost, heard = {"n1": [Moment(1, 50.0, 50.1)]}, {"n1": [Moment(0, 40.0, 40.1), Moment(2, 100.0, 105.0)]}
    assert problems(run, lost=lost, heard=heard) == []


def test_of_an_attempt_whose_row_went_before_anybody_asked_the_events_tell():
    newest = {**good_story()[1]["attempts"][0], "ref": {"number": 1 + checker.ROWS_KEPT}}
    told = {1: {**good_story()[1], "attempts": [newest]}}
    run = [account for account in good_run() if account.attempt == 1]
    assert checker.check_told(run, told, {1: PLAN}, checker.named_by([{"job_id": 1, "attempt": 1}])) == []
    unknown = checker.check_told(run, told, {1: PLAN}, checker.named_by([{"job_id": 1, "attempt": 0}]))
    assert unknown == ["1.1: its ranks ran, and nobody was ever told of that attempt"]


def test_a_job_whose_rank_was_killed_may_fail():
    told = good_story()
    told[1]["state"] = "failed"
    assert checker.check_all(good_run(), told, {1: PLAN}, ((1, "f1-good"),), {}, {}, {1}) == []


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lost_submission, "was acknowledged; the cluster has None"),
        (doubled_submission, "was acknowledged; the cluster has [1, 2]"),
        (invented_job, "were never submitted"),
        (two_on_a_node, "began 2.00 s before"),
        (a_daemon_stays, "before 7.1 rank 0 (its daemon) was gone"),
        (two_attempts_at_once, "lived 1.00 s beside attempt 2"),
        (lost_too_late, "lived 1.00 s beside attempt 2"),
        (ranks_of_a_lost_node_stay, "lived for more than 10 s after n1 was heard"),
        (a_step_left_out, "not in a row"),
        (a_step_done_twice, "not in a row"),
        (another_result, "its result is not that of"),
        (too_few_steps, "ended after step 2"),
        (stops_differ, "stopped at different steps"),
        (bases_differ, "began at different steps"),
        (from_a_save_that_never_was, "was never saved by all ranks"),
        (work_lost, "although 1 had been saved"),
        (another_end, "is failed, not succeeded"),
        (told_as_saved_elsewhere, "told as saved through step 0"),
        (a_success_without_an_end, "only 1 of 2 ranks came to the end"),
        (an_attempt_nobody_was_told_of, "nobody was ever told"),
    ],
)
def test_what_is_broken_is_seen(broken, words):
    found = broken(good_run())
    assert any(words in problem for problem in found), found
