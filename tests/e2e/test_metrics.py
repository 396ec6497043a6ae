"""What the scheduler tells Prometheus, read by a real one: a cluster of 1,250 simulated agents with 10,000 jobs that
wait stays within its bound of series, every metric is documented, and every query of the dashboards and alerts runs."""

import collections
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.parse
import urllib.request

import pytest

from cluster.folders import make_folder, remove_folder
from cluster.processes import wait_until
from conftest import BIN, ROOT, own_stage

sys.path.insert(0, os.path.join(ROOT, "deploy", "grafana"))

from boards import BOARDS, RATE  # noqa: E402

AGENTS, QUEUED, SERIES_MAX = 1250, 10_000, 20_000
ALERTS = os.path.join(ROOT, "deploy", "prometheus", "alerts.yml")
PATIENCE = 150
CONFIG = """\
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{alerts}]
scrape_configs:
  - job_name: glim
    static_configs: [{{targets: ["{target}"]}}]
"""


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


class Prometheus:
    """A real one, on loopback, that scrapes the address."""

    def __init__(self, folder, target):
        self.address, self.folder = free_address(), folder
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w") as file:
            file.write(CONFIG.format(alerts=ALERTS, target=target))
        argv = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data"]
        argv += [f"--web.listen-address={self.address}", "--log.level=warn"]
        with open(os.path.join(folder, "prometheus.log"), "wb") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, cwd=folder)

    def api(self, path, **words):
        text = get(f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(words)}")
        told = json.loads(text)
        assert told["status"] == "success", told
        return told["data"]

    def query(self, expression):
        return self.api("query", query=expression)["result"]

    def is_up(self):
        try:
            return [one for one in self.query('up{job="glim"}') if one["value"][1] == "1"]
        except OSError:
            return None

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


class Simulated:
    """A scheduler with many agents, whose jobs end at once, and more jobs than there are nodes: glim-bench-starts."""

    def __init__(self, folder):
        self.address, self.folder = free_address(), folder
        argv = [os.path.join(BIN, "glim-bench-starts"), "--scheduler", os.path.join(BIN, "glim-scheduler")]
        argv += ["--folder", folder, "--agents", str(AGENTS), "--queued", str(QUEUED), "--batch", "500"]
        argv += ["--seconds", "120", "--warm-up", "60", "--metrics", self.address]
        with open(os.path.join(folder, "bench.log"), "wb") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True)

    def text(self):
        assert self.process.poll() is None, "the simulated cluster has ended"
        try:
            return get(f"http://{self.address}/metrics")
        except OSError:
            return ""

    def sum_of(self, name, text):
        return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE))

    def is_full(self):
        """The text of a scrape in which all are there, and as many wait as are to."""
        text = self.text()
        agents, queued = self.sum_of("glim_agents_connected", text), self.sum_of("glim_pending_jobs", text)
        return text if agents == AGENTS and queued > 0.9 * QUEUED else None

    def stop(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)


@pytest.fixture(scope="module")
def watched():
    """(the simulated cluster, a Prometheus that has seen it full, a scrape of then)"""
    folder = make_folder("glim-metrics-")
    simulated = Simulated(folder)
    prometheus = Prometheus(folder, simulated.address)
    try:
        text = wait_until(simulated.is_full, PATIENCE, "not all agents and jobs are there", every=0.5)
        wait_until(prometheus.is_up, 30, "Prometheus does not scrape")
        # Rates want two scrapes of what is there now.
        wait_until(lambda: prometheus.query("count_over_time(glim_agents_connected[5s]) > 3"), 60, "too few scrapes")
        yield simulated, prometheus, text
    finally:
        prometheus.stop()
        simulated.stop()
        for name in ("bench.log", "prometheus.log"):
            with open(os.path.join(folder, name)) as file:
                print(name, file.read()[-4000:])
        remove_folder(folder)


def families(text):
    """{name: (type, help)}, {name: labels}"""
    helps = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.MULTILINE))
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    labels = collections.defaultdict(set)
    for name, inner in re.findall(r"^(\w+)(?:{(.*)})? \S+$", text, re.MULTILINE):
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        family = base if types.get(base) == "histogram" else name
        labels[family] |= set(re.findall(r'(\w+)="', inner)) - {"le"}
    return {name: (types[name], helps[name]) for name in types}, labels


