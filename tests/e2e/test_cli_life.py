"""A job's life as a user sees it: submit, queue, status, why, cancel, suspend, wait, nodes."""

import json


def test_nodes_show_zone_leaf_and_simulated_gpus(cluster, glim):
    nodes = glim.nodes()
    assert {name: (n["labels"]["zone"], n["labels"]["leaf"]) for name, n in nodes.items()} == cluster.node_places
    assert all(n["labels"]["gpu_count"] == 8 and n["labels"]["simulated_gpus"] for n in nodes.values())
    table = glim.text("nodes")
    assert table.count("simulated") >= 4, table


def test_a_job_runs_and_is_told_of(stage, cluster, glim):
    job = glim.submit(stage.examples.make("hello", "echo hello", nodes=2), user="kim")
    done = cluster.wait_state(job, "succeeded", 30)
    assert done["user"] == "kim" and done["gpus_simulated"]
    (attempt,) = done["attempts"]
    assert attempt["outcome"] == "succeeded" and len({t["node"] for t in attempt["tasks"]}) == 2
    assert len(attempt["zones"]) == 1, "two nodes fit in one zone"
    assert "succeeded" in glim.text("status", job)
    assert str(job) not in [str(j["id"]) for j in glim.json("queue")["jobs"]]
    assert job in [j["id"] for j in glim.json("queue", "--all")["jobs"]]


def test_a_failed_job_has_its_exit_code(stage, cluster, glim):
    job = glim.submit(stage.examples.make("fails", "echo no; exit 7"))
    failed = cluster.wait_state(job, "failed", 30)
    assert failed["attempts"][0]["tasks"][0]["exit_code"] == 7 and failed["attempt_count"] == 1
    waited = glim.run("wait", job)
    assert waited.returncode == 1 and "fix:" in waited.stderr


def test_wait_gives_the_verdict_and_a_timeout(stage, glim):
    job = glim.submit(stage.examples.make("sleeper", "exec sleep 600"))
    assert glim.run("wait", job, "--timeout", "300ms").returncode == 7
    glim.text("cancel", job)
    assert glim.run("wait", job, "--timeout", "30s").returncode == 1
    ok = glim.run("submit", "--wait", stage.examples.make("quick", "true"))
    assert ok.returncode == 0, ok.stderr


def test_why_a_job_is_blocked(stage, cluster, glim):
    first = glim.submit(stage.examples.make("holder", "exec sleep 600", nodes=3), user="kim")
    cluster.wait_state(first, "running", 30)
    second = glim.submit(stage.examples.make("waiter", "true", nodes=2), user="lee")
    job = cluster.wait_job(second, lambda j: j["blockers"], 30, "its blockers are told")
    assert job["state"] == "queued"
    blocker = job["blockers"][0]
    assert blocker["message"] and (blocker["have"], blocker["need"]) == (1, 2) and first in blocker["job_ids"], blocker
    text = glim.text("why", second)
    assert blocker["message"] in text and str(first) in text
    assert glim.json("why", second)["blockers"][0]["kind"] == blocker["kind"]
    queue = glim.json("queue")["jobs"]
    assert {first, second} <= {j["id"] for j in queue}
    glim.text("cancel", first, user="kim")
    cluster.wait_state(second, "succeeded", 30)
    cluster.wait_state(first, "cancelled", 30)


def test_cancel_of_a_queued_and_of_a_running_job(stage, cluster, glim):
    running = glim.submit(stage.examples.make("running", "exec sleep 600", nodes=4))
    cluster.wait_state(running, "running", 30)
    queued = glim.submit(stage.examples.make("queued", "true", nodes=4))
    glim.text("cancel", queued)
    assert cluster.wait_state(queued, "cancelled", 10)["attempt_count"] == 0
    glim.text("cancel", running)
    cluster.wait_state(running, "cancelled", 30)
    cluster.wait_idle(30)
    again = glim.run("-o", "json", "cancel", running)
    assert again.returncode in (0, 5, 6), again.stderr


def test_suspend_and_resume(stage, cluster, glim):
    spec = stage.examples.make(
        "held",
        "trap 'exit 0' TERM; echo begins; while :; do sleep 0.05; done",
        interrupt={"mode": "signal", "signal": "TERM", "grace": "5s"},
    )
    job = glim.submit(spec)
    cluster.wait_state(job, "running", 30)
    glim.text("suspend", job)
    cluster.wait_state(job, "held", 30)
    cluster.wait_idle(30)
    glim.text("resume", job)
    assert cluster.wait_state(job, "running", 30)["attempt_count"] == 2


def test_the_same_request_is_taken_once(stage, cluster, glim):
    spec = stage.examples.make("once", "true")
    ids = {
        json.loads(glim.text("-o", "json", "submit", spec, "--request-id", "e2e-once"))["job_ids"][0] for _ in range(3)
    }
    assert len(ids) == 1
    other = stage.examples.make("twice", "true")
    assert glim.run("submit", other, "--request-id", "e2e-once").returncode == 5


def test_a_program_that_is_not_there_fails_with_its_words(stage, cluster, glim):
    job = glim.submit(stage.examples.make("absent", "/no/such/program"))
    cluster.wait_state(job, "failed", 30)
    assert "/no/such/program" in glim.text("logs", job)
