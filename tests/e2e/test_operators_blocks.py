"""What pages for operators have typed that would be in the way of other pages on one cluster: quotas, links, labels and
a policy file. Each page is typed on a small cluster of its own, by its operator, who says yes to every question."""

import json
import os
import subprocess

import pytest

from cluster import pages
from cluster.processes import SLOWER
from conftest import BIN, own_stage

THIS = "tests/e2e/test_operators_blocks.py"
NODES = {"n1": ("A", "a1"), "n2": ("B", "b1", "a100"), "n3": ("B", "b1", "h100")}
ROWS = ("quota", "user", "team")


class Desk:
    """Where an operator types."""

    def __init__(self, stage):
        self.stage, self.glim = stage, stage.glim

    def type_in(self, *texts, **variables):
        done = pages.type_in(texts, self.glim, self.stage.folder, **variables)
        assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def rows(self):
        return {kind: self.glim.text("admin", kind, "get") for kind in ROWS}

    def take_back(self, rows):
        for kind in ROWS:
            self.glim.text("admin", kind, "set", "--file", "-", "--prune", "-y", stdin=rows[kind])

    def refusal(self, user, **keys):
        """Why such a job of the user's would be refused; "" if it would not be."""
        spec = self.stage.examples.make("tried", "true", nodes=1, **keys)
        told = self.glim.run("submit", spec, "--dry-run", user=user)
        return told.stderr if told.returncode else ""


@pytest.fixture
def desk(fresh_folder):
    policy = os.path.join(fresh_folder, "policy.yaml")
    with open(policy, "w") as file:
        file.write("quantum_min: 15m\n")
    with own_stage(fresh_folder, nodes=NODES, config="metrics: none\npolicy_file: policy.yaml\n") as stage:
        yield Desk(stage)


def test_policy(desk):
    reload, team_in_all, rows, away, layout = pages.blocks("policy.md")

    with open(os.path.join(desk.stage.cluster.folder, "policy.yaml"), "w") as file:
        file.write("quantum_min: 20m\n")
    told = desk.type_in(reload)
    assert told.startswith("# ") and "quantum_min: 15m\n" in told, told
    assert told.count("quantum_min     15m    20m\n") == 2, f"once what would change, once what has: {told}"
    assert "quantum_min: 20m" in desk.glim.text("admin", "config", "show")

    fresh = desk.rows()
    desk.glim.text("admin", "team", "add", "vision")
    told = desk.type_in(team_in_all)
    assert "at most 16 nodes at low and above" in told, told
    desk.take_back(fresh)

    told = desk.type_in(rows)
    assert len(desk.glim.json("admin", "quota", "list")["quotas"]) == 6, told
    refused = desk.refusal("kim", priority="very_high")
    assert "team vision" in refused, f"kim's first team has no job above high: {refused}"
    assert desk.refusal("kim", priority="very_high", team="speech") == ""
    assert "quota of kim" in desk.refusal("kim", priority="extreme_high", team="speech")
    assert desk.refusal("lee", priority="extreme_high") == ""

    desk.type_in(away)
    assert "USER_DISABLED" in desk.refusal("kim")
    desk.glim.text("admin", "user", "set", "lee", "--team", "vision", "-y")
    assert "POOL_NOT_ALLOWED" in desk.refusal("lee", pool="default")
    desk.take_back(fresh)

    told = desk.type_in(layout)
    links = desk.glim.json("admin", "link", "ls")["links"]
    assert [(one["zone_a"], one["zone_b"], one["jobs_max"], one["pairs_max"]) for one in links] == [("A", "B", 2, 2)]
    assert {one["name"] for one in desk.glim.json("admin", "zone", "ls")["zones"]} == {"A", "B", "C"}


def test_two_zones_step_by_step(fresh_folder):
    with own_stage(fresh_folder, nodes={"n1": ("X", "x1"), "n9": ("X", "x1")}, config="metrics: none\n") as stage:
        label, link = pages.blocks("docs/operations/layout.md", THIS)
        desk = Desk(stage)
        desk.type_in(label, link)
        labels = {name: row["labels"] for name, row in stage.glim.nodes().items()}
        assert {name: (one["zone"], one["leaf"]) for name, one in labels.items()} == {
            "n1": ("A", "a1"),
            "n9": ("B", "b1"),
        }
        (row,) = stage.glim.json("admin", "link", "ls")["links"]
        assert (row["jobs_max"], row["pairs_max"]) == (1, 1)


# What a synopsis stands for. The files of --policy and --faults have the options' names.
STANDS_FOR = {"N": "4", "Z": "2", "S": "1", "D": "1"}
TRACE = """\
job_id,submit_s,duration_s,nodes,user,team,pool,class,gpus_per_node,counted
1,0,3600,2,kim,vision,default,normal,8,1
2,60,1800,4,lee,vision,default,high,8,1
"""
FILES = {
    "jobs.csv": TRACE,
    "FILE.csv": TRACE,
    "JOBS.csv": TRACE,
    "NODES.csv": "name,pool,zone,leaf,gpus\n" + "".join(f"n{number},default,A,a1,8\n" for number in range(4)),
    "QUOTAS.csv": "of,subject,pool,class,nodes\nteam_weight,vision,,,200\n",
    "policy.yaml": "quantum_min: 10m\n",
    "faults.yaml": "node_mtbf_days: 1000\n",
    "present.yaml": "quantum_min: 15m\n",
    "new.yaml": "preempt_gain: 1000\nquantum_min: 2h\n",
}


def commands(synopsis):
    """With all options, once for each choice of --policy."""
    words = synopsis.replace("[", "").replace("]", "").split()
    for choice in words[words.index("--policy") + 1].split("|"):
        said = []
        for word in words:
            last = said[-1] if said else ""
            word = choice if last == "--policy" else STANDS_FOR.get(word, word)
            said.append(f"{last.strip('-')}.yaml" if word == "FILE" else word)
        yield said


@pytest.fixture
def simulate(tmp_path):
    """Types lines where the files are; returns what is said, a JSON document a line."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    def run(lines):
        env = {**os.environ, "PATH": BIN + os.pathsep + os.environ["PATH"]}
        argv = ["bash", "-euo", "pipefail", "-c", lines]
        done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120 * SLOWER)
        assert done.returncode == 0, f"{lines}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run


def test_the_simulators_synopses(simulate):
    first, second = [block.text for block in pages.find_page("simulator.md").blocks if block.mark == ("run by", THIS)]
    for command in commands(first):
        (said,) = simulate(" ".join(command))
        assert (said["jobs"], said["refused"], "estimates_asked" in said, "wall_s" in said) == (2, 0, True, False), said
    (command,) = commands(second)
    (said,) = simulate(" ".join(command))
    assert said["history"]["classes"]["high"]["jobs"] == 1 and len(said["resampled"]) == 4, said


def test_another_clusters_history(simulate):
    (compare,) = pages.blocks("docs/howto/tune-the-policy.md", THIS)
    present, new = simulate(compare)
    assert present["jobs"] == new["jobs"] == 2, (present, new)
