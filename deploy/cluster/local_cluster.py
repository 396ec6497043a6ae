"""One scheduler and its agents on this machine, in one private folder. Run by root, each agent has a network namespace
of its own and runs its tasks in containers, as their users; otherwise all share the loopback address and tasks are
processes of whoever runs the cluster."""

import json
import os
import tempfile

from .accounts import closed_to, default_task_user, open_way, registry_ids
from .agent_commands import CONTAINERS, ROOT, AgentCommands
from .allowed import allowed_folders
from .folders import read_word, size_of, tag_of
from .glim_cli import Glim
from .leftovers import cancel_queue, kill_tasks_under
from .network import Network, remove_control_groups
from .ports import steady_port
from .processes import Child, tail, wait_until
from .replicas import ReplicaServices
from .spec import sdk_folder
from .tokens import Tokens

ENDED = ("succeeded", "failed", "cancelled")

# Jobs here run for seconds: the guards that spare long ones from being interrupted too often are set accordingly. All
# nodes are one machine, which is busy with tests: measured by itself, a node would seem slow.
CONFIG = """\
metrics: none
policy:
  min_run_factor: 1
  default_save_cost: 50ms
  default_restore_cost: 50ms
  kill_after_term: 1s
  start_backoff: 200ms
  cross_zone_nodes_min: 16
  links: [{zone_a: A, zone_b: B, jobs_max: 1, pairs_max: 1}]
  health: {validate: {after_repair: false, suspects: false}}
"""

# name: (zone, leaf), or (zone, leaf, pool)
FOUR_NODES = {"n1": ("A", "a1"), "n2": ("A", "a1"), "n3": ("B", "b1"), "n4": ("B", "b1")}


def default_runtime():
    """What the tasks of a cluster on this machine run in; GLIM_TEST_RUNTIME overrides it."""
    return os.environ.get("GLIM_TEST_RUNTIME") or ("runc" if os.geteuid() == 0 else "process")