def table(of_agent=False):
    """{name: (type, labels, unit, meaning)} of docs/metrics.md: the scheduler's, or an agent's."""
    with open(os.path.join(ROOT, "docs", "metrics.md")) as file:
        rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \| (.*?) \| (.*) \|$", file.read(), re.MULTILINE)
    return {
        name: (kind, set(re.findall(r"`(\w+)`", labels)), unit, meaning)
        for name, kind, labels, unit, meaning in rows
        if name.startswith("glim_agent_") == of_agent
    }


def unit_of(name):
    """By the name, as Prometheus wants it: gpu_seconds are seconds of GPUs."""
    found = re.search(r"_(seconds|bytes)(_total)?$", name)
    return ("GPU-seconds" if f"gpu_{found[1]}" in name else found[1]) if found else ""


def test_a_scrape_of_a_large_cluster_has_few_series(watched):
    simulated, prometheus, text = watched
    samples = len(re.findall(r"^\w+(?:{.*})? \S+$", text, re.MULTILINE))
    assert 200 < samples <= SERIES_MAX, samples
    # As Prometheus counts them; with its own about the scrape.
    assert float(prometheus.query('scrape_samples_scraped{job="glim"}')[0]["value"][1]) <= SERIES_MAX
    assert float(prometheus.query('count({job="glim"})')[0]["value"][1]) <= SERIES_MAX
    assert float(prometheus.query('max_over_time(scrape_duration_seconds{job="glim"}[30s])')[0]["value"][1]) < 2
    for private in ("node-1", "bench1", "user=", "job="):
        assert private not in text, f"{private}: a node, a user or a job is no label"


def check_names(text):
    """As Prometheus wants them; what the library tells of itself is its own affair."""
    told = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    assert [line for line in (told.stdout + told.stderr).splitlines() if not line.startswith("exposer_")] == []


def check_documented(text, written):
    """Name, type, labels, unit and meaning are those of docs/metrics.md, which has also labels that nothing has yet."""
    told, labels = families(text)
    told = {name: value for name, value in told.items() if not name.startswith("exposer_")}
    assert set(told) - set(written) == set(), "not in docs/metrics.md"
    assert set(written) - set(told) == set(), "in docs/metrics.md alone"
    for name, (kind, meaning) in told.items():
        assert (kind, meaning) == (written[name][0], written[name][3]), name
        assert labels[name] <= written[name][1], name
        assert written[name][2].strip("-") == unit_of(name).strip("-"), name


def test_names_units_and_help_are_what_prometheus_wants(watched):
    check_names(watched[2])


def test_the_documented_metrics_are_those_that_there_are(watched):
    check_documented(watched[2], table())


@pytest.mark.parametrize("board", sorted(BOARDS))
def test_each_query_of_a_dashboard_has_data(watched, board):
    """All but those that show what may not have happened yet, which run without an error."""
    _, prometheus, _ = watched
    _, rows = BOARDS[board]
    empty = []
    for panel in [panel for row in rows for panel in row]:
        for expression, _ in panel["queries"]:
            found = prometheus.query(expression.replace(RATE, "10s"))
            if not found and not panel["may_be_empty"]:
                empty.append((panel["title"], expression))
    assert empty == []


def test_each_alert_is_evaluated_and_none_is_critical(watched):
    _, prometheus, _ = watched
    rules = wait_until(
        lambda: [
            rule
            for group in prometheus.api("rules")["groups"]
            for rule in group["rules"]
            if all(one["health"] == "ok" for one in group["rules"])
        ],
        30,
        "rules were not evaluated",
    )
    assert len(rules) > 20 and [rule["name"] for rule in rules if rule.get("lastError")] == []
    firing = [alert["labels"] for rule in rules for alert in rule["alerts"]]
    assert [labels for labels in firing if labels["severity"] == "critical"] == []


def test_an_agent_tells_its_figures_where_it_is_configured_to(fresh_folder):
    """By default it has no port for that."""
    address = free_address()
    with own_stage(
        fresh_folder, nodes={"n1": ("A", "a1")}, secure=False, agent_options=("--metrics", address)
    ) as stage:
        job = stage.glim.submit(stage.examples.make("short", "exec sleep 600", nodes=1))
        stage.cluster.wait_state(job, "running", 30)
        text = wait_until(lambda: running_task(get(f"http://{address}/metrics")), 30, "the running task is not told")
        check_names(text)
        check_documented(text, table(of_agent=True))
        told, _ = families(text)
        assert "glim_agent_connected 1" in text.splitlines() and told["glim_agent_tasks"][0] == "gauge"


def running_task(text):
    return text if 'glim_agent_tasks{phase="running"} 1' in text.splitlines() else None
