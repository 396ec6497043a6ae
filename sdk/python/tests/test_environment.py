"""What the SDK reads of a task's environment, against the table that the scheduler and the agents are tested with, and
that table against docs/job-spec.md."""

import os
import re
from typing import Dict, List, NamedTuple, Set

import pytest

from glim.environment import Environment

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
HOME = os.path.join(ROOT, "sdk", "task_environment")
SET = {
    "Scheduler": "scheduler",
    "Agent": "agent",
    "Either": "scheduler or agent",
    "Shim": "shim",
    "Default": "agent, unless the job does",
}
WHEN = {"Always": "always", "PerGpu": "`launcher: per-gpu`", "PerNode": "`launcher: node`", "Sometimes": "sometimes"}
FORM = {
    "Text": "text",
    "Count": "number",
    "Step": "number",
    "Flag": "0 or 1",
    "Path": "path",
    "Port": "port",
    "Host": "host",
    "Address": "host:port",
    "Texts": "list",
    "Counts": "list of numbers",
    "Hosts": "list of hosts",
    "Peer": "key@host:port",
    "Peers": "list of key@host:port",
}
KEY = "a" * 64  # of a replica service
# torchrun's own, by which its workers are known.
NOT_OURS = {"TORCHELASTIC_RUN_ID"}


class Variable(NamedTuple):
    name: str
    set_by: str
    when: str
    form: str
    read_by: List[str]
    meaning: str

    def row(self) -> str:
        """Its line in docs/job-spec.md."""
        return f"| `{self.name}` | {self.meaning} | {FORM[self.form]} | {WHEN[self.when]} | {SET[self.set_by]} |"


def read(*path: str) -> str:
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def variables() -> List[Variable]:
    row = re.compile(r'^GLIM_TASK_VARIABLE\(k\w+, "(\w+)", (\w+), (\w+), (\w+), "([^"]*)",\s*((?:"[^"]*"\s*)+)\)', re.M)
    text = read(HOME, "variables-inl.h")
    found = [
        Variable(name, set_by, when, form, readers.split(), "".join(re.findall(r'"([^"]*)"', meaning)))
        for name, set_by, when, form, readers, meaning in row.findall(text)
    ]
    assert len(found) == len(re.findall(r"^GLIM_TASK_VARIABLE", text, re.M)), "a row has another shape"
    return found


def sample(name: str) -> Dict[str, str]:
    lines = read(HOME, "testing", name).splitlines()
    return dict(line.split("=", 1) for line in lines)


class Noting(dict):
    """Notes which variables are asked for."""

    def __init__(self, values: Dict[str, str]) -> None:
        super().__init__(values)
        self.asked: Set[str] = set()

    def get(self, name, default=None):
        self.asked.add(name)
        return super().get(name, default)

    def __contains__(self, name):
        self.asked.add(name)
        return super().__contains__(name)


def test_the_platforms_variables_are_read_as_they_are_meant():
    assert Environment.read(sample("per_gpu.env")) == Environment(
        socket_path="/srv/node/tasks/12.3.1/run/socket",
        rank=3,
        declared_rank=3,
        world_size=6,
        job_id="12",
        attempt=3,
        checkpoint_dir="/srv/node/checkpoints/12",
        resume_path="/srv/node/checkpoints/12/attempt-2/step-500",
        resume_step=500,
        checkpoint_local=True,
        checkpoint_every_ms=300_000,
        checkpoint_keep=2,
        local_rank=1,
        host_list="10.0.0.1,10.0.0.2,10.1.0.1",
        hosts_file="/srv/node/tasks/12.3.1/run/hosts",
        replica_peer=f"{KEY}@10.0.0.9:7010",
        replica_sources=(f"{KEY}@10.0.0.7:7010", f"{KEY}@10.0.0.8:7010"),
        replica_token_file="/run/glim/private/replica-token",
        replica_tls="rc,self",
        replica_device="mlx5_1:1",
        replica_service_level=5,
    )
    assert Environment.read(sample("per_node.env")) == Environment(
        socket_path="/srv/node/tasks/7.1.0/run/socket",
        job_id="7",
        attempt=1,
        checkpoint_dir="/srv/shared/jobs/7",
        checkpoint_keep=3,
        host_list="10.0.0.5",
        hosts_file="/srv/node/tasks/7.1.0/run/hosts",
    )


def test_the_hosts_of_a_large_gang_are_in_a_file(tmp_path):
    lines = tmp_path / "hosts"
    lines.write_text("10.0.0.1\n10.0.0.2\n")
    assert Environment.read({"GLIM_HOSTS_FILE": str(lines)}).hosts() == ("10.0.0.1", "10.0.0.2")
    assert Environment.read({"GLIM_HOSTS": "a,b", "GLIM_HOSTS_FILE": str(lines)}).hosts() == ("a", "b")
    assert Environment.read({}).hosts() == ()


def test_the_sdk_reads_what_the_table_says():
    env = Noting(sample("per_gpu.env"))
    Environment.read(env)
    asked = set(env.asked)
    package = os.path.join(ROOT, "sdk", "python", "glim")
    for name in sorted(os.listdir(package)):
        if name.endswith(".py"):
            asked.update(re.findall(r'os\.environ(?:\.get\(|\[)"(\w+)"', read(package, name)))
    assert asked - NOT_OURS == {variable.name for variable in variables() if "python" in variable.read_by}


@pytest.mark.parametrize("name", ["per_gpu.env", "per_node.env"])
def test_a_sample_holds_variables_of_the_table_alone(name):
    assert set(sample(name)) <= {variable.name for variable in variables()}


def test_the_document_has_the_table():
    text = read(ROOT, "docs", "job-spec.md")
    rows = re.findall(r"^\| `[A-Z_]+` \|.*$", text, re.M)
    assert rows == [variable.row() for variable in variables()]
