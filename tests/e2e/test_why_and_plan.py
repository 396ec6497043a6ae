"""`glim why` and `glim plan`: what they say was tried, and what is then done, comes true."""


def plan(glim, spec, *args, user=None):
    return glim.json("plan", spec, *args, user=user)["jobs"]


def test_why_says_what_would_start_it_now_and_so_it_does(stage, cluster, glim):
    holder = glim.submit(stage.examples.make("holder", "exec sleep 600", nodes=3), user="kim")
    cluster.wait_state(holder, "running", 30)
    spec = stage.examples.make("waiter", "exec sleep 600", nodes=2, priority="low")
    waiter = glim.submit(spec, user="lee")
    cluster.wait_job(waiter, lambda j: j["blockers"], 30, "its blockers are told")
    why = glim.json("why", waiter)
    tried = {c["change"]: c for c in why["counterfactuals"]}
    assert tried["nodes"]["value"] == "1", tried
    assert tried["nodes"]["message"] == "with 1 node it starts now"
    assert why["outlook"]["ahead_count"] == 0 and why["outlook"]["promised_by_at_ms"] > 0
    text = glim.text("why", waiter)
    assert "with 1 node it starts now" in text and "promised" in text, text
    glim.text("cancel", waiter, user="lee")
    smaller = glim.submit(spec, "--nodes", "1", user="lee")
    cluster.wait_state(smaller, "running", 30)


def test_a_plan_names_nodes_and_victims_and_submits_nothing(stage, cluster, glim):
    (free,) = plan(glim, stage.examples.make("free", "true", nodes=2))
    assert free["starts_now"] and len({n["zone"] for n in free["start"]["nodes"]}) == 1
    assert {n["name"] for n in free["start"]["nodes"]} <= set(cluster.node_places)
    holder = glim.submit(
        stage.examples.make("holder", "exec sleep 600", nodes=4, interrupt={"mode": "signal"}), user="kim"
    )
    cluster.wait_state(holder, "running", 30)
    (waits,) = plan(glim, stage.examples.make("waits", "true", nodes=1, priority="low"))
    assert not waits["starts_now"] and waits["blockers"]
    urgent = stage.examples.make("urgent", "true", nodes=4, priority="extreme_high")
    (planned,) = plan(glim, urgent, user="lee")
    (victim,) = planned["start"]["victims"]
    assert (victim["job_id"], victim["user"]) == (holder, "kim") and victim["preemption_cost_gpu_ms"] > 0
    assert f"by interrupting job {holder}" in glim.text("plan", urgent)
    assert [j["id"] for j in glim.json("queue")["jobs"]] == [holder]
    assert glim.job(holder)["state"] == "running"
    job = glim.submit(urgent, user="lee")
    cluster.wait_state(job, "succeeded", 60)
    assert glim.job(holder)["interrupts"] == 1, "and so it was"


def test_what_submit_refuses_plan_refuses(stage, glim):
    refused = glim.run("plan", stage.examples.make("wide", "true", nodes=9))
    assert refused.returncode != 0 and "INFEASIBLE" in refused.stderr, refused.stderr


def test_a_trace_tells_what_was_tried(stage, cluster, glim):
    holder = glim.submit(stage.examples.make("holder", "exec sleep 600", nodes=3), user="kim")
    cluster.wait_state(holder, "running", 30)
    waiter = glim.submit(stage.examples.make("waiter", "exec sleep 600", nodes=2, priority="low"), user="lee")
    cluster.wait_job(waiter, lambda j: j["blockers"], 30, "its blockers are told")
    trace = glim.json("admin", "sched", "trace", waiter)["trace"]
    told = {}
    for step in trace["steps"]:
        told.setdefault(step["stage"], []).append(step)
    assert trace["verdict"] == "waits" and set(told) >= {"order", "quota", "placement", "preemption", "verdict"}
    assert any(str(holder) in step["message"] and "keeps them" in step["message"] for step in told["preemption"])
    assert sum(len(step["nodes"]) for step in told["placement"]) == 1, "one node is free"
    (blocker,) = [b["message"] for b in glim.job(waiter)["blockers"]]
    assert blocker in told["verdict"][0]["message"], "the same words as why's"
    assert any("with 1 node it starts now" in step["message"] for step in told["otherwise"])
    assert glim.run("admin", "sched", "trace", str(waiter), user="lee").returncode == 0, "it is lee's own"
    assert glim.run("admin", "sched", "trace", str(waiter), user="kim").returncode == 4
    refused = glim.run("admin", "sched", "trace", str(holder))
    assert refused.returncode == 6 and f"glim status {holder}" in refused.stderr, refused.stderr

    status = glim.json("admin", "sched", "status")["sched"]
    assert status["jobs_queued"] == 1 and status["passes"]["count"] > 0 and status["passes"]["p50_us"] > 0
    assert status["epoch"] == glim.json("admin", "status")["scheduler"]["epoch"]
    assert sum(wakes["count"] for wakes in status["wakes"]) == status["passes"]["over"]


def test_the_history_is_played_under_another_policy(stage, cluster, glim):
    jobs = [glim.submit(stage.examples.make(f"short-{i}", "sleep 0.3", nodes=i % 2 + 1)) for i in range(6)]
    for job in jobs:
        cluster.wait_state(job, "succeeded", 60)
    new = stage.path("new.yaml")
    with open(new, "w", encoding="utf-8") as file:
        file.write("quantum_min: 1m\n")
    words = ["admin", "sched", "simulate", "--since", "1h", "--policy", new, "--resamples", "3"]
    played = glim.json(*words)
    assert played["jobs"] >= len(jobs) and played["days"] == 1 and played["notes"]
    figures = {figure["key"]: figure for figure in played["figures"]}
    assert figures["makespan_s"]["present"]["value"] > 0
    assert figures["classes.all.wait_p50_s"]["new"]["low"] <= figures["classes.all.wait_p50_s"]["new"]["high"]
    assert "wait p99, all" in glim.text(*words)
    with open(new, "a", encoding="utf-8") as file:
        file.write("quantm_max: 3h\n")
    refused = glim.run(*words)
    assert refused.returncode == 2 and f"{new}:2:1: quantm_max" in refused.stderr, refused.stderr
