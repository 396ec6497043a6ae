"""glim-validate finds what is slow and what is not, by hand and as a job that an operator asks for:
docs/operations/validate.md."""

import contextlib
import json
import os
import shutil
import signal
import subprocess

import pytest

from cluster.local_cluster import CONFIG
from cluster.processes import SLOWER, wait_until
from cluster.spec import sdk_folder
from conftest import BIN, ROOT, own_stage
from slowed import BAD_NODE, Validate, cpus, on_all, slow_disk, slow_link

TRIES = 5  # other tests run on this machine, too, and may keep one core busy for that long
ROOTS = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces of networks and file systems are root's to make")


@pytest.fixture
def validate():
    return Validate(os.path.join(BIN, "glim-validate"))


def merged(validate, ended, path):
    """A baseline of one good node."""
    with open(path + ".lines", "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in ended.lines)
    made = subprocess.run([validate.program, "--merge", path + ".lines"], capture_output=True, text=True, check=True)
    with open(path, "w") as file:
        file.write(made.stdout)
    return path


def test_each_part_measures_something_and_all_of_it_is_right(validate, tmp_path):
    ended = validate("--folder", tmp_path)
    assert ended.code in (0, BAD_NODE), ended  # something else may be busy here, and then a core is slow
    kinds = {(line["part"], line["what"]) for line in ended.lines}
    assert kinds >= {
        ("cpu", "piece"),
        ("memory", "copy"),
        ("memory", "patterns"),
        ("numa", "local"),
        ("disk", "write"),
        ("disk", "read"),
        ("disk", "fsync"),
        ("allreduce", "sum"),
        ("network", "loopback"),
    }
    assert {line["device"] for line in ended.lines if line["part"] == "cpu"} == {f"cpu{cpu}" for cpu in cpus()}
    for line in ended.lines:
        assert line["value"] > 0 and line["unit"] and line["text"], line
        assert line["ok"] or line["ratio"] is not None, f"slow at most, and not wrong: {line}"
    assert (ended.code == BAD_NODE) == bool(ended.bad())
    assert os.listdir(tmp_path) == []


def slow_down(path):
    """A fleet whose disks are a fifth as fast. One disk of a virtual machine is not as fast twice: what is slow here is
    fifty times as slow."""
    with open(path) as file:
        baseline = json.load(file)
    for row in baseline["expected"]:
        row["value"] *= 0.2 if row["unit"] == "MB/s" else 5
    with open(path, "w") as file:
        json.dump(baseline, file)


@ROOTS
def test_a_disk_that_is_slower_than_the_fleets_is_named(validate, tmp_path):
    with slow_disk(str(tmp_path)) as (slow, good):
        baseline = merged(validate, validate("--part", "disk", "--folder", good), str(tmp_path / "baseline.json"))
        slow_down(baseline)
        for _ in range(TRIES):
            same = validate("--part", "disk", "--folder", good, "--folder", slow, "--baseline", baseline)
            assert same.code == BAD_NODE, same
            assert ("disk", "write", slow) in same.bad(), same
            if all(device == slow for _, _, device in same.bad()):
                break
    assert {device for _, _, device in same.bad()} == {slow}, same


@ROOTS
def test_a_link_that_is_slow_in_one_direction_is_named_by_its_ends(validate):
    with slow_link("glim-validate", ["a", "b", "c"], slow="b") as network:
        ranks = on_all(validate, network)
        a, b, c = map(network.address, network.nodes)
    assert [rank.code for rank in ranks] == [BAD_NODE, 0, 0], ranks
    slow = {device for _, what, device in ranks[0].bad() if what == "stream"}
    assert slow == {f"{b} -> {a}", f"{b} -> {c}"}, ranks[0]
    assert len(ranks[0].lines) == 9, "three pairs: two directions and a latency each"
    noted = [text for text in (line["text"] for line in ranks[0].lines) if f"of {c}" in text.partition("; ")[2]]
    assert len(noted) == 1 and f"{b} -> {c}" in noted[0]


def test_what_is_killed_in_the_middle_leaves_no_file(validate, tmp_path):
    process = validate.start("--full", "--part", "disk", "--folder", tmp_path)
    try:
        open_files = f"/proc/{process.pid}/fd"

        def writes():
            links = [os.readlink(os.path.join(open_files, name)) for name in os.listdir(open_files)]
            return any(link.startswith(str(tmp_path)) for link in links)

        wait_until(lambda: process.poll() is not None or writes(), 30, "it writes into the folder")
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "words, told",
    [
        (["--part", "gears"], "gears"),
        (["--quick", "--full"], "--full"),
        (["--baseline", "/no/such/file"], "/no/such/file"),
        (["--rank", "3"], "--ranks"),
    ],
)
def test_a_wrong_command_line_is_no_bad_node(validate, words, told):
    ended = validate(*words)
    assert ended.code == 2 and told in ended.errors, ended


def test_a_folder_that_is_not_there_is_no_bad_node(validate):
    ended = validate("--part", "disk", "--folder", "/no/such/folder")
    assert ended.code == 1 and "/no/such/folder" in ended.errors, ended


