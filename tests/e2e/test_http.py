"""The HTTP API of a real cluster: what docs/http.md shows is run, and its answers are those of `glim -o json`."""

import http.client
import json
import os
import re
import ssl
import subprocess

import pytest

from cluster.processes import SLOWER

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "http.md")


class Http:
    """Requests by one user's token, each on a connection of its own."""

    def __init__(self, cluster, glim):
        self.cluster, self.glim = cluster, glim
        self.context = ssl.create_default_context(cafile=glim.tokens.authority)

    def connect(self):
        return http.client.HTTPSConnection(
            self.cluster.host, self.cluster.http_port, context=self.context, timeout=60 * SLOWER
        )

    def ask(self, verb, path, user="kim", body=None, kind="application/json", headers=None):
        sent = dict(headers or {})
        if user:
            with open(self.glim.tokens.file_of(user, self.glim)) as file:
                sent["Authorization"] = "Bearer " + file.read().strip()
        if body is not None:
            sent["Content-Type"] = kind
            body = body if isinstance(body, str) else json.dumps(body)
        connection = self.connect()
        try:
            connection.request(verb, path, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def json(self, verb, path, *args, status=200, **keywords):
        got, _, text = self.ask(verb, path, *args, **keywords)
        assert got == status, f"{verb} {path}: {got} {text}"
        return json.loads(text)


@pytest.fixture
def web(cluster, glim):
    return Http(cluster, glim)


def job_file(stage, run="echo of-kim; exec sleep 600"):
    return f"name: over-http\nnodes: 1\nworkdir: {stage.folder}\nrun: {json.dumps(run)}\n"


def test_a_job_is_submitted_seen_and_cancelled(stage, cluster, glim, web):
    (number,) = web.json("POST", "/v1/jobs", body=job_file(stage), kind="application/yaml")["job_ids"]
    cluster.wait_state(number, "running", 30)
    (queued,) = glim.json("queue", user="kim")["jobs"]
    (listed,) = web.json("GET", "/v1/jobs")["jobs"]
    assert list(listed) == list(queued) and listed["id"] == queued["id"] == number
    assert web.json("GET", "/v1/nodes").keys() >= glim.json("nodes").keys()
    status, headers, text = web.ask("GET", f"/v1/jobs/{number}/log")
    assert (status, headers.get_content_type()) == (200, "text/plain") and "of-kim" in text
    places = {name: headers["Glim-Log-" + name] for name in ("Attempt", "Offset", "Begin", "End")}
    assert places == {"Attempt": "1", "Offset": "0", "Begin": "0", "End": str(len(text.encode()))}
    status, headers, end = web.ask("GET", f"/v1/jobs/{number}/log?offset=-4&bytes_max=3")
    assert (end, int(headers["Glim-Log-Offset"])) == (text[-4:-1], len(text.encode()) - 4)
    lines = [json.loads(line) for line in web.ask("GET", f"/v1/jobs/{number}/events")[2].splitlines()]
    assert [line["kind"] for line in lines][0] == "job_submitted" and {line["version"] for line in lines} == {2}
    assert web.json("POST", f"/v1/jobs/{number}/cancel", user="lee", status=403)["error"]["reason"] == "NOT_YOURS"
    web.json("POST", f"/v1/jobs/{number}/cancel", body={"reason": "seen enough"})
    cluster.wait_idle()


def test_a_team_that_has_used_up_its_budget_starts_no_job(stage, cluster, glim, web):
    glim.text("admin", "team", "add", "spent")
    glim.text("admin", "user", "set", "mia", "--team", "spent", "-y")
    glim.text("admin", "user", "set", "ora", "--role", "operator", "-y")
    try:
        web.json("POST", "/v1/budgets", "ora", {"team": "spent", "gpu_ms_max": 1})
        first = glim.submit(stage.examples.make("first", "true"), user="mia")
        cluster.wait_state(first, "succeeded", 30)  # nothing was used before it
        waits = glim.submit(stage.examples.make("waits", "true"), user="mia")
        cluster.wait_job(waits, lambda j: any(b["kind"] == "budget" for b in j["blockers"]), 30, "it waits for that")
        assert "team spent has used up its budget of 0 GPU-seconds since " in glim.text("why", waits, user="mia")
        (listed,) = web.json("GET", "/v1/budgets", user="mia")["budgets"]
        assert (listed["team"], listed["gpu_ms_max"]) == ("spent", 1) and listed["used_gpu_ms"] > 1
        assert "  + 5.0 GPU-hours, of which 0 GPU-seconds are used since " in glim.text(
            "admin", "budget", "set", "spent", "--gpu-hours", "5", "--restart", "-y"
        )
        cluster.wait_state(waits, "succeeded", 30)
    finally:
        glim.text("admin", "budget", "rm", "spent", "-y")
    assert "spent" not in glim.text("admin", "budget", "ls")


def test_a_jobs_file_submits_the_same_job_again(stage, cluster, glim, web):
    body = job_file(stage, run="echo a\necho b") + "watchdog: {no_progress: 90s}\nenv: {ONE: '1'}\n"
    (number,) = web.json("POST", "/v1/jobs", body=body, kind="application/yaml")["job_ids"]
    text = glim.run("-o", "yaml", "status", str(number), user="kim").stdout
    assert "watchdog:\n  no_progress: 90s\n" in text and 'env:\n  ONE: "1"\n' in text
    assert web.json("GET", f"/v1/jobs/{number}")["file"] == text
    (again,) = web.json("POST", "/v1/jobs", body=text, kind="application/yaml")["job_ids"]
    assert web.json("GET", f"/v1/jobs/{again}")["file"] == text
    assert web.json("GET", f"/v1/jobs/{number}", user="lee")["file"] == ""
    refused = glim.run("-o", "yaml", "status", str(number), user="lee")
    assert refused.returncode == 4 and "is not yours" in refused.stderr
    assert "only 'glim status' prints yaml" in glim.run("-o", "yaml", "queue", user="kim").stderr
    cluster.wait_idle()


def test_a_followed_log_comes_as_it_is_written(stage, cluster, glim, web):
    (number,) = web.json("POST", "/v1/jobs", body=job_file(stage, "echo one; exec sleep 600"), kind="application/yaml")[
        "job_ids"
    ]
    cluster.wait_state(number, "running", 30)
    connection = web.connect()
    with open(glim.tokens.file_of("kim", glim)) as file:
        headers = {"Authorization": "Bearer " + file.read().strip()}
    connection.request("GET", f"/v1/jobs/{number}/log?follow=true", headers=headers)
    answer = connection.getresponse()
    assert answer.readline() == b"one\n"
    web.json("POST", f"/v1/jobs/{number}/cancel")
    assert answer.read() == b"", "and ends with the job"
    connection.close()


def test_who_shows_no_token_is_told_so(web):
    status, headers, text = web.ask("GET", "/v1/jobs", user=None)
    assert status == 401 and headers["WWW-Authenticate"].startswith("Bearer")
    assert json.loads(text)["error"]["reason"] == "NO_TOKEN"


def test_a_browser_signs_in_by_a_code(web):
    made = web.json("POST", "/v1/session/code")
    assert re.fullmatch(r"https://[^/]+/#code=[0-9a-f]{64}", made["url"])
    status, headers, text = web.ask("POST", "/v1/session", user=None, body={"code": made["code"]})
    assert status == 200, text
    cookie, csrf = headers["Set-Cookie"].split(";")[0], json.loads(text)["csrf"]
    assert web.json("GET", "/v1/whoami", user=None, headers={"Cookie": cookie})["user"] == "kim"
    refused = web.json("DELETE", "/v1/session", user=None, headers={"Cookie": cookie}, status=403)
    assert refused["error"]["reason"] == "CSRF"
    web.json("DELETE", "/v1/session", user=None, headers={"Cookie": cookie, "X-Glim-Csrf": csrf})
    web.json("GET", "/v1/whoami", user=None, headers={"Cookie": cookie}, status=401)


def test_what_the_page_shows_runs(stage, cluster, glim):
    with open(PAGE) as file:
        blocks = re.findall(r"^```bash\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    env = {
        "PATH": os.environ["PATH"],
        "GLIM_HTTP": f"https://{cluster.host}:{cluster.http_port}",
        "GLIM_CA": glim.tokens.authority,
        "GLIM_TOKEN_FILE": glim.tokens.file_of("kim", glim),
    }
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(blocks)],
        cwd=stage.folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=120 * SLOWER,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert all(json.loads(line)["version"] == 2 for line in ran.stdout.splitlines())
