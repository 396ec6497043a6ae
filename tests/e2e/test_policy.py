"""The policy is read again while jobs run: what it allows starts, what is wrong in it changes nothing, and the next
scheduler begins with it. And the ledger sums, whatever happened."""

import json
import os

import pytest

from conftest import own_stage

SIGNAL = {"mode": "signal", "grace": "5s"}
CONFIG = "metrics: none\npolicy_file: policy.yaml\n"
POLICY = """\
min_run_factor: 1
default_save_cost: 50ms
default_restore_cost: 50ms
kill_after_term: 1s
start_backoff: 200ms
quotas:
  default_user: {normal: 1}
"""


@pytest.fixture
def own(fresh_folder):
    with open(os.path.join(fresh_folder, "policy.yaml"), "w") as file:
        file.write(POLICY)
    with own_stage(fresh_folder, config=CONFIG) as stage:
        yield stage


def write_policy(stage, text):
    with open(os.path.join(stage.cluster.folder, "policy.yaml"), "w") as file:
        file.write(text)


def reports(stage):
    return [stage.glim.json("admin", "report", "--by", by)["report"] for by in ("pool", "team", "user", "job")]


def test_a_quota_that_is_raised_lets_a_waiting_job_start(own):
    """Everybody runs on borrowed nodes; whoever gets a quota may have them back."""
    glim, cluster = own.glim, own.cluster
    borrows = glim.submit(own.examples.make("borrows", "exec sleep 600", nodes=4, interrupt=SIGNAL), user="kim")
    cluster.wait_state(borrows, "running", 30)
    waits = glim.submit(own.examples.make("waits", "exec sleep 600", nodes=4), user="lee")
    cluster.wait_state(waits, "queued", 10)
    assert glim.job(borrows)["state"] == "running"

    assert glim.job(borrows)["priority"] == "low" and "borrowed" in glim.text("status", borrows)

    # The file's quotas became rows: a changed text is refused, with the command that makes the change.
    write_policy(own, POLICY + "  users: {lee: {normal: 4}}\n")
    told = glim.run("admin", "config", "reload")
    assert told.returncode != 0 and "glim admin quota set user:lee normal 4" in told.stderr, told.stderr
    quotas = glim.text("admin", "quota", "get")
    tried = glim.text("admin", "quota", "set", "user:lee", "10", "4", "--dry-run")
    assert "quota user:lee normal: nodes" in tried, tried
    assert glim.text("admin", "quota", "get") == quotas, "a dry run changes nothing"
    glim.run("admin", "quota", "set", "user:lee", "normal", "4", "-y")
    cluster.wait_state(waits, "running", 30)
    assert glim.job(borrows)["interrupts"] == 1
    assert "quota of user lee at normal: 4" in glim.text("events")
    assert glim.json("admin", "quota", "list")["quotas"][0]["nodes"] == 4
    refused = glim.run("submit", own.examples.make("above", "true", nodes=1, priority="high"))
    assert refused.returncode != 0 and "not allowed" in refused.stderr, refused.stderr


def test_a_bad_file_is_refused_and_the_old_policy_stays(own):
    glim = own.glim
    before = glim.text("admin", "config", "show")
    for text, place, field, fix in (
        ("quotas:\n  default_user: {normal: many}\n", ":2:26: ", "quotas.default_user.normal", "use 0 to"),
        ("quantum_mim: 5m\n", ":1:1: ", "quantum_mim", "quantum_min"),
        ("quantum_min: 5h\n", ":1:1: ", "quantum_max", "lower quantum_min"),
        ("quotas: {pools: {a100: {high: 1}}}\n", ":1:18: ", "quotas.pools.a100", "glim admin pool set a100"),
        ("links: [{zone_a: A, zone_b: Z}]\n", ":1:29: ", "links[0].zone_b", "glim admin zone set Z"),
        ("quotas: {teams: {vision: {weight: -1}}}\n", ":1:35: ", "quotas.teams.vision.weight", "use 1 to"),
        ("quotas: [\n", ":", "", ""),
    ):
        write_policy(own, text)
        told = glim.run("admin", "config", "reload")
        assert told.returncode == 2 and told.stdout == "", told.stderr
        assert "policy.yaml" + place in told.stderr and field in told.stderr and fix in told.stderr, told.stderr
        assert json.loads(glim.run("-o", "json", "admin", "config", "reload").stderr)["error"]["field"] == field
        assert glim.text("admin", "config", "show") == before
    assert "policy reloaded" not in glim.text("events")

    # With such a file no scheduler starts, and it says why; with a good one it does.
    assert own.cluster.scheduler.stop()
    with pytest.raises(Exception):
        own.cluster.start_scheduler()
    with open(os.path.join(own.cluster.logs, "scheduler.log"), errors="replace") as file:
        assert "policy.yaml" in file.read().strip().splitlines()[-1]
    write_policy(own, POLICY)
    own.cluster.start_scheduler()
    own.cluster.wait_ready()
    assert glim.text("admin", "config", "show") == before


