"""Jobs that wait for others (`after`), and jobs that reach their time limits (`limits.time`)."""

from cluster.processes import wait_until
from cluster.story import steps_done


def blockers(cluster, job_id, wanted):
    job = cluster.wait_job(job_id, lambda j: any(wanted in b["message"] for b in j["blockers"]), 30, wanted)
    assert job["state"] == "queued"
    return [b for b in job["blockers"] if wanted in b["message"]][0]


def test_a_job_starts_when_the_jobs_before_it_have_ended_as_it_asks(stage, cluster, glim):
    gate = stage.path("gate")
    first = glim.submit(stage.examples.make("first", f"while ! test -e {gate}; do sleep 0.05; done"))
    bad = glim.submit(stage.examples.make("bad", "exit 3"))
    after = glim.submit(stage.examples.make("after", "true", after=[first, f"{bad}:failed"]))
    either = glim.submit(stage.examples.make("either", "true", after=[f"{first}:any"]))
    cluster.wait_state(first, "running", 30)
    cluster.wait_state(bad, "failed", 30)
    blocker = blockers(cluster, after, f"waits for job {first}")
    assert (blocker["kind"], blocker["job_ids"]) == ("dependency", [first])
    assert f"waits for job {first} (running) to succeed" in glim.text("why", after)
    open(gate, "w").close()
    for job_id in (after, either):
        ended = cluster.wait_state(job_id, "succeeded", 30)
        before = glim.job(first)
        assert ended["attempts"][0]["started_at_ms"] >= before["ended_at_ms"]


def test_a_dependency_that_broke_fails_the_job_and_says_why(stage, cluster, glim):
    bad = glim.submit(stage.examples.make("bad", "exit 3"))
    waits = glim.submit(stage.examples.make("waits", "true", after=[f"{bad}:ok"]))
    in_turn = glim.submit(stage.examples.make("in-turn", "true", after=[waits]))
    words = f"job {bad} failed, and it was to start after {bad}:ok"
    assert cluster.wait_state(waits, "failed", 30)["message"] == words
    assert words in glim.text("status", waits)
    cluster.wait_state(in_turn, "failed", 10)
    late = glim.submit(stage.examples.make("late", "true", after=[bad]))
    assert cluster.wait_state(late, "failed", 10)["message"] == words


def test_a_dependency_to_be_kept_is_a_blocker_that_says_so(stage, cluster, glim):
    bad = glim.submit(stage.examples.make("bad", "exit 3"))
    waits = glim.submit(stage.examples.make("waits", "true", after=[f"{bad}:ok:keep"]))
    words = f"job {bad} failed, {bad}:ok:keep was asked for: cancel this job or submit it again without it"
    blockers(cluster, waits, words)
    assert words in glim.text("why", waits)
    glim.text("cancel", waits)
    cluster.wait_state(waits, "cancelled", 10)


def test_a_job_that_is_not_there_cannot_be_waited_for(stage, glim):
    refused = glim.run("submit", stage.examples.make("lost", "true", after=["999999:any"]))
    assert refused.returncode != 0
    assert "there is no job 999999" in refused.stderr and "field: after[0]" in refused.stderr, refused.stderr


def test_at_its_time_limit_a_job_saves_and_is_over(stage, cluster, glim):
    out = stage.path("limited")
    spec = stage.examples.derive(
        "bash",
        "limited",
        run='exec ./count.sh --steps 100000 --step-ms 20 --save-every 1000000 --out "$COUNT_OUT"',
        env={"COUNT_OUT": out},
        checkpoint={"dir": stage.path("ckpt", "$GLIM_JOB_ID"), "keep": 3},
    )
    with open(spec, "a") as file:
        file.write("limits: {time: 6s}\n")
    job_id = glim.submit(spec, user="ana")
    wait_until(lambda: cluster.check() or steps_done(out) >= 5, 60, "the script did step 5", every=0.02)
    job = cluster.wait_state(job_id, "failed", 60)
    (attempt,) = job["attempts"]
    assert (attempt["outcome"], attempt["save"], job["steps_lost"]) == ("timeout", "saved", 0)
    assert job["message"] == f"reached its time limit of 6 s; saved at step {job['durable_step']}"
    assert job["durable_step"] == attempt["agreements"][0]["stop_step"] >= 5
    assert attempt["agreements"][0]["reason"] == "its time limit of 6 s is reached"
    assert attempt["agreements"][0]["requested_at_ms"] - attempt["started_at_ms"] >= 6000
    assert job["message"] in glim.text("status", job_id)
    cluster.wait_idle(30)


def test_who_does_not_answer_at_the_limit_is_killed(stage, cluster, glim):
    spec = stage.examples.make(
        "deaf",
        "trap '' TERM; while :; do sleep 0.05; done",
        limits={"time": "1s"},
        interrupt={"mode": "signal", "signal": "TERM", "grace": "500ms", "max_grace": "500ms"},
    )
    job_id = glim.submit(spec)
    job = cluster.wait_state(job_id, "failed", 60)
    assert (job["attempts"][0]["outcome"], job["attempts"][0]["save"]) == ("timeout", "killed")
    assert job["message"].startswith("reached its time limit of 1 s; killed")


def test_a_job_starts_no_earlier_than_its_moment_which_its_user_may_move(stage, cluster, glim):
    later = glim.run("submit", stage.examples.make("later", "true"), "--start-after", "in 1h", user="ana")
    assert later.returncode == 0, later.stderr
    job_id = int(later.stdout)
    assert blockers(cluster, job_id, "its start_after is")["kind"] == "start_after"
    assert "its start_after is" in glim.text("why", job_id)
    others = glim.run("update", job_id, "--start-after", "0s", user="lee")
    assert others.returncode != 0 and f"job {job_id} is another user's" in others.stderr, others.stderr
    moved = glim.run("update", job_id, "--start-after", "in 3s", "--time", "1h", "--reason", "it is urgent", user="ana")
    assert moved.returncode == 0, moved.stderr
    assert "limits.time none -> 1h" in moved.stderr and "start_after 2" in moved.stderr
    job = cluster.wait_state(job_id, "succeeded", 60)
    assert job["attempts"][0]["started_at_ms"] >= job["spec"]["start_after_ms"]
    assert "start_after: " in glim.text("-o", "yaml", "status", job_id)
    said = glim.text("events", job_id)
    assert "limits.time none -> 1h" in said and "it is urgent" in said
