"""Who asked for it is told what becomes of their jobs: a webhook, signed, and a command of the operator's."""

import contextlib
import http.server
import json
import os
import socket
import threading

import pytest

from cluster import pages
from cluster.local_cluster import CONFIG
from cluster.processes import wait_until
from conftest import own_stage

SECRET = "e2e-secret-of-32-characters-long"
THIS = "tests/e2e/test_notify.py"
MANUAL = "notifications.md"
PAGER_UID = 61234  # nobody's on this machine
SIGNAL = {"mode": "signal", "grace": "5s"}


def checker():
    """The function that the manual shows to receivers."""
    (block,) = [text for language, text in pages.fences(MANUAL) if language == "python"]
    names = {}
    exec(compile(block, MANUAL, "exec"), names)
    return names["check"]


class Receiver:
    """A real HTTP server. The first `failures` requests are answered with 500."""

    def __init__(self, failures=0):
        self.requests, self.failures = [], failures
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((dict(self.headers), body))
                self.send_response(500 if len(receiver.requests) <= receiver.failures else 200)
                self.end_headers()

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def told(self):
        return [json.loads(body) for _, body in list(self.requests)]

    def wait(self, job, kind):
        def look():
            return next((one for one in self.told() if one["job"]["id"] == job and one["kind"] == kind), None)

        return wait_until(look, 60, lambda: f"{kind} of job {job} arrives; so far {self.told()}")

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@contextlib.contextmanager
def told(folder, failures=0, commands="", metrics="none"):
    receiver = Receiver(failures)
    secret = os.path.join(folder, "secret")
    with open(secret, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(SECRET + "\n")
    webhooks = f"webhooks: {{team-chat: {{url: '{receiver.url}', secret_file: {secret}}}}}"
    config = CONFIG.replace("metrics: none", f"metrics: {metrics}")
    config += f"  notify: {{{webhooks}, commands: {{{commands}}}}}\n"
    try:
        with own_stage(folder, config=config) as stage:
            yield stage, receiver
    finally:
        receiver.close()


def test_interrupted_and_done_arrive_signed(fresh_folder):
    check = checker()
    with told(fresh_folder, failures=1) as (stage, receiver):
        glim, cluster = stage.glim, stage.cluster
        notify = {"on": ["interrupted", "done"], "to": ["team-chat"]}
        gate = os.path.join(cluster.jobs, "gate")
        command = f"while [ ! -e {gate} ]; do sleep 0.1; done"
        job = int(glim.submit(stage.examples.make("told", command, nodes=1, interrupt=SIGNAL, notify=notify)))
        cluster.wait_state(job, "running", 30)
        glim.text("suspend", job)
        first = receiver.wait(job, "interrupted")
        assert (first["version"], first["job"]["name"], first["attempt"]) == (2, "told", 1), first
        assert first["cluster_id"] == cluster.cluster_id and first["outcome"] == "interrupted", first
        with open(gate, "w"):
            pass
        glim.text("resume", job)
        last = receiver.wait(job, "done")
        assert last["job"]["state"] == "succeeded" and last["outcome"] == "succeeded", last
        ids = [one["id"] for one in receiver.told()]
        assert ids[0] == ids[1], "the first answer was 500: it came again, under the same id"
        for headers, body in receiver.requests:
            assert check(SECRET, headers["Glim-Signature"], body)
            assert not check("another secret", headers["Glim-Signature"], body)
            assert not check(SECRET, headers["Glim-Signature"], body + b" ")


def test_what_nobody_was_told_is_told_after_a_restart(fresh_folder):
    with told(fresh_folder, failures=3) as (stage, receiver):
        glim, cluster = stage.glim, stage.cluster
        notify = {"on": ["done"], "to": ["team-chat"]}
        job = int(glim.submit(stage.examples.make("told", "true", nodes=1, notify=notify)))
        cluster.wait_state(job, "succeeded", 60)
        wait_until(lambda: receiver.requests, 60, "a try that fails")
        cluster.kill("scheduler")
        cluster.start_again("scheduler")
        wait_until(lambda: len(receiver.requests) > 3, 120, "a try that works")
        assert {one["id"] for one in receiver.told()} == {receiver.told()[0]["id"]}


def test_what_the_page_shows_runs(fresh_folder):
    with socket.create_server(("127.0.0.1", 0)) as free:
        metrics = f"127.0.0.1:{free.getsockname()[1]}"
    with told(fresh_folder, metrics=metrics) as (stage, receiver):
        notify = {"on": ["done"], "to": ["team-chat"]}
        job = int(stage.glim.submit(stage.examples.make("told", "true", nodes=1, notify=notify)))
        receiver.wait(job, "done")
        counted = 'glim_notifications_total{target_kind="webhook",outcome="delivered"} 1\n'

        def shown():
            text = pages.run(MANUAL, stage.glim, stage.folder, METRICS=metrics)
            assert receiver.url in text, text
            return counted in text

        wait_until(shown, 60, "the answer of the receiver is counted", every=0.1)


@pytest.mark.parametrize("page", ["docs/howto/everyday-questions.md", "docs/howto/when-a-job-fails.md"])
def test_whoever_writes_what_the_page_shows_is_told(fresh_folder, page):
    (notify,) = [block.text for block in pages.find_page(page).blocks if block.mark == ("run by", THIS)]
    with told(fresh_folder) as (stage, receiver):
        for kind, command in (("done", "true"), ("failed", "exit 3")):
            spec = stage.examples.make(kind, command, nodes=1)
            with open(spec, "a") as file:
                file.write(f"\n{notify}")
            receiver.wait(int(stage.glim.submit(spec)), kind)


def test_a_name_that_is_not_there_is_refused(fresh_folder):
    with told(fresh_folder) as (stage, _):
        notify = {"on": ["done"], "to": ["team-caht"]}
        refused = stage.glim.run("submit", stage.examples.make("told", "true", nodes=1, notify=notify))
        assert refused.returncode != 0
        assert "notify.to[0]" in refused.stderr and "team-chat" in refused.stderr, refused.stderr


def test_a_command_runs_as_another_user(fresh_folder):
    if os.geteuid() != 0:
        pytest.fail("this test needs root, as the scheduler does that runs commands as others")
    os.chmod(fresh_folder, 0o755)
    place = os.path.join(fresh_folder, "paged")
    os.makedirs(place)
    os.chown(place, PAGER_UID, PAGER_UID)
    program = os.path.join(fresh_folder, "page")
    with open(program, "w") as file:
        file.write(f"#!/bin/sh\nid -u > {place}/uid\nid -G > {place}/groups\npwd > {place}/cwd\n")
        file.write(f"env > {place}/env\ncat > {place}/new && mv {place}/new {place}/message\n")
    os.chmod(program, 0o755)
    with told(fresh_folder, commands=f"pager: {{path: {program}, user: '{PAGER_UID}'}}") as (stage, _):
        notify = {"on": ["failed"], "to": ["pager"]}
        job = int(stage.glim.submit(stage.examples.make("told", "exit 3", nodes=1, notify=notify)))
        stage.cluster.wait_state(job, "failed", 60)
        message = os.path.join(place, "message")
        wait_until(lambda: os.path.exists(message), 60, "the command has run")

        def read(name):
            with open(os.path.join(place, name)) as file:
                return file.read()

        assert json.loads(read("message"))["job"]["id"] == job
        assert (read("uid").strip(), read("groups").strip()) == (str(PAGER_UID), str(PAGER_UID))
        assert read("cwd").strip() == "/"
        assert "GLIM" not in read("env") and SECRET not in read("env"), read("env")