def test_a_restart_begins_with_the_new_policy_and_what_is_shown_reads_back(own):
    glim, cluster = own.glim, own.cluster
    write_policy(
        own,
        POLICY + "quantum_min: 3m\nzones: [C]\n"
        "links: [{zone_a: A, zone_b: B}, {zone_a: B, zone_b: C, pairs_max: 2}]\n",
    )
    assert glim.json("admin", "config", "reload")["applied"]
    shown = glim.text("admin", "config", "show")
    assert "quantum_min: 3m\n" in shown and "default_user: {normal: 1}" in shown
    # Pools, zones and links became rows, which count from now on; the file may still say the same.
    links = glim.json("admin", "link", "get")["links"]
    assert [(row["zone_a"], row["zone_b"], row["pairs_max"]) for row in links] == [("A", "B", 1), ("B", "C", 2)]
    write_policy(own, POLICY + "quantum_min: 3m\nlinks: [{zone_a: A, zone_b: B, jobs_max: 2}]\n")
    told = glim.run("admin", "config", "reload")
    assert told.returncode != 0 and "glim admin link set A B --jobs-max 2 --pairs-max 1" in told.stderr, told.stderr
    write_policy(own, shown)
    for flags in (["--dry-run"], []):
        answer = glim.json("admin", "config", "reload", *flags)
        assert answer["changes"] == [] and not answer["applied"]
    assert cluster.scheduler.stop()
    cluster.start_scheduler()
    cluster.wait_ready()
    assert glim.text("admin", "config", "show") == shown


def test_every_gpu_second_is_in_one_class(own):
    glim, cluster = own.glim, own.cluster
    low = glim.submit(own.examples.make("low", "exec sleep 600", nodes=2, priority="low", interrupt=SIGNAL), user="kim")
    cluster.wait_state(low, "running", 30)
    assert glim.run("admin", "quota", "set", "user:lee", "high", "4", "-y").returncode == 0
    high = glim.submit(own.examples.make("high", "sleep 1", nodes=4, priority="high"), user="lee")
    cluster.wait_state(high, "succeeded", 60)
    cluster.wait_state(low, "running", 60)
    for report in reports(own):
        assert report["total_gpu_ms"] == report["registered_gpu_ms"] > 0
        assert sum(row["gpu_ms"] for row in report["rows"]) == report["total_gpu_ms"]
        for use in report["total"]:
            assert sum(row["uses"][use] for row in report["rows"]) == report["total"][use], use
        assert report["total"]["productive_gpu_ms"] > 0 and report["total"]["free_gpu_ms"] > 0
    by_user = {row["name"]: row for row in reports(own)[2]["rows"]}
    assert by_user["kim"]["gpu_ms"] > 0 and by_user["lee"]["gpu_ms"] > 0
    told = glim.run("admin", "report", "--by", "user")
    assert told.returncode == 0 and "PRODUCTIVE" in told.stdout and "kim" in told.stdout
    assert "simulated" in told.stdout and "GPU-ms registered" in told.stderr
    assert "gpu time" in glim.text("admin", "status")
    uses = glim.job(high)["uses"]
    assert uses["productive_gpu_ms"] > 0 and uses["free_gpu_ms"] == 0
    assert "productive" in next(line for line in glim.text("status", high).splitlines() if line.startswith("gpu time"))
    assert glim.run("admin", "report", "--by", "planet").returncode == 2
