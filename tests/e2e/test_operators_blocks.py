"""What pages for operators have typed that would be in the way of other pages on one cluster: quotas, links, labels and
a policy file. Each page is typed on a small cluster of its own, by its operator, who says yes to every question."""

import os

import pytest

from cluster import pages
from conftest import own_stage

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
