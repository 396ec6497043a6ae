"""The shipped alerts and dashboards: each alert is tried and has its page, what they ask for is documented, and the
dashboards are what their source says. Their queries against a real Prometheus: tests/e2e/test_metrics.py."""

import json
import os
import re
import subprocess
import sys

import pytest
import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROMETHEUS, GRAFANA = os.path.join(ROOT, "deploy", "prometheus"), os.path.join(ROOT, "deploy", "grafana")
sys.path[:0] = [GRAFANA, os.path.join(ROOT, "deploy")]
sys.dont_write_bytecode = True

import make_dashboards  # noqa: E402
from cluster.processes import SLOWER  # noqa: E402

BOARDS = sorted(name for name in os.listdir(GRAFANA) if name.endswith(".json"))
SUFFIX = re.compile(r"_(bucket|sum|count)$")


def read(*parts):
    with open(os.path.join(ROOT, *parts)) as file:
        return file.read()


def rules():
    return [rule for group in yaml.safe_load(read("deploy/prometheus/alerts.yml"))["groups"] for rule in group["rules"]]


def documented():
    """Names of docs/metrics.md."""
    return set(re.findall(r"^\| `(\w+)` ", read("docs", "metrics.md"), re.MULTILINE))


def metrics_of(query):
    names = re.findall(r"\b(?:glim|process)_\w+", query)
    return {SUFFIX.sub("", name) if SUFFIX.sub("", name) in documented() else name for name in names}


def promtool(*words):
    return subprocess.run(["promtool", *words], cwd=PROMETHEUS, capture_output=True, text=True, timeout=120 * SLOWER)


@pytest.mark.parametrize(
    "words",
    [("check", "config", "prometheus.yml"), ("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml")],
)
def test_promtool_accepts_what_is_shipped(words):
    told = promtool(*words)
    assert told.returncode == 0, told.stdout + told.stderr


def test_each_alert_is_tried_firing_and_quiet():
    tried = {}
    for test in yaml.safe_load(read("deploy/prometheus/alerts_test.yml"))["tests"]:
        for one in test["alert_rule_test"]:
            tried.setdefault(one["alertname"], set()).add(bool(one["exp_alerts"]))
    assert tried == {rule["alert"]: {True, False} for rule in rules()}


def test_each_alert_has_its_page_and_each_page_its_alert():
    headings = re.findall(r"^### (\w+)$", read("docs", "operations", "alerts.md"), re.MULTILINE)
    assert sorted(headings) == sorted(rule["alert"] for rule in rules())
    for rule in rules():
        assert rule["annotations"]["runbook_url"] == f"docs/operations/alerts.md#{rule['alert'].lower()}"
        assert rule["labels"]["severity"] in ("critical", "warning", "info") and rule["annotations"]["summary"]


def test_each_page_says_what_it_means_and_what_to_do():
    for section in re.split(r"^### ", read("docs", "operations", "alerts.md"), flags=re.MULTILINE)[1:]:
        assert all(word in section for word in ("**Means**", "**Look**", "**Do**")), section.split("\n")[0]


def test_alerts_ask_for_metrics_that_there_are():
    for rule in rules():
        assert metrics_of(rule["expr"]) <= documented(), rule["alert"]


def test_the_dashboards_are_what_their_source_says():
    assert make_dashboards.differing() == []
    assert BOARDS == sorted(os.path.basename(path) for path in make_dashboards.texts())


@pytest.mark.parametrize("name", BOARDS)
def test_a_dashboard_is_whole(name):
    """What Grafana needs of a board, and no two panels over each other."""
    board = json.loads(read("deploy", "grafana", name))
    assert board["uid"] == f"glim-{name[: -len('.json')]}" and board["title"] and board["schemaVersion"] >= 36
    assert [one["type"] for one in board["templating"]["list"]] == ["datasource"]
    cells, ids = set(), set()
    for panel in board["panels"]:
        assert panel["type"] in ("timeseries", "stat") and panel["title"] and panel["targets"], panel
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in cells, f"{panel['title']} lies over another panel"
                cells.add((x, y))
        ids.add(panel["id"])
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}" and target["legendFormat"]
            assert metrics_of(target["expr"]) <= documented(), target["expr"]
    assert len(ids) == len(board["panels"])