# --- as a job


@pytest.fixture
def operator(glim):
    yield glim
    for out in ("cordon", "validation"):  # who is bad is measured again when it is back, unless it is taken as it is
        for name, node in glim.nodes().items():
            if node.get("cordon") if out == "cordon" else (node.get("validation") or {}).get("need"):
                glim.text("admin", "node", "uncordon", name, "-y")


def validated(operator, node, *words):
    return operator.run("-o", "json", "admin", "node", "validate", node, "--wait", "-y", *words, timeout=300 * SLOWER)


def test_an_operator_validates_a_node(cluster, operator):
    node = sorted(operator.nodes())[1]
    for _ in range(TRIES):
        told = validated(operator, node)
        answer = json.loads(told.stdout)
        if answer["ok"]:
            break
        assert answer["cordoned"], told.stderr  # another test kept a core busy
        operator.text("admin", "node", "uncordon", node, "-y")
    assert told.returncode == 0 and answer["ok"] and not answer["cordoned"], told.stdout + told.stderr
    job = operator.job(answer["job_id"])
    assert job["attempts"][-1]["tasks"][0]["node"] == node
    assert (job["state"], job["spec"]["placement"]["node"]) == ("succeeded", node)
    assert job["priority"] == "low"
    lines = [json.loads(line) for line in operator.text("logs", answer["job_id"]).splitlines()]
    assert {line["part"] for line in lines} == {"cpu", "memory", "numa", "disk", "allreduce", "network"}


def test_nothing_is_done_for_a_node_that_is_not_there_nor_by_a_dry_run(cluster, operator):
    assert "NO_SUCH_NODE" in validated(operator, "n99").stderr
    node = sorted(operator.nodes())[0]
    before = len(operator.json("queue")["jobs"])
    told = operator.text("admin", "node", "validate", node, "--wait", "--dry-run")
    assert "measured before its next job" in told and "cordoned" in told
    assert len(operator.json("queue")["jobs"]) == before


# --- by itself

MEASURES = CONFIG.replace("after_repair: false, suspects: false", "on_join: true")
ALONE = {"n1": ("A", "a1")}
# In place of glim-validate in the tasks' SDK. Of this machine, where other tests run, memory is measured alone; where
# the fleet is a hundred times as fast, a core.
MEASURING = """#!/bin/sh
here=$(dirname "$0")
while [ -e "$here/hold" ]; do sleep 0.05; done
if [ -e "$here/fleet.json" ]; then exec "$here/glim-validate.real" "$@" --part cpu --baseline "$here/fleet.json"; fi
exec "$here/glim-validate.real" "$@" --part memory
"""


class Machine:
    """What glim-validate finds on the nodes of a cluster whose agents give their tasks this SDK."""

    def __init__(self, folder, program=MEASURING):
        self.sdk = os.path.join(folder, "sdk")
        shutil.copytree(sdk_folder(ROOT), self.sdk)
        path = self._path("glim-validate")
        os.rename(path, path + ".real")
        with open(path, "w") as file:
            file.write(program)
        os.chmod(path, 0o755)
        for path in (folder, self.sdk):
            os.chmod(path, 0o755)

    def _path(self, name):
        return os.path.join(self.sdk, "bin", name)

    def hold(self, held):
        self._flag("hold", held)

    def make_bad(self, bad):
        expected = {"part": "cpu", "what": "piece", "value": 0.2, "unit": "ms", "nodes": 9}
        self._flag("fleet.json", bad, json.dumps({"version": 1, "expected": [expected]}))

    def _flag(self, name, there, text=""):
        if not there:
            os.unlink(self._path(name))
            return
        with open(self._path(name), "w") as file:
            file.write(text)


@contextlib.contextmanager
def joining(folder, hold=False, bad=False):
    """One node, which joins a cluster that measures nodes first."""
    machine = Machine(folder)
    if hold:
        machine.hold(True)
    if bad:
        machine.make_bad(True)
    with own_stage(folder, nodes=ALONE, config=MEASURES, agent_options=("--sdk", machine.sdk)) as stage:
        yield stage, machine


def validation(stage):
    return stage.glim.nodes()["n1"].get("validation") or {}


def short_job(stage):
    return stage.glim.submit(stage.examples.derive("deaf", "short", run="true", nodes=1))


def is_good(stage):
    return int(validation(stage).get("good_at_ms", 0)) > 0


def test_a_node_that_joins_takes_no_job_before_it_was_found_good(fresh_folder):
    with joining(fresh_folder, hold=True) as (stage, machine):
        cluster, glim = stage.cluster, stage.glim
        measuring = wait_until(lambda: int(validation(stage).get("job_id", 0)), 60, "it is measured")
        cluster.wait_state(measuring, "running", 60)
        job = short_job(stage)
        blockers = wait_until(lambda: glim.job(job)["blockers"], 30, "it is said why the job waits")
        assert blockers[0]["kind"] == "nodes_out" and f"job {measuring} measures it" in blockers[0]["message"], blockers
        table = glim.text("nodes")
        assert "unmeasured" in table and f"joins: waits to be measured, by job {measuring}" in table, table
        machine.hold(False)
        cluster.wait_state(job, "succeeded", 120)
        told = glim.job(measuring)
        assert (told["state"], told["user"], told["validates"], told["priority"]) == ("succeeded", "glim", "n1", "low")
        assert told["ended_at_ms"] <= glim.job(job)["attempts"][0]["started_at_ms"]
        assert is_good(stage)
        assert "good" in glim.text("nodes", "n1")