class LocalCluster(AgentCommands):
    """Starts with `start()`, ends with `stop()`, which cancels what still runs: a task outlives its agent.
    `replica_memory` ("64MiB"): each node has a glim-replica with so much memory for copies of checkpoints.
    `allow`: folders that jobs may name beside the cluster's own. `checkpoint_root`: the nodes share a folder for saves;
    otherwise each keeps them in its own. `store`: the scheduler's, otherwise a file of SQLite in the folder;
    `scheduler_prefix`: words that begin the scheduler's command; `agent_prefix(node)`: those of an agent's;
    `agent_options`: words that end each agent's. `kernel_log(node)`: options of an agent that looks after its node's
    hardware (--health-kmsg PATH); without, none does. `secure=False`: without TLS and tokens, so without containers.
    `gpus`: how many simulated ones a node has; None: those that its driver tells of.
    `users`: who is a user of their own in containers; everybody else's tasks are one, default_task_user()'s."""

    def __init__(
        self,
        bin_folder,
        folder,
        nodes=None,
        gpus=8,
        config=CONFIG,
        log_level="info",
        runtime=None,
        replica_memory=None,
        allow=(),
        checkpoint_root=False,
        store=None,
        scheduler_prefix=(),
        agent_prefix=None,
        agent_options=(),
        secure=True,
        users=(),
        kernel_log=None,
    ):
        self.secure, self.kernel_log = secure, kernel_log
        self.store, self.scheduler_prefix = store or f"sqlite:{folder}/glim.db", scheduler_prefix
        self.agent_prefix, self.agent_options = agent_prefix or (lambda node: ()), tuple(agent_options)
        self.replicas, self.allow = ReplicaServices(self, replica_memory), allowed_folders(allow, folder)
        self.bin, self.folder, self.gpus, self.log_level = bin_folder, folder, gpus, log_level
        self.runtime = runtime or (default_runtime() if secure else "process")
        self.tag = tag_of(folder)
        self.node_places = dict(FOUR_NODES if nodes is None else nodes)
        self.logs, self.jobs = os.path.join(folder, "logs"), os.path.join(folder, "jobs")
        for path in (self.logs, self.jobs):
            os.makedirs(path, mode=0o700, exist_ok=True)
        self.task_user = default_task_user() if self.runtime in CONTAINERS else None
        self.user_ids = {user: registry_ids(user, number) for number, user in enumerate(users) if self.task_user}
        self.open_to_tasks(self.jobs)
        self.config = os.path.join(folder, "scheduler.yaml")
        self.checkpoint_root = os.path.join(folder, "shared") if checkpoint_root else None
        if self.checkpoint_root:
            os.makedirs(self.checkpoint_root, mode=0o700, exist_ok=True)
            self.open_to_tasks(self.checkpoint_root, 0o755)
            self.make_snapshots_folder()
            config += f"  checkpoint_root: {self.checkpoint_root}\n"
        with open(self.config, "w") as file:
            file.write(config)
        self.scheduler, self.agents = None, {}
        self.away = set()  # daemons that a test has ended and will start again: no alarm
        self.port, self.agents_port, self.http_port, self.cluster_id, self.glim = None, None, None, None, None
        self.state_dir = os.path.join(folder, "scheduler")
        os.makedirs(self.state_dir, mode=0o700, exist_ok=True)
        self.network = Network(self.tag, self.node_places) if self.runtime in CONTAINERS else None
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("GLIM_")}

    @property
    def server(self):
        return f"{self.host}:{self.port}"

    @property
    def agents_server(self):
        return f"{self.host}:{self.agents_port}"

    @property
    def host(self):
        return self.network.host_address if self.network else "127.0.0.1"

    @property
    def control_group(self):
        return f"/glim/{self.tag}"

    def program(self, name):
        return os.path.join(self.bin, name)

    # ---- folders

    def open_to_tasks(self, path, mode=0o1777):
        """In containers tasks are other users than we: the way to this folder is theirs, and they may make there what
        is their own."""
        if self.task_user:
            open_way(path, self.folder)
            os.chmod(path, mode)

    def make_snapshots_folder(self):
        """Archives of code are who submits', which here is root: tasks get those whose names they know."""
        path = os.path.join(self.checkpoint_root, "snapshots")
        if self.task_user and not os.path.isdir(path):
            os.mkdir(path)
            self.open_to_tasks(path, 0o1733)

    def check_readable(self):
        """That tasks may read the SDK as it was built (the way there need not be theirs: agents show it to them), and
        reach the folder for jobs."""
        closed = self.task_user and closed_to(self.task_user, self.jobs)
        if closed:
            raise RuntimeError(
                f"tasks in containers are never root: one with uid {self.task_user[0]} has to reach {self.jobs}, and "
                f"{closed} is closed to it: chmod o+x {closed}, or make the cluster elsewhere"
            )
        sdk = sdk_folder(ROOT)
        for user in [self.task_user, *self.user_ids.values()] if self.task_user else []:
            for path in filter(os.path.exists, [os.path.join(sdk, "python", "glim", "__init__.py")]):
                closed = closed_to(user, path, below=sdk)
                if closed:
                    raise RuntimeError(
                        f"tasks in containers are never root: one with uid {user[0]} has to read {path}, and {closed} "
                        f"is closed to it: chmod -R o+rX {sdk}"
                    )

    def job_folder(self, name=None):
        """A new folder where jobs may write, below the one for jobs. `name`: it may have slashes; None: a new one."""
        path = os.path.join(self.jobs, name) if name else tempfile.mkdtemp(dir=self.jobs)
        os.makedirs(path, exist_ok=True)
        self.open_to_tasks(path)
        return path

    # ---- start

    def start(self):
        """All or nothing: what was started is stopped again if the rest does not come."""
        self.check_readable()
        try:
            if self.network:
                self.network.create()
            self.start_scheduler()
            for name in self.node_places:
                self.enrol(name)
                self.start_agent(name)
            self.wait_ready()
            self.remember()
        except BaseException:
            self.stop(cancel=False)
            raise
        return self

    def start_scheduler(self, cluster_id=None):
        port_file, agents_port_file = os.path.join(self.folder, "port"), os.path.join(self.folder, "agents-port")
        http_port_file = os.path.join(self.folder, "http-port")
        for path in (port_file, agents_port_file, http_port_file):
            if os.path.exists(path):
                os.unlink(path)
        argv = [
            *self.scheduler_prefix,
            self.program("glim-scheduler"),
            "--config",
            self.config,
            "--listen",
            f"{self.host}:{self.port or steady_port(self.host)}",
            "--listen-agents",
            f"{self.host}:{self.agents_port or steady_port(self.host)}",
            "--listen-http",
            f"{self.host}:{self.http_port or steady_port(self.host)}",
            "--state-dir",
            self.state_dir,
            "--key-file",
            os.path.join(self.state_dir, "cluster.key"),
            *([] if self.secure else ["--insecure-without-identity"]),
            "--store",
            self.store,
            "--port-file",
            port_file,
            "--agents-port-file",
            agents_port_file,
            "--http-port-file",
            http_port_file,
            "--log-level",
            self.log_level,
            *(["--cluster-id", cluster_id] if cluster_id else []),
        ]
        self.scheduler = Child("glim-scheduler", argv, os.path.join(self.logs, "scheduler.log"), self._env)
        self.port = int(
            wait_until(
                lambda: self.scheduler.check() or read_word(port_file),
                30,
                lambda: "glim-scheduler serves:\n" + tail(self.scheduler.log),
            )
        )
        self.agents_port = int(read_word(agents_port_file))  # written before the other one
        self.http_port = int(read_word(http_port_file))  # likewise
        if self.glim is None:
            self.glim = Glim(self.program("glim"), self.server, self.jobs, self.tokens())
        wait_until(self._ask_cluster_id, 15, "glim-scheduler tells its cluster's id")
        self.cluster_id = self.cluster_id or self._ask_cluster_id()

    def _ask_cluster_id(self):
        self.scheduler.check()
        result = self.glim.run("-o", "json", "version")
        return _find(json.loads(result.stdout), "cluster_id") if result.returncode == 0 else None

    def tokens(self):
        if not self.secure:
            return None
        return Tokens(os.path.join(self.state_dir, "operator"), os.path.join(self.folder, "users"), self.user_ids)

    def agent_state(self, name):
        return os.path.join(self.folder, name)

    def start_agent(self, name):
        self.replicas.start(name)
        log = os.path.join(self.logs, f"agent-{name}.log")
        self.agents[name] = Child(f"glim-agent {name}", self.agent_command(name), log, self._env)

    def wait_ready(self, seconds=30):
        def ready():
            for agent in self.agents.values():
                agent.check()
            nodes = self.glim.nodes()
            seen = all(
                nodes.get(n, {}).get("state") == "ready" and not nodes[n].get("checkpoint_root_error")
                for n in self.agents
            )
            return nodes if seen else None

        return wait_until(ready, seconds, f"{len(self.agents)} nodes are ready")

    def check(self):
        for name, child in [("scheduler", self.scheduler), *self.agents.items()]:
            if name not in self.away:
                child.check()

    def kill(self, name):
        """SIGKILL to the scheduler ("scheduler") or to a node's agent; nothing of it gets to say goodbye."""
        self.away.add(name)
        child = self.scheduler if name == "scheduler" else self.agents[name]
        child.process.kill()
        child.process.wait()

    def start_again(self, name):
        if name == "scheduler":
            self.start_scheduler()
        else:
            self.start_agent(name)
        self.away.discard(name)

    def kill_tasks_of(self, node):
        """SIGKILL to all that runs on a node but its agent, supervisors and containers included: a machine's death.
        Returns the tasks' processes; copies of checkpoints in the node's memory go, too."""
        self.replicas.kill(node)
        return kill_tasks_under(os.path.join(self.folder, node))

    # ---- jobs

    def wait_job(self, job_id, condition, seconds, what, every=0.1):
        """Until condition(job) is true; the job then. A job that has ended otherwise is an error at once."""
        last = {}

        def look():
            self.check()
            last.update(job=self.glim.job(job_id))
            if condition(last["job"]):
                return last["job"]
            if last["job"]["state"] in ENDED:
                raise AssertionError(f"job {job_id} ended before {what}: {self.describe(last['job'])}")
            return None

        return wait_until(look, seconds, lambda: f"{what}: {self.describe(last.get('job', {}))}", every)

    def wait_state(self, job_id, state, seconds, every=0.1):
        return self.wait_job(job_id, lambda job: job["state"] == state, seconds, f"job {job_id} is {state}", every)

    def wait_idle(self, seconds=30):
        """Until no node has a holder or a claim."""

        def idle():
            return all(not n["holder"] and not n["claim"] for n in self.glim.nodes().values())

        wait_until(idle, seconds, "every node is free")

    def describe(self, job):
        if not job:
            return "nothing is known of it"
        lines = [f"job {job['id']} {job['spec']['name']} is {job['state']} {job['message']}"]
        lines += [
            f"  attempt {a['ref']['number']}: {a['state']} {a['outcome']} {a['save']} {a['message']}"
            for a in job["attempts"]
        ]
        lines += [f"  blocked: {b['kind']}: {b['message']}" for b in job["blockers"]]
        return "\n".join(lines)

    def cancel_all(self, seconds=30):
        """Cancels what has not ended, and waits until the nodes are free."""
        cancel_queue(self.glim)
        self.wait_idle(seconds)

    # ---- looking around

    def rank_log(self, job_id, attempt, rank):
        """The path of a rank's output on its node; None if there is none."""
        for name in self.node_places:
            path = os.path.join(self.folder, name, "logs", f"{job_id}-{attempt}", f"rank-{rank}.log")
            if os.path.exists(path):
                return path
        return None

    def log_files(self):
        found = [os.path.join(self.logs, name) for name in sorted(os.listdir(self.logs))]
        for name in self.node_places:
            for folder, _, files in os.walk(os.path.join(self.folder, name)):
                found += [os.path.join(folder, f) for f in sorted(files) if f.endswith(".log")]
        return [path for path in found if size_of(path)]

    def tails(self, lines=25):
        return "\n".join(f"==== {path}\n{tail(path, lines)}" for path in self.log_files())

    # ---- stop

    def stop(self, cancel=True):
        """Jobs first, then agents, then the scheduler; never raises for a cluster that is half broken. Returns what
        did not go as it should, in words. `cancel=False` kills the tasks instead, however many jobs there are."""
        faults = []
        if cancel and self.glim and self.scheduler and self.scheduler.alive():
            try:
                self.cancel_all()
            except Exception as error:  # whatever it is, the processes must go
                faults.append(f"the jobs could not be cancelled: {error}")
        for child in [*self.agents.values(), *self.replicas.children(), self.scheduler]:
            if child is not None and not child.stop():
                faults.append(f"{child.name} did not end on SIGTERM")
        left = kill_tasks_under(self.folder)
        self.remove_network()
        remove_control_groups(self.control_group)
        if left and cancel:
            faults.append(f"tasks' processes had to be killed: {left}")
        return faults

    def remove_network(self):
        if self.network:
            self.network.remove()

    def remember(self):
        """What a later process needs to stop a cluster that is left running."""
        children = [*self.agents.values(), *self.replicas.children(), self.scheduler]
        state = {
            "server": self.server,
            "secure": self.secure,
            "bin": self.bin,
            "nodes": self.node_places,
            "runtime": self.runtime,
            "prefix": self.network.prefix if self.network else None,
            "processes": [{"name": c.name, "pid": c.pid, "start_time": c.start_time} for c in children],
        }
        with open(os.path.join(self.folder, "cluster.json"), "w") as file:
            json.dump(state, file)


def _find(document, key):
    """The value of `key`, wherever in the document it is."""
    if isinstance(document, dict):
        if key in document:
            return document[key]
        document = list(document.values())
    if isinstance(document, list):
        return next((v for v in (_find(part, key) for part in document) if v is not None), None)
    return None
