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
    free, = plan(glim, stage.examples.make("free", "true", nodes=2))
    assert free["starts_now"] and len({n["zone"] for n in free["start"]["nodes"]}) == 1
    assert {n["name"] for n in free["start"]["nodes"]} <= set(cluster.node_places)
    holder = glim.submit(stage.examples.make("holder", "exec sleep 600", nodes=4, interrupt={"mode": "signal"}),
                         user="kim")
    cluster.wait_state(holder, "running", 30)
    waits, = plan(glim, stage.examples.make("waits", "true", nodes=1, priority="low"))
    assert not waits["starts_now"] and waits["blockers"]
    urgent = stage.examples.make("urgent", "true", nodes=4, priority="extreme_high")
    planned, = plan(glim, urgent, user="lee")
    victim, = planned["start"]["victims"]
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
