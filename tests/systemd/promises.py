"""What docs/operations/node.md promises of the units, in the order in which a machine's life goes."""

import json
import os
import time

from cluster.processes import start_time, wait_until

UNITS = ["glim-scheduler.service", "glim-agent.service", "glim-replica.service", "glim-tasks.service", "glim.slice"]
TASKS = "glim.slice/glim-tasks.service/running"
AGENT = "system.slice/glim-agent.service"
REPLICA = "system.slice/glim-replica.service"
JOB = """\
apiVersion: glim/v1
kind: Job
name: long
nodes: 1
gpus_per_node: 1
workdir: /tmp
run: "setsid sleep 1001 & exec sleep 1000"
interrupt: {grace: 1s}
restart: {on: [node_failure], max: 1, backoff: 0s}
"""
AGENT_OPTIONS = (
    "--scheduler 127.0.0.1:7603 --state-dir /var/lib/glim-agent --node-name n1 --gpus 8 --simulated-gpus"
    " --runtime runc --task-user 65534:65534 --replica-tls tcp"
)
EXPOSURE_MAX = 2.0  # of 10, as systemd-analyze counts


class Promises:
    def __init__(self, machine):
        self.machine = machine
        self.job = None

    def all(self):
        return [
            self.an_installation_keeps_what_the_operator_wrote,
            self.the_units_are_sound,
            self.the_scheduler_runs_as_its_own_user_and_may_little,
            self.the_agent_joins,
            self.the_replica_service_runs_as_its_own_user_and_may_little,
            self.a_jobs_processes_are_in_the_group_of_the_tasks_unit,
            self.a_restart_of_the_agent_leaves_tasks_and_copies_alone,
            self.an_agent_that_is_killed_comes_back_to_the_same_tasks,
            self.an_agent_that_was_stopped_comes_back_to_the_same_tasks,
            self.a_restart_of_the_scheduler_leaves_tasks_alone,
            self.a_scheduler_that_is_killed_comes_back,
            self.systemd_itself_may_be_started_anew,
            self.a_stop_of_the_tasks_unit_ends_all_tasks_of_the_node,
            self.their_jobs_start_again_with_the_agent,
            self.a_wrong_configuration_is_told_and_not_tried_again,
        ]

    # ---- what is asked

    def run(self, script):
        return self.machine.run(script)

    def property_of(self, unit, name):
        return self.run(f"systemctl show -p {name} --value {unit}")

    def glim(self, words):
        return json.loads(self.run(f"glim -o json {words}"))

    def state_of(self, job):
        return self.glim(f"status {job}")["job"]["state"]

    def node_is_ready(self, since_ms=0):
        """Ready, and heard after that moment."""
        asked = self.machine.try_run("glim -o json nodes")
        nodes = json.loads(asked.stdout)["nodes"] if asked.returncode == 0 else []
        return [(node["state"], node["last_heard_ms"] > since_ms) for node in nodes] == [("ready", True)]

    def lives(self):
        """Who runs beside the agent itself, each named for good by its pid and start. glim-health comes and goes with
        the agent."""
        agent = int(self.property_of("glim-agent", "MainPID"))
        health = self.commands(AGENT, "glim-health")
        own = {self.inside(pid): pid for pid in self.machine.processes_of(AGENT) if pid not in health}
        return self.with_those_of_the_agent(pid for inside, pid in own.items() if inside != agent)

    def lasting(self):
        """Those who are to outlive it: ranks, their supervisors, the replica's service. It has helpers for moments."""
        return self.with_those_of_the_agent(self.commands(AGENT, "glim-shim"))

    def with_those_of_the_agent(self, pids):
        others = [*self.machine.processes_of(TASKS), *self.machine.processes_of(REPLICA)]
        return {(pid, start_time(pid)) for pid in [*pids, *others]}

    @staticmethod
    def inside(pid):
        """Its number in the machine."""
        try:
            with open(f"/proc/{pid}/status") as file:
                numbers = next(line.split()[1:] for line in file if line.startswith("NSpid:"))
        except OSError:
            return 0
        return int(numbers[1]) if len(numbers) > 1 else 0

    def submit(self):
        with open(self.machine.path("/root/job.yaml"), "w") as file:
            file.write(JOB)
        job = int(self.run("glim submit /root/job.yaml"))
        wait_until(lambda: self.state_of(job) == "running", 60, lambda: self.run(f"glim status {job}"))
        wait_until(lambda: len(self.commands(TASKS, "sleep")) >= 2, 30, "both its processes run")
        return job

    def commands(self, unit, name):
        found = []
        for pid in self.machine.processes_of(unit):
            try:
                with open(f"/proc/{pid}/comm") as file:
                    if file.read().strip() == name:
                        found.append(pid)
            except OSError:
                pass
        return found

    def unchanged_by(self, act):
        """`act` is done, agent and scheduler are there again, and everybody else is who it was."""
        before = self.lasting()
        act()
        done_ms = time.time() * 1000
        wait_until(
            lambda: self.node_is_ready(done_ms),
            60,
            lambda: self.machine.try_run("glim nodes; systemctl status glim-agent").stdout,
        )
        wait_until(lambda: self.lives() == before, 20, lambda: f"{before} is all that runs: {self.lives()}")
        assert self.state_of(self.job) == "running"
        assert len(self.glim(f"status {self.job}")["job"]["attempts"]) == 1

    # ---- promises

    def an_installation_keeps_what_the_operator_wrote(self):
        self.machine.install()
        settings = self.machine.path("/etc/glim/scheduler.yaml")
        with open(settings, "a") as file:
            file.write("# the operator's\n")
        said = self.machine.install()
        assert f"Kept: {settings}" in said, said
        with open(settings) as file:
            assert file.read().endswith("# the operator's\n")
        for name in ("bin/glim", "bin/glim-init", "lib/systemd/system/glim.slice", "share/glim/sdk/python/glim"):
            assert os.path.exists(self.machine.path("/usr/local/" + name)), name

    def the_units_are_sound(self):
        self.machine.boot()
        said = self.machine.try_run(
            "systemd-sysusers && systemctl daemon-reload && systemd-analyze verify " + " ".join(UNITS)
        )
        assert said.returncode == 0, said.stderr
        faults = [line for line in said.stderr.splitlines() if "glim" in line and "Creating" not in line]
        assert not faults, faults

    def the_scheduler_runs_as_its_own_user_and_may_little(self):
        self.run("systemctl enable --now glim-scheduler")
        wait_until(lambda: self.machine.try_run("glim version").returncode == 0, 30, "it answers")
        pid = self.property_of("glim-scheduler", "MainPID")
        assert self.run(f"ps -o user= -p {pid}") == "glim"
        assert self.run("stat -c '%U %a' /var/lib/glim") == "glim 700"
        assert self.run("stat -c '%U %a' /var/lib/glim/operator/token") == "glim 600"
        assert self.run("stat -c '%U %a' /var/lib/glim-keys/cluster.key") == "glim 600"
        assert "cluster.key" not in self.run("find /var/lib/glim"), "a backup of the store has no key"
        told = self.run("systemd-analyze security --no-pager glim-scheduler | tail -n 1")
        assert float(told.split("glim-scheduler.service:")[1].split()[0]) <= EXPOSURE_MAX, told

    def the_agent_joins(self):
        invited = self.glim("admin node invite n1 -y")
        self.run(f"echo {invited['token']} | {invited['command']}")
        assert self.run("stat -c '%U %a' /var/lib/glim-agent/identity/node.pem") == "root 600"
        cluster = self.glim("version")["server"]["cluster_id"]
        self.run(f"echo 'GLIM_AGENT_OPTIONS=\"{AGENT_OPTIONS} --cluster-id {cluster}\"' >/etc/glim/agent.env")
        self.run("systemctl enable --now glim-agent")
        wait_until(self.node_is_ready, 60, lambda: self.machine.try_run("journalctl -u glim-agent").stdout)
        assert self.property_of("glim-tasks", "ActiveState") == "active"

    def the_replica_service_runs_as_its_own_user_and_may_little(self):
        options = "--memory 16MiB --listen 127.0.0.1:7614 --ucx-tls tcp"
        self.run(f"echo 'GLIM_REPLICA_OPTIONS=\"{options}\"' >/etc/glim/replica.env")
        self.run("systemctl enable --now glim-replica")
        log = "journalctl -b --no-pager -u glim-agent -u glim-replica"
        told = 'event=replica_serving address="127.0.0.1:7614"'
        wait_until(lambda: told in self.run(log), 30, lambda: self.run(log))
        wait_until(self.node_is_ready, 60, lambda: self.run(log))
        pid = self.property_of("glim-replica", "MainPID")
        assert self.run(f"stat -c %U /proc/{pid}/cgroup") == "root", "what it is, nobody of its user may look into"
        assert self.run(f"ps -o euser:20= -p {pid}") == "glim-replica"
        status = self.run(f"cat /proc/{pid}/status")
        for line in ("CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"):
            assert line in status, status
        assert self.run("stat -c '%U %a' /var/lib/glim-replica/key") == "glim-replica 600"
        assert self.run("stat -c '%U %a' /run/glim-replica/state") == "glim-replica 644"
        wait_until(lambda: "key " in self.run("cat /run/glim/replica-keys"), 30, lambda: self.run(log))
        said = self.run("systemd-analyze security --no-pager glim-replica | tail -n 1")
        assert float(said.split("glim-replica.service:")[1].split()[0]) <= EXPOSURE_MAX, said
        self.kill("glim-replica")
        wait_until(lambda: self.run(log).count(told) == 2, 30, lambda: self.run(log))

    def a_jobs_processes_are_in_the_group_of_the_tasks_unit(self):
        self.job = self.submit()
        assert not self.commands(AGENT, "sleep")
        assert self.commands(AGENT, "glim-shim") and not self.commands(AGENT, "glim-replica")
        assert self.commands(REPLICA, "glim-replica")

    def a_restart_of_the_agent_leaves_tasks_and_copies_alone(self):
        self.unchanged_by(lambda: self.run("systemctl restart glim-agent"))

    def an_agent_that_is_killed_comes_back_to_the_same_tasks(self):
        self.unchanged_by(lambda: self.kill("glim-agent"))

    def an_agent_that_was_stopped_comes_back_to_the_same_tasks(self):
        def stop_and_start():
            self.run("systemctl stop glim-agent")
            assert self.property_of("glim-tasks", "ActiveState") == "active"
            self.run("systemctl start glim-agent")

        self.unchanged_by(stop_and_start)

    def a_restart_of_the_scheduler_leaves_tasks_alone(self):
        self.unchanged_by(lambda: self.run("systemctl restart glim-scheduler"))

    def a_scheduler_that_is_killed_comes_back(self):
        self.unchanged_by(lambda: self.kill("glim-scheduler"))

    def kill(self, unit):
        before = self.property_of(unit, "MainPID")
        self.run(f"systemctl kill -s KILL --kill-who=main {unit}")
        wait_until(lambda: self.property_of(unit, "MainPID") not in ("0", before), 30, f"{unit} comes back")

    def systemd_itself_may_be_started_anew(self):
        self.unchanged_by(lambda: self.run("systemctl daemon-reexec && systemctl daemon-reload"))
        self.unchanged_by(lambda: self.run("systemctl restart glim-agent"))

    def a_stop_of_the_tasks_unit_ends_all_tasks_of_the_node(self):
        ranks = {(pid, start_time(pid)) for pid in self.machine.processes_of(TASKS)}
        assert len(ranks) >= 2
        self.run("systemctl stop glim-tasks")
        assert self.property_of("glim-agent", "ActiveState") == "inactive"
        left = [pid for pid, started in ranks if start_time(pid) == started]
        assert not left and not self.machine.processes_of("glim.slice"), left

    def their_jobs_start_again_with_the_agent(self):
        self.run("systemctl start glim-agent")
        told = lambda: self.glim(f"status {self.job}")["job"]  # noqa: E731
        again = lambda: told()["state"] == "running" and len(told()["attempts"]) == 2  # noqa: E731
        wait_until(again, 60, lambda: self.run(f"glim status {self.job}"))
        wait_until(lambda: len(self.commands(TASKS, "sleep")) >= 2, 30, "both its processes run")
        self.run(f"glim cancel {self.job}")
        wait_until(lambda: not self.commands(TASKS, "sleep"), 60, "the job's processes end")

    def a_wrong_configuration_is_told_and_not_tried_again(self):
        self.run("sed -i 's/^metrics:/metrix:/' /etc/glim/scheduler.yaml")
        self.machine.try_run("systemctl restart glim-scheduler")
        wait_until(lambda: self.property_of("glim-scheduler", "ActiveState") == "failed", 30, "it gives up")
        assert "scheduler.yaml:7:1: metrix" in self.run("journalctl -b --no-pager -u glim-scheduler")
