#!/usr/bin/env python3
"""A real cluster for the browser's tests: LocalCluster with the built page, told what to do over HTTP on loopback.

Prints one line of JSON when all are ready; ends, with everything stopped, when its standard input does. A request is
POST / with {"do": NAME, ...}; the answer is the result, or {"error": TEXT} with status 500."""

import argparse
import contextlib
import http.server
import json
import os
import signal
import socket
import sqlite3
import sys
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(ROOT, "deploy"), os.path.join(ROOT, "tests", "e2e")]
sys.dont_write_bytecode = True

from cluster.folders import make_folder, remove_folder  # noqa: E402
from cluster.kernel_logs import FELL_OFF_THE_BUS, KernelLogs  # noqa: E402
from cluster.local_cluster import CONFIG, LocalCluster  # noqa: E402
from cluster.spec import Examples  # noqa: E402
from cluster.story import Stage, Training  # noqa: E402
from small_disk import SmallDisk  # noqa: E402

DIST = os.path.join(ROOT, "webui", "dist")

# Who signs in as whom: a name for each role.
USERS = {"viewer": "vera", "user": "kim", "operator": "oscar", "admin": "ada"}
OTHERS = ("lee",)
# Who tells the story of deploy/quickstart: its training is ana's, the urgent job ben's.
STORY_USERS = ("ana", "ben")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


class PageCluster(LocalCluster):
    """It may have no nodes of its own: simulated agents come later."""

    def wait_ready(self, seconds=30):
        return super().wait_ready(seconds) if self.agents else {}


class Tests:
    """What tests may ask for: each method is a request's `do`."""

    def __init__(self, folder, options):
        metrics = free_port()
        config = CONFIG.replace("metrics: none", f"metrics: 127.0.0.1:{metrics}")
        config = f"web_root: {options.web_root}\n" + config + "".join(line + "\n" for line in options.config)
        self.metrics = f"http://127.0.0.1:{metrics}/metrics"
        nodes = json.loads(options.nodes) if options.nodes else None
        self.kernel_logs = KernelLogs(folder)
        self.disk = SmallDisk(folder) if options.small_disk else None
        store = {"store": f"sqlite:{self.disk.path}/glim.db", "scheduler_prefix": self.disk.prefix} if self.disk else {}
        self.cluster = PageCluster(
            options.bin,
            folder,
            nodes=nodes,
            config=config,
            runtime="process",
            secure=not options.insecure,
            agent_options=options.agent_option,
            kernel_log=self.kernel_logs.options if options.kernel_logs else None,
            **store,
        )

    def start(self):
        self.cluster.start()
        if not self.cluster.secure:
            return
        for role, user in USERS.items():
            self.cluster.glim.text("admin", "user", "set", user, "--role", role, "-y")
            self.cluster.glim.tokens.file_of(user, self.cluster.glim)

    def info(self):
        cluster = self.cluster
        scheme = "https" if cluster.secure else "http"
        return {
            "url": f"{scheme}://{cluster.host}:{cluster.http_port}",
            "agents": cluster.agents_server,
            "cluster_id": cluster.cluster_id,
            "metrics": self.metrics,
            "jobs": cluster.jobs,
            "bin": cluster.bin,
            "secure": cluster.secure,
        }

    def code(self, role):
        """An address that signs in one browser."""
        return self.cluster.glim.json("login", "--web", user=USERS.get(role, role))["url"]

    def glim(self, args, user=None, stdin=None):
        """The command line, as one of USERS or OTHERS; nobody: the operator."""
        done = self.cluster.glim.run(*args, user=user, stdin=stdin)
        return {"code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}

    def stop_leader(self, kill=False):
        self.cluster.away.add("scheduler")
        if kill:
            self.cluster.kill("scheduler")
        else:
            self.cluster.scheduler.stop()

    def start_leader(self):
        self.cluster.start_again("scheduler")

    def set_next_job(self, number):
        """The leader is stopped, and numbers of jobs go on from here."""
        self.stop_leader()
        with contextlib.closing(sqlite3.connect(os.path.join(self.cluster.folder, "glim.db"))) as store, store:
            store.execute("UPDATE meta SET value = ? WHERE key = 'next_job'", (str(number),))
        self.start_leader()

    def freeze_leader(self, frozen):
        os.kill(self.cluster.scheduler.pid, signal.SIGSTOP if frozen else signal.SIGCONT)

    def fill_disk(self):
        """Of a cluster with a small disk: its store takes no changes until there is room again."""
        self.disk.fill()

    def make_room(self):
        self.disk.make_room()

    def kill_agent(self, node):
        self.cluster.kill(node)

    def start_agent(self, node):
        self.cluster.start_again(node)

    def gpu_falls_off(self, node):
        """Of a cluster with kernel logs: what the node's driver would write then."""
        self.kernel_logs.say(node, FELL_OFF_THE_BUS)

    def stage(self):
        cluster = self.cluster
        return Stage(cluster, Examples(ROOT, cluster.jobs, cluster.task_user), cluster.jobs)

    def story_training(self, name, epochs=6, step_ms=100):
        """Job A of the story."""
        return self.stage().submit_training(name, Training(epochs=epochs, step_ms=step_ms))

    def story_urgent(self, name, victims, steps=200):
        """Job B of the story."""
        return self.stage().submit_urgent(name, victims, steps)

    def cancel_all(self):
        self.cluster.cancel_all()

    def tails(self):
        return self.cluster.tails()

    def stop(self):
        """Simulated agents are gone by now, and would keep their jobs from ending."""
        try:
            return self.cluster.stop(cancel=bool(self.cluster.agents))
        finally:
            if self.disk:
                self.disk.close()


def handler_of(tests):
    # One at a time: what tests ask for changes the one cluster.
    lock = threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = asked.pop("do")
            try:
                with lock:
                    status, result = 200, getattr(tests, name)(**asked)
            except Exception as error:  # the test that asked is to see it, whatever it is
                status, result = 500, {"error": f"{name}: {type(error).__name__}: {error}"}
            body = json.dumps(result).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    return Handler


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default=os.environ.get("GLIM_TEST_BIN", os.path.join(ROOT, "build/release/bin")))
    parser.add_argument("--web-root", default=os.environ.get("GLIM_WEB_DIST", DIST))
    parser.add_argument("--nodes", help='JSON: {"n1": ["A", "a1"]}; default: four in two zones')
    parser.add_argument("--insecure", action="store_true", help="without TLS and tokens, for simulated agents")
    parser.add_argument("--story", action="store_true", help="as deploy/quickstart starts it: containers, ana and ben")
    parser.add_argument("--config", action="append", default=[], help="one more line of the scheduler's policy")
    parser.add_argument("--agent-option", action="append", default=[], help="one more word for each agent")
    parser.add_argument("--kernel-logs", action="store_true", help="agents look after their hardware, by logs of ours")
    parser.add_argument("--small-disk", action="store_true", help="the store is on a disk that can be filled")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = make_folder("glim-web-")
    tests = Tests(folder, options)
    try:
        tests.start()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler_of(tests))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(json.dumps({"control": f"http://127.0.0.1:{server.server_address[1]}/", **tests.info()}), flush=True)
        sys.stdin.read()
    except KeyboardInterrupt:
        pass
    finally:
        faults = tests.stop()
        remove_folder(folder)
        if faults:
            print("\n".join(faults), file=sys.stderr)


if __name__ == "__main__":
    main()