def test_a_node_that_joins_and_is_bad_is_taken_out_and_measured_again_when_it_comes_back(fresh_folder):
    with joining(fresh_folder, bad=True) as (stage, machine):
        cluster, glim = stage.cluster, stage.glim
        cordon = wait_until(lambda: glim.nodes()["n1"].get("cordon"), 180, "it is taken out")
        assert cordon["by"] == "health" and "cpu piece cpu" in cordon["reason"], cordon
        assert "glim admin node uncordon n1" in cordon["reason"]
        assert "cpu piece cpu" in validation(stage)["bad"]
        job = short_job(stage)
        machine.make_bad(False)
        machine.hold(True)
        glim.text("admin", "node", "uncordon", "n1", "-y")
        wait_until(lambda: int(validation(stage).get("job_id", 0)), 60, "it is measured again")
        assert glim.job(job)["state"] == "queued"
        machine.hold(False)
        cluster.wait_state(job, "succeeded", 120)
        assert is_good(stage) and not validation(stage).get("bad")


# --- when an operator asks for it, of a node that somebody has

FAST_FLEET = "suspects: false, baselines: [{expected: {cpu.piece: 0.2}}]"  # a hundred times as fast as any core
A_CORE = """#!/bin/sh
exec "$(dirname "$0")/glim-validate.real" "$@" --part cpu
"""


def test_a_bad_node_is_cordoned_also_where_nobody_waits_for_the_answer(fresh_folder):
    machine = Machine(fresh_folder, A_CORE)
    config = CONFIG.replace("suspects: false", FAST_FLEET)
    with own_stage(fresh_folder, nodes=ALONE, config=config, agent_options=("--sdk", machine.sdk)) as stage:
        cluster, glim = stage.cluster, stage.glim
        runs = glim.submit(stage.examples.make("runs", "exec sleep 600", nodes=1))
        cluster.wait_state(runs, "running", 60)
        asked = glim.text("admin", "node", "validate", "n1", "-y")
        assert f"job {runs} (" in asked and "is not disturbed" in asked, asked
        waits = short_job(stage)
        blockers = wait_until(lambda: glim.job(waits)["blockers"], 30, "it is said why the job waits")
        assert "waits to be measured: an operator asked for it" in blockers[0]["message"], blockers
        assert glim.job(runs)["state"] == "running"
        glim.text("cancel", runs)
        cordon = wait_until(lambda: glim.nodes()["n1"].get("cordon"), 120, "it is taken out")
        assert cordon["by"] == "health" and "cpu piece cpu" in cordon["reason"], cordon
        assert glim.job(waits)["state"] == "queued"
        told = glim.run("admin", "node", "validate", "n1", "--wait", "-y")
        assert told.returncode != 0 and "NODE_OUT" in told.stderr, told.stderr


# --- where a job stood still

SUSPECTS = CONFIG.replace("after_repair: false, suspects: false", "after_repair: false")
THREE = {"n1": ("A", "a1"), "n2": ("A", "a1"), "n3": ("A", "a1")}  # one of them goes on with the job


def test_a_node_where_a_job_stood_still_is_measured_with_the_free_one_beside_it(fresh_folder):
    machine = Machine(fresh_folder)
    options = {"nodes": THREE, "config": SUSPECTS, "agent_options": ("--sdk", machine.sdk)}
    with own_stage(fresh_folder, **options) as stage:
        glim = stage.glim
        restart = {"on": ["hang"], "max": 1, "backoff": "0s"}
        run = 'if [ "$GLIM_ATTEMPT" = 1 ]; then exec sleep 600; fi'
        job = glim.submit(stage.examples.make("still", run, nodes=1, watchdog={"no_progress": "5s"}, restart=restart))
        ended = stage.cluster.wait_state(job, "succeeded", 90)
        assert ended["attempts"][0]["outcome"] == "hang", ended["attempts"][0]
        suspect = ended["attempts"][0]["tasks"][0]["node"]
        good = wait_until(
            lambda: int((glim.nodes()[suspect].get("validation") or {}).get("good_at_ms", 0)), 120, "it was found good"
        )
        assert good > 0
        measured = next(one for one in glim.json("history")["jobs"] if one["name"] == f"validate-{suspect}")
        tasks = glim.job(measured["id"])["attempts"][0]["tasks"]
        assert len(tasks) == 2 and tasks[0]["node"] == suspect, tasks
        lines = [json.loads(line) for line in glim.text("logs", measured["id"]).splitlines() if line.startswith("{")]
        between = {line["what"] for line in lines if line["part"] == "network"}
        assert between == {"stream", "latency"}, "of the two, and not of one alone"
        assert "memory" in {line["part"] for line in lines}, "and the suspect itself"
