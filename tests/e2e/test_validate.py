"""glim-validate finds what is slow and what is not, by hand and as a job that an operator asks for:
docs/operations/validate.md."""

import json
import os
import signal
import subprocess

import pytest

from cluster.processes import wait_until
from conftest import BIN
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


@ROOTS
def test_a_disk_that_is_slower_than_the_fleets_is_named(validate, tmp_path):
    with slow_disk(str(tmp_path)) as (slow, good):
        baseline = merged(validate, validate("--part", "disk", "--folder", good), str(tmp_path / "baseline.json"))
        same = validate("--part", "disk", "--folder", good, "--folder", slow, "--baseline", baseline)
    assert same.code == BAD_NODE, same
    assert {device for _, _, device in same.bad()} == {slow}, same
    assert ("disk", "write", slow) in same.bad(), same


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
    for name, node in glim.nodes().items():
        if node.get("cordon"):
            glim.text("admin", "node", "uncordon", name, "-y")


def validated(operator, node, *words):
    return operator.run("-o", "json", "admin", "node", "validate", node, "--wait", "-y", *words, timeout=300)


def test_an_operator_validates_a_node(cluster, operator):
    node = sorted(operator.nodes())[1]
    for _ in range(TRIES):
        told = validated(operator, node, "--quick")
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


def test_a_node_that_is_bad_is_cordoned_and_the_reason_says_why(cluster, operator, tmp_path):
    node = sorted(operator.nodes())[2]
    # A fleet whose nodes are all a hundred times as fast as this one.
    baseline = {"version": 1, "expected": [{"part": "cpu", "what": "piece", "value": 0.2, "unit": "ms", "nodes": 9}]}
    path = tmp_path / "fleet.json"
    path.write_text(json.dumps(baseline))
    told = validated(operator, node, "--baseline", path)
    answer = json.loads(told.stdout)
    assert told.returncode == 1 and not answer["ok"] and answer["cordoned"], told.stdout + told.stderr
    cordon = operator.nodes()[node]["cordon"]
    assert "glim-validate" in cordon["reason"] and "cpu piece cpu" in cordon["reason"], cordon
    assert "NODE_BAD" in told.stderr
    again = validated(operator, node)
    assert again.returncode != 0 and "NODE_OUT" in again.stderr, "it takes no job now"


def test_nothing_is_done_for_a_node_that_is_not_there_nor_by_a_dry_run(cluster, operator):
    assert "NO_SUCH_NODE" in validated(operator, "n99").stderr
    node = sorted(operator.nodes())[0]
    before = len(operator.json("queue")["jobs"])
    told = operator.text("admin", "node", "validate", node, "--wait", "--dry-run")
    assert "class low" in told and "cordoned" in told
    assert len(operator.json("queue")["jobs"]) == before
