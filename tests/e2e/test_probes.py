"""A machine that other nodes cannot reach is lost long before its silence is long enough; one whose agent is gone, and
whose kernel answers, is not. Needs a network for each node."""

from cluster.local_cluster import CONFIG
from cluster.processes import SLOWER, processes_of, wait_until
from conftest import lasting, own_stage

LOST_AFTER_S = 24
UNREACHABLE_AFTER_S = LOST_AFTER_S / 10 + LOST_AFTER_S / 6
NODES = {"n1": ("A", "a1"), "n2": ("A", "a1"), "n3": ("A", "a2"), "n4": ("A", "a2"), "n5": ("B", "b1")}


def submit(stage, name, nodes):
    spec = stage.examples.make(name, "exec sleep 600", nodes=nodes)
    with open(spec, "a") as file:
        file.write("restart: {on: [node_failure], max: 20, backoff: 0s}\n")
    job_id = stage.glim.submit(spec)
    job = stage.cluster.wait_state(job_id, "running", 60)
    return job_id, [task["node"] for task in job["attempts"][0]["tasks"]]


def silence_s(stage, node):
    heard = {name: one["last_heard_ms"] / 1000 for name, one in stage.glim.nodes().items()}
    return max(heard.values()) - heard[node]


def test_a_machine_that_nobody_reaches_is_lost_soon_and_one_that_answers_is_waited_for(fresh_folder):
    config = CONFIG + f"  node_lost_after: {lasting(LOST_AFTER_S)}\n"
    with own_stage(fresh_folder, nodes=NODES, config=config) as stage:
        cluster = stage.cluster
        assert cluster.network, "only root can pull a cable"
        pair, (_, cut) = submit(stage, "pair", 2)
        one, (node,) = submit(stage, "one", 1)

        cluster.kill(node)
        long = 1.8 * UNREACHABLE_AFTER_S * SLOWER
        wait_until(lambda: silence_s(stage, node) > long, 2 * LOST_AFTER_S, "the silence lasts")
        assert stage.glim.nodes()[node]["state"] == "silent", "its kernel answers: its tasks may run"
        cluster.start_again(node)
        cluster.wait_ready()
        assert stage.glim.job(one)["attempt_count"] == 1

        cluster.network.cut(cut)
        wait_until(lambda: stage.glim.nodes()[cut]["state"] == "lost", 2 * LOST_AFTER_S, "it is lost")
        assert "and its machine answers none of n" in stage.glim.nodes()[cut]["message"]
        runs_again = lambda j: j["attempt_count"] == 2 and j["attempts"][1]["state"] == "running"  # noqa: E731
        ended = cluster.wait_job(pair, runs_again, 60, "it goes on elsewhere")["attempts"][0]
        assert ended["outcome"] == "node_failure" and cut in ended["message"], ended
        cluster.network.mend(cut)
        wait_until(lambda: not processes_of(cluster.folder, pair, 1), 60, "what ran behind the cut is stopped")
        cluster.wait_ready()
        for job_id in (pair, one):
            stage.glim.text("cancel", job_id)
