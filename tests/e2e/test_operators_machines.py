"""docs/operations/install.md, users.md and back-up-and-restore.md: their blocks, typed on machines that are network
namespaces (machines.py), with the addresses that the pages name. Packages and the build are there already. For root."""

import json
import os
import re
import shutil

import pytest

from cluster import pages
from cluster.processes import wait_until
from machines import machines

INSTALL, USERS, BACK_UP = (f"docs/operations/{name}.md" for name in ("install", "users", "back-up-and-restore"))
MACHINES = {"head": "10.0.0.1", "n1": "10.0.0.7", "other": "10.0.0.2"}
NAMES = "10.0.0.7 n1\n10.0.0.1 head head.example.org\n10.0.0.2 other\n"
CONFIG = "/etc/glim/scheduler.yaml"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces are root's to make")


def yamls(page):
    return [text for language, text in pages.fences(page) if language == "yaml"]


def as_printed(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    assert found, f"{pattern} is in:\n{text}"
    return found[1]


class Site:
    """The machines, and what an operator does on them. `install` are install.md's blocks, in its order."""

    def __init__(self, up):
        self.up, self.install = up, pages.blocks(INSTALL)
        assert len(self.install) == 12, "whoever adds a block to install.md has it typed here"
        for machine in up.values():
            machine.write("/etc/hosts", f"127.0.0.1 localhost\n{NAMES}")
        self.head, self.node, self.other = up["head"], up["n1"], up["other"]

    def programs(self, machine):
        if not os.path.exists(machine.path("/usr/local/bin/glim")):
            machine.type_in("root", "cd /srv/src/glim\n" + self.install[0])

    def type_in(self, machine, lines, user="root"):
        """By somebody who says yes to every question."""
        with pages.keyboard() as keys:
            return machine.type_in(user, lines, keys)

    def glim(self, words, machine=None):
        return json.loads((machine or self.head).type_in("root", f"glim -o json {words}"))

    def start_scheduler(self, text):
        self.programs(self.head)
        self.head.write(CONFIG, text)
        self.head.write("/etc/glim/policy.yaml", "")
        return self.type_in(self.head, self.install[1])

    def enrol_node(self, pin):
        _, _, _, _, invite, enrol, *_ = self.install
        told = self.type_in(self.head, invite)
        line = as_printed(r"^(glim-agent enrol .*)$", told)
        assert line == enrol.replace("HOST", "head.example.org").replace("HEX", pin).strip()
        told = self.node.type_in("root", line, as_printed(r"^(glim_\S+)$", told) + "\n")
        assert "enrolled as node n1" in told

    @staticmethod
    def carry(source, path, target, there, owner=0, mode=0o600):
        """Copies a file from one machine to another."""
        os.makedirs(os.path.dirname(target.path(there)), exist_ok=True)
        shutil.copy(source.path(path), target.path(there))
        os.chown(target.path(there), owner, owner)
        os.chmod(target.path(there), mode)

    def wait_ready(self, machine=None):
        def ready():
            return [node["state"] for node in self.glim("nodes", machine)["nodes"]] == ["ready"]

        wait_until(ready, 60, "n1 is ready")


@pytest.fixture(scope="module")
def site():
    """Installed as the page says, with the node n1."""
    scheduler, _, agent, config, _ = yamls(INSTALL)
    with machines("site", MACHINES) as up:
        site = Site(up)
        told = site.start_scheduler(scheduler)
        assert re.search("^role +admin$", told, re.MULTILINE), told
        site.pin = as_printed(r"^authority +([0-9a-f]{64})$", told)
        site.programs(site.node)
        site.enrol_node(site.pin)
        site.node.write("/etc/glim/agent.yaml", agent)
        site.node.write("/etc/glim/config.yaml", config)
        site.type_in(site.node, site.install[6])
        site.wait_ready()
        yield site


def test_the_agent_is_started_by_hand(site):
    by_hand = site.install[7].replace("HOST", "head.example.org").strip()
    site.type_in(site.node, "systemctl stop glim-agent")
    before = site.glim("nodes")["nodes"][0]["last_heard_ms"]
    line = f"{by_hand} --cgroup-parent /glim-site/n1"
    site.node.type_in("root", f"setsid {line} >/run/by-hand.log 2>&1 </dev/null &\necho $! >/run/by-hand.pid")
    try:
        wait_until(lambda: site.glim("nodes")["nodes"][0]["last_heard_ms"] > before, 60, "n1 is heard")
        site.wait_ready()
    finally:
        print(site.node.read("/run/by-hand.log"))
        site.type_in(site.node, "kill $(</run/by-hand.pid) || true\nsystemctl start glim-agent")
    site.wait_ready()


def test_a_user_runs_a_first_job(site):
    *_, users, login, first_job, _ = site.install
    site.type_in(site.head, users)
    site.node.type_in("root", "useradd -m -u 1001 -U -s /bin/bash kim")
    site.carry(site.head, "/kim.token", site.node, "/home/kim/kim.token", 1001)
    site.node.write("/home/kim/job.yaml", yamls(INSTALL)[-1])
    assert oct(os.stat(site.node.path("/home/kim/kim.token")).st_mode)[-3:] == "600"
    site.type_in(site.node, login.replace("HEX", site.pin), user="kim")
    told = site.type_in(site.node, first_job, user="kim")
    assert "hello from 10.0.0.7" in told, told


def test_the_dashboard_is_served(site):
    before = site.head.read(CONFIG)
    site.head.write("/srv/src/glim/webui/dist/index.html", "<title>of the test</title>")
    site.head.write(CONFIG, before + "web_root: /usr/local/share/glim/web\n")
    site.type_in(site.head, "cd /srv/src/glim/webui\n" + site.install[-1])
    page = "curl -sSk --retry 30 --retry-connrefused --retry-delay 1 https://127.0.0.1:7604/"
    assert "of the test" in site.type_in(site.head, page)
    site.head.write(CONFIG, before)


def test_users(site):
    people, budgets, kept = pages.blocks(USERS)
    site.type_in(site.head, "useradd -u 1001 -U kim\nuseradd -u 1002 -U -G dialout lee")
    for pool in ("a100", "h100"):
        site.type_in(site.head, f"glim admin pool set {pool} -y")
    told = site.type_in(site.head, "rm -f kim.token\n" + people)
    rows = {row["name"]: row for row in site.glim("admin user ls")["users"]}
    assert (rows["kim"]["uid"], rows["lee"]["uid"]) == (1001, 1002), told
    assert (rows["kim"]["teams"], rows["kim"]["admin_of"]) == (["vision"], ["vision"]), rows["kim"]
    assert oct(os.stat(site.head.path("/kim.token")).st_mode)[-3:] == "600"

    told = site.type_in(site.head, budgets)
    assert "20000.0 GPU-hours" in told and site.glim("admin budget ls")["budgets"] == [], told

    last = site.glim("admin audit verify")["last_hash"]
    site.type_in(site.head, "glim admin user set lee --role viewer -y")
    told = site.type_in(site.head, f"KEPT_HASH={last}\n{kept}")
    assert "the chain holds" in told and last in told.splitlines()[-1], told
    with pytest.raises(AssertionError):
        site.type_in(site.head, f"KEPT_HASH={last[::-1]}\n{kept}")


SAFE = "/var/tmp/safe"  # where the copies are
CLOSED = {"listen": "127.0.0.1:7601", "listen_http": "none"}


def with_lines(text, **lines):
    """The configuration with these lines in place of those that are there."""
    kept = [line for line in text.splitlines() if line.split(":")[0] not in lines]
    return "\n".join([*kept, *(f"{key}: {value}" for key, value in lines.items())]) + "\n"


def users_of(site, machine):
    return {row["name"] for row in site.glim("admin user ls", machine)["users"]}


def restore(site, machine, block):
    """The page's steps; nobody is let in before the node is there."""
    open_to_all = machine.read(CONFIG)
    site.type_in(machine, f"systemctl stop glim-scheduler\ncd {SAFE}\n{block}")
    machine.write(CONFIG, with_lines(open_to_all, **CLOSED))
    site.type_in(machine, "systemctl start glim-scheduler\nuntil glim version; do sleep 0.1; done")
    site.wait_ready(machine)
    machine.write(CONFIG, open_to_all)
    site.type_in(machine, "systemctl restart glim-scheduler\nuntil glim version; do sleep 0.1; done")


def test_a_store_of_sqlite_is_restored_and_moves_to_another_host(site):
    back_up, _, key_file, restore_sqlite, _, on_another_host = pages.blocks(BACK_UP)
    head, other = site.head, site.other
    site.type_in(head, "glim admin user add before")
    site.type_in(head, f"mkdir -p /media/safe {SAFE}\n{back_up}{key_file}cp /var/lib/glim/glim.backup {SAFE}")
    assert oct(os.stat(head.path("/var/lib/glim/glim.backup")).st_mode)[-3:] == "600"
    site.type_in(head, "glim admin user add after")
    restore(site, head, restore_sqlite)
    assert {"before", "after"} & users_of(site, head) == {"before"}

    site.programs(other)
    for path in (CONFIG, "/etc/glim/policy.yaml"):
        site.carry(head, path, other, path, mode=0o644)
    site.carry(head, f"{SAFE}/glim.backup", other, f"{SAFE}/glim.backup")
    site.carry(head, "/media/safe/cluster.key", other, f"{SAFE}/cluster.key")
    site.type_in(head, "systemctl disable --now glim-scheduler")
    told = site.type_in(other, f"cd {SAFE}\n{on_another_host}")
    assert re.search("^n1 ", told, re.MULTILINE), told
    site.node.write("/etc/glim/agent.yaml", with_lines(site.node.read("/etc/glim/agent.yaml"), scheduler="other:7603"))
    site.type_in(site.node, "systemctl restart glim-agent")
    site.wait_ready(other)
    assert "before" in users_of(site, other)


def new_database(machine):
    """As the package leaves it on a machine where it was just installed; nothing is waited for on the disk."""
    made = "/etc/ssl/private/ssl-cert-snakeoil.key"
    machine.type_in(
        "root",
        f"[ -e {made} ] || make-ssl-cert generate-default-snakeoil\n"
        "rm -rf /etc/postgresql/15 /var/lib/postgresql/15\n"
        "pg_createcluster 15 main --start -o fsync=off -- --no-sync",
    )


def test_a_store_of_postgresql(site):
    _, _, here, apart, *_ = site.install
    _, back_up, _, _, restore_postgres, _ = pages.blocks(BACK_UP)
    _, store, *_ = yamls(INSTALL)
    scheduler = "\n".join(line for line in yamls(INSTALL)[0].splitlines() if not line.startswith("store:"))
    head, other = site.head, site.other
    for machine in (head, other):
        site.programs(machine)
        site.type_in(machine, "systemctl stop glim-scheduler\nrm -rf /var/lib/glim /var/lib/glim-keys")

    new_database(other)
    site.type_in(other, here)
    other.write(CONFIG, f"{scheduler}\n{store}")
    other.write("/etc/glim/policy.yaml", "")
    assert "admin" in site.type_in(other, site.install[1])
    site.type_in(other, "glim admin user add before")
    site.type_in(other, f"mkdir -p {SAFE}\n{back_up}cp /var/backups/glim.dump {SAFE}")
    site.type_in(other, "glim admin user add after")
    site.type_in(other, f"systemctl stop glim-scheduler\ncd {SAFE}\n{restore_postgres}")
    site.type_in(other, "systemctl start glim-scheduler\nuntil glim version; do sleep 0.1; done")
    assert {"before", "after"} & users_of(site, other) == {"before"}

    site.type_in(other, "systemctl stop glim-scheduler\nsudo -u postgres dropdb glim\nsudo -u postgres dropuser glim")
    other.type_in("root", apart, "pa55word\npa55word\n")
    head.write(
        "/etc/glim/postgres.conf", "host=10.0.0.2 dbname=glim user=glim password=pa55word sslmode=require", 0o600
    )
    head.write(CONFIG, f"{scheduler}\nstore: postgres:file=/etc/glim/postgres.conf\nstate_dir: /var/lib/glim\n")
    site.type_in(head, f"chown glim /etc/glim/postgres.conf\n{site.install[1]}")
    told = site.type_in(head, "sudo -u glim glim doctor server || true")
    assert re.search(r"^ok +server +store +PostgreSQL [0-9.]+ answers$", told, re.MULTILINE), told
    assert users_of(site, head) == {"glim"}


def test_the_schedulers_machine_is_lost_and_its_database_is_on_another(site):
    """Of its disk a copy of the key file is left. What runs runs on, and what was acknowledged comes to its turn."""
    head, other, node = site.head, site.other, site.node
    site.pin = as_printed(r"^authority +([0-9a-f]{64})$", site.type_in(head, "glim whoami"))
    site.type_in(node, "systemctl stop glim-agent\nrm -rf /var/lib/glim-agent")
    site.enrol_node(site.pin)
    node.write("/etc/glim/agent.yaml", yamls(INSTALL)[2])
    site.type_in(node, "systemctl start glim-agent")
    site.wait_ready()
    site.type_in(head, f"rm -f kim.token\n{site.install[8]}")
    site.carry(head, "/kim.token", node, "/home/kim/kim.token", 1001)
    site.type_in(node, site.install[9].replace("HEX", site.pin), user="kim")
    node.write(
        "/home/kim/stays.yaml",
        "name: stays\nnodes: 1\ngpus_per_node: 0\nrun: echo it starts >>starts; exec sleep 3600\n",
    )
    site.type_in(node, "glim submit stays.yaml", user="kim")
    wait_until(lambda: os.path.exists(node.path("/home/kim/starts")), 60, "job 1 runs")
    node.write("/home/kim/next.yaml", "name: next\nnodes: 1\ngpus_per_node: 0\nrun: echo it has its turn\n")
    site.type_in(node, "glim submit next.yaml", user="kim")

    site.carry(head, "/var/lib/glim-keys/cluster.key", other, f"{SAFE}/cluster.key")
    site.type_in(head, "systemctl disable --now glim-scheduler\nrm -rf /var/lib/glim /var/lib/glim-keys")
    for path in (CONFIG, "/etc/glim/postgres.conf"):
        site.carry(head, path, other, path)
    lets_in = "echo 'hostssl glim glim 10.0.0.2/32 scram-sha-256' >>/etc/postgresql/15/main/pg_hba.conf"
    site.type_in(other, f"chown -R glim /etc/glim\n{lets_in}\nsystemctl restart postgresql")
    steps = [line for line in pages.blocks(BACK_UP)[-1].splitlines() if "# SQLite alone" not in line]
    site.type_in(other, "\n".join(["rm -rf /var/lib/glim /var/lib/glim-keys", f"cd {SAFE}", *steps]))
    node.write("/etc/glim/agent.yaml", with_lines(node.read("/etc/glim/agent.yaml"), scheduler="other:7603"))
    site.type_in(node, "systemctl restart glim-agent")
    site.wait_ready(other)

    def state(job):
        return site.glim(f"status {job}", other)["job"]["state"]

    assert (state(1), state(2)) == ("running", "queued")
    site.type_in(other, "glim cancel 1 -y")
    wait_until(lambda: state(2) == "succeeded", 60, "job 2 has its turn")
    assert node.read("/home/kim/starts") == "it starts\n"
